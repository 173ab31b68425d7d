/* After a start: what the store has becomes nodes, people and live jobs again. */
#ifndef SERVER_RECOVER_H
#define SERVER_RECOVER_H

#include "server/decider.h"

/* Without an executor: to look at only. */
int recover(struct decider *decider, struct strata_error *err);

#endif
