/*
 * A pod and a node of Kubernetes as the scheduler sees them: what they ask for and have, and the
 * constraints between them. Read from the API's JSON; pure, bounded, fuzzed. What of a pod cannot
 * be understood or honoured is kept as a sentence, its refusal, and the pod waits with that: a hard
 * constraint is never left out in silence.
 */
#ifndef PODS_POD_H
#define PODS_POD_H

#include <strata/cluster.h>

#include <jansson.h>

/* Something countable beside CPU, memory and GPUs: "rdma/hca", "ephemeral-storage",
 * "pods" (every pod takes one), "hostPort/TCP/80" (every node has one). */
struct pod_other {
	const char *name;
	int64_t amount;
};

struct pod_amounts {
	int64_t cpu_milli, memory_bytes, gpus;
	struct pod_other *others; /* sorted by name */
	size_t other_count;
};

/* Everything lives in the arena of its own. */
struct pod {
	struct strata_arena arena;
	const char *space, *name, *uid; /* space: its namespace */
	const char *user;               /* its service account */
	const char *owner;              /* uid of the controller that made it; NULL: none */
	const char *node;               /* NULL: not bound */
	bool ours;                      /* schedulerName is the one asked for */
	bool ended;                     /* succeeded or failed: it holds nothing */
	bool deleting;                  /* deletionTimestamp is set, or we asked for it */
	bool gated;                     /* has scheduling gates: not yet to be scheduled */
	bool preemptible, preempts;
	int64_t created_ns, bound_ns; /* bound_ns: STRATA_TIME_NONE when it is not known */
	int64_t time_limit_ns;        /* 0: it said nothing */
	int64_t priority;
	int64_t grace_ns;
	const char *gang;    /* NULL: none */
	int64_t gang_size;   /* at least 1 with a gang */
	uint32_t gpu_mask;   /* which GPUs it was given when it was bound; 0: not known */
	const char *refusal; /* why it cannot be scheduled at all; NULL: it can */
	struct pod_amounts amounts;
	/* its selector, required affinity, tolerations and other amounts: pods of the same text go
	 * to the same nodes */
	const char *constraint;
	json_t *rules; /* that text, as JSON */
	/* the scheduler's own: */
	uint64_t sequence; /* the order in which pods of one second came */
	bool assumed;      /* `node` is where it is being bound; the API does not say so yet */
	bool evicting;     /* we asked for its deletion */
	bool refused;      /* the API server would not bind it; not tried again before … */
	int64_t again_ns;
	int64_t told_ns; /* when its condition was written; 0: never */
	uint64_t told;   /* a hash of what it says */
};

struct node {
	struct strata_arena arena;
	uint32_t row; /* in the round that is being decided */
	const char *name;
	bool ready, cordoned;
	const char *gpu_type; /* NULL: not known or no GPUs */
	uint8_t numa[STRATA_NODE_GPUS_MAX];
	struct pod_amounts amounts; /* allocatable */
	json_t *labels;             /* object */
	json_t *taints;             /* array, or NULL */
};

struct pod_rules {
	const char *scheduler;    /* "strata" */
	const char *gpu_resource; /* "nvidia.com/gpu" */
};

#define POD_ANNOTATION_GANG "strata.io/gang"
#define POD_ANNOTATION_GANG_SIZE "strata.io/gang-size"
#define POD_ANNOTATION_TIME_LIMIT "strata.io/time-limit"
#define POD_ANNOTATION_PREEMPTIBLE "strata.io/preemptible"
#define POD_ANNOTATION_GPUS "strata.io/gpus"
#define POD_LABEL_GROUP "pod-group.scheduling.sigs.k8s.io/name"
#define POD_LABEL_GROUP_SIZE "pod-group.scheduling.sigs.k8s.io/min-available"
#define NODE_LABEL_NUMA "strata.io/gpu-numa"
#define NODE_LABEL_GPU_TYPE "nvidia.com/gpu.product"

/* -EINVAL when it is no pod at all; -ENOMEM. */
int pod_read(const json_t *object, const struct pod_rules *rules, struct strata_memory *memory,
	     struct pod **ret_pod, struct strata_error *err);
void pod_free(struct pod *pod, struct strata_memory *memory); /* NULL is nothing */

int node_read(const json_t *object, const struct pod_rules *rules, struct strata_memory *memory,
	      struct node **ret_node, struct strata_error *err);
void node_free(struct node *node, struct strata_memory *memory);

/* pod_amounts.c: of one of them; 0 when there is none of it. */
int64_t pod_amounts_other(const struct pod_amounts *amounts, const char *name);
/* Reads a map of quantities, as of requests or allocatable, and adds it; others that are there
 * already are summed. */
int pod_amounts_add(struct pod_amounts *amounts, const json_t *map, const struct pod_rules *rules,
		    struct strata_arena *arena, struct strata_error *err);
/* Adds all of the others' amounts. */
int pod_amounts_sum(struct pod_amounts *amounts, const struct pod_amounts *more,
		    struct strata_arena *arena, struct strata_error *err);
/* What a pod needs: containers together, or the largest init container where that is more, and its
 * overhead. */
int pod_amounts_of(const json_t *spec, const struct pod_rules *rules, struct strata_arena *arena,
		   struct pod_amounts *ret_amounts, struct strata_error *err);

/* pod_match.c: may pods with these rules go to that node, by labels and taints? */
enum pod_match { POD_MATCHES, POD_MATCH_SELECTOR, POD_MATCH_TAINT };
enum pod_match pod_match(const json_t *rules, const struct node *node);

/* pod_constraint.c: the rules of a pod's spec that pod_match reads, or a sentence about what is
 * asked for and not known here. */
int pod_constraint(const json_t *spec, const struct pod_amounts *amounts,
		   struct strata_arena *arena, json_t **ret_rules, const char **ret_refusal,
		   struct strata_error *err);

#endif
