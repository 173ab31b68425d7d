#include "golden_rng.h"
#include "solver_sample.h"

#include <strata/brownian.h>
#include <strata/rng.h>

enum { COUNT = 100 };

static struct solver_sample sample;
static struct strata_error err;

static void begin(void)
{
	solver_sample_start(&sample);
}

static void end(void)
{
	solver_sample_end(&sample);
}

static struct strata_solver_noise source(const char *text, uint64_t seed, size_t members,
					 size_t elements)
{
	struct strata_solver_noise noise;

	CHECK_OK(strata_solver_noise_build(text, seed, members, elements, &sample.arena, &noise,
					   &err));
	return noise;
}

/* A batch of 4 members of 4, 25 or 1 numbers is torch.randn(16), randn(100), randn(4). */
TEST(torch_draws_a_batch_as_one_tensor)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;

	begin();
	json_object_foreach(json_object_get(document, "torch_cpu"), seed, answers)
	{
		static const size_t elements[] = { 1, 4, 25 };

		for (size_t k = 0; k < 3; k++) {
			struct strata_solver_noise noise =
				source("torch", strtoull(seed, NULL, 10), 4, elements[k]);
			char key[8];
			float got[COUNT];

			snprintf(key, sizeof(key), "%zu", 4 * elements[k]);
			strata_solver_noise_fill(&noise, 0, got);
			for (size_t i = 0; i < 4 * elements[k]; i++)
				CHECK_NEAR(got[i],
					   (float)golden_number(json_object_get(answers, key), i),
					   0);
		}
	}
	json_decref(document);
	end();
}

/* The first latent, then one tensor for each row that draws: as a loop of torch.randn. */
TEST(torch_draws_a_trajectory_in_order)
{
	struct strata_torch torch;
	float want[COUNT], got[COUNT];

	begin();
	struct strata_solver_table *table = solver_sample_table(&sample, "dpmpp_sde", 5);
	struct strata_solver_noise noise = source("torch", 42, 2, COUNT / 2);
	size_t drawn = 1;

	strata_torch_init(&torch, 42);
	strata_torch_normal_f32(&torch, want, COUNT);
	strata_solver_noise_fill(&noise, 0, got);
	CHECK_BYTES(got, want, sizeof(got));
	for (size_t r = 0; r < table->row_count; r++) {
		if (!(table->rows[r].flags & STRATA_ROW_NOISE))
			continue;
		CHECK_INT(strata_solver_tensor_of(table, r), drawn++);
		strata_torch_normal_f32(&torch, want, COUNT);
		strata_solver_noise_fill(&noise, strata_solver_tensor_of(table, r), got);
		CHECK_BYTES(got, want, sizeof(got));
	}
	CHECK_INT(drawn, 9); /* two for each step but the last, and the first */
	strata_solver_table_free(table, &sample.memory);
	end();
}

TEST(cuda_draws_what_a_gpu_draws)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;

	begin();
	json_object_foreach(json_object_get(json_object_get(document, "philox4x32"), "cuda_randn"),
			    seed, answers)
	{
		struct strata_solver_noise noise = source("cuda", strtoull(seed, NULL, 10), 4, 4);
		float got[16];

		for (uint64_t call = 2; call-- > 0;) {
			const json_t *want =
				json_object_get(answers, call ? "call1_first16" : "call0_first16");

			strata_solver_noise_fill(&noise, call, got);
			for (size_t i = 0; i < 16; i++)
				CHECK_NEAR(got[i], golden_number(want, i), 1e-5);
		}
	}
	json_decref(document);
	end();
}

/* However large the batch is, and whoever else is in it. */
TEST(philox_draws_each_member_as_if_it_were_alone)
{
	float batch[3 * COUNT], alone[COUNT];

	begin();
	struct strata_solver_noise noise = source("philox", 7, 3, COUNT);

	for (uint64_t tensor = 0; tensor < 3; tensor++) {
		strata_solver_noise_fill(&noise, tensor, batch);
		for (uint64_t k = 0; k < 3; k++) {
			struct strata_solver_noise one = source("philox", 7 + k, 1, COUNT);

			strata_solver_noise_fill(&one, tensor, alone);
			CHECK_BYTES(alone, batch + k * COUNT, sizeof(alone));
		}
		CHECK(memcmp(batch, batch + COUNT, sizeof(alone)) != 0);
	}
	end();
}

/* Jumps forwards and backwards find what was there in order. */
TEST(rows_of_an_sde_draw_from_the_tree)
{
	float values[COUNT], want[COUNT], scratch[4 * COUNT];
	struct strata_solver_noise noise, plain;

	begin();
	noise = source("brownian", 42, 4, COUNT / 4);
	plain = source("torch", 42, 4, COUNT / 4);
	struct strata_solver_table *table =
		solver_sample_table(&sample, "dpmpp_sde:k_diffusion", 5);
	struct strata_brownian tree = { 42, table->path_low, table->path_high };

	CHECK_NEAR(tree.low, 0.0291675, 1e-6);
	CHECK_NEAR(tree.high, 14.6146, 1e-3);
	/* the first sample is torch's, as are the rows of other solvers */
	strata_solver_noise_fill(&noise, 0, values);
	strata_solver_noise_fill(&plain, 0, want);
	CHECK(memcmp(values, want, sizeof(values)) == 0);
	strata_solver_noise_row(&noise, table, &(struct strata_solver_row){ 0 }, 1, values);
	strata_solver_noise_fill(&plain, 1, want);
	CHECK(memcmp(values, want, sizeof(values)) == 0);
	/* two rows of a step start at the same level, and the second goes on to its end */
	const struct strata_solver_row *rows = table->rows;

	CHECK(rows[0].noise_from == rows[1].noise_from && rows[1].noise_to < rows[0].noise_to);
	strata_solver_noise_row(&noise, table, &rows[1], 2, values);
	strata_brownian_normal(&tree, rows[1].noise_from, rows[1].noise_to, COUNT, scratch, want);
	CHECK(memcmp(values, want, sizeof(values)) == 0);
	/* a source without a tree goes by the number */
	strata_solver_noise_row(&plain, table, &rows[1], 2, values);
	strata_solver_noise_fill(&plain, 2, want);
	CHECK(memcmp(values, want, sizeof(values)) == 0);
	strata_solver_table_free(table, &sample.memory);
	end();
}

TEST(a_tensor_does_not_depend_on_those_before)
{
	static const char *const names[] = { "torch", "cuda", "cuda:threads=256", "philox" };
	static const uint64_t jumps[] = { 5, 0, 3, 3, 1, 2, 5, 4 };
	enum { BIG = 1500 }; /* more than a call of 256 threads does at once */
	static float in_order[6][2 * BIG], got[2 * BIG];

	begin();
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct strata_solver_noise noise = source(names[n], 42, 2, BIG);

		for (uint64_t t = 0; t < 6; t++)
			strata_solver_noise_fill(&noise, t, in_order[t]);
		CHECK(memcmp(in_order[0], in_order[1], sizeof(got)) != 0);
		for (size_t k = 0; k < sizeof(jumps) / sizeof(jumps[0]); k++) {
			strata_solver_noise_fill(&noise, jumps[k], got);
			CHECK_BYTES(got, in_order[jumps[k]], sizeof(got));
		}
	}
	end();
}

TEST(no_memory_is_said)
{
	struct strata_memory little = { .limit_bytes = 1 };
	struct strata_arena arena;
	struct strata_solver_noise noise;
	struct strata_spec spec;

	begin();
	CHECK_OK(strata_spec_build(&strata_noise_kind, "torch", &sample.arena, &spec, &err));
	strata_arena_init(&arena, &little, 0);
	CHECK(strata_solver_noise_init(&noise, &spec, 1, 1, 1, &arena, &err) < 0);
	strata_arena_fini(&arena);
	end();
}
