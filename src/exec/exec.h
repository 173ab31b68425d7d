/*
 * Running jobs. An executor is a class: `local` runs them on this machine, another may hand them to
 * a workload manager. The daemon tells it what to start and how to control what runs, polls one
 * descriptor and takes events.
 *
 * A job attempt is known by its key, (job, attempt), and is started at most once, however often the
 * daemon dies and whoever asks again. What matters is written down before it happens, so that an
 * executor opened later finds all attempts (scan), takes them up again (adopt) and reports how they
 * ended. An attempt stays there until it is forgotten.
 *
 * Not thread-safe: an executor has one owner. No call waits for a job.
 */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include <strata/class.h>
#include <strata/cluster.h>
#include <strata/error.h>
#include <strata/memory.h>
#include <strata/option.h>

#include "core/env.h"

struct exec_key {
	uint64_t job;     /* not 0 */
	uint32_t attempt; /* 1, 2, …: each is run at most once */
};

/* Whom a signal is for. */
enum exec_to {
	EXEC_TO_ALL,   /* all its processes */
	EXEC_TO_BATCH, /* the first one, the script */
	EXEC_TO_STEPS, /* what srun started */
};

/* Everything that is needed to run one attempt. Borrowed during exec's start; texts and paths as
 * the job's user knows them. */
struct exec_order {
	int64_t job, attempt;
	int64_t epoch; /* of the leader that orders it; a later leader's is larger */

	const char *user; /* name: its groups are looked up by it */
	int64_t uid, gid;
	int64_t umask;
	const char *directory; /* to run in; absolute */

	/* a path, or a name that the job's process looks for on its PATH; NULL: the script is it */
	const char *program;
	struct strata_list arguments; /* of const char *: behind the program's own name */
	const char *script;           /* its bytes, "#!…" first; NULL: none. Not with program */
	size_t script_bytes;
	const char *const *environment; /* NULL-terminated, complete; see environment.h */

	const char *input;        /* NULL: /dev/null */
	const char *output;       /* NULL: /dev/null */
	const char *error_output; /* NULL: where output goes */
	bool append;              /* to files that are there; else they are emptied */

	int64_t time_limit_ns; /* STRATA_DURATION_UNLIMITED: none. Time frozen does not count */
	int64_t grace_ns;      /* between SIGTERM and SIGKILL */
	int64_t warn_signal;   /* 0: none … */
	int64_t warn_ns;       /* … sent so long before the time limit … */
	int64_t warn_to;       /* … to these: enum exec_to. Of all only those that catch it */
	int64_t cpu_milli;     /* at most so much; 0: no limit. These three where cgroups allow */
	int64_t memory_bytes;
	int64_t process_count;

	const char *checkpoint_dir; /* the job's own; made if missing. NULL: none */
	/* it is in a place of the service's, where users cannot write: made for the user there */
	bool checkpoint_place;
	int64_t checkpoint_signal; /* to those of its processes that catch it; 0: none */
	bool checkpoint_asked;     /* the job said that it writes checkpoints when it is told to */
	const char *token;         /* its secret for the API; NULL: none */
	const char *node;          /* where it runs, for the last line of its output; NULL: none */
	/* of const char *: all nodes it has, as exec_place_schema reads them; empty: anywhere */
	struct strata_list places;
	const char *name;      /* what to call it where others see it; NULL: nothing */
	const char *partition; /* that has these nodes; NULL: the usual one */
	const char *image;     /* of the container it runs in; NULL: the executor's usual one */
	const char *cgroup;    /* set by the executor: directory of its cgroups; NULL: none */
};

/* What an order has of one node. */
struct exec_place {
	const char *name;
	int64_t tasks;
	int64_t cpu_milli, memory_bytes; /* of all of them */
	int64_t gpus, gpu_milli;         /* so many, so much of each */
	const char *gpu_type;            /* NULL: any */
};
extern const struct strata_schema exec_place_schema;

enum exec_how {
	EXEC_EXITED,      /* by itself: exit code or signal */
	EXEC_TIME_LIMIT,  /* ran past its limit */
	EXEC_CANCELLED,   /* somebody asked for it */
	EXEC_PREEMPTED,   /* stopped for another job */
	EXEC_REQUEUED,    /* stopped, to start again later */
	EXEC_SHUT_DOWN,   /* its supervisor was told to end, as when the machine is switched off */
	EXEC_MEMORY,      /* used more than it had asked for, and was killed */
	EXEC_NOT_STARTED, /* could not be started; error says why */
	EXEC_LOST, /* its supervisor or the machine died: it may have run, it does not any more */
};
enum { EXEC_HOW_COUNT = EXEC_LOST + 1 };
const char *exec_how_name(enum exec_how how); /* "time_limit" */

/* How an attempt ended. Texts live as long as what it came with. */
struct exec_status {
	int64_t job, attempt, epoch;
	int how; /* enum exec_how */
	int64_t exit_code;
	int64_t signal; /* that ended its first process; 0: it exited */
	bool core_dumped;
	int64_t error_code; /* NOT_STARTED: errno */
	const char *error;  /* NOT_STARTED, LOST: a sentence; else NULL */
	int64_t started_ns; /* since 1970; 0: it never ran */
	int64_t ended_ns;
	int64_t ran_ns; /* by a clock that does not jump, time frozen left out */
	int64_t frozen_ns;
	int64_t user_ns, system_ns; /* CPU time of all its processes */
	int64_t memory_peak_bytes;  /* of its largest process, or of all where cgroups count */
	const char *checkpoint;     /* path of the newest one it wrote; NULL: none */
	int64_t checkpoint_bytes;   /* its size */
	/* what it used over time, as samples.h reads it; NULL: not known */
	const char *samples;
};

/* How a running attempt may be controlled. Told of one that has not started yet, it holds from its
 * start on. */
enum exec_control_type {
	EXEC_STOP,   /* SIGTERM, grace, SIGKILL; before its start: it does not start */
	EXEC_FREEZE, /* until THAW */
	EXEC_THAW,
	EXEC_CHECKPOINT, /* the checkpoint signal */
	EXEC_SIGNAL, /* of two asked for at the same moment the second may be the only one sent */
	EXEC_LIMIT,  /* another time limit, counted from the start */
};

const char *exec_control_name(enum exec_control_type type); /* "freeze" */

struct exec_control {
	enum exec_control_type type;
	enum exec_how how; /* STOP: CANCELLED, PREEMPTED or REQUEUED */
	int64_t grace_ns;  /* STOP: as in the order */
	int signal;        /* SIGNAL */
	enum exec_to to;   /* SIGNAL */
	int64_t limit_ns;  /* LIMIT */
};

enum exec_event_type {
	EXEC_STARTED,      /* status.started_ns says when */
	EXEC_CHECKPOINTED, /* status.checkpoint is its path */
	EXEC_ENDED,        /* status; once, and the last one of its attempt */
	/* it cannot be run or watched at present: status.error. Adopt it to try again. Job 0: none
	 * can */
	EXEC_TROUBLE,
	EXEC_SURVEY, /* what nodes are like and what others have of them has changed: survey */
};

/* A node, as its owner sees it. */
struct exec_node {
	const char *name;
	enum strata_node_state state;
	const char *reason; /* of drained and down ones; NULL: none given */
};

/* What somebody else has of a node. */
struct exec_part {
	const char *node;
	int64_t cpu_milli, memory_bytes;
	uint32_t gpus;
};

/* A work of others that runs where our jobs might. */
struct exec_taken {
	const char *name; /* the executor's, a dot and theirs: "slurm.17" */
	const char *user;
	int64_t begin_ns, end_ns; /* 0: not known */
	struct exec_part *parts;
	size_t part_count;
};

/* All there is to say: who is not in it has gone. */
struct exec_survey {
	const struct exec_node *nodes;
	size_t node_count;
	const struct exec_taken *taken;
	size_t taken_count;
};

struct exec_event {
	enum exec_event_type type;
	struct exec_key key;
	struct exec_status status;        /* texts valid until the next call of `next` */
	const struct exec_survey *survey; /* so long too */
};

/* An attempt that a scan found. */
struct exec_found {
	struct exec_key key;
	int64_t epoch;
	bool ended; /* there is a status; `next` will report it once adopted */
};

struct exec_open {
	const struct env *env; /* borrowed until close */
	struct strata_memory *memory;
	const char *state_dir; /* made if missing */
	int64_t epoch;         /* of this leader */
	/* path of the program to run as `PROGRAM supervise JOBS [CGROUP]` */
	const char *supervisor;
};

/* An open executor; the first member of the class's own struct. */
struct exec {
	const struct exec_class *cls;
};

struct exec_class {
	struct strata_class base;
	bool keeps_descriptors; /* one is open for each attempt, as long as it runs */
	bool runs_images;       /* of containers; else an order names none */
	/* what runs cannot be frozen, nor be sent signals: such control requests are -ENOTSUP */
	bool only_stops;

	/* -ESTALE when a leader with a larger epoch has been here. */
	int (*open)(const void *conf, const struct exec_open *open, struct exec **ret_exec,
		    struct strata_error *err);
	/* What runs goes on. NULL is nothing. */
	void (*close)(struct exec *exec);

	/* Which limits on memory, CPUs and processes hold for jobs, and by what; for people. */
	void (*describe_limits)(const struct exec *exec, char *text, size_t room);

	/* Readable when `next` may have something. Owned by the executor. */
	int (*fd)(const struct exec *exec);
	/* 1 and an event, or 0 when there is none now. */
	int (*next)(struct exec *exec, struct exec_event *ret_event, struct strata_error *err);

	/* Returns once the order is written: it is found by a scan, whoever dies then. What goes
	 * wrong later is an event. After a power failure an order may be gone, if nothing was
	 * started for it yet; so whoever remembers it may order it again. -EEXIST when there is
	 * such an attempt, -EPERM when its user may not be served, -EINVAL for an order that
	 * cannot be. */
	int (*start)(struct exec *exec, const struct exec_order *order, struct strata_error *err);

	/* Returns once the control record is durable. -ENOENT for an unknown attempt; nothing
	 * happens to one that has ended. */
	int (*control)(struct exec *exec, struct exec_key key, const struct exec_control *control,
		       struct strata_error *err);

	/* Every attempt on disk, in the order of keys; the array is in the arena. */
	int (*scan)(struct exec *exec, struct strata_arena *arena, struct exec_found **ret_found,
		    size_t *ret_count, struct strata_error *err);
	/* Watches an attempt that was found, and starts it if its start was cut short. Events come
	 * as for one just started. */
	int (*adopt)(struct exec *exec, struct exec_key key, struct strata_error *err);
	/* Removes all traces of an attempt that has ended, or was ordered and never claimed. -EBUSY
	 * when it may be running. */
	int (*forget)(struct exec *exec, struct exec_key key, struct strata_error *err);

	/* What there is to run on, as `scontrol -o show node` tells it; in the arena. Asked
	 * before `open`. NULL: this machine, or what the configuration says. */
	int (*nodes)(const void *conf, const struct env *env, struct strata_memory *memory,
		     struct strata_arena *arena, const char **ret_text, struct strata_error *err);
};

extern const struct exec_class exec_kubernetes;
extern const struct exec_class exec_local;
extern const struct exec_class exec_slurm;
extern const struct strata_kind exec_kind;

#endif
