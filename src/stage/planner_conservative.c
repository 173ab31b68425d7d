/* conservative: keeps what Belady's rule keeps with a part of the frames; the others are for reading ahead. */
#include "stage/stage_int.h"

#include <errno.h>

struct conservative_conf {
	double room;
};

static const struct strata_option options[] = {
	{ "room", STRATA_REAL, offsetof(struct conservative_conf, room), .real = { 0.5, 0, 16 },
	  .help = "frames to read ahead with, as a part of the largest layer" },
	{ 0 }
};

static int keep(const void *conf_any, const struct strata_stage_problem *problem,
		struct strata_arena *arena, uint32_t *ret_kept, struct strata_error *err)
{
	const struct conservative_conf *conf = conf_any;
	uint32_t largest = stage_largest(problem);
	double room = conf->room * largest, most = problem->budget - largest;
	uint32_t budget = problem->budget - (uint32_t)(room < most ? room : most);

	return belady(problem, budget, arena, ret_kept, NULL) == -ENOMEM ? strata_fail_memory(err)
									 : 0;
}

const struct strata_planner_class strata_planner_conservative = {
	.base = { .name = "conservative",
		  .summary =
			  "reads the fewest bytes with a part of the frames, ahead with the rest",
		  .conf_size = sizeof(struct conservative_conf),
		  .options = options },
	.ahead = UINT32_MAX,
	.keep = keep,
};
