/*
 * GET /api/v1/jobs/…/samples: what a job used over time. Its supervisor keeps a bounded number of
 * points (exec/samples.h). While it runs they stand beside the attempt's file, and are read there
 * by an HTTP thread; when it ends they come with the last word and are a row of the store, which
 * goes with the job.
 */
#include "exec/journal.h"
#include "exec/samples.h"
#include "server/api_jobs.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/live.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <string.h>

#define READER_WAIT_NS (5 * STRATA_SECOND_NS)

/* Which attempt it is about: of a live job as the decider has it, else of the row. */
struct asked {
	int64_t job, attempt, started_ns;
	bool running;
};

struct found {
	struct strata_arena *arena;
	const struct store_samples *row;
};

static void get_samples(struct decider *decider, struct request *request)
{
	const struct live *live;
	struct asked *asked;

	if (!api_job_find(decider, request, true, &live) || !live)
		return; /* the history is looked at then */
	asked = strata_arena_get(&request->arena, sizeof(*asked));
	if (!asked)
		return;
	*asked = (struct asked){ .job = live->job.id,
				 .attempt = live->job.attempt,
				 .started_ns = live->job.started_ns,
				 .running = live->job.completed_ns == 0 && live->job.place };
	request->parsed = asked;
}

static int keep_row(void *context, const void *row, struct strata_error *err)
{
	struct found *found = context;

	found->row = store_row_copy(STORE_SAMPLES, row, found->arena);
	return found->row ? 0 : strata_fail_memory(err);
}

/* NULL with *ret_rc 0: there are none. */
static const struct store_samples *read_row(struct request *request, int64_t job, int *ret_rc,
					    struct strata_error *err)
{
	const struct store_filter filter = { .job = job };
	struct found found = { .arena = &request->arena };
	struct store *store;
	int rc = store_readers_take(request->front->readers, READER_WAIT_NS, &store, err);

	if (rc == 0) {
		rc = store_load(store, STORE_SAMPLES, &filter, keep_row, &found, err);
		store_readers_give(request->front->readers, store);
	}
	*ret_rc = rc;
	return found.row;
}

/* Of a job that runs now; NULL: it has not run for long enough. */
static const struct store_samples *read_file(struct request *request, const struct asked *asked)
{
	struct store_samples *row = strata_arena_get(&request->arena, sizeof(*row));
	const char *path = strata_arena_printf(
		&request->arena, "%s/jobs/%" PRId64 ".%" PRId64 JOURNAL_SAMPLES,
		request->front->conf->state_dir, asked->job, asked->attempt);
	char *text;
	size_t length;

	if (!row || !path ||
	    env_read_file(request->front->env, AT_FDCWD, path, SAMPLES_BYTES_MAX, &request->arena,
			  &text, &length, NULL))
		return NULL;
	*row = (struct store_samples){ asked->job, asked->attempt, asked->started_ns, text };
	return row;
}

/* ---- as JSON ---- */

static json_t *numbers(const struct strata_list *list)
{
	const int64_t *items = list->items;
	json_t *json = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(json, json_integer((json_int_t)items[i]));
	return json;
}

/* Of what was used in each stretch of time, how much of it at once. */
static json_t *rates(const struct record_samples *record, const struct strata_list *list)
{
	const int64_t *items = list->items, *at_ms = record->at_ms.items;
	json_t *json = json_array();

	for (size_t i = 0; i < list->count; i++) {
		double span_ms = (double)(at_ms[i] - (i ? at_ms[i - 1] : 0));

		json_array_append_new(json, json_real((double)items[i] / span_ms));
	}
	return json;
}

static json_t *seconds(const struct strata_list *list)
{
	const int64_t *items = list->items;
	json_t *json = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(json, json_real((double)items[i] / 1e3));
	return json;
}

static json_t *view_samples(int64_t job, const struct store_samples *row,
			    const struct record_samples *record)
{
	return json_pack("{s:I,s:o,s:o,s:I,s:o,s:o,s:o,s:o,s:o}", "job", (json_int_t)job, "attempt",
			 row ? json_integer((json_int_t)row->attempt) : json_null(), "from",
			 view_time(row ? row->started_ns : 0), "gpus", (json_int_t)record->gpus,
			 "seconds", seconds(&record->at_ms), "cpus",
			 rates(record, &record->cpu_ms), "memory_bytes",
			 numbers(&record->memory_bytes), "gpus_busy",
			 rates(record, &record->gpu_ms), "gpu_memory_bytes",
			 numbers(&record->gpu_memory_bytes));
}

static void tell_samples(struct request *request)
{
	const struct asked *asked = request->parsed;
	const struct store_samples *row = NULL;
	struct record_samples record = { 0 };
	struct strata_error err = { 0 };
	struct job job;
	int64_t id;
	int rc = 0;

	if (request->answered)
		return;
	if (!asked && (!api_job_read(request, &job) || !api_job_may(request, &job)))
		return;
	id = asked ? asked->job : job.id;
	if (asked && asked->running)
		row = read_file(request, asked);
	if (!row)
		row = read_row(request, id, &rc, &err);
	if (rc == 0 && row)
		rc = samples_read(row->points, strlen(row->points), &request->arena, &record, &err);
	if (rc)
		request_fail(request, rc, &err);
	else
		request_answer(request, MHD_HTTP_OK, view_samples(id, row, &record));
}

/* ---- routes ---- */

const struct route api_samples_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs/*/samples",
	  .summary = "what it used over time",
	  .role = ROLE_READER,
	  .decide = get_samples,
	  .finish = tell_samples,
	  .answer = "job attempt from gpus seconds cpus memory_bytes gpus_busy gpu_memory_bytes" },
	{ 0 },
};
