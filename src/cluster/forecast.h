/*
 * A forecast while it is made: timelines with what is planned so far, and, where jobs that wait
 * apart from the queue (for a time, for others) need it, from when to when each one runs.
 */
#ifndef CLUSTER_FORECAST_H
#define CLUSTER_FORECAST_H

#include "cluster/plan.h"

#include "core/map.h"

struct foresight {
	struct pass *pass;
	struct plans plans;
	struct strata_forecast *forecasts; /* in the arena */
	size_t known;                      /* of them */
	size_t looked, most;               /* elements that were planned; as many at most */
	struct job **apart;                /* by id; in the arena */
	size_t apart_count;
	struct map_u64 spans;  /* of what is planned, by job; empty when nobody is apart … */
	struct map_u64 arrays; /* … and of arrays that somebody waits for: struct span */
};

/* Finds those that wait apart, the first `most` of them. 0 or -ENOMEM. */
int apart_find(struct foresight *foresight);
/* Remembers when an element of a job starts and ends. 0 or -ENOMEM. */
int apart_note(struct foresight *foresight, uint64_t id, int64_t start_ns, int64_t end_ns);
/* Adds their forecasts, behind those of the queue. 0 or -ENOMEM. */
int apart_foresee(struct foresight *foresight);

#endif
