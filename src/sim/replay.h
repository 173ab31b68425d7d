/*
 * Replaying a trace through the cluster level: the same decisions as in the service, on a virtual clock. Everything that happens in
 * one instant (ends before arrivals) is told first, then one pass decides.
 *
 * A job that is stopped for another loses what is in no checkpoint, comes back and does the rest. To the measures all the time
 * between its submission and its end that was not its work is waiting: it starts its work's length before its end.
 *
 * A job that no node could ever take is not waited for: it is set aside, and the result names it.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include "sim/machine.h"
#include "sim/metrics.h"
#include "sim/gantt.h"

/* Called after every pass; false stops the replay. */
typedef bool replay_progress(void *context, size_t ended, size_t total);

struct replay_conf {
	/* what decides; without a mix it gets that of the arrivals, if there are GPUs */
	struct strata_cluster_conf cluster;
	const struct machine *machine;
	const struct strata_swf_arrival *arrivals; /* in order of submission */
	size_t arrival_count;
	/* of each arrival, NULL for one that has none; NULL: none has */
	const struct swf_demand *const *demands;
	const enum strata_band *bands; /* of each arrival; NULL: all are normal */
	int64_t checkpoint_ns; /* all jobs write one so often, and before they stop for another; 0: none does */
	replay_progress *progress; /* may be NULL */
	void *progress_context;
	struct gantt *gantt; /* to write to; may be NULL */
};

struct replay_result {
	/* those that ran, in the order of the arrivals; all arrays are in the arena */
	struct metrics_job *jobs;
	size_t *indices; /* of their arrivals */
	size_t job_count;
	size_t *impossible; /* arrivals that no node could take, in their order */
	size_t impossible_count;
	double gpu_fragmentation; /* see fragments.h; NAN without GPUs */
	/* jobs stopped for others; all may be where the cluster has a victim chooser */
	uint64_t preemptions;
	size_t cancelled; /* of them for good: they are among neither the jobs nor the impossible */
	double lost_hours; /* processor-hours run in vain */
	uint64_t passes;
	size_t peak_bytes; /* of the cluster's memory */
};

/* -ECANCELED when the progress callback said stop. */
int replay_run(const struct replay_conf *conf, struct strata_arena *arena,
	       struct replay_result *ret_result, struct strata_error *err);

#endif
