/* fair_share: by weight / (usage + 1) of the user, whose usage fades; the finer priority counts before it. */
#include <strata/cluster.h>

static double fair_share_key(const void *conf, const struct strata_order_job *job)
{
	(void)conf;
	return -(double)job->priority * 1e9 - job->share;
}

const struct strata_order_class strata_order_fair_share = {
	.base = {
		.name = "fair_share",
		.aliases = "fairshare, fair",
		.summary = "who has used least for its weight first",
	},
	.changes_with_time = true,
	.wants_share = true,
	.key = fair_share_key,
};
