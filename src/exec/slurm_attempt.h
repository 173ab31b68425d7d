/*
 * An attempt that Slurm has, or is to have, as the thread that deals with Slurm follows it: shared
 * by exec_slurm_attempt.c (its file and what is told of it), exec_slurm_start.c (from the order to
 * Slurm's number), exec_slurm_survey.c (others, and the nodes) and slurm_watch.c (the thread). All
 * of it is that thread's.
 */
#ifndef EXEC_SLURM_ATTEMPT_H
#define EXEC_SLURM_ATTEMPT_H

#include "exec/launch.h"
#include "exec/saved.h"
#include "exec/exec_slurm.h"

#define SLURM_AGAIN_NS (2 * STRATA_SECOND_NS) /* until what failed is tried again */

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

/* ---- exec_slurm_attempt.c ---- */

int64_t slurm_now_ns(const struct slurm *slurm);
/* Runs a command of Slurm's, for no longer than it may take; the answer is in the thread's
 * arena. */
int slurm_call(struct slurm *slurm, const char *const *words, struct slurm_answer *ret_answer,
	       struct strata_error *err);
int slurm_call_job(struct slurm *slurm, int64_t id, const char *const *words,
		   struct strata_error *err);
/* A line for its file. */
int followed_note(struct slurm *slurm, const struct followed *at, const char *word,
		  const struct strata_schema *schema, const void *record, struct strata_error *err);
void followed_drop(struct slurm *slurm, struct followed *at);
/* Its last word, in its file and told; it is followed no more. */
void followed_end(struct slurm *slurm, struct followed *at, const struct exec_status *status);
void followed_end_unstarted(struct slurm *slurm, struct followed *at, enum exec_how how,
			    const char *why);
/* What its file says by now: control requests, claims, numbers. */
int followed_refresh(struct slurm *slurm, struct followed *at, struct strata_error *err);
int followed_order(struct slurm *slurm, const char *name, struct exec_order *ret_order,
		   struct strata_error *err);
void followed_add(struct slurm *slurm, struct exec_key key);

/* ---- exec_slurm_start.c ---- */

/* The comments of all jobs in the queue. */
int slurm_comments(struct slurm *slurm, const char **ret_text, struct strata_error *err);
void followed_begin(struct slurm *slurm, struct followed *at);

/* ---- exec_slurm_survey.c ---- */

int slurm_survey(struct slurm *slurm, const struct slurm_row *rows, size_t count,
		 struct strata_error *err);

#endif
