/*
 * What plots of a trial are made from (strata sim cluster --json --details): how long jobs waited,
 * as a hundred quantiles; the mean wait of each user and of jobs of each size; how many jobs waited
 * over time. A bounded amount, whatever the trace.
 */
#include "cli/sim_cluster.h"

#include "sim/series.h"

#include <stdlib.h>
#include <string.h>

enum { QUANTILES = 100, BINS = 96, GROUPS_MAX = 200 };

struct group {
	int64_t key; /* a user's number, a size */
	size_t jobs;
	double wait_s, wait_s_max;
};

static double wait_of(const struct metrics_job *job)
{
	return (double)(job->start_ns - job->submit_ns) / 1e9;
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of 0, 1, … 100 % of the jobs: so long or less. */
static json_t *quantiles(const struct sim *sim, const struct sim_trial *trial)
{
	double *waits = strata_arena_array(&sim->cli->arena, trial->job_count + 1, sizeof(*waits));
	json_t *list = json_array();

	if (!waits || !trial->job_count)
		return list;
	for (size_t i = 0; i < trial->job_count; i++)
		waits[i] = wait_of(&trial->jobs[i]);
	qsort(waits, trial->job_count, sizeof(*waits), by_number);
	for (size_t q = 0; q <= QUANTILES; q++)
		json_array_append_new(list, json_real(waits[q * (trial->job_count - 1) /
							    QUANTILES]));
	return list;
}

/* ---- groups ---- */

static int64_t user_of(const struct metrics_job *job)
{
	return job->user;
}

static int64_t size_of(const struct metrics_job *job)
{
	return job->procs;
}

static int by_key(const void *a, const void *b)
{
	int64_t x = ((const struct group *)a)->key, y = ((const struct group *)b)->key;

	return (x > y) - (x < y);
}

static int by_jobs(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->jobs != y->jobs ? (x->jobs < y->jobs) - (x->jobs > y->jobs) : by_key(a, b);
}

/* One for each key, those with most jobs first; *ret_count of them. */
static struct group *make_groups(const struct sim *sim, const struct sim_trial *trial,
				 int64_t (*key)(const struct metrics_job *), size_t *ret_count)
{
	struct group *all =
		strata_arena_array(&sim->cli->arena, trial->job_count + 1, sizeof(*all));
	size_t count = 0;

	*ret_count = 0;
	if (!all)
		return NULL;
	for (size_t i = 0; i < trial->job_count; i++)
		all[i] = (struct group){ key(&trial->jobs[i]), 1, wait_of(&trial->jobs[i]),
					 wait_of(&trial->jobs[i]) };
	qsort(all, trial->job_count, sizeof(*all), by_key);
	for (size_t i = 0; i < trial->job_count; i++) {
		struct group *last = count ? &all[count - 1] : NULL;

		if (!last || last->key != all[i].key) {
			all[count++] = all[i];
			continue;
		}
		last->jobs++;
		last->wait_s += all[i].wait_s;
		if (all[i].wait_s_max > last->wait_s_max)
			last->wait_s_max = all[i].wait_s_max;
	}
	qsort(all, count, sizeof(*all), by_jobs);
	*ret_count = count < GROUPS_MAX ? count : GROUPS_MAX;
	return all;
}

static json_t *groups_json(const struct sim *sim, const struct sim_trial *trial,
			   int64_t (*key)(const struct metrics_job *), const char *name,
			   double unit)
{
	size_t count;
	const struct group *groups = make_groups(sim, trial, key, &count);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
				      json_pack("{s:f,s:I,s:f,s:f}", name,
						(double)groups[i].key / unit, "jobs",
						(json_int_t)groups[i].jobs, "mean_wait_s",
						groups[i].wait_s / (double)groups[i].jobs,
						"max_wait_s", groups[i].wait_s_max));
	return list;
}

/* ---- over time ---- */

static json_t *waiting(const struct sim *sim, const struct sim_trial *trial)
{
	struct series whole, mean;
	json_t *x = json_array(), *y = json_array();

	if (trial->job_count &&
	    series_make(trial->jobs, trial->job_count, SERIES_WAITING, &sim->cli->arena, &whole,
			NULL) == 0 &&
	    series_average(&whole, BINS, &sim->cli->arena, &mean, NULL) == 0)
		for (size_t i = 0; i < mean.count; i++) {
			json_array_append_new(x, json_real(mean.x[i]));
			json_array_append_new(y, json_real(mean.y[i]));
		}
	return json_pack("{s:o,s:o}", "seconds", x, "jobs", y);
}

void sim_details_add(const struct sim *sim, const struct sim_trial *trial, json_t *json)
{
	/* a job's size is in thousandths where the machine has nodes */
	double unit = sim->machine.flat ? 1 : 1000;

	json_object_set_new(json, "median_wait_s", json_real(trial->metrics.p50_wait_s));
	json_object_set_new(json, "waits_s", quantiles(sim, trial));
	json_object_set_new(json, "users", groups_json(sim, trial, user_of, "user", 1));
	json_object_set_new(json, "sizes", groups_json(sim, trial, size_of, "size", unit));
	json_object_set_new(json, "waiting", waiting(sim, trial));
}
