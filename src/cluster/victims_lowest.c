/* lowest: the job of the lowest band, then of the lowest priority, whatever it loses. */
#include "cluster/victims.h"

#include <strata/limits.h>

struct lowest_conf {
	struct strata_victims_conf common;
};

static const struct strata_option lowest_options[] = {
	VICTIMS_OPTIONS(struct lowest_conf),
	{ 0 },
};

static double lowest_cost(const void *conf, const struct strata_victim *victim)
{
	(void)conf, (void)victim;
	return 0; /* ties go by band, priority and youth */
}

const struct strata_victims_class strata_victims_lowest = {
	.base = {
		.name = "lowest",
		.aliases = "priority",
		.summary = "the lowest band, then the lowest priority, then the youngest",
		.conf_size = sizeof(struct lowest_conf),
		.options = lowest_options,
	},
	.cost = lowest_cost,
};
