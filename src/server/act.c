/*
 * From decisions to processes and back: effects of a pass become rows before the commit and orders to the executor after it; what the
 * executor reports becomes events of the cluster and rows of the next commit.
 */
#include "server/remote.h"

#include "exec/environment.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFUSED_NS (30 * STRATA_SECOND_NS) /* until a place is asked for again */
#define PUT_OFF_NS (5 * STRATA_SECOND_NS)  /* until a start is tried again */

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
		live_ended(server, live);
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

/* ---- starting ---- */

/* Whose job it is, as the system knows him. */
struct person {
	struct passwd entry;
	char text[4096];
	const char *home, *shell;
};

static void find_person(const struct store_job *row, struct person *ret_person)
{
	struct passwd *found = NULL;

	if (getpwuid_r((uid_t)row->uid, &ret_person->entry, ret_person->text,
		       sizeof(ret_person->text), &found) ||
	    !found)
		ret_person->home = "/", ret_person->shell = "/bin/sh";
	else
		ret_person->home = found->pw_dir, ret_person->shell = found->pw_shell;
}

/* "A=1\0B=2\0" as a NULL-terminated list. */
static const char *const *split_environment(const struct store_blob *blob,
					    struct strata_arena *arena)
{
	const char *at = blob->bytes, *end = at + blob->size_bytes;
	size_t count = 0;

	for (const char *p = at; p < end; p += strlen(p) + 1)
		count++;
	const char **list = strata_arena_array(arena, count + 1, sizeof(*list));

	for (size_t i = 0; list && i < count; i++, at += strlen(at) + 1)
		list[i] = at;
	return list;
}

static const char *expand(struct server *server, const struct live *live, const char *pattern,
			  const char *directory, const char *node)
{
	struct strata_output_values values = {
		.job = live->row.id,
		.array_job = live->row.array_id ? live->row.array_id : -1,
		.task = live->row.array_id ? live->row.array_index : STRATA_TASK_NONE,
		.step = -1,
		.node = 0,
		.rank = 0,
		.host = node,
		.user = live->row.user,
		.name = live->row.name,
	};
	const char *text;

	if (strata_output_expand(pattern, &values, &server->scratch, &text, NULL))
		return NULL;
	return *text == '/' ? text
			    : strata_arena_printf(&server->scratch, "%s/%s", directory, text);
}

struct start {
	struct server *server;
	struct live *live;
	struct job_spec spec;
	struct strata_piece *pieces;
	uint32_t piece_count;
	struct person person;
	struct exec_order order;
};

static int fill_files(struct start *start, struct strata_error *err)
{
	struct server *server = start->server;
	const struct job_spec *spec = &start->spec;
	struct exec_order *order = &start->order;
	const char *node = server->nodes[start->pieces[0].node].name;
	const char *usual = start->live->row.array_id ? "strata-%A_%a.out" : "strata-%j.out";

	order->directory = spec->working_dir ? spec->working_dir : start->person.home;
	order->output = expand(server, start->live, spec->output ? spec->output : usual,
			       order->directory, node);
	order->error_output =
		spec->error ? expand(server, start->live, spec->error, order->directory, node)
			    : NULL;
	order->input = spec->input
			       ? expand(server, start->live, spec->input, order->directory, node)
			       : NULL;
	order->append = spec->append || start->live->row.attempt > 1;
	if (!order->output)
		return strata_fail_memory(err);
	free(start->live->output);
	free(start->live->error);
	start->live->output = strdup(order->output);
	start->live->error = order->error_output ? strdup(order->error_output) : NULL;
	output_started(server, start->live);
	return 0;
}

static int fill_environment(struct start *start, struct strata_error *err)
{
	struct server *server = start->server;
	const struct store_job *row = &start->live->row;
	struct environment_node *nodes =
		strata_arena_array(&server->scratch, start->piece_count, sizeof(*nodes));
	const char **names =
		strata_arena_array(&server->scratch, start->piece_count, sizeof(*names));
	struct store_blob blob = { 0 };
	const char *list;
	int rc = nodes && names ? 0 : strata_fail_memory(err);

	if (rc == 0 && row->environment)
		rc = store_blob_get(server->store, row->environment, &server->scratch, &blob, err);
	if (rc)
		return rc;
	struct environment from = {
		.user_environment = split_environment(&blob, &server->scratch),
		.job = (uint64_t)row->id,
		.attempt = (uint32_t)row->attempt,
		.restart_count = (uint32_t)row->attempt - 1,
		.name = row->name,
		.user = row->user,
		.account = row->account,
		.partition = row->partition,
		.qos = row->qos,
		.cluster = server->conf->cluster_name,
		.home = start->person.home,
		.shell = start->person.shell,
		.submit_dir = start->order.directory,
		.uid = row->uid,
		.gid = row->gid,
		.nodes = nodes,
		.node_count = start->piece_count,
		.cpus_per_task = (uint32_t)(start->spec.cpus_per_task + 0.5),
		.gpus = (uint32_t)row->gpu_count,
		.array_job = (uint64_t)row->array_id,
		.array_task = (uint32_t)row->array_index,
		.start_ns = server_now_ns(server),
		.time_limit_ns = row->time_limit_ns,
		.job_dir = strata_arena_printf(&server->scratch, "%s/jobs/%lld.%lld",
					       server->conf->state_dir, (long long)row->id,
					       (long long)row->attempt),
		.checkpoint_dir = start->order.checkpoint_dir,
		.checkpoint = start->live->checkpoint,
		.socket = server->conf->socket,
	};

	for (uint32_t i = 0; i < start->piece_count; i++) {
		const struct strata_piece *piece = &start->pieces[i];
		const struct node_about *node = &server->nodes[piece->node];

		nodes[i] = (struct environment_node){ .name = node->name,
						      .tasks = piece->tasks,
						      .cpus = (uint32_t)(piece->cpu_milli / 1000),
						      .gpu_mask = piece->gpu_mask,
						      .gpu_first = node->gpu_first };
		names[i] = node->name;
		from.tasks += piece->tasks;
	}
	from.memory_per_node_bytes = start->pieces[0].memory_bytes;
	rc = strata_hostlist_compress(names, start->piece_count, &server->scratch, &list, err);
	from.node_list = rc == 0 ? list : NULL;
	if (rc == 0 && row->array_id && start->spec.array) {
		struct strata_array array;

		rc = strata_array_parse(start->spec.array, STRATA_TEXT_NUL, &server->scratch,
					&array, err);
		if (rc == 0) {
			from.array_count = (uint32_t)array.task_count;
			from.array_min = (uint32_t)array.ranges[0].first;
			from.array_max = (uint32_t)array.ranges[array.range_count - 1].last;
			from.array_step = (uint32_t)array.ranges[0].step;
		}
	}
	return rc ? rc : environment_make(&from, &server->scratch, &start->order.environment, err);
}

/* A program without a slash is looked for on the job's own PATH. */
static const char *find_program(struct start *start, const char *name)
{
	const char *path = environment_find(start->order.environment, "PATH");

	if (strchr(name, '/'))
		return *name == '/' ? name
				    : strata_arena_printf(&start->server->scratch, "%s/%s",
							  start->order.directory, name);
	for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at && *at;) {
		size_t span = strcspn(at, ":");
		const char *full = strata_arena_printf(&start->server->scratch, "%.*s/%s",
						       (int)span, at, name);

		if (full && span && access(full, X_OK) == 0)
			return full;
		at += span + (at[span] == ':');
	}
	return strata_arena_printf(&start->server->scratch, "/usr/bin/%s", name);
}

static int fill_program(struct start *start, struct strata_error *err)
{
	struct exec_order *order = &start->order;
	const struct store_job *row = &start->live->row;

	if (row->script) {
		struct store_blob blob;
		int rc = store_blob_get(start->server->store, row->script, &start->server->scratch,
					&blob, err);

		if (rc)
			return rc;
		order->script = blob.bytes;
		order->script_bytes = blob.size_bytes;
		order->arguments = start->spec.arguments;
		return 0;
	}
	const char *const *words = start->spec.command.items;

	order->program = find_program(start, words[0]);
	order->arguments =
		(struct strata_list){ (void *)(words + 1), start->spec.command.count - 1 };
	return order->program ? 0 : strata_fail_memory(err);
}

static int make_order(struct start *start, struct strata_error *err)
{
	struct server *server = start->server;
	struct store_job *row = &start->live->row;
	struct strata_job_request request;
	int rc = submission_restore(server, row, &server->scratch, &start->spec, &request, err);

	if (rc == -ECANCELED)
		rc = 0; /* it has waited for that already */
	if (rc == 0)
		rc = live_get_place(server, start->live, &server->scratch, &start->pieces,
				    &start->piece_count);
	if (rc)
		return rc;
	find_person(row, &start->person);
	start->order = (struct exec_order){
		.job = row->id,
		.attempt = row->attempt,
		.epoch = (int64_t)server->epoch,
		.user = row->user,
		.uid = row->uid,
		.gid = row->gid,
		.umask = 022,
		.time_limit_ns = row->time_limit_ns,
		.grace_ns = server->conf->grace_ns,
		.cpu_milli = start->pieces[0].cpu_milli,
		.memory_bytes = start->pieces[0].memory_bytes,
		.checkpoint_signal = SIGUSR1,
		.checkpoint_place = true,
		.node = server->nodes[start->pieces[0].node].name,
		.checkpoint_dir = strata_arena_printf(&server->scratch, "%s/%lld",
						      server->conf->checkpoint_dir,
						      (long long)row->id),
	};
	rc = fill_files(start, err);
	if (rc == 0)
		rc = fill_environment(start, err);
	return rc ? rc : fill_program(start, err);
}

/* It cannot be started where it is, for no fault of its own: it waits a while and is placed anew. */
static void put_off(struct server *server, struct live *live, int64_t wait_ns, const char *kind,
		    const char *why)
{
	int64_t now_ns = server_now_ns(server);
	uint64_t id = (uint64_t)live->row.id;
	struct strata_job_change later = { .what = STRATA_CHANGE_BEGIN,
					   .begin_ns = now_ns + wait_ns };

	strata_cluster_ended(server->cluster, id, STRATA_OUTCOME_START_FAILED, now_ns, NULL);
	strata_cluster_change(server->cluster, id, &later, now_ns, NULL);
	batch_event(server, live->row.id, kind, json_pack("{s:s}", "error", why));
	live_set_place(server, live, NULL, 0);
	live_update(server, live);
}

/* The store is away, the disk is full, there is no room for one more file or process. */
static bool will_pass(int rc)
{
	return rc == -EAGAIN || rc == -ECONNREFUSED || rc == -ENOSPC || rc == -EDQUOT ||
	       rc == -EROFS || rc == -EIO || rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM ||
	       rc == -ESTALE;
}

/* The start was decided and is durable: now it is ordered. An order that cannot be carried out, now or later, fails the job. */
static void order_start(struct server *server, struct live *live)
{
	struct start start = { .server = server, .live = live };
	struct strata_error err = { 0 };
	int rc = make_order(&start, &err);

	if (rc == 0)
		rc = server->exec->cls->start(server->exec, &start.order, &err);
	if (rc == -EEXIST)
		rc = server->exec->cls->adopt(
			server->exec,
			(struct exec_key){ (uint64_t)live->row.id, (uint32_t)live->row.attempt },
			&err);
	live->ordered = rc == 0;
	if (rc == 0)
		return;
	if (will_pass(rc)) {
		put_off(server, live, PUT_OFF_NS, "job.put_off", err.text);
		return;
	}
	batch_event(server, live->row.id, "job.start_failed",
		    json_pack("{s:s}", "error", err.text));
	strata_cluster_ended(server->cluster, (uint64_t)live->row.id, STRATA_OUTCOME_FAILED,
			     server_now_ns(server), NULL);
	live_set_place(server, live, NULL, 0);
	live_update(server, live);
	live_ended(server, live);
}

/* Where an inventory service has a say it is asked first. */
static void begin(struct server *server, struct live *live)
{
	if (server->remote)
		remote_reserve(server, live);
	else
		order_start(server, live);
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
			order_start(server, live);
		else
			put_off(server, live, REFUSED_NS, "job.not_reserved", answer.why_not);
	}
}

/* ---- after the commit ---- */

static void ask(struct server *server, const struct live *live, struct exec_ask wish)
{
	struct exec_key key = { (uint64_t)live->row.id, (uint32_t)live->row.attempt };
	struct strata_error err;
	int rc = server->exec->cls->ask(server->exec, key, &wish, &err);

	if (rc && rc != -ENOENT)
		fprintf(stderr, "strata: job %lld: %s\n", (long long)live->row.id, err.text);
}

/* It waits for the inventory service still: there is nothing to stop. */
static void end_unordered(struct server *server, struct live *live)
{
	strata_cluster_ended(server->cluster, (uint64_t)live->row.id, STRATA_OUTCOME_STOPPED,
			     server_now_ns(server), NULL);
	live_set_place(server, live, NULL, 0);
	live_update(server, live);
	if (strcmp(live->row.state, "cancelled") == 0)
		live_ended(server, live);
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
	    (struct exec_ask){ .type = EXEC_STOP,
			       .how = effect->mode == STRATA_STOP_CANCEL && !effect->preemptor
					      ? EXEC_CANCELLED
				      : effect->preemptor ? EXEC_PREEMPTED
							  : EXEC_REQUEUED,
			       .grace_ns = effect->grace_ns });
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
			unlink(effect->path);
			break;
		default:
			break;
		}
	}
}

/* ---- what jobs report ---- */

static void note_checkpoint(struct server *server, struct live *live,
			    const struct exec_event *event)
{
	int64_t now_ns = server_now_ns(server);
	struct strata_checkpoint checkpoint = { .path = event->status.checkpoint,
						.time_ns = now_ns,
						.step = -1 };
	struct strata_checkpoint kept[2];

	if (!checkpoint.path ||
	    strata_cluster_checkpoint(server->cluster, event->key.job, &checkpoint, now_ns, NULL))
		return;
	free(live->checkpoint);
	live->checkpoint = strdup(checkpoint.path);
	size_t count = strata_cluster_checkpoints(server->cluster, event->key.job, kept);

	for (size_t i = 0; i < count; i++) {
		struct store_checkpoint row = { .job = live->row.id,
						.rank = (int64_t)i,
						.path = kept[i].path,
						.size_bytes = kept[i].size_bytes,
						.at_ns = kept[i].time_ns,
						.step = kept[i].step };

		batch_put(server, STORE_PUT(&row));
	}
	batch_event(server, live->row.id, "job.checkpoint",
		    json_pack("{s:s}", "path", checkpoint.path));
}

static void charge(struct server *server, const struct live *live)
{
	struct strata_usage_view view;
	struct store_usage usage = { .account = live->row.account ? live->row.account : "",
				     .user = live->row.user,
				     .updated_ns = server_now_ns(server) };

	strata_cluster_user(server->cluster, live->row.user, &view);
	usage.amount = view.gpu_hours;
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
	default:
		return STRATA_OUTCOME_FAILED;
	}
}

/* The machine took it down: as if its node had failed. */
static bool may_run_again(const struct exec_status *status)
{
	return status->how == EXEC_LOST || status->how == EXEC_SHUT_DOWN;
}

static void note_ended(struct server *server, struct live *live, const struct exec_event *event)
{
	const struct exec_status *status = &event->status;
	uint64_t id = event->key.job;
	int64_t now_ns = server_now_ns(server);
	enum strata_outcome outcome = outcome_of(status);
	int rc;

	live->ordered = false;
	if (may_run_again(status) &&
	    strata_cluster_stop(server->cluster, id, STRATA_STOP_REQUEUE, now_ns, NULL) == 0)
		outcome = STRATA_OUTCOME_STOPPED;
	rc = strata_cluster_ended(server->cluster, id, outcome, now_ns, NULL);
	if (rc == -ESTALE && outcome == STRATA_OUTCOME_STOPPED)
		rc = strata_cluster_ended(server->cluster, id, STRATA_OUTCOME_FAILED, now_ns, NULL);
	if (rc)
		return; /* a late report of something that was decided otherwise */
	live->row.exit_code = status->exit_code;
	live->row.exit_signal = status->signal;
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
		live_ended(server, live);
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
			note_checkpoint(server, live, event);
		break;
	case EXEC_ENDED:
		if (present) {
			if (event->status.started_ns && !live->row.started_ns)
				live->row.started_ns = event->status.started_ns;
			if (event->status.checkpoint &&
			    (!live->checkpoint ||
			     strcmp(live->checkpoint, event->status.checkpoint) != 0))
				note_checkpoint(server, live, event); /* its last words */
			note_ended(server, live, event);
		}
		break;
	case EXEC_TROUBLE:
		fprintf(stderr, "strata: job %llu: %s\n", (unsigned long long)event->key.job,
			event->status.error ? event->status.error : "trouble");
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
