/* youngest: the job that started last. */
#include "cluster/victims.h"

#include <strata/limits.h>

struct youngest_conf {
	struct strata_victims_conf common;
};

static const struct strata_option youngest_options[] = {
	VICTIMS_OPTIONS(struct youngest_conf),
	{ 0 },
};

static double youngest_cost(const void *conf, const struct strata_victim *victim)
{
	(void)conf;
	return (double)victim->ran_ns / 1e9;
}

const struct strata_victims_class strata_victims_youngest = {
	.base = {
		.name = "youngest",
		.summary = "who started last",
		.conf_size = sizeof(struct youngest_conf),
		.options = youngest_options,
	},
	.cost = youngest_cost,
};
