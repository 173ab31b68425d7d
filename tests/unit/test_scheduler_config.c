#include "solver_sample.h"

#include "formats/scheduler_config.h"
#include "solver/dpm.h"

#include <errno.h>

static struct solver_sample sample;

static int read_config(const char *json, const char *name, struct strata_spec *spec)
{
	struct strata_solver_name named;

	if (name)
		CHECK_INT(strata_solver_find(sample.solvers, NULL, name, strlen(name), &named,
					     &sample.err),
			  0);
	return strata_solver_read_config(sample.solvers, json, strlen(json), name ? &named : NULL,
					 &sample.arena, spec, &sample.err);
}

/* Stable Diffusion 1.5's file, as it is shipped. */
static const char sd15[] = "{\"_class_name\": \"PNDMScheduler\", \"_diffusers_version\": \"0.6.0\","
			   "\"beta_end\": 0.012, \"beta_schedule\": \"scaled_linear\","
			   "\"beta_start\": 0.00085, \"num_train_timesteps\": 1000,"
			   "\"set_alpha_to_one\": false, \"skip_prk_steps\": true,"
			   "\"steps_offset\": 1, \"trained_betas\": null, \"clip_sample\": false}";

TEST(a_file_is_read_as_it_is)
{
	struct strata_spec spec;

	solver_sample_start(&sample);
	CHECK_INT(read_config(sd15, NULL, &spec), 0);
	CHECK_TEXT(spec.cls->name, "pndm");
	const struct solver_conf *conf = spec.conf;

	CHECK(conf->beta_start == 0.00085 && conf->steps_offset == 1);
	CHECK_INT(conf->trained_betas.count, 0);
	solver_sample_end(&sample);
}

TEST(given_betas_leave_nothing_to_a_schedule)
{
	struct strata_spec spec;

	solver_sample_start(&sample);
	CHECK_INT(read_config("{\"_class_name\": \"DDIMScheduler\", \"beta_schedule\": \"laplace\","
			      "\"trained_betas\": [0.001, 0.01, 0.02]}",
			      NULL, &spec),
		  0);
	CHECK_INT(((const struct solver_conf *)spec.conf)->trained_betas.count, 3);
	CHECK_INT(
		read_config("{\"_class_name\": \"DDIMScheduler\", \"beta_schedule\": \"laplace\"}",
			    NULL, &spec),
		-EINVAL);
	solver_sample_end(&sample);
}

TEST(a_file_of_one_solver_serves_another)
{
	struct strata_spec spec;

	solver_sample_start(&sample);
	CHECK_INT(read_config(sd15, "DPM++ 2M SDE", &spec), 0);
	CHECK_TEXT(spec.cls->name, "dpmpp_2m");
	const struct dpm_conf *conf = spec.conf;

	CHECK(conf->algorithm_type == DPM_SDE_PP); /* what the name says comes last */
	CHECK(conf->common.beta_end == 0.012);
	CHECK_INT(conf->solver_order, 2);
	solver_sample_end(&sample);
}

TEST(missing_keys_get_diffusers_defaults)
{
	struct strata_spec spec;

	solver_sample_start(&sample);
	CHECK_INT(read_config("{\"_class_name\": \"DDIMScheduler\"}", NULL, &spec), 0);
	const struct solver_conf *conf = spec.conf;

	CHECK(conf->beta_start == 0.0001 && conf->beta_end == 0.02);
	CHECK(conf->beta_schedule == BETAS_LINEAR && conf->clip_sample);
	CHECK_INT(conf->steps_offset, 0);
	/* without a file it is Stable Diffusion */
	conf = solver_sample_conf(&sample, "ddim");
	CHECK(conf->beta_schedule == BETAS_SCALED_LINEAR && !conf->clip_sample);
	CHECK_INT(conf->steps_offset, 1);
	solver_sample_end(&sample);
}

TEST(what_is_wrong_is_named)
{
	struct strata_spec spec;

	solver_sample_start(&sample);
	CHECK_INT(read_config("{\"beta_start\": 0.1}", NULL, &spec), -EINVAL);
	CHECK(strstr(sample.err.text, "_class_name"));
	CHECK_INT(read_config("{\"_class_name\": \"DDIMSchedular\"}", NULL, &spec), -ENOENT);
	CHECK(strstr(sample.err.text, "did you mean 'ddim'?"));
	CHECK_INT(read_config("[1]", NULL, &spec), -EINVAL);
	CHECK_INT(read_config("{\"_class_name\": \"DDIMScheduler\",", NULL, &spec), -EINVAL);
	CHECK(read_config("{\"_class_name\": \"DDIMScheduler\", \"prediction_type\": \"eps\"}",
			  NULL, &spec) < 0);
	CHECK_TEXT(sample.err.field, "prediction_type");
	CHECK(read_config("{\"_class_name\": \"DDIMScheduler\", \"num_train_timesteps\": 65537}",
			  NULL, &spec) < 0);
	CHECK_TEXT(sample.err.field, "num_train_timesteps");
	CHECK_INT(
		read_config("{\"_class_name\": \"DDIMScheduler\", \"num_train_timesteps\": 65536}",
			    NULL, &spec),
		0);
	solver_sample_end(&sample);
}

TEST(minus_infinity_is_a_text)
{
	struct strata_spec spec;

	solver_sample_start(&sample);
	CHECK_INT(read_config("{\"_class_name\": \"DPMSolverMultistepScheduler\","
			      "\"lambda_min_clipped\": \"-inf\"}",
			      NULL, &spec),
		  0);
	CHECK(((const struct dpm_conf *)spec.conf)->lambda_min_clipped == -INFINITY);
	solver_sample_end(&sample);
}

static int read_once(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_registry *solvers = NULL;
	struct strata_spec spec;
	struct strata_arena arena;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_registry_new(&strata_solver_kind, memory, &solvers, err);

	if (rc == 0)
		rc = scheduler_config_read(solvers, context, NULL, &arena, &spec, err);
	strata_registry_free(solvers);
	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	json_t *parsed = json_loads(sd15, 0, NULL);

	test_every_allocation(read_once, parsed);
	json_decref(parsed);
}

/* The name says which solver and schedule, the file what it knows, the options behind the name come last. */
TEST(a_file_under_a_name)
{
	struct strata_solver_setup setup;

	solver_sample_start(&sample);
	CHECK_INT(strata_solver_read_over(sample.solvers, sample.schedules,
					  "DPM++ 2M SDE Karras:eta=0.5", sd15, strlen(sd15),
					  &sample.arena, &setup, &sample.err),
		  0);
	const struct dpm_conf *conf = setup.solver.conf;

	CHECK_TEXT(setup.solver.cls->name, "dpmpp_2m");
	CHECK_TEXT(setup.schedule.cls->name, "karras");
	CHECK(conf->common.beta_end == 0.012 && conf->common.eta == 0.5);
	CHECK_INT(strata_solver_read_over(sample.solvers, sample.schedules, NULL, sd15,
					  strlen(sd15), &sample.arena, &setup, &sample.err),
		  0);
	CHECK_TEXT(setup.solver.cls->name, "pndm");
	CHECK(!setup.schedule.cls);
	CHECK_INT(strata_solver_read_over(sample.solvers, sample.schedules, "sdxl", sd15,
					  strlen(sd15), &sample.arena, &setup, &sample.err),
		  0);
	CHECK_TEXT(setup.solver.cls->name, "euler");
	solver_sample_end(&sample);
}
