/* unicef: -wait / (log2(size) x requested): quick turnaround for small jobs. A size of 1 counts as
 * 2, whose logarithm is not 0. */
#include <strata/cluster.h>

#include "core/real.h"

static double unicef_key(const void *conf, const struct strata_order_job *job)
{
	(void)conf;
	double wait = (double)(job->now_ns - job->submit_ns);

	return -wait / (real_log2(job->size > 2 ? job->size : 2) * (double)job->requested_ns);
}

const struct strata_order_class strata_order_unicef = {
	.base = {
		.name = "unicef",
		.aliases = "UNICEF, unicep",
		.summary = "small and short jobs first, the longer they wait",
	},
	.changes_with_time = true,
	.key = unicef_key,
};
