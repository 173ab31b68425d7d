/*
 * What DPM-Solver's family shares: points of the trajectory by lambda = log(alpha / sigma), the history of what the model
 * predicted, and the exponential integrals of a step.
 */
#ifndef SOLVER_DPM_H
#define SOLVER_DPM_H

#include "solver/draft.h"
#include "solver/levels.h"
#include "solver/prediction.h"

/* Where a sample stands: x = alpha·clean + sigma·noise. */
struct point {
	double alpha, sigma;
	double lambda; /* infinite where sigma is 0 */
};

/* What the loop of a solver of this family works on. */
struct dpm_run {
	const struct solver_conf *conf;
	struct strata_solver_draft *draft;
	struct strata_error *err;
	struct levels levels;
	bool predict_noise; /* the history holds the noise, not the clean sample … */
	bool by_rest;       /* … namely what is left of the sample without the clean one (DEIS) */
};

int dpm_start(struct dpm_run *run, const struct solver_conf *conf,
	      const struct strata_solver_request *request, double lambda_min, unsigned rules,
	      struct strata_solver_draft *draft, struct strata_error *err);

/* Refuses a prediction that the history cannot hold. dpm_start does. */
int dpm_check_prediction(const struct dpm_run *run, const struct solver_conf *conf,
			 struct strata_error *err);

/* `step` for each step that is left, with the run as its first argument (or what begins with it). */
int dpm_steps(struct dpm_run *run, int (*step)(void *run, size_t i));

/* Where step i starts; i = count: where the last one ends. */
struct point dpm_point(const struct dpm_run *run, size_t i);

/* One more row, of step i, and what the model predicts there as the family sees it (clean sample or noise). */
int dpm_row(struct dpm_run *run, size_t i, struct strata_solver_row **ret_row,
	    struct strata_solver_sum *ret_predicted);

/* What a step from one point to another multiplies the sample, the prediction, its first and second differences and the
 * noise with. The difference of second-order steps has two choices. */
struct dpm_terms {
	double x, d0, d1_midpoint, d1_heun, d2, noise;
};

/* DEIS is another solver's: the same as DPM_SOLVER_PP, but that it does not end at no noise. */
enum dpm_algorithm { DPM_SOLVER, DPM_SOLVER_PP, DPM_SDE, DPM_SDE_PP, DPM_DEIS };

/* eta is how stochastic an SDE is (1: as it says); the others ignore it. */
struct dpm_terms dpm_terms(enum dpm_algorithm algorithm, double eta, const struct point *from,
			   const struct point *to);

/* Weights of this prediction and the last ones in a multistep step of order 1 to 3 that ends at `to`; points[0] is where
 * the step starts, points[1] where the one before started … */
void dpm_multistep(const struct dpm_terms *terms, bool heun, int order, const struct point *points,
		   const struct point *to, double ret_weights[3]);

/* Options and choices of those that multistep and singlestep share. */
struct dpm_conf {
	struct solver_conf common;
	int64_t solver_order;
	int algorithm_type, solver_type;
	bool lower_order_final, euler_at_final;
	double lambda_min_clipped;
};

bool dpm_is_stochastic(const struct dpm_conf *conf);
bool dpm_predicts_noise(const struct dpm_conf *conf);

/* Refuses what has no end: steps of the noise that end at no noise, but for k-diffusion's rules. */
int dpm_check_end(const struct dpm_conf *conf, struct strata_error *err);

/* The order of a step: what was asked for, less while there is too little history (`done` steps) and at the end of short
 * schedules (`left` steps of `count`). */
int dpm_order(const struct dpm_conf *conf, size_t count, size_t left, size_t done, bool ends_clean);

/* A whole row of the multistep rule, as a step of a struct dpm_run whose conf is that of a struct dpm_conf; its noise flag is left to
 * the class. Predictions go round in solver_order − 1 slots. */
int dpm_multistep_row(void *run, size_t i);

extern const struct strata_choice dpm_algorithms[];
extern const struct strata_choice dpm_solver_types[];
enum { DPM_MIDPOINT, DPM_HEUN };

#define DPM_AT(field) offsetof(struct dpm_conf, field)
/* clang-format off */
#define DPM_OPTIONS                                                                                                      \
	{ "solver_order", STRATA_INT, DPM_AT(solver_order), .integer = { 2, 1, 3 }, .help = "order of the steps" },      \
	{ "solver_type", STRATA_ENUM, DPM_AT(solver_type), .choice = { dpm_solver_types, DPM_MIDPOINT },                 \
	  .help = "how a step of second order ends" },                                                                   \
	{ "lower_order_final", STRATA_BOOL, DPM_AT(lower_order_final), .boolean = true,                                  \
	  .help = "the last steps of a short schedule are of lower order" }
#define DPM_ALGORITHM                                                                                                    \
	{ "algorithm_type", STRATA_ENUM, DPM_AT(algorithm_type), .choice = { dpm_algorithms, DPM_SOLVER_PP },            \
	  .help = "what is integrated" }
#define DPM_LAMBDA_MIN                                                                                                   \
	{ "lambda_min_clipped", STRATA_REAL, DPM_AT(lambda_min_clipped), .real = { -INFINITY, -INFINITY, INFINITY },     \
	  .help = "noise levels of a smaller log(signal / noise) are left out" }
/* clang-format on */

#endif
