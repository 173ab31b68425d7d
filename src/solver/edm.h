/* What solvers of EDM models share: levels by a schedule between two sigmas, and Karras et al.'s preconditioning of the model. */
#ifndef SOLVER_EDM_H
#define SOLVER_EDM_H

#include "solver/draft.h"
#include "solver/schedule.h"
#include "solver/spacing.h"

enum { EDM_KARRAS, EDM_EXPONENTIAL };

struct edm_conf {
	struct solver_conf common;
	double sigma_data, rho;
	int sigma_schedule;
};

extern const struct strata_choice edm_schedules[];
extern const struct strata_choice edm_predictions[];

#define EDM_AT(field) offsetof(struct edm_conf, field)
/* clang-format off */
#define EDM_OPTIONS                                                                                                      \
	{ "sigma_min", STRATA_REAL, CONF_AT(sigma_min), .real = { 0.002, 1e-6, 1e6 },                                    \
	  .help = "the last noise level" },                                                                              \
	{ "sigma_max", STRATA_REAL, CONF_AT(sigma_max), .real = { 80, 1e-6, 1e6 },                                       \
	  .help = "the first noise level" },                                                                             \
	{ "sigma_data", STRATA_REAL, EDM_AT(sigma_data), .real = { 0.5, 1e-6, 1e6 },                                     \
	  .help = "deviation of clean samples" },                                                                        \
	{ "sigma_schedule", STRATA_ENUM, EDM_AT(sigma_schedule), .choice = { edm_schedules, EDM_KARRAS },                \
	  .help = "where the levels lie" },                                                                              \
	{ "rho", STRATA_REAL, EDM_AT(rho), .real = { 7, 0.1, 100 }, .help = "which root karras takes" },                 \
	{ "prediction_type", STRATA_ENUM, CONF_AT(prediction_type), .choice = { edm_predictions, PREDICTION_EPSILON },   \
	  .help = "what the model predicts" },                                                                           \
	CONF_FINAL(FINAL_ZERO)
/* clang-format on */

/* What the loop of a solver of this family works on. */
struct edm_run {
	const struct edm_conf *conf;
	struct strata_solver_draft *draft;
	struct strata_error *err;
	size_t count, first;
	double *sigmas; /* count + 1 */
};

/* Levels, the scale of the first sample and the number of steps. */
int edm_start(struct edm_run *run, const struct edm_conf *conf,
	      const struct strata_solver_request *request, struct strata_solver_draft *draft,
	      struct strata_error *err);

/* `step` for each step that is left, with the run as its first argument (or what begins with it). */
int edm_steps(struct edm_run *run, int (*step)(void *run, size_t i));

/* One more row, of step i: the model is called at its sigma on a sample that stands at `noised` (the same without churn). */
int edm_row(struct edm_run *run, size_t i, double noised, struct strata_solver_row **ret_row);

#endif
