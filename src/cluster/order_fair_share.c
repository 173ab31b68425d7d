/* fair_share: by weight / (usage + 1) of the user, whose usage fades, or by its factor in the
 * account tree; the finer priority counts before it. */
#include <strata/cluster.h>

struct fair_share_conf {
	bool tree;
};

static const struct strata_option fair_share_options[] = {
	{ "tree", STRATA_BOOL, offsetof(struct fair_share_conf, tree),
	  .help = "accounts share among each other first, then their users" },
	{ 0 }
};

static double fair_share_key(const void *conf_any, const struct strata_order_job *job)
{
	const struct fair_share_conf *conf = conf_any;
	double share = conf->tree ? job->share_factor : job->share;

	return -(double)job->priority * 1e9 - share * job->boost;
}

const struct strata_order_class strata_order_fair_share = {
	.base = {
		.name = "fair_share",
		.aliases = "fairshare, fair",
		.summary = "who has used least for its weight first",
		.conf_size = sizeof(struct fair_share_conf),
		.options = fair_share_options,
	},
	.changes_with_time = true,
	.wants_share = true,
	.key = fair_share_key,
};
