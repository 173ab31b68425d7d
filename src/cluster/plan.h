/*
 * Plans: where and when waiting jobs will be, on timelines of all nodes. The conservative backfill
 * keeps its plans up to date; a forecast makes some to look at and throws them away.
 */
#ifndef CLUSTER_PLAN_H
#define CLUSTER_PLAN_H

#include "cluster/timeline.h"

/* Where and when a job will be, or is. */
struct plan {
	int64_t start_ns, end_ns;
	/* of a gang just planned: spots of each of its jobs; in the arena */
	const uint32_t *counts;
	uint32_t count;
	struct spot spots[];
};

static inline size_t plan_bytes(uint32_t count)
{
	return sizeof(struct plan) + count * sizeof(struct spot);
}

struct plans {
	struct timeline *lines; /* one per node */
	uint32_t line_count;
};

/* Timelines of empty nodes, but for the memory of frozen jobs, which they keep nobody knows for how
 * long. 0 or -ENOMEM. */
int plans_init(struct plans *plans, struct strata_cluster *cluster);
/* What placed jobs hold until their expected ends. 0 or -ENOMEM. */
int plans_hold_placed(struct plans *plans, struct strata_cluster *cluster);
void plans_fini(struct plans *plans, struct strata_cluster *cluster);

/* The earliest place of a waiting job from a time on, held for so long (a gang or a frozen job: as
 * long as it needs): in the arena, NULL when there is none as things stand. 0 or -ENOMEM. */
int plan_find(const struct plans *plans, struct strata_cluster *cluster, struct job *job,
	      int64_t from_ns, int64_t length_ns, struct strata_arena *arena,
	      struct plan **ret_plan);
/* Takes the plan's stretches. 0, or -ENOMEM and none is taken. */
int plan_take(struct plans *plans, struct strata_cluster *cluster, const struct plan *plan);
/* Gives back what is left of them. */
void plan_give(struct plans *plans, const struct strata_cluster *cluster, const struct plan *plan);

#endif
