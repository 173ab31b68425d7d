/*
 * Live jobs: those that have not ended, or ended a moment ago. The decider's.
 *
 * The elements of an array are one live object, a range, until something tells them apart, and so
 * are their rows: see struct job. Who only reads asks for live_find or live_get; who changes one of
 * them takes it out by live_own first.
 */
#ifndef SERVER_LIVE_H
#define SERVER_LIVE_H

#include "server/decider.h"
#include "server/job.h"
#include "server/live_spec.h"

struct live {
	struct tree_node by_id;
	struct tree_node among;       /* the ranges, or those that have a place: none is both */
	struct heap_node by_deadline; /* deadlines.h */
	/* places, cancelled_by and failure are blocks of their own, other texts in this block */
	struct job job;
	size_t bytes; /* of this block */
	struct live_spec *spec;
	enum job_hold held;
	/* the job's request when another holds it than when it was submitted; NULL: the spec's */
	char *request;
	struct live *next_dirty, *previous_dirty; /* write_batch.h */
	bool dirty;
	bool ordered;      /* the executor has its present attempt */
	bool fetching;     /* its start waits for its checkpoint: mirror.h */
	bool hold;         /* to be held when it is back in the queue */
	bool restart;      /* found placed without an order after a restart: to be ordered again */
	int64_t forget_ns; /* ended: known until then; monotonic */
	struct live *next_ended;
	char *output; /* where it writes, expanded; NULL: not known yet */
	char *error;
	char *checkpoint;   /* the one to go on from; NULL: none */
	int64_t step_count; /* of steps it has had … */
	bool steps_known;   /* … if it was counted since the service started */
	/* how long it was expected to run when it got its place; 0: before the service started */
	int64_t predicted_ns;
};

/* A copy of the job, with a reference to the spec. NULL: no memory. */
struct live *live_new(struct decider *decider, const struct job *job, struct live_spec *spec);
void live_free(struct decider *decider, struct live *live);
void live_init(struct decider *decider); /* none */
/* By its number or uuid, to be read: an element of a range is a copy that is there until the round
 * is over. NULL: none. */
const struct live *live_find(struct decider *decider, const char *id);
/* The job, or the range that it is an element of; NULL: none. */
struct live *live_get(const struct decider *decider, int64_t id);
/* An element of this job, to be read: the job itself, or a copy that is there until the round is
 * over. */
const struct live *live_element(struct decider *decider, const struct live *live, int64_t id);
/* The first live object with this id or a higher one; NULL: none. */
struct live *live_from(const struct decider *decider, int64_t id);
/* These elements of one live object by themselves, to be changed: as live_own, but they stay a
 * range. */
struct live *live_take(struct decider *decider, int64_t first, int64_t last);
/* The job by itself, to be changed: taken out of its range, the rows of both are to be written.
 * NULL: none. Lack of memory ends the program, as in write_batch.h. */
struct live *live_own(struct decider *decider, int64_t id);
/* A range is only the last few of what it was; the row is to be written. */
void live_shrink(struct decider *decider, struct live *range, int64_t elements);
/* In the order of their ids. */
struct live *live_first(const struct decider *decider);
struct live *live_next(const struct live *live);
struct live *live_previous(const struct live *live);
/* Of those that have a place, in the order of their ids. */
struct live *live_first_placed(const struct decider *decider);
struct live *live_next_placed(const struct live *live);
size_t live_count(const struct decider *decider); /* of jobs, with the elements of ranges */
void live_set_place(struct decider *decider, struct live *live, const struct strata_piece *pieces,
		    uint32_t count);
/* {"n1": [0, 3], "n2": []}: its nodes, and what it has of their GPUs. */
json_t *live_gpu_ids(const struct decider *decider, const struct strata_piece *pieces,
		     uint32_t count);
void live_set_stopping(struct decider *decider, struct live *live, enum strata_stop mode);
void live_set_held(struct decider *decider, struct live *live, enum job_hold held);
/* It was submitted with something else; the reference is taken. Texts of the job may be the spec's
 * afterwards, but none those of the one before. */
void live_set_spec(struct decider *decider, struct live *live, struct live_spec *spec);
/* State and reason as the cluster has them now; the row is to be written. */
void live_update(struct decider *decider, struct live *live);
/* It has ended, when the executor says (NULL: now), which may be before the service came back:
 * remembered for a while. */
void live_ended(struct decider *decider, struct live *live, const struct exec_status *status);
/* It could not be started; the sentence says why. NULL: it could, or is tried once more. */
void live_set_failure(struct decider *decider, struct live *live, const char *why);
void live_sweep(struct decider *decider); /* forgets those whose while is over */

#endif
