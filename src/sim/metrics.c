/* The measures of metrics.h: one pass for the sums, a sort for the percentiles, a map for the users. */
#include "sim/metrics.h"

#include "core/int128.h"
#include "core/map.h"
#include "core/real.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define BOUND_NS (10 * STRATA_SECOND_NS)

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

double metrics_bsld(const struct metrics_job *job)
{
	int64_t wait_ns = job->start_ns - job->submit_ns;
	int64_t least_ns = job->run_ns > BOUND_NS ? job->run_ns : BOUND_NS;
	double bsld = (double)(wait_ns + job->run_ns) / (double)least_ns;

	return bsld > 1 ? bsld : 1;
}

static int check_job(const struct metrics_job *job, size_t index, struct strata_error *err)
{
	if (job->start_ns < job->submit_ns)
		return strata_fail(err, -EINVAL,
				   "job at index %zu starts at %" PRId64
				   " ns, before its submission at %" PRId64 " ns",
				   index, job->start_ns, job->submit_ns);
	if (job->submit_ns < 0 || job->start_ns > STRATA_TIME_NS_MAX || job->run_ns < 0 ||
	    job->run_ns > STRATA_TIME_NS_MAX - job->start_ns || job->requested_ns < 0 ||
	    job->procs < 0)
		return strata_fail(err, -EINVAL,
				   "job at index %zu has a time or size that is impossible", index);
	return 0;
}

/* ---- users ---- */

struct user {
	uint128 wait_ns;
	struct real_sum bsld;
	size_t jobs;
};

static int charge_user(struct map_u64 *users, const struct metrics_job *job,
		       struct strata_arena *arena)
{
	struct user *user = map_u64_get(users, (uint64_t)job->user);

	if (!user) {
		user = strata_arena_get(arena, sizeof(*user));
		if (!user || map_u64_put(users, (uint64_t)job->user, user, NULL))
			return -ENOMEM;
	}
	user->wait_ns += (uint128)(job->start_ns - job->submit_ns);
	real_sum_add(&user->bsld, metrics_bsld(job));
	user->jobs++;
	return 0;
}

static void measure_users(const struct map_u64 *users, struct metrics *metrics)
{
	struct real_sum waits = { 0 }, bslds = { 0 }, squares = { 0 };

	for (const struct map_u64_entry *at = NULL; (at = map_u64_next(users, at));) {
		const struct user *user = at->value;
		double wait_s = (double)user->wait_ns / 1e9 / (double)user->jobs;
		double bsld = user->bsld.high / (double)user->jobs;

		real_sum_add(&waits, wait_s);
		real_sum_add(&bslds, bsld);
		real_sum_add(&squares, bsld * bsld);
		if (wait_s > metrics->user_max_wait_s)
			metrics->user_max_wait_s = wait_s;
		if (bsld > metrics->user_max_bsld) {
			metrics->user_max_bsld = bsld;
			metrics->worst_user = (int64_t)at->key;
		}
	}
	metrics->users = users->count;
	metrics->user_mean_wait_s = waits.high / (double)users->count;
	metrics->user_mean_bsld = bslds.high / (double)users->count;
	metrics->user_jain = bslds.high / squares.high * bslds.high / (double)users->count;
}

/* ---- percentiles ---- */

static int by_length(const void *a_any, const void *b_any)
{
	const int64_t *a = a_any, *b = b_any;

	return *a < *b ? -1 : *a > *b;
}

/* The smallest of the sorted values that at least percent of them do not exceed. */
static double percentile(const int64_t *sorted, size_t count, size_t percent)
{
	size_t rank = (count * percent + 99) / 100;

	return seconds(sorted[rank - 1]);
}

static int measure_percentiles(const struct metrics_job *jobs, size_t count,
			       struct strata_arena *arena, struct metrics *metrics)
{
	int64_t *waits = strata_arena_array(arena, count, sizeof(*waits));

	if (!waits)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		waits[i] = jobs[i].start_ns - jobs[i].submit_ns;
	qsort(waits, count, sizeof(*waits), by_length);
	metrics->p50_wait_s = percentile(waits, count, 50);
	metrics->p90_wait_s = percentile(waits, count, 90);
	metrics->p99_wait_s = percentile(waits, count, 99);
	metrics->max_wait_s = seconds(waits[count - 1]);
	for (size_t i = 0; i < count; i++)
		waits[i] = jobs[i].start_ns - jobs[i].submit_ns + jobs[i].run_ns;
	qsort(waits, count, sizeof(*waits), by_length);
	metrics->p50_resp_s = percentile(waits, count, 50);
	metrics->p99_resp_s = percentile(waits, count, 99);
	return 0;
}

/* The users' mean waits, in whole nanoseconds, in order. */
static int measure_user_percentile(const struct map_u64 *users, struct strata_arena *arena,
				   struct metrics *metrics)
{
	int64_t *waits = strata_arena_array(arena, users->count, sizeof(*waits));
	size_t count = 0;

	if (!waits)
		return -ENOMEM;
	for (const struct map_u64_entry *at = NULL; (at = map_u64_next(users, at));) {
		const struct user *user = at->value;

		waits[count++] = (int64_t)(user->wait_ns / user->jobs);
	}
	qsort(waits, count, sizeof(*waits), by_length);
	metrics->user_p90_wait_s = percentile(waits, count, 90);
	return 0;
}

/* ---- all jobs ---- */

struct sums {
	uint128 wait_ns;
	uint128 run_ns;
	uint128 work; /* Σ run · procs, in ns */
	struct real_sum bsld;
	struct real_sum request_use;
	size_t requests;
	int64_t first_ns, last_ns;
};

static void add_job(struct sums *sums, const struct metrics_job *job, struct metrics *metrics)
{
	double bsld = metrics_bsld(job);
	int64_t end_ns = job->start_ns + job->run_ns;

	sums->wait_ns += (uint128)(job->start_ns - job->submit_ns);
	sums->run_ns += (uint128)job->run_ns;
	sums->work += (uint128)job->run_ns * (uint128)job->procs;
	real_sum_add(&sums->bsld, bsld);
	if (bsld > metrics->max_bsld)
		metrics->max_bsld = bsld;
	if (job->requested_ns > 0) {
		real_sum_add(&sums->request_use, (double)job->run_ns / (double)job->requested_ns);
		sums->requests++;
	}
	if (job->submit_ns < sums->first_ns)
		sums->first_ns = job->submit_ns;
	if (end_ns > sums->last_ns)
		sums->last_ns = end_ns;
}

static void measure_sums(const struct sums *sums, int64_t capacity, struct metrics *metrics)
{
	int64_t makespan_ns = sums->last_ns - sums->first_ns;
	double jobs = (double)metrics->jobs;

	metrics->mean_wait_s = (double)sums->wait_ns / 1e9 / jobs;
	metrics->mean_resp_s = (double)(sums->wait_ns + sums->run_ns) / 1e9 / jobs;
	metrics->avg_bsld = sums->bsld.high / jobs;
	metrics->makespan_s = seconds(makespan_ns);
	if (makespan_ns > 0)
		metrics->utilization = (double)sums->work /
				       ((double)makespan_ns * (double)capacity);
	if (sums->requests)
		metrics->request_use = sums->request_use.high / (double)sums->requests;
}

static int measure(const struct metrics_job *jobs, size_t count, int64_t capacity,
		   struct strata_arena *arena, struct map_u64 *users, struct metrics *metrics,
		   struct strata_error *err)
{
	struct sums sums = { .first_ns = INT64_MAX, .last_ns = INT64_MIN };

	for (size_t i = 0; i < count; i++) {
		int rc = check_job(&jobs[i], i, err);

		if (rc)
			return rc;
		add_job(&sums, &jobs[i], metrics);
		if (charge_user(users, &jobs[i], arena))
			return strata_fail_memory(err);
	}
	if (measure_percentiles(jobs, count, arena, metrics) ||
	    measure_user_percentile(users, arena, metrics))
		return strata_fail_memory(err);
	measure_sums(&sums, capacity, metrics);
	measure_users(users, metrics);
	return 0;
}

int metrics_measure(const struct metrics_job *jobs, size_t count, int64_t capacity,
		    struct strata_arena *arena, struct metrics *ret_metrics,
		    struct strata_error *err)
{
	struct metrics metrics = { .jobs = count };
	struct map_u64 users;
	int rc = 0;

	assert(capacity >= 1);
	map_u64_init(&users, arena->memory);
	if (count > 0)
		rc = measure(jobs, count, capacity, arena, &users, &metrics, err);
	map_u64_fini(&users);
	if (rc == 0)
		*ret_metrics = metrics;
	return rc;
}
