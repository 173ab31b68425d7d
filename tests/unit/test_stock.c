/* Memory: budgets at their limit and one past it, activations along the order. */
#include "place_random.h"

#include <errno.h>

#include "place/place_int.h"

static struct strata_memory memory;
static struct strata_error err;

struct line { /* three ops in a row, 100 bytes between the first two, 30 between the others */
	struct strata_graph *graph;
	struct strata_device devices[2];
	struct strata_machine machine;
	struct strata_place_request ask;
	struct strata_arena arena;
	struct strata_place_problem problem;
	struct strata_place_draft draft;
};

static void make(struct line *line)
{
	memset(line, 0, sizeof(*line));
	strata_arena_init(&line->arena, &memory, 0);
	CHECK_OK(strata_graph_new("g", &memory, &line->graph, &err));
	for (int i = 0; i < 3; i++) {
		struct strata_op op = { .weight_bytes = 10,
					.kv_bytes = i == 1 ? 5 : 0,
					.kv_device = STRATA_NONE,
					.phase = i == 2 ? STRATA_PHASE_DECODE
							: STRATA_PHASE_PREFILL,
					.activation_bytes = i };

		CHECK_OK(strata_graph_add_op(line->graph, &op, NULL, &err));
	}
	CHECK_OK(strata_graph_add_edge(line->graph, 0, 1, 100, -1, &err));
	CHECK_OK(strata_graph_add_edge(line->graph, 1, 2, 30, -1, &err));
	CHECK_OK(strata_graph_finish(line->graph, &err));
	for (int i = 0; i < 2; i++)
		line->devices[i] = (struct strata_device){ .name = "d",
							   .flops_per_s = 1e9,
							   .bytes_per_s = 1e9 };
	line->machine = (struct strata_machine){ .devices = line->devices, .device_count = 2 };
	line->ask =
		(struct strata_place_request){ .graph = line->graph, .machine = &line->machine };
	CHECK_OK(problem_make(&line->ask, &line->arena, &line->problem, &err));
	CHECK_OK(draft_make(&line->problem, &line->arena, &line->draft, &err));
	line->draft.device[0] = line->draft.device[1] = 0;
	line->draft.device[2] = 1;
}

static void end(struct line *line)
{
	strata_arena_fini(&line->arena);
	strata_graph_free(line->graph);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(each_budget_holds_at_its_limit)
{
	struct line line;
	struct stock stocks[2] = { { 20, 5 } };

	make(&line);
	CHECK(stock_holds(&line.problem, &stocks[0], 0));
	line.devices[0].capacity_bytes = 25;
	CHECK(stock_holds(&line.problem, &stocks[0], 0));
	line.devices[0].capacity_bytes = 24;
	CHECK(!stock_holds(&line.problem, &stocks[0], 0));
	line.devices[0].capacity_bytes = 0;
	line.devices[0].weight_bytes_max = 20;
	CHECK(stock_holds(&line.problem, &stocks[0], 0));
	CHECK(!stock_fits(&line.problem, stocks, 0, 0));
	line.devices[0].weight_bytes_max = 30;
	line.devices[0].kv_bytes_max = 5;
	CHECK(stock_fits(&line.problem, stocks, 0, 0));
	CHECK(!stock_fits(&line.problem, stocks, 1, 0));
	end(&line);
}

TEST(activations_come_and_go)
{
	struct line line;
	int64_t peaks[2 * STRATA_PHASE_COUNT];
	struct stock stocks[2] = { { 20, 5 }, { 10, 0 } };

	make(&line);
	CHECK_INT(stock_activations(&line.problem, &line.draft, &line.arena, peaks), 0);
	CHECK_INT(peaks[STRATA_PHASE_PREFILL], 131); /* both values and its own scratch */
	CHECK_INT(peaks[STRATA_PHASE_DECODE], 0);
	CHECK_INT(peaks[STRATA_PHASE_COUNT + STRATA_PHASE_DECODE], 32);
	CHECK(!stock_limits_activations(&line.problem));
	line.devices[1].activation_bytes_max[STRATA_PHASE_DECODE] = 32;
	CHECK(stock_limits_activations(&line.problem));
	CHECK(stock_holds_activations(&line.problem, stocks, peaks, NULL, NULL));
	line.devices[1].activation_bytes_max[STRATA_PHASE_DECODE] = 31;
	size_t where = 9, phase = 9;

	CHECK(!stock_holds_activations(&line.problem, stocks, peaks, &where, &phase));
	CHECK_INT(where, 1);
	CHECK_INT(phase, STRATA_PHASE_DECODE);
	line.devices[1].activation_bytes_max[STRATA_PHASE_DECODE] = 0;
	line.devices[0].capacity_bytes = 25 + 131;
	CHECK(stock_holds_activations(&line.problem, stocks, peaks, NULL, NULL));
	line.devices[0].capacity_bytes--;
	CHECK(!stock_holds_activations(&line.problem, stocks, peaks, NULL, NULL));
	line.machine.activations_apart = true;
	CHECK(stock_holds_activations(&line.problem, stocks, peaks, NULL, NULL));
	end(&line);
}

TEST(a_plan_keeps_within_the_budget_of_a_phase)
{
	struct line line;
	struct strata_place_plan plan;

	make(&line);
	line.devices[0].activation_bytes_max[STRATA_PHASE_PREFILL] = 131;
	line.devices[1].activation_bytes_max[STRATA_PHASE_PREFILL] = 130;
	line.devices[1].flops_per_s = 1e12;
	line.graph->ops[1].flops = 1000;
	CHECK_OK(strata_place_plan(&line.ask, &line.arena, &plan, &err));
	CHECK_INT(plan.device[1], 0); /* although the other one is faster */
	line.devices[0].activation_bytes_max[STRATA_PHASE_PREFILL] = 130;
	CHECK_ERROR(strata_place_plan(&line.ask, &line.arena, &plan, &err), -ENOSPC, "activations");
	end(&line);
}
