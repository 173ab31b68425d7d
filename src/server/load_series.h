/*
 * How busy the cluster was: a day in quarters of an hour, from when jobs were submitted, started
 * and ended. Pure arithmetic; api_series.c reads the jobs.
 */
#ifndef SERVER_LOAD_SERIES_H
#define SERVER_LOAD_SERIES_H

#include <stddef.h>
#include <stdint.h>

enum { LOAD_SERIES_POINTS = 96 };
#define LOAD_SERIES_STEP_NS (INT64_C(900) * 1000000000)

struct load_series {
	int64_t from_ns, until_ns;
	double gpu_ns[LOAD_SERIES_POINTS];     /* GPUs in use, times how long */
	double waiting_ns[LOAD_SERIES_POINTS]; /* jobs waiting, times how long */
	double wait_ns[LOAD_SERIES_POINTS];    /* how long those that started then had waited */
	size_t started[LOAD_SERIES_POINTS];
};

/* A job's times; 0: not yet. */
struct load_job {
	int64_t created_ns, started_ns, ended_ns;
	double gpus;
};

/* The day that ends at until_ns. */
void load_series_init(struct load_series *series, int64_t until_ns);
void load_series_add(struct load_series *series, const struct load_job *job);
/* Of one point: averages over the part of it that has passed, and the mean wait; -1: nothing
 * started. */
double load_series_gpus(const struct load_series *series, size_t point);
double load_series_waiting(const struct load_series *series, size_t point);
double load_series_wait_s(const struct load_series *series, size_t point);

#endif
