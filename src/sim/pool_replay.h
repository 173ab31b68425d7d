/*
 * Replaying a trace of requests through the pool level: the same decisions as in a service, on a
 * virtual clock. Everything that happens in one instant is told first, ends before arrivals, then
 * the workers that are free ask one after the other.
 *
 * A step takes an equal part of its request's time. A batch of n takes as long as its longest task
 * alone, times 1 + (n − 1) · batch_cost. To the measures all the time between a request's arrival
 * and its end that was not its work is waiting.
 */
#ifndef SIM_POOL_REPLAY_H
#define SIM_POOL_REPLAY_H

#include "formats/requests.h"
#include "sim/metrics.h"
#include "sim/pool_gantt.h"

#include <strata/pool.h>

/* Called now and then; false stops the replay. */
typedef bool pool_replay_progress(void *context, size_t ended, size_t total);

struct pool_replay_conf {
	struct strata_pool_conf pool; /* attributes are those of the trace */
	const struct requests *requests;
	int64_t workers;                /* 1 or more */
	int64_t memory_bytes;           /* of each; 0: not counted */
	double batch_cost;              /* of each task more in a batch, as a part of the longest */
	pool_replay_progress *progress; /* may be NULL */
	void *progress_context;
	struct pool_gantt *gantt; /* to write to; may be NULL */
};

struct pool_replay_result {
	struct metrics_job *jobs; /* those that ran, in the order of arrival; in the arena */
	size_t job_count;
	size_t refused; /* at the door */
	size_t stuck;   /* still in line when nothing more could happen */
	struct strata_pool_metrics stats;
};

/* -ECANCELED when the progress callback said stop. */
int pool_replay_run(const struct pool_replay_conf *conf, struct strata_arena *arena,
		    struct pool_replay_result *ret_result, struct strata_error *err);

#endif
