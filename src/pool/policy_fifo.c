/* fifo: first come, first served. */
#include <strata/pool.h>

const struct strata_policy_class strata_policy_fifo = {
	.base = {
		.name = "fifo",
		.aliases = "fcfs",
		.summary = "first come, first served",
	},
};
