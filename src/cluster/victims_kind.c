/* The victim choosers, one line each, sorted. */
#include "cluster/victims.h"

extern const struct strata_victims_class strata_victims_least_lost;
extern const struct strata_victims_class strata_victims_lowest;
extern const struct strata_victims_class strata_victims_youngest;

const struct strata_choice victims_modes[] = {
	{ "requeue", STRATA_STOP_REQUEUE, "back to its place in the queue" },
	{ "cancel", STRATA_STOP_CANCEL, "for good" },
	{ "suspend", STRATA_STOP_SUSPEND, "frozen where it is; its memory stays taken" },
	{ NULL, 0, NULL },
};

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_victims_least_lost.base,
	&strata_victims_lowest.base,
	&strata_victims_youngest.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_victims_kind = {
	.name = "victims",
	.summary = "which running jobs are stopped for one that is more urgent",
	.classes = classes,
};
