/*
 * The GPU allocation experiment: pods come one after the other to an empty cluster and never leave; one that fits nowhere when it
 * comes is dropped. What part of the GPUs is in use at the end says how well a placement packs. It runs through a struct
 * strata_cluster, so what it shows is what the service would have done.
 */
#ifndef SIM_PLACE_CLUSTER_H
#define SIM_PLACE_CLUSTER_H

#include "formats/openb.h"

#include <strata/cluster.h>

struct place_conf {
	const struct openb_node *nodes; /* borrowed, as all arrays here */
	size_t node_count;
	const struct openb_pod *pods; /* what the mix of typical jobs is made from */
	size_t pod_count;
	const uint32_t *sequence; /* arrivals: indexes of pods */
	size_t sequence_count;
	struct strata_spec placement; /* zeroed: the default */
	bool batch; /* all are known beforehand and come largest first: by GPUs, then by CPU, then as they stand */
};

struct place_result {
	size_t placed;
	int64_t alloc_milli;    /* of GPUs, in thousandths of one */
	int64_t capacity_milli; /* of all nodes */
	double alloc_percent;   /* 0 when there are no GPUs */
};

/* Memory counts as a constraint when any node has some. Typical jobs are the most common ones that make up 95 % of the pods. */
int place_run(const struct place_conf *conf, struct strata_memory *memory,
	      struct place_result *ret_result, struct strata_error *err);

#endif
