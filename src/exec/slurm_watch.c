/*
 * The thread that deals with Slurm: submits what was ordered, looks at the queue once in a while for all jobs at once, carries out wishes, and
 * writes what becomes of each attempt to its file, from where the executor's owner has it. It is the only one that waits for a command.
 *
 * Nothing runs twice: an attempt is claimed before it is submitted, submitted held, and released once its number is in its file. Whoever
 * finds a claim without a number looks for the attempt's comment in the queue; if it is not there, whatever may still arrive stays
 * held and is cancelled in the end. Nothing is lost because Slurm cannot be asked: only an answer without the job counts.
 */
#include "exec/slurm.h"

#include "exec/launch.h"
#include "exec/leader.h"
#include "exec/saved.h"

#include "core/buf.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define COMMAND_NS (30 * STRATA_SECOND_NS)
#define AGAIN_NS (2 * STRATA_SECOND_NS)   /* until what failed is tried again */
#define CANCEL_NS (10 * STRATA_SECOND_NS) /* until one that does not end is cancelled again */

enum { MISSING_MAX = 3 }; /* answers without a job until it is gone */

struct followed {
	struct exec_key key;
	char name[RECORD_NAME_BYTES];
	int64_t lines_at, epoch; /* of its file */
	struct record_control control, done;
	int64_t id; /* Slurm's; 0: not known */
	bool claimed, noted, released, started;
	bool uncertain; /* it may have been submitted once more than is known */
	int missing;
	int64_t again_ns, cancel_ns; /* monotonic: not before then */
	const char *checkpoint_dir;  /* NULL: none; in the block behind this struct */
	int64_t checkpoint_signal;   /* 0: it did not say that it listens */
	struct launch_user user;
	struct saved saved;
	int64_t checkpoint_count;
};

static int64_t now_ns(const struct slurm *slurm)
{
	return env_now_ns(slurm->local.env, ENV_MONOTONIC);
}

/* ---- what is told ---- */

static struct slurm_news *news_new(enum exec_event_type type, struct exec_key key)
{
	struct slurm_news *news = calloc(1, sizeof(*news));

	if (news) {
		strata_arena_init(&news->arena, &news->memory, 0);
		news->event = (struct exec_event){ .type = type, .key = key };
	}
	return news;
}

static void tell(struct slurm *slurm, struct slurm_news *news)
{
	pthread_mutex_lock(&slurm->lock);
	*(slurm->news_last ? &slurm->news_last->next : &slurm->news) = news;
	slurm->news_last = news;
	pthread_mutex_unlock(&slurm->lock);
	eventfd_write(slurm->local.wake, 1);
}

static void tell_trouble(struct slurm *slurm, struct exec_key key, int code, const char *text)
{
	struct slurm_news *news = news_new(EXEC_TROUBLE, key);

	if (!news)
		return;
	news->event.status.error_code = -code;
	news->event.status.error = strata_arena_text(&news->arena, text, strlen(text));
	tell(slurm, news);
}

/* ---- commands ---- */

/* 0 when it was done, -EAGAIN when Slurm is not there, -EREMOTEIO with what it said when it does not want to. */
static int run(struct slurm *slurm, const char *const *words, struct slurm_answer *ret_answer,
	       struct strata_error *err)
{
	int rc = slurm_run(&slurm->conf, slurm->local.env, words, COMMAND_NS, &slurm->scratch,
			   ret_answer, err);
	bool away = rc || slurm_is_away(ret_answer);

	if (away && rc == 0)
		strata_fail(err, -EAGAIN, "%s: %.300s", words[0], ret_answer->trouble);
	if (away && !slurm->away)
		tell_trouble(slurm, (struct exec_key){ 0 }, -EAGAIN, err->text);
	slurm->away = away;
	if (away)
		return rc == -ENOMEM ? rc : -EAGAIN;
	return ret_answer->code ? strata_fail(err, -EREMOTEIO, "%.400s", ret_answer->trouble) : 0;
}

static int run_on(struct slurm *slurm, int64_t id, const char *const *words,
		  struct strata_error *err)
{
	const char *all[8] = { NULL };
	char number[24];
	struct slurm_answer answer;
	size_t count = 0;

	snprintf(number, sizeof(number), "%" PRId64, id);
	for (; words[count]; count++)
		all[count] = words[count];
	all[count] = number;
	return run(slurm, all, &answer, err);
}

/* ---- files of attempts ---- */

static int note(struct slurm *slurm, const struct followed *at, const char *word,
		const struct strata_schema *schema, const void *record, struct strata_error *err)
{
	int fd = journal_open(slurm->local.env, slurm->local.jobs, at->name, err);

	if (fd < 0)
		return fd;
	int rc = journal_add(slurm->local.env, fd, word, schema, record, true, &slurm->memory, err);

	close(fd);
	return rc;
}

static void unfollow(struct slurm *slurm, struct followed *at)
{
	map_text_remove(&slurm->followed, at->name, strlen(at->name));
	free(at);
}

/* Written until that succeeds: it stays followed. */
static void end(struct slurm *slurm, struct followed *at, struct exec_status *status)
{
	char path[STRATA_PATH_BYTES_MAX];

	status->job = (int64_t)at->key.job;
	status->attempt = at->key.attempt;
	status->epoch = at->epoch;
	if (at->saved.name[0] && at->checkpoint_dir) {
		snprintf(path, sizeof(path), "%s/%s", at->checkpoint_dir, at->saved.name);
		status->checkpoint = path;
		status->checkpoint_bytes = at->saved.size_bytes;
	}
	if (note(slurm, at, JOURNAL_ENDED, &record_status_schema, status, NULL) == 0) {
		if (at->checkpoint_dir)
			rmdir(at->checkpoint_dir); /* if there is nothing in it */
		unfollow(slurm, at);
	}
}

/* It never ran, and will not. */
static void end_unstarted(struct slurm *slurm, struct followed *at, enum exec_how how,
			  const char *why)
{
	struct exec_status status = {
		.how = (int)how,
		.error = why,
		.error_code = how == EXEC_NOT_STARTED ? EREMOTEIO : 0,
		.ended_ns = env_now_ns(slurm->local.env, ENV_REALTIME),
	};

	end(slurm, at, &status);
}

/* What its file says now. -ENOENT when it is gone, or has ended. */
static int refresh(struct slurm *slurm, struct followed *at, struct strata_error *err)
{
	struct journal journal = { .lines_at = at->lines_at, .epoch = at->epoch };
	int fd = journal_open(slurm->local.env, slurm->local.jobs, at->name, err);
	int rc = fd < 0 ? fd : journal_read(fd, &slurm->scratch, &journal, err);

	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	if (!journal.lines_at || journal.ended)
		return strata_fail(err, -ENOENT, "attempt %s has ended", at->name);
	at->lines_at = journal.lines_at;
	at->epoch = journal.epoch;
	at->control = journal.control;
	at->claimed = journal.claimed;
	at->started = journal.started;
	if (journal.given.id && !at->id) {
		at->id = journal.given.id;
		at->noted = true;
	}
	if (journal.checkpoint.count > at->checkpoint_count)
		at->checkpoint_count = journal.checkpoint.count;
	return 0;
}

static int read_order(struct slurm *slurm, const char *name, struct exec_order *ret_order,
		      struct strata_error *err)
{
	int fd = journal_open(slurm->local.env, slurm->local.jobs, name, err);

	if (fd < 0)
		return fd;
	int rc = journal_read_order(fd, &slurm->scratch, ret_order, err);

	close(fd);
	return rc;
}

static void follow(struct slurm *slurm, struct exec_key key)
{
	char name[RECORD_NAME_BYTES];
	struct exec_order order;
	struct strata_error err;
	int rc;

	record_name(key, name);
	if (map_text_get(&slurm->followed, name, strlen(name)))
		return;
	rc = read_order(slurm, name, &order, &err);
	const char *dir = rc == 0 && order.checkpoint_dir ? order.checkpoint_dir : "";
	struct followed *at = calloc(1, sizeof(*at) + strlen(dir) + 1);

	if (rc == 0 && !at)
		rc = strata_fail_memory(&err);
	if (rc == 0) {
		at->key = key;
		memcpy(at->name, name, sizeof(name));
		at->checkpoint_dir = *dir ? strcpy((char *)(at + 1), dir) : NULL;
		at->checkpoint_signal = order.checkpoint_asked ? order.checkpoint_signal : 0;
		at->user = (struct launch_user){ .switches = geteuid() == 0,
						 .uid = (uid_t)order.uid,
						 .gid = (gid_t)order.gid };
		rc = refresh(slurm, at, &err);
	}
	if (rc == 0) {
		/* what was asked of it before is done, or is not needed any more */
		at->uncertain = at->claimed && !at->id;
		at->done = at->control;
		rc = map_text_put(&slurm->followed, name, strlen(name), at, NULL);
	}
	if (rc == 0)
		return;
	free(at);
	if (rc != -ENOENT)
		tell_trouble(slurm, key, rc, err.text);
}

/* ---- the start ---- */

/* 1 when the attempt is this thread's to submit, 0 when it has gone. */
static int claim(struct slurm *slurm, struct followed *at, struct strata_error *err)
{
	const struct record_claim record = { getpid(), slurm->local.epoch,
					     env_now_ns(slurm->local.env, ENV_REALTIME) };

	pthread_mutex_lock(&slurm->claiming);
	int rc = leader_check(slurm->local.env, slurm->local.jobs, LEADER_FROM_JOBS,
			      slurm->local.epoch, &slurm->memory, err);

	if (rc == 0)
		rc = note(slurm, at, JOURNAL_CLAIMED, &record_claim_schema, &record, err);
	pthread_mutex_unlock(&slurm->claiming);
	if (rc == 0)
		at->claimed = true;
	return rc;
}

/* What was submitted under its comment: all of it, by number, the least first. */
static int list_comments(struct slurm *slurm, const char **ret_text, struct strata_error *err)
{
	static const char *const words[] = {
		"squeue", "-h", "-a", "-t", "all", "-O", "JobID:|,Comment:|", NULL
	};
	struct slurm_answer answer;
	int rc = run(slurm, words, &answer, err);

	if (rc == 0)
		*ret_text = answer.text;
	return rc;
}

static int write_files(struct slurm *slurm, const struct followed *at,
		       const struct exec_order *order, const struct slurm_order *made,
		       struct strata_error *err)
{
	static const struct launch_user self = { 0 };
	int jobs = slurm->local.jobs;

	launch_tidy(jobs, at->name);
	int rc = launch_write_beside(jobs, at->name, JOURNAL_SCRIPT, made->script,
				     made->script_bytes, 0600, &self, err);

	if (rc == 0)
		rc = launch_write_beside(jobs, at->name, JOURNAL_ENVIRONMENT, made->environment,
					 made->environment_bytes, 0600, &self, err);
	if (rc == 0 && order->token)
		rc = launch_write_beside(jobs, at->name, JOURNAL_TOKEN, order->token,
					 strlen(order->token), 0600, &at->user, err);
	if (rc == 0 && order->checkpoint_dir)
		rc = launch_make_checkpoint_dir(order, &at->user, err);
	return rc;
}

/* Submits it. 0 and the number, -EAGAIN when it is not known what became of it, else it was refused. */
static int submit(struct slurm *slurm, struct followed *at, const struct exec_order *order,
		  int64_t *ret_id, struct strata_error *err)
{
	const char *const *arguments = order->script ? order->arguments.items : NULL;
	size_t argument_count = order->script ? order->arguments.count : 0;
	const char *path =
		strata_arena_printf(&slurm->scratch, "%s/%s", slurm->local.jobs_path, at->name);
	struct slurm_answer answer = { .trouble = "" };
	struct slurm_order made;
	int rc = slurm_order_make(&slurm->conf, order, geteuid() == 0, &slurm->scratch, &made, err);
	const char **words = rc ? NULL
				: strata_arena_array(&slurm->scratch,
						     made.word_count + argument_count + 3,
						     sizeof(*words));

	if (rc == 0 && (!words || !path))
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = write_files(slurm, at, order, &made, err);
	if (rc)
		return rc;
	size_t count = made.word_count;

	memcpy(words, made.words, count * sizeof(*words));
	words[count++] = strata_arena_printf(&slurm->scratch, "--export-file=%s%s", path,
					     JOURNAL_ENVIRONMENT);
	words[count++] = strata_arena_printf(&slurm->scratch, "%s%s", path, JOURNAL_SCRIPT);
	for (size_t i = 0; i < argument_count; i++)
		words[count++] = arguments[i];
	rc = words[made.word_count] && words[made.word_count + 1] ? run(slurm, words, &answer, err)
								  : strata_fail_memory(err);
	launch_tidy_script(slurm->local.jobs, at->name);
	at->uncertain = at->uncertain || rc == -EAGAIN;
	if (rc == 0 &&
	    strata_int_parse(answer.text, strcspn(answer.text, ";\n"), 1, INT64_MAX, ret_id, NULL))
		rc = strata_fail(err, -EREMOTEIO, "sbatch says \"%.60s\"", answer.text);
	return rc;
}

static int find_or_submit(struct slurm *slurm, struct followed *at, int64_t *ret_id,
			  struct strata_error *err)
{
	struct exec_order order;
	const char *list, *comment;
	int64_t id = 0;
	int rc = read_order(slurm, at->name, &order, err);

	if (rc == 0 && at->claimed) {
		rc = list_comments(slurm, &list, err);
		comment = slurm_order_comment(&slurm->conf, &order, &slurm->scratch);
		if (rc == 0)
			id = comment ? slurm_find_comment(list, comment, 0) : 0;
	}
	if (rc == 0 && id == 0 && at->control.stop)
		return 0; /* and if it comes still, it stays held */
	if (rc == 0 && !at->claimed)
		rc = claim(slurm, at, err);
	if (rc == 0 && id == 0)
		rc = submit(slurm, at, &order, &id, err);
	if (rc == 0)
		*ret_id = id;
	return rc;
}

/* Will it be otherwise in a while? */
static bool passes(int rc)
{
	return rc == -EAGAIN || rc == -ENOMEM || rc == -ENOSPC || rc == -EDQUOT || rc == -EIO ||
	       rc == -EMFILE || rc == -ENFILE || rc == -ESTALE;
}

static void release(struct slurm *slurm, struct followed *at)
{
	static const char *const words[] = { "scontrol", "release", NULL };
	struct strata_error err;

	if (leader_check(slurm->local.env, slurm->local.jobs, LEADER_FROM_JOBS, slurm->local.epoch,
			 &slurm->memory, NULL) == 0 &&
	    run_on(slurm, at->id, words, &err) == 0)
		at->released = true;
}

/* From an order to a job of Slurm's that may run. */
static void begin(struct slurm *slurm, struct followed *at)
{
	struct strata_error err = { 0 };
	int rc = 0;

	if (now_ns(slurm) < at->again_ns)
		return;
	at->again_ns = now_ns(slurm) + AGAIN_NS;
	if (!at->id && at->control.stop && !at->claimed) {
		end_unstarted(slurm, at, (enum exec_how)(at->control.stop - 1), NULL);
		return;
	}
	if (!at->id)
		rc = find_or_submit(slurm, at, &at->id, &err);
	if (rc == -ENOENT) {
		unfollow(slurm, at); /* forgotten before anything came of it */
		return;
	}
	if (rc && !passes(rc)) {
		end_unstarted(slurm, at, EXEC_NOT_STARTED, err.text);
		return;
	}
	if (rc == 0 && !at->id) {
		end_unstarted(slurm, at, (enum exec_how)(at->control.stop - 1), NULL);
		return;
	}
	if (rc == 0 && !at->noted) {
		const struct record_given given = { at->id };

		rc = note(slurm, at, JOURNAL_GIVEN, &record_given_schema, &given, &err);
		at->noted = rc == 0;
	}
	/* it may have been cancelled while it was submitted */
	if (rc == 0 && refresh(slurm, at, &err) == 0 && !at->control.stop)
		release(slurm, at);
}

/* ---- wishes ---- */

static void send_signal(struct slurm *slurm, const struct followed *at, int64_t signal)
{
	char number[16];
	const char *words[] = { "scancel", "--batch", "--signal", number, NULL };
	struct strata_error err;

	snprintf(number, sizeof(number), "%" PRId64, signal);
	run_on(slurm, at->id, words, &err);
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
	run(slurm, words, &answer, &err);
}

static void cancel(struct slurm *slurm, struct followed *at)
{
	static const char *const words[] = { "scancel", NULL };
	struct strata_error err;

	if (now_ns(slurm) < at->cancel_ns)
		return;
	at->cancel_ns = now_ns(slurm) + CANCEL_NS;
	if (run_on(slurm, at->id, words, &err) == -EAGAIN)
		at->cancel_ns = now_ns(slurm) + AGAIN_NS;
}

/* What is wished of a job, as far as it can be done to one in this state. */
static void carry_out(struct slurm *slurm, struct followed *at, enum slurm_state state)
{
	static const char *const suspend[] = { "scontrol", "suspend", NULL };
	static const char *const resume[] = { "scontrol", "resume", NULL };
	const struct record_control *wish = &at->control;
	struct strata_error err;

	if (wish->limit_ns && wish->limit_ns != at->done.limit_ns) {
		set_limit(slurm, at);
		at->done.limit_ns = wish->limit_ns;
	}
	if (state == SLURM_RUNNING && wish->checkpoints > at->done.checkpoints) {
		if (at->checkpoint_signal)
			send_signal(slurm, at, at->checkpoint_signal);
		at->done.checkpoints = wish->checkpoints;
	}
	if (state == SLURM_RUNNING && wish->signals > at->done.signals) {
		send_signal(slurm, at, wish->signal);
		at->done.signals = wish->signals;
	}
	if (state == SLURM_RUNNING && wish->frozen && !wish->stop)
		run_on(slurm, at->id, suspend, &err);
	if (state == SLURM_SUSPENDED && (!wish->frozen || wish->stop))
		run_on(slurm, at->id, resume, &err);
	if (wish->stop)
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
	note(slurm, at, JOURNAL_CHECKPOINT, &record_checkpoint_schema, &record, NULL);
}

/* An attempt that was, or may have been, submitted twice: the other one is held, and goes. */
static void cancel_twins(struct slurm *slurm, const struct followed *at)
{
	static const char *const words[] = { "scancel", NULL };
	struct exec_order order;
	struct strata_error err;
	const char *list, *comment;

	if (read_order(slurm, at->name, &order, &err) || list_comments(slurm, &list, &err))
		return;
	comment = slurm_order_comment(&slurm->conf, &order, &slurm->scratch);
	for (int64_t id = 0; comment && (id = slurm_find_comment(list, comment, id));)
		if (id != at->id)
			run_on(slurm, id, words, &err);
}

static void finish(struct slurm *slurm, struct followed *at, const struct slurm_row *row)
{
	struct exec_order like = { .checkpoint_dir = at->checkpoint_dir, .checkpoint_place = true };
	struct exec_status status;

	look_for_checkpoint(slurm, at, &like);
	if (at->uncertain)
		cancel_twins(slurm, at);
	slurm_status(row, &at->control, at->key, at->epoch, &status);
	end(slurm, at, &status);
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
		.error = "Slurm does not know it any more, nor how it ended",
		.ended_ns = env_now_ns(slurm->local.env, ENV_REALTIME),
	};

	end(slurm, at, &status);
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

		at->started =
			note(slurm, at, JOURNAL_STARTED, &record_start_schema, &start, NULL) == 0;
	}
	if (row->state == SLURM_HELD && !at->released && !at->control.stop)
		begin(slurm, at);
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

/* ---- others, and the nodes ---- */

static bool is_ours(const struct slurm *slurm, int64_t id)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&slurm->followed, entry)))
		if (((const struct followed *)entry->value)->id == id)
			return true;
	return false;
}

/* Whatever is neither waiting nor ended has its place. */
static bool is_taken(const struct slurm *slurm, const struct slurm_row *row)
{
	return row->state != SLURM_PENDING && row->state != SLURM_HELD &&
	       !slurm_state_ended(row->state) && !is_ours(slurm, row->id);
}

static int fill_taken(struct slurm_news *news, const struct slurm_row *rows, size_t count,
		      const char *details, const bool *taken, struct exec_survey *survey,
		      struct strata_error *err)
{
	struct exec_taken *list = strata_arena_array(&news->arena, count, sizeof(*list));
	int rc = list ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct exec_taken *at = &list[survey->taken_count];

		if (!taken[i])
			continue;
		rc = slurm_read_parts(details, rows[i].id, &news->arena, &at->parts,
				      &at->part_count, err);
		at->name = strata_arena_printf(&news->arena, "slurm.%" PRId64, rows[i].id);
		at->user = strata_arena_text(&news->arena, rows[i].user, strlen(rows[i].user));
		at->begin_ns = rows[i].started_ns;
		at->end_ns = rows[i].ended_ns;
		if (rc == 0 && (!at->name || !at->user))
			rc = strata_fail_memory(err);
		survey->taken_count += at->part_count > 0;
	}
	survey->taken = list;
	return rc;
}

/* What a survey is made from, to see whether there is something to tell. */
static char *survey_text(const char *states, const struct slurm_row *rows, size_t count,
			 const bool *taken)
{
	struct strata_memory memory = { 0 };
	struct buf buf;
	char *text;

	buf_init(&buf, &memory, 0);
	buf_add(&buf, states);
	for (size_t i = 0; i < count; i++)
		if (taken[i])
			buf_printf(&buf, "%" PRId64 " %" PRId64 "\n", rows[i].id, rows[i].ended_ns);
	text = buf.failed ? NULL : strdup(buf.text);
	buf_fini(&buf);
	return text;
}

static int tell_survey(struct slurm *slurm, const char *states, const struct slurm_row *rows,
		       size_t count, const bool *taken, struct strata_error *err)
{
	static const char *const words[] = { "scontrol", "-o", "-d", "show", "job", NULL };
	struct slurm_answer answer = { .text = "" };
	struct slurm_news *news = news_new(EXEC_SURVEY, (struct exec_key){ 0 });
	struct exec_survey *survey = news ? strata_arena_get(&news->arena, sizeof(*survey)) : NULL;
	struct exec_node *nodes;
	bool any = false;
	int rc = survey ? 0 : strata_fail_memory(err);

	for (size_t i = 0; i < count; i++)
		any = any || taken[i];
	if (rc == 0 && any)
		rc = run(slurm, words, &answer, err);
	if (rc == 0)
		rc = slurm_read_states(states, &news->arena, &nodes, &survey->node_count, err);
	if (rc == 0) {
		survey->nodes = nodes;
		rc = fill_taken(news, rows, count, answer.text, taken, survey, err);
	}
	if (rc == 0) {
		news->event.survey = survey;
		tell(slurm, news);
	} else if (news) {
		strata_arena_fini(&news->arena);
		free(news);
	}
	return rc;
}

static int survey(struct slurm *slurm, const struct slurm_row *rows, size_t count,
		  struct strata_error *err)
{
	static const char *const words[] = { "sinfo",           "-h", "-N", "-a", "-O",
					     slurm_node_fields, NULL };
	bool *taken = strata_arena_array(&slurm->scratch, count + 1, sizeof(*taken));
	struct slurm_answer answer;
	int rc = taken ? run(slurm, words, &answer, err) : strata_fail_memory(err);

	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++)
		taken[i] = is_taken(slurm, &rows[i]);
	char *text = survey_text(answer.text, rows, count, taken);

	if (!text)
		return strata_fail_memory(err);
	if (!slurm->told || strcmp(slurm->told, text) != 0)
		rc = tell_survey(slurm, answer.text, rows, count, taken, err);
	if (rc == 0) {
		free(slurm->told);
		slurm->told = text;
	} else {
		free(text);
	}
	return rc;
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
	int rc = run(slurm, words, &answer, &err);

	map_u64_init(&table, &slurm->memory);
	if (rc == 0)
		rc = slurm_read_queue(answer.text, &slurm->scratch, &rows, &count, &err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = map_u64_put(&table, (uint64_t)rows[i].id, &rows[i], NULL);
	if (rc == 0)
		take_rows(slurm, &table);
	map_u64_fini(&table);
	if (rc == 0)
		survey(slurm, rows, count, &err);
	else if (rc != -EAGAIN)
		tell_trouble(slurm, (struct exec_key){ 0 }, rc, err.text);
}

/* Those that have no number yet get one. */
static void begin_all(struct slurm *slurm)
{
	const struct map_text_entry *entry = map_text_next(&slurm->followed, NULL), *next;

	for (; entry; entry = next) {
		struct followed *at = entry->value;

		next = map_text_next(&slurm->followed, entry);
		if (!at->id || !at->noted)
			begin(slurm, at);
	}
}

static void do_work(struct slurm *slurm, const struct slurm_work *work)
{
	char name[RECORD_NAME_BYTES];
	struct followed *at;

	if (work->type == SLURM_FOLLOW)
		follow(slurm, work->key);
	record_name(work->key, name);
	at = map_text_get(&slurm->followed, name, strlen(name));
	if (!at)
		return;
	if (work->type == SLURM_DROP || refresh(slurm, at, NULL) == -ENOENT) {
		unfollow(slurm, at);
		return;
	}
	if (work->type == SLURM_FOLLOW) /* also after trouble */
		at->again_ns = 0;
	if (at->id && at->noted && at->control.stop)
		cancel(slurm, at);
}

/* Waits for work until then; what there is, or NULL. False: the end. */
static bool wait_for_work(struct slurm *slurm, int64_t until_ns, struct slurm_work **ret_work)
{
	struct timespec until = { .tv_sec = until_ns / STRATA_SECOND_NS,
				  .tv_nsec = until_ns % STRATA_SECOND_NS };
	bool goes_on;

	pthread_mutex_lock(&slurm->lock);
	while (!slurm->first && !slurm->stops &&
	       pthread_cond_timedwait(&slurm->changed, &slurm->lock, &until) == 0)
		;
	*ret_work = slurm->first;
	slurm->first = slurm->last = NULL;
	goes_on = !slurm->stops;
	pthread_mutex_unlock(&slurm->lock);
	return goes_on;
}

static void surveyed(struct slurm *slurm)
{
	pthread_mutex_lock(&slurm->lock);
	slurm->surveyed = true;
	pthread_cond_broadcast(&slurm->changed);
	pthread_mutex_unlock(&slurm->lock);
}

static void free_work(struct slurm_work *work)
{
	while (work) {
		struct slurm_work *next = work->next;

		free(work);
		work = next;
	}
}

static void *watch(void *context)
{
	struct slurm *slurm = context;
	struct slurm_work *work = NULL;
	int64_t next_ns = 0;

	while (wait_for_work(slurm, next_ns, &work)) {
		for (const struct slurm_work *at = work; at; at = at->next)
			do_work(slurm, at);
		free_work(work);
		if (now_ns(slurm) >= next_ns) {
			look_at_queue(slurm);
			surveyed(slurm);
			next_ns = now_ns(slurm) + slurm->conf.poll_ns;
		}
		begin_all(slurm);
		strata_arena_reset(&slurm->scratch);
	}
	free_work(work);
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

	pthread_mutex_lock(&slurm->lock);
	slurm->stops = true;
	pthread_cond_broadcast(&slurm->changed);
	pthread_mutex_unlock(&slurm->lock);
	if (slurm->runs)
		pthread_join(slurm->thread, NULL);
	slurm->runs = false;
	free_work(slurm->first);
	slurm->first = slurm->last = NULL;
	while ((entry = map_text_next(&slurm->followed, NULL)))
		unfollow(slurm, entry->value);
	free(slurm->told);
	slurm->told = NULL;
}

int slurm_watch_tell(struct slurm *slurm, enum slurm_work_type type, struct exec_key key,
		     struct strata_error *err)
{
	struct slurm_work *work = calloc(1, sizeof(*work));

	if (!work)
		return strata_fail_memory(err);
	work->type = type;
	work->key = key;
	pthread_mutex_lock(&slurm->lock);
	*(slurm->last ? &slurm->last->next : &slurm->first) = work;
	slurm->last = work;
	pthread_cond_broadcast(&slurm->changed);
	pthread_mutex_unlock(&slurm->lock);
	return 0;
}
