/*
 * GET /api/v1/series: how busy the cluster was in the last 24 hours, in quarters of an hour, from
 * the history of jobs. It is worked out at most once a minute, however many pages ask for it, and
 * from a bounded number of jobs; with more than that it says that it does not have them all.
 */
#include "server/front.h"
#include "server/load_series.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 1000 };
#define READER_WAIT_NS (5 * STRATA_SECOND_NS)
#define KEEP_NS (60 * STRATA_SECOND_NS)
#define LOOK_BACK_NS (7 * STRATA_DAY_NS) /* jobs that run for longer than this are not seen */

struct reading {
	struct load_series series;
	double *waits_s; /* of those that started in the time */
	size_t wait_count, count;
	int64_t last;
};

static int add_job(void *context, const void *row_any, struct strata_error *err)
{
	struct reading *reading = context;
	const struct store_job *row = row_any;
	const struct load_job job = { .created_ns = row->created_ns,
				      .started_ns = row->started_ns,
				      .ended_ns = row->completed_ns,
				      .gpus = (double)row->gpu_count };

	(void)err;
	reading->last = row->id;
	reading->count++;
	load_series_add(&reading->series, &job);
	if (job.started_ns >= reading->series.from_ns &&
	    reading->wait_count < STRATA_SERIES_JOBS_MAX)
		reading->waits_s[reading->wait_count++] =
			(double)(job.started_ns - job.created_ns) / 1e9;
	return 0;
}

static int read_jobs(struct front *front, struct reading *reading, struct strata_error *err)
{
	struct store_query query = { .since_ns = reading->series.from_ns - LOOK_BACK_NS,
				     .limit = PAGE,
				     .descending = true };
	struct store *store;
	int rc = store_readers_take(front->readers, READER_WAIT_NS, &store, err);
	size_t before;

	if (rc)
		return rc;
	do {
		before = reading->count;
		query.after = reading->last;
		rc = store_jobs_page(store, &query, add_job, reading, err);
	} while (rc == 0 && reading->count - before == PAGE &&
		 reading->count < STRATA_SERIES_JOBS_MAX);
	store_readers_give(front->readers, store);
	return rc;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static json_t *list(const struct load_series *series,
		    double (*value)(const struct load_series *, size_t))
{
	json_t *points = json_array();

	for (size_t i = 0; i < LOAD_SERIES_POINTS; i++) {
		double one = value(series, i);

		json_array_append_new(points, one < 0 ? json_null() : json_real(one));
	}
	return points;
}

static char *write_series(struct reading *reading)
{
	const struct load_series *series = &reading->series;
	size_t count = reading->wait_count;

	qsort(reading->waits_s, count, sizeof(*reading->waits_s), by_size);
	json_t *json = json_pack(
		"{s:o,s:o,s:i,s:b,s:o,s:o,s:o,s:o,s:o}", "from", view_time(series->from_ns), "to",
		view_time(series->until_ns), "step_s", (int)(LOAD_SERIES_STEP_NS / 1000000000),
		"complete", reading->count < STRATA_SERIES_JOBS_MAX, "gpus",
		list(series, load_series_gpus), "waiting", list(series, load_series_waiting),
		"wait_s", list(series, load_series_wait_s), "wait_median_s",
		count ? json_real(reading->waits_s[count / 2]) : json_null(), "wait_longest_s",
		count ? json_real(reading->waits_s[count - 1]) : json_null());
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

	json_decref(json);
	return text;
}

/* The text is the cache's. */
static int renew(struct front *front, struct strata_error *err)
{
	struct series_cache *cache = &front->series;
	struct reading *reading = calloc(1, sizeof(*reading));
	int rc;

	if (reading)
		reading->waits_s = calloc(STRATA_SERIES_JOBS_MAX, sizeof(*reading->waits_s));
	if (reading && reading->waits_s) {
		load_series_init(&reading->series, common_now_ns(front->common));
		rc = read_jobs(front, reading, err);
	} else {
		rc = strata_fail_memory(err);
	}
	char *text = rc == 0 ? write_series(reading) : NULL;

	if (rc == 0 && !text)
		rc = strata_fail_memory(err);
	if (rc == 0) {
		free(cache->text);
		cache->text = text;
		cache->made_ns = env_now_ns(front->env, ENV_MONOTONIC);
	}
	if (reading)
		free(reading->waits_s);
	free(reading);
	return rc;
}

static void get_series(struct request *request)
{
	struct front *front = request->front;
	struct series_cache *cache = &front->series;
	struct strata_error err = { 0 };
	int rc = 0;

	pthread_mutex_lock(&cache->lock);
	if (!cache->text || env_now_ns(front->env, ENV_MONOTONIC) - cache->made_ns >= KEEP_NS)
		rc = renew(front, &err);
	if (rc == 0)
		request_answer_text(request, MHD_HTTP_OK, NULL, cache->text);
	pthread_mutex_unlock(&cache->lock);
	if (rc)
		request_fail(request, rc, &err);
}

/* ---- routes ---- */

const struct route api_series_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/series",
	  .summary = "how busy the cluster was in the last 24 hours",
	  .role = ROLE_READER,
	  .parse = get_series,
	  .answer = "from to step_s complete gpus waiting wait_s wait_median_s wait_longest_s" },
	{ 0 },
};
