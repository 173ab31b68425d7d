/*
 * The insides of a cluster. What is where:
 *
 *	node	a machine: what it has, what is free, who is on it
 *	group	the nodes that are alike in all a placement can see; a placement asks once per group, not per node
 *	shape	what nodes have in common that never changes: capacity, GPU type, features, partitions
 *	ask	a request as placement sees it: a need per node, how many nodes, which shapes and nodes will do
 *	lot	waiting jobs that are alike in ask, owner, band, priority and limit: first come, first served among themselves
 *	job	one job, in whatever state
 *
 * A pass costs the lots, not the jobs; a placement the groups, not the nodes.
 */
#ifndef CLUSTER_CLUSTER_INT_H
#define CLUSTER_CLUSTER_INT_H

#include <strata/cluster.h>

#include "core/container.h"
#include "core/heap.h"
#include "core/map.h"
#include "core/share.h"
#include "core/slab.h"
#include "core/tree.h"

/* What all boards may take. */
#define CLUSTER_BOARDS_BYTES_MAX ((size_t)64 << 20)
/* A job past its limit that has not ended is expected to within this. */
#define CLUSTER_OVERRUN_NS (INT64_C(60) * 1000000000)

struct shape {
	struct strata_room whole;
	uint32_t gpu_count;
	const char *gpu_type; /* "": none; owned by the cluster's texts, as are the next two */
	const char *features;
	const char *partitions; /* "": every partition */
	uint8_t numa[STRATA_NODE_GPUS_MAX];
	uint32_t index; /* in the order of appearance */
};

struct node {
	const char *name;
	uint32_t row;
	enum strata_node_state state;
	struct shape *shape;
	struct strata_room room; /* free now */
	struct group *group;     /* NULL while it is not up */
	struct tree_node in_group;
	/* what the reservation being worked out sees; valid while `seen` is the cluster's `look` */
	uint64_t seen;
	struct strata_room later;
	uint32_t worth; /* how much of the reserved job it can take at the reserved time */
};

struct group {
	struct shape *shape;
	struct strata_room room;
	struct tree nodes;           /* by row */
	uint64_t changed;            /* the cluster's version when it last gained a node */
	struct group *newer, *older; /* groups with nodes, by `changed` */
	uint64_t hash;
	uint64_t handle;
	struct group *next;       /* in the hash table */
	struct tree_node *cursor; /* scratch of one placement: its next node to be taken */
	struct heap_node in_picks;
	uint32_t gpu;
	bool apart;
};

/* A piece of a job on a node. */
struct claim {
	struct job *job;
	struct node *node;
	struct strata_piece piece;
};

struct ask {
	struct strata_need need; /* of one task */
	uint32_t tasks;
	uint32_t nodes; /* 0: as few as will do */
	bool exclusive;
	const char *partition, *gpu_type, *features, *node_list,
		*node_exclude; /* texts; "" for none */
	uint64_t *shapes_ok;   /* bitset by shape index */
	uint64_t *nodes_ok;    /* bitset by row; NULL: every node of those shapes */
	uint32_t shape_words, node_words;
	bool possible;    /* some set of nodes, empty and up or not, could take it */
	uint64_t users;   /* jobs that refer to it */
	uint64_t failed;  /* the cluster's version when it last did not fit; 0: not known */
	uint64_t refused; /* the version at which it fitted, but not past the reservation … */
	uint64_t refused_look; /* … of this look */
	uint64_t handle;
	uint64_t sought; /* the cluster's board_clock when a place was last looked for; 0: never */
	struct board *board; /* NULL: none yet, or none any more */
};

struct user {
	const char *name;
	uint64_t share; /* node in the cluster's share */
	uint64_t number;
	double rate;        /* billing units per second of what it runs now */
	int64_t charged_ns; /* usage is charged up to here */
};

struct job {
	uint64_t id;
	uint64_t handle;            /* in the slab */
	uint64_t sequence;          /* order of submission */
	struct lot *lot;            /* while it waits in the queue */
	struct job *before, *after; /* in its lot */
	struct ask *ask;
	struct user *user;
	uint64_t name; /* number of its name */
	enum strata_band band;
	int64_t priority;
	enum strata_job_state state;
	enum strata_reason reason;
	bool held, requeue;
	uint32_t attempt;
	uint32_t corrections;
	int64_t submit_ns, begin_ns, start_ns, end_ns;
	int64_t limit_ns;
	int64_t expected_end_ns; /* while placed: by prediction, corrected when exceeded */
	int64_t promised_ns;
	int64_t first_promised_ns; /* 0: none yet */
	struct tree_node by_end;   /* while placed */
	struct heap_node by_begin; /* while it waits for its begin time */
	struct claim *claims;
	uint32_t claim_count;
	void *plan;            /* the backfill's */
	struct job *next_lost; /* until the next pass has told of it */
	struct job *next_new;  /* of the jobs that have come since the last pass */
	bool is_new;
};

struct lot {
	struct ask *ask;
	struct user *user;
	enum strata_band band;
	int64_t priority;
	int64_t limit_ns;
	uint64_t name;
	struct job *first, *last;
	size_t count;
	double key; /* by the order */
	struct tree_node in_order;
	uint64_t handle;
};

/* What a search must know of a group, by the group's index. */
struct roster_entry {
	double score;      /* for placements that ignore the need */
	int64_t cpu_milli; /* -1: there is no such group */
	int64_t memory_bytes;
	uint32_t row; /* of its first node */
	uint32_t shape;
	uint16_t fullest; /* milli left on the emptiest GPU */
	uint8_t whole_gpus;
	bool untouched; /* nobody is there */
};

struct roster {
	struct roster_entry *entries; /* owned, the log in the same block */
	uint32_t *log;                /* the last `room` changes: indexes of groups, in a ring */
	uint64_t changes;             /* ever */
	uint32_t end;                 /* indexes from here on were never used */
	uint32_t room;                /* a power of two */
};

struct backfill_class;

struct strata_cluster {
	struct strata_memory *memory;
	struct strata_cluster_conf conf;
	struct strata_arena confs; /* options and state of the classes chosen here */
	const struct strata_order_class *order;
	const struct strata_placement_class *placement;
	const struct strata_prediction_class *prediction;
	const struct backfill_class *backfill;
	void *placement_state;
	void *prediction_state;
	void *backfill_state;

	struct map_text texts; /* key: the text; value: its text_entry */
	struct map_text users;
	struct map_text names;
	struct map_u64 jobs;
	struct slab job_slab, lot_slab, ask_slab, group_slab, shape_slab, user_slab;
	struct share *share;

	struct node *nodes;
	uint32_t node_count, node_room;
	struct shape **shapes;
	uint32_t shape_count, shape_room;
	struct group **group_table; /* chained by `next`; group_buckets of them, a power of two */
	size_t group_buckets;
	struct map_text lots, asks; /* by the bytes of their keys */
	struct group *newest;       /* of the groups that have nodes */
	struct roster roster;
	struct heap picks;                         /* groups, while nodes of a job are picked */
	struct board *board_newest, *board_oldest; /* by when they were last used */
	size_t board_bytes;                        /* of all boards */
	uint64_t board_clock;                      /* goes up whenever a board is asked for */

	struct tree queue;   /* lots by band, key and sequence of their first job */
	struct tree running; /* placed jobs by expected end */
	struct heap begins;  /* jobs that wait for their begin time */
	struct job *lost;

	int64_t now_ns;
	uint64_t sequence;
	uint64_t version;                 /* goes up whenever a node gains room or comes back */
	uint64_t look;                    /* goes up with every reservation that is worked out */
	bool changed;                     /* something but new jobs changed since the last pass */
	struct job *new_first, *new_last; /* that have joined the queue since the last pass */
	bool disturbed; /* a node has changed its state, or a job has overrun its limit, since the last pass */
	int64_t wake_ns; /* a pass is due then, says the backfill; INT64_MAX: never */
	double size;     /* GPUs of all nodes, or CPUs when there are none */
	struct strata_cluster_stats stats;
};

/* text.c */
const char *cluster_text(struct strata_cluster *cluster,
			 const char *text); /* interned; NULL: no memory */
bool cluster_word_in(const char *words, const char *word, size_t length, char separator);

/* room.c */
uint32_t room_whole_gpus(const struct strata_room *room, uint32_t gpu_count);
uint32_t room_fullest(const struct strata_room *room, uint32_t gpu_count);
bool room_fits(const struct strata_room *room, uint32_t gpu_count, const struct strata_need *need);
/* Is there a NUMA domain with so many whole GPUs? */
bool room_together(const struct strata_room *room, uint32_t gpu_count, const uint8_t *numa,
		   uint32_t gpus);
/* Which GPUs the need would get; `gpu` is the placement's choice for a shared one. */
struct strata_piece room_pick(const struct strata_room *room, uint32_t gpu_count,
			      const uint8_t *numa, const struct strata_need *need, uint32_t gpu);
/* The fullest GPU that has so much left; gpu_count when there is none. */
uint32_t room_shared_gpu(const struct strata_room *room, uint32_t gpu_count, uint32_t gpu_milli);
void room_take(struct strata_room *room, const struct strata_piece *piece);
void room_give(struct strata_room *room, const struct strata_piece *piece);

/* node.c */
void node_attach(struct strata_cluster *cluster,
		 struct node *node); /* into the group its room says */
void node_detach(struct strata_cluster *cluster, struct node *node);

/* roster.c */
int roster_init(struct roster *roster, struct strata_memory *memory, uint32_t room);
void roster_fini(struct roster *roster, struct strata_memory *memory);
void roster_enter(struct strata_cluster *cluster, const struct group *group); /* a new group */
/* It gained or lost a node, and has one. */
void roster_note(struct strata_cluster *cluster, const struct group *group);
void roster_leave(struct strata_cluster *cluster, const struct group *group);
/* The group of a change, one of the last `room`. */
static inline uint32_t roster_changed(const struct roster *roster, uint64_t change)
{
	return roster->log[change & (roster->room - 1)];
}
static inline bool roster_has(const struct roster_entry *entry, const struct strata_need *need)
{
	return (need->cpu_milli <= entry->cpu_milli) & (need->gpus <= entry->whole_gpus) &
	       (need->gpu_milli <= entry->fullest) & (need->memory_bytes <= entry->memory_bytes);
}

/* board.c */
struct board_entry {
	double score;        /* infinite: it cannot take the ask */
	uint32_t generation; /* of the group that was scored; 0: none */
	uint8_t gpu;
	bool apart;
};
struct board {
	struct ask *ask;
	struct board *newer, *older;
	uint64_t used; /* the cluster's board_clock then */
	uint64_t seen; /* changes of the roster that are in it */
	uint32_t room;
	struct board_entry *entries; /* by the index of the group; in the same block, as the next */
	uint32_t *best;              /* of each block of groups */
};
#define BOARD_NONE UINT32_MAX
/* The board of an ask, up to date; NULL when it has none. */
struct board *board_get(struct strata_cluster *cluster, struct ask *ask);
void board_free(struct strata_cluster *cluster, struct board *board);
/* The index of the best group; BOARD_NONE: none can take the ask. */
uint32_t board_best(const struct strata_cluster *cluster, struct board *board);

/* mix.c: the GPU types that a mix names, and one more for all others. */
struct mix_types {
	const char **names; /* of all but the last; borrowed from the mix, not ended by NUL */
	size_t *lengths;
	size_t count; /* the other types included */
};
int mix_types_init(struct mix_types *types, const struct strata_mix *mix,
		   struct strata_arena *arena); /* 0 or -ENOMEM */
size_t mix_types_find(const struct mix_types *types, const char *gpu_type);
/* Is the type one of these ("": any)? */
bool mix_types_take(const struct mix_types *types, size_t type, const char *gpu_types);
/* Of a need of the mix: the types it takes, "" for any; whether it wants GPUs, as far as a node can have them. */
const char *mix_gpu_types(const struct strata_mix *mix, size_t index);
bool mix_wants_gpu(const struct strata_need *need);

/* ask.c */
int ask_get(struct strata_cluster *cluster, const struct strata_job_request *request,
	    struct ask **ret_ask, struct strata_error *err);
void ask_put(struct strata_cluster *cluster, struct ask *ask);
bool ask_takes_shape(const struct ask *ask, const struct shape *shape);
bool ask_takes_node(const struct ask *ask, uint32_t row);
/* How many of its tasks fit into the room of a node. */
uint32_t ask_tasks_in(const struct ask *ask, const struct strata_room *room,
		      const struct shape *shape);
/* The need on one node when the tasks are spread over node_count nodes (the largest part). The shape matters to exclusive ones
 * only. */
struct strata_need ask_need(const struct ask *ask, uint32_t node_count, const struct shape *shape);

/* placing.c: where a job would go. */
struct spot {
	struct node *node;
	struct strata_piece piece;
};
/* May the need go to this node, as far as a reservation is concerned? The node's group says which GPU a share would get. */
typedef bool placing_filter(struct strata_cluster *cluster, struct node *node,
			    const struct strata_need *need, void *context);
/* Fills `spots` (room for placing_spot_max) and returns how many, 0 when it does not fit now. A job on one node is looked for
 * only in groups that changed after version `since`: 0 for all. */
uint32_t placing_find(struct strata_cluster *cluster, struct ask *ask, uint64_t since,
		      placing_filter *filter, void *context, struct spot *spots);
/* What the placement class says of a group; ret_gpu (may be NULL): the GPU for a share. */
double placing_score(struct strata_cluster *cluster, const struct group *group,
		     const struct strata_need *need, uint32_t *ret_gpu);
/* Would the GPUs be in several NUMA domains, as far as the placement cares? */
bool placing_apart(const struct strata_cluster *cluster, const struct group *group,
		   const struct strata_need *need);
/* Can the group of an entry take a part of the ask, spread over so many nodes? Then ret_need is that part. */
bool placing_fits(const struct roster_entry *entry, const struct ask *ask, uint32_t node_count,
		  const struct shape *shape, struct strata_need *ret_need);
heap_compare placing_compare; /* of the picks */
uint32_t placing_spot_max(const struct strata_cluster *cluster, const struct ask *ask);

/* queue.c */
int queue_add(struct strata_cluster *cluster, struct job *job); /* at its place among those alike */
void queue_remove(struct strata_cluster *cluster, struct job *job);
/* The oldest of the jobs that have joined since the last pass; it is one no longer. NULL: none left. */
struct job *queue_take_new(struct strata_cluster *cluster);
void queue_forget_new(struct strata_cluster *cluster);
int queue_compare(const struct tree_node *a, const struct tree_node *b, void *context);
int64_t queue_predict(const struct strata_cluster *cluster,
		      const struct job *job); /* run time, 1 to its limit */
/* Brings the order up to date with the time, for orders whose keys change with it. */
int queue_refresh(struct strata_cluster *cluster, struct strata_arena *arena,
		  struct strata_error *err);
static inline struct lot *queue_lot(struct tree_node *node)
{
	return node ? container_of(node, struct lot, in_order) : NULL;
}

/* job.c */
void job_set_state(struct strata_cluster *cluster, struct job *job, enum strata_job_state state,
		   enum strata_reason reason);
double job_size(const struct ask *ask); /* GPUs, or CPUs when it has none */

struct reservation;

/* pass.c: what backfills use. */
struct pass {
	struct strata_cluster *cluster;
	int64_t now_ns;
	struct strata_arena *arena;
	struct strata_effect *effects;
	size_t effect_count, effect_room;
	struct spot *spots;
	uint32_t spot_room;
	struct job *started; /* by the last pass_try that started one */
	struct strata_error *err;
};
/* Starts a waiting job on these spots, which must be free. 0 or -ENOMEM. */
int pass_start(struct pass *pass, struct job *job, const struct spot *spots, uint32_t spot_count);
/* Tries to place and start the first job of the lot. */
enum pass_result { PASS_STARTED, PASS_NO_ROOM, PASS_FAILED };
enum pass_result pass_try(struct pass *pass, struct lot *lot, struct reservation *reservation);
/* Starts jobs from the head of the queue as long as they fit, past those that never will. ret_blocked: the lot that does not; NULL: none
 * is left. 0 or -ENOMEM. */
int pass_start_head(struct pass *pass, struct lot **ret_blocked);
/* Walks the queue from a lot on while jobs are started and lots move: the lot to look at after `lot`, of which a job was started
 * or not; `next` is what came behind it before. */
struct lot *pass_next(struct lot *lot, struct lot *next, bool still_there);

extern const struct strata_placement_class strata_placement_best_fit;

struct backfill_class {
	struct strata_class base;
	size_t state_size; /* zeroed at creation, owned by the cluster */
	/* A job has ended, or has left the queue without starting. Optional, as is the next. */
	void (*gone)(struct strata_cluster *cluster, void *state, struct job *job);
	void (*close)(struct strata_cluster *cluster, void *state);
	/* Starts what may start now; the queue is in order. */
	int (*pass)(struct pass *pass, const void *conf, void *state);
};

/* reserve.c: the reservation of the job at the head. */
struct reservation {
	struct job *job;
	int64_t start_ns;        /* INT64_MAX: never, as things stand */
	int64_t firm_ns;         /* from then on nothing goes before it on a prediction alone */
	uint64_t wanted;         /* nodes, or tasks when it did not say how many nodes */
	uint64_t spare;          /* how many more there will be at that time */
	uint32_t tasks_per_node; /* when `wanted` counts nodes */
};
void reserve_find(struct strata_cluster *cluster, struct job *job,
		  struct reservation *ret_reservation);
/* May a need that would stay past the reserved start go to this node? A placing_filter; the context is the reservation. */
bool reserve_allows(struct strata_cluster *cluster, struct node *node,
		    const struct strata_need *need, void *context);
/* The same of all spots together. */
bool reserve_allows_all(struct strata_cluster *cluster, const struct reservation *reservation,
			const struct spot *spots, uint32_t count);
/* A job was started after the reservation was found, and stays past it or is taken to be gone by then. */
void reserve_note(struct strata_cluster *cluster, struct reservation *reservation,
		  const struct job *job, bool stays);

/* cluster.c */
void cluster_release(struct strata_cluster *cluster,
		     struct job *job); /* gives back what a placed job holds */
void cluster_count_room(struct strata_cluster *cluster, const struct strata_piece *piece, int sign);
void cluster_clock(struct strata_cluster *cluster, int64_t now_ns);
void user_accrue(struct strata_cluster *cluster, struct user *user, int64_t now_ns);

#endif
