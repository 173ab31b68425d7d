/* Cuts: what a piece costs is what the simulator says, stretches and pieces are the best of their sort, which trying everything shows. */
#include "place_random.h"

#include "place/cut.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

struct setting {
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_problem problem;
	struct strata_place_draft draft;
	double loads[4];
};

/* A pipeline of devices that are alike, without rules. */
static void begin(struct setting *setting, uint64_t seed, size_t ops, size_t devices)
{
	strata_arena_init(&setting->arena, &memory, 0);
	place_random_make(&setting->it, seed, ops, &memory);
	setting->it.ask.objective = STRATA_THROUGHPUT;
	setting->it.ask.rule_count = 0;
	for (size_t i = 0; i < ops; i++) {
		setting->it.graph->ops[i].kv_bytes = 0;
		if (seed % 3)
			setting->it.graph->ops[i].group = 0;
	}
	for (size_t d = 0; d < devices; d++) {
		setting->it.devices[d] = setting->it.devices[0];
		setting->it.devices[d].capacity_bytes = 0;
	}
	for (size_t i = 0; i < 16; i++) {
		setting->it.rates[i] = 1e9;
		setting->it.latencies[i] = 2;
	}
	setting->it.machine.device_count = devices;
	CHECK_OK(problem_make(&setting->it.ask, &setting->arena, &setting->problem, &err));
	CHECK_OK(draft_make(&setting->problem, &setting->arena, &setting->draft, &err));
}

static void end(struct setting *setting)
{
	strata_arena_fini(&setting->arena);
	strata_graph_free(setting->it.graph);
}

/* Can the devices' pieces be put in a row, none needing a later one? */
static bool in_a_row(const struct setting *setting, size_t devices, const uint32_t *device)
{
	bool before[4][4] = { 0 };

	for (size_t e = 0; e < setting->it.graph->edge_count; e++) {
		const struct strata_edge *edge = &setting->it.graph->edges[e];

		before[device[edge->from]][device[edge->to]] |= device[edge->from] !=
								device[edge->to];
	}
	for (size_t k = 0; k < devices; k++)
		for (size_t i = 0; i < devices; i++)
			for (size_t j = 0; j < devices; j++)
				before[i][j] |= before[i][k] && before[k][j];
	for (size_t i = 0; i < devices; i++)
		if (before[i][i])
			return false;
	return true;
}

static double try_everything(struct setting *setting, size_t devices, bool stretches)
{
	size_t total = 1;
	double best = INFINITY;

	for (size_t g = 0; g < setting->problem.group_count; g++)
		total *= devices;
	for (size_t code = 0; code < total; code++) {
		size_t left = code, last = STRATA_NONE;
		uint64_t seen = 0;
		bool ok = true;

		for (size_t g = 0; g < setting->problem.group_count; g++, left /= devices) {
			size_t device = left % devices;

			draft_put(&setting->problem, &setting->draft, g, device);
			if (device != last)
				ok &= !(seen >> device & 1);
			seen |= UINT64_C(1) << device;
			last = device;
		}
		if (stretches ? ok : in_a_row(setting, devices, setting->draft.device))
			best = fmin(best, simulate_loads(&setting->problem, &setting->draft,
							 setting->loads));
	}
	return best;
}

TEST(stretches_are_the_best_of_all_stretches)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct setting setting;
		struct strata_place_budget budget = { .visits = 1000000 };
		uint32_t device[16];
		struct cut cut;

		begin(&setting, seed, 7, 3);
		CHECK_OK(cut_init(&cut, &setting.problem, 64, false, &setting.arena, &err));
		double value;

		CHECK_INT(cut_lines(&cut, &budget, &setting.arena, device, &value), 0);
		CHECK_NEAR(value, try_everything(&setting, 3, true), 1e-6);
		for (size_t g = 0; g < setting.problem.group_count; g++)
			draft_put(&setting.problem, &setting.draft, g, device[cut.block_of[g]]);
		CHECK_NEAR(simulate_loads(&setting.problem, &setting.draft, setting.loads), value,
			   1e-6);
		end(&setting);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(pieces_are_the_best_of_all_pieces)
{
	size_t split = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct setting setting;
		struct strata_place_budget budget = { .visits = 10000000 };
		uint32_t device[16];
		struct cut cut;

		begin(&setting, seed, 7, 3);
		CHECK_OK(cut_init(&cut, &setting.problem, 0, true, &setting.arena, &err));
		double value, better, best = try_everything(&setting, 3, false);

		CHECK_INT(cut_ideals(&cut, INFINITY, 9000000, &budget, &setting.arena, device,
				     &value),
			  0);
		CHECK_NEAR(value, best, 1e-6);
		for (size_t g = 0; g < setting.problem.group_count; g++)
			draft_put(&setting.problem, &setting.draft, g, device[cut.block_of[g]]);
		CHECK_NEAR(simulate_loads(&setting.problem, &setting.draft, setting.loads), value,
			   1e-6);
		split += setting.draft.device[0] != setting.draft.device[6];
		/* nothing is better than the best */
		CHECK_INT(cut_ideals(&cut, best * (1 - 1e-9), 9000000, &budget, &setting.arena,
				     device, &better),
			  0);
		CHECK(!isfinite(better));
		end(&setting);
	}
	CHECK(split > 10);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_search_that_may_look_at_nothing_finds_nothing)
{
	struct setting setting;
	struct strata_place_budget budget = { .visits = 1000 };
	uint32_t device[16];
	struct cut cut;

	begin(&setting, 1, 7, 3);
	CHECK_OK(cut_init(&cut, &setting.problem, 0, true, &setting.arena, &err));
	double value;

	CHECK_INT(cut_ideals(&cut, INFINITY, 3, &budget, &setting.arena, device, &value), 0);
	CHECK(!isfinite(value));
	end(&setting);
}
