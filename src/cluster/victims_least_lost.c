/* least_lost: the job that loses least work, counted since its last checkpoint, in GPU-seconds. */
#include "cluster/victims.h"

#include <strata/limits.h>

struct least_lost_conf {
	struct strata_victims_conf common;
};

static const struct strata_option least_lost_options[] = {
	VICTIMS_OPTIONS(struct least_lost_conf),
	{ 0 },
};

static double least_lost_cost(const void *conf_any, const struct strata_victim *victim)
{
	const struct least_lost_conf *conf = conf_any;

	/* a frozen job loses nothing but time */
	if (conf->common.mode == STRATA_STOP_SUSPEND)
		return 0;
	return victim->size * ((double)victim->unsaved_ns / 1e9);
}

const struct strata_victims_class strata_victims_least_lost = {
	.base = {
		.name = "least_lost",
		.summary = "who loses least work since its last checkpoint",
		.conf_size = sizeof(struct least_lost_conf),
		.options = least_lost_options,
	},
	.cost = least_lost_cost,
};
