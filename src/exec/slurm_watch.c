/*
 * The thread that deals with Slurm: submits what was ordered, looks at the queue once in a while
 * for all jobs at once, carries out wishes, and writes what becomes of each attempt to its file,
 * from where the executor's owner has it. It is the only one that waits for a command.
 *
 * Nothing runs twice: an attempt is claimed before it is submitted, submitted held, and released
 * once its number is in its file. Whoever finds a claim without a number looks for the attempt's
 * comment in the queue; if it is not there, whatever may still arrive stays held and is cancelled
 * in the end. Nothing is lost because Slurm cannot be asked: only an answer without the job counts.
 */
#include "exec/slurm_attempt.h"

#include "exec/leader.h"

#include "core/buf.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define COMMAND_NS (30 * STRATA_SECOND_NS)
#define CANCEL_NS (10 * STRATA_SECOND_NS) /* until one that does not end is cancelled again */

enum { MISSING_MAX = 3 }; /* answers without a job until it is gone */

/* ---- control ---- */

static void send_signal(struct slurm *slurm, const struct followed *at, int64_t signal)
{
	char number[16];
	const char *words[] = { "scancel", "--batch", "--signal", number, NULL };
	struct strata_error err;

	snprintf(number, sizeof(number), "%" PRId64, signal);
	slurm_call_job(slurm, at->id, words, &err);
}

static void set_limit(struct slurm *slurm, const struct followed *at)
{
	char job[40], limit[40];
	const char *words[] = { "scontrol", "update", job, limit, NULL };
	struct slurm_answer answer;
	struct strata_error err;
	int64_t ns = at->control.limit_ns;

	snprintf(job, sizeof(job), "jobid=%" PRId64, at->id);
	if (ns == STRATA_DURATION_UNLIMITED)
		snprintf(limit, sizeof(limit), "timelimit=UNLIMITED");
	else
		snprintf(limit, sizeof(limit), "timelimit=%" PRId64,
			 (ns + STRATA_MINUTE_NS - 1) / STRATA_MINUTE_NS);
	slurm_call(slurm, words, &answer, &err);
}

static void cancel(struct slurm *slurm, struct followed *at)
{
	static const char *const words[] = { "scancel", NULL };
	struct strata_error err;

	if (slurm_now_ns(slurm) < at->cancel_ns)
		return;
	at->cancel_ns = slurm_now_ns(slurm) + CANCEL_NS;
	if (slurm_call_job(slurm, at->id, words, &err) == -EAGAIN)
		at->cancel_ns = slurm_now_ns(slurm) + SLURM_AGAIN_NS;
}

/* The control requests of a job, as far as it can be done to one in this state. */
static void carry_out(struct slurm *slurm, struct followed *at, enum slurm_state state)
{
	static const char *const suspend[] = { "scontrol", "suspend", NULL };
	static const char *const resume[] = { "scontrol", "resume", NULL };
	const struct record_control *desired = &at->control;
	struct strata_error err;

	if (desired->limit_ns && desired->limit_ns != at->done.limit_ns) {
		set_limit(slurm, at);
		at->done.limit_ns = desired->limit_ns;
	}
	if (state == SLURM_RUNNING && desired->checkpoints > at->done.checkpoints) {
		if (at->checkpoint_signal)
			send_signal(slurm, at, at->checkpoint_signal);
		at->done.checkpoints = desired->checkpoints;
	}
	if (state == SLURM_RUNNING && desired->signals > at->done.signals) {
		send_signal(slurm, at, desired->signal);
		at->done.signals = desired->signals;
	}
	if (state == SLURM_RUNNING && desired->frozen && !desired->stop)
		slurm_call_job(slurm, at->id, suspend, &err);
	if (state == SLURM_SUSPENDED && (!desired->frozen || desired->stop))
		slurm_call_job(slurm, at->id, resume, &err);
	if (desired->stop)
		cancel(slurm, at);
}

/* ---- what becomes of them ---- */

static void look_for_checkpoint(struct slurm *slurm, struct followed *at,
				const struct exec_order *like)
{
	char path[STRATA_PATH_BYTES_MAX];

	if (!at->checkpoint_dir || !saved_look(&at->user, at->checkpoint_dir, &at->saved))
		return;
	snprintf(path, sizeof(path), "%s/%s", at->checkpoint_dir, at->saved.name);
	struct record_checkpoint record = { .count = ++at->checkpoint_count,
					    .attempt = at->key.attempt,
					    .written_ns = at->saved.written_ns,
					    .path = path,
					    .step = -1,
					    .size_bytes = at->saved.size_bytes };

	saved_record(slurm->local.env, &at->user, like, &record, &slurm->memory, NULL);
	followed_note(slurm, at, JOURNAL_CHECKPOINT, &record_checkpoint_schema, &record, NULL);
}

/* An attempt that was, or may have been, submitted twice: the other one is held, and goes. */
static void cancel_twins(struct slurm *slurm, const struct followed *at)
{
	static const char *const words[] = { "scancel", NULL };
	struct exec_order order;
	struct strata_error err;
	const char *list, *comment;

	if (followed_order(slurm, at->name, &order, &err) || slurm_comments(slurm, &list, &err))
		return;
	comment = slurm_order_comment(&slurm->conf, &order, &slurm->scratch);
	for (int64_t id = 0; comment && (id = slurm_find_comment(list, comment, id));)
		if (id != at->id)
			slurm_call_job(slurm, id, words, &err);
}

static void finish(struct slurm *slurm, struct followed *at, const struct slurm_row *row)
{
	struct exec_order like = { .checkpoint_dir = at->checkpoint_dir, .checkpoint_place = true };
	struct exec_status status;

	look_for_checkpoint(slurm, at, &like);
	if (at->uncertain)
		cancel_twins(slurm, at);
	slurm_status(row, &at->control, at->key, at->epoch, &status);
	followed_end(slurm, at, &status);
}

/* Slurm has forgotten it: perhaps the accounts have not. */
static void find_missing(struct slurm *slurm, struct followed *at)
{
	static const char *const words[] = { "sacct", "-P", "-n",
					     "-X",    "-o", "State,ExitCode,Start,End",
					     "-j",    NULL };
	const char *all[10] = { NULL };
	char number[24];
	struct slurm_answer answer;
	struct slurm_row row = { .id = at->id, .state = SLURM_NODE_FAIL };
	struct strata_error err;

	if (++at->missing < MISSING_MAX)
		return;
	snprintf(number, sizeof(number), "%" PRId64, at->id);
	memcpy(all, words, sizeof(words));
	all[sizeof(words) / sizeof(words[0]) - 1] = number;
	if (slurm_run(&slurm->conf, slurm->local.env, all, COMMAND_NS, &slurm->scratch, &answer,
		      &err) == 0 &&
	    answer.code == 0 && slurm_read_account(answer.text, &row)) {
		finish(slurm, at, &row);
		return;
	}
	struct exec_status status = {
		.how = at->control.stop ? (int)at->control.stop - 1 : EXEC_LOST,
		.error = "Slurm has forgotten this job and how it ended",
		.ended_ns = env_now_ns(slurm->local.env, ENV_REALTIME),
	};

	followed_end(slurm, at, &status);
}

static void take_row(struct slurm *slurm, struct followed *at, const struct slurm_row *row)
{
	struct exec_order like = { .checkpoint_dir = at->checkpoint_dir, .checkpoint_place = true };

	at->missing = 0;
	if (slurm_state_ended(row->state)) {
		finish(slurm, at, row);
		return;
	}
	if ((row->state == SLURM_RUNNING || row->state == SLURM_SUSPENDED) && !at->started) {
		const struct record_start start = { .started_ns = row->started_ns };

		at->started = followed_note(slurm, at, JOURNAL_STARTED, &record_start_schema,
					    &start, NULL) == 0;
	}
	if (row->state == SLURM_HELD && !at->released && !at->control.stop)
		followed_begin(slurm, at);
	if (row->state == SLURM_RUNNING)
		look_for_checkpoint(slurm, at, &like);
	carry_out(slurm, at, row->state);
}

static void take_rows(struct slurm *slurm, const struct map_u64 *rows)
{
	const struct map_text_entry *entry = map_text_next(&slurm->followed, NULL), *next;

	for (; entry; entry = next) {
		struct followed *at = entry->value;
		const struct slurm_row *row = at->id ? map_u64_get(rows, (uint64_t)at->id) : NULL;

		next = map_text_next(&slurm->followed, entry);
		if (row && at->noted)
			take_row(slurm, at, row);
		else if (at->id && at->noted)
			find_missing(slurm, at);
	}
}

/* ---- the thread ---- */

static void look_at_queue(struct slurm *slurm)
{
	static const char *const words[] = { "squeue",           "-h", "-a", "-t", "all", "-O",
					     slurm_queue_fields, NULL };
	struct slurm_answer answer;
	struct slurm_row *rows;
	struct strata_error err;
	struct map_u64 table;
	size_t count;
	int rc = slurm_call(slurm, words, &answer, &err);

	map_u64_init(&table, &slurm->memory);
	if (rc == 0)
		rc = slurm_read_queue(answer.text, &slurm->scratch, &rows, &count, &err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = map_u64_put(&table, (uint64_t)rows[i].id, &rows[i], NULL);
	if (rc == 0)
		take_rows(slurm, &table);
	map_u64_fini(&table);
	if (rc == 0)
		slurm_survey(slurm, rows, count, &err);
	else if (rc != -EAGAIN)
		exec_queue_tell_trouble(&slurm->queue, (struct exec_key){ 0 }, rc, err.text);
}

/* Those that have no number yet get one. */
static void begin_all(struct slurm *slurm)
{
	const struct map_text_entry *entry = map_text_next(&slurm->followed, NULL), *next;

	for (; entry; entry = next) {
		struct followed *at = entry->value;

		next = map_text_next(&slurm->followed, entry);
		if (!at->id || !at->noted)
			followed_begin(slurm, at);
	}
}

static void do_work(struct slurm *slurm, const struct exec_work *work)
{
	char name[RECORD_NAME_BYTES];
	struct followed *at;

	if (work->type == EXEC_FOLLOW)
		followed_add(slurm, work->key);
	record_name(work->key, name);
	at = map_text_get(&slurm->followed, name, strlen(name));
	if (!at)
		return;
	if (work->type == EXEC_DROP || followed_refresh(slurm, at, NULL) == -ENOENT) {
		followed_drop(slurm, at);
		return;
	}
	if (work->type == EXEC_FOLLOW) /* also after trouble */
		at->again_ns = 0;
	if (at->id && at->noted && at->control.stop)
		cancel(slurm, at);
}

/* Waits for work until then; what there is, or NULL. False: the end. */
static bool wait_for_work(struct slurm *slurm, int64_t until_ns, struct exec_work **ret_work)
{
	struct pollfd work = { slurm->queue.to_thread, POLLIN, 0 };
	int64_t wait_ns = until_ns - slurm_now_ns(slurm);

	if (wait_ns > 0)
		poll(&work, 1, (int)((wait_ns + STRATA_MS_NS - 1) / STRATA_MS_NS));
	return exec_queue_take_work(&slurm->queue, ret_work);
}

static void *watch(void *context)
{
	struct slurm *slurm = context;
	struct exec_work *work = NULL;
	int64_t next_ns = 0;

	while (wait_for_work(slurm, next_ns, &work)) {
		for (const struct exec_work *at = work; at; at = at->next)
			do_work(slurm, at);
		exec_work_free(work);
		if (slurm_now_ns(slurm) >= next_ns) {
			look_at_queue(slurm);
			exec_queue_set_ready(&slurm->queue);
			next_ns = slurm_now_ns(slurm) + slurm->conf.poll_ns;
		}
		begin_all(slurm);
		strata_arena_reset(&slurm->scratch);
	}
	exec_work_free(work);
	return NULL;
}

int slurm_watch_start(struct slurm *slurm, struct strata_error *err)
{
	int code = pthread_create(&slurm->thread, NULL, watch, slurm);

	if (code)
		return strata_fail(err, -code, "no thread: %s", strerror(code));
	slurm->runs = true;
	return 0;
}

void slurm_watch_stop(struct slurm *slurm)
{
	const struct map_text_entry *entry;

	exec_queue_stop(&slurm->queue);
	if (slurm->runs)
		pthread_join(slurm->thread, NULL);
	slurm->runs = false;
	while ((entry = map_text_next(&slurm->followed, NULL)))
		followed_drop(slurm, entry->value);
	free(slurm->told);
	slurm->told = NULL;
}
