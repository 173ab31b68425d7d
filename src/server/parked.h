/*
 * Requests that the decider answers later: a worker that waits for tasks, a caller that waits for
 * the end of one. Each has a time at which it is answered anyway. The decider's.
 */
#ifndef SERVER_PARKED_H
#define SERVER_PARKED_H

#include "server/decider.h"
#include "server/request.h"

struct parked {
	struct parked *next, *previous;
	struct request *request;
	int64_t due_ns; /* monotonic */
	/* Is there an answer now? Answers then; it must when `due`. */
	bool (*look)(struct decider *decider, struct request *request, bool due);
};

/* Keeps a request that is being decided. False: no memory, and nothing is kept. */
bool parked_add(struct decider *decider, struct request *request, int64_t wait_ns,
		bool (*look)(struct decider *decider, struct request *request, bool due));
/* Looks at all of them; before the round's commit. */
void parked_look(struct decider *decider);
/* When the next is due, monotonic; INT64_MAX: there is none. */
int64_t parked_due_ns(const struct decider *decider);
/* Answers them all: nobody will decide about them any more. */
void parked_end(struct decider *decider, const char *why);

#endif
