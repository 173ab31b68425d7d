/*
 * What there is to schedule: nodes with their CPUs, memory and GPUs. Found out from the machine this runs on (hwloc, NVML), or
 * declared in the configuration: then a node may have fewer or other things than the machine, and there may be several,
 * which all run here. That is how demonstrations and tests have a cluster.
 */
#ifndef MACHINE_INVENTORY_H
#define MACHINE_INVENTORY_H

#include <strata/cluster.h>
#include <strata/error.h>
#include <strata/memory.h>
#include <strata/option.h>

enum { INVENTORY_UUID_BYTES = 96 };

struct inventory_gpu {
	const char *type; /* "a100": what a job may ask for */
	const char *uuid; /* NULL: declared */
	int64_t memory_bytes;
	uint32_t numa;  /* domain it is attached to */
	uint32_t group; /* those with direct links (NVLink) have the same, from 1; 0: it has none */
};

struct inventory_node {
	const char *name;
	uint32_t cpus;  /* hardware threads that may be used */
	uint32_t cores; /* as many or fewer */
	uint32_t numa_count;
	int64_t memory_bytes;
	const struct inventory_gpu *gpus;
	uint32_t gpu_count;                /* up to STRATA_NODE_GPUS_MAX */
	uint32_t gpu_first;                /* what the machine calls its first GPU */
	const char *features, *partitions; /* "a,b"; NULL: none, every one */
};

/* Everything is in the arena it was made with. */
struct inventory {
	const struct inventory_node *nodes;
	uint32_t node_count;
};

/* ---- detection (detect.c) ---- */

/* One node: this machine, named after its host. Without NVIDIA's library, or with one that has nothing to say, it has no
 * GPUs; `note`, which may be NULL, then says why. */
int inventory_detect(struct strata_arena *arena, struct inventory *ret_inventory,
		     struct strata_error *note, struct strata_error *err);

/* nvml.c: the GPUs that a library of this name knows, at most `room`; sys is where /sys is. -ENOENT when there is no such
 * library, -ENODEV when it finds no driver. */
int inventory_read_nvml(const char *library, const char *sys, struct strata_arena *arena,
			struct inventory_gpu *ret_gpus, uint32_t room, uint32_t *ret_count,
			struct strata_error *err);

/* NVIDIA's library, as a driver installs it. */
#define INVENTORY_NVML "libnvidia-ml.so.1"

/* How busy GPUs are. Of one owner and one thread. */
struct inventory_meter;
/* nvml.c: watches those of these numbers (bit i: GPU i) that the library knows. -ENOENT, -ENODEV,
 * -ENOSYS as above; -ENODEV also when it knows none of them. */
int inventory_meter_open(const char *library, uint64_t gpus, struct inventory_meter **ret_meter,
			 struct strata_error *err);
uint32_t inventory_meter_gpus(const struct inventory_meter *meter);
/* Now: how many of them work, in thousandths of a GPU, and the memory that is taken on them, by
 * whomever. False: they do not answer. */
bool inventory_meter_read(struct inventory_meter *meter, int64_t *ret_busy_milli,
			  int64_t *ret_memory_bytes);
void inventory_meter_close(struct inventory_meter *meter); /* NULL is nothing */

/* The type of a GPU from what its maker calls it: "NVIDIA A100-SXM4-80GB" is "a100", "GeForce RTX 4090" "rtx_4090". */
void inventory_gpu_type(const char *name, char *ret_type, size_t room);

/* ---- declaration (declare.c) ---- */

/* One [node NAME] of the configuration. */
struct inventory_declared {
	const char *name;
	int64_t count;        /* of nodes like this: name1, name2 … */
	int64_t cpus;         /* 0: as detected */
	int64_t memory_bytes; /* 0: as detected */
	int64_t gpus;         /* -1: as detected */
	const char *gpu_type; /* NULL: as detected, else "gpu" */
	int64_t gpu_memory_bytes;
	int64_t gpu_first; /* -1: each node's GPUs count from 0; else they follow each other from here */
	int64_t numa;      /* domains; GPUs are spread over them */
	struct strata_list gpu_groups; /* of int64_t: the group of each GPU; empty: none */
	const char *features, *partitions;
};
extern const struct strata_schema inventory_declared_schema;

/* The nodes that were declared; `here`, what was detected, fills in what was not said. */
int inventory_declare(const struct inventory_declared *declared, size_t count,
		      const struct inventory *here, struct strata_arena *arena,
		      struct inventory *ret_inventory, struct strata_error *err);

/* 1 to STRATA_NAME_BYTES_MAX letters, digits, - _ . or -EINVAL with the field "name". */
int inventory_check_name(const char *name, struct strata_error *err);

/* ---- from another service (topology.c) ---- */

/* The nodes of a document as GET /api/v1/topology gives it; gpus may also be a number, with gpu_type. -EBADMSG names what makes no sense. */
int inventory_read(const char *text, size_t length, struct strata_arena *arena,
		   struct inventory *ret_inventory, struct strata_error *err);

/* ---- from a Slurm cluster (slurm_nodes.c) ---- */

/* The nodes of what `scontrol -o show node` prints. -EBADMSG names what makes no sense. */
int inventory_read_slurm(const char *text, struct strata_arena *arena,
			 struct inventory *ret_inventory, struct strata_error *err);

/* A node as the cluster level wants it. Its texts are borrowed from the node. GPUs of several types make a node of type "mixed". */
void inventory_node_conf(const struct inventory_node *node, struct strata_node_conf *ret_conf);

#endif
