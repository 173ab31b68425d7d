/* stream: the next layer is read while one computes, and given up after use: what most systems do. */
#include "stage/stage_int.h"

static int keep(const void *conf, const struct strata_stage_problem *problem,
		struct strata_arena *arena, uint32_t *ret_kept, struct strata_error *err)
{
	(void)conf, (void)problem, (void)arena, (void)ret_kept, (void)err;
	return 0;
}

const struct strata_planner_class strata_planner_stream = {
	.base = { .name = "stream", .summary = "reads one layer ahead, keeps nothing" },
	.ahead = 1,
	.keep = keep,
};
