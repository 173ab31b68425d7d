/* Starting a job that was placed. */
#ifndef SERVER_START_H
#define SERVER_START_H

#include "server/live.h"

/* The start was decided and is durable: now it is ordered. An order that cannot be carried out
 * fails the job. */
void start_order(struct decider *decider, struct live *live);
/* It cannot be started where it is, for no fault of its own: it waits a while and is placed anew.
 * `kind` is the event that says so. */
void start_put_off(struct decider *decider, struct live *live, int64_t wait_ns, const char *kind,
		   const char *why);

#endif
