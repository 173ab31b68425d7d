/*
 * Sends messages to webhooks. One comes as a line of JSON,
 *
 *	{"id": "…", "url": "https://…", "headers": ["Strata-Event: job.ended", …], "body": "…"}
 *
 * and what became of it goes out as another, in any order:
 *
 *	{"id": "…", "status": 204, "error": null}
 *
 * status is the answer's, 0 where there was none; error is null for 200 to 299. Several are under
 * way at a time; each may take a while and no longer. Nothing of an answer is kept.
 */
#ifndef WEBHOOK_WEBHOOK_SEND_H
#define WEBHOOK_WEBHOOK_SEND_H

#include "webhook/webhook_address.h"

/* Until `in_fd` ends and all that came has been answered. */
int webhook_send_all(int in_fd, int out_fd, const struct webhook_allowed *allowed,
		     struct strata_error *err);

#endif
