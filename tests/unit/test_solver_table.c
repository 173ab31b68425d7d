#include "solver_sample.h"

#include <errno.h>
#include <math.h>

static struct solver_sample sample;

static int compile(const char *text, const struct strata_solver_request *request,
		   struct strata_solver_table **table)
{
	return solver_sample_compile(&sample, text, request, table);
}

/* Refused with these words, the table untouched. */
static void refused(const char *text, int64_t steps, const char *words)
{
	struct strata_solver_request request = { .steps = steps };
	struct strata_solver_table *table = NULL;
	int rc = compile(text, &request, &table);

	if (rc != -EINVAL || !strstr(sample.err.text, words) || table)
		test_fail(__FILE__, __LINE__, "%s, %lld steps: %d '%s', expected '%s'", text,
			  (long long)steps, rc, rc ? sample.err.text : "", words);
}

/* What the reference gives NaN or an exception for has a table here whose numbers are finite (it would be refused else). */
static void defined(const char *text, int64_t steps)
{
	strata_solver_table_free(solver_sample_table(&sample, text, steps), &sample.memory);
}

TEST(where_the_reference_fails)
{
	solver_sample_start(&sample);
	refused("ddpm:variance_type=fixed_large_log", 5, "expected fixed_large");
	refused("unipc:lower_order_final=false", 5, "infinite with these settings");
	refused("unipc:solver_type=bh1", 5, "solver_type = bh2");
	refused("unipc:predict_x0=false", 5, "with predict_x0");
	defined("unipc:solver_type=bh1:k_diffusion", 5);
	defined("unipc:predict_x0=false:solver_order=3:lower_order_final=false:k_diffusion", 20);
	defined("unipc:solver_type=bh1:final_sigmas_type=sigma_min", 5);
	defined("edm_dpmpp:algorithm_type=sde-dpmsolver++:solver_type=heun:final_sigmas_type=sigma_"
		"min",
		20);
	refused("edm_dpmpp:algorithm_type=sde-dpmsolver++:solver_order=3", 20, "solver_order = 2");
	refused("edm_dpmpp:sigma_schedule=exponential:solver_type=heun:final_sigmas_type=sigma_min",
		20, "has no length");
	refused("dpmpp_2m:algorithm_type=dpmsolver", 5, "final_sigmas_type = sigma_min");
	defined("dpmpp_2m:algorithm_type=dpmsolver:k_diffusion", 5);
	refused("dpmpp_2m:algorithm_type=deis", 5, "algorithm_type = dpmsolver++");
	refused("dpmpp_2m:algorithm_type=sde-dpmsolver:solver_order=3:final_sigmas_type=sigma_min",
		20, "solver_order = 2");
	refused("dpmpp_2m:use_karras_sigmas:solver_type=heun:final_sigmas_type=sigma_min", 20,
		"has no length");
	refused("dpmpp_single:algorithm_type=sde-dpmsolver", 5, "expected sde-dpmsolver++");
	refused("ddim_inverse:timestep_spacing=linspace", 5, "leading or trailing");
	refused("sa_solver:algorithm_type=noise_prediction:thresholding", 5, "data_prediction");
	refused("euler_ancestral:prediction_type=sample", 5, "epsilon or v_prediction");
	defined("dpmpp_2m_sde", 1);
	defined("dpmpp_3m_sde", 1);
	refused("pndm:skip_prk_steps=false", 3, "at least 4, or skip_prk_steps");
	refused("ddim", 1000, "timestep 1000 is outside");
	refused("ddim:rescale_betas_zero_snr:timestep_spacing=trailing", 5,
		"expected v_prediction or sample");
	refused("flow_euler:shift_terminal=0.1", 1, "at least two steps");
	refused("consistency", 41, "1 to 40 steps");
	solver_sample_end(&sample);
}

TEST(impossible_settings_are_refused_with_a_choice)
{
	solver_sample_start(&sample);
	refused("euler:use_karras_sigmas:use_beta_sigmas", 5, "more than one schedule");
	refused("flow_euler:use_dynamic_shifting", 5, "use_dynamic_shifting = false");
	refused("ddpm:variance_type=learned", 5, "fixed_small or fixed_large");
	refused("dpmpp_inverse:algorithm_type=sde-dpmsolver++", 5, "dpmsolver++ or dpmsolver");
	refused("lcm", 51, "1 to 50");
	refused("ipndm Karras", 5, "the solver lms");
	refused("dpm_fast:sigma_min=5:sigma_max=1", 5, "more than sigma_min");
	solver_sample_end(&sample);
}

TEST(rows_are_found_by_index_and_timestep)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "ddim", 5);

	CHECK_INT(table->row_count, 5);
	CHECK(strata_solver_row_at(table, 4)->timestep == 1);
	CHECK(!strata_solver_row_at(table, 5));
	CHECK_INT(strata_solver_row_near(table, 401), 2);
	CHECK_INT(strata_solver_row_near(table, 5000), 0);
	CHECK_INT(strata_solver_row_near(table, 120), 3);
	strata_solver_table_free(table, &sample.memory);
	strata_solver_table_free(NULL, &sample.memory);
	solver_sample_end(&sample);
}

TEST(image_to_image_starts_in_the_middle)
{
	struct strata_solver_request request = { .steps = 20,
						 .has_strength = true,
						 .strength = 0.5 };
	struct strata_solver_table *table;

	solver_sample_start(&sample);
	CHECK_INT(compile("dpmpp_2m", &request, &table), 0);
	CHECK_INT(table->row_count, 10);
	CHECK_INT(table->step_count, 10);
	CHECK(table->init_clean == table->rows[0].alpha);
	CHECK(table->init_noise_sigma == table->rows[0].sigma);
	CHECK_NEAR(hypot(table->init_clean, table->init_noise_sigma), 1, 1e-12);
	for (uint32_t k = 0; k < table->slot_count; k++) /* no history yet */
		CHECK(table->rows[0].next.c[k] == 0);
	strata_solver_table_free(table, &sample.memory);
	request.strength = 1.5;
	CHECK_INT(compile("dpmpp_2m", &request, &table), -EINVAL);
	solver_sample_end(&sample);
}

TEST(there_is_a_most_of_steps)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table =
		solver_sample_table(&sample, "heun", STRATA_SOLVER_STEPS_MAX);

	CHECK_INT(table->row_count, 2 * STRATA_SOLVER_STEPS_MAX - 1);
	strata_solver_table_free(table, &sample.memory);
	refused("heun", STRATA_SOLVER_STEPS_MAX + 1, "expected 1 to 10000");
	solver_sample_end(&sample);
}

TEST(what_no_row_reads_is_not_written)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "dpmpp_2m", 5);

	CHECK_INT(table->slot_count, 1);
	CHECK_INT(table->rows[0].write_count, 1);
	CHECK_INT(table->rows[3].write_count, 0); /* the last step is of first order */
	CHECK_INT(table->rows[4].write_count, 0);
	strata_solver_table_free(table, &sample.memory);
	table = solver_sample_table(&sample, "euler", 5);
	CHECK_INT(table->slot_count, 0);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}
