/*
 * What is on disk of an attempt: one file, STATE/jobs/JOB.ATTEMPT, to which a line is added for
 * each step of its life. So at any moment it says how far the attempt came, and a start costs one
 * new file:
 *
 *	the order		what to run, with environment and script; the executor. Without it there is nothing
 *	leader {…}		a later leader has taken over an order that nobody had claimed
 *	control {…}		control requests: stop, freeze, checkpoint …; the executor
 *	claimed {…}		by whom; the supervisor, durably, before it starts anything
 *	given {…}		a workload manager has taken it in, under this number; executors that hand jobs on
 *	started {…}		the first process runs
 *	checkpoint {…}		it wrote a checkpoint
 *	ended {…}		how: the last word
 *
 * A line counts once its end is there; one that was cut short means nothing, since nobody acts
 * before a line is whole. The supervisor holds a lock on the file as long as it lives. Beside it,
 * while the job runs, are JOB.ATTEMPT.script and JOB.ATTEMPT.token, which belong to its user.
 */
#ifndef EXEC_JOURNAL_H
#define EXEC_JOURNAL_H

#include "exec/record.h"

#define JOURNAL_LEADER "leader"
#define JOURNAL_CONTROL "control"
#define JOURNAL_CLAIMED "claimed"
#define JOURNAL_GIVEN "given"
#define JOURNAL_STARTED "started"
#define JOURNAL_CHECKPOINT "checkpoint"
#define JOURNAL_ENDED "ended"

#define JOURNAL_SCRIPT ".script"
#define JOURNAL_TOKEN ".token"
#define JOURNAL_SAMPLES ".samples" /* what it has used so far, while it runs */
#define JOURNAL_LOG ".log"         /* and the pod's number: how far its output has come home */
#define JOURNAL_ENVIRONMENT ".environment" /* only until it is handed on */

/* All that the lines say; of several of a kind the last. Texts live in the arena they were read
 * with. */
struct journal {
	/* where the lines behind the order begin; 0: the order is not there in full */
	int64_t lines_at;
	int64_t epoch;      /* of the order, or of the leader that took it over … */
	const char *cgroup; /* … and that one's; NULL: as ordered */
	bool claimed, started, ended;
	struct record_control control;
	struct record_given given;
	struct record_start start;
	struct record_checkpoint checkpoint; /* count 0: none */
	struct exec_status status;           /* once it has ended */
};

/* Creates the file with its order: -EEXIST when there is one. It is there for every process from
 * now on, but not yet durable: that comes with the claim, before which nothing happens. */
int journal_create(const struct env *env, int jobs, const char *name,
		   const struct exec_order *order, struct strata_memory *memory,
		   struct strata_error *err);

/* Opens one for reading and adding to; a descriptor, or -ENOENT. Closing any descriptor of it gives
 * up this process's lock. */
int journal_open(const struct env *env, int jobs, const char *name, struct strata_error *err);

/* What it says. With lines_at and epoch of an earlier reading in *journal, the order is not read
 * again; all else is new. */
int journal_read(int fd, struct strata_arena *arena, struct journal *journal,
		 struct strata_error *err);

/* The order, with environment and script. -EBADMSG when it is not as it was written. */
int journal_read_order(int fd, struct strata_arena *arena, struct exec_order *ret_order,
		       struct strata_error *err);

/* Adds a line; durable with `sync`. After a failure the line may be there or not. */
int journal_add(const struct env *env, int fd, const char *word, const struct strata_schema *schema,
		const void *conf, bool sync, struct strata_memory *memory,
		struct strata_error *err);

/* The process that holds the lock: the supervisor. 0: nobody, or this process. */
int journal_lock_holder(int fd, pid_t *ret_pid, struct strata_error *err);
/* Takes the lock, until a descriptor of the file is closed. -EBUSY when another process has it. */
int journal_lock(int fd, struct strata_error *err);

#endif
