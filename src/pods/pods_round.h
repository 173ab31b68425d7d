/*
 * One round of decisions: from what the API server says to what is to be done. Pure. A cluster
 * (strata/cluster.h) is made anew for each round from nodes and pods, so that there is no state
 * that could differ from the API server's: the scheduler that was just started decides as the one
 * that has run for a month. What lives longer is the usage of those who are charged.
 */
#ifndef PODS_PODS_ROUND_H
#define PODS_PODS_ROUND_H

#include "pods/pods_mirror.h"
#include "pods/pods_usage.h"

struct pods_round_conf {
	struct strata_cluster_conf cluster; /* borrowed: its specs */
	int64_t time_limit_ns;              /* of pods that say nothing */
	/* priorities from `high_from` on may take the place of lower ones, those below
	 * `low_below` give theirs to all others */
	int64_t high_from, low_below;
	int64_t gang_patience_ns;  /* a gang that was bound in part is taken down after so long */
	struct strata_map weights; /* of namespaces (double); those not named have 1 */
	int64_t tell_ns;           /* a pod is told why it waits at most so often */
	size_t tell_max;           /* and so many in one round */
};

enum pods_decision_kind { PODS_BIND, PODS_EVICT, PODS_TELL };

struct pods_decision {
	enum pods_decision_kind kind;
	struct pod *pod;      /* of the mirror */
	const char *node;     /* BIND */
	uint32_t gpu_mask;    /* BIND: which GPUs were meant */
	const char *sentence; /* EVICT, TELL: why */
	const char *reason;   /* EVICT, TELL: the same as a word of Kubernetes: "Preempted" */
	bool first;           /* TELL: it says something new */
};

/* In the arena that was given. */
struct pods_plan {
	struct pods_decision *decisions;
	size_t count;
	size_t waiting, placed, nodes_up, node_count;
	int64_t gpus, gpus_free; /* of nodes that are up */
	int64_t due_ns;          /* decide again then, whatever happens; INT64_MAX: no need */
};

/* What the round holds while it is decided, for the files it consists of. */
struct pods_constraint {
	const json_t *rules;
	const struct pod *first; /* one of those it stands for */
	uint8_t *fits;           /* by row: enum pods_fit */
	char name[16];           /* the feature of nodes that it may go to */
};
enum pods_fit { PODS_FITS, PODS_FIT_SELECTOR, PODS_FIT_TAINT, PODS_FIT_OTHER };

struct pods_row {
	struct node *node;
	struct pod_amounts used;         /* by pods that are there */
	int64_t cpu_milli, memory_bytes; /* left for pods that are adopted */
	uint32_t gpu_mask;               /* free ones */
};

struct pods_gang {
	int64_t size;
	size_t waiting, bound;
	int64_t bound_ns; /* when the first was */
	int64_t left;     /* members that the cluster is told of, yet to come */
	uint64_t number;  /* the cluster's */
	uint32_t cluster_size;
	bool first_in_line, failed;
};

struct pods_round {
	const struct pods_round_conf *conf;
	struct pods_mirror *mirror;
	struct pods_usage *usage;
	struct strata_arena *arena;
	struct strata_error *err;
	int64_t now_ns;
	struct pods_row *rows;
	size_t row_count;
	struct pod **pods; /* oldest first; ids of the cluster are indexes here plus 1 */
	size_t pod_count;
	struct map_text constraints; /* of struct pods_constraint, by constraint */
	struct map_text gangs;       /* of struct pods_gang, by name */
	const char **sentences;      /* by index of the pod: known before the cluster is asked */
	bool *submitted;             /* by index: the cluster knows it */
	struct strata_cluster *cluster;
	struct pods_plan *plan;
	size_t decision_room;
};

int pods_round_decide(const struct pods_round_conf *conf, struct pods_mirror *mirror,
		      struct pods_usage *usage, int64_t now_ns, struct strata_arena *arena,
		      struct pods_plan *ret_plan, struct strata_error *err);

/* pods_rows.c: nodes, constraints of pods, and what is taken. */
int pods_rows_make(struct pods_round *round);
int pods_rows_add_to_cluster(struct pods_round *round);
struct pods_constraint *pods_rows_constraint(struct pods_round *round, const struct pod *pod);
/* Is there room for its other amounts? Takes them, then. */
bool pods_rows_take_others(struct pods_round *round, struct pods_row *row, const struct pod *pod);
/* It is adopted there: the piece, as much of it as there still is. */
struct strata_piece pods_rows_piece(struct pods_row *row, const struct pod *pod, uint32_t at);
/* A pod that is bound, or being bound, and has not ended; its row is set. */
bool pods_rows_placed(const struct pods_round *round, const struct pod *pod,
		      struct pods_row **ret_row);

/* pods_gang.c */
int pods_gangs_make(struct pods_round *round);
/* How a waiting pod goes to the cluster: false, and a sentence, when it does not yet. */
bool pods_gang_admit(struct pods_round *round, const struct pod *pod, struct pods_gang **ret_gang,
		     const char **ret_sentence);
/* Gangs that were bound in part and cannot be completed. */
int pods_gangs_take_down(struct pods_round *round);

/* pods_explain.c: the sentence for a waiting pod that the cluster knows; NULL: out of memory. */
const char *pods_explain(struct pods_round *round, size_t index,
			 const struct strata_forecast *forecast);

/* pods_tell.c: the decisions of the kind TELL. */
int pods_tell(struct pods_round *round);

/* A decision more; -ENOMEM. */
int pods_round_add(struct pods_round *round, const struct pods_decision *decision);
bool pods_waits(const struct pod *pod, int64_t now_ns);

#endif
