/* Insides of pods_ask, for its two files. */
#ifndef PODS_PODS_ASK_INT_H
#define PODS_PODS_ASK_INT_H

#include "pods/pods_ask.h"

#include <pthread.h>

struct asked {
	struct asked *next;
	struct pods_order order; /* its texts stand behind this struct */
	enum pods_outcome outcome;
	struct strata_error err;
	int64_t since_ns, took_ns;
};

struct asked_queue {
	struct asked *first, *last;
	size_t count;
};

struct asker {
	struct pods_ask *ask;
	struct strata_memory memory;
	struct kube_client *client;
	pthread_t thread;
	bool runs;
	int64_t pause_ns; /* that the API server wanted before the next request; 0: none */
};

struct pods_ask {
	struct pods_ask_conf conf;
	pthread_mutex_t lock; /* of all below, but for `stops` */
	pthread_cond_t changed;
	atomic_bool stops;
	struct asked_queue urgent, talk, results;
	struct asked *shown; /* the result that was given out last; the owner's */
	size_t under_way;
	uint64_t left_out;
	int64_t talk_ns; /* nothing is said before */
	int wake;
	struct asker askers[];
};

/* Waits; false when the order is not to be gone on with. */
bool pods_ask_pause(struct pods_ask *ask, int64_t ns);

/* pods_ask_do.c: one order, until there is an outcome. */
void pods_ask_do(struct asker *asker, struct asked *asked);

#endif
