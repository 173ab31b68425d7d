/*
 * Fragmentation of GPUs over time, as the literature on packing them defines it (Weng et al., USENIX ATC 2023), taken over the time of
 * a replay. What is free of a GPU is a fragment for a typical job that cannot use it where it is: because the node lacks the CPU
 * or the GPUs for one task of that job or has GPUs of a type it does not take (then all that is free there is), or because
 * this GPU has less left than the job wants of one. With p(j) the part that the kind of job j has of all jobs that want GPUs,
 *
 *	fragmentation = ∫ Σ_nodes Σ_j p(j) · fragment(node, j) dt  /  ∫ Σ_nodes free(node) dt
 *
 * from the first event to the last start: after that nobody is there who could use what is free. 0: the typical job can use all that
 * is free; 1: none of it. Memory is left out, as in the mix. Sums are whole numbers, so the order of events changes nothing.
 */
#ifndef SIM_FRAGMENTS_H
#define SIM_FRAGMENTS_H

#include "core/int128.h"
#include "sim/machine.h"

struct fragments {
	const struct strata_node_conf *nodes; /* borrowed, as is the mix */
	size_t node_count;
	const struct strata_mix *mix;
	uint32_t *weights; /* of the needs of the mix, in millionths of those that want GPUs */
	uint32_t *types;   /* of nodes: which row of `takes` */
	bool *takes;       /* [type][need]: the need takes such GPUs */
	struct strata_room *rooms;
	int64_t *stuck;     /* of nodes: Σ weight · fragment */
	int64_t free_milli; /* of all nodes */
	int64_t stuck_total;
	int64_t now_ns;
	uint128 free_time, stuck_time;       /* so far */
	uint128 counted_free, counted_stuck; /* up to the last start */
};

/* Empty nodes at first_ns. Everything is in the arena. */
int fragments_init(struct fragments *fragments, const struct machine *machine,
		   const struct strata_mix *mix, int64_t first_ns, struct strata_arena *arena,
		   struct strata_error *err);

/* A job starts or ends; now_ns does not go back. */
void fragments_start(struct fragments *fragments, const struct strata_piece *pieces, size_t count,
		     int64_t now_ns);
void fragments_end(struct fragments *fragments, const struct strata_piece *pieces, size_t count,
		   int64_t now_ns);

/* 0 to 1; NAN when nothing was ever free, or no typical job wants GPUs. */
double fragments_share(const struct fragments *fragments);

#endif
