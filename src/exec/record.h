/*
 * What is on disk of an attempt: one directory, STATE/jobs/JOB.ATTEMPT, with one small file for each step of its life. Every
 * file is written whole and durably by one writer, so that at any moment the directory says how far the attempt came:
 *
 *	order.json, environ, script	what to run; the executor. The order comes last: without it there is nothing
 *	control.json			what is wished of it: stop, freeze, checkpoint …; the executor
 *	lock				locked by the supervisor as long as it lives
 *	claimed.json			by whom; the supervisor, before it starts anything. Never written twice
 *	started.json			the first process runs
 *	checkpoint.json			it wrote a checkpoint
 *	status.json			how it ended: the last word
 *	token				the job's secret, while it runs; belongs to its user
 */
#ifndef EXEC_RECORD_H
#define EXEC_RECORD_H

#include "exec/exec.h"

#define RECORD_ORDER "order.json"
#define RECORD_ENVIRON "environ"
#define RECORD_SCRIPT "script"
#define RECORD_CONTROL "control.json"
#define RECORD_LOCK "lock"
#define RECORD_CLAIMED "claimed.json"
#define RECORD_STARTED "started.json"
#define RECORD_CHECKPOINT "checkpoint.json"
#define RECORD_STATUS "status.json"
#define RECORD_TOKEN "token"

enum {
	RECORD_BYTES_MAX = 1 << 24, /* of one file */
	RECORD_NAME_BYTES = 40,     /* JOB.ATTEMPT and its NUL */
};

/* The wishes, as they stand: a file that says what should be, not what to do, may be read any number of times. */
struct record_control {
	int64_t stop;     /* 0: no; else 1 + enum exec_how */
	int64_t grace_ns; /* of the stop */
	bool frozen;
	int64_t checkpoints; /* asked for so far */
	int64_t signals;     /* sent so far … */
	int64_t signal;      /* … and the last of them */
	int64_t limit_ns;    /* 0: as ordered */
};

struct record_claim {
	int64_t pid, epoch, claimed_ns;
};

struct record_start {
	int64_t pid, started_ns;
};

struct record_checkpoint {
	int64_t count; /* this one's number */
	int64_t written_ns;
	const char *path;
};

extern const struct strata_schema record_order_schema;
extern const struct strata_schema record_control_schema;
extern const struct strata_schema record_claim_schema;
extern const struct strata_schema record_start_schema;
extern const struct strata_schema record_checkpoint_schema;
extern const struct strata_schema record_status_schema;

/* A struct as a file of one line; durable. */
int record_write(const struct env *env, int dir, const char *name,
		 const struct strata_schema *schema, const void *conf, struct strata_memory *memory,
		 struct strata_error *err);
/* -ENOENT when there is no such file. Texts live in the arena. */
int record_read(const struct env *env, int dir, const char *name,
		const struct strata_schema *schema, struct strata_arena *arena, void *ret_conf,
		struct strata_error *err);
/* As record_write, but of several writers one succeeds: -EEXIST for the others. */
int record_claim(const struct env *env, int dir, const struct record_claim *claim,
		 struct strata_memory *memory, struct strata_error *err);
bool record_exists(int dir, const char *name);

/* An order with its environment and script, the order itself last. */
int record_write_order(const struct env *env, int dir, const struct exec_order *order,
		       struct strata_memory *memory, struct strata_error *err);
/* The script's bytes are not read: script is "" when there is one. */
int record_read_order(const struct env *env, int dir, struct strata_arena *arena,
		      struct exec_order *ret_order, struct strata_error *err);

/* "17.2". */
char *record_name(struct exec_key key, char ret_name[RECORD_NAME_BYTES]);
/* The key that a directory's name says; false when it is none. */
bool record_key(const char *name, struct exec_key *ret_key);

/* The process that holds the lock of this directory: its supervisor. 0: nobody, or this process, whose lock ends with the call. */
int record_lock_holder(int dir, pid_t *ret_pid, struct strata_error *err);
/* Takes the lock; the descriptor that closing gives it up with, or a negative code: -EBUSY when another process has it. */
int record_lock(int dir, struct strata_error *err);

#endif
