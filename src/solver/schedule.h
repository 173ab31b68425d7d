/* What the schedules share: ramps, and the way between timesteps and sigmas of a training. */
#ifndef SOLVER_SCHEDULE_H
#define SOLVER_SCHEDULE_H

#include <strata/solver.h>

/* The built-in schedules that keys of a diffusers configuration name. */
extern const struct strata_schedule_class strata_schedule_beta;
extern const struct strata_schedule_class strata_schedule_exponential;
extern const struct strata_schedule_class strata_schedule_karras;

/* i of count even steps from 0 to 1; 0 when there is but one. */
double schedule_ramp(size_t count, size_t i);

/* The sigma at a timestep, fractions interpolated linearly; the timestep of a sigma, interpolated in its logarithm. Both
 * stay within the training's range. */
double schedule_sigma(const struct strata_schedule_range *range, double timestep);
double schedule_timestep(const struct strata_schedule_range *range, double sigma);

/* A timestep cut off after the point. One that is short of a whole one by no more than the roundings of the reference, which
 * differ from machine to machine, counts as that. */
double schedule_below(double timestep);

/* count levels from published ones, interpolated in the logarithm. The last published one is where the step to 0 would start, so count steps go over
 * count + 1 levels, without the last. */
void schedule_interpolate(const double *published, size_t published_count, size_t count,
			  double *ret_sigmas);

/* A schedule with the options of the request's, or with its defaults where the request (which may be NULL) has none. */
int schedule_fill(const struct strata_schedule_class *cls,
		  const struct strata_solver_request *request,
		  const struct strata_schedule_range *range, size_t count,
		  struct strata_arena *arena, double *ret_sigmas, struct strata_error *err);

#endif
