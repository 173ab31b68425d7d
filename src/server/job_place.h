/*
 * Where a job runs, or ran: nodes by name and what it has of each. By name, because a place
 * outlives the configuration that its nodes were in; the cluster's own pieces (strata/cluster.h)
 * have the nodes' rows. In the store and in answers it is JSON.
 */
#ifndef SERVER_JOB_PLACE_H
#define SERVER_JOB_PLACE_H

#include "core/buf.h"

#include <strata/memory.h>

struct job_place_piece {
	const char *node;
	int64_t tasks, cpu_milli, memory_bytes;
	uint32_t gpu_mask; /* bit i: its GPU i */
	uint32_t gpu_milli;
	uint32_t gpu_domains; /* bit i: some of its GPUs are in NUMA domain i; 0: not known */
};

/* One block with its pieces and their texts. */
struct job_place {
	uint32_t count;
	int64_t score; /* strata_placement_quality when it was chosen; 0: not known */
	struct job_place_piece pieces[];
};

/* Copies of their own: by malloc, without a score, or in the arena. NULL: no memory. */
struct job_place *job_place_new(const struct job_place_piece *pieces, uint32_t count);
struct job_place *job_place_copy(const struct job_place *place, struct strata_arena *arena);

/* [{"node":"n1","tasks":1,"cpu_milli":…,"memory_bytes":…,"gpu_mask":…,"gpu_milli":…}], where they
 * are known with "gpu_domains", and in the first "score". */
void job_place_print(const struct job_place *place, struct buf *buf);
/* The other way; in the arena. A text that is none is a place without nodes. NULL: no memory. */
struct job_place *job_place_parse(const char *json, struct strata_arena *arena);

#endif
