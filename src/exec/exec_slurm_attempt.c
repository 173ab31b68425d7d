/* Attempts that are followed on a Slurm cluster: their files, the commands that concern them, and
 * what is told to the executor's owner. */
#include "exec/slurm_attempt.h"

#include "exec/leader.h"

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

int64_t slurm_now_ns(const struct slurm *slurm)
{
	return env_now_ns(slurm->local.env, ENV_MONOTONIC);
}

/* ---- commands ---- */

/* 0 when it was done, -EAGAIN when Slurm is not there, -EREMOTEIO with what it said when it does
 * not want to. */
int slurm_call(struct slurm *slurm, const char *const *words, struct slurm_answer *ret_answer,
	       struct strata_error *err)
{
	int rc = slurm_run(&slurm->conf, slurm->local.env, words, COMMAND_NS, &slurm->scratch,
			   ret_answer, err);
	bool away = rc || slurm_is_away(ret_answer);

	if (away && rc == 0)
		strata_fail(err, -EAGAIN, "%s: %.300s", words[0], ret_answer->trouble);
	if (away && !slurm->away)
		exec_queue_tell_trouble(&slurm->queue, (struct exec_key){ 0 }, -EAGAIN, err->text);
	slurm->away = away;
	if (away)
		return rc == -ENOMEM ? rc : -EAGAIN;
	return ret_answer->code ? strata_fail(err, -EREMOTEIO, "%.400s", ret_answer->trouble) : 0;
}

int slurm_call_job(struct slurm *slurm, int64_t id, const char *const *words,
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
	return slurm_call(slurm, all, &answer, err);
}

/* ---- files of attempts ---- */

int followed_note(struct slurm *slurm, const struct followed *at, const char *word,
		  const struct strata_schema *schema, const void *record, struct strata_error *err)
{
	int fd = journal_open(slurm->local.env, slurm->local.jobs, at->name, err);

	if (fd < 0)
		return fd;
	int rc = journal_add(slurm->local.env, fd, word, schema, record, true, &slurm->memory, err);

	close(fd);
	return rc;
}

void followed_drop(struct slurm *slurm, struct followed *at)
{
	map_text_remove(&slurm->followed, at->name, strlen(at->name));
	free(at);
}

/* Written until that succeeds: it stays followed. */
void followed_end(struct slurm *slurm, struct followed *at, const struct exec_status *status)
{
	char path[STRATA_PATH_BYTES_MAX];
	struct exec_status own = *status;

	own.job = (int64_t)at->key.job;
	own.attempt = at->key.attempt;
	own.epoch = at->epoch;
	if (at->saved.name[0] && at->checkpoint_dir) {
		snprintf(path, sizeof(path), "%s/%s", at->checkpoint_dir, at->saved.name);
		own.checkpoint = path;
		own.checkpoint_bytes = at->saved.size_bytes;
	}
	if (followed_note(slurm, at, JOURNAL_ENDED, &record_status_schema, &own, NULL) == 0) {
		if (at->checkpoint_dir)
			rmdir(at->checkpoint_dir); /* if there is nothing in it */
		followed_drop(slurm, at);
	}
}

/* It never ran, and will not. */
void followed_end_unstarted(struct slurm *slurm, struct followed *at, enum exec_how how,
			    const char *why)
{
	struct exec_status status = {
		.how = (int)how,
		.error = why,
		.error_code = how == EXEC_NOT_STARTED ? EREMOTEIO : 0,
		.ended_ns = env_now_ns(slurm->local.env, ENV_REALTIME),
	};

	followed_end(slurm, at, &status);
}

/* What its file says now. -ENOENT when it is gone, or has ended. */
int followed_refresh(struct slurm *slurm, struct followed *at, struct strata_error *err)
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

int followed_order(struct slurm *slurm, const char *name, struct exec_order *ret_order,
		   struct strata_error *err)
{
	int fd = journal_open(slurm->local.env, slurm->local.jobs, name, err);

	if (fd < 0)
		return fd;
	int rc = journal_read_order(fd, &slurm->scratch, ret_order, err);

	close(fd);
	return rc;
}

void followed_add(struct slurm *slurm, struct exec_key key)
{
	char name[RECORD_NAME_BYTES];
	struct exec_order order;
	struct strata_error err;
	int rc;

	record_name(key, name);
	if (map_text_get(&slurm->followed, name, strlen(name)))
		return;
	rc = followed_order(slurm, name, &order, &err);
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
		rc = followed_refresh(slurm, at, &err);
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
		exec_queue_tell_trouble(&slurm->queue, key, rc, err.text);
}
