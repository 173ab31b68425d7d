/*
 * The service's history as a log of jobs (Standard Workload Format), so that it can be replayed: jobs as the API tells of them become rows,
 * what they asked of each node a Demand in the header (formats/swf_demand.h), users, accounts and partitions numbers. Nothing is asked for here.
 */
#ifndef CLIENT_JOB_LOG_H
#define CLIENT_JOB_LOG_H

#include "core/map.h"
#include "formats/openb.h"
#include "formats/swf_demand.h"

#include <jansson.h>

struct history {
	struct strata_memory *memory;
	struct strata_arena *arena; /* of what history_finish gives */
	struct strata_swf_job *jobs;
	size_t count, room;
	struct map_text users, accounts, partitions, demands; /* number of each, from 1 */
	struct strata_swf_note *notes;                        /* of the demands */
	size_t note_count, note_room;
	int64_t gpus_max; /* of one node, as the caller knows; 0: any number */
	size_t left_out;  /* jobs that have not both started and ended */
};

void history_init(struct history *history, struct strata_memory *memory,
		  struct strata_arena *arena);
void history_fini(struct history *history);

/* One job, in any order. -EBADMSG: it has no id or no time of submission. */
int history_add(struct history *history, const json_t *job, struct strata_error *err);

/* The log, by time of submission, of a machine with these nodes. In the arena, as the nodes are below. */
int history_finish(struct history *history, const struct openb_node *nodes, size_t node_count,
		   struct strata_swf *ret_swf, struct strata_error *err);

/* The nodes of GET /api/v1/nodes as a simulator's. */
int history_nodes(const json_t *answer, struct strata_arena *arena, struct openb_node **ret_nodes,
		  size_t *ret_count, struct strata_error *err);

#endif
