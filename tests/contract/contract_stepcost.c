/* The plain loops do what the rows do, or a comparison with them would say nothing; and what is measured is there. */
#include "unit/table_sample.h"

#include "bench/stepcost.h"

#include <math.h>

enum { COUNT = 1000 };

struct tensors {
	float sample[COUNT], output[COUNT], memory[STRATA_SOLVER_SLOTS_MAX][COUNT];
	void *slots[STRATA_SOLVER_SLOTS_MAX];
};

static void fill(struct tensors *tensors)
{
	for (size_t i = 0; i < COUNT; i++) {
		tensors->sample[i] = sinf((float)i);
		tensors->output[i] = cosf(0.3f * (float)i);
		for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
			tensors->memory[k][i] = sinf((float)(i * (k + 2)));
	}
	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		tensors->slots[k] = tensors->memory[k];
}

static void check_plain(const struct strata_solver_row *row, const struct plain *plain,
			enum strata_isa isa)
{
	static struct tensors want, got;
	struct strata_solver_item item = { row,         want.sample, want.output,
					   want.sample, want.slots,  NULL };

	fill(&want);
	fill(&got);
	strata_solver_apply(&item, 1, COUNT, &(struct strata_solver_how){ STRATA_F32, isa, NULL });
	plain_run(plain, isa, got.sample, got.output, got.slots, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		CHECK_NEAR((double)got.sample[i], (double)want.sample[i], 1e-5);
		for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
			CHECK_NEAR((double)got.memory[k][i], (double)want.memory[k][i], 1e-5);
	}
}

TEST(a_plain_loop_does_what_its_row_does)
{
	static const struct {
		const char *name;
		enum plain_kind kind;
	} solvers[] = { { "ddim", PLAIN_ONE },
			{ "euler", PLAIN_ONE },
			{ "dpmpp_2m", PLAIN_TWO },
			{ "unipc", PLAIN_THREE },
			{ "ddim:clip_sample=true", PLAIN_NONE },
			{ "lms", PLAIN_NONE } };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	for (size_t s = 0; s < sizeof(solvers) / sizeof(solvers[0]); s++) {
		struct strata_solver_table *table =
			sample_table(solvers[s].name, 20, &memory, &arena);

		for (size_t r = 8; r < 11; r++) {
			const struct strata_solver_row *row = strata_solver_row_at(table, r);
			struct plain plain;

			plain_of(row, &plain);
			CHECK_INT(plain.kind, solvers[s].kind);
			for (int isa = STRATA_ISA_SCALAR;
			     isa <= STRATA_ISA_AVX512 && plain.kind != PLAIN_NONE; isa++)
				if (strata_isa_works((enum strata_isa)isa))
					check_plain(row, &plain, (enum strata_isa)isa);
		}
		strata_solver_table_free(table, &memory);
	}
	strata_arena_fini(&arena);
}

static int measure(struct strata_memory *memory, void *cost, struct strata_error *err)
{
	struct strata_solver_row row = { .p = 1,
					 .q = 1,
					 .next = { .a = 0.5, .e = 0.25, .c = { [2] = 0.25 } },
					 .writes = { { .slot = 1, .sum = { .a = 1, .c = { 1 } } } },
					 .write_count = 1 };
	struct stepcost_conf conf = { .row = &row,
				      .slot_count = 3,
				      .element_count = 1000,
				      .element = STRATA_F16,
				      .isa = strata_isa_best() };

	return stepcost_measure(&conf, memory, cost, err);
}

TEST(a_measurement_says_what_is_read_and_written)
{
	struct stepcost cost;

	test_every_allocation(measure, &cost);
	CHECK_INT(cost.reads, 4);
	CHECK_INT(cost.writes, 2);
	CHECK(cost.step_ns > 0 && cost.fixed_ns > 0 && isnan(cost.plain_ns));
}
