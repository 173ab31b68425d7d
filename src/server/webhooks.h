/*
 * Messages to webhooks: a URL that a user named hears how a job or a task ended. A message is
 * durable with the end that it tells of, is sent after that is committed, and again, later and
 * later, until it has arrived or was tried often enough. It may arrive twice; its id says so. It is
 * signed with its user's secret, so that whoever gets it knows where it comes from. The decider's.
 */
#ifndef SERVER_WEBHOOKS_H
#define SERVER_WEBHOOKS_H

#include "server/decider.h"

struct live;
struct task;

int webhooks_load(struct decider *decider, struct strata_error *err);
void webhooks_free(struct decider *decider);

/* It has ended; nothing happens where nobody asked. */
void webhook_job_ended(struct decider *decider, const struct live *live);
void webhook_task_ended(struct decider *decider, const struct task *task);

/* What became of messages; into the batch. */
void webhooks_look(struct decider *decider);
/* After a commit: those that are durable and due are sent. */
void webhooks_committed(struct decider *decider);
/* The next one is due then; INT64_MAX: none. Since 1970. */
int64_t webhooks_due_ns(const struct decider *decider);

/* The user's secret and messages that have not arrived. NULL: no memory. */
json_t *webhooks_view(struct decider *decider, const char *user);

#endif
