/* Retention: ended jobs that are older than the configuration wants, and tokens that are over, are
 * forgotten a few at a time. */
#ifndef SERVER_RETAIN_H
#define SERVER_RETAIN_H

#include "server/decider.h"

int retain(struct decider *decider, struct strata_error *err);
/* ms until it wants to look again. */
int64_t retain_wait_ms(const struct decider *decider);

#endif
