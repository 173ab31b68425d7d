/*
 * The machine of a simulation, and what a job of a log asks of it. Either a flat pool, one node of so many processors, or a
 * table of nodes; a job then is so many processors (GPUs where there are any), or what its demand says (formats/swf_demand.h).
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "formats/openb.h"
#include "formats/swf_demand.h"

#include <strata/cluster.h>
#include <strata/swf.h>

struct machine {
	const struct strata_node_conf *nodes; /* borrowed */
	size_t node_count;
	bool flat;         /* one node: a job takes its processors there, whatever their number */
	bool has_memory;   /* nodes say how much they have, so what jobs want of it counts */
	int64_t gpu_count; /* of all nodes */
	int64_t capacity; /* of all nodes: processors when flat; else thousandths of GPUs, or of CPUs where there is no GPU */
};

/* A pool of so many processors, 1 or more; what it points to is in the arena. */
int machine_init_flat(struct machine *machine, int64_t procs, struct strata_arena *arena,
		      struct strata_error *err);

/* The nodes of a table (openb.h); -EINVAL when there is none, or one has more GPUs than a node may have. The names are borrowed. */
int machine_init_nodes(struct machine *machine, const struct openb_node *rows, size_t count,
		       struct strata_arena *arena, struct strata_error *err);

/* What a job asks for, but for its id, user and band (normal). A flat pool counts processors and looks at no demand; without a demand (NULL) a job
 * is tasks of one GPU, or of one CPU where there is no GPU. */
struct strata_job_request machine_request(const struct machine *machine,
					  const struct strata_swf_arrival *arrival,
					  const struct swf_demand *demand);

/* The band of each arrival: that which the header calls its queue ("; Queue: 2 high"), else normal. In the arena. */
int machine_bands(const struct strata_swf *swf, const struct strata_swf_arrival *arrivals,
		  size_t count, struct strata_arena *arena, enum strata_band **ret_bands,
		  struct strata_error *err);

/* How much of the machine's capacity that is. */
int64_t machine_size(const struct machine *machine, const struct strata_job_request *request);

#endif
