#include "solver_sample.h"

#include "solver/dpm.h"

#include <errno.h>

static struct solver_sample sample;

TEST(a_name_with_options_and_a_schedule)
{
	solver_sample_start(&sample);
	CHECK_INT(solver_sample_read(&sample, "DPM++ 2M SDE Karras:eta=0.5:solver_order=3"), 0);
	const struct dpm_conf *conf = sample.setup.solver.conf;

	CHECK_TEXT(sample.setup.solver.cls->name, "dpmpp_2m");
	CHECK_TEXT(sample.setup.schedule.cls->name, "karras");
	CHECK(sample.setup.schedule.conf);
	CHECK(conf->algorithm_type == DPM_SDE_PP && conf->common.eta == 0.5);
	CHECK_INT(conf->solver_order, 3);
	CHECK(conf->common.beta_schedule == BETAS_SCALED_LINEAR);
	CHECK(!sample.setup.drop_penultimate);
	CHECK_INT(solver_sample_read(&sample, "dpm2"), 0);
	CHECK(!sample.setup.schedule.cls && sample.setup.drop_penultimate);
	solver_sample_end(&sample);
}

TEST(train_timesteps_is_another_name)
{
	solver_sample_start(&sample);
	const struct solver_conf *conf = solver_sample_conf(&sample, "ddim:train_timesteps=500");

	CHECK_INT(conf->num_train_timesteps, 500);
	conf = solver_sample_conf(&sample, "ddim");
	CHECK_INT(conf->num_train_timesteps, 1000);
	CHECK(conf->beta_start == 0.00085 && conf->beta_end == 0.012);
	solver_sample_end(&sample);
}

TEST(a_wrong_option_is_refused)
{
	solver_sample_start(&sample);
	CHECK_INT(solver_sample_read(&sample, "ddim:etta=1"), -EINVAL);
	CHECK(strstr(sample.err.text, "eta"));
	CHECK_INT(solver_sample_read(&sample, "ddim:eta=2"), -ERANGE);
	CHECK_INT(solver_sample_read(&sample, "nothing"), -ENOENT);
	solver_sample_end(&sample);
}

static int read_once(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_registry *solvers = NULL, *schedules = NULL;
	struct strata_solver_setup setup;
	struct strata_arena arena;
	const char *text = context;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_registry_new(&strata_solver_kind, memory, &solvers, err);

	if (rc == 0)
		rc = strata_registry_new(&strata_schedule_kind, memory, &schedules, err);
	if (rc == 0)
		rc = strata_solver_read(solvers, schedules, text, strlen(text), &arena, &setup,
					err);
	strata_registry_free(solvers);
	strata_registry_free(schedules);
	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	char text[] = "DPM++ 2M Karras:eta=0.5";

	test_every_allocation(read_once, text);
}
