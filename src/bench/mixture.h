/*
 * Data whose every step of denoising is known: numbers drawn from three normal distributions. The model is exact, so what a solver
 * gets wrong is its own; and the path it should follow is known too, because in one dimension it keeps the order of the
 * numbers: a sample stays the same quantile of what is left of the data at each noise level.
 */
#ifndef BENCH_MIXTURE_H
#define BENCH_MIXTURE_H

#include <strata/solver.h>

/* The expected clean number behind x = alpha·clean + sigma·noise. */
double mixture_clean(double x, double alpha, double sigma);

/* Which part of all numbers at this noise level is below x: 0 to 1. */
double mixture_part(double x, double alpha, double sigma);

/* The number that this part, between 0 and 1, is below. */
double mixture_at(double part, double alpha, double sigma);

/* A run of a solver on many numbers at once. */
struct mixture_run {
	size_t calls; /* of the model */
	double error; /* root mean square, of the last sample against where it should be */
};

/*
 * Goes through the rows of a deterministic solver, from numbers spread over the distribution. It ends at the first step where the
 * noise over the signal has come to `until`, from above or from below; 0: at the end, which must be without noise. -EINVAL when
 * the solver draws noise.
 */
int mixture_denoise(const struct strata_solver_table *table, double until, enum strata_isa isa,
		    struct strata_memory *memory, struct mixture_run *ret_run,
		    struct strata_error *err);

#endif
