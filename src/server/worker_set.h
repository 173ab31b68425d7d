/*
 * The jobs that are workers, for HTTP threads: who is none is refused before his body is read, as
 * everybody is who may not do what he asks for. The decider keeps it equal to its own table.
 */
#ifndef SERVER_WORKER_SET_H
#define SERVER_WORKER_SET_H

#include "core/map.h"

#include <pthread.h>
#include <stdbool.h>

struct worker_set {
	pthread_mutex_t lock; /* of all below */
	struct strata_memory memory;
	struct map_u64 jobs; /* to the set itself */
};

void worker_set_init(struct worker_set *set);
void worker_set_fini(struct worker_set *set);

/* -ENOMEM; one that is in it already stays. */
int worker_set_put(struct worker_set *set, int64_t job);
void worker_set_remove(struct worker_set *set, int64_t job);
bool worker_set_has(struct worker_set *set, int64_t job); /* any thread */

#endif
