/*
 * The noise levels of a trajectory: which timesteps, which sigmas (noise ÷ signal), and what the last step ends at. Two
 * families build them a little differently from the same configuration, and a picture depends on it.
 */
#ifndef SOLVER_LEVELS_H
#define SOLVER_LEVELS_H

#include "solver/betas.h"
#include "solver/schedule.h"

struct levels {
	size_t count;      /* steps of the whole schedule */
	size_t first;      /* the first that a strength leaves */
	double *timesteps; /* count of them, in the arena */
	double *sigmas;    /* count + 1: the last is what the last step ends at */
	bool longer; /* the reference has one level more, which counts where churn is spread */
	struct strata_schedule_range train; /* sigmas of the training, and the range they span */
};

/* Says that the rows' noise is of a path along these levels: of all of them, or by k-diffusion's rules of those that are left. */
void levels_path(const struct levels *levels, bool k_diffusion, struct strata_solver_draft *draft);

/* k-diffusion's: levels run between those of the spaced timesteps. */
enum {
	LEVELS_LOG = 1 << 0,          /* even in log sigma instead */
	LEVELS_LOG_ALL = 1 << 2,      /* … and the last of these is stepped from as well */
	LEVELS_ROUND_KARRAS = 1 << 1, /* timesteps of the schedule karras are whole (DPM2) */
};
int levels_k(const struct solver_conf *conf, const struct strata_solver_request *request,
	     unsigned rules, struct strata_arena *arena, struct levels *ret_levels,
	     struct strata_error *err);

/* DPM-Solver's: whole timesteps, levels over the training's whole range. */
enum {
	LEVELS_REPEAT_LAST = 1 << 0, /* a schedule's last level comes twice (DEIS, SA) */
	LEVELS_LAST_OWN = 1 << 1,    /* FINAL_SIGMA_MIN is the schedule's own last level (UniPC) */
	LEVELS_FROM_ONE = 1 << 2, /* a flow starts at 1, not one training timestep below (UniPC) */
	LEVELS_FLOW_COUNTS = 1 << 4, /* of own timesteps a flow takes their number (DPM++ single) */
	LEVELS_COSINE_BELOW =
		1 << 3, /* timesteps of karras are cut off for cosine betas (DPM++ 2M) */
};
/* Noise levels whose lambda (minus log sigma) is below lambda_min are left out; -INFINITY: none are. */
int levels_dpm(const struct solver_conf *conf, const struct strata_solver_request *request,
	       double lambda_min, unsigned rules, struct strata_arena *arena,
	       struct levels *ret_levels, struct strata_error *err);

#endif
