/*
 * What will be free on one node, over time: a step function from times to rooms. Every stretch that
 * is taken adds at most two steps, for which room is made beforehand, so that giving back cannot
 * fail.
 */
#ifndef CLUSTER_TIMELINE_H
#define CLUSTER_TIMELINE_H

#include "cluster/cluster_int.h"

struct timeline_step {
	int64_t time_ns;         /* from here until the next step */
	struct strata_room room; /* is free */
};

struct timeline {
	struct timeline_step *steps; /* the first at INT64_MIN */
	size_t count, room;
	size_t stretches; /* taken and not given back */
};

int timeline_init(struct timeline *timeline, struct strata_memory *memory,
		  const struct strata_room *whole);
void timeline_fini(struct timeline *timeline, struct strata_memory *memory);

/* Room for one more stretch: 0 or -ENOMEM. */
int timeline_reserve(struct timeline *timeline, struct strata_memory *memory);
/* Takes the piece from `from` to `to` (excluded). The room for it must have been made, and the
 * piece be free. */
void timeline_take(struct timeline *timeline, int64_t from_ns, int64_t to_ns,
		   const struct strata_piece *piece);
/* Gives back the rest of a stretch, from `from` on. */
void timeline_give(struct timeline *timeline, int64_t from_ns, int64_t to_ns,
		   const struct strata_piece *piece);
/* Forgets what was before a time. */
void timeline_trim(struct timeline *timeline, int64_t now_ns);

/* What is free all the time from `from` to `to`. */
struct strata_room timeline_least(const struct timeline *timeline, int64_t from_ns, int64_t to_ns);
/* The first time from `from` on at which the need is free for so long; whole: only an empty node
 * will do (NULL: any). */
int64_t timeline_earliest(const struct timeline *timeline, int64_t from_ns, int64_t length_ns,
			  const struct strata_need *need, uint32_t gpu_count,
			  const struct strata_room *whole);

#endif
