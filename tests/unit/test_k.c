#include "solver_sample.h"

#include "solver/k.h"

#include <errno.h>
#include <math.h>

static struct solver_sample sample;

TEST(an_ancestral_step_keeps_the_variance)
{
	double down, up;

	k_ancestral(10, 4, 1, &down, &up);
	CHECK_NEAR(hypot(down, up), 4, 1e-12);
	CHECK_NEAR(up, sqrt(16 * (100.0 - 16) / 100), 1e-12);
	k_ancestral(10, 4, 0, &down, &up);
	CHECK(down == 4 && up == 0);
	k_ancestral(10, 4, 9, &down, &up); /* no more than all of it */
	CHECK(down == 0 && up == 4);
	k_ancestral(10, 0, 1, &down, &up);
	CHECK(down == 0 && up == 0);
}

TEST(a_step_of_euler_is_a_ratio)
{
	struct strata_solver_sum whole = { 0 }, slope = { .a = 1 };

	k_euler(&whole, 8, 2);
	k_slope(&slope, 8, 2 - 8);
	CHECK(whole.a == 0.25 && whole.b == 0.75);
	CHECK(slope.a == whole.a && slope.b == whole.b);
}

static double next_of(const struct strata_solver_row *row, double x, double m, double slot)
{
	return row->next.a * x + row->next.e * m + row->next.b * (row->p * x + row->q * m) +
	       row->next.c[0] * slot;
}

/* y + to · (x − y of the unguided output) / sigma, in numbers; and where nothing guides it is Euler. */
TEST(cfg_pp_goes_along_the_unguided_slope)
{
	static const double x = 3, guided = 0.5, unguided = -0.25;

	solver_sample_start(&sample);
	for (int v = 0; v < 2; v++) {
		struct strata_solver_table *table = solver_sample_table(
			&sample, v ? "euler_cfg_pp:prediction_type=v_prediction" : "euler_cfg_pp",
			6);
		struct strata_solver_table *plain = solver_sample_table(
			&sample, v ? "euler:prediction_type=v_prediction" : "euler", 6);

		CHECK_INT(table->slot_count, 1);
		for (size_t i = 0; i < table->row_count; i++) {
			const struct strata_solver_row *row = &table->rows[i];
			double to = i + 1 < table->row_count ? table->rows[i + 1].sigma : 0;
			double y = row->p * x + row->q * guided;
			double slope = (x - row->p * x - row->q * unguided) / row->sigma;

			CHECK(row->flags & STRATA_ROW_UNGUIDED);
			CHECK_NEAR(next_of(row, x, guided, unguided), y + to * slope, 1e-9);
			CHECK_NEAR(next_of(row, x, guided, guided),
				   next_of(&plain->rows[i], x, guided, 0), 1e-9);
		}
		strata_solver_table_free(table, &sample.memory);
		strata_solver_table_free(plain, &sample.memory);
	}
	solver_sample_end(&sample);
}

TEST(churn_comes_before_the_call_in_k_diffusion_and_after_it_in_diffusers)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table =
		solver_sample_table(&sample, "euler:s_churn=5:k_diffusion", 5);

	CHECK_INT(table->row_count, 10);
	CHECK(table->rows[0].flags == (STRATA_ROW_NO_MODEL | STRATA_ROW_NOISE));
	CHECK(table->rows[0].next.a == 1 && table->rows[0].next.d > 0);
	CHECK(table->rows[1].sigma > table->rows[0].sigma);
	CHECK(table->rows[1].step == table->rows[0].step);
	strata_solver_table_free(table, &sample.memory);
	table = solver_sample_table(&sample, "euler:s_churn=5", 5);
	CHECK_INT(table->row_count, 5);
	CHECK(table->rows[0].next.d > 0 && table->rows[0].flags == STRATA_ROW_NOISE);
	strata_solver_table_free(table, &sample.memory);
	table = solver_sample_table(&sample, "euler:s_churn=5:s_tmax=1", 5);
	CHECK(table->rows[0].next.d == 0 && table->rows[0].flags == 0);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

TEST(the_first_sample_has_the_noise_of_the_first_level)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "euler", 5);

	CHECK_NEAR(table->init_noise_sigma, 14.6146, 1e-3);
	CHECK_NEAR(table->rows[0].input_scale, 1 / hypot(14.6146, 1), 1e-5);
	strata_solver_table_free(table, &sample.memory);
	table = solver_sample_table(&sample, "euler:timestep_spacing=leading", 5);
	CHECK_NEAR(table->init_noise_sigma, hypot(table->rows[0].sigma, 1), 1e-12);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

/* The rows of a run with a strength are those of a run that is given what is left of the levels: nothing is read that was not computed. */
static void check_strength(const char *text, int64_t steps, double strength)
{
	struct strata_solver_request request = { .steps = steps,
						 .has_strength = true,
						 .strength = strength };
	struct strata_solver_table *part, *own;
	double levels[1000];
	size_t count = 0;

	CHECK_INT(solver_sample_compile(&sample, text, &request, &part), 0);
	for (size_t i = 0; i < part->row_count; i++)
		if (i == 0 || part->rows[i].step != part->rows[i - 1].step)
			levels[count++] = part->rows[i].sigma;
	CHECK_INT(count, part->step_count);
	CHECK_INT(count, (int64_t)((double)steps * strength));
	levels[count++] = 0;
	request = (struct strata_solver_request){ .sigmas = levels, .sigma_count = count };
	CHECK_INT(solver_sample_compile(&sample, text, &request, &own), 0);
	CHECK_INT(part->row_count, own->row_count);
	for (size_t i = 0; i < own->row_count; i++) {
		const struct strata_solver_row *a = &part->rows[i], *b = &own->rows[i];

		CHECK_INT(a->flags, b->flags);
		CHECK_INT(a->step, b->step);
		CHECK_INT(a->write_count, b->write_count);
		CHECK_NEAR(a->next.a, b->next.a, 1e-9);
		CHECK_NEAR(a->next.b, b->next.b, 1e-9);
		CHECK_NEAR(a->next.d, b->next.d, 1e-9);
		CHECK_NEAR(a->next.e, b->next.e, 1e-9);
		for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
			CHECK_NEAR(a->next.c[k], b->next.c[k], 1e-9);
		for (size_t w = 0; w < a->write_count; w++)
			CHECK_INT(a->writes[w].slot, b->writes[w].slot);
	}
	strata_solver_table_free(part, &sample.memory);
	strata_solver_table_free(own, &sample.memory);
}

TEST(with_a_strength_a_run_begins_anew_further_down)
{
	solver_sample_start(&sample);
	for (int64_t steps = 4; steps <= 40; steps += 9) {
		check_strength("sa_solver_pece:k_diffusion=true", steps, 0.5);
		check_strength("sa_solver_pece:k_diffusion=true", steps, 0.8);
	}
	solver_sample_end(&sample);
}

/* It would not know where in its schedule to go back up. */
TEST(restart_has_no_strength)
{
	struct strata_solver_request request = { .steps = 30,
						 .has_strength = true,
						 .strength = 0.5 };
	struct strata_solver_table *table;

	solver_sample_start(&sample);
	CHECK_INT(solver_sample_compile(&sample, "restart", &request, &table), -EINVAL);
	CHECK_TEXT(sample.err.field, "strength");
	CHECK(strstr(sample.err.text, "or the solver heun"));
	solver_sample_end(&sample);
}
