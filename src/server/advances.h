/*
 * Advance reservations: nodes or GPUs that an operator keeps for some users and accounts, or for
 * nobody, from a time to a time (maintenance, a course). The cluster plans around them
 * (<strata/cluster.h>); here they have who made them and why, and those that are repeated come
 * again by the calendar, so that three o'clock stays three o'clock. In the store they are rows
 * beside those of reservation.h, with names of their own.
 */
#ifndef SERVER_ADVANCES_H
#define SERVER_ADVANCES_H

#include "server/decider.h"

enum advance_repeat { ADVANCE_ONCE, ADVANCE_DAILY, ADVANCE_WEEKLY };

struct advance_about {
	struct advance_about *next;
	const char *name;
	const char *user;             /* who made it */
	const char *reason;           /* NULL: none was given */
	const char *users, *accounts; /* "ann,bob"; NULL: nobody */
	int64_t begin_ns, end_ns;     /* of its next turn, or of the one that goes on */
	enum advance_repeat repeat;
	uint32_t kept_count;
	struct strata_kept *kept;
};

const char *advance_repeat_name(enum advance_repeat repeat); /* "daily" */
const struct advance_about *advance_find(const struct decider *decider, const char *name);
/* In place of the one of that name, if there is one; all of it is copied. -E2BIG: there are as
 * many as may be. */
int advance_set(struct decider *decider, const struct advance_about *like,
		const struct advance_about **ret_advance, struct strata_error *err);
void advance_remove(struct decider *decider, const struct advance_about *advance);
json_t *advance_view(const struct decider *decider, const struct advance_about *advance);
/* The names of those that keep something of a node, as a list. */
json_t *advances_of_node(const struct decider *decider, uint32_t row);

/* Ends those that are over, or moves them on to their next turn; when that is next due (since
 * 1970; INT64_MAX: never). */
int64_t advances_sweep(struct decider *decider);
/* A row of the store that is one of these; false: it is not. */
bool advance_recover(struct decider *decider, const struct store_reservation *row,
		     const json_t *settings);
void advances_close(struct decider *decider);

#endif
