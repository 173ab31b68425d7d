/* sjf: the shortest requested time first. */
#include <strata/cluster.h>

static double sjf_key(const void *conf, const struct strata_order_job *job)
{
	(void)conf;
	return (double)job->requested_ns;
}

const struct strata_order_class strata_order_sjf = {
	.base = {
		.name = "sjf",
		.aliases = "shortest",
		.summary = "shortest requested time first",
	},
	.key = sjf_key,
};
