/*
 * What one round of the decider changes, until it is durable. A job's row is written once, as it is at the end of the round, however often it
 * changed. When the store is away the batch stays and is tried again, with what has been added since: it says what is, so whether the first
 * try went through does not matter.
 */
#include "server/server.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS (INT64_C(250) * 1000000)

void batch_init(struct server *server)
{
	strata_arena_init(&server->batch.arena, &server->memory, 0);
	map_text_init(&server->batch.answers, &server->memory);
}

void batch_fini(struct server *server)
{
	map_text_fini(&server->batch.answers);
	strata_arena_fini(&server->batch.arena);
}

/* Without memory for what has happened the promise to keep it cannot be kept. A restart finds everything that was acknowledged. */
static void *need(void *block)
{
	if (!block) {
		server_say("out of memory; the service ends and can be started again");
		abort();
	}
	return block;
}

static void add(struct batch *batch, struct store_change change)
{
	if (batch->count == batch->room) {
		size_t room = batch->room ? 2 * batch->room : 64;
		struct store_change *changes =
			need(strata_arena_array(&batch->arena, room, sizeof(*changes)));

		if (batch->count)
			memcpy(changes, batch->changes, batch->count * sizeof(*changes));
		batch->changes = changes;
		batch->room = room;
	}
	batch->changes[batch->count++] = change;
}

void batch_put(struct server *server, struct store_change change)
{
	change.row = need(store_row_copy(change.kind, change.row, &server->batch.arena));
	add(&server->batch, change);
}

void batch_job(struct server *server, struct live *live)
{
	if (live->dirty)
		return;
	live->dirty = true;
	live->next_dirty = server->batch.dirty;
	server->batch.dirty = live;
	server->batch.dirty_count++;
}

bool batch_is_full(const struct server *server)
{
	return server->batch.count + server->batch.dirty_count >= STRATA_ROUND_CHANGES_MAX;
}

void batch_leave(struct server *server, struct live *live)
{
	struct live **at = &server->batch.dirty;

	if (!live->dirty)
		return;
	while (*at != live)
		at = &(*at)->next_dirty;
	*at = live->next_dirty;
	live->dirty = false;
	server->batch.dirty_count--;
}

struct batch_mark batch_mark(const struct server *server)
{
	struct batch_mark mark = { .count = server->batch.count, .next_event = server->next_event };

	memcpy(mark.last_blob, server->batch.last_blob, STORE_HASH_BYTES);
	return mark;
}

void batch_undo(struct server *server, const struct batch_mark *mark)
{
	assert(mark->count <= server->batch.count && mark->next_event <= server->next_event);
	server->batch.count = mark->count;
	server->next_event = mark->next_event;
	memcpy(server->batch.last_blob, mark->last_blob, STORE_HASH_BYTES);
}

/* ---- answers ---- */

enum { KEY_BYTES = 2 * STRATA_NAME_BYTES_MAX + 2 };

static size_t make_key(char key[KEY_BYTES], const char *user, const char *request_key)
{
	int length = snprintf(key, KEY_BYTES, "%s/%s", user, request_key);

	assert(length < KEY_BYTES);
	return (size_t)length;
}

void batch_answer(struct server *server, const char *user, const char *key, const char *request,
		  const char *body)
{
	struct store_answer answer = { .user = user,
				       .request_key = key,
				       .request = request,
				       .created_ns = server_now_ns(server),
				       .body = body,
				       .body_bytes = strlen(body) };
	char name[KEY_BYTES];

	batch_put(server, STORE_PUT(&answer));
	void *kept = (void *)server->batch.changes[server->batch.count - 1].row;

	if (map_text_put(&server->batch.answers, name, make_key(name, user, key), kept, NULL))
		need(NULL);
}

int batch_answered(struct server *server, const char *user, const char *key,
		   struct strata_arena *arena, struct store_answer *ret_answer,
		   struct strata_error *err)
{
	char name[KEY_BYTES];
	const struct store_answer *answer =
		map_text_get(&server->batch.answers, name, make_key(name, user, key));

	if (!answer)
		return store_answer_get(server->store, user, key, arena, ret_answer, err);
	*ret_answer = *answer;
	return 0;
}

/* ---- events ---- */

void batch_event(struct server *server, int64_t job, const char *kind, json_t *about)
{
	char *text = about ? need(json_dumps(about, JSON_COMPACT)) : NULL;
	struct store_event event = { .sequence = server->next_event++,
				     .at_ns = server_now_ns(server),
				     .job = job,
				     .kind = kind,
				     .about = text ? text : "{}" };

	batch_put(server, STORE_PUT(&event));
	free(text);
	json_decref(about);
}

static void answer_waiters(struct server *server)
{
	struct request *request;

	while ((request = server->batch.waiters)) {
		server->batch.waiters = request->next;
		http_answered(request);
	}
}

static void turn_away(struct server *server, const char *why)
{
	for (struct request *request = server->batch.waiters; request; request = request->next)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "%s; whether this was taken is not known yet: ask again", why);
	answer_waiters(server);
}

/* In one transaction, so that a submission is there as a whole or not at all. In parts only after a store was away for so long that what jobs
 * have reported meanwhile does not fit: rows say what is, so parts can be done again. */
static int apply(struct server *server, struct strata_error *err)
{
	struct batch *batch = &server->batch;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < batch->count; at += STRATA_STORE_CHANGES_MAX) {
		size_t left = batch->count - at;

		rc = store_apply(server->store, batch->changes + at,
				 left < STRATA_STORE_CHANGES_MAX ? left : STRATA_STORE_CHANGES_MAX,
				 server->epoch, err);
	}
	return rc;
}

/* Trying again cannot help: another leads, or the batch is one that should not be. */
static bool is_final(int rc)
{
	return rc == -ESTALE || rc == -EINVAL || rc == -E2BIG || rc == -EEXIST || rc == -ENOENT;
}

static int hold(struct server *server, struct strata_error *err)
{
	char why[300];

	if (!atomic_exchange(&server->store_down, true))
		server_say("the store is away: %s", err->text);
	server->held = true;
	server->retry_ns = env_now_ns(server->env, ENV_MONOTONIC) + RETRY_NS;
	snprintf(server->held_why, sizeof(server->held_why), "%.255s", err->text);
	snprintf(why, sizeof(why), "the store is away (%s)", server->held_why);
	turn_away(server, why);
	return -EAGAIN;
}

static void empty(struct server *server)
{
	struct batch *batch = &server->batch;

	for (; batch->dirty; batch->dirty = batch->dirty->next_dirty)
		batch->dirty->dirty = false;
	batch->dirty_count = 0;
	batch->changes = NULL;
	batch->count = batch->room = 0;
	batch->last_blob[0] = '\0';
	map_text_fini(&batch->answers);
	map_text_init(&batch->answers, &server->memory);
	strata_arena_reset(&batch->arena);
	server->held = false;
}

void batch_drop(struct server *server, const char *why)
{
	turn_away(server, why);
	empty(server);
}

int batch_commit(struct server *server, struct strata_error *err)
{
	struct batch *batch = &server->batch;
	int64_t start_ns = env_now_ns(server->env, ENV_MONOTONIC);
	size_t count = batch->count;
	int rc = 0;

	if (server->held && start_ns < server->retry_ns)
		return strata_fail(err, -EAGAIN, "%s", server->held_why);
	/* the rows stay where they are until the round is over */
	for (struct live *live = batch->dirty; live; live = live->next_dirty)
		add(batch, (struct store_change){ .kind = STORE_JOB, .row = &live->row });
	if (batch->count) {
		rc = apply(server, err);
		server->commits++;
		figures_time(&server->figures, FIGURE_STORE,
			     env_now_ns(server->env, ENV_MONOTONIC) - start_ns);
		if (rc && !is_final(rc)) {
			batch->count = count;
			return hold(server, err);
		}
		if (rc == 0)
			atomic_store(&server->event_last, server->next_event - 1);
		if (rc == 0 && atomic_exchange(&server->store_down, false))
			server_say("the store is back");
	}
	if (rc)
		return rc;
	answer_waiters(server);
	empty(server);
	return 0;
}
