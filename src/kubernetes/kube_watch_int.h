/* The insides of a watch: kube_watch.c is the thread and the queue, kube_follow.c what is asked and
 * what its answers mean. */
#ifndef KUBERNETES_KUBE_WATCH_INT_H
#define KUBERNETES_KUBE_WATCH_INT_H

#include "core/map.h"
#include "kubernetes/kube_transfer.h"
#include "kubernetes/kube_watch.h"

#include <pthread.h>
#include <stdatomic.h>

/* An object that was told of. */
struct kube_known {
	char *uid, *version; /* in the block behind this struct */
	uint64_t list;       /* number of the list that had it last */
};

/* Something that waits to be taken. */
struct kube_waiting {
	struct kube_waiting *next;
	struct kube_watch_event event; /* its error is in the block behind this struct */
};

struct kube_watch {
	struct kube_watch_conf conf; /* its texts are owned */
	char *path, *query;
	struct strata_memory memory; /* of the thread */
	struct kube_client *client;
	CURLM *multi;
	CURL *curl;
	pthread_t thread;
	bool runs;
	atomic_bool stops;

	pthread_mutex_t lock; /* of the next three */
	pthread_cond_t changed;
	struct kube_waiting *first, *last;
	int64_t waiting;
	int wake;
	struct kube_waiting *shown; /* the owner's: its error is looked at */

	/* the thread's own */
	struct map_text known; /* of struct kube_known, by "namespace/name"; owned */
	char *version;         /* to follow from; NULL: list first. malloc's */
	uint64_t lists;
	struct buf line; /* of the stream, until its end is there */
	struct strata_error *err;
	bool troubled;         /* and told so */
	bool moved;            /* the last request was answered as it should be … */
	bool took;             /* … and there were events */
	int64_t stale_ns;      /* when the server had forgotten too much; 0: never */
	int64_t wait_ns;       /* before the next try, after a failure */
	int64_t asked_wait_ns; /* that the server wants */
};

/* Hands something to the owner, and waits for room; -ENOMEM, -ECANCELED at the end. Takes the
 * object when it returns 0. */
int kube_watch_push(struct kube_watch *watch, enum kube_watch_type type, json_t *object,
		    const struct strata_error *error);
/* Performs a transfer, or is told to stop: -ECANCELED. */
int kube_watch_perform(struct kube_watch *watch, struct kube_transfer *transfer,
		       struct kube_answer *answer, struct strata_error *err);

/* Has the server begun to answer as it should? An outage ends with that. */
void kube_watch_look(struct kube_watch *watch);

/* All there is, in pages. */
int kube_watch_list(struct kube_watch *watch, struct strata_error *err);
/* What changes, until the server ends it. -ESTALE: it has forgotten so much. */
int kube_watch_follow(struct kube_watch *watch, struct strata_error *err);
void kube_watch_forget(struct kube_watch *watch);

#endif
