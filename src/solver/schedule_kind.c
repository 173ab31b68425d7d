/* The kind `schedule`: what schedules.def lists. */
#include <strata/solver.h>

#define CLASS(name) extern const struct strata_schedule_class strata_schedule_##name;
#include "solver/schedules.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_schedule_##name.base,
#include "solver/schedules.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_schedule_kind = {
	.name = "schedule",
	.summary = "where the noise levels of a trajectory lie",
	.classes = classes,
};
