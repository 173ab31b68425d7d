/* Which timesteps of the training a trajectory visits, and where an image-to-image one begins. */
#ifndef SOLVER_SPACING_H
#define SOLVER_SPACING_H

#include "solver/solver_conf.h"

enum {
	SPACING_ONE_MORE =
		1 << 0, /* n + 1 points of which the lowest is left out (the DPM-Solver family) */
	SPACING_FRACTIONS = 1 << 1, /* linspace is not rounded (the k-diffusion family) */
	SPACING_BEYOND = 1 << 2,    /* trailing steps may end at timestep -1 and leading ones begin
				  * after the training's last: their level is that of the
				  * nearest (those on noise levels) */
};

struct timesteps {
	double *at; /* falling, in the arena */
	size_t count;
};

/* The request's own timesteps where it has some, else `steps` of 0 … top − 1 by timestep_spacing; `top` is train_count
 * unless the noisiest ones are left out. Of trailing ones there may be one more than was asked for, at timestep −1. */
int spacing_timesteps(const struct solver_conf *conf, const struct strata_solver_request *request,
		      size_t train_count, size_t top, unsigned rules, struct strata_arena *arena,
		      struct timesteps *ret_timesteps, struct strata_error *err);

/* The first of `count` steps that a strength leaves; 0 without one. */
int spacing_first(const struct strata_solver_request *request, size_t count, size_t *ret_first,
		  struct strata_error *err);

#endif
