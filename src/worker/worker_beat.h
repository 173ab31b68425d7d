/*
 * The heartbeat of a worker: a thread that tells the service, while the worker computes, that it
 * lives and what it holds. So a call of the model may take longer than a lease. It beats only for a
 * loop that goes on: when there was no sign of that for a while, the worker hangs, and its tasks
 * are better off with another. A process that is stopped does not beat by itself.
 */
#ifndef WORKER_WORKER_BEAT_H
#define WORKER_WORKER_BEAT_H

#include "worker/worker_api.h"

#include <pthread.h>

struct worker_beat {
	/* The thread's own: a client belongs to one. Borrowed until _fini. */
	const struct worker_link *link;
	int64_t limit_ns; /* without a sign of the loop it is taken to hang */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	int64_t every_ns;
	int64_t sign_ns; /* the last sign of the loop */
	struct worker_held held;
	bool end;
};

/* Without a thread: worker_beat_once is the caller's to call. */
int worker_beat_init(struct worker_beat *beat, const struct worker_link *link, int64_t limit_ns,
		     struct strata_error *err);
int worker_beat_start(struct worker_beat *beat, struct strata_error *err);
void worker_beat_fini(struct worker_beat *beat); /* ends the thread */

/* For the loop; a beat that is NULL is nothing. */
void worker_beat_sign(struct worker_beat *beat);
/* What it holds from now on, and how long a lease is. */
void worker_beat_hold(struct worker_beat *beat, const struct worker_held *held, int64_t lease_ns);

/* Tells the service, unless the loop hangs: then -ETIME. */
int worker_beat_once(struct worker_beat *beat, struct strata_error *err);

#endif
