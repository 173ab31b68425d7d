/*
 * What one round of the decider changes, until it is durable. A job's row is written once, as it is at the end of the round, however often it
 * changed. When the store is away the batch is tried again and again; nothing is decided meanwhile, and whoever asks is told.
 */
#include "server/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RETRY_MS = 250 };

void batch_init(struct server *server)
{
	strata_arena_init(&server->batch.arena, &server->memory, 0);
}

/* Without memory for what has happened the promise to keep it cannot be kept. A restart finds everything that was acknowledged. */
static void *need(void *block)
{
	if (!block) {
		fprintf(stderr,
			"strata: out of memory; the service ends and can be started again\n");
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

/* The store is away: those who wait may ask again, those who come now are turned away. */
static void turn_away(struct server *server, const struct strata_error *err)
{
	struct request *request;

	for (request = server->batch.waiters; request; request = request->next)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away (%s); whether this was taken is not known yet: "
			       "ask again",
			       err->text);
	answer_waiters(server);
	pthread_mutex_lock(&server->lock);
	request = server->first;
	server->first = server->last = NULL;
	server->waiting = 0;
	pthread_mutex_unlock(&server->lock);
	while (request) {
		struct request *next = request->next;

		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away (%s)", err->text);
		http_answered(request);
		request = next;
	}
}

static int apply(struct server *server, struct strata_error *err)
{
	struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	struct batch *batch = &server->batch;

	for (;;) {
		int rc = 0;

		/* in parts, if there are more than fit into one transaction: rows say what is, so parts can be done again */
		for (size_t at = 0; rc == 0 && at < batch->count; at += STRATA_STORE_CHANGES_MAX) {
			size_t left = batch->count - at;

			rc = store_apply(server->store, batch->changes + at,
					 left < STRATA_STORE_CHANGES_MAX ? left
									 : STRATA_STORE_CHANGES_MAX,
					 server->epoch, err);
		}
		if (rc == 0 || rc == -ESTALE || rc == -EINVAL || rc == -E2BIG || rc == -EEXIST ||
		    rc == -ENOENT) {
			atomic_store(&server->store_down, false);
			return rc;
		}
		if (!atomic_exchange(&server->store_down, true))
			fprintf(stderr, "strata: the store is away: %s\n", err->text);
		turn_away(server, err);
		if (atomic_load(&server->stopping))
			return rc;
		nanosleep(&pause, NULL);
	}
}

int batch_commit(struct server *server, struct strata_error *err)
{
	struct batch *batch = &server->batch;
	int64_t start_ns = env_now_ns(server->env, ENV_MONOTONIC);
	int rc = 0;

	for (struct live *live = batch->dirty; live; live = live->next_dirty) {
		struct store_change change = { .kind = STORE_JOB, .row = &live->row };

		live->dirty = false;
		add(batch, change); /* the row stays where it is until the round is over */
	}
	if (batch->count) {
		rc = apply(server, err);
		server->commits++;
		if (rc == 0)
			atomic_store(&server->event_last, server->next_event - 1);
		figures_time(&server->figures, FIGURE_STORE,
			     env_now_ns(server->env, ENV_MONOTONIC) - start_ns);
	}
	answer_waiters(server);
	batch->changes = NULL;
	batch->count = batch->room = 0;
	batch->dirty = NULL;
	batch->last_blob[0] = '\0';
	strata_arena_reset(&batch->arena);
	return rc;
}
