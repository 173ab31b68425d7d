#include "table_sample.h"

#include "bench/mixture.h"

#include <errno.h>
#include <math.h>

/* The expected clean number, by adding up over all of them. */
static double integrate(double x, double alpha, double sigma)
{
	double total = 0, clean = 0, width = 1e-3;

	for (double c = -6; c < 6; c += width) {
		double density = mixture_part(c + width / 2, 1, 0) -
				 mixture_part(c - width / 2, 1, 0);
		double off = (x - alpha * c) / sigma;
		double weight = density * exp(-off * off / 2);

		total += weight;
		clean += weight * c;
	}
	return clean / total;
}

TEST(the_model_is_exact)
{
	for (double x = -3; x <= 3; x += 0.5) {
		CHECK_NEAR(mixture_clean(x, 1, 0.7), integrate(x, 1, 0.7), 1e-5);
		CHECK_NEAR(mixture_clean(x, 0.6, 0.8), integrate(x, 0.6, 0.8), 1e-5);
	}
	CHECK_NEAR(mixture_clean(5, 0, 1), 0, 1e-12); /* all noise: the mean */
	CHECK_NEAR(mixture_clean(0.25, 1, 0), 0.25, 1e-12);
}

TEST(parts_and_numbers_are_each_other_s_inverse)
{
	for (double part = 0.01; part < 1; part += 0.07)
		for (double sigma = 0; sigma < 100; sigma = 3 * sigma + 0.5)
			CHECK_NEAR(mixture_part(mixture_at(part, 0.9, sigma), 0.9, sigma), part,
				   1e-12);
}

TEST(the_end_is_close_to_where_it_should_be)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct mixture_run few, many;

	strata_arena_init(&arena, &memory, 0);
	for (int steps = 10; steps <= 40; steps += 30) {
		struct strata_solver_table *table = sample_table("heun", steps, &memory, &arena);

		CHECK_OK(mixture_denoise(table, 0, strata_isa_best(), &memory,
					 steps == 10 ? &few : &many, &err));
		strata_solver_table_free(table, &memory);
	}
	CHECK_INT(few.calls, 19);
	CHECK_INT(many.calls, 79);
	CHECK(many.error < few.error && few.error < 0.1 && many.error < 0.01);
	strata_arena_fini(&arena);
}

static int denoise(struct strata_memory *memory, void *table, struct strata_error *err)
{
	struct mixture_run run;

	return mixture_denoise(table, 0.5, STRATA_ISA_SCALAR, memory, &run, err);
}

TEST(a_solver_that_draws_noise_is_refused)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct mixture_run run;

	strata_arena_init(&arena, &memory, 0);
	struct strata_solver_table *noisy = sample_table("euler_ancestral", 5, &memory, &arena);
	struct strata_solver_table *quiet = sample_table("euler", 5, &memory, &arena);

	CHECK_ERROR(mixture_denoise(noisy, 0, STRATA_ISA_SCALAR, &memory, &run, &err), -EINVAL,
		    "draws noise");
	test_every_allocation(denoise, quiet);
	strata_solver_table_free(noisy, &memory);
	strata_solver_table_free(quiet, &memory);
	strata_arena_fini(&arena);
}
