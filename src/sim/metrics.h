/*
 * The measures of a schedule, as the literature on job scheduling defines them. Over all jobs, none
 * cut off at either end:
 *
 *	wait			start − submit
 *	response		wait + run
 *	bounded slowdown	max(1, (wait + run) / max(run, 10 s))
 *	makespan		last end − first submission
 *	utilization		Σ run · procs / (makespan · capacity)
 *
 * A percentile is the least of the values that at least so many of them do not exceed.
 *
 * Deterministic: times are summed as whole numbers, slowdowns in the order of the jobs with twice a
 * double's digits.
 */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

#include <strata/error.h>
#include <strata/memory.h>

struct metrics_job {
	int64_t submit_ns;
	int64_t start_ns;     /* not before the submission */
	int64_t run_ns;       /* how long it really ran, 0 or more */
	int64_t requested_ns; /* what it had asked for; 0: not known */
	int64_t procs;        /* or GPUs: the unit of the capacity; 0 or more */
	int64_t user;
};

struct metrics {
	size_t jobs;
	double mean_wait_s;
	double p50_wait_s, p90_wait_s, p99_wait_s;
	double max_wait_s;
	double mean_resp_s;
	double p50_resp_s, p99_resp_s;
	double avg_bsld; /* bounded slowdown */
	double max_bsld;
	double makespan_s;
	double utilization; /* 0 to 1; 0 when the makespan is */
	double request_use; /* mean of run / requested, over the jobs that requested a time */

	/* Fairness: each user is one, however many jobs they have. */
	size_t users;
	double user_mean_wait_s; /* mean of the users' mean waits */
	double user_p90_wait_s;  /* nine tenths of them have no more */
	double user_max_wait_s;  /* the largest of them */
	double user_mean_bsld;   /* likewise of their mean bounded slowdowns */
	double user_max_bsld;
	int64_t worst_user; /* whose that is; of several the first to submit */
	double user_jain; /* Jain's index of these, (Σx)² / (n Σx²): 1 when all fare alike, 1/n at worst */
};

/* Bounded slowdown of one job. */
double metrics_bsld(const struct metrics_job *job);

/* Measures a schedule on a machine of `capacity` processors, 1 or more. Without jobs everything is
 * 0. -EINVAL names a job that starts before it is submitted or whose times are impossible. The arena
 * is for scratch. */
int metrics_measure(const struct metrics_job *jobs, size_t count, int64_t capacity,
		    struct strata_arena *arena, struct metrics *ret_metrics,
		    struct strata_error *err);

#endif
