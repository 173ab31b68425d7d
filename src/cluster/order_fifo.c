/* fifo: by the finer priority, then first come, first served. */
#include <strata/cluster.h>

static double fifo_key(const void *conf, const struct strata_order_job *job)
{
	(void)conf;
	return -(double)job->priority;
}

const struct strata_order_class strata_order_fifo = {
	.base = {
		.name = "fifo",
		.aliases = "fcfs",
		.summary = "first come, first served",
	},
	.key = fifo_key,
};
