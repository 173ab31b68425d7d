/*
 * Reservations: what others have taken of our nodes, for a work of theirs that we do not run. The
 * cluster sees each as a job that is placed already, so that nothing else is put there. They end
 * when they are given back or when their time is over.
 */
#ifndef SERVER_RESERVATION_H
#define SERVER_RESERVATION_H

#include "server/decider.h"

struct reservation {
	struct reservation *next;
	uint64_t id;              /* in the cluster; beyond all jobs */
	const char *name;         /* the other's own: its job */
	const char *user;         /* who took it */
	int64_t begin_ns, end_ns; /* end_ns 0: until it is given back */
	struct strata_piece *pieces;
	uint32_t piece_count;
};

/* Takes it. -EEXIST: the name is taken; -EBUSY: something of it is. */
int reservation_take(struct decider *decider, const struct reservation *like,
		     const struct reservation **ret_reservation, struct strata_error *err);
/* One node that has so much free, the fullest that will do: fills the piece, but for its tasks.
 * -EBUSY when there is none. */
int reservation_find_room(const struct decider *decider, const char *node, const char *gpu_type,
			  uint32_t gpus, struct strata_piece *piece, struct strata_error *err);
void reservation_give(struct decider *decider, const struct reservation *reservation);
const struct reservation *reservation_at(const struct decider *decider, const char *name);

/* Gives back those whose time is over; when the next will be (since 1970; INT64_MAX: never). */
int64_t reservations_sweep(struct decider *decider);
int reservations_recover(struct decider *decider, struct strata_error *err);
void reservations_free(struct decider *decider);

#endif
