/*
 * Small structs as JSON, each by its option table: what is said about an attempt (journal.h has the
 * file they are in), and the records that are files of their own.
 */
#ifndef EXEC_RECORD_H
#define EXEC_RECORD_H

#include "exec/exec.h"

enum {
	RECORD_BYTES_MAX = 1 << 24, /* of one record, an environment, a script */
	RECORD_NAME_BYTES = 40,     /* JOB.ATTEMPT and its NUL */
};

/* The control requests, as they stand: a file that says what should be, not what to do, may be read
 * any number of times. */
struct record_control {
	int64_t stop;     /* 0: no; else 1 + enum exec_how */
	int64_t grace_ns; /* of the stop */
	bool frozen;
	int64_t checkpoints; /* asked for so far */
	int64_t signals;     /* sent so far … */
	int64_t signal;      /* … and the last of them … */
	int64_t signal_to;   /* … with whom it was for: enum exec_to */
	int64_t limit_ns;    /* 0: as ordered */
};

struct record_claim {
	int64_t pid, epoch, claimed_ns;
};

struct record_leader {
	int64_t epoch;
	const char *cgroup; /* directory of its control groups; NULL: none */
};

struct record_given {
	int64_t id; /* what a workload manager calls it; 0: it has no number yet */
};

struct record_start {
	int64_t pid, started_ns;
};

struct record_checkpoint {
	int64_t count;   /* this one's number in its attempt; 0: none */
	int64_t attempt; /* that wrote it */
	int64_t written_ns;
	const char *path;
	int64_t step;       /* as the job says; -1: it does not */
	int64_t size_bytes; /* of the file, or of all in the directory */
};

extern const struct strata_schema record_order_schema;
extern const struct strata_schema record_control_schema;
extern const struct strata_schema record_claim_schema;
extern const struct strata_schema record_leader_schema;
extern const struct strata_schema record_given_schema;
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
/* "17.2". */
char *record_name(struct exec_key key, char ret_name[RECORD_NAME_BYTES]);
/* The key that a name says; false when it is none. */
bool record_key(const char *name, struct exec_key *ret_key);

#endif
