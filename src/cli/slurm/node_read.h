/* Nodes and partitions as Slurm speaks of them, read from the service's JSON. Texts live in the
 * run's arena or in the JSON. */
#ifndef CLI_SLURM_NODE_READ_H
#define CLI_SLURM_NODE_READ_H

#include "cli/slurm/jobs.h"

enum slurm_node_use { SLURM_IDLE, SLURM_MIXED, SLURM_ALLOCATED };

struct slurm_node {
	const json_t *json;
	const char *name;
	enum slurm_node_use use;
	bool drained, down;
	int order; /* as Slurm sorts states: the higher goes first */
	int64_t cpus, cpus_used, cores, sockets;
	int64_t memory_bytes, memory_used_bytes;
	int64_t gpus, gpus_used;
	const char *gres;       /* "gpu:a100:8"; NULL: none */
	const char *gres_used;  /* "gpu:a100:2(IDX:0-1)"; NULL: none */
	const char *features;   /* "a,b"; NULL: none */
	const char *partitions; /* "gpu,one"; never NULL */
	const char *reason;     /* NULL: none */
	int64_t since_ns;
};

struct slurm_partition {
	const char *name;
	bool usual;                   /* jobs that name none go there */
	int64_t default_s, longest_s; /* 0: not known */
	int64_t priority;             /* 1: as usual */
	const char *state;            /* "up", "down", "drain", "inactive" */
	const char *accounts, *qos;   /* "a,b" that may use it; NULL: all */
	const struct slurm_node **nodes;
	size_t node_count;
};

struct slurm_nodes {
	struct slurm_node *list; /* in the arena */
	size_t count;
	struct slurm_partition *partitions;
	size_t partition_count;
	json_t *json, *topology, *entities;
};

/* 0 or a negative code with cli->err set. Nodes of no partition are in one called "all". */
int slurm_nodes_load(struct cli *cli, struct slurm_nodes *ret_nodes);
void slurm_nodes_fini(struct slurm_nodes *nodes);
const char *slurm_use_word(enum slurm_node_use use);        /* "mixed" */
const char *slurm_node_code(const struct slurm_node *node); /* "drng" */
const char *slurm_node_word(const struct slurm_node *node); /* "draining" */
#define SLURM_ALL_PARTITION "all"

#endif
