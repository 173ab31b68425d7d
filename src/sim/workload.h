/*
 * Workloads: made-up logs of jobs, so that everything can be tried, tested and shown without outside
 * data. A kind of classes: a model has a name, options and a function that makes jobs; the same
 * model, options, number of jobs and seed give the same bytes on every machine.
 *
 *	strata sim workload --model lublin:load=0.8 --jobs 10000 --seed 1
 *
 * What comes out is a log in the Standard Workload Format with a header that says how it was made.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "formats/openb.h"
#include "formats/swf_demand.h"

#include <strata/class.h>
#include <strata/swf.h>

/* What a model fills. All arrays are the arena's. */
struct workload {
	struct strata_swf_job
		*jobs;    /* given, zeroed; what is not set here is "not known" in the log */
	size_t job_count; /* given, 1 or more */
	int64_t procs;    /* of the machine it is made for */
	int64_t nodes;    /* that the processors are spread over; 0: it does not matter */
	struct swf_demand *demands; /* of executables; none: processors say it all */
	size_t demand_count;
	struct strata_swf_note *notes; /* further comments */
	size_t note_count;
};

struct workload_class {
	struct strata_class base;
	/*
	 * Fills the jobs: submit_s ascending from 0, run_s, procs_requested, requested_s (run_s or
	 * more), user, executable, queue. Numbers and the other columns are set by the caller.
	 * conf is base.conf_size bytes, filled. -ERANGE when the options contradict the number of jobs.
	 */
	int (*make)(const void *conf, uint64_t seed, struct strata_arena *arena,
		    struct workload *workload, struct strata_error *err);
	/* The nodes that the jobs are made for, in the arena; 1 or more. NULL: any machine with as many processors. */
	int (*nodes)(const void *conf, struct strata_arena *arena, struct openb_node **ret_nodes,
		     size_t *ret_count, struct strata_error *err);
};

extern const struct strata_kind workload_kind;

/* The nodes of a model with its options; -EINVAL when it has none. */
int workload_nodes(const struct strata_spec *spec, struct strata_arena *arena,
		   struct openb_node **ret_nodes, size_t *ret_count, struct strata_error *err);

/* Makes a log of job_count jobs, 1 to STRATA_SWF_JOBS_MAX, with a model and its options. */
int workload_make(const struct strata_spec *spec, size_t job_count, uint64_t seed,
		  struct strata_arena *arena, struct strata_swf *ret_swf, struct strata_error *err);

#endif
