/*
 * The insides of the executor that hands jobs to Slurm. Everything is asked of Slurm by its own
 * commands: slurm_command.c runs one, slurm_order.c writes an order as sbatch wants it,
 * slurm_read.c reads what the commands print, slurm_watch.c is the thread that does it all,
 * exec_slurm.c the class.
 */
#ifndef EXEC_EXEC_SLURM_H
#define EXEC_EXEC_SLURM_H

#include "exec/exec_local.h"
#include "exec/exec_queue.h"

#include <pthread.h>

struct slurm_conf {
	const char *bin;       /* directory of Slurm's commands */
	const char *conf_file; /* SLURM_CONF for them; NULL: as this process has it */
	int64_t poll_ns;       /* between two looks at the queue */
	int64_t memory_bytes;  /* for each CPU of jobs that ask for no memory */
	/* of the state directory, set by the opening: another's jobs have the same numbers */
	const char *identity;
};

enum { SLURM_IDENTITY_BYTES = 17 }; /* with its NUL */

/* ---- slurm_command.c ---- */

enum { SLURM_WORDS_MAX = 64, SLURM_ANSWER_BYTES_MAX = 1 << 26 };

/* What a command said; in the arena. */
struct slurm_answer {
	int code;            /* its exit code */
	const char *text;    /* stdout … */
	const char *trouble; /* … and stderr, without the newline at its end */
};

/* Runs bin/words[0] with nothing but these words and Slurm's own variables. 0 whatever its exit
 * code; -ETIMEDOUT after limit_ns, when it was killed: what it was to do may have happened. */
int slurm_run(const struct slurm_conf *conf, const struct env *env, const char *const *words,
	      int64_t limit_ns, struct strata_arena *arena, struct slurm_answer *ret_answer,
	      struct strata_error *err);
/* Is it a refusal that says nothing about what was asked: nobody was there to answer? */
bool slurm_is_away(const struct slurm_answer *answer);

/* ---- slurm_order.c: pure ---- */

/* What sbatch is to submit. */
struct slurm_order {
	/* NULL behind the last; the script's path and arguments are the caller's to add */
	const char *words[SLURM_WORDS_MAX];
	size_t word_count;
	/* bytes of the script, without lines that sbatch would take for options */
	const char *script;
	size_t script_bytes;
	const char *environment; /* NAME=value, each with its NUL */
	size_t environment_bytes;
};

/* -EINVAL when Slurm has no such thing, as a part of a GPU. */
int slurm_order_make(const struct slurm_conf *conf, const struct exec_order *order, bool as_root,
		     struct strata_arena *arena, struct slurm_order *ret_order,
		     struct strata_error *err);
/* "strata:JOB.ATTEMPT.EPOCH:IDENTITY": by which a job is found again whose number was lost. The
 * epoch is that of the order. */
const char *slurm_order_comment(const struct slurm_conf *conf, const struct exec_order *order,
				struct strata_arena *arena);

/* ---- slurm_read.c: pure ---- */

enum slurm_state {
	SLURM_PENDING,
	SLURM_HELD, /* pending until it is released */
	SLURM_RUNNING,
	SLURM_SUSPENDED,
	SLURM_BETWEEN, /* it is about to be, or not to be, something else */
	SLURM_COMPLETED,
	SLURM_FAILED,
	SLURM_CANCELLED,
	SLURM_TIMEOUT,
	SLURM_MEMORY,
	SLURM_NODE_FAIL,
	SLURM_PREEMPTED,
};
bool slurm_state_ended(enum slurm_state state);

/* A job, as squeue has it. */
struct slurm_row {
	int64_t id;
	enum slurm_state state;
	int64_t exit_status; /* as wait() has it */
	int64_t started_ns, ended_ns;
	const char *user;
	const char *reason;
};

/* Names of fields for squeue -O, and its answer. -EBADMSG when a line is not of that form: then
 * nothing of it is believed. */
extern const char slurm_queue_fields[];
int slurm_read_queue(const char *text, struct strata_arena *arena, struct slurm_row **ret_rows,
		     size_t *ret_count, struct strata_error *err);
/* The least number above `after` of a job with this comment, of "id|comment|" lines; 0: none. */
int64_t slurm_find_comment(const char *text, const char *comment, int64_t after);
/* sacct -P -n -X -o State,ExitCode,Start,End of one job: false when it says nothing that helps. */
bool slurm_read_account(const char *text, struct slurm_row *ret_row);

/* What scontrol -o -d show job says a job has; 0 parts when it says nothing. */
int slurm_read_parts(const char *text, int64_t id, struct strata_arena *arena,
		     struct exec_part **ret_parts, size_t *ret_count, struct strata_error *err);
/* sinfo -h -N -O NodeList:|,StateLong:|,Reason:| ; a node that is in several partitions once. */
extern const char slurm_node_fields[];
int slurm_read_states(const char *text, struct strata_arena *arena, struct exec_node **ret_nodes,
		      size_t *ret_count, struct strata_error *err);

/* How an attempt ended that this row is the end of. Texts in the arena. */
void slurm_status(const struct slurm_row *row, const struct record_control *control,
		  struct exec_key key, int64_t epoch, struct exec_status *ret_status);

/* ---- slurm_watch.c: the thread ---- */

struct slurm {
	struct local local; /* the files of attempts; the owner's */
	struct slurm_conf conf;
	char identity[SLURM_IDENTITY_BYTES];

	struct exec_queue queue;

	/* held by who claims an attempt, or takes away one that was not */
	pthread_mutex_t claiming;
	pthread_t thread;
	bool runs;

	/* the thread's own */
	struct strata_memory memory;
	struct strata_arena scratch;
	struct map_text followed; /* of struct followed, by name; owned */
	char *told;               /* what the survey that was told last was made from; malloc's */
	bool away;                /* Slurm did not answer when it was asked last */
};

int slurm_watch_start(struct slurm *slurm, struct strata_error *err);
void slurm_watch_stop(struct slurm *slurm);

#endif
