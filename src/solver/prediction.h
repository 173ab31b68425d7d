/*
 * What a model's output means where x = alpha·clean + sigma·noise: the clean sample y = p·x + q·m of a row, and the
 * noise as a sum of x and m.
 */
#ifndef SOLVER_PREDICTION_H
#define SOLVER_PREDICTION_H

#include "solver/solver_conf.h"

/* Sets alpha, sigma, p, q and how y is limited (thresholding before clipping, as in diffusers). */
void prediction_fill(const struct solver_conf *conf, double alpha, double sigma,
		     struct strata_solver_row *row);

/* Only how y is limited. */
void prediction_limit(const struct solver_conf *conf, struct strata_solver_row *row);

/* Adds scale times the noise that the model itself predicts, whatever y is limited to. */
void prediction_add_noise(const struct solver_conf *conf, const struct strata_solver_row *row,
			  double scale, struct strata_solver_sum *sum);

/* Refuses a clean sample as what the model predicts, where the reference does: not by k-diffusion's rules. */
int prediction_check_noise(const struct solver_conf *conf, struct strata_error *err);

/* Adds scale times the noise that is left when the limited y is taken out of x. sigma must not be 0. */
void prediction_add_rest(const struct strata_solver_row *row, double scale,
			 struct strata_solver_sum *sum);

#endif
