/* What every strategy promises: a plan keeps all rules and every limit, is never worse than the best single device, and is the same every time. */
#include "place_random.h"

#include <errno.h>
#include <math.h>

enum { QUESTIONS = 150 };

static struct strata_memory memory;
static struct strata_error err;

/* The plan as the simulator sees it, which checks every rule. */
static void check_plan(const struct strata_place_request *ask, const struct strata_place_plan *plan,
		       struct strata_arena *arena)
{
	struct strata_place_plan again;

	CHECK_OK(strata_place_simulate(ask, plan->device, plan->order, arena, &again, &err));
	CHECK_NEAR(again.value, plan->value, 1e-9 * fabs(plan->value));
	CHECK_NEAR(again.latency_ns, plan->latency_ns, 1e-9 * plan->latency_ns);
	for (size_t d = 0; d < ask->machine->device_count; d++) {
		int64_t has = ask->machine->devices[d].capacity_bytes;

		CHECK(!has || plan->devices[d].weight_bytes + plan->devices[d].kv_bytes <= has);
	}
	for (size_t i = 0; i < ask->graph->op_count; i++) {
		const char *name = ask->graph->ops[i].name;

		if (ask->rule_count && strncmp(name, "n1", 2) == 0)
			CHECK((plan->device[i] == ask->rules[0].device) != ask->rules[0].forbid);
	}
	CHECK(plan->results[0].value >= plan->value * (1 - 1e-12));
}

static void check_class(const struct strata_registry *registry, const char *name)
{
	size_t made = 0;

	for (uint64_t seed = 0; seed < QUESTIONS; seed++) {
		struct place_random it;
		struct strata_arena arena;
		struct strata_spec spec;
		struct strata_place_plan plan, twin;

		strata_arena_init(&arena, &memory, 0);
		place_random_make(&it, seed, 0, &memory);
		CHECK_OK(strata_spec_read(registry, name, strlen(name), &arena, &spec, &err));
		it.ask.strategies = &spec;
		it.ask.strategy_count = 1;
		int rc = strata_place_plan(&it.ask, &arena, &plan, &err);

		if (rc == 0) {
			made++;
			check_plan(&it.ask, &plan, &arena);
			CHECK_OK(strata_place_plan(&it.ask, &arena, &twin, &err));
			CHECK_BYTES(twin.device, plan.device,
				    it.graph->op_count * sizeof(uint32_t));
			CHECK_BYTES(twin.order, plan.order, it.graph->op_count * sizeof(uint32_t));
			CHECK_INT(twin.visits, plan.visits);
		} else {
			CHECK_INT(rc, -ENOSPC);
			CHECK(err.text[0]);
		}
		strata_arena_fini(&arena);
		strata_graph_free(it.graph);
	}
	CHECK(made > QUESTIONS / 4);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(every_strategy_keeps_the_rules)
{
	struct strata_registry *registry;
	const struct strata_class *cls;

	CHECK_OK(strata_registry_new(&strata_strategy_kind, &memory, &registry, &err));
	for (size_t i = 0; (cls = strata_registry_at(registry, i)); i++) {
		size_t before = memory.used_bytes;

		memory.used_bytes = 0; /* of the registry apart */
		check_class(registry, cls->name);
		memory.used_bytes = before;
	}
	strata_registry_free(registry);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(more_choice_is_never_worse)
{
	for (uint64_t seed = 1000; seed < 1060; seed++) {
		struct place_random it;
		struct strata_arena arena;
		struct strata_registry *registry;
		struct strata_spec *specs;
		struct strata_place_plan plan;

		strata_arena_init(&arena, &memory, 0);
		place_random_make(&it, seed, 0, &memory);
		CHECK_OK(strata_registry_new(&strata_strategy_kind, &memory, &registry, &err));
		CHECK_OK(strata_spec_read_list(registry, "sequential,heft,contiguous,portfolio", 36,
					       &arena, &specs, &it.ask.strategy_count, &err));
		it.ask.strategies = specs;
		if (strata_place_plan(&it.ask, &arena, &plan, &err) == 0) {
			CHECK_INT(plan.result_count, 5);
			for (size_t i = 0; i < plan.result_count; i++)
				CHECK(plan.results[i].value >= plan.value * (1 - 1e-12));
			CHECK(plan.reason_count > 0 || it.machine.device_count == 1 ||
			      plan.value == 0);
		}
		strata_registry_free(registry);
		strata_arena_fini(&arena);
		strata_graph_free(it.graph);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_lost_device_means_a_plan_on_the_rest)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_plan plan;

	strata_arena_init(&arena, &memory, 0);
	for (uint64_t seed = 0; seed < 60; seed++) {
		place_random_make(&it, seed, 0, &memory);
		it.devices[0].lost = true;
		it.ask.rule_count = 0;
		int rc = strata_place_plan(&it.ask, &arena, &plan, &err);

		CHECK(rc == 0 || rc == -ENOSPC);
		for (size_t i = 0; i < it.graph->op_count && rc == 0; i++)
			CHECK(plan.device[i] != 0);
		if (it.machine.device_count == 1)
			CHECK_ERROR(rc, -ENOSPC, "lost");
		strata_graph_free(it.graph);
	}
	strata_arena_fini(&arena);
}

static int plan_one(struct strata_memory *mem, void *context, struct strata_error *error)
{
	struct strata_place_request ask = *(const struct strata_place_request *)context;
	struct strata_arena arena;
	struct strata_place_plan plan;
	int rc;

	strata_arena_init(&arena, mem, 0);
	rc = strata_place_plan(&ask, &arena, &plan, error);
	if (rc == 0) {
		test_result(plan.device, ask.graph->op_count * sizeof(*plan.device));
		test_result(&plan.value, sizeof(plan.value));
	}
	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	for (int objective = 0; objective < STRATA_OBJECTIVE_COUNT; objective++) {
		struct place_random it;

		place_random_make(&it, 3, 6, &memory);
		it.ask.objective = (enum strata_objective)objective;
		it.ask.rule_count = 0;
		for (size_t d = 0; d < 4; d++)
			it.devices[d].capacity_bytes = 0;
		it.ask.budget.visits = 2000;
		CHECK(test_every_allocation(plan_one, &it.ask) > 20);
		strata_graph_free(it.graph);
	}
}
