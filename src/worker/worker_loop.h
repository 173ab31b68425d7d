/*
 * A worker: leases tasks of one model from the service and draws them, until it is told to end. It
 * keeps nothing on disk and decides nothing about tasks: which of them, how many together and how
 * far is what the service's pool says (<strata/pool.h>); the pictures do not depend on it.
 */
#ifndef WORKER_WORKER_LOOP_H
#define WORKER_WORKER_LOOP_H

#include "worker/worker_beat.h"
#include "worker/worker_trace.h"

#include <strata/pipeline.h>

struct worker_conf {
	struct strata_pipeline *pipeline; /* borrowed during the call */
	const char *model;                /* the name that the service knows it by */
	const struct worker_link *link;
	struct worker_beat *beat; /* NULL: none. Borrowed during the call */
	struct worker_trace *trace; /* NULL: nothing is recorded. Borrowed during the call */
	int64_t away_ns_max;      /* a service that is away for longer does not come back */
};

/*
 * Works until link->ending, or until the service says so: 0, and what it held is given back. A
 * service that is away is waited for, with what was drawn so far; 0 when it does not come back.
 * Otherwise what went wrong with
 * the service: -EACCES or -ENOKEY when this is no worker of its, -EBADMSG for answers that are none
 * …
 */
int worker_run(const struct worker_conf *conf, struct strata_memory *memory,
	       struct strata_error *err);

#endif
