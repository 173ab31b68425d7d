/* Live jobs: those that have not ended, or ended a moment ago. The decider's. */
#ifndef SERVER_LIVE_H
#define SERVER_LIVE_H

#include "server/decider.h"
#include "server/job.h"
#include "server/live_spec.h"

struct live {
	/* places, cancelled_by and failure are blocks of their own, other texts in this block */
	struct job job;
	size_t bytes; /* of this block */
	struct live_spec *spec;
	enum job_hold held;
	char *request; /* the job's request when another holds it than when it was submitted; NULL: the spec's */
	struct live *next_dirty, *previous_dirty; /* write_batch.h */
	bool dirty;
	bool ordered;      /* the executor has its present attempt */
	bool hold;         /* to be held when it is back in the queue */
	bool restart;      /* found placed without an order after a restart: to be ordered again */
	int64_t forget_ns; /* ended: known until then; monotonic */
	struct live *next_ended;
	char *output; /* where it writes, expanded; NULL: not known yet */
	char *error;
	char *checkpoint;   /* the one to go on from; NULL: none */
	int64_t step_count; /* of steps it has had … */
	bool steps_known;   /* … if it was counted since the service started */
};

/* A copy of the job, with a reference to the spec. NULL: no memory. */
struct live *live_new(struct decider *decider, const struct job *job, struct live_spec *spec);
void live_free(struct decider *decider, struct live *live);
/* By its number or uuid; NULL: none. */
struct live *live_find(const struct decider *decider, const char *id);
void live_set_place(struct decider *decider, struct live *live, const struct strata_piece *pieces,
		    uint32_t count);
/* {"n1": [0, 3], "n2": []}: its nodes, and what it has of their GPUs. */
json_t *live_gpu_ids(const struct decider *decider, const struct strata_piece *pieces,
		     uint32_t count);
void live_set_stopping(struct decider *decider, struct live *live, enum strata_stop mode);
void live_set_held(struct decider *decider, struct live *live, enum job_hold held);
/* State and reason as the cluster has them now; the row is to be written. */
void live_update(struct decider *decider, struct live *live);
/* It has ended, when the executor says (NULL: now), which may be before the service came back: remembered for a while. */
void live_ended(struct decider *decider, struct live *live, const struct exec_status *status);
/* It could not be started; the sentence says why. NULL: it could, or is tried once more. */
void live_set_failure(struct decider *decider, struct live *live, const char *why);
void live_sweep(struct decider *decider); /* forgets those whose while is over */

#endif
