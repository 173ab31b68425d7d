/*
 * Nodes and pods of GPU clusters as Alibaba publishes them (cluster-trace-gpu-v2023, "openb", and
 * the nodes of v2026-spot-gpu): tables in CSV that become plain arrays. Which pod fits where is not
 * decided here.
 *
 * Texts and arrays live in the arena.
 */
#ifndef FORMATS_OPENB_H
#define FORMATS_OPENB_H

#include "core/buf.h"

#include <strata/error.h>
#include <strata/memory.h>

enum { OPENB_GPU_MILLI = 1000 }; /* a whole GPU */

struct openb_node {
	const char *name;
	const char *gpu_model; /* "" when it has no GPUs and the file names none */
	int64_t cpu_milli;
	int64_t memory_mib; /* 0 when the file has no such column */
	int64_t gpu_count;
};

struct openb_pod {
	const char *name;
	const char *gpu_models; /* allowed ones, separated by '|'; "": any */
	const char *qos;        /* "LS", "BE" …; "" when the file has no such column */
	const char *phase;      /* "Running", "Pending" …; likewise */
	int64_t cpu_milli;
	int64_t memory_mib;
	int64_t gpu_count;
	int64_t gpu_milli;  /* of each of them: 1000, or less of a single one that is shared */
	int64_t creation_s; /* -1: not known, as for the next two */
	int64_t deletion_s;
	int64_t scheduled_s;
};

/* Reads a table of nodes: sn, cpu_milli, memory_mib, gpu, model; or node_name, cpu_num,
 * gpu_capacity_num, gpu_model. */
int openb_read_nodes(const char *text, size_t length, struct strata_arena *arena,
		     struct openb_node **ret_nodes, size_t *ret_count, struct strata_error *err);

/* Appends such a table, of the first form. */
void openb_add_nodes(struct buf *buf, const struct openb_node *nodes, size_t count);

/* Reads a table of pods: name, cpu_milli, memory_mib, num_gpu, gpu_milli and, where it has them,
 * gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time. */
int openb_read_pods(const char *text, size_t length, struct strata_arena *arena,
		    struct openb_pod **ret_pods, size_t *ret_count, struct strata_error *err);

/* Reads an order of arrival, a table with the column pod: the index of each in pods. A name may
 * come more than once; one that is not among the pods is an error. Of pods of the same name the
 * first is meant. */
int openb_read_sequence(const char *text, size_t length, const struct openb_pod *pods,
			size_t pod_count, struct strata_arena *arena, uint32_t **ret_indices,
			size_t *ret_count, struct strata_error *err);

#endif
