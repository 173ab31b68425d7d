/* How much of the signal is left at each timestep of the training. */
#ifndef SOLVER_BETAS_H
#define SOLVER_BETAS_H

#include "solver/solver_conf.h"

/* alphas_cumprod: conf->num_train_timesteps (or trained_betas.count) numbers from near 1 down to near 0, on the arena.
 * They are rounded to float32 where torch rounds them, so a picture made with diffusers can be made again. */
struct alphas {
	const double *product;
	size_t count;
};
int betas_alphas(const struct solver_conf *conf, struct strata_arena *arena,
		 struct alphas *ret_alphas, struct strata_error *err);

#endif
