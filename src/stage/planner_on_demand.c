/* on_demand: each layer is read when it is its turn and given up afterwards. What others are measured by. */
#include "stage/stage_int.h"

static int keep(const void *conf, const struct strata_stage_problem *problem,
		struct strata_arena *arena, uint32_t *ret_kept, struct strata_error *err)
{
	(void)conf, (void)problem, (void)arena, (void)ret_kept, (void)err;
	return 0;
}

const struct strata_planner_class strata_planner_on_demand = {
	.base = { .name = "on_demand",
		  .summary = "reads a layer when it is its turn, keeps nothing" },
	.keep = keep,
};
