/* Searches never make a draft worse, keep every rule, and branch and bound finds what trying everything finds. */
#include "place_random.h"

#include "place/search.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

struct setting {
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_problem problem;
	struct strata_place_draft draft;
	struct strata_place_meter *meter;
	struct strata_place_budget budget;
};

/* False: the question has no draft to begin with. */
static bool begin(struct setting *setting, uint64_t seed, size_t ops)
{
	strata_arena_init(&setting->arena, &memory, 0);
	place_random_make(&setting->it, seed, ops, &memory);
	setting->budget = (struct strata_place_budget){ .visits = 100000 };
	if (problem_make(&setting->it.ask, &setting->arena, &setting->problem, &err))
		return false;
	CHECK_OK(draft_make(&setting->problem, &setting->arena, &setting->draft, &err));
	CHECK_OK(strata_place_meter_new(&setting->problem, &setting->arena, &setting->meter, &err));
	if (heft_propose(&setting->problem, true, false, 0, 0, &setting->budget, &setting->arena,
			 &setting->draft, &err))
		return false;
	return isfinite(strata_place_meter_read(setting->meter, &setting->draft, INFINITY));
}

static void end(struct setting *setting)
{
	strata_arena_fini(&setting->arena);
	strata_graph_free(setting->it.graph);
}

/* All assignments in the problem's order. */
static double try_everything(struct setting *setting)
{
	size_t d = setting->problem.device_count, total = 1;
	struct strata_place_draft draft;
	double best = INFINITY;

	CHECK_OK(draft_make(&setting->problem, &setting->arena, &draft, &err));
	for (size_t g = 0; g < setting->problem.group_count; g++)
		total *= d;
	for (size_t code = 0; code < total; code++) {
		size_t left = code;
		bool allowed = true;

		for (size_t g = 0; g < setting->problem.group_count; g++, left /= d) {
			draft_put(&setting->problem, &draft, g, left % d);
			allowed &= setting->problem.allowed[g] >> left % d & 1;
		}
		if (allowed)
			best = fmin(best,
				    strata_place_meter_read(setting->meter, &draft, INFINITY));
	}
	return best;
}

TEST(branch_and_bound_finds_the_best)
{
	size_t proven_count = 0;

	for (uint64_t seed = 0; seed < 80; seed++) {
		struct setting setting;
		bool proven = false;

		if (begin(&setting, seed, 6) && setting.problem.objective == STRATA_LATENCY) {
			double before = try_everything(&setting);

			CHECK_OK(search_all(&setting.problem, 90000, &setting.budget,
					    &setting.arena, &setting.draft, &proven, &err));
			double after =
				strata_place_meter_read(setting.meter, &setting.draft, INFINITY);

			proven_count += proven;
			if (proven && setting.problem.fixed_order)
				CHECK_NEAR(after, before, 1e-9 * before);
			else if (proven) /* a free order can only be better */
				CHECK(after <= before * (1 + 1e-9));
			CHECK_OK(check_draft(&setting.problem, &setting.draft, &setting.arena,
					     &err));
		}
		end(&setting);
	}
	CHECK(proven_count > 10);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(moves_and_orders_only_improve)
{
	size_t better = 0;

	for (uint64_t seed = 0; seed < 120; seed++) {
		struct setting setting;

		if (begin(&setting, seed, 0)) {
			double before =
				strata_place_meter_read(setting.meter, &setting.draft, INFINITY);

			if (setting.problem.objective == STRATA_LATENCY &&
			    !setting.problem.fixed_order && seed % 2)
				CHECK_OK(search_orders(&setting.problem, 20000, seed,
						       &setting.budget, &setting.arena,
						       &setting.draft, &err));
			else
				CHECK_OK(search_moves(&setting.problem, 20000, seed,
						      &setting.budget, &setting.arena,
						      &setting.draft, &err));
			double after =
				strata_place_meter_read(setting.meter, &setting.draft, INFINITY);

			CHECK(after <= before * (1 + 1e-12));
			better += after < before * (1 - 1e-9);
			CHECK_OK(check_draft(&setting.problem, &setting.draft, &setting.arena,
					     &err));
		}
		end(&setting);
	}
	CHECK(better > 10);
	CHECK_INT(memory.used_bytes, 0);
}
