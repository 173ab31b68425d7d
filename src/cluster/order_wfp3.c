/* wfp3: -(wait / requested)^3 x size: who has waited long for what it asks goes first, the larger
 * the more so. */
#include <strata/cluster.h>

static double wfp3_key(const void *conf, const struct strata_order_job *job)
{
	(void)conf;
	double ratio = (double)(job->now_ns - job->submit_ns) / (double)job->requested_ns;

	return -ratio * ratio * ratio * job->size;
}

const struct strata_order_class strata_order_wfp3 = {
	.base = {
		.name = "wfp3",
		.aliases = "WFP3",
		.summary = "long waiters first, large and short before small and long",
	},
	.changes_with_time = true,
	.key = wfp3_key,
};
