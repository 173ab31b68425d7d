/*
 * After a start: the store is the truth. Jobs that wait are submitted again in their order, those
 * that were placed are put where they were, and what the executor finds on disk says what became of
 * them meanwhile. A start that was committed and not yet ordered is ordered now; an attempt that
 * nobody knows of any more is stopped and forgotten.
 */
#include "server/mirror.h"
#include "server/array_limits.h"
#include "server/recover.h"

#include "server/act.h"
#include "server/job_dependencies.h"
#include "server/gangs.h"
#include "server/nodes.h"
#include "server/entities.h"
#include "server/figures.h"
#include "server/reservation.h"
#include "core/env_log.h"
#include "server/tasks.h"
#include "server/token.h"
#include "server/webhooks.h"
#include "server/workers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static int recover_node(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_node *row = row_any;
	struct node_about *node = nodes_find(decider, row->name);
	enum strata_node_state state = nodes_state_find(row->state);

	if (!node)
		return 0; /* it is not in the configuration any more */
	uint32_t at = (uint32_t)(node - decider->nodes);

	nodes_set(decider, at, state, row->reason, row->since_ns);
	return strata_cluster_set_node(decider->cluster, at, state, 0, err);
}

static int recover_usage(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_usage *row = row_any;

	return strata_cluster_add_usage(decider->cluster, row->user,
					*row->account ? row->account : NULL, row->amount,
					row->updated_ns, err);
}

/* Rows, copied during the walk; the arrays are in the round's arena. */
struct found {
	struct decider *decider;
	void **rows;
	size_t count, room;
	struct live_spec *spec; /* of the last job … */
	char *spec_text;        /* … as its row has it; malloc's */
};

static int keep_found(struct found *found, void *row, struct strata_error *err)
{
	if (row && found->count == found->room) {
		size_t room = found->room ? 2 * found->room : 1024;
		void **rows = strata_arena_array(&found->decider->scratch, room, sizeof(*rows));

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

	return keep_found(found, store_row_copy(STORE_CHECKPOINT, row, &found->decider->scratch),
			  err);
}

static int recover_checkpoint(struct decider *decider, const struct store_checkpoint *row,
			      struct strata_error *err)
{
	struct live *live = map_u64_get(&decider->jobs, (uint64_t)row->job);
	const struct strata_checkpoint checkpoint = { .path = row->path,
						      .size_bytes = row->size_bytes,
						      .time_ns = row->at_ns,
						      .step = row->step };

	if (!live)
		return 0;
	/* one that the limits of today would refuse is still there to go on from */
	strata_cluster_checkpoint(decider->cluster, (uint64_t)row->job, &checkpoint, row->at_ns,
				  NULL);
	mirror_store(decider, live, row->path); /* if it was not when this ended */
	if (row->rank > 0)
		return 0;
	free(live->checkpoint);
	live->checkpoint = strdup(row->path);
	return live->checkpoint ? 0 : strata_fail_memory(err);
}

/* In the order in which they were written: of each job the latest comes last, and in the store
 * first. */
static int recover_checkpoints(struct decider *decider, struct strata_error *err)
{
	static const struct store_filter live = { .live = true };
	struct found found = { .decider = decider };
	int rc = store_load(decider->store, STORE_CHECKPOINT, &live, find_checkpoint, &found, err);

	for (size_t i = found.count; rc == 0 && i > 0; i--)
		rc = recover_checkpoint(decider, found.rows[i - 1], err);
	return rc;
}

/* ---- jobs ---- */

/* What the elements of an array have in common is the same text in each of their rows. */
static int restore_spec(struct found *found, const char *text, struct strata_error *err)
{
	if (found->spec && strcmp(found->spec_text, text) == 0)
		return 0;
	live_spec_unref(found->spec);
	found->spec = NULL;
	free(found->spec_text);
	found->spec_text = strdup(text);
	return found->spec_text ? live_spec_restore(text, &found->spec, err)
				: strata_fail_memory(err);
}

static int find_job(void *context, const void *row_any, struct strata_error *err)
{
	const struct store_job *row = row_any;
	struct found *found = context;
	struct job job;
	int rc = restore_spec(found, row->spec ? row->spec : "{}", err);

	if (rc)
		return strata_fail(err, rc, "job %lld cannot be restored: %s", (long long)row->id,
				   err->text);
	if (job_from_row(row, &found->decider->scratch, &job))
		return strata_fail_memory(err);
	job.elements = job.elements > 1 ? job.elements : 0;
	return keep_found(found, live_new(found->decider, &job, found->spec), err);
}

/* The request of a stored job, as it was made to the cluster. */
static int restore_request(struct decider *decider, const struct live *live,
			   struct strata_job_request *ret_request, struct strata_error *err)
{
	struct strata_arena *arena = &decider->scratch;
	const struct job *job = &live->job;
	struct job_spec spec = live->spec->spec;
	struct spec_rules rules = decider->rules;

	if (job->script)
		spec.script = "#!"; /* it is among the blobs */
	/* rules may have changed since it was taken in; it stays what it was */
	rules.time_limit_ns_max = INT64_MAX;
	spec.account = job->account;
	spec.partition = job->partition;
	spec.qos = job->qos;
	spec.hold = live->held != JOB_NOT_HELD;
	int rc = spec_request(&spec, &rules, job->created_ns, ret_request, err);

	if (rc)
		return rc;
	ret_request->uncharged = map_u64_get(&decider->worker_jobs, (uint64_t)job->id) != NULL;
	ret_request->id = (uint64_t)job_first_id(job);
	ret_request->user = job->user;
	/* what has changed since */
	ret_request->band = job->band;
	ret_request->priority = job->priority;
	ret_request->time_limit_ns = job->time_limit_ns;
	ret_request->begin_ns = job->eligible_ns;
	if (job->array_id) {
		ret_request->array = (uint64_t)job->array_id;
		ret_request->array_count = (uint32_t)job_elements(job);
		ret_request->array_step = (uint32_t)job->index_step;
		ret_request->array_index =
			(uint32_t)(job->array_index - (job_elements(job) - 1) * job->index_step);
		ret_request->array_limit = array_limit_of(decider, live);
	}
	if (job->gang_id) {
		ret_request->gang = (uint64_t)job->gang_id;
		ret_request->gang_size = (uint32_t)spec.gang_size;
	}
	return depend_fill(decider, &spec, true, arena, ret_request, err);
}

/* A row that was to be written after what was taken out of its range, and was not, stands for
 * too much: see apply in write_batch.c. To one who only looks on the store may be newer than
 * what it has loaded: that alone counts then. */
static int trim_range(struct decider *decider, struct live *live, struct strata_error *err)
{
	int64_t first = job_first_id(&live->job), taken = 0;
	const struct live *before = live_previous(live);
	int rc = 0;

	if (live->job.elements < 2)
		return 0;
	if (decider->exec)
		rc = store_job_last(decider->store, first, live->job.id - 1, &taken, err);
	else if (before && before->job.id >= first)
		taken = before->job.id;
	if (taken)
		live_shrink(decider, live, live->job.id - taken);
	return rc;
}

/* Elements whose partners may be known in different ways. */
static bool has_partners(const struct strata_job_request *request)
{
	for (size_t i = 0; i < request->dependency_count; i++)
		if (request->dependencies[i].kind == STRATA_AFTER_CORR)
			return true;
	return false;
}

/* Tells the cluster of a job, or of each element of a range as long as they cannot be told at
 * once. */
static int resubmit(struct decider *decider, const struct live *live,
		    struct strata_job_request *request, struct strata_error *err)
{
	int rc = restore_request(decider, live, request, err);

	if (rc || live->job.elements < 2 || !has_partners(request))
		return rc ? rc
			  : strata_cluster_submit(decider->cluster, request, live->job.created_ns,
						  err);
	struct live element = *live;
	char uuid[UUID_TEXT_BYTES];

	for (int64_t id = job_first_id(&live->job); rc == 0 && id <= live->job.id; id++) {
		element.job = job_element(&live->job, id, uuid);
		rc = restore_request(decider, &element, request, err);
		if (rc == 0)
			rc = strata_cluster_submit(decider->cluster, request, live->job.created_ns,
						   err);
	}
	return rc;
}

static int recover_job(struct decider *decider, struct live *live, struct strata_error *err)
{
	const struct job *job = &live->job;
	struct strata_job_request request;
	int rc = trim_range(decider, live, err);
	struct strata_job_past past = { .attempt = (uint32_t)job->attempt,
					.preempted = (uint32_t)job->preempted,
					.started = job->started_ns || job->ran_on };

	if (rc == 0)
		rc = resubmit(decider, live, &request, err);
	if (rc == 0 && job->attempt) /* each is run once: the next has the next number */
		rc = strata_cluster_remember(decider->cluster, request.id, &past, err);
	if (rc)
		return strata_fail(err, rc, "job %lld cannot be restored: %s", (long long)job->id,
				   err->text);
	return job->gang_id && live->spec->spec.gang
		       ? gangs_put(decider, job->user, live->spec->spec.gang, job->gang_id, err)
		       : 0;
}

/* In the order of the store, which is that of their submission; not during the walk: what they wait
 * for may have to be looked up. */
static int recover_jobs(struct decider *decider, struct strata_error *err)
{
	static const struct store_filter live = { .live = true };
	struct found found = { .decider = decider };
	int rc = store_load(decider->store, STORE_JOB, &live, find_job, &found, err);

	live_spec_unref(found.spec);
	free(found.spec_text);
	for (size_t i = 0; rc == 0 && i < found.count; i++)
		rc = recover_job(decider, found.rows[i], err);
	return rc;
}

/* It was frozen where it is: so it still is, and it waits for somebody to let it go only if
 * somebody froze it. */
static int freeze(struct decider *decider, struct live *live, struct strata_error *err)
{
	uint64_t id = (uint64_t)live->job.id;
	bool held = live->held != JOB_NOT_HELD;
	int rc = strata_cluster_stop(decider->cluster, id, STRATA_STOP_SUSPEND, 0, err);

	if (rc == 0)
		rc = strata_cluster_ended(decider->cluster, id, STRATA_OUTCOME_STOPPED, 0, err);
	return rc || held ? rc : strata_cluster_hold(decider->cluster, id, false, 0, err);
}

/* Puts a job that was placed back where it was. */
static int replace(struct decider *decider, struct live *live, struct strata_error *err)
{
	struct strata_piece *pieces;
	uint32_t count;
	enum strata_stop mode;
	int64_t started_ns = live->job.started_ns ? live->job.started_ns : live->job.scheduled_ns;
	int rc = nodes_pieces(decider, live->job.place, &decider->scratch, &pieces, &count);

	if (rc == 0)
		rc = strata_cluster_adopt(decider->cluster, (uint64_t)live->job.id,
					  (uint32_t)live->job.attempt, started_ns, pieces, count,
					  err);
	if (rc == 0 && live->job.state == STRATA_JOB_PREEMPTED)
		rc = freeze(decider, live, err);
	/* told once more: who was to tell it may not have come to that */
	if (rc == 0 && job_stop_mode(live->job.stopping, &mode))
		rc = strata_cluster_stop(decider->cluster, (uint64_t)live->job.id, mode, 0, err);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	/* its node is gone, or smaller than it was: it cannot be said to run */
	log_say(LOG_LEVEL_WARNING, "recovery", live->job.id,
		"its nodes are no longer configured; it is queued again");
	live_set_place(decider, live, NULL, 0);
	live_update(decider, live);
	return 0;
}

static int replace_all(struct decider *decider, struct strata_error *err)
{
	int rc = 0;

	for (struct live *live = live_first(decider); rc == 0 && live; live = live_next(live)) {
		if (live->job.place && !live->job.completed_ns) {
			live->restart = true; /* until the executor is found to have it */
			rc = replace(decider, live, err);
		}
	}
	return rc;
}

/* ---- what runs ---- */

static void take_found(struct decider *decider, const struct exec_found *found)
{
	struct live *live = map_u64_get(&decider->jobs, found->key.job);
	struct strata_error err = { 0 };

	/* of a store that was put back: the number is used, though the store does not know it */
	if ((int64_t)found->key.job >= decider->next_id)
		decider->next_id = (int64_t)found->key.job + 1;

	if (live && live->job.place && !live->job.completed_ns &&
	    (uint32_t)live->job.attempt == found->key.attempt) {
		live->restart = false;
		live->ordered = true;
		/* a service that died between freezing it and writing that down left it frozen */
		struct exec_control thaw = { .type = EXEC_THAW };

		if (live->job.state != STRATA_JOB_PREEMPTED)
			decider->exec->cls->control(decider->exec, found->key, &thaw, NULL);
		if (decider->exec->cls->adopt(decider->exec, found->key, &err))
			log_say(LOG_LEVEL_WARNING, "recovery", (int64_t)found->key.job, "%s",
				err.text);
		return;
	}
	/* its end is durable, or another attempt has taken its place */
	struct exec_control stop = { .type = EXEC_STOP, .how = EXEC_CANCELLED };

	if (!found->ended) {
		decider->exec->cls->control(decider->exec, found->key, &stop, NULL);
		decider->exec->cls->adopt(decider->exec, found->key, NULL);
	} else {
		decider->exec->cls->forget(decider->exec, found->key, NULL);
	}
}

static int find_running(struct decider *decider, struct strata_error *err)
{
	struct exec_found *found;
	size_t count;
	int rc = decider->exec->cls->scan(decider->exec, &decider->scratch, &found, &count, err);

	for (size_t i = 0; rc == 0 && i < count; i++)
		take_found(decider, &found[i]);
	return rc;
}

/* Which of the jobs are workers' is known before they are restored: nobody is charged for them. */
static int note_worker(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_worker *row = row_any;

	return map_u64_put(&decider->worker_jobs, (uint64_t)row->job, decider, NULL)
		       ? strata_fail_memory(err)
		       : 0;
}

int recover(struct decider *decider, struct strata_error *err)
{
	int rc = store_load(decider->store, STORE_NODE, NULL, recover_node, decider, err);

	if (rc == 0)
		rc = entities_recover(decider, err);
	if (rc == 0)
		rc = token_recover(decider, err);
	if (rc == 0)
		rc = store_load(decider->store, STORE_USAGE, NULL, recover_usage, decider, err);
	if (rc == 0)
		rc = store_load(decider->store, STORE_WORKER, NULL, note_worker, decider, err);
	if (rc == 0)
		rc = array_limits_recover(decider, err);
	if (rc == 0)
		rc = recover_jobs(decider, err);
	map_u64_fini(&decider->worker_jobs);
	map_u64_init(&decider->worker_jobs, &decider->memory);
	if (rc == 0)
		rc = recover_checkpoints(decider, err);
	if (rc == 0)
		rc = store_last(decider->store, STORE_JOB, &decider->next_id, err);
	if (rc == 0)
		rc = store_last(decider->store, STORE_EVENT, &decider->next_event, err);
	if (rc)
		return rc;
	atomic_store(&decider->common->event_last, decider->next_event);
	decider->next_id++;
	decider->next_event++;
	rc = reservations_recover(decider, err);
	if (rc == 0)
		rc = replace_all(decider, err);
	if (rc == 0)
		rc = tasks_load(decider, err);
	if (rc == 0)
		rc = workers_load(decider, err);
	if (rc == 0)
		rc = webhooks_load(decider, err);
	if (rc == 0)
		rc = figures_load(decider, err);
	if (!decider->exec) {
		batch_drop(decider, "");
		strata_arena_reset(&decider->scratch);
		return rc;
	}
	if (rc == 0)
		rc = find_running(decider, err);
	if (rc == 0)
		entities_take_over(decider);
	if (rc == 0)
		rc = batch_commit(decider, err);
	for (struct live *live = live_first(decider); rc == 0 && live; live = live_next(live))
		if (live->restart)
			act_restart(decider, live);
	strata_arena_reset(&decider->scratch);
	return rc;
}
