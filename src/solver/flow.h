/*
 * What solvers of flow models share: the sample is (1 − sigma)·clean + sigma·noise, the model predicts noise − clean, and levels run from
 * 1 to 0, shifted towards noise by a fixed factor or by the picture's size.
 */
#ifndef SOLVER_FLOW_H
#define SOLVER_FLOW_H

#include "solver/solver_conf.h"
#include "solver/draft.h"

struct flow_run {
	const struct solver_conf *conf;
	struct strata_solver_draft *draft;
	struct strata_error *err;
	size_t count, first;
	double *sigmas;     /* count + 1 */
	double train;       /* timesteps of the training */
	const double *told; /* own timesteps, which the model is told as they are; NULL: by sigma */
};

/* clang-format off */
#define FLOW_OPTIONS                                                                                                     \
	{ "num_train_timesteps", STRATA_INT, CONF_AT(num_train_timesteps),                                               \
	  .integer = { 1000, 1, STRATA_TRAIN_STEPS_MAX }, .aliases = "train_timesteps",                                  \
	  .help = "timesteps the model was trained with" },                                                              \
	{ "shift", STRATA_REAL, CONF_AT(flow_shift), .real = { 3, 1e-3, 1e3 }, .aliases = "flow_shift",                  \
	  .help = "how far the levels are shifted towards noise" }
#define FLOW_DYNAMIC                                                                                                     \
	CONF_DYNAMIC_SHIFT,                                                                                              \
	CONF_SIGMAS,                                                                                                     \
	{ "shift_terminal", STRATA_REAL, CONF_AT(shift_terminal), .real = { 0, 0, 0.999 },                               \
	  .help = "the last level (0: as it comes)" }
/* clang-format on */

int flow_start(struct flow_run *run, const struct solver_conf *conf,
	       const struct strata_solver_request *request, struct strata_solver_draft *draft,
	       struct strata_error *err);

/* `step` for each step that is left, with the run as its first argument. */
int flow_steps(struct flow_run *run, int (*step)(void *run, size_t i));

/* The levels from 0 up to 1 instead, for models that count the other way (Mochi). */
void flow_invert(struct flow_run *run);

/* One more row, of step i, at this sigma. */
int flow_row(struct flow_run *run, size_t i, double sigma, struct strata_solver_row **ret_row);

/* A jump to the clean sample, which is noised again to the level `to`. */
void flow_jump(struct strata_solver_row *row, double to);

#endif
