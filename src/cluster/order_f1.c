/* f1: log10(requested) x size + 870 x log10(submitted), in seconds: a function that was learned
 * from simulations (Carastan-Santos and de Camargo, SC'17). */
#include <strata/cluster.h>

#include "core/real.h"

static double log10_of(double x)
{
	return real_log2(x) * 0.30102999566398119521; /* log10(2) */
}

static double f1_key(const void *conf, const struct strata_order_job *job)
{
	(void)conf;
	double requested_s = (double)job->requested_ns / 1e9,
	       submit_s = (double)job->submit_ns / 1e9;

	return log10_of(requested_s) * job->size + 870 * log10_of(submit_s > 1 ? submit_s : 1);
}

const struct strata_order_class strata_order_f1 = {
	.base = {
		.name = "f1",
		.aliases = "F1",
		.summary = "a learned mix of time, size and age",
	},
	.key = f1_key,
};
