/*
 * Messages to webhooks, and mail: a URL or a mail address that a user named hears how a job or a
 * task ended, and of a job also when it started or was sent back to the queue. A message is
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

/* What happened to a job; nothing is sent where nobody asked. */
enum job_news { JOB_STARTED, JOB_REQUEUED, JOB_ENDED };
void webhook_job(struct decider *decider, const struct live *live, enum job_news news);
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
