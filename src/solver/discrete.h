/*
 * What solvers on whole timesteps of the training share: alphas_cumprod, the timesteps, and rows where the sample is
 * √ā·clean + √(1−ā)·noise.
 */
#ifndef SOLVER_DISCRETE_H
#define SOLVER_DISCRETE_H

#include "solver/betas.h"
#include "solver/draft.h"
#include "solver/prediction.h"
#include "solver/spacing.h"

struct discrete_run {
	const struct solver_conf *conf;
	struct strata_solver_draft *draft;
	struct strata_error *err;
	struct alphas alphas;
	struct timesteps timesteps;
	size_t first;  /* the first step that a strength leaves */
	size_t stride; /* whole timesteps between two steps */
};

/* Refuses noise levels, the request's own and a schedule's: a step here ends a stride of timesteps further on. */
int discrete_check(const struct strata_solver_request *request, struct strata_error *err);

/* Refuses more steps than there are timesteps. */
int discrete_check_steps(const struct solver_conf *conf,
			 const struct strata_solver_request *request, struct strata_error *err);

/* Betas, timesteps and what a strength leaves of them. */
int discrete_start(struct discrete_run *run, const struct solver_conf *conf,
		   const struct strata_solver_request *request, struct strata_solver_draft *draft,
		   struct strata_error *err);

/* `step` for each step that is left, with the run as its first argument (or what begins with it). */
int discrete_steps(struct discrete_run *run, int (*step)(void *run, size_t i));

/* A whole trajectory: discrete_start and discrete_steps. conf begins with a struct solver_conf, which is the run's conf. */
int discrete_compile(const void *conf, const struct strata_solver_request *request,
		     int (*step)(void *run, size_t i), struct strata_solver_draft *draft,
		     struct strata_error *err);

/* ā at a timestep that may lie before the first: `before` then. */
double discrete_alpha(const struct discrete_run *run, double timestep, double before);

/* One more row, of step i, where ā is `alpha`. */
int discrete_row(struct discrete_run *run, size_t i, double timestep, double alpha,
		 struct strata_solver_row **ret_row);

#endif
