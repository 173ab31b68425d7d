/*
 * The inbox of the deciding thread: the requests that HTTP threads have handed over, first come
 * first served, and what wakes the thread up. The one way from an HTTP thread to the decider; the
 * way back is http_answered.
 */
#ifndef SERVER_INBOX_H
#define SERVER_INBOX_H

#include <strata/error.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct request;

struct inbox {
	pthread_mutex_t lock; /* of the four below */
	struct request *first, *last;
	size_t count;
	bool ended;  /* nobody takes requests any more */
	int wake_fd; /* eventfd: readable when there is something to do */
};

int inbox_open(struct inbox *inbox, struct strata_error *err);
void inbox_close(struct inbox *inbox);

/* Hands a request over. False: STRATA_SERVER_QUEUE_MAX wait already, or nobody takes them any more.
 * Any thread. */
bool inbox_put(struct inbox *inbox, struct request *request);
/* The deciding thread has something to do. Any thread, and signal handlers. */
void inbox_wake(struct inbox *inbox);
/* All requests that wait, the first first; NULL: none. The deciding thread's. */
struct request *inbox_take(struct inbox *inbox);
/* The same for the last time: from now on no request is let in. */
struct request *inbox_end(struct inbox *inbox);
/* Those that were taken and not looked at yet wait on, before all others. The deciding thread's. */
void inbox_give_back(struct inbox *inbox, struct request *first);

#endif
