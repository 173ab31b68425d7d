/* The choices behind the options that solvers have in common. */
#include "solver/solver_conf.h"

#define COMMON_BETAS                                                                   \
	{ "linear", BETAS_LINEAR, "evenly" },                                          \
		{ "scaled_linear", BETAS_SCALED_LINEAR, "evenly in the square root" }, \
	{                                                                              \
		"squaredcos_cap_v2", BETAS_SQUAREDCOS_CAP_V2,                          \
			"so that the signal fades as a cosine"                         \
	}

const struct strata_choice conf_beta_schedules[] = { COMMON_BETAS, { 0 } };

const struct strata_choice conf_beta_schedules_ddpm[] = {
	COMMON_BETAS,
	{ "sigmoid", BETAS_SIGMOID, "slowly at both ends" },
	{ "laplace", BETAS_LAPLACE, "fast at both ends" },
	{ 0 },
};

const struct strata_choice conf_beta_schedules_heun[] = {
	COMMON_BETAS,
	{ "exp", BETAS_EXP, "so that the signal fades as an exponential" },
	{ 0 },
};

const struct strata_choice conf_predictions[] = {
	{ "epsilon", PREDICTION_EPSILON, "the noise" },
	{ "v_prediction", PREDICTION_V, "the velocity" },
	{ "sample", PREDICTION_SAMPLE, "the clean sample" },
	{ "original_sample", PREDICTION_SAMPLE, "the same" },
	{ 0 }
};

const struct strata_choice conf_predictions_flow[] = {
	{ "epsilon", PREDICTION_EPSILON, "the noise" },
	{ "v_prediction", PREDICTION_V, "the velocity" },
	{ "sample", PREDICTION_SAMPLE, "the clean sample" },
	{ "original_sample", PREDICTION_SAMPLE, "the same" },
	{ "flow_prediction", PREDICTION_FLOW, "the flow from the clean sample to the noise" },
	{ 0 }
};

const struct strata_choice conf_spacings[] = {
	{ "leading", SPACING_LEADING, "from the first timestep up" },
	{ "trailing", SPACING_TRAILING, "from the last timestep down" },
	{ "linspace", SPACING_LINSPACE, "from the first to the last" },
	{ 0 }
};

const struct strata_choice conf_finals[] = {
	{ "zero", FINAL_ZERO, "no noise" },
	{ "sigma_min", FINAL_SIGMA_MIN, "the least noise of the training" },
	{ 0 },
};

const struct strata_choice conf_time_shifts[] = {
	{ "exponential", TIME_SHIFT_EXPONENTIAL, "by its exponential" },
	{ "linear", TIME_SHIFT_LINEAR, "as it is" },
	{ 0 },
};

const struct strata_option conf_beta_item = { .type = STRATA_REAL, .real = { 0, 0, 0.9999 } };
