/* The question in numbers: who may be where, and what is refused. */
#include "place_random.h"

#include "place/place_int.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(rules_say_who_may_be_where)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_problem problem;
	struct strata_place_rule rules[] = { { "n1", 1, false }, { "n*", 0, true } };

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 11, 4, &memory);
	it.machine.device_count = 3;
	for (size_t i = 0; i < 4; i++)
		it.graph->ops[i].group = 0;
	it.ask.rules = rules;
	it.ask.rule_count = 2;
	CHECK_OK(problem_make(&it.ask, &arena, &problem, &err));
	CHECK_INT(problem.allowed[problem.group[0]], 6);
	CHECK_INT(problem.allowed[problem.group[1]], 2);
	CHECK(isinf(problem.times[0 * 3 + 0]));
	it.devices[1].lost = true;
	CHECK_ERROR(problem_make(&it.ask, &arena, &problem, &err), -ENOSPC, "op \"n1\"");
	rules[0].device = 3;
	CHECK_ERROR(problem_make(&it.ask, &arena, &problem, &err), -EINVAL,
		    "device 3; there are 3");
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(devices_have_a_limit)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_problem problem;
	static struct strata_device devices[STRATA_PLACE_DEVICES_MAX + 1];

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 1, 4, &memory);
	it.ask.rule_count = 0;
	for (size_t i = 0; i <= STRATA_PLACE_DEVICES_MAX; i++)
		devices[i].name = "d";
	it.machine = (struct strata_machine){ .devices = devices,
					      .device_count = STRATA_PLACE_DEVICES_MAX };
	CHECK_OK(problem_make(&it.ask, &arena, &problem, &err));
	it.machine.device_count++;
	CHECK_ERROR(problem_make(&it.ask, &arena, &problem, &err), -EINVAL, "65 devices");
	it.machine.device_count = 0;
	CHECK_ERROR(problem_make(&it.ask, &arena, &problem, &err), -EINVAL, "0 devices");
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
}
