/* What levels.c and the families of levels share. */
#ifndef SOLVER_LEVELS_INT_H
#define SOLVER_LEVELS_INT_H

#include "solver/levels.h"
#include "solver/spacing.h"

/* Fills levels->train. */
int levels_train(const struct solver_conf *conf, struct strata_arena *arena, struct levels *levels,
		 struct strata_error *err);

int levels_allot(struct levels *levels, size_t count, struct strata_arena *arena,
		 struct strata_error *err);

/* Rounds the levels to floats, as the reference keeps them. */
void levels_round(struct levels *levels);

/* The request's own sigmas, and the timesteps where the training had them. */
int levels_given(const struct strata_solver_request *request, struct strata_arena *arena,
		 struct levels *levels, struct strata_error *err);

/* The schedule that was asked for, here or by a key of the configuration; NULL: none, timesteps lead. */
const struct strata_schedule_class *levels_schedule(const struct solver_conf *conf,
						    const struct strata_solver_request *request);

/* Stretches a flow's levels so that the last is `terminal` and 1 stays 1. */
int levels_stretch(double terminal, double *sigmas, size_t count, struct strata_error *err);

/* Own timesteps leave no room for a schedule that the configuration asks for, nor (unless `flow` is false) for a flow's levels. */
int levels_check_timesteps(const struct solver_conf *conf,
			   const struct strata_solver_request *request, bool flow,
			   struct strata_error *err);

/* At most one schedule is asked for. A flow's sample may lie on the levels of one, and lu goes before or behind the others. */
int levels_check(const struct solver_conf *conf, struct strata_error *err);

#endif
