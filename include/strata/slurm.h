/*
 * The small languages of Slurm's commands: arrays of jobs, lists of hosts, dependencies, patterns of
 * file names, times to begin at, and the table of every option of sbatch, srun and salloc. Each is a
 * pure function of its arguments; texts and lists live in the caller's arena.
 *
 * Readers take a pointer and a length (STRATA_TEXT_NUL: up to the NUL), want the whole text to be of
 * the form, return 0, -EINVAL (not of the form), -ERANGE (a number past a limit), -E2BIG (too many)
 * or -ENOMEM with a sentence, and leave their outputs untouched on failure. All are thread-safe.
 */
#ifndef STRATA_SLURM_H
#define STRATA_SLURM_H

#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>
#include <strata/text.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Arrays: "0-30", "1,3,5-7", "1-19:3", "1-100%8". */

/* The tasks first, first + step … last; last is one of them. */
struct strata_array_range {
	int64_t first, last, step;
};

/* A set of task numbers, 0 … STRATA_ARRAY_INDEX_MAX. All zero: no array. */
struct strata_array {
	/* disjoint, in ascending order; borrowed from the arena */
	struct strata_array_range *ranges;
	size_t range_count;
	int64_t task_count;
	int64_t limit; /* most tasks that may run at once; 0: any number */
};

/* Numbers named twice count once, in any order. */
int strata_array_parse(const char *text, size_t length, struct strata_arena *arena,
		       struct strata_array *ret_array, struct strata_error *err);

/* As squeue and scontrol write it: one step where the whole set has one ("1-19:3%2"), else runs of
 * neighbours ("1,7-9"). Reading it back gives the same set. */
int strata_array_print(const struct strata_array *array, struct strata_arena *arena,
		       const char **ret_text, struct strata_error *err);

/* The smallest task number above `after` (start with -1), or -1. */
int64_t strata_array_next(const struct strata_array *array, int64_t after);

/* SLURM_ARRAY_TASK_STEP: the one distance between all neighbours (3 for 3-9:3), else 1. */
int64_t strata_array_step(const struct strata_array *array);

/* Lists of hosts: "n[001-003,007],login". */

/* Every name, in the order written, repeated where it was: what `scontrol show hostnames` prints.
 * Leading zeros count; several brackets in a name multiply; nothing may follow the last one. */
int strata_hostlist_expand(const char *text, size_t length, struct strata_arena *arena,
			   const char ***ret_names, size_t *ret_count, struct strata_error *err);

/* The short form of names in their order: what `scontrol show hostlist` prints. Reading it back
 * gives the same names, if they are hosts' names (no comma, blank or bracket). */
int strata_hostlist_compress(const char *const *names, size_t count, struct strata_arena *arena,
			     const char **ret_text, struct strata_error *err);

/* Dependencies: "afterok:12:13_4,after:9+5", "afterany:1?afterany:2", "singleton". */

enum strata_slurm_dependency_kind {
	STRATA_SLURM_AFTER,      /* has started (or was cancelled) */
	STRATA_SLURM_AFTERANY,   /* has ended */
	STRATA_SLURM_AFTERCORR,  /* the task of the same number has ended well */
	STRATA_SLURM_AFTERNOTOK, /* has ended badly */
	STRATA_SLURM_AFTEROK,    /* has ended well */
	STRATA_SLURM_SINGLETON,  /* no other job of this name and user before it */
};

enum { STRATA_TASK_NONE = -1, STRATA_TASK_ALL = -2 };

struct strata_slurm_dependency {
	enum strata_slurm_dependency_kind kind;
	int64_t job;      /* 0 for a singleton */
	int64_t task;     /* of its array; STRATA_TASK_NONE, or STRATA_TASK_ALL ("12_*") */
	int64_t delay_ns; /* of STRATA_SLURM_AFTER: this long after its start */
};

struct strata_slurm_dependencies {
	struct strata_slurm_dependency *items; /* borrowed from the arena */
	size_t count;
	bool any; /* one of them is enough ("?"), else all are needed (",") */
};

int strata_slurm_dependencies_parse(const char *text, size_t length, struct strata_arena *arena,
				    struct strata_slurm_dependencies *ret_dependencies,
				    struct strata_error *err);

/* One kind and job each, as squeue's %E: "afterok:12,afterok:13_4". */
int strata_slurm_dependencies_print(const struct strata_slurm_dependencies *dependencies,
				    struct strata_arena *arena, const char **ret_text,
				    struct strata_error *err);

/* "afterok" … */
const char *strata_slurm_dependency_name(enum strata_slurm_dependency_kind kind);

/* Patterns of file names: "logs/%x-%5j.out". */

/* What the letters stand for. Numbers below 0 and texts that are NULL are not known yet: their
 * letters stay as they are, so that a pattern can be filled in twice. */
struct strata_output_values {
	int64_t job;       /* %j */
	int64_t array_job; /* %A; when below 0, that of %j */
	int64_t task;      /* %a; STRATA_TASK_NONE prints as Slurm does, 4294967294 */
	int64_t step;      /* %s, and behind the dot of %J */
	int64_t node;      /* %n: its number within the job */
	int64_t rank;      /* %t: the task's number within the job */
	const char *host;  /* %N: the first node's name */
	const char *user;  /* %u */
	const char *name;  /* %x: the job's */
};

/* Fills in a pattern. %% is one %; a width as in %5j pads numbers with zeros (to at most 10); other
 * letters stay; a backslash anywhere turns the letters off and is left out, as in Slurm. */
int strata_output_expand(const char *pattern, const struct strata_output_values *values,
			 struct strata_arena *arena, const char **ret_text,
			 struct strata_error *err);

/*
 * --begin and --deadline: what strata_time_parse reads, in either order of day and clock ("noon
 * tomorrow"), and Slurm's dates MMDDYY, MM/DD[/YY], MM.DD[.YY] and utsSECONDS.
 */
int strata_begin_parse(const char *text, size_t length, int64_t now_ns, int32_t zone_seconds,
		       int64_t *ret_ns, struct strata_error *err);

/* --time: "90" minutes, "m:s", "h:m:s", "d-h", "d-h:m", "d-h:m:s", rounded up to whole minutes; 0,
 * -1, INFINITE and UNLIMITED are STRATA_DURATION_UNLIMITED. */
int strata_slurm_time_parse(const char *text, size_t length, int64_t *ret_ns,
			    struct strata_error *err);

/* --mem: whole numbers of MB or with K, M, G, T (and perhaps a B), rounded up to whole MB (2^20). */
int strata_slurm_memory_parse(const char *text, size_t length, int64_t *ret_bytes,
			      struct strata_error *err);

/* Options. */

enum {
	STRATA_SLURM_SBATCH = 1 << 0,
	STRATA_SLURM_SRUN = 1 << 1,
	STRATA_SLURM_SALLOC = 1 << 2,
};

enum strata_slurm_argument { STRATA_SLURM_NONE, STRATA_SLURM_REQUIRED, STRATA_SLURM_OPTIONAL };

/* What becomes of an option here. */
enum strata_slurm_effect {
	STRATA_SLURM_ACTS,
	STRATA_SLURM_HOLDS,   /* accepted: what it asks for is so anyway */
	STRATA_SLURM_IGNORED, /* accepted with a warning, without effect */
	STRATA_SLURM_REFUSED, /* an error: without it the command would act on more than was meant */
};

struct strata_slurm_option {
	const char *name; /* "cpus-per-task" */
	char letter;      /* 'c'; 0: none */
	enum strata_slurm_argument argument;
	unsigned commands; /* STRATA_SLURM_SBATCH | … that take it */
	const char *env;   /* variable that stands for it, "SBATCH_…"; NULL: none */
	enum strata_slurm_effect effect;
	const char *help; /* one line, lower case, no full stop */
};

/* The table, sorted by name; NULL past the end. Static storage. */
const struct strata_slurm_option *strata_slurm_option_at(size_t index);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
