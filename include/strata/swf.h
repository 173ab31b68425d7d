/*
 * The Standard Workload Format: logs of jobs, one line of 18 columns each, under a header of
 * comments. A log read here can be looked at column by column, written back, or loaded: turned into
 * what a simulator needs, by the rules that make its figures comparable with published ones.
 *
 * Times are whole seconds as in the files; loading turns them into nanoseconds.
 */
#ifndef STRATA_SWF_H
#define STRATA_SWF_H

#include <strata/error.h>
#include <strata/memory.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The 18 columns in their order. -1 stands for "not known" in any of them. */
struct strata_swf_job {
	int64_t number;
	int64_t submit_s; /* since the log's UnixStartTime */
	int64_t wait_s;
	int64_t run_s;
	int64_t procs_used;
	double cpu_s;     /* mean over the processors */
	double memory_kb; /* used, per processor */
	int64_t procs_requested;
	int64_t requested_s;        /* the user's limit or estimate of the run time */
	double requested_memory_kb; /* per processor */
	int64_t status;             /* 1 completed, 0 failed, 5 cancelled */
	int64_t user;
	int64_t group;
	int64_t executable;
	int64_t queue;
	int64_t partition;
	int64_t preceding; /* number of the job that had to end first */
	int64_t think_s;   /* from that end to this submission */
	int64_t line;      /* of the file it was read from; 0: none. Not written */
};

/* One line of comment: "; Key: value", or without a key "; value". */
struct strata_swf_note {
	const char *key; /* "" when it has none */
	const char *value;
	int64_t line; /* as for jobs */
};

struct strata_swf {
	/* every comment, in the file's order; borrowed from the arena */
	struct strata_swf_note *notes;
	size_t note_count;
	struct strata_swf_job *jobs; /* in the file's order; borrowed from the arena */
	size_t job_count;
};

/*
 * Reads a log. Columns are separated by blanks; what follows the 18th is ignored, so that a
 * variant with more of them can be read. Line ends may be LF or CRLF. -EBADMSG names the line and
 * the column that is not a number or is missing; -E2BIG a line, comments or jobs past the limits.
 * The text is not needed afterwards.
 */
int strata_swf_read(const char *text, size_t length, struct strata_arena *arena,
		    struct strata_swf *ret_swf, struct strata_error *err);

/* The value of the first comment with this key ("MaxProcs"), or NULL. */
const char *strata_swf_note(const struct strata_swf *swf, const char *key);
/* The whole number its value begins with, or -1. */
int64_t strata_swf_note_int(const struct strata_swf *swf, const char *key);
/* How many processors the machine had: MaxProcs, else MaxNodes, else -1. */
int64_t strata_swf_procs(const struct strata_swf *swf);

/* The log as text, NUL behind it; read back it gives the same values. Lives in the arena. */
int strata_swf_write(const struct strata_swf *swf, struct strata_arena *arena,
		     const char **ret_text, size_t *ret_length, struct strata_error *err);

/* What a simulator needs to know of a job. */
struct strata_swf_arrival {
	int64_t number;
	int64_t submit_ns;
	int64_t run_ns;       /* how long it really runs */
	int64_t requested_ns; /* what the scheduler is told */
	int64_t procs;        /* at least 1; with STRATA_SWF_DEMANDS perhaps 0 */
	int64_t user;
	size_t job; /* its index in swf->jobs, for the other columns */
};

enum strata_swf_rule {
	/*
	 * What makes any log a sound input: processors are those requested, or else those used;
	 * the requested time is at least the run time, and equal to it when unknown. Jobs without
	 * submission, processors or run time are left out. In order of submission, then number.
	 */
	STRATA_SWF_PLAIN,
	/*
	 * As the RLScheduler experiments (SC'20) load their logs: processors are the larger of
	 * used and requested; an unknown requested time is the run time, a known one is taken as
	 * it is; a negative run time counts as 10 s; jobs that ran 0 s are left out. In order of
	 * job number.
	 */
	STRATA_SWF_WINDOWS,
	/*
	 * As STRATA_SWF_PLAIN, but jobs without processors stay, with 0 of them: for logs that say
	 * in another way what their jobs ask for.
	 */
	STRATA_SWF_DEMANDS,
};

/*
 * Loads a log by a rule; jobs alike in the rule's order keep that of the file. ret_left_out (may be
 * NULL) is how many jobs the rule left out. -EBADMSG names the line of a job that cannot be
 * simulated: no processors (STRATA_SWF_WINDOWS), or a time outside STRATA_TIME_NS_MAX and
 * STRATA_DURATION_NS_MAX. A requested time past the latter is cut to it.
 */
int strata_swf_load(const struct strata_swf *swf, enum strata_swf_rule rule,
		    struct strata_arena *arena, struct strata_swf_arrival **ret_arrivals,
		    size_t *ret_count, size_t *ret_left_out, struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
