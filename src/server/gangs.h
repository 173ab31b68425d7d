/* Gangs: jobs of one user that name the same gang start together. Here its name becomes the number
 * that the cluster knows it by. */
#ifndef SERVER_GANGS_H
#define SERVER_GANGS_H

#include "server/decider.h"

/* The number of a user's gang: that of its first job. `id` if this one is the first. -ENOMEM. */
int gangs_find(struct decider *decider, const char *user, const char *name, int64_t id,
	       uint64_t *ret_number, struct strata_error *err);
/* It has this number, in a store that was taken over. */
int gangs_put(struct decider *decider, const char *user, const char *name, int64_t number,
	      struct strata_error *err);

#endif
