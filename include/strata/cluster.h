/*
 * The cluster level: which job starts on which GPUs of which nodes, and when.
 *
 * A struct strata_cluster holds nodes and jobs and decides; it does nothing itself. The caller tells it what happened
 * (submitted, started, ended, a node died), always with the time, and asks for a pass; a pass returns effects: start this
 * job there, preempt that one. So the service, the simulator and the tests run the same decisions.
 *
 * How it decides is chosen by classes: an order of the queue, a placement, a backfill, a prediction of run times
 * (`strata classes order`, placement, backfill, prediction).
 *
 * Not thread-safe: one owner. Time is int64_t nanoseconds of any clock and does not go back; an earlier time counts as the
 * latest seen. All memory comes from the struct strata_memory given at creation; scratch of one pass from the caller's
 * arena.
 */
#ifndef STRATA_CLUSTER_H
#define STRATA_CLUSTER_H

#include <strata/class.h>
#include <strata/error.h>
#include <strata/memory.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- jobs ---- */

enum strata_job_state {
	STRATA_JOB_QUEUED,    /* waits; the reason says for what */
	STRATA_JOB_SCHEDULED, /* has its place; the start was ordered but not yet reported */
	STRATA_JOB_RUNNING,
	STRATA_JOB_PREEMPTED, /* gave up its place for another; waits to come back */
	STRATA_JOB_COMPLETED,
	STRATA_JOB_FAILED,
	STRATA_JOB_CANCELLED,
};
enum { STRATA_JOB_STATE_COUNT = STRATA_JOB_CANCELLED + 1 };

/* Why a job is not running, or how it ended. */
enum strata_reason {
	STRATA_REASON_NONE,
	STRATA_REASON_PRIORITY,     /* others are before it */
	STRATA_REASON_RESOURCES,    /* it is next; what it needs is not free */
	STRATA_REASON_BEGIN_TIME,   /* it asked to start later */
	STRATA_REASON_HELD,         /* held by its owner or an operator */
	STRATA_REASON_IMPOSSIBLE,   /* no node, however empty, could take it */
	STRATA_REASON_NODE_DOWN,    /* the nodes that could take it are down or drained */
	STRATA_REASON_TIME_LIMIT,   /* ended: ran past its limit */
	STRATA_REASON_NODE_FAILURE, /* ended or requeued: its node died */
	STRATA_REASON_EXIT_CODE,    /* ended: its exit status was not 0 */
};
enum { STRATA_REASON_COUNT = STRATA_REASON_EXIT_CODE + 1 };

/* May a job go from one state to the other? */
bool strata_job_may(enum strata_job_state from, enum strata_job_state to);
bool strata_job_ended(enum strata_job_state state);             /* completed, failed or cancelled */
const char *strata_job_state_name(enum strata_job_state state); /* "queued" */
const char *strata_reason_name(enum strata_reason reason);      /* "begin_time" */
const char *strata_reason_words(enum strata_reason reason);     /* "it asked to start later" */

enum strata_band { STRATA_BAND_LOW, STRATA_BAND_NORMAL, STRATA_BAND_HIGH };
enum { STRATA_BAND_COUNT = STRATA_BAND_HIGH + 1 };
const char *strata_band_name(enum strata_band band);

/* What a job asks for. Texts are copied. */
struct strata_job_request {
	uint64_t id;           /* the caller's, not 0, never used twice */
	const char *user;      /* not NULL */
	const char *account;   /* NULL: the user's own */
	const char *partition; /* NULL: any node */
	const char *name;      /* NULL: none; what predictions may learn by */
	enum strata_band band;
	int64_t priority; /* finer than the band: higher first, 0 normal */

	uint32_t tasks;       /* at least 1; one task never spans nodes */
	uint32_t nodes;       /* exactly so many; 0: as few as will do */
	int64_t cpu_milli;    /* of one task, in thousandths of a core */
	int64_t memory_bytes; /* of one task */
	uint32_t gpus;        /* whole GPUs of one task */
	uint32_t gpu_milli; /* of one task: a share of one GPU, 1 to 999; 0: none. Not with gpus */
	const char *gpu_type;     /* "a100" or "a100|h100"; NULL: any */
	const char *features;     /* "big,ib": all of them; NULL: none */
	const char *node_list;    /* "n1,n2": only these; NULL: any */
	const char *node_exclude; /* NULL: none */
	bool exclusive;           /* whole nodes */

	int64_t time_limit_ns; /* at least 1 */
	int64_t begin_ns;      /* not before; 0: at once */
	bool held;
	bool requeue; /* goes back to the queue when its node dies; else it fails */
};

/* ---- nodes ---- */

enum { STRATA_NODE_GPUS_MAX = 16 };

struct strata_node_conf {
	const char *name;
	int64_t cpu_milli;
	int64_t memory_bytes;
	uint32_t gpu_count;                 /* up to STRATA_NODE_GPUS_MAX */
	const char *gpu_type;               /* NULL when gpu_count is 0 */
	uint8_t numa[STRATA_NODE_GPUS_MAX]; /* NUMA domain of each GPU */
	const char *features;               /* "big,ib"; NULL: none */
	const char *partitions;             /* "gpu,debug"; NULL: every partition */
};

enum strata_node_state {
	STRATA_NODE_UP,
	STRATA_NODE_DRAINED, /* what runs may finish, nothing starts */
	STRATA_NODE_DOWN,    /* what ran there is lost */
};

/* What is free on a node, or on it when empty: the vector that placements look at. */
struct strata_room {
	int64_t cpu_milli;
	int64_t memory_bytes;
	uint16_t gpu_milli[STRATA_NODE_GPUS_MAX]; /* 1000: untouched */
};

/* What a job needs of one node. */
struct strata_need {
	int64_t cpu_milli;
	int64_t memory_bytes;
	uint32_t gpus;      /* untouched ones */
	uint32_t gpu_milli; /* of a single one; 0: none */
};

/* Part of a job on one node. */
struct strata_piece {
	uint32_t node; /* its row: the order in which nodes were added, from 0 */
	uint32_t tasks;
	int64_t cpu_milli;
	int64_t memory_bytes;
	uint16_t gpu_mask;  /* which GPUs */
	uint16_t gpu_milli; /* of each: 1000, or a share of the one GPU */
};

/* ---- classes ---- */

/* What an order may look at. Smaller keys go first; equal ones in the order of submission. */
struct strata_order_job {
	int64_t submit_ns, now_ns;
	int64_t requested_ns, predicted_ns; /* run times */
	double size;                        /* GPUs, or CPUs when it has none */
	int64_t priority;
	enum strata_band band;
	double share;        /* of its user: weight / (usage + 1) */
	double share_factor; /* of its user in the account tree: 0 to 1 */
	double cluster_size; /* as `size`, of all nodes */
};

struct strata_order_class {
	struct strata_class base;
	bool changes_with_time; /* the key of a waiting job may change: keys are computed at every pass */
	bool wants_share;       /* looks at share or share_factor */
	double (*key)(const void *conf, const struct strata_order_job *job);
};
extern const struct strata_kind strata_order_kind;

/* What jobs are like on this cluster, for placements that leave room for the usual ones. */
struct strata_mix {
	const struct strata_need *needs; /* borrowed */
	const char *const *gpu_types;    /* of each need, as in a request; NULL entries: any */
	const double *parts;             /* of each need; they add up to 1 or less */
	size_t count;
};

/* Counts what has been asked for and keeps the most common needs until they make up `cover` (above 0, up to 1) of all, at
 * most STRATA_MIX_COUNT_MAX; their parts add up to 1. Needs that differ in memory alone count as one, and the mix has
 * none of it. Equally common ones come in the order of their first appearance. gpu_types may be NULL: any for all. The
 * arrays are in the arena, the texts stay the caller's. */
int strata_mix_make(const struct strata_need *needs, const char *const *gpu_types, size_t count,
		    double cover, struct strata_arena *arena, struct strata_mix *ret_mix,
		    struct strata_error *err);

/* A node as a placement sees it. Nodes that are alike in all of this are asked about once. */
struct strata_candidate {
	const struct strata_room *room;  /* free now */
	const struct strata_room *whole; /* when empty */
	uint32_t gpu_count;
	const char *gpu_type; /* NULL: no GPUs */
	const uint8_t *numa;
};

struct strata_placement_class {
	struct strata_class base;
	bool ignores_need; /* the score looks at the node alone; it is asked for once, with a need of nothing */
	bool keeps_together; /* of equal scores, one where the GPUs are in one NUMA domain wins before the lowest row */
	/* The state is the class's own, made from the mix (NULL: nothing is known) and the memory given, both borrowed until
	 * close. NULL functions: there is none. */
	int (*open)(const void *conf, const struct strata_mix *mix, struct strata_memory *memory,
		    void **ret_state, struct strata_error *err);
	void (*close)(void *state);
	/* How bad it would be to put the need there, which fits: the smallest wins, then the lowest row. Finite, and the
	 * same whenever it is asked for: it may be remembered. ret_gpu may be set to the GPU that a shared need (gpu_milli)
	 * should use; it comes as the fullest that will do. */
	double (*score)(const void *conf, void *state, const struct strata_candidate *node,
			const struct strata_need *need, uint32_t *ret_gpu);
};
extern const struct strata_kind strata_placement_kind;

/* What a prediction may learn from and is asked about. */
struct strata_run {
	uint64_t user; /* small numbers, one per user and per name */
	uint64_t name;
	double size;
	int64_t submit_ns;
	int64_t requested_ns;
};

struct strata_prediction_class {
	struct strata_class base;
	bool exact; /* predicts the limit itself: nothing is learned */
	/* The state is the class's own, made from the memory given; NULL functions: there is none. */
	int (*open)(const void *conf, struct strata_memory *memory, void **ret_state,
		    struct strata_error *err);
	void (*close)(void *state);
	/* How long a waiting job will run: 1 to requested_ns. */
	int64_t (*predict)(const void *conf, const void *state, const struct strata_run *run);
	/* It is still running after elapsed_ns, as long as predicted: how long now? More than elapsed_ns, or requested_ns.
	 * NULL: only waiting jobs are predicted, and of a placed one it is requested_ns from the start. */
	int64_t (*correct)(const void *conf, const void *state, const struct strata_run *run,
			   int64_t elapsed_ns, uint32_t corrections);
	/* It ended by itself after ran_ns. For lack of memory it may forget. */
	void (*learn)(const void *conf, void *state, const struct strata_run *run, int64_t ran_ns);
};
extern const struct strata_kind strata_prediction_kind;

/* Backfills work on the insides of a cluster and cannot be plug-ins. */
extern const struct strata_kind strata_backfill_kind;

/* ---- the cluster ---- */

struct strata_cluster;

/* The specs are borrowed until strata_cluster_free. A zeroed spec means the default: fifo, best_fit, easy, requested. */
struct strata_cluster_conf {
	struct strata_spec order, placement, backfill, prediction;
	int64_t half_life_ns;         /* of usage; 0: 24 hours */
	const struct strata_mix *mix; /* for placements that want it; borrowed; NULL: none */
};

int strata_cluster_new(const struct strata_cluster_conf *conf, struct strata_memory *memory,
		       struct strata_cluster **ret_cluster, struct strata_error *err);
void strata_cluster_free(struct strata_cluster *cluster);

/* Adds a node; ret_row is its number. Before the first job only. */
int strata_cluster_add_node(struct strata_cluster *cluster, const struct strata_node_conf *conf,
			    uint32_t *ret_row, struct strata_error *err);

/* Weight of a user's share; made if unknown. */
int strata_cluster_set_user(struct strata_cluster *cluster, const char *user, double weight,
			    struct strata_error *err);

/* Takes a job in. -EEXIST for an id that was used, -EINVAL for a request that contradicts itself. A request that no node
 * could ever satisfy is taken and waits with STRATA_REASON_IMPOSSIBLE. */
int strata_cluster_submit(struct strata_cluster *cluster, const struct strata_job_request *request,
			  int64_t now_ns, struct strata_error *err);

/* The start that a pass ordered has happened (-ESRCH, -ESTALE when it is not scheduled). */
int strata_cluster_started(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			   struct strata_error *err);

enum strata_outcome {
	STRATA_OUTCOME_COMPLETED,
	STRATA_OUTCOME_FAILED,
	STRATA_OUTCOME_TIME_LIMIT,
	STRATA_OUTCOME_START_FAILED, /* never ran: goes back to its place in the queue */
};
/* A scheduled or running job has ended: its place is free. */
int strata_cluster_ended(struct strata_cluster *cluster, uint64_t id, enum strata_outcome outcome,
			 int64_t now_ns, struct strata_error *err);

/* Takes a waiting job out, or marks a placed one as cancelled and frees its place: the caller stops it first. */
int strata_cluster_cancel(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			  struct strata_error *err);
int strata_cluster_hold(struct strata_cluster *cluster, uint64_t id, bool held, int64_t now_ns,
			struct strata_error *err);

/* A node dies, is drained or comes back. Jobs of a dead node are requeued or fail, as they asked; the caller is told by the
 * effects of the next pass. */
int strata_cluster_set_node(struct strata_cluster *cluster, uint32_t row,
			    enum strata_node_state state, int64_t now_ns, struct strata_error *err);

enum strata_effect_kind {
	STRATA_EFFECT_START, /* start it on the pieces, then report started or ended */
	STRATA_EFFECT_LOST, /* its node died: clean up; `state` says whether it failed or is queued again */
};

struct strata_effect {
	enum strata_effect_kind kind;
	uint64_t job;
	enum strata_job_state state;
	uint32_t attempt;                  /* 1 for the first start */
	const struct strata_piece *pieces; /* START: in the pass's arena */
	uint32_t piece_count;
};

/* One pass: starts what may start now. Effects are in the arena, in the order of decisions. When it fails for lack of
 * memory, nothing was started that is not among the effects already decided; ask again. */
int strata_cluster_pass(struct strata_cluster *cluster, int64_t now_ns, struct strata_arena *arena,
			const struct strata_effect **ret_effects, size_t *ret_count,
			struct strata_error *err);

/* When a pass is due even if nothing happens: a begin time, a promised start, an end that was predicted. INT64_MAX: never. */
int64_t strata_cluster_next_ns(const struct strata_cluster *cluster);

/* How good a placement is, to be shown to people: 50 on several nodes; on one node 100, up to 20 more the less of that node
 * is left idle (its GPUs, or its CPUs when it has none), as things stand, and 30 more when the job's GPUs are in one NUMA
 * domain, as one GPU or none always is. 0 without pieces. The pieces are of this cluster. */
int strata_placement_quality(const struct strata_cluster *cluster,
			     const struct strata_piece *pieces, uint32_t piece_count);

/* What is known about a job. */
struct strata_job_view {
	uint64_t id;
	enum strata_job_state state;
	enum strata_reason reason;
	uint32_t attempt;
	int64_t submit_ns, start_ns, end_ns; /* 0: not yet */
	int64_t expected_end_ns;             /* of a placed job */
	int64_t promised_ns; /* no later than this, unless others run longer than was predicted; 0: no promise */
	const struct strata_piece *pieces; /* of a placed job; until the next change */
	uint32_t piece_count;
};
int strata_cluster_job(const struct strata_cluster *cluster, uint64_t id,
		       struct strata_job_view *ret_view, struct strata_error *err);

/* Forgets an ended job. */
int strata_cluster_forget(struct strata_cluster *cluster, uint64_t id, struct strata_error *err);

struct strata_cluster_stats {
	size_t node_count, nodes_up;
	size_t jobs[STRATA_JOB_STATE_COUNT];
	size_t lots;                       /* groups of waiting jobs that are alike */
	int64_t cpu_milli, cpu_milli_free; /* of nodes that are up */
	int64_t gpu_milli, gpu_milli_free;
	uint64_t passes;
};
void strata_cluster_stats(const struct strata_cluster *cluster,
			  struct strata_cluster_stats *ret_stats);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
