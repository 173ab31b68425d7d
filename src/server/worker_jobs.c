/*
 * The jobs behind workers. A model that has tasks in line gets a worker, more of them the longer
 * the line is expected to take, and never more than allowed; one that has been idle for a while is
 * told to end. A worker is an ordinary job: it waits, is placed and can be preempted like any
 * other. One that ends without having asked for a task is tried again after a pause that grows, and
 * its reason is shown on the tasks that wait for it.
 */
#include "server/workers.h"
#include "server/load.h"

#include "core/env_log.h"
#include "server/live.h"
#include "server/os_user.h"
#include "server/submit.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

enum { PAUSE_MAX_S = 60 };

static int64_t now_mono(const struct decider *decider)
{
	return env_now_ns(decider->env, ENV_MONOTONIC);
}

/* ---- whom it runs as ---- */

static int find_user(const struct decider *decider, struct os_user *ret_user,
		     struct strata_error *err)
{
	const char *name = decider->conf->worker_user;

	if (name && !os_user_by_name(name, ret_user))
		return strata_fail(err, -ENOENT, "worker_user: there is no user %.60s", name);
	if (name && ret_user->uid == 0)
		return strata_fail(err, -EPERM, "worker_user: workers do not run as root");
	if (name)
		return 0;
	if (geteuid() != 0)
		return os_user_by_uid(geteuid(), ret_user)
			       ? 0
			       : strata_fail(err, -ENOENT, "the service's own user has no name");
	if (os_user_by_name("strata", ret_user) || os_user_by_name("nobody", ret_user))
		return 0;
	return strata_fail(
		err, -ENOENT,
		"there is neither a user strata nor nobody for workers; set worker_user");
}

/* ---- starting ---- */

static const char *find_program(struct strata_arena *arena)
{
	static const char *const places[] = { "strata", "../bin/strata", "../../bin/strata", NULL };

	return load_find_program(arena, places);
}

/* What else there is to know of its model it asks the service for. */
static json_t *command_of(const struct decider *decider, const struct model *model,
			  const char *program)
{
	const char *python = decider->conf->worker_python;

	return model->conf.worker == MODEL_WORKER_PYTHON
		       ? json_pack("[s,s,s,s,s]", python ? python : "python3", "-m",
				   "strata.worker", "--model", model->name)
		       : json_pack("[s,s,s,s]", program, "worker", "--model", model->name);
}

static json_t *job_of(const struct decider *decider, const struct model *model, const char *program)
{
	const struct model_conf *conf = &model->conf;
	char name[STRATA_NAME_BYTES_MAX + 1];

	snprintf(name, sizeof(name), "worker-%.100s", model->name);
	return json_pack("{s:s,s:o,s:s,s:s,s:f,s:I,s:I,s:s,s:b,s:s}", "name", name, "command",
			 command_of(decider, model, program), "working_dir", "/", "output", "/dev/null",
			 "cpus_per_task", conf->cpus, "memory", (json_int_t)conf->memory_bytes,
			 "gpus", (json_int_t)conf->gpus, "time_limit", "unlimited", "preemptible",
			 1, "priority", "low");
}

static int submit_job(struct decider *decider, struct model *model, struct strata_error *err)
{
	struct identity who = { .role = ROLE_ADMIN };
	struct submit_mark mark = submit_begin(decider);
	struct submission submission = { 0 };
	struct os_user user;
	int rc = find_user(decider, &user, err);
	const char *program = decider->conf->worker_program ? decider->conf->worker_program
							    : find_program(&decider->scratch);
	json_t *json = rc == 0 && program ? job_of(decider, model, program) : NULL;

	if (rc == 0 && !json)
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = submission_read(json, &decider->scratch, &submission, err);
	if (rc == 0) {
		snprintf(who.user, sizeof(who.user), "%.127s", user.name);
		who.uid = user.uid;
		who.gid = user.gid;
		submission.uncharged = true; /* its tasks are charged */
		rc = submit_take(decider, &submission, &who, &decider->scratch, err);
	}
	json_decref(json);
	struct worker *worker = rc ? NULL : lease_add(decider, mark.first_id, model);

	if (rc == 0 && !worker)
		rc = strata_fail_memory(err);
	if (rc) {
		submit_undo(decider, &mark);
		return rc;
	}
	struct store_worker row = { .job = worker->job,
				    .model = model->name,
				    .created_ns = worker->created_ns };

	batch_put(decider, STORE_PUT(&row));
	batch_event(decider, worker->job, "job.submitted",
		    json_pack("{s:s,s:i,s:s}", "user", who.user, "jobs", 1, "model", model->name));
	return 0;
}

/* ---- how many ---- */

static size_t fewest(const struct model *model)
{
	int64_t least = model->warm > model->conf.workers_min ? model->warm : model->conf.workers_min;

	return (size_t)(least < model->conf.workers_max ? least : model->conf.workers_max);
}

/* As many as work off what is in line within the time that people are to wait, as far as is
 * known of what it costs. */
static size_t wanted(const struct decider *decider, const struct model *model)
{
	struct strata_pool_metrics metrics;
	int64_t target_ns = decider->conf->worker_wait_target_ns;

	strata_pool_metrics(model->pool, &metrics);
	size_t pending = model->paused ? 0 : strata_pool_pending_count(model->pool);
	size_t want = pending ? (size_t)((metrics.pending_cost_ns + target_ns - 1) / target_ns) : 0;

	/* those that have tasks go on with them, and one task is one worker's */
	if (want == 0 && model->task_count && !model->paused)
		want = 1;
	if (want > model->task_count)
		want = model->task_count;
	want = want < fewest(model) ? fewest(model) : want;
	return want > (size_t)model->conf.workers_max ? (size_t)model->conf.workers_max : want;
}

static void fail(struct decider *decider, struct model *model, const char *why)
{
	int64_t pause_s = INT64_C(1) << (model->failures < 6 ? model->failures : 6);

	if (pause_s > PAUSE_MAX_S)
		pause_s = PAUSE_MAX_S;
	snprintf(model->trouble, sizeof(model->trouble), "no worker: %.280s", why);
	model->failures++;
	model->start_ns = now_mono(decider) + pause_s * SECOND;
	log_warning("tasks", "model %s: %s", model->name, model->trouble);
}

/* Of those that are idle for long enough one ends at a time. */
static void stop_idle(struct decider *decider, struct model *model)
{
	const struct map_u64_entry *entry = NULL;
	int64_t now_ns = now_mono(decider);
	size_t left = model->worker_count;

	while ((entry = map_u64_next(&decider->workers, entry))) {
		struct worker *worker = entry->value;

		if (worker->model == model && worker->stop)
			left--;
	}
	for (entry = NULL; (entry = map_u64_next(&decider->workers, entry));) {
		struct worker *worker = entry->value;

		if (worker->model == model && worker->asked && !worker->stop &&
		    !worker->held_count && left > fewest(model) &&
		    (model->cool || now_ns - worker->busy_ns >= decider->conf->worker_idle_ns)) {
			worker->stop = true;
			left--;
		}
	}
}

void worker_jobs_look(struct decider *decider, struct model *model)
{
	struct strata_error err = { 0 };

	if (!decider->exec || decider->batch.held)
		return;
	model_keep(decider, model);
	model->cool = model->cool && !model->task_count;
	stop_idle(decider, model);
	if (model->worker_count >= wanted(decider, model) ||
	    (model->start_ns && now_mono(decider) < model->start_ns))
		return;
	model->start_ns = 0;
	if (submit_job(decider, model, &err))
		fail(decider, model, err.text);
}

json_t *worker_jobs_of(const struct decider *decider, const struct model *model, bool *ret_started)
{
	const struct map_u64_entry *entry = NULL;
	json_t *list = json_array();

	while ((entry = map_u64_next(&decider->workers, entry))) {
		const struct worker *worker = entry->value;

		if (worker->model != model)
			continue;
		json_array_append_new(list, json_integer(worker->job));
		*ret_started |= worker->asked;
	}
	return list;
}

/* ---- the end of a job ---- */

static void say_why(const struct decider *decider, const struct worker *worker,
		    const struct live *live, char *ret_text, size_t room)
{
	if (worker->why[0])
		snprintf(ret_text, room, "job %lld: %s", (long long)worker->job, worker->why);
	else if (live && live->job.failure)
		snprintf(ret_text, room, "job %lld: %.200s", (long long)live->job.id,
			 live->job.failure);
	else if (live && live->job.reason == STRATA_REASON_OUT_OF_MEMORY)
		snprintf(ret_text, room,
			 "job %lld needed more memory than the %lld MiB that the model has; give it "
			 "more (`strata models add --memory`)",
			 (long long)live->job.id,
			 (long long)(worker->model->conf.memory_bytes >> 20));
	else if (live && live->job.exit_signal)
		snprintf(ret_text, room, "job %lld was ended by signal %lld",
			 (long long)live->job.id, (long long)live->job.exit_signal);
	else if (live && (live->job.exit_code == STRATA_EXIT_UNREACHABLE ||
			  live->job.exit_code == STRATA_EXIT_REFUSED))
		snprintf(ret_text, room,
			 "job %lld, run as %.60s, cannot reach the service at %.100s; let that user "
			 "into its directory, or set worker_user",
			 (long long)live->job.id, live->job.user, decider->conf->socket);
	else if (live)
		snprintf(ret_text, room, "job %lld is %s with exit status %lld",
			 (long long)live->job.id, strata_job_state_name(live->job.state),
			 (long long)live->job.exit_code);
	else
		snprintf(ret_text, room, "its job is gone");
}

void worker_jobs_give_up(struct decider *decider, struct worker *worker)
{
	struct live *live = live_get(decider, worker->job);
	struct strata_error err = { 0 };
	char why[100];

	if (live->job.state != STRATA_JOB_RUNNING) { /* frozen by somebody: it cannot answer */
		worker->heard_ns = now_mono(decider);
		return;
	}
	worker->given_up = true;
	snprintf(why, sizeof(why), "job %lld does not answer and is stopped", (long long)worker->job);
	fail(decider, worker->model, why);
	if (strata_cluster_stop(decider->cluster, (uint64_t)worker->job, STRATA_STOP_CANCEL,
				decider_now_ns(decider), &err))
		log_warning("tasks", "job %lld: %s", (long long)worker->job, err.text);
	else
		live_update(decider, live);
}

bool worker_jobs_ended(struct decider *decider, struct worker *worker)
{
	const struct live *live = live_get(decider, worker->job);
	struct model *model = worker->model;
	char why[300];

	if (live && !live->job.completed_ns) {
		if (!live->job.place) { /* preempted: it asks again when it is back */
			lease_lose(decider, worker);
			worker->asked = worker->restored = false;
		}
		return false;
	}
	lease_lose(decider, worker);
	say_why(decider, worker, live, why, sizeof(why));
	if (!worker->asked || (live && live->job.state == STRATA_JOB_FAILED))
		fail(decider, model, why);
	map_u64_remove(&decider->workers, (uint64_t)worker->job);
	worker_set_remove(&decider->common->workers, worker->job);
	model->worker_count--;
	free(worker);
	decider->again = true;
	return true;
}
