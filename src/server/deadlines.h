/*
 * Jobs that are of no use after a time: one that still waits when it could not end by then any more
 * is cancelled. The decider's; live jobs are in its heap by the last time they could start.
 */
#ifndef SERVER_DEADLINES_H
#define SERVER_DEADLINES_H

#include "server/live.h"

/* The job as live.c made it; nothing where it has no deadline. 0 or -ENOMEM. */
int deadlines_add(struct decider *decider, struct live *live);
void deadlines_remove(struct decider *decider, struct live *live);
/* Cancels what is too late. */
void deadlines_look(struct decider *decider);
/* When the next could be; INT64_MAX: never. */
int64_t deadlines_due_ns(const struct decider *decider);

#endif
