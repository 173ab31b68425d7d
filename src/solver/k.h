/*
 * What k-diffusion's family of solvers shares. Their sample is clean + sigma·noise, so the derivative is (x − y) / sigma,
 * and a step of Euler to another sigma is x' = ratio·x + (1 − ratio)·y with ratio = sigma' / sigma.
 */
#ifndef SOLVER_K_H
#define SOLVER_K_H

#include "solver/draft.h"
#include "solver/levels.h"
#include "solver/prediction.h"

/* What the loop of a solver of this family works on. */
struct k_run {
	const struct solver_conf *conf;
	struct strata_solver_draft *draft;
	struct strata_error *err;
	struct levels levels;
};

/* Builds the levels; sets the scale of the first sample and the number of steps. */
int k_start(struct k_run *run, const struct solver_conf *conf,
	    const struct strata_solver_request *request, unsigned rules,
	    struct strata_solver_draft *draft, struct strata_error *err);

/* A whole trajectory: k_start, and `step` for each of its steps, with the run as its first argument. conf begins with a struct
 * solver_conf, which is the run's conf. */
int k_compile(const void *conf, const struct strata_solver_request *request, unsigned rules,
	      int (*step)(void *run, size_t i), struct strata_solver_draft *draft,
	      struct strata_error *err);

/* One more row: the model is called at this sigma. */
int k_row(struct k_run *run, size_t step, double timestep, double sigma,
	  struct strata_solver_row **ret_row);

/* The sigma that churn raises this step's to: the step's own without churn. */
double k_churned(const struct k_run *run, size_t step);

/* A row without a model call that adds the churn's noise; none when there is none. Returns the sigma in *ret_sigma. */
int k_churn(struct k_run *run, size_t step, double *ret_sigma);

/* Adds share times a step of Euler from sigma to `to` (share 1: the whole of it). */
void k_euler(struct strata_solver_sum *sum, double sigma, double to);

/* Adds scale times the derivative. */
void k_slope(struct strata_solver_sum *sum, double sigma, double scale);

/* The rows of a step of Heun from sigma to `to`, two unless it ends at 0; the model is told t and then t_to. */
int k_heun(struct k_run *run, size_t step, double sigma, double t, double to, double t_to);

/* A step of Euler to `to` from the guided clean sample along the unguided slope (CFG++): y + to · (x − y of the unguided output) / sigma. */
void k_unguided(struct k_run *run, struct strata_solver_row *row, double sigma, double to);

/* Says that the row's noise is the path's between two sigmas. */
void k_path(struct k_run *run, struct strata_solver_row *row, double sigma, double to);

/* Refuses a step of an ancestral solver that goes up: no noise makes up for it. */
int k_falls(struct k_run *run, double sigma, double to);

/* A step from sigma to `to` split in a deterministic part down to *ret_down and new noise of deviation *ret_up. */
void k_ancestral(double sigma, double to, double eta, double *ret_down, double *ret_up);

#endif
