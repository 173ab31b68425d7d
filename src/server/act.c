/*
 * From decisions to processes and back: effects of a pass become rows before the commit and orders
 * to the executor after it; what the executor reports becomes events of the cluster and rows of the
 * next commit.
 */
#include "server/act.h"

#include "server/checkpoint.h"
#include "server/figures.h"
#include "server/mirror.h"
#include "server/nodes.h"
#include "server/remote.h"
#include "server/remover.h"
#include "core/env_log.h"
#include "server/start.h"
#include "server/survey.h"
#include "server/view.h"
#include "server/webhooks.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFUSED_NS (30 * STRATA_SECOND_NS) /* until a place is asked for again */

/* Of one that has been decided about, and is no element of a range any more. */
static struct live *job_of(const struct decider *decider, uint64_t id)
{
	return map_u64_get(&decider->jobs, id);
}

/* ---- before the commit ---- */

/* How long it waited since it could start, by its class: the partition it asked for, or its
 * band. */
static void note_wait(struct decider *decider, const struct live *live)
{
	static const char *const bands[] = { "band low", "band normal", "band high" };
	const struct job *job = &live->job;
	int64_t since_ns = job->eligible_ns > job->created_ns ? job->eligible_ns : job->created_ns;
	char partition[STRATA_NAME_BYTES_MAX + 16];

	metrics_time(&decider->common->metrics, METRIC_WAIT, job->scheduled_ns - job->created_ns);
	snprintf(partition, sizeof(partition), "partition %s",
		 job->partition ? job->partition : "");
	figures_add(decider, FIGURE_WAIT, job->partition ? partition : bands[job->band],
		    job->scheduled_ns > since_ns ? (double)(job->scheduled_ns - since_ns) / 1e9
						 : 0);
}

static void note_start(struct decider *decider, struct live *live,
		       const struct strata_effect *effect)
{
	live->job.scheduled_ns = decider_now_ns(decider);
	live->predicted_ns = strata_cluster_predicted(decider->cluster, effect->job);
	if (effect->attempt == 1)
		note_wait(decider, live);
	live->job.started_ns = 0;
	live->job.exit_code = live->job.exit_signal = 0;
	live->job.user_ns = live->job.system_ns = live->job.memory_peak_bytes = 0;
	live_set_failure(decider, live, NULL);
	live_set_place(decider, live, effect->pieces, effect->piece_count);
	batch_event(decider, live->job.id, "job.scheduled",
		    json_pack("{s:I,s:s,s:o}", "attempt", (json_int_t)effect->attempt, "node",
			      decider->nodes[effect->pieces[0].node].name, "gpu_ids",
			      live_gpu_ids(decider, effect->pieces, effect->piece_count)));
}

static void note_gone(struct decider *decider, struct live *live,
		      const struct strata_effect *effect)
{
	live_set_place(decider, live, NULL, 0);
	if (strata_job_ended(effect->state))
		live_ended(decider, live, NULL);
	else
		webhook_job(decider, live, JOB_REQUEUED);
	batch_event(decider, live->job.id,
		    strata_job_ended(effect->state) ? "job.ended" : "job.requeued",
		    json_pack("{s:s,s:s}", "state", strata_job_state_name(effect->state), "reason",
			      strata_reason_name(effect->reason)));
}

void act_note(struct decider *decider, const struct strata_effect *effects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct strata_effect *effect = &effects[i];
		struct live *live = live_own(decider, (int64_t)effect->job);

		if (!live)
			continue;
		live_update(decider, live);
		switch (effect->kind) {
		case STRATA_EFFECT_START:
			note_start(decider, live, effect);
			break;
		case STRATA_EFFECT_LOST:
		case STRATA_EFFECT_ENDED:
			note_gone(decider, live, effect);
			break;
		case STRATA_EFFECT_STOP:
			live_set_stopping(decider, live, effect->mode);
			batch_event(decider, live->job.id, "job.stopping",
				    json_pack("{s:I}", "preemptor", (json_int_t)effect->preemptor));
			break;
		default:
			break;
		}
	}
}

/* Where an inventory service has a say it is asked first. */
static void go_on(struct decider *decider, struct live *live)
{
	if (decider->remote)
		remote_reserve(decider, live);
	else
		start_order(decider, live);
}

/* A checkpoint that is not here is fetched before that. */
static void begin(struct decider *decider, struct live *live)
{
	if (!mirror_fetch(decider, live))
		go_on(decider, live);
}

void act_restart(struct decider *decider, struct live *live)
{
	live->restart = false;
	begin(decider, live);
}

static void not_reserved(struct decider *decider, struct live *live, const char *why)
{
	char text[512];

	snprintf(text, sizeof(text), "the inventory at %.150s did not give it its place: %.250s",
		 decider->conf->inventory_url, why);
	start_put_off(decider, live, REFUSED_NS, "job.not_reserved", text);
}

/* What it would go on from has come, or has not. */
static void take_fetches(struct decider *decider)
{
	struct mirror_answer answer;

	while (mirror_take(decider, &answer)) {
		struct live *live = job_of(decider, (uint64_t)answer.job);
		struct strata_job_view view;

		if (!live || !live->fetching || live->ordered || live->job.completed_ns ||
		    live->job.attempt != answer.attempt ||
		    strata_cluster_job(decider->cluster, (uint64_t)answer.job, &view, NULL))
			continue;
		live->fetching = false;
		if (view.stopping)
			continue; /* the pass is about to say so */
		if (answer.code == -ENOENT)
			batch_event(decider, answer.job, "job.checkpoint_lost",
				    json_pack("{s:s}", "error", answer.why_not));
		if (answer.code == 0 || answer.code == -ENOENT)
			go_on(decider, live);
		else
			start_put_off(decider, live, REFUSED_NS, "job.put_off", answer.why_not);
	}
}

static void take_answers(struct decider *decider)
{
	struct remote_answer answer;

	while (remote_take(decider, &answer)) {
		struct live *live = job_of(decider, (uint64_t)answer.job);
		struct strata_job_view view;

		if (!live || !live->job.place || live->ordered || live->job.completed_ns ||
		    live->job.attempt != answer.attempt ||
		    strata_cluster_job(decider->cluster, (uint64_t)answer.job, &view, NULL))
			continue;
		if (view.stopping)
			continue; /* the pass is about to say so */
		if (answer.granted)
			start_order(decider, live);
		else
			not_reserved(decider, live, answer.why_not);
	}
}

/* ---- after the commit ---- */

static void control(struct decider *decider, const struct live *live, struct exec_control request)
{
	struct exec_key key = { (uint64_t)live->job.id, (uint32_t)live->job.attempt };
	const struct service_trace *trace = &decider->common->trace;
	int64_t start_ns = service_trace_now_ns(trace);
	struct strata_error err;
	int rc = decider->exec->cls->control(decider->exec, key, &request, &err);

	service_trace_slice(trace, trace->executor, exec_control_name(request.type), start_ns,
			    key.job, strata_trace_int("attempt", key.attempt));
	if (rc && rc != -ENOENT)
		log_say(LOG_LEVEL_WARNING, "executor", live->job.id, "%s", err.text);
}

/* It waits for the inventory service or its checkpoint still: there is nothing to stop. */
static void end_unordered(struct decider *decider, struct live *live)
{
	live->fetching = false;
	strata_cluster_ended(decider->cluster, (uint64_t)live->job.id, STRATA_OUTCOME_STOPPED,
			     decider_now_ns(decider), NULL);
	live_set_place(decider, live, NULL, 0);
	live_update(decider, live);
	if (live->job.state == STRATA_JOB_CANCELLED)
		live_ended(decider, live, NULL);
}

static void order_stop(struct decider *decider, struct live *live,
		       const struct strata_effect *effect)
{
	if ((decider->remote || live->fetching) && !live->ordered) {
		end_unordered(decider, live);
		return;
	}
	if (effect->mode == STRATA_STOP_SUSPEND) {
		control(decider, live, (struct exec_control){ .type = EXEC_FREEZE });
		strata_cluster_ended(decider->cluster, effect->job, STRATA_OUTCOME_STOPPED,
				     decider_now_ns(decider), NULL);
		live->job.stopping = JOB_NOT_STOPPING;
		live_update(decider, live);
		return;
	}
	if (effect->preemptor && !decider->exec->cls->only_stops)
		control(decider, live, (struct exec_control){ .type = EXEC_CHECKPOINT });
	control(decider, live,
		(struct exec_control){
			.type = EXEC_STOP,
			.how = effect->mode == STRATA_STOP_CANCEL && !effect->preemptor
				       ? EXEC_CANCELLED
			       : effect->preemptor ? EXEC_PREEMPTED
						   : EXEC_REQUEUED,
			/* what the policy gives to those who give way; else what the service gives
			 * everybody */
			.grace_ns = effect->preemptor ? effect->grace_ns
						      : decider->conf->grace_ns });
}

void act_do(struct decider *decider, const struct strata_effect *effects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct strata_effect *effect = &effects[i];
		struct live *live = job_of(decider, effect->job);

		if (!live)
			continue;
		switch (effect->kind) {
		case STRATA_EFFECT_START:
			begin(decider, live);
			break;
		case STRATA_EFFECT_RESUME:
			control(decider, live, (struct exec_control){ .type = EXEC_THAW });
			strata_cluster_started(decider->cluster, effect->job,
					       decider_now_ns(decider), NULL);
			live_update(decider, live);
			break;
		case STRATA_EFFECT_STOP:
			order_stop(decider, live, effect);
			break;
		case STRATA_EFFECT_CHECKPOINT:
			control(decider, live, (struct exec_control){ .type = EXEC_CHECKPOINT });
			break;
		case STRATA_EFFECT_LOST: /* its node is said to be dead; here it may not be */
			control(decider, live,
				(struct exec_control){ .type = EXEC_STOP, .how = EXEC_REQUEUED });
			break;
		case STRATA_EFFECT_DELETE:
			remover_add(decider, live, effect->path);
			mirror_drop(decider, live, effect->path);
			break;
		default:
			break;
		}
	}
}

/* ---- what jobs report ---- */

static void take_checkpoint(struct decider *decider, struct live *live,
			    const struct exec_event *event)
{
	const struct strata_checkpoint checkpoint = { .path = event->status.checkpoint,
						      .size_bytes = event->status.checkpoint_bytes,
						      .time_ns = decider_now_ns(decider),
						      .step = -1 };
	struct strata_error err;

	if (checkpoint.path && checkpoint_note(decider, live, &checkpoint, &err))
		log_say(LOG_LEVEL_WARNING, "executor", live->job.id, "%s", err.text);
}

static void charge(struct decider *decider, const struct live *live)
{
	struct store_usage usage = {
		.account = live->job.account ? live->job.account : "",
		.user = live->job.user,
		.amount = strata_cluster_association_usage(decider->cluster, live->job.user,
							   live->job.account),
		.updated_ns = decider_now_ns(decider),
	};

	batch_put(decider, STORE_PUT(&usage));
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
static void fill_end(struct decider *decider, struct live *live, const struct exec_status *status)
{
	if (!live->job.started_ns)
		live->job.started_ns = status->started_ns; /* begun and over while nobody looked */
	live->job.exit_code = status->exit_code;
	live->job.exit_signal = status->signal;
	live->job.user_ns = status->user_ns;
	live->job.system_ns = status->system_ns;
	live->job.memory_peak_bytes = status->memory_peak_bytes;
	if (status->how == EXEC_NOT_STARTED)
		live_set_failure(decider, live, status->error);
}

/* Those of the run before give way. */
static void put_samples(struct decider *decider, const struct live *live,
			const struct exec_event *event)
{
	const struct store_samples row = { .job = live->job.id,
					   .attempt = event->key.attempt,
					   .started_ns = event->status.started_ns,
					   .points = event->status.samples };

	batch_put(decider, STORE_PUT(&row));
}

static void note_ended(struct decider *decider, struct live *live, const struct exec_event *event)
{
	const struct exec_status *status = &event->status;
	uint64_t id = event->key.job;
	int64_t now_ns = decider_now_ns(decider);
	enum strata_outcome outcome = outcome_of(status);
	int rc = strata_cluster_ended_after(decider->cluster, id, outcome, status->ran_ns, now_ns,
					    NULL);

	live->ordered = false;
	if (rc == -ESTALE && outcome == STRATA_OUTCOME_STOPPED)
		rc = strata_cluster_ended_after(decider->cluster, id, STRATA_OUTCOME_FAILED,
						status->ran_ns, now_ns, NULL);
	if (rc)
		return; /* a late report of something that was decided otherwise */
	if (live->hold)
		strata_cluster_hold(decider->cluster, id, true, now_ns, NULL);
	live->hold = false;
	fill_end(decider, live, status);
	if (status->samples)
		put_samples(decider, live, event);
	live_set_place(decider, live, NULL, 0);
	live_update(decider, live);
	json_t *about = json_pack(
		"{s:s,s:s,s:I,s:I,s:f,s:s?,s:o}", "state", strata_job_state_name(live->job.state),
		"how", exec_how_name((enum exec_how)status->how), "exit_code",
		(json_int_t)status->exit_code, "signal", (json_int_t)status->signal, "ran_s",
		(double)status->ran_ns / 1e9, "error", status->error, "ended_at",
		view_exact_time(status->ended_ns));
	bool over = live->job.completed_ns == 0 && strata_job_ended(live->job.state);

	if (over)
		live_ended(decider, live, status);
	if (!over)
		webhook_job(decider, live, JOB_REQUEUED);
	batch_event(decider, live->job.id, over ? "job.ended" : "job.requeued", about);
	charge(decider, live);
}

static void take_event(struct decider *decider, const struct exec_event *event)
{
	struct live *live = job_of(decider, event->key.job);
	bool present = live && (uint32_t)live->job.attempt == event->key.attempt;

	switch (event->type) {
	case EXEC_STARTED:
		service_trace_report(&decider->common->trace, "started", event->key.job,
				     event->status.started_ns,
				     strata_trace_int("attempt", event->key.attempt));
		if (present && strata_cluster_started(decider->cluster, event->key.job,
						      decider_now_ns(decider), NULL) == 0) {
			live->job.started_ns = event->status.started_ns;
			live_update(decider, live);
			batch_event(decider, live->job.id, "job.started",
				    json_pack("{s:o}", "started_at",
					      view_exact_time(event->status.started_ns)));
			webhook_job(decider, live, JOB_STARTED);
		}
		break;
	case EXEC_CHECKPOINTED:
		if (present)
			take_checkpoint(decider, live, event);
		break;
	case EXEC_ENDED:
		service_trace_report(
			&decider->common->trace, "ended", event->key.job, event->status.ended_ns,
			strata_trace_text("how", exec_how_name((enum exec_how)event->status.how)));
		if (present) {
			if (event->status.started_ns && !live->job.started_ns)
				live->job.started_ns = event->status.started_ns;
			if (event->status.checkpoint &&
			    (!live->checkpoint ||
			     strcmp(live->checkpoint, event->status.checkpoint) != 0))
				take_checkpoint(decider, live, event); /* its last words */
			note_ended(decider, live, event);
		}
		break;
	case EXEC_TROUBLE:
		if (event->key.job)
			log_say(LOG_LEVEL_WARNING, "executor", (int64_t)event->key.job, "%s",
				event->status.error ? event->status.error : "trouble");
		else
			log_warning("executor", "%s",
				    event->status.error ? event->status.error : "trouble");
		break;
	case EXEC_SURVEY:
		survey_take(decider, event->survey);
		break;
	}
}

void act_events(struct decider *decider)
{
	enum { ROUND_MAX = 4096 };
	struct exec_event event;
	struct strata_error err;

	take_answers(decider);
	take_fetches(decider);
	for (int i = 0; i < ROUND_MAX && decider->forget_count < ROUND_MAX; i++) {
		if (decider->exec->cls->next(decider->exec, &event, &err) <= 0)
			return;
		take_event(decider, &event);
		if (event.type == EXEC_ENDED)
			decider->forget[decider->forget_count++] = event.key;
	}
}

void act_forget(struct decider *decider)
{
	for (size_t i = 0; i < decider->forget_count; i++)
		decider->exec->cls->forget(decider->exec, decider->forget[i], NULL);
	decider->forget_count = 0;
}
