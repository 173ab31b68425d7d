/* From an order to a job of Slurm's that was released: claimed, submitted held, its number noted;
 * or found again by its comment. */
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
		rc = followed_note(slurm, at, JOURNAL_CLAIMED, &record_claim_schema, &record, err);
	pthread_mutex_unlock(&slurm->claiming);
	if (rc == 0)
		at->claimed = true;
	return rc;
}

/* What was submitted under its comment: all of it, by number, the least first. */
int slurm_comments(struct slurm *slurm, const char **ret_text, struct strata_error *err)
{
	static const char *const words[] = {
		"squeue", "-h", "-a", "-t", "all", "-O", "JobID:|,Comment:|", NULL
	};
	struct slurm_answer answer;
	int rc = slurm_call(slurm, words, &answer, err);

	if (rc == 0)
		*ret_text = answer.text;
	return rc;
}

static int write_files(struct slurm *slurm, const struct followed *at,
		       const struct exec_order *order, const struct slurm_order *made,
		       struct strata_error *err)
{
	static const struct launch_user self = { 0 };
	const struct launch_file script = { JOURNAL_SCRIPT, made->script, made->script_bytes,
					    0600 };
	const struct launch_file environment = { JOURNAL_ENVIRONMENT, made->environment,
						 made->environment_bytes, 0600 };
	const struct launch_file token = { JOURNAL_TOKEN, order->token,
					   order->token ? strlen(order->token) : 0, 0600 };
	int jobs = slurm->local.jobs;

	launch_tidy(jobs, at->name);
	int rc = launch_write_beside(jobs, at->name, &script, &self, err);

	if (rc == 0)
		rc = launch_write_beside(jobs, at->name, &environment, &self, err);
	if (rc == 0 && token.bytes)
		rc = launch_write_beside(jobs, at->name, &token, &at->user, err);
	if (rc == 0 && order->checkpoint_dir)
		rc = launch_make_checkpoint_dir(order, &at->user, err);
	return rc;
}

/* Submits it. 0 and the number, -EAGAIN when it is not known what became of it, else it was
 * refused. */
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
	rc = words[made.word_count] && words[made.word_count + 1]
		     ? slurm_call(slurm, words, &answer, err)
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
	int rc = followed_order(slurm, at->name, &order, err);

	if (rc == 0 && at->claimed) {
		rc = slurm_comments(slurm, &list, err);
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
	    slurm_call_job(slurm, at->id, words, &err) == 0)
		at->released = true;
}

/* From an order to a job of Slurm's that may run. */
void followed_begin(struct slurm *slurm, struct followed *at)
{
	struct strata_error err = { 0 };
	int rc = 0;

	if (slurm_now_ns(slurm) < at->again_ns)
		return;
	at->again_ns = slurm_now_ns(slurm) + SLURM_AGAIN_NS;
	if (!at->id && at->control.stop && !at->claimed) {
		followed_end_unstarted(slurm, at, (enum exec_how)(at->control.stop - 1), NULL);
		return;
	}
	if (!at->id)
		rc = find_or_submit(slurm, at, &at->id, &err);
	if (rc == -ENOENT) {
		followed_drop(slurm, at); /* forgotten before anything came of it */
		return;
	}
	if (rc && !passes(rc)) {
		followed_end_unstarted(slurm, at, EXEC_NOT_STARTED, err.text);
		return;
	}
	if (rc == 0 && !at->id) {
		followed_end_unstarted(slurm, at, (enum exec_how)(at->control.stop - 1), NULL);
		return;
	}
	if (rc == 0 && !at->noted) {
		const struct record_given given = { at->id };

		rc = followed_note(slurm, at, JOURNAL_GIVEN, &record_given_schema, &given, &err);
		at->noted = rc == 0;
	}
	/* it may have been cancelled while it was submitted */
	if (rc == 0 && followed_refresh(slurm, at, &err) == 0 && !at->control.stop)
		release(slurm, at);
}
