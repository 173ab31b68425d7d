/*
 * Batch scripts: what sbatch makes of a script, its command line and the SBATCH_* variables. One
 * pure function, so that a submission from the command line, through the API or by the sbatch
 * command gives the same request.
 *
 * Precedence is Slurm's: command line over variables over #SBATCH lines. What Slurm refuses is
 * refused, in its words. Options without a meaning here are accepted with one warning.
 */
#ifndef STRATA_SBATCH_H
#define STRATA_SBATCH_H

#include <strata/slurm.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* All borrowed for the call; what the request needs of it is copied. */
struct strata_sbatch_input {
	const char *script; /* the file's bytes; NULL: none was given */
	size_t script_length;
	const char *script_name; /* its path; NULL: standard input */
	/* whose options these are: STRATA_SLURM_SBATCH (or 0), STRATA_SLURM_SRUN, which has a program in
	 * place of a script and reads no variables, or STRATA_SLURM_SALLOC, which may have a program */
	unsigned command;
	const char *const *args; /* the words behind "sbatch": options, script, its arguments */
	size_t arg_count;
	const char *const *env; /* NAME=value …, NULL behind the last; NULL: none */
	const char *nodes;      /* the nodes there are, as a list of hosts; NULL: not checked */
	int64_t now_ns; /* for --begin=now+1hour; STRATA_TIME_NO_NOW: such forms are refused */
	int32_t zone_seconds; /* east of UTC, for times without a zone */
};

/* GPUs asked for, per job, node, task or socket. */
struct strata_sbatch_gpus {
	const char *text; /* as written: "a100:2"; NULL: not asked for */
	int64_t count;    /* of all types; 0 may be asked for */
	const char *type; /* "a100"; NULL: any, or several */
};

enum strata_sbatch_share {
	STRATA_SBATCH_SHARE_DEFAULT,
	STRATA_SBATCH_SHARE_NODE, /* --oversubscribe */
	STRATA_SBATCH_EXCLUSIVE,
	STRATA_SBATCH_EXCLUSIVE_USER,
	STRATA_SBATCH_EXCLUSIVE_MCS,
};

enum strata_sbatch_export { STRATA_SBATCH_EXPORT_ALL, STRATA_SBATCH_EXPORT_NONE };

enum strata_sbatch_open {
	STRATA_SBATCH_OPEN_DEFAULT,
	STRATA_SBATCH_OPEN_APPEND,
	STRATA_SBATCH_OPEN_TRUNCATE,
};

enum { /* bits of mail_types */
       STRATA_MAIL_BEGIN = 1 << 0,
       STRATA_MAIL_END = 1 << 1,
       STRATA_MAIL_FAIL = 1 << 2,
       STRATA_MAIL_REQUEUE = 1 << 3,
       STRATA_MAIL_INVALID_DEPEND = 1 << 4,
       STRATA_MAIL_STAGE_OUT = 1 << 5,
       STRATA_MAIL_TIME_LIMIT = 1 << 6,
       STRATA_MAIL_TIME_LIMIT_90 = 1 << 7,
       STRATA_MAIL_TIME_LIMIT_80 = 1 << 8,
       STRATA_MAIL_TIME_LIMIT_50 = 1 << 9,
       STRATA_MAIL_ARRAY_TASKS = 1 << 10,
};

/* --signal=[R][B:]USR1@60 */
struct strata_sbatch_signal {
	int number;        /* 0: none asked for */
	int64_t before_ns; /* so long before the time limit */
	bool batch_only;   /* B: to the script alone, not to the steps */
	bool reservation;  /* R: also jobs that overlap a reservation */
};

/* An option that was given and has no effect here. */
struct strata_sbatch_ignored {
	const char *name;  /* "hint" */
	const char *value; /* NULL: it has none */
};

/*
 * What was asked for. Texts are NULL and counts 0 where nothing was asked for, unless said. Texts
 * and lists live in the arena.
 */
struct strata_sbatch {
	/* the job */
	/* never NULL: where not given, the script's or program's file name, "wrap" or "sbatch" */
	const char *name;
	const char *script; /* its bytes, a NUL behind them; with --wrap the script made of it */
	size_t script_length;
	const char **script_args; /* words behind the script; of srun the program and its words */
	size_t script_arg_count;
	const char *wrap; /* the command of --wrap */

	/* how much */
	int64_t nodes;         /* the smallest number, at least 1 */
	int64_t nodes_max;     /* the largest; 0: --nodes was not given */
	int64_t tasks;         /* at least 1 */
	int64_t cpus_per_task; /* at least 1 */
	int64_t cpus_per_gpu;
	int64_t ntasks_per_node, ntasks_per_gpu;
	int64_t ntasks_per_core, ntasks_per_socket; /* at most so many */
	/* the nodes have at least so many of each: mincpus are the job's own there */
	int64_t sockets_per_node, cores_per_socket, threads_per_core, mincpus;
	int64_t mem_bytes;         /* per node; 0: all of it; -1: not asked for */
	int64_t mem_per_cpu_bytes; /* the same per CPU; at most one of the three is asked for */
	int64_t mem_per_gpu_bytes;
	int64_t tmp_bytes; /* of temporary disk per node; -1: not asked for */
	struct strata_sbatch_gpus gpus, gpus_per_node, gpus_per_task, gpus_per_socket;
	int64_t gpus_total; /* of the whole job, as far as it follows from the above; else 0 */
	const char *gres;   /* as written; its GPUs are in gpus_per_node too, and win there */
	const char *licenses;
	int64_t time_limit_ns; /* STRATA_DURATION_UNLIMITED; -1: not asked for */
	int64_t time_min_ns;   /* -1: not asked for */

	/* where */
	const char *partition, *account, *qos, *reservation, *wckey;
	const char *constraint, *prefer;
	const char *nodelist, *exclude; /* lists of hosts */
	enum strata_sbatch_share share;
	const char *nodefile, *clusters;
	bool overcommit, contiguous, spread_job, use_min_nodes;

	/* when */
	struct strata_array array;
	struct strata_slurm_dependencies dependencies;
	int64_t begin_ns, deadline_ns; /* 0: none */
	bool hold, kill_on_invalid_dep;
	int requeue; /* 1, 0, or -1: not said */
	int64_t nice;
	int64_t priority; /* -1: not said; STRATA_SBATCH_PRIORITY_TOP */
	struct strata_sbatch_signal signal;

	/* files and environment */
	const char *output, *error; /* patterns, never NULL; error is output where not given */
	const char *input;          /* pattern; NULL: /dev/null */
	const char *chdir;
	enum strata_sbatch_open open_mode;
	enum strata_sbatch_export export_mode; /* of the variables not named */
	const char **export_items;             /* "NAME" or "NAME=value" */
	size_t export_count;
	const char *export_file;
	bool get_user_env;     /* that of a login instead of the caller's */
	const char *propagate; /* names of resource limits, "ALL" or "NONE" */
	const char *uid, *gid; /* whose job it is to be */

	/* messages */
	const char *comment;
	unsigned mail_types; /* STRATA_MAIL_… */
	const char *mail_user;

	/* which of the values above were asked for, where they do not tell themselves */
	bool tasks_given, cpus_per_task_given, nice_given, error_given, kill_on_invalid_dep_given;

	/* how the tasks of steps are laid out and bound: of a job, what its steps do unless they say */
	const char *distribution, *gpu_bind, *hint;

	/* a step's: srun's own */
	bool label, unbuffered, kill_on_bad_exit, exact, overlap, pty, multi_prog, preserve_env;
	const char *job_id, *cpu_bind, *prolog, *epilog, *task_prolog, *task_epilog;
	const char *bcast;   /* where the program is copied to; "": its own name; NULL: nowhere */
	int64_t relative;    /* the first node is this one of the job; -1: not said */
	int64_t wait_s;      /* from the first task's end to the others'; 0: for ever */
	int64_t immediate_s; /* srun and salloc: give up after that; -1: not asked for */
	bool no_shell, bell, no_bell; /* salloc's */

	/* the command's own */
	bool parsable, quiet, test_only, wait, help, usage, version;
	int64_t verbose; /* how often -v was given */
	const struct strata_sbatch_ignored *ignored;
	size_t ignored_count;
	const char **warnings; /* a sentence each, none with --quiet */
	size_t warning_count;
};

#define STRATA_SBATCH_PRIORITY_TOP INT64_C(4294967293)

/*
 * Reads all of it. The error's text is Slurm's sentence without "sbatch: error: "; where Slurm
 * prints several lines they are joined by "; ". -EINVAL: an option or its value (Slurm exits with
 * 255), -EBADMSG: a script, number or combination it refuses with 1; -E2BIG past a limit. With
 * help, usage or version among the command line's options no script is needed, and only the
 * command line is read.
 */
int strata_sbatch_parse(const struct strata_sbatch_input *in, struct strata_arena *arena,
			struct strata_sbatch *ret_job, struct strata_error *err);

/* Where in the command line the script's path stands: ret_index is arg_count when there is none.
 * ret_wrap: --wrap is there, so that no script is needed. */
int strata_sbatch_find_script(const char *const *args, size_t arg_count, size_t *ret_index,
			      bool *ret_wrap, struct strata_error *err);

/* What Slurm's command of this name would have written to standard error, line by line, and its
 * exit status. NULL for lack of memory. */
const char *strata_sbatch_complaint(const struct strata_error *err, const char *program,
				    struct strata_arena *arena, int *ret_exit);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
