/*
 * What one round of the decider changes, until it is durable. A job's row is written once, as it is at the end of the round, however often it
 * changed. When the store is away the batch stays and is tried again, with what has been added since: it says what is, so whether the first
 * try went through does not matter.
 */
#include "server/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS (INT64_C(250) * 1000000)

void batch_init(struct server *server)
{
	strata_arena_init(&server->batch.arena, &server->memory, 0);
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
}

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

/* In parts, if there are more than fit into one transaction: rows say what is, so parts can be done again. */
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
	batch->changes = NULL;
	batch->count = batch->room = 0;
	batch->last_blob[0] = '\0';
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
