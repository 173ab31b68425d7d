/*
 * Replaying a trace through the cluster level: the same decisions as in the service, on a virtual clock. Everything that happens in
 * one instant (ends before arrivals) is told first, then one pass decides.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include <strata/cluster.h>
#include <strata/swf.h>
#include <strata/trace.h>

#include "sim/metrics.h"

/* A machine: nodes that are all there from the start. */
struct replay_machine {
	const struct strata_node_conf *nodes;
	size_t node_count;
	bool flat; /* one node of so many processors: a job takes its processors there, whatever their number */
	int64_t capacity; /* processors, or GPUs when the nodes have any */
};

/* Called after every pass with the trace's time; false stops the replay. */
typedef bool replay_progress(void *context, size_t ended, size_t total);

struct replay_conf {
	struct strata_cluster_conf cluster; /* what decides */
	const struct replay_machine *machine;
	const struct strata_swf_arrival *arrivals; /* in order of submission */
	size_t arrival_count;
	const char *const *users;  /* one name per user number met, or NULL: "u<number>" */
	replay_progress *progress; /* may be NULL */
	void *progress_context;
	struct strata_trace_lane
		*lane; /* may be NULL: begin and end of every pass, counters of the queue */
};

struct replay_result {
	struct metrics_job *jobs; /* in the order of the arrivals; in the arena */
	uint64_t passes;
	size_t peak_bytes; /* of the cluster's memory */
};

/* -EINVAL when a job can never run on the machine; it is named. -ECANCELED when the progress callback said stop. */
int replay_run(const struct replay_conf *conf, struct strata_arena *arena,
	       struct replay_result *ret_result, struct strata_error *err);

#endif
