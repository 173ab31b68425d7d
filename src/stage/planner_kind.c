/* The kind `planner`: what planners.def lists. */
#include <strata/stage.h>

#define CLASS(name) extern const struct strata_planner_class strata_planner_##name;
#include "stage/planners.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_planner_##name.base,
#include "stage/planners.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_planner_kind = {
	.name = "planner",
	.summary = "which layers' pages stay in memory",
	.classes = classes,
};
