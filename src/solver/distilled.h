/* What solvers of models that were distilled to few steps (LCM, TCD) share: timesteps out of those of the distillation. */
#ifndef SOLVER_DISTILLED_H
#define SOLVER_DISTILLED_H

#include "solver/discrete.h"

struct distilled_conf {
	struct solver_conf common;
	int64_t original_inference_steps;
	bool set_alpha_to_one;
	bool over_training;
	double timestep_scaling;
};

#define DISTILLED_AT(field) offsetof(struct distilled_conf, field)
/* clang-format off */
#define DISTILLED_OPTIONS                                                                                                \
	CONF_TRAINING,                                                                                                   \
	CONF_ZERO_SNR,                                                                                                   \
	CONF_PREDICTION(conf_predictions),                                                                               \
	{ "original_inference_steps", STRATA_INT, DISTILLED_AT(original_inference_steps),                                \
	  .integer = { 50, 1, STRATA_TRAIN_STEPS_MAX }, .help = "steps the model was distilled from" },                  \
	{ "set_alpha_to_one", STRATA_BOOL, DISTILLED_AT(set_alpha_to_one), .boolean = true,                              \
	  .help = "the last step ends without noise, not at timestep 0" }
/* clang-format on */

/* As discrete_start, with steps spread over those of the distillation; a strength takes the last part of these and leaves the
 * number of steps as it is. */
int distilled_start(struct discrete_run *run, const struct distilled_conf *conf,
		    const struct strata_solver_request *request, struct strata_solver_draft *draft,
		    struct strata_error *err);

/* A whole trajectory: distilled_start and discrete_steps. conf begins with a struct distilled_conf. */
int distilled_compile(const void *conf, const struct strata_solver_request *request,
		      int (*step)(void *run, size_t i), struct strata_solver_draft *draft,
		      struct strata_error *err);

#endif
