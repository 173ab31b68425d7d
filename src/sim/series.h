/*
 * Schedules as curves over time, for plots: how many processors are busy, how many jobs and how much
 * work wait. A series is a step function: its value at x[i] holds until x[i + 1].
 */
#ifndef SIM_SERIES_H
#define SIM_SERIES_H

#include "sim/metrics.h"

struct series {
	double *x; /* s since the first submission, ascending; borrowed from the arena */
	double *y;
	size_t count;
};

enum series_kind {
	SERIES_BUSY,          /* processors of running jobs */
	SERIES_WAITING,       /* jobs submitted and not started */
	SERIES_WAITING_PROCS, /* processors they ask for */
};

/* One curve of a schedule, down to the 0 after its last job; the jobs must be such as metrics_measure
 * takes. */
int series_make(const struct metrics_job *jobs, size_t count, enum series_kind kind,
		struct strata_arena *arena, struct series *ret_series, struct strata_error *err);

/* The mean over each of `bins` equal stretches of 0 … the last x, which tames months of jobs; bins
 * is 1 or more. There is a point more than bins: the last mean once again, at the last x. */
int series_average(const struct series *series, size_t bins, struct strata_arena *arena,
		   struct series *ret_series, struct strata_error *err);

#endif
