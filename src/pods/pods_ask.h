/*
 * Asking the API server for what was decided: bindings, deletions, conditions, events. Some
 * threads, each with a client of its own; orders go in, results come out. What changes where pods
 * run is asked until there is an answer, however long the server is away; what is merely said goes
 * after it, so often a second, and is left out when there is too much of it.
 */
#ifndef PODS_PODS_ASK_H
#define PODS_PODS_ASK_H

#include "kubernetes/kube_client.h"

#include <stdatomic.h>

enum pods_order_kind {
	PODS_ORDER_BIND,
	PODS_ORDER_EVICT,
	PODS_ORDER_SAVE, /* the usage, into its ConfigMap */
	PODS_ORDER_TELL, /* the pod's condition PodScheduled … */
	PODS_ORDER_EVENT,
};

enum pods_outcome {
	PODS_DONE,
	PODS_GONE,      /* there is no such pod any more, or it is being deleted */
	PODS_ELSEWHERE, /* somebody else has bound it */
	PODS_REFUSED,   /* `error` says why */
	PODS_DROPPED,   /* not asked: the scheduler stops, or leads no more */
};

/* Texts are copied. NULL where there is none. */
struct pods_order {
	enum pods_order_kind kind;
	const char *space, *name, *uid; /* SAVE: of the ConfigMap; uid NULL */
	const char *node;               /* BIND */
	const char *gpus;               /* BIND: "0,1" */
	const char *reason, *sentence;  /* EVICT, TELL, EVENT; SAVE: the text */
	bool warning;                   /* EVENT, TELL */
	int64_t count;                  /* TELL: so often it was told */
};

struct pods_result {
	enum pods_order_kind kind;
	enum pods_outcome outcome;
	const char *space, *name, *uid; /* until pods_ask_next is called again */
	const char *error;
	int64_t took_ns; /* since the order was given */
};

struct pods_ask_conf {
	const struct kube_config *config; /* borrowed until close; so are env and name */
	const struct env *env;
	const char *name; /* of the scheduler, in events */
	unsigned threads;
	unsigned talk_per_second; /* conditions and events */
	const atomic_bool *leads; /* while it is false nothing is asked */
};

struct pods_ask;
int pods_ask_open(const struct pods_ask_conf *conf, struct pods_ask **ret_ask,
		  struct strata_error *err);
/* Waits for what is being asked just now, at most as long as a request may take. */
void pods_ask_close(struct pods_ask *ask); /* NULL is nothing */
/* -ENOMEM; -EAGAIN for what is merely said, when too much of it waits. */
int pods_ask_order(struct pods_ask *ask, const struct pods_order *order, struct strata_error *err);
int pods_ask_fd(const struct pods_ask *ask); /* readable when next may have something */
bool pods_ask_next(struct pods_ask *ask, struct pods_result *ret_result);
/* Orders that have no result yet, and how much was left out of what is merely said. */
size_t pods_ask_under_way(struct pods_ask *ask);
uint64_t pods_ask_left_out(struct pods_ask *ask);

/* pods_say.c: what is asked, as requests; the body is the caller's. NULL: out of memory. */
json_t *pods_say_binding(const struct pods_order *order);
json_t *pods_say_condition(const struct pods_order *order, const char *now);
json_t *pods_say_event(const struct pods_order *order, const char *name, const char *scheduler,
		       const char *now);
/* The event's name: the same for the same pod and reason. */
enum { PODS_EVENT_NAME_BYTES = 300 };
void pods_say_event_name(const struct pods_order *order, char ret_name[PODS_EVENT_NAME_BYTES]);

#endif
