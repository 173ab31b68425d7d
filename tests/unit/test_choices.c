#include "test.h"

#include "solver/solver_conf.h"

#include <string.h>

static bool has(const struct strata_choice *choices, const char *name)
{
	for (; choices->name; choices++)
		if (strcmp(choices->name, name) == 0)
			return true;
	return false;
}

TEST(choices_are_spelled_as_in_diffusers)
{
	CHECK(has(conf_beta_schedules, "linear") && has(conf_beta_schedules, "scaled_linear"));
	CHECK(has(conf_beta_schedules, "squaredcos_cap_v2"));
	/* each class has those that its own in diffusers has */
	CHECK(!has(conf_beta_schedules, "sigmoid") && !has(conf_beta_schedules, "exp"));
	CHECK(has(conf_beta_schedules_ddpm, "sigmoid") && has(conf_beta_schedules_ddpm, "laplace"));
	CHECK(has(conf_beta_schedules_heun, "exp") && has(conf_beta_schedules_heun, "linear"));
	CHECK(has(conf_predictions, "epsilon") && has(conf_predictions, "v_prediction"));
	CHECK(has(conf_predictions, "sample") && !has(conf_predictions, "flow_prediction"));
	CHECK(has(conf_predictions_flow, "flow_prediction"));
	CHECK(has(conf_spacings, "leading") && has(conf_spacings, "trailing"));
	CHECK(has(conf_spacings, "linspace"));
	CHECK(has(conf_finals, "zero") && has(conf_finals, "sigma_min"));
	CHECK(has(conf_time_shifts, "exponential") && has(conf_time_shifts, "linear"));
}

TEST(every_class_starts_with_the_common_part)
{
	for (const struct strata_class *const *at = strata_solver_kind.classes; *at; at++)
		CHECK((*at)->conf_size >= sizeof(struct solver_conf));
}
