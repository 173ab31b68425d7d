#include "solver_sample.h"

#include <errno.h>
#include <stdio.h>

static struct solver_sample sample;

/* Reads what was written, and compiles it. */
static struct strata_solver_table *read_back(const char *json, size_t length)
{
	const struct strata_solver_request request = { .steps = 14 };
	struct strata_solver_table *table = NULL;
	struct strata_spec spec;

	CHECK_INT(strata_solver_read_config(sample.solvers, json, length, NULL, &sample.arena,
					    &spec, &sample.err),
		  0);
	if (strata_solver_compile((const struct strata_solver_class *)spec.cls, spec.conf, &request,
				  &sample.memory, &table, &sample.err))
		test_fail(__FILE__, __LINE__, "%s: %s", json, sample.err.text);
	return table;
}

/* Timesteps beside their noise levels are whole numbers in diffusers (those of DPM-Solver's family, by key). */
static void check_rows(const struct strata_solver_table *got,
		       const struct strata_solver_table *want, bool rounded)
{
	CHECK(got->cls == want->cls);
	CHECK_INT(got->row_count, want->row_count);
	for (size_t i = 0; i < want->row_count; i++) {
		struct strata_solver_row row = got->rows[i];

		CHECK_NEAR(row.timestep, want->rows[i].timestep, rounded ? 1 : 0);
		row.timestep = want->rows[i].timestep;
		CHECK_BYTES(&row, &want->rows[i], sizeof(row));
	}
	CHECK(got->init_noise_sigma == want->init_noise_sigma);
}

static bool survives(const char *text)
{
	const struct strata_solver_request request = { .steps = 14 };
	struct strata_solver_table *want;
	const char *json;
	size_t length;

	if (solver_sample_compile(&sample, text, &request, &want))
		return false;
	if (strata_solver_write_config(&sample.setup, &sample.arena, &json, &length, &sample.err))
		test_fail(__FILE__, __LINE__, "%s: %s", text, sample.err.text);
	CHECK_INT(strlen(json), length);
	struct strata_solver_table *got = read_back(json, length);

	check_rows(got, want, sample.setup.schedule.cls != NULL);
	strata_solver_table_free(want, &sample.memory);
	strata_solver_table_free(got, &sample.memory);
	return true;
}

/* Every solver that diffusers has, as it is and with settings that it may not have. */
TEST(what_was_written_reads_back_as_the_same_table)
{
	static const char *const settings[] = {
		"",
		":beta_start=0.0001:beta_schedule=linear",
		":prediction_type=v_prediction",
		":timestep_spacing=trailing",
		":use_karras_sigmas",
		":use_beta_sigmas:steps_offset=0",
		":k_diffusion",
		":eta=0.5",
		":s_churn=2:s_tmax=10",
		":lambda_min_clipped=-5.1",
		":clip_sample:clip_sample_range=2",
		":thresholding:sample_max_value=1.5",
		":rescale_betas_zero_snr:prediction_type=v_prediction",
		":solver_order=3:lower_order_final=false",
		":trained_betas=0.1,0.2,0.3,0.31,0.32,0.33,0.34,0.35,0.36,0.37,0.38,0.39,0.4,0.41,"
		"0.42,0.43",
		":sigma_min=0.1:sigma_max=12",
		":disable_corrector=0,2",
		":shift=5",
	};
	size_t written = 0;

	for (const struct strata_class *const *at = strata_solver_kind.classes; *at; at++) {
		if (!(*at)->aliases || !strstr((*at)->aliases, "Scheduler"))
			continue;
		for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
			char text[256];

			solver_sample_start(&sample);
			snprintf(text, sizeof(text), "%s%s", (*at)->name, settings[i]);
			written += survives(text);
			solver_sample_end(&sample);
		}
	}
	CHECK(written > 200);
}

TEST(families_and_schedules_read_back_too)
{
	static const char *const names[] = { "DPM++ 2M Karras", "DPM++ 2M SDE Exponential",
					     "Euler Beta",      "Heun Karras",
					     "LMS Karras",      "UniPC Karras" };
	const struct strata_model_family *family;

	solver_sample_start(&sample);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(survives(names[i]));
	for (size_t i = 0; (family = strata_model_family_at(i)); i++)
		survives(family->name); /* those with dynamic shifting want more than steps */
	solver_sample_end(&sample);
}

/* Nothing that JSON or diffusers has no word for, and what people look for. */
TEST(a_file_is_what_diffusers_reads)
{
	const char *json;
	size_t length;

	solver_sample_start(&sample);
	CHECK_INT(solver_sample_read(&sample, "dpmpp_2m"), 0);
	CHECK_INT(strata_solver_write_config(&sample.setup, &sample.arena, &json, &length,
					     &sample.err),
		  0);
	CHECK(strstr(json, "\"_class_name\": \"DPMSolverMultistepScheduler\""));
	CHECK(strstr(json, "\"num_train_timesteps\": 1000"));
	CHECK(strstr(json, "\"beta_schedule\": \"scaled_linear\""));
	CHECK(!strstr(json, "inf") && !strstr(json, "lambda_min_clipped") &&
	      !strstr(json, "k_diffusion"));
	solver_sample_end(&sample);
}

TEST(what_diffusers_does_not_have_is_refused)
{
	static const struct {
		const char *name, *why;
	} cases[] = {
		{ "er_sde", "no class for the solver er_sde" },
		{ "DPM++ 2M SGM Uniform", "schedule sgm_uniform" },
		{ "DPM2 Karras", "leaves out the last noise level but one" },
		{ "DDIM Karras", "schedule karras" },
	};
	const char *json = NULL;
	size_t length;

	solver_sample_start(&sample);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(solver_sample_read(&sample, cases[i].name), 0);
		CHECK_INT(strata_solver_write_config(&sample.setup, &sample.arena, &json, &length,
						     &sample.err),
			  -ENOTSUP);
		CHECK(strstr(sample.err.text, cases[i].why));
	}
	CHECK(!json);
	solver_sample_end(&sample);
}

static int write_once(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;
	const char *json;
	size_t length;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_solver_write_config(context, &arena, &json, &length, err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	solver_sample_start(&sample);
	CHECK_INT(solver_sample_read(&sample, "DPM++ 2M SDE Karras"), 0);
	CHECK(test_every_own_allocation(write_once, &sample.setup) > 1);
	solver_sample_end(&sample);
}
