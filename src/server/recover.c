/*
 * After a start: the store is the truth. Jobs that wait are submitted again in their order, those that were placed are put where they were, and
 * what the executor finds on disk says what became of them meanwhile. A start that was committed and not yet ordered is ordered now; an
 * attempt that nobody knows of any more is stopped and forgotten.
 */
#include "server/people.h"
#include "server/reserve.h"
#include "server/token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static int recover_node(void *context, const void *row_any, struct strata_error *err)
{
	struct server *server = context;
	const struct store_node *row = row_any;
	struct node_about *node = nodes_find(server, row->name);
	enum strata_node_state state = strcmp(row->state, "drained") == 0 ? STRATA_NODE_DRAINED
				       : strcmp(row->state, "down") == 0  ? STRATA_NODE_DOWN
									  : STRATA_NODE_UP;

	if (!node)
		return 0; /* it is not in the configuration any more */
	uint32_t at = (uint32_t)(node - server->nodes);

	nodes_set(server, at, state, row->reason, row->since_ns);
	return strata_cluster_set_node(server->cluster, at, state, 0, err);
}

static int recover_usage(void *context, const void *row_any, struct strata_error *err)
{
	struct server *server = context;
	const struct store_usage *row = row_any;

	return strata_cluster_add_usage(server->cluster, row->user,
					*row->account ? row->account : NULL, row->amount,
					row->updated_ns, err);
}

/* Rows, copied during the walk; the arrays are in the round's arena. */
struct found {
	struct server *server;
	void **rows;
	size_t count, room;
};

static int keep_found(struct found *found, void *row, struct strata_error *err)
{
	if (row && found->count == found->room) {
		size_t room = found->room ? 2 * found->room : 1024;
		void **rows = strata_arena_array(&found->server->scratch, room, sizeof(*rows));

		if (!rows)
			return strata_fail_memory(err);
		if (found->count)
			memcpy(rows, found->rows, found->count * sizeof(*rows));
		found->rows = rows;
		found->room = room;
	}
	if (!row)
		return strata_fail_memory(err);
	found->rows[found->count++] = row;
	return 0;
}

static int find_checkpoint(void *context, const void *row, struct strata_error *err)
{
	struct found *found = context;

	return keep_found(found, store_row_copy(STORE_CHECKPOINT, row, &found->server->scratch),
			  err);
}

static int recover_checkpoint(struct server *server, const struct store_checkpoint *row,
			      struct strata_error *err)
{
	struct live *live = map_u64_get(&server->jobs, (uint64_t)row->job);
	const struct strata_checkpoint checkpoint = { .path = row->path,
						      .size_bytes = row->size_bytes,
						      .time_ns = row->at_ns,
						      .step = row->step };

	if (!live)
		return 0;
	/* one that the limits of today would refuse is still there to go on from */
	strata_cluster_checkpoint(server->cluster, (uint64_t)row->job, &checkpoint, row->at_ns,
				  NULL);
	if (row->rank > 0)
		return 0;
	free(live->checkpoint);
	live->checkpoint = strdup(row->path);
	return live->checkpoint ? 0 : strata_fail_memory(err);
}

/* In the order in which they were written: of each job the latest comes last, and in the store first. */
static int recover_checkpoints(struct server *server, struct strata_error *err)
{
	static const struct store_filter live = { .live = true };
	struct found found = { .server = server };
	int rc = store_load(server->store, STORE_CHECKPOINT, &live, find_checkpoint, &found, err);

	for (size_t i = found.count; rc == 0 && i > 0; i--)
		rc = recover_checkpoint(server, found.rows[i - 1], err);
	return rc;
}

/* ---- jobs ---- */

static int find_job(void *context, const void *row, struct strata_error *err)
{
	struct found *found = context;

	return keep_found(found, live_new(found->server, row), err);
}

static int recover_job(struct server *server, struct live *live, struct strata_error *err)
{
	const struct store_job *row = &live->row;
	struct strata_job_request request;
	struct job_spec spec;
	int rc = submission_restore(server, row, &server->scratch, &spec, &request, err);
	struct strata_job_past past = { .attempt = (uint32_t)row->attempt,
					.preempted = (uint32_t)row->preempted,
					.started = row->started_ns || row->ran_on };

	if (rc == 0)
		rc = strata_cluster_submit(server->cluster, &request, row->created_ns, err);
	if (rc == 0 && row->attempt) /* each is run once: the next has the next number */
		rc = strata_cluster_remember(server->cluster, request.id, &past, err);
	if (rc)
		return strata_fail(err, rc, "job %lld cannot be restored: %s", (long long)row->id,
				   err->text);
	if (row->gang_id && spec.gang) {
		char key[600];

		snprintf(key, sizeof(key), "%s/%s", row->user, spec.gang);
		if (map_text_put(&server->gangs, key, strlen(key), (void *)(uintptr_t)row->gang_id,
				 NULL))
			return strata_fail_memory(err);
	}
	return 0;
}

/* In the order of the store, which is that of their submission; not during the walk: what they wait for may have to be looked up. */
static int recover_jobs(struct server *server, struct strata_error *err)
{
	static const struct store_filter live = { .live = true };
	struct found found = { .server = server };
	int rc = store_load(server->store, STORE_JOB, &live, find_job, &found, err);

	for (size_t i = 0; rc == 0 && i < found.count; i++)
		rc = recover_job(server, found.rows[i], err);
	return rc;
}

/* It was frozen where it is: so it still is, and it waits for somebody to let it go only if somebody froze it. */
static int freeze(struct server *server, struct live *live, struct strata_error *err)
{
	uint64_t id = (uint64_t)live->row.id;
	json_t *spec = json_loads(live->row.spec, 0, NULL);
	bool held = json_is_true(json_object_get(spec, "hold"));
	int rc = strata_cluster_stop(server->cluster, id, STRATA_STOP_SUSPEND, 0, err);

	json_decref(spec);
	if (rc == 0)
		rc = strata_cluster_ended(server->cluster, id, STRATA_OUTCOME_STOPPED, 0, err);
	return rc || held ? rc : strata_cluster_hold(server->cluster, id, false, 0, err);
}

/* Puts a job that was placed back where it was. */
static int replace(struct server *server, struct live *live, struct strata_error *err)
{
	struct strata_piece *pieces;
	uint32_t count;
	enum strata_stop mode;
	int64_t started_ns = live->row.started_ns ? live->row.started_ns : live->row.scheduled_ns;
	int rc = live_get_place(server, live, &server->scratch, &pieces, &count);

	if (rc == 0)
		rc = strata_cluster_adopt(server->cluster, (uint64_t)live->row.id,
					  (uint32_t)live->row.attempt, started_ns, pieces, count,
					  err);
	if (rc == 0 && strcmp(live->row.state, "preempted") == 0)
		rc = freeze(server, live, err);
	/* told once more: who was to tell it may not have come to that */
	if (rc == 0 && live_get_stopping(live, &mode))
		rc = strata_cluster_stop(server->cluster, (uint64_t)live->row.id, mode, 0, err);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	/* its node is gone, or smaller than it was: it cannot be said to run */
	server_say("job %lld is where no node is any more; it is queued again",
		   (long long)live->row.id);
	live_set_place(server, live, NULL, 0);
	live_update(server, live);
	return 0;
}

static int replace_all(struct server *server, struct strata_error *err)
{
	int rc = 0;

	for (const struct map_u64_entry *at = map_u64_next(&server->jobs, NULL); rc == 0 && at;
	     at = map_u64_next(&server->jobs, at)) {
		struct live *live = at->value;

		if (live->row.place && !live->row.completed_ns) {
			live->restart = true; /* until the executor is found to have it */
			rc = replace(server, live, err);
		}
	}
	return rc;
}

/* ---- what runs ---- */

static void take_found(struct server *server, const struct exec_found *found)
{
	struct live *live = map_u64_get(&server->jobs, found->key.job);
	struct strata_error err = { 0 };

	/* of a store that was put back: the number is used, though the store does not know it */
	if ((int64_t)found->key.job >= server->next_id)
		server->next_id = (int64_t)found->key.job + 1;

	if (live && live->row.place && !live->row.completed_ns &&
	    (uint32_t)live->row.attempt == found->key.attempt) {
		live->restart = false;
		live->ordered = true;
		/* a service that died between freezing it and writing that down left it frozen */
		struct exec_ask thaw = { .type = EXEC_THAW };

		if (strcmp(live->row.state, "preempted") != 0)
			server->exec->cls->ask(server->exec, found->key, &thaw, NULL);
		if (server->exec->cls->adopt(server->exec, found->key, &err))
			server_say("job %llu: %s", (unsigned long long)found->key.job, err.text);
		return;
	}
	/* its end is durable, or another attempt has taken its place */
	struct exec_ask stop = { .type = EXEC_STOP, .how = EXEC_CANCELLED };

	if (!found->ended) {
		server->exec->cls->ask(server->exec, found->key, &stop, NULL);
		server->exec->cls->adopt(server->exec, found->key, NULL);
	} else {
		server->exec->cls->forget(server->exec, found->key, NULL);
	}
}

static int find_running(struct server *server, struct strata_error *err)
{
	struct exec_found *found;
	size_t count;
	int rc = server->exec->cls->scan(server->exec, &server->scratch, &found, &count, err);

	for (size_t i = 0; rc == 0 && i < count; i++)
		take_found(server, &found[i]);
	return rc;
}

int recover(struct server *server, struct strata_error *err)
{
	int rc = store_load(server->store, STORE_NODE, NULL, recover_node, server, err);

	if (rc == 0)
		rc = people_recover(server, err);
	if (rc == 0)
		rc = token_recover(server, err);
	if (rc == 0)
		rc = store_load(server->store, STORE_USAGE, NULL, recover_usage, server, err);
	if (rc == 0)
		rc = recover_jobs(server, err);
	if (rc == 0)
		rc = recover_checkpoints(server, err);
	if (rc == 0)
		rc = store_last(server->store, STORE_JOB, &server->next_id, err);
	if (rc == 0)
		rc = store_last(server->store, STORE_EVENT, &server->next_event, err);
	if (rc)
		return rc;
	atomic_store(&server->event_last, server->next_event);
	server->next_id++;
	server->next_event++;
	rc = reservations_recover(server, err);
	if (rc == 0)
		rc = replace_all(server, err);
	if (!server->exec) {
		batch_drop(server, "");
		strata_arena_reset(&server->scratch);
		return rc;
	}
	if (rc == 0)
		rc = find_running(server, err);
	if (rc == 0)
		people_take_over(server);
	if (rc == 0)
		rc = batch_commit(server, err);
	for (const struct map_u64_entry *at = map_u64_next(&server->jobs, NULL); rc == 0 && at;
	     at = map_u64_next(&server->jobs, at)) {
		struct live *job = at->value;

		if (job->restart)
			act_restart(server, job);
	}
	strata_arena_reset(&server->scratch);
	return rc;
}
