/*
 * The insides of a cluster. What is where:
 *
 *	node	a machine: what it has, what is free, who is on it
 *	node group	the nodes that are alike in all a placement can see; a placement asks once per group, not per node
 *	node type	what nodes have in common that never changes: capacity, GPU type, features, partitions
 *	resource request	a request as placement sees it: a need per node, how many nodes, which node types and nodes will do
 *	job group	waiting jobs that are alike in resource request, association, band, priority and limit: first come, first served among themselves
 *	job	one job, in whatever state; or a range: elements of an array that differ in nothing but their numbers yet (range.c)
 *	entity	a user, an account or a quality of service: what it may have and has
 *	association	a user in an account with a quality of service: whom usage is charged to
 *	advance, booking	an advance reservation, and what it keeps of one node
 *	array, gang, series	jobs that belong together: by request, to start together, by user and name
 *
 * A pass costs the job groups, not the jobs; a placement the groups, not the nodes.
 */
#ifndef CLUSTER_CLUSTER_INT_H
#define CLUSTER_CLUSTER_INT_H

#include <strata/cluster.h>
#include <strata/limits.h>

#include "core/bitset.h"
#include "core/container.h"
#include "core/heap.h"
#include "core/map.h"
#include "core/share.h"
#include "core/slab.h"
#include "core/tree.h"

/* What all score caches may take. */
#define CLUSTER_SCORE_CACHES_BYTES_MAX ((size_t)64 << 20)
/* A job past its limit that has not ended is expected to within this. */
#define CLUSTER_OVERRUN_NS (INT64_C(60) * 1000000000)

struct node_type {
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
	struct node_type *node_type;
	struct strata_room room;  /* free now */
	struct node_group *group; /* NULL while it is not up */
	struct tree_node in_group;
	struct booking *bookings; /* what advance reservations keep of it */
	/* what the shadow being worked out sees; valid while `seen` is the cluster's `look` */
	uint64_t seen;
	struct strata_room later;
	uint32_t worth; /* how much of the reserved job it can take at the reserved time */
};

struct node_group {
	struct node_type *node_type;
	struct strata_room room;
	struct tree nodes;                /* by row */
	uint64_t changed;                 /* the cluster's version when it last gained a node */
	struct node_group *newer, *older; /* groups with nodes, by `changed` */
	uint64_t hash;
	uint64_t handle;
	struct node_group *next;  /* in the hash table */
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

struct resource_request {
	struct strata_need need; /* of one task */
	uint32_t tasks;
	uint32_t nodes;            /* 0: as few as will do */
	uint32_t node_gpus;        /* of every node, whatever its tasks need … */
	int64_t node_memory_bytes; /* … likewise */
	bool exclusive;
	bool uncharged;
	const char *partition, *gpu_type, *features, *node_list,
		*node_exclude;       /* texts; "" for none */
	struct bitset node_types_ok; /* by node type index */
	struct bitset nodes_ok;      /* by row; no words: every node of those node types */
	bool possible;               /* some set of nodes, empty and up or not, could take it */
	double size;                 /* GPUs, or CPUs when it has none */
	double bill;                 /* GPU-hours of an hour */
	int64_t gpu_milli;           /* of all tasks */
	const struct entity *partition_entity; /* NULL: nobody has said anything about it */
	uint64_t users;                        /* jobs that refer to it */
	uint64_t failed;       /* the cluster's version when it last did not fit; 0: not known */
	uint64_t refused;      /* the version at which it fitted, but not past the shadow … */
	uint64_t refused_look; /* … of this look */
	uint64_t handle;
	/* the cluster's score_cache_clock when a place was last looked for; 0: never */
	uint64_t sought;
	struct score_cache *score_cache; /* NULL: none yet, or none any more */
};

struct entity {
	const char *name;       /* the map's copy */
	uint64_t number;        /* from 1, in the order of appearance among its kind */
	struct entity *parent;  /* of an account: the one above; NULL: the root */
	struct entity *account; /* of a user: what its jobs count for; NULL: none */
	struct strata_limits limits;
	uint32_t placed, waiting; /* jobs */
	int64_t gpu_milli;        /* held */
	double weight;
	/* of a quality of service; the priority of a partition, too */
	double priority, usage_factor;
	enum strata_partition_state state; /* of a partition */
	double used; /* GPU-hours, faded up to used_ns; of users and qualities of service */
	int64_t used_ns;
	uint64_t share; /* of an account: its node in the cluster's share */
};

struct association {
	struct entity *user, *account, *qos; /* the last two may be NULL */
	uint64_t leaf;                       /* in the cluster's share */
	double rate;                         /* GPU-hours per hour of what it runs now … */
	uint32_t placed;                     /* … and how many jobs that is */
	int64_t charged_ns;                  /* usage is charged up to here */
	/* usage read back from a store was charged up to here; 0: there was none */
	int64_t stored_ns;
	struct association *next; /* of all */
};

/* One thing that a job waits for. Unmet ones are chained at what they wait for. */
enum link_state { LINK_OPEN, LINK_MET, LINK_NEVER };
struct link {
	struct job *job;           /* that waits */
	struct link **from, *next; /* in the chain; from is NULL when in none */
	/* while it is open, one of them: for whom */
	const struct job *target;
	const struct array *array;
	int64_t delay_ns;
	enum strata_dependency_kind kind;
	enum link_state state;
};

struct array {
	uint64_t id;
	uint64_t handle;
	uint32_t limit;              /* elements placed at a time; 0: any number */
	uint32_t placed;             /* now */
	uint32_t ranges;             /* of jobs that stand for several elements */
	uint64_t index_end;          /* no index is as high as this */
	size_t count;                /* elements that are known */
	size_t unstarted, open, bad; /* never started, not ended, ended other than completed */
	struct map_u64 by_index;     /* jobs; key: index + 1, of a range its first element's */
	struct link *waiters;
};

struct gang {
	uint64_t id;
	uint64_t handle;
	uint32_t size, count, ready; /* wanted, there, free of all other reasons to wait */
	bool whole;                  /* all have been there: no more may come */
	bool possible;               /* empty nodes, up or not, could take them all */
	struct job *first;           /* by order of submission */
	uint64_t failed;             /* the cluster's version when they last did not fit together */
};

/* Jobs of one user and name that have not ended, by order of submission. */
struct series {
	uint64_t handle;
	struct job *first, *last;
};

struct checkpoint {
	char *path; /* owned */
	int64_t size_bytes, time_ns, step;
};

struct job {
	uint64_t id;       /* of a range: its first element's, as all that follows */
	uint64_t handle;   /* in the slab */
	uint32_t elements; /* 1; of a range more, with the ids and sequences behind this one's … */
	uint32_t index_step;         /* … and indexes so far apart */
	struct tree_node by_id;      /* of a range */
	uint64_t sequence;           /* order of submission */
	struct job_group *job_group; /* while it waits in the queue */
	struct job *before, *after;  /* in its job group */
	struct resource_request *resources;
	struct association *association;
	uint64_t name; /* number of its name */
	enum strata_band band;
	int64_t priority;
	enum strata_job_state state;
	enum strata_reason reason;
	enum strata_reason others; /* of a range in the queue: why all but its first element wait */
	bool held, requeue, preemptible;
	bool any_dependency, cancel_if_never, singleton;
	bool suspended; /* frozen: holds its memory, waits to go on */
	bool stopping;  /* is to end or freeze; `stop_told`: the caller knows */
	bool stop_told;
	bool started; /* ran at least once */
	bool gang_ready;
	bool is_new, is_ready, is_stop, is_lost; /* in the lists by these names */
	bool stood_apart; /* it has waited for a time or for others, and may again */
	enum strata_stop stop_mode;
	uint64_t preemptor;
	uint32_t attempt;
	uint32_t corrections;
	uint32_t preempted;
	uint32_t claim_count;
	uint32_t link_count, links_met, links_never;
	uint32_t array_index;
	uint32_t planned; /* spots, of one of a gang for which the backfill has a plan */
	int64_t submit_ns, begin_ns, start_ns, end_ns;
	int64_t limit_ns;
	int64_t expected_end_ns; /* while placed: by prediction, corrected when exceeded */
	int64_t promised_ns;
	int64_t first_promised_ns; /* 0: none yet */
	int64_t frozen_ns;         /* since when, while suspended */
	int64_t used_ns;           /* of this attempt, charged: up to used_since_ns … */
	int64_t used_since_ns;     /* … and from there on, while it is placed and not suspended */
	struct tree_node by_end;   /* while placed */
	struct heap_node by_begin; /* while it waits for its begin time */
	struct claim *claims;
	void *plan;             /* the backfill's */
	struct job *next_on;    /* of those on a node that is lost, while that is seen to */
	struct job *next_lost;  /* until the next pass has told of it */
	struct job *next_new;   /* of the jobs that have come since the last pass */
	struct job *next_stop;  /* of those whose stop is to be told */
	struct job *next_ready; /* of those that may have become free to join the queue */
	struct link *links;     /* what it waits for; link_count of them */
	struct link *waiters;   /* who waits for it */
	struct array *array;
	struct gang *gang;
	struct job *gang_next;
	struct series *series;
	struct job *series_before, *series_after;
	/* while suspended: what it asked for, `resources` being the same nodes without memory */
	struct resource_request *own_resources;
	int64_t checkpoint_every_ns;
	struct heap_node by_checkpoint; /* while it runs and is to write one */
	struct checkpoint *checkpoints; /* two: the latest, the one before; NULL: none */
};

struct job_group {
	struct resource_request *resources;
	struct association *association;
	enum strata_band band;
	int64_t priority;
	int64_t limit_ns;
	uint64_t name;
	struct job *first, *last;
	size_t count; /* of jobs, with the elements of ranges */
	double key;   /* by the order */
	struct tree_node in_order;
	uint64_t handle;
};

/* What a search must know of a group, by the group's index. */
struct group_index_entry {
	double score;      /* for placements that ignore the need */
	int64_t cpu_milli; /* -1: there is no such group */
	int64_t memory_bytes;
	uint32_t row; /* of its first node */
	uint32_t node_type;
	uint16_t fullest; /* milli left on the emptiest GPU */
	uint8_t whole_gpus;
	bool untouched; /* nobody is there */
};

struct group_index {
	struct group_index_entry *entries; /* owned, the log in the same block */
	uint32_t *log;    /* the last `room` changes: indexes of groups, in a ring */
	uint64_t changes; /* ever */
	uint32_t end;     /* indexes from here on were never used */
	uint32_t room;    /* a power of two */
};

struct backfill_class;

/* The path of a checkpoint that is not wanted any more. */
struct condemned {
	struct condemned *next;
	uint64_t job;
	size_t bytes; /* of this block */
	char path[];
};

struct strata_cluster {
	struct strata_memory *memory;
	struct strata_cluster_conf conf;
	struct strata_arena confs; /* options and state of the classes chosen here */
	const struct strata_order_class *order;
	const struct strata_placement_class *placement;
	const struct strata_prediction_class *prediction;
	const struct backfill_class *backfill;
	const struct strata_victims_class *victims; /* NULL: nobody is preempted */
	void *placement_state;
	void *prediction_state;
	void *backfill_state;

	struct map_text texts;                /* key: the text; value: its text_entry */
	struct map_text users, accounts, qos; /* entities */
	struct map_text partitions;           /* entities, for their priority */
	struct map_text associations;         /* by the bytes of their keys */
	struct association *association_list;
	struct map_text names;
	struct map_u64 jobs, arrays, gangs, series;
	struct slab job_slab, job_group_slab, resources_slab, group_slab, node_type_slab,
		entity_slab, association_slab, array_slab, gang_slab, series_slab;
	struct strata_billing billing;
	bool usual_billing;
	int64_t half_life_ns;
	bool limited;            /* somebody has limits */
	uint32_t placed;         /* jobs that have claims */
	uint32_t jobs_max;       /* at most so many; 0: any number */
	int64_t accrued_ns;      /* all usage is charged up to here, if limits were looked at */
	int64_t protect_wake_ns; /* a job may be stopped from then on that somebody waits for */
	int64_t limit_wake_ns;   /* a usage above its limit will have faded */
	int64_t advance_wake_ns; /* an advance reservation begins or ends */
	struct advance *advances;
	struct share *share;

	struct node *nodes;
	uint32_t node_count, node_room;
	struct node_type **node_types;
	uint32_t node_type_count, node_type_room;
	/* chained by `next`; group_buckets of them, a power of two */
	struct node_group **group_table;
	size_t group_buckets;
	struct map_text job_groups, resource_requests; /* by the bytes of their keys */
	struct node_group *newest;                     /* of the groups that have nodes */
	struct group_index group_index;
	struct heap picks; /* groups, while nodes of a job are picked */
	/* by when they were last used */
	struct score_cache *score_cache_newest, *score_cache_oldest;
	size_t score_cache_bytes;   /* of all score caches */
	uint64_t score_cache_clock; /* goes up whenever a score cache is asked for */

	struct tree ranges;      /* jobs that stand for several elements, by id */
	uint64_t id_end;         /* no job that was ever submitted has an id as high as this */
	struct tree queue;       /* job groups by band, key and sequence of their first job */
	struct tree running;     /* placed jobs by expected end */
	size_t suspended_count;  /* jobs that are frozen where they are */
	struct heap begins;      /* jobs that wait for their begin time */
	size_t apart_count;      /* jobs with stood_apart */
	struct heap checkpoints; /* running jobs, by when they are to write one */
	struct job *lost;
	struct job *stops;              /* to be told of */
	struct job *ready, *ready_last; /* look at them again at the next pass */
	struct condemned *condemned;    /* checkpoints to be deleted */

	int64_t now_ns;
	uint64_t sequence;
	uint64_t version;                 /* goes up whenever a node gains room or comes back */
	uint64_t look;                    /* goes up with every shadow that is worked out */
	bool changed;                     /* something but new jobs changed since the last pass */
	struct job *new_first, *new_last; /* that have joined the queue since the last pass */
	/* a node has changed its state, or a job has overrun its limit, since the last pass */
	bool disturbed;
	int64_t wake_ns; /* a pass is due then, says the backfill; INT64_MAX: never */
	double size;     /* GPUs of all nodes, or CPUs when there are none */
	struct strata_cluster_metrics metrics;
};

/* interned.c */
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
/* Is all of the piece free? */
bool room_has(const struct strata_room *room, const struct strata_piece *piece);
void room_take(struct strata_room *room, const struct strata_piece *piece);
void room_give(struct strata_room *room, const struct strata_piece *piece);

/* node.c */
void node_attach(struct strata_cluster *cluster,
		 struct node *node); /* into the group its room says */
void node_detach(struct strata_cluster *cluster, struct node *node);

/* group_index.c */
int group_index_init(struct group_index *group_index, struct strata_memory *memory, uint32_t room);
void group_index_fini(struct group_index *group_index, struct strata_memory *memory);
void group_index_enter(struct strata_cluster *cluster,
		       const struct node_group *group); /* a new group */
/* It gained or lost a node, and has one. */
void group_index_note(struct strata_cluster *cluster, const struct node_group *group);
void group_index_leave(struct strata_cluster *cluster, const struct node_group *group);
/* The group of a change, one of the last `room`. */
static inline uint32_t group_index_changed(const struct group_index *group_index, uint64_t change)
{
	return group_index->log[change & (group_index->room - 1)];
}
static inline bool group_index_has(const struct group_index_entry *entry,
				   const struct strata_need *need)
{
	return (need->cpu_milli <= entry->cpu_milli) & (need->gpus <= entry->whole_gpus) &
	       (need->gpu_milli <= entry->fullest) & (need->memory_bytes <= entry->memory_bytes);
}

/* score_cache.c */
struct score_cache_entry {
	double score;        /* infinite: it cannot take the resource request */
	uint32_t generation; /* of the group that was scored; 0: none */
	uint8_t gpu;
	bool apart;
};
struct score_cache {
	struct resource_request *resources;
	struct score_cache *newer, *older;
	uint64_t used; /* the cluster's score_cache_clock then */
	uint64_t seen; /* changes of the group index that are in it */
	uint32_t room;
	/* by the index of the group; in the same block, as the next */
	struct score_cache_entry *entries;
	uint32_t *best; /* of each block of groups */
};
#define SCORE_CACHE_NONE UINT32_MAX
/* The score cache of a resource request, up to date; NULL when it has none. */
struct score_cache *score_cache_get(struct strata_cluster *cluster,
				    struct resource_request *resources);
void score_cache_free(struct strata_cluster *cluster, struct score_cache *score_cache);
/* The index of the best group; SCORE_CACHE_NONE: none can take the resource request. */
uint32_t score_cache_best(const struct strata_cluster *cluster, struct score_cache *score_cache);

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
/* Of a need of the mix: the types it takes, "" for any; whether it wants GPUs, as far as a node can
 * have them. */
const char *mix_gpu_types(const struct strata_mix *mix, size_t index);
bool mix_wants_gpu(const struct strata_need *need);

/* resource_request.c */
int resources_get(struct strata_cluster *cluster, const struct strata_job_request *request,
		  struct resource_request **ret_resources, struct strata_error *err);
void resources_put(struct strata_cluster *cluster, struct resource_request *resources);
bool resources_takes_node_type(const struct resource_request *resources,
			       const struct node_type *node_type);
bool resources_takes_node(const struct resource_request *resources, uint32_t row);
/* Could empty nodes take it? One without sets is looked at by its texts. */
bool resources_possible(const struct strata_cluster *cluster,
			const struct resource_request *resources);
/* How many of its tasks fit into the room of a node. */
uint32_t resources_tasks_in(const struct resource_request *resources,
			    const struct strata_room *room, const struct node_type *node_type);
/* The need on one node when the tasks are spread over node_count nodes (the largest part). The
 * node type matters to exclusive ones only. */
struct strata_need resources_need(const struct resource_request *resources, uint32_t node_count,
				  const struct node_type *node_type);

/* placing.c: where a job would go. */
struct spot {
	struct node *node;
	struct strata_piece piece;
};
/* May the need go to this node, as far as a shadow is concerned? The node's group says which GPU a
 * share would get. */
typedef bool placing_filter(struct strata_cluster *cluster, struct node *node,
			    const struct strata_need *need, void *context);
/* What else is to be kept. */
struct placing_rules {
	const struct job *job;  /* what is reserved for others is kept from it; NULL: nothing is */
	placing_filter *filter; /* NULL: every node will do */
	void *context;
};
/* Fills `spots` (room for placing_spot_max) and returns how many, 0 when it does not fit now. A
 * job on one node is looked for only in groups that changed after version `since`: 0 for all. */
uint32_t placing_find(struct strata_cluster *cluster, struct resource_request *resources,
		      uint64_t since, const struct placing_rules *rules, struct spot *spots);
/* What the placement class says of a group; ret_gpu (may be NULL): the GPU for a share. */
double placing_score(struct strata_cluster *cluster, const struct node_group *group,
		     const struct strata_need *need, uint32_t *ret_gpu);
/* Would the GPUs be in several NUMA domains, as far as the placement cares? */
bool placing_apart(const struct strata_cluster *cluster, const struct node_group *group,
		   const struct strata_need *need);
/* Can the group of an entry take a part of the resource request, spread over so many nodes? Then
 * ret_need is that part. */
bool placing_fits(const struct group_index_entry *entry, const struct resource_request *resources,
		  uint32_t node_count, const struct node_type *node_type,
		  struct strata_need *ret_need);
heap_compare placing_compare; /* of the picks */
uint32_t placing_spot_max(const struct strata_cluster *cluster,
			  const struct resource_request *resources);

/* fit.c: in rooms (by row) that are not the nodes' own. */
/* Takes what the resource request needs, lowest rows first, and returns how many spots that is;
 * 0 and nothing taken when it does not fit. down_too: also where nothing can start just now. */
uint32_t fit_first(struct strata_cluster *cluster, const struct resource_request *resources,
		   struct strata_room *rooms, bool down_too, struct spot *spots);
/* Is the node up and one that the resource request may have? */
bool fit_takes(const struct resource_request *resources, const struct node *node);
/* The gang it starts with; a frozen job goes on alone. */
static inline struct gang *job_gang(const struct job *job)
{
	return job->suspended ? NULL : job->gang;
}
/* A job that is placed as a whole or not at all: one that stands for a gang, or a frozen one, which
 * goes on where it is. */
static inline bool fit_is_whole(const struct job *job)
{
	return job->gang || job->suspended;
}
/* Takes what such a job needs; spots has room for fit_whole_max, counts for as many as its gang has
 * jobs. 0 as above. */
uint32_t fit_whole(struct strata_cluster *cluster, const struct job *job, struct strata_room *rooms,
		   struct spot *spots, uint32_t *counts);
uint32_t fit_whole_max(const struct strata_cluster *cluster, const struct job *job);
/* How many nodes the resource request takes when its tasks are spread evenly over as few as will
 * do; 0: they cannot be. */
uint32_t fit_node_count(const struct strata_cluster *cluster,
			const struct resource_request *resources);

/* queue.c */
int queue_add(struct strata_cluster *cluster, struct job *job); /* at its place among those alike */
void queue_remove(struct strata_cluster *cluster, struct job *job);
/* The oldest of the jobs that have joined since the last pass; it is one no longer. NULL: none
 * left. */
struct job *queue_take_new(struct strata_cluster *cluster);
/* A part of a range that was cut off follows the range. */
void queue_add_rest(struct strata_cluster *cluster, struct job *job, struct job *rest);
void queue_forget_new(struct strata_cluster *cluster);
/* The context is a bool: bands are mixed. */
int queue_compare(const struct tree_node *a, const struct tree_node *b, void *context);
int64_t queue_predict(const struct strata_cluster *cluster,
		      const struct job *job); /* run time, 1 to its limit */
/* How long a job is counted on to hold its place: as predicted, if predictions of placed jobs are
 * corrected; else its limit. */
int64_t queue_hold_ns(const struct strata_cluster *cluster, const struct job *job);
/* Brings the order up to date with the time, for orders whose keys change with it. */
int queue_refresh(struct strata_cluster *cluster, struct strata_arena *arena,
		  struct strata_error *err);
struct pass;
/* Jobs in the queue, in its order, in the pass's arena: as many as have `most` elements
 * together, SIZE_MAX for all; a range is one of them. Costs what is listed, and the groups at
 * one place of the order. */
int queue_list(struct pass *pass, size_t most, struct job ***ret_jobs, size_t *ret_count);
static inline struct job_group *queue_job_group(struct tree_node *node)
{
	return node ? container_of(node, struct job_group, in_order) : NULL;
}

/* job.c */
void job_set_state(struct strata_cluster *cluster, struct job *job, enum strata_job_state state,
		   enum strata_reason reason);
static inline bool job_waits(const struct job *job)
{
	return job->state == STRATA_JOB_QUEUED || job->state == STRATA_JOB_PREEMPTED;
}
static inline bool job_placed(const struct job *job)
{
	return job->state == STRATA_JOB_SCHEDULED || job->state == STRATA_JOB_RUNNING;
}
struct strata_run job_run(const struct job *job); /* as predictions see it */

/* claim.c: what a placed job holds. */
/* Takes the spots, which are free. 0, or -ENOMEM and nothing happened. */
int claim_take(struct strata_cluster *cluster, struct job *job, const struct spot *spots,
	       uint32_t spot_count);
/* Gives back everything: the backfill is told. */
void claim_release(struct strata_cluster *cluster, struct job *job);
/* It has had its place since start_ns: what no store has charged of that is charged now. */
void claim_charge_since(struct strata_cluster *cluster, struct job *job, int64_t start_ns);
/* It ran for ran_ns, whatever the clock said: what was charged is corrected. */
void claim_charge_measured(struct strata_cluster *cluster, struct job *job, int64_t ran_ns);
/* A placed job becomes a frozen one and back: its memory stays where it is. */
void claim_freeze(struct strata_cluster *cluster, struct job *job);
bool claim_thaws(const struct job *job); /* is all it needs to go on free? */
void claim_thaw(struct strata_cluster *cluster, struct job *job);
/* Behind the claims, in the same block, are their pieces alone, for those who look from outside. */
static inline size_t claim_bytes(uint32_t count)
{
	return count * (sizeof(struct claim) + sizeof(struct strata_piece));
}
static inline const struct strata_piece *claim_pieces(const struct job *job)
{
	return job->claims ? (const struct strata_piece *)(job->claims + job->claim_count) : NULL;
}
/* The same without memory. */
static inline struct strata_piece claim_active(struct strata_piece piece)
{
	piece.memory_bytes = 0;
	return piece;
}

/* entity.c */
/* The one of that name in this map; made if unknown. */
int entity_get(struct strata_cluster *cluster, struct map_text *map, const char *name,
	       struct entity **ret_entity, struct strata_error *err);
int entity_get_account(struct strata_cluster *cluster, const char *name, struct entity *parent,
		       struct entity **ret_account, struct strata_error *err);
/* A node in the cluster's share for an account. */
int entity_add_share(struct strata_cluster *cluster, const char *name, const struct entity *parent,
		     double weight, uint64_t *ret_share, struct strata_error *err);
int entity_association(struct strata_cluster *cluster, const struct strata_job_request *request,
		       struct association **ret_association, struct strata_error *err);
void entity_accrue(struct strata_cluster *cluster, struct association *association);
/* So many GPU-hours more, or fewer than were charged before. */
void entity_charge(struct strata_cluster *cluster, struct association *association, double hours);
/* Up to when a store had charged it; 0: nothing came from a store. */
int64_t entity_stored_ns(const struct strata_cluster *cluster,
			 const struct association *association);
void entity_count_waiting(struct association *association, int64_t more);
void entity_count_placed(struct association *association, int64_t gpu_milli, int sign);
/* May a job of this resource request be placed now? NONE, or the reason why not; wake: when to look
 * again for that reason. */
enum strata_reason entity_limit(struct strata_cluster *cluster, struct association *association,
				const struct resource_request *resources);
/* So many more waiting jobs. */
int entity_admits(const struct association *association, uint32_t count, struct strata_error *err);
/* entity_set.c: the partition, if something was said about it. */
const struct entity *entity_partition(const struct strata_cluster *cluster, const char *partition);

/* depend.c */
int depend_init(struct strata_cluster *cluster, struct job *job,
		const struct strata_job_request *request, struct strata_error *err);
void depend_fini(struct strata_cluster *cluster, struct job *job); /* waits for nothing any more */
/* What a range waits for is waited for by a part of it, too: a copy of the job, whose links are to
 * be its own. 0 or -ENOMEM. */
int depend_cut(struct strata_cluster *cluster, struct job *job, struct job *rest);
void depend_started(struct strata_cluster *cluster, struct job *job); /* its first start */
void depend_ended(struct strata_cluster *cluster, struct job *job);
enum strata_reason depend_reason(const struct job *job); /* NONE: nothing to wait for */
/* What a job is to wait for instead, made ready in a draft, which depend_replace or
 * depend_drop_draft takes. The draft stays where it is until then. */
int depend_draft(struct strata_cluster *cluster, const struct job *job,
		 const struct strata_job_request *request, struct job *ret_draft,
		 struct strata_error *err);
void depend_drop_draft(struct strata_cluster *cluster, struct job *draft);
void depend_replace(struct strata_cluster *cluster, struct job *job, struct job *draft);
/* The jobs of its user under another name, among which it can be then without memory; NULL for no
 * name. Released again when nobody came. */
int depend_reserve_series(struct strata_cluster *cluster, const struct job *job, uint64_t name,
			  struct series **ret_series, struct strata_error *err);
void depend_release_series(struct strata_cluster *cluster, const struct job *job, uint64_t name,
			   struct series *series);
void depend_rename(struct strata_cluster *cluster, struct job *job, uint64_t name,
		   struct series *series);
/* Resolves what waits for this; the state each link gets is by its kind. */
void depend_resolve(struct strata_cluster *cluster, struct link **waiters,
		    const enum link_state states[STRATA_DEPENDENCY_KIND_COUNT]);

/* The same for an array, by how its elements have fared. */
void depend_array(struct strata_cluster *cluster, struct array *array);

/* array.c */
int array_join(struct strata_cluster *cluster, struct job *job,
	       const struct strata_job_request *request, struct strata_error *err);
void array_leave(struct strata_cluster *cluster, struct job *job); /* forgotten */
/* The job that has, or the range that contains, the element; NULL: none. */
struct job *array_get(const struct strata_cluster *cluster, const struct array *array,
		      uint32_t index);
void array_started(struct strata_cluster *cluster, struct job *job);
void array_ended(struct strata_cluster *cluster, struct job *job);

/* respecify.c: what waiting jobs ask for becomes another. */
struct renewal {
	const struct strata_job_change *change; /* without REQUEST and DEPENDENCIES: nothing */
	struct resource_request *resources;     /* one reference */
	struct association *association;
	uint64_t name;
	struct series *series;
	struct job *drafts; /* of each job, with its dependencies; NULL: they stay */
	size_t draft_count, draft_next;
};
/* Each in a state for it? */
int respecify_check(const struct job *job, struct strata_error *err);
/* All that can fail. The jobs were cut out of their ranges. */
int respecify_prepare(struct strata_cluster *cluster, uint64_t id, uint32_t count,
		      const struct strata_job_change *change, struct renewal *ret_renewal,
		      struct strata_error *err);
/* The next of them, which is not in the queue. */
void respecify_job(struct strata_cluster *cluster, struct job *job, struct renewal *renewal);
void respecify_finish(struct strata_cluster *cluster, const struct job *any,
		      struct renewal *renewal);

/* range.c: elements of an array that are one job. */
/* Can what is asked for be one job, as far as its elements do not each depend on something else? */
bool range_allows(const struct strata_job_request *request);
void range_enter(struct strata_cluster *cluster, struct job *job); /* a new job */
void range_leave(struct strata_cluster *cluster, struct job *job);
/* The job that has this id, or the range that contains it; NULL: none. */
struct job *range_get(const struct strata_cluster *cluster, uint64_t id);
/* The job keeps its first few elements, all others become a job of their own, which is behind it
 * in whatever it is in. 0, or -ENOMEM and nothing happened. */
int range_cut(struct strata_cluster *cluster, struct job *job, uint32_t keep);
/* So many elements from this id on: no range contains one of them and another. 0, -ESRCH when one
 * is not there, -ENOMEM. */
int range_take_all(struct strata_cluster *cluster, uint64_t id, uint32_t count,
		   struct strata_error *err);
/* One after the other of these: the job or range at *at, which moves behind it; NULL at the end. */
struct job *range_next(const struct strata_cluster *cluster, uint64_t *at, uint64_t end);
/* The element as a job of its own. 0, -ESRCH, -ENOMEM. */
int range_take(struct strata_cluster *cluster, uint64_t id, struct job **ret_job,
	       struct strata_error *err);
/* Nothing in the queue is a range any more. 0 or -ENOMEM. */
int range_cut_queue(struct strata_cluster *cluster);
tree_compare range_compare;

/* gang.c */
int gang_join(struct strata_cluster *cluster, struct job *job,
	      const struct strata_job_request *request, struct strata_error *err);
void gang_leave(struct strata_cluster *cluster, struct job *job);
/* One is free of other reasons to wait, or is not. The first of a gang that is complete stands
 * for all in the queue: gang_stand returns it once they all are; NULL before. */
struct job *gang_stand(struct job *job);
void gang_unready(struct strata_cluster *cluster, struct job *job);
struct pass;
enum pass_result {
	PASS_STARTED,
	PASS_NO_ROOM,
	PASS_SKIP,  /* something but room is in the way: others may go past it */
	PASS_FAILED /* for lack of memory */
};
/* May all of them be placed, as far as limits are concerned? */
enum strata_reason gang_limit(struct strata_cluster *cluster, const struct gang *gang);
/* Starts all of them or none; none that would stay past that time. */
enum pass_result gang_try(struct pass *pass, struct gang *gang, int64_t before_ns);
/* Starts all of them on spots that are free, `planned` of each. */
enum pass_result gang_start(struct pass *pass, struct gang *gang, const struct spot *spots);
/* Where they would all fit, in these rooms (by row), each where it comes first. Takes the room.
 * 0 when they do not; spots of all, one after the other. */
uint32_t gang_fit(struct strata_cluster *cluster, const struct gang *gang,
		  struct strata_room *rooms, bool down_too, struct spot *spots, uint32_t *counts);
int64_t gang_longest_ns(const struct gang *gang); /* the longest time limit of them */
uint32_t gang_spot_max(const struct strata_cluster *cluster, const struct gang *gang);

/* preempt.c */
int preempt_pass(struct pass *pass);

/* stop.c */
/* A placed job is to end or freeze within grace_ns. */
void stop_job(struct strata_cluster *cluster, struct job *job, enum strata_stop mode,
	      int64_t grace_ns, uint64_t preemptor);
int stop_pass(struct pass *pass); /* tells of stops that somebody asked for */
int64_t stop_grace_ns(const struct strata_cluster *cluster);
void stop_forget(struct strata_cluster *cluster, struct job *job);

/* checkpoint.c */
void checkpoint_free(struct strata_cluster *cluster, struct job *job);
int checkpoint_pass(struct pass *pass); /* effects that are due */
void checkpoint_watch(struct strata_cluster *cluster,
		      struct job *job); /* it is asked for one when due */
void checkpoint_unwatch(struct strata_cluster *cluster, struct job *job);
int64_t checkpoint_next_ns(const struct strata_cluster *cluster);
static inline int64_t checkpoint_last_ns(const struct job *job)
{
	return job->checkpoints ? job->checkpoints[0].time_ns : 0;
}

struct shadow;

/* pass.c: what backfills use. */
struct pass {
	struct strata_cluster *cluster;
	int64_t now_ns;
	struct strata_arena *arena;
	struct strata_effect *effects;
	size_t effect_count, effect_room;
	struct spot *spots;
	uint32_t spot_room;
	struct strata_error *err;
};
/* Starts a waiting job on these spots, which must be free. 0 or -ENOMEM. */
int pass_start(struct pass *pass, struct job *job, const struct spot *spots, uint32_t spot_count);
/* Lets a frozen job go on; what it needs is free. 0 or -ENOMEM. */
int pass_resume(struct pass *pass, struct job *job);
/* An effect to fill in; NULL: no memory. */
struct strata_effect *pass_effect(struct pass *pass);
/* Room for so many effects, so that the next ones cannot fail. 0 or -ENOMEM. */
int pass_reserve(struct pass *pass, size_t effect_count);
/* A job that holds its claims is scheduled. Room for the effect was reserved; pieces for it are in
 * the arena. */
void pass_commit(struct pass *pass, struct job *job, struct strata_piece *pieces);
/* Is something but room in the way of a job in the queue? Its reason is brought up to date. */
bool pass_obstructed(struct strata_cluster *cluster, struct job *job);
/* A job that found no room: would it have, but for what is reserved? */
bool pass_reserved(struct pass *pass, const struct job *job);
/* Tries to place and start the first job of the job group. */
enum pass_result pass_try(struct pass *pass, struct job_group *job_group, struct shadow *shadow);
/* Starts jobs from the head of the queue as long as they fit, past those that never will.
 * ret_blocked: the job group that does not; NULL: none is left. 0 or -ENOMEM. */
int pass_start_head(struct pass *pass, struct job_group **ret_blocked);
/* Walks the queue from a job group on while jobs are started and job groups move: the job group
 * to look at after `job group`, of which a job was started or not; `next` is what came behind it
 * before. */
struct job_group *pass_next(struct pass *pass, struct job_group *job_group, struct job_group *next,
			    bool still_there);

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

/* shadow.c: the shadow of the job at the head. */
struct shadow {
	struct job *job;
	int64_t start_ns;        /* INT64_MAX: never, as things stand */
	int64_t firm_ns;         /* from then on nothing goes before it on a prediction alone */
	uint64_t wanted;         /* nodes, or tasks when it did not say how many nodes */
	uint64_t spare;          /* how many more there will be at that time */
	uint32_t tasks_per_node; /* when `wanted` counts nodes */
	bool exact; /* of a whole: `later` is what its pieces leave, and that alone counts */
};
/* 0, or -ENOMEM (of a whole only; scratch is in the pass's arena). */
int shadow_find(struct pass *pass, struct job *job, struct shadow *ret_shadow);
/* May a need that would stay past the reserved start go to this node? A placing_filter; the context
 * is the shadow. */
bool shadow_allows(struct strata_cluster *cluster, struct node *node,
		   const struct strata_need *need, void *context);
/* The same of all spots together. */
bool shadow_allows_all(struct strata_cluster *cluster, const struct shadow *shadow,
		       const struct spot *spots, uint32_t count);
/* These spots were taken after the shadow was found, by a job that stays past it or is taken to be
 * gone by then. */
void shadow_note(struct strata_cluster *cluster, struct shadow *shadow, const struct spot *spots,
		 uint32_t count, bool stays);

/* advance.c: what is reserved. */
/* Takes from a room of the node what is kept from the job at some time of [from, to). When the
 * first reservation that does so ends; INT64_MAX: none does, and nothing was taken. */
int64_t advance_room(const struct node *node, const struct job *job, int64_t from_ns, int64_t to_ns,
		     struct strata_room *room);
/* Is anything of the node kept from it then? */
bool advance_keeps(const struct node *node, const struct job *job, int64_t from_ns, int64_t to_ns);
/* When a reservation next begins or ends after a time; INT64_MAX: never. */
int64_t advance_next_ns(const struct strata_cluster *cluster, int64_t after_ns);
void advances_pass(struct strata_cluster *cluster); /* one may have begun or ended */
uint64_t advances_digest(const struct strata_cluster *cluster);
void advances_free(struct strata_cluster *cluster);

/* enqueue.c: what stands between a job and the queue. */
/* Into the queue, or where it waits that may not be in it yet. 0 or -ENOMEM. */
int enqueue_job(struct strata_cluster *cluster, struct job *job);
/* Out of wherever it waits. */
void enqueue_undo(struct strata_cluster *cluster, struct job *job);
/* The same now, or when there is no memory for it at the next pass: cannot fail. */
void enqueue_back(struct strata_cluster *cluster, struct job *job);
/* To be looked at again by the next pass: cannot fail. */
void enqueue_later(struct strata_cluster *cluster, struct job *job);
/* A part of a range that was cut off is, too, if the range is. */
void enqueue_rest(struct strata_cluster *cluster, struct job *job, struct job *rest);
/* Looks at those, and at begin times that have come. */
int enqueue_pass(struct pass *pass);

/* cluster.c */
void cluster_count_room(struct strata_cluster *cluster, const struct strata_piece *piece, int sign);
void cluster_clock(struct strata_cluster *cluster, int64_t now_ns);
/* Everything that changes what is decided begins with this: who listens hears of it as the event
 * with these members. */
#define cluster_tell(cluster, ...)                                                   \
	do {                                                                         \
		if ((cluster)->conf.told)                                            \
			(cluster)->conf.told((cluster)->conf.told_context,           \
					     &(struct strata_event){ __VA_ARGS__ }); \
	} while (0)
/* life.c */
/* The number of a name; 0: of none. */
int life_name(struct strata_cluster *cluster, const char *name, uint64_t *ret_number,
	      struct strata_error *err);
int life_wrong_state(const struct job *job, const char *expected,
		     struct strata_error *err); /* -ESTALE */
void life_note_started(struct strata_cluster *cluster, struct job *job);
/* It has run at least once: who waited for that need not wait any more. */
void life_note_first_start(struct strata_cluster *cluster, struct job *job);
void cluster_free_job(struct strata_cluster *cluster, struct job *job);
/* A placed job loses its place: back to the queue or failed, told by the next pass. */
void cluster_lose(struct strata_cluster *cluster, struct job *job, bool again,
		  enum strata_reason reason);
/* The cluster tells the backfill that a job holds nothing any more, now or later. */
void cluster_gone(struct strata_cluster *cluster, struct job *job);

#endif
