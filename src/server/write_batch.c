/*
 * What one round of the decider changes, until it is durable. A job's row is written once, as it is
 * at the end of the round, however often it changed. When the store is away the batch stays and is
 * tried again, with what has been added since: it says what is, so whether the first try went
 * through does not matter.
 */
#include "server/write_batch.h"

#include "server/decider.h"
#include "server/figures.h"
#include "server/http.h"
#include "server/live.h"
#include "core/env_log.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS (INT64_C(250) * 1000000)

void batch_init(struct decider *decider)
{
	strata_arena_init(&decider->batch.arena, &decider->memory, 0);
	map_text_init(&decider->batch.answers, &decider->memory);
}

void batch_fini(struct decider *decider)
{
	map_text_fini(&decider->batch.answers);
	strata_arena_fini(&decider->batch.arena);
}

/* Without memory for what has happened the promise to keep it cannot be kept. A restart finds
 * everything that was acknowledged. */
void *batch_need(void *block)
{
	if (!block) {
		log_error("store", "out of memory; the service ends and can be started again");
		abort();
	}
	return block;
}

static void add(struct batch *batch, struct store_change change)
{
	if (batch->count == batch->room) {
		size_t room = batch->room ? 2 * batch->room : 64;
		struct store_change *changes =
			batch_need(strata_arena_array(&batch->arena, room, sizeof(*changes)));

		if (batch->count)
			memcpy(changes, batch->changes, batch->count * sizeof(*changes));
		batch->changes = changes;
		batch->room = room;
	}
	batch->changes[batch->count++] = change;
}

void batch_put(struct decider *decider, struct store_change change)
{
	assert(change.kind !=
	       STORE_JOB); /* which are written as they are at the end of the round */
	change.row = batch_need(store_row_copy(change.kind, change.row, &decider->batch.arena));
	add(&decider->batch, change);
}

void batch_job(struct decider *decider, struct live *live)
{
	struct batch *batch = &decider->batch;

	if (live->dirty)
		return;
	live->dirty = true;
	live->next_dirty = NULL;
	live->previous_dirty = batch->dirty_last;
	*(batch->dirty_last ? &batch->dirty_last->next_dirty : &batch->dirty) = live;
	batch->dirty_last = live;
	batch->dirty_count++;
	assert(map_u64_get(&decider->jobs, (uint64_t)live->job.id) == live);
}

bool batch_is_full(const struct decider *decider)
{
	return decider->batch.count + decider->batch.dirty_count >= STRATA_ROUND_CHANGES_MAX;
}

void batch_leave(struct decider *decider, struct live *live)
{
	struct batch *batch = &decider->batch;

	if (!live->dirty)
		return;
	assert(batch->dirty_count > 0);
	*(live->previous_dirty ? &live->previous_dirty->next_dirty : &batch->dirty) =
		live->next_dirty;
	*(live->next_dirty ? &live->next_dirty->previous_dirty : &batch->dirty_last) =
		live->previous_dirty;
	live->dirty = false;
	batch->dirty_count--;
}

struct batch_mark batch_mark(const struct decider *decider)
{
	struct batch_mark mark = { .count = decider->batch.count,
				   .next_event = decider->next_event };

	memcpy(mark.last_blob, decider->batch.last_blob, STORE_HASH_BYTES);
	return mark;
}

void batch_undo(struct decider *decider, const struct batch_mark *mark)
{
	assert(mark->count <= decider->batch.count && mark->next_event <= decider->next_event);
	decider->batch.count = mark->count;
	decider->next_event = mark->next_event;
	memcpy(decider->batch.last_blob, mark->last_blob, STORE_HASH_BYTES);
}

/* ---- answers ---- */

enum { KEY_BYTES = 2 * STRATA_NAME_BYTES_MAX + 2 };

static size_t make_key(char key[KEY_BYTES], const char *user, const char *request_key)
{
	int length = snprintf(key, KEY_BYTES, "%s/%s", user, request_key);

	assert(length < KEY_BYTES);
	return (size_t)length;
}

void batch_answer(struct decider *decider, const char *user, const char *key, const char *request,
		  const char *body)
{
	struct store_answer answer = { .user = user,
				       .request_key = key,
				       .request = request,
				       .created_ns = decider_now_ns(decider),
				       .body = body,
				       .body_bytes = strlen(body) };
	char name[KEY_BYTES];

	batch_put(decider, STORE_PUT(&answer));
	void *kept = (void *)decider->batch.changes[decider->batch.count - 1].row;

	if (map_text_put(&decider->batch.answers, name, make_key(name, user, key), kept, NULL))
		batch_need(NULL);
}

int batch_answered(struct decider *decider, const char *user, const char *key,
		   struct strata_arena *arena, struct store_answer *ret_answer,
		   struct strata_error *err)
{
	char name[KEY_BYTES];
	const struct store_answer *answer =
		map_text_get(&decider->batch.answers, name, make_key(name, user, key));

	if (!answer)
		return store_answer_get(decider->store, user, key, arena, ret_answer, err);
	*ret_answer = *answer;
	return 0;
}

/* ---- events ---- */

void batch_event(struct decider *decider, int64_t job, const char *kind, json_t *about)
{
	char *text = about ? batch_need(json_dumps(about, JSON_COMPACT)) : NULL;
	struct store_event event = { .sequence = decider->next_event++,
				     .at_ns = decider_now_ns(decider),
				     .job = job,
				     .kind = kind,
				     .about = text ? text : "{}" };

	batch_put(decider, STORE_PUT(&event));
	free(text);
	json_decref(about);
}

void batch_wait(struct decider *decider, struct request *request)
{
	request->next = decider->batch.waiters;
	decider->batch.waiters = request;
}

static void answer_waiters(struct decider *decider)
{
	struct request *request;

	while ((request = decider->batch.waiters)) {
		decider->batch.waiters = request->next;
		http_answered(request);
	}
}

static void turn_away(struct decider *decider, const char *why)
{
	for (struct request *request = decider->batch.waiters; request; request = request->next)
		request_refuse(
			request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			"%s; this request may or may not have been carried out: send it again",
			why);
	answer_waiters(decider);
}

static int compare_ids(const void *a, const void *b)
{
	const struct store_job *left = ((const struct store_change *)a)->row,
			       *right = ((const struct store_change *)b)->row;

	return left->id < right->id ? -1 : left->id > right->id;
}

/* In one transaction, so that a submission is there as a whole or not at all. In parts only
 * after a store was away for so long that what jobs have reported meanwhile does not fit: rows
 * say what is, so parts can be done again. What was taken out of a range has lower ids than what
 * is left of it: its rows go first, and recovery makes the range smaller. */
static int apply(struct decider *decider, struct strata_error *err)
{
	struct batch *batch = &decider->batch;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < batch->count; at += STRATA_STORE_CHANGES_MAX) {
		size_t left = batch->count - at;

		rc = store_apply(decider->store, batch->changes + at,
				 left < STRATA_STORE_CHANGES_MAX ? left : STRATA_STORE_CHANGES_MAX,
				 decider->epoch, err);
	}
	return rc;
}

/* Trying again cannot help: another leads, or the batch is one that should not be. */
static bool is_final(int rc)
{
	return rc == -ESTALE || rc == -EINVAL || rc == -E2BIG || rc == -EEXIST || rc == -ENOENT;
}

static int hold(struct decider *decider, struct strata_error *err)
{
	char why[300];

	if (!atomic_exchange(&decider->common->store_down, true))
		log_warning("store", "the store is away: %s", err->text);
	decider->batch.held = true;
	decider->batch.retry_ns = env_now_ns(decider->env, ENV_MONOTONIC) + RETRY_NS;
	snprintf(decider->batch.held_why, sizeof(decider->batch.held_why), "%.255s", err->text);
	snprintf(why, sizeof(why), "the store is away (%s)", decider->batch.held_why);
	turn_away(decider, why);
	return -EAGAIN;
}

static void empty(struct decider *decider)
{
	struct batch *batch = &decider->batch;

	for (; batch->dirty; batch->dirty = batch->dirty->next_dirty)
		batch->dirty->dirty = false;
	batch->dirty_last = NULL;
	batch->dirty_count = 0;
	batch->changes = NULL;
	batch->count = batch->room = 0;
	batch->last_blob[0] = '\0';
	map_text_fini(&batch->answers);
	map_text_init(&batch->answers, &decider->memory);
	strata_arena_reset(&batch->arena);
	decider->batch.held = false;
}

void batch_drop(struct decider *decider, const char *why)
{
	turn_away(decider, why);
	empty(decider);
}

/* Until the round is over: a batch that is held is tried again with rows made anew. */
static const struct store_job *make_row(struct decider *decider, const struct live *live)
{
	struct store_job *row = batch_need(strata_arena_get(&decider->scratch, sizeof(*row)));

	assert(job_first_id(&live->job) > 0 && live->job.id < decider->next_id);
	assert(strata_job_ended(live->job.state) == (live->job.completed_ns != 0));
	if (job_to_row(&live->job, &decider->scratch, row))
		batch_need(NULL);
	return row;
}

int batch_commit(struct decider *decider, struct strata_error *err)
{
	struct batch *batch = &decider->batch;
	int64_t start_ns = env_now_ns(decider->env, ENV_MONOTONIC);
	size_t count = batch->count;
	int rc = 0;

	if (decider->batch.held && start_ns < decider->batch.retry_ns)
		return strata_fail(err, -EAGAIN, "%s", decider->batch.held_why);
	for (struct live *live = batch->dirty; live; live = live->next_dirty)
		add(batch,
		    (struct store_change){ .kind = STORE_JOB, .row = make_row(decider, live) });
	if (batch->count > STRATA_STORE_CHANGES_MAX)
		qsort(batch->changes + count, batch->count - count, sizeof(*batch->changes),
		      compare_ids);
	if (batch->count) {
		const struct service_trace *trace = &decider->common->trace;

		rc = apply(decider, err);
		service_trace_slice(trace, trace->store, rc ? "commit that failed" : "commit",
				    start_ns, 0,
				    strata_trace_int("changes", (int64_t)batch->count));
		decider->commits++;
		int64_t took_ns = env_now_ns(decider->env, ENV_MONOTONIC) - start_ns;

		metrics_time(&decider->common->metrics, METRIC_STORE, took_ns);
		figures_add(decider, FIGURE_STORE, "", (double)took_ns / 1e9);
		if (rc && !is_final(rc)) {
			batch->count = count;
			return hold(decider, err);
		}
		if (rc == 0) {
			assert(decider->next_event > atomic_load(&decider->common->event_last));
			atomic_store(&decider->common->event_last, decider->next_event - 1);
		}
		if (rc == 0 && atomic_exchange(&decider->common->store_down, false))
			log_info("store", "the store is back");
	}
	if (rc)
		return rc;
	answer_waiters(decider);
	empty(decider);
	return 0;
}
