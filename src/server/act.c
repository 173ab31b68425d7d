/*
 * From decisions to processes and back: effects of a pass become rows before the commit and orders to the executor after it; what the
 * executor reports becomes events of the cluster and rows of the next commit.
 */
#include "server/remote.h"
#include "server/remover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFUSED_NS (30 * STRATA_SECOND_NS) /* until a place is asked for again */

static struct live *job_of(const struct server *server, uint64_t id)
{
	return map_u64_get(&server->jobs, id);
}

/* ---- before the commit ---- */

static void note_start(struct server *server, struct live *live, const struct strata_effect *effect)
{
	live->row.scheduled_ns = server_now_ns(server);
	if (effect->attempt == 1)
		figures_time(&server->figures, FIGURE_WAIT,
			     live->row.scheduled_ns - live->row.created_ns);
	live->row.started_ns = 0;
	live->row.exit_code = live->row.exit_signal = 0;
	live->row.user_ns = live->row.system_ns = live->row.memory_peak_bytes = 0;
	live_set_failure(server, live, NULL);
	live_set_place(server, live, effect->pieces, effect->piece_count);
	batch_event(server, live->row.id, "job.scheduled",
		    json_pack("{s:I,s:s,s:o}", "attempt", (json_int_t)effect->attempt, "node",
			      server->nodes[effect->pieces[0].node].name, "gpu_ids",
			      live_gpu_ids(server, effect->pieces, effect->piece_count)));
}

static void note_gone(struct server *server, struct live *live, const struct strata_effect *effect)
{
	live_set_place(server, live, NULL, 0);
	if (strata_job_ended(effect->state))
		live_ended(server, live, NULL);
	batch_event(server, live->row.id,
		    strata_job_ended(effect->state) ? "job.ended" : "job.requeued",
		    json_pack("{s:s,s:s}", "state", strata_job_state_name(effect->state), "reason",
			      strata_reason_name(effect->reason)));
}

void act_note(struct server *server, const struct strata_effect *effects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct strata_effect *effect = &effects[i];
		struct live *live = job_of(server, effect->job);

		if (!live)
			continue;
		live_update(server, live);
		switch (effect->kind) {
		case STRATA_EFFECT_START:
			note_start(server, live, effect);
			break;
		case STRATA_EFFECT_LOST:
		case STRATA_EFFECT_ENDED:
			note_gone(server, live, effect);
			break;
		case STRATA_EFFECT_STOP:
			live_set_stopping(server, live, effect->mode);
			batch_event(server, live->row.id, "job.stopping",
				    json_pack("{s:I}", "preemptor", (json_int_t)effect->preemptor));
			break;
		default:
			break;
		}
	}
}

/* Where an inventory service has a say it is asked first. */
static void begin(struct server *server, struct live *live)
{
	if (server->remote)
		remote_reserve(server, live);
	else
		start_order(server, live);
}

void act_restart(struct server *server, struct live *live)
{
	live->restart = false;
	begin(server, live);
}

static void take_answers(struct server *server)
{
	struct remote_answer answer;

	while (remote_take(server, &answer)) {
		struct live *live = job_of(server, (uint64_t)answer.job);
		struct strata_job_view view;

		if (!live || !live->row.place || live->ordered || live->row.completed_ns ||
		    live->row.attempt != answer.attempt ||
		    strata_cluster_job(server->cluster, (uint64_t)answer.job, &view, NULL))
			continue;
		if (view.stopping)
			continue; /* the pass is about to say so */
		if (answer.granted)
			start_order(server, live);
		else
			start_put_off(server, live, REFUSED_NS, "job.not_reserved", answer.why_not);
	}
}

/* ---- after the commit ---- */

static void ask(struct server *server, const struct live *live, struct exec_ask wish)
{
	struct exec_key key = { (uint64_t)live->row.id, (uint32_t)live->row.attempt };
	struct strata_error err;
	int rc = server->exec->cls->ask(server->exec, key, &wish, &err);

	if (rc && rc != -ENOENT)
		server_say("job %lld: %s", (long long)live->row.id, err.text);
}

/* It waits for the inventory service still: there is nothing to stop. */
static void end_unordered(struct server *server, struct live *live)
{
	strata_cluster_ended(server->cluster, (uint64_t)live->row.id, STRATA_OUTCOME_STOPPED,
			     server_now_ns(server), NULL);
	live_set_place(server, live, NULL, 0);
	live_update(server, live);
	if (strcmp(live->row.state, "cancelled") == 0)
		live_ended(server, live, NULL);
}

static void order_stop(struct server *server, struct live *live, const struct strata_effect *effect)
{
	if (server->remote && !live->ordered) {
		end_unordered(server, live);
		return;
	}
	if (effect->mode == STRATA_STOP_SUSPEND) {
		ask(server, live, (struct exec_ask){ .type = EXEC_FREEZE });
		strata_cluster_ended(server->cluster, effect->job, STRATA_OUTCOME_STOPPED,
				     server_now_ns(server), NULL);
		live->row.stopping = NULL;
		live_update(server, live);
		return;
	}
	if (effect->preemptor)
		ask(server, live, (struct exec_ask){ .type = EXEC_CHECKPOINT });
	ask(server, live,
	    (struct exec_ask){
		    .type = EXEC_STOP,
		    .how = effect->mode == STRATA_STOP_CANCEL && !effect->preemptor ? EXEC_CANCELLED
			   : effect->preemptor                                      ? EXEC_PREEMPTED
										    : EXEC_REQUEUED,
		    /* what the policy gives to those who give way; else what the service gives everybody */
		    .grace_ns = effect->preemptor ? effect->grace_ns : server->conf->grace_ns });
}

void act_do(struct server *server, const struct strata_effect *effects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct strata_effect *effect = &effects[i];
		struct live *live = job_of(server, effect->job);

		if (!live)
			continue;
		switch (effect->kind) {
		case STRATA_EFFECT_START:
			begin(server, live);
			break;
		case STRATA_EFFECT_RESUME:
			ask(server, live, (struct exec_ask){ .type = EXEC_THAW });
			strata_cluster_started(server->cluster, effect->job, server_now_ns(server),
					       NULL);
			live_update(server, live);
			break;
		case STRATA_EFFECT_STOP:
			order_stop(server, live, effect);
			break;
		case STRATA_EFFECT_CHECKPOINT:
			ask(server, live, (struct exec_ask){ .type = EXEC_CHECKPOINT });
			break;
		case STRATA_EFFECT_LOST: /* its node is said to be dead; here it may not be */
			ask(server, live,
			    (struct exec_ask){ .type = EXEC_STOP, .how = EXEC_REQUEUED });
			break;
		case STRATA_EFFECT_DELETE:
			remover_add(server, live, effect->path);
			break;
		default:
			break;
		}
	}
}

/* ---- what jobs report ---- */

static void take_checkpoint(struct server *server, struct live *live,
			    const struct exec_event *event)
{
	const struct strata_checkpoint checkpoint = { .path = event->status.checkpoint,
						      .size_bytes = event->status.checkpoint_bytes,
						      .time_ns = server_now_ns(server),
						      .step = -1 };
	struct strata_error err;

	if (checkpoint.path && checkpoint_note(server, live, &checkpoint, &err))
		server_say("job %lld: %s", (long long)live->row.id, err.text);
}

static void charge(struct server *server, const struct live *live)
{
	struct store_usage usage = {
		.account = live->row.account ? live->row.account : "",
		.user = live->row.user,
		.amount = strata_cluster_association_usage(server->cluster, live->row.user,
							   live->row.account),
		.updated_ns = server_now_ns(server),
	};

	batch_put(server, STORE_PUT(&usage));
}

static enum strata_outcome outcome_of(const struct exec_status *status)
{
	switch ((enum exec_how)status->how) {
	case EXEC_EXITED:
		return status->exit_code == 0 && status->signal == 0 ? STRATA_OUTCOME_COMPLETED
								     : STRATA_OUTCOME_FAILED;
	case EXEC_TIME_LIMIT:
		return STRATA_OUTCOME_TIME_LIMIT;
	case EXEC_CANCELLED:
	case EXEC_PREEMPTED:
	case EXEC_REQUEUED:
		return STRATA_OUTCOME_STOPPED;
	case EXEC_SHUT_DOWN:
	case EXEC_LOST:
		return STRATA_OUTCOME_LOST;
	case EXEC_MEMORY:
		return STRATA_OUTCOME_OUT_OF_MEMORY;
	case EXEC_NOT_STARTED:
		return STRATA_OUTCOME_NOT_STARTED;
	}
	return STRATA_OUTCOME_FAILED;
}

/* How it ended, for the row. */
static void fill_end(struct server *server, struct live *live, const struct exec_status *status)
{
	if (!live->row.started_ns)
		live->row.started_ns = status->started_ns; /* begun and over while nobody looked */
	live->row.exit_code = status->exit_code;
	live->row.exit_signal = status->signal;
	live->row.user_ns = status->user_ns;
	live->row.system_ns = status->system_ns;
	live->row.memory_peak_bytes = status->memory_peak_bytes;
	if (status->how == EXEC_NOT_STARTED)
		live_set_failure(server, live, status->error);
}

static void note_ended(struct server *server, struct live *live, const struct exec_event *event)
{
	const struct exec_status *status = &event->status;
	uint64_t id = event->key.job;
	int64_t now_ns = server_now_ns(server);
	enum strata_outcome outcome = outcome_of(status);
	int rc = strata_cluster_ended_after(server->cluster, id, outcome, status->ran_ns, now_ns,
					    NULL);

	live->ordered = false;
	if (rc == -ESTALE && outcome == STRATA_OUTCOME_STOPPED)
		rc = strata_cluster_ended_after(server->cluster, id, STRATA_OUTCOME_FAILED,
						status->ran_ns, now_ns, NULL);
	if (rc)
		return; /* a late report of something that was decided otherwise */
	if (live->hold)
		strata_cluster_hold(server->cluster, id, true, now_ns, NULL);
	live->hold = false;
	fill_end(server, live, status);
	live_set_place(server, live, NULL, 0);
	live_update(server, live);
	json_t *about = json_pack("{s:s,s:s,s:I,s:I,s:f,s:s?}", "state", live->row.state, "how",
				  exec_how_name((enum exec_how)status->how), "exit_code",
				  (json_int_t)status->exit_code, "signal",
				  (json_int_t)status->signal, "ran_s", (double)status->ran_ns / 1e9,
				  "error", status->error);
	bool over = live->row.completed_ns == 0 && strcmp(live->row.state, "queued") != 0 &&
		    strcmp(live->row.state, "preempted") != 0;

	if (over)
		live_ended(server, live, status);
	batch_event(server, live->row.id, over ? "job.ended" : "job.requeued", about);
	charge(server, live);
}

static void take_event(struct server *server, const struct exec_event *event)
{
	struct live *live = job_of(server, event->key.job);
	bool present = live && (uint32_t)live->row.attempt == event->key.attempt;

	switch (event->type) {
	case EXEC_STARTED:
		if (present && strata_cluster_started(server->cluster, event->key.job,
						      server_now_ns(server), NULL) == 0) {
			live->row.started_ns = event->status.started_ns;
			live_update(server, live);
			batch_event(server, live->row.id, "job.started", NULL);
		}
		break;
	case EXEC_CHECKPOINTED:
		if (present)
			take_checkpoint(server, live, event);
		break;
	case EXEC_ENDED:
		if (present) {
			if (event->status.started_ns && !live->row.started_ns)
				live->row.started_ns = event->status.started_ns;
			if (event->status.checkpoint &&
			    (!live->checkpoint ||
			     strcmp(live->checkpoint, event->status.checkpoint) != 0))
				take_checkpoint(server, live, event); /* its last words */
			note_ended(server, live, event);
		}
		break;
	case EXEC_TROUBLE:
		if (event->key.job)
			server_say("job %llu: %s", (unsigned long long)event->key.job,
				   event->status.error ? event->status.error : "trouble");
		else
			server_say("executor: %s",
				   event->status.error ? event->status.error : "trouble");
		break;
	case EXEC_SURVEY:
		survey_take(server, event->survey);
		break;
	}
}

void act_events(struct server *server)
{
	enum { ROUND_MAX = 4096 };
	struct exec_event event;
	struct strata_error err;

	take_answers(server);
	for (int i = 0; i < ROUND_MAX && server->forget_count < ROUND_MAX; i++) {
		if (server->exec->cls->next(server->exec, &event, &err) <= 0)
			return;
		take_event(server, &event);
		if (event.type == EXEC_ENDED)
			server->forget[server->forget_count++] = event.key;
	}
}

void act_forget(struct server *server)
{
	for (size_t i = 0; i < server->forget_count; i++)
		server->exec->cls->forget(server->exec, server->forget[i], NULL);
	server->forget_count = 0;
}
