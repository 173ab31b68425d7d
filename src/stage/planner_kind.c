/* Who chooses what stays in memory, one line each, sorted. */
#include <strata/stage.h>

extern const struct strata_planner_class strata_planner_aggressive;
extern const struct strata_planner_class strata_planner_best;
extern const struct strata_planner_class strata_planner_conservative;
extern const struct strata_planner_class strata_planner_on_demand;
extern const struct strata_planner_class strata_planner_spread;
extern const struct strata_planner_class strata_planner_stream;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_planner_aggressive.base,
	&strata_planner_best.base,
	&strata_planner_conservative.base,
	&strata_planner_on_demand.base,
	&strata_planner_spread.base,
	&strata_planner_stream.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_planner_kind = {
	.name = "planner",
	.summary = "which layers' pages stay in memory",
	.classes = classes,
};
