/*
 * The cluster level: which job starts on which GPUs of which nodes, and when.
 *
 * A struct strata_cluster holds nodes and jobs and decides; it does nothing itself. The caller
 * tells it what happened (submitted, started, ended, a node died), always with the time, and asks
 * for a pass; a pass returns effects: start this job there, preempt that one. So the service, the
 * simulator and the tests run the same decisions.
 *
 * How it decides is chosen by classes: an order of the queue, a placement, a backfill, a prediction
 * of run times (`strata classes order`, placement, backfill, prediction).
 *
 * Not thread-safe: one owner. Time is int64_t nanoseconds of any clock and does not go back; an
 * earlier time counts as the latest seen. All memory comes from the struct strata_memory given at
 * creation; scratch of one pass from the caller's arena.
 */
#ifndef STRATA_CLUSTER_H
#define STRATA_CLUSTER_H

#include <strata/class.h>
#include <strata/error.h>
#include <strata/limits.h>
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
	STRATA_REASON_PRIORITY,         /* others are before it */
	STRATA_REASON_RESOURCES,        /* it is next; what it needs is not free */
	STRATA_REASON_BEGIN_TIME,       /* it asked to start later */
	STRATA_REASON_HELD,             /* held by its owner or an operator */
	STRATA_REASON_IMPOSSIBLE,       /* no node, however empty, could take it */
	STRATA_REASON_NODE_DOWN,        /* the nodes that could take it are down or drained */
	STRATA_REASON_TIME_LIMIT,       /* ended: ran past its limit */
	STRATA_REASON_NODE_FAILURE,     /* ended or requeued: its node died */
	STRATA_REASON_EXIT_CODE,        /* ended: its exit status was not 0 */
	STRATA_REASON_DEPENDENCY,       /* the jobs it waits for are not that far */
	STRATA_REASON_DEPENDENCY_NEVER, /* what it waits for cannot happen any more */
	STRATA_REASON_USER_LIMIT,       /* its user has as much as is allowed */
	STRATA_REASON_ACCOUNT_LIMIT,    /* its account, or one above it, has */
	STRATA_REASON_QOS_LIMIT,        /* its quality of service has */
	STRATA_REASON_SERVICE_LIMIT,    /* as many jobs run as can be looked after */
	STRATA_REASON_PARTITION_DOWN,   /* its partition is down or inactive */
	STRATA_REASON_ARRAY_LIMIT,      /* as many of its array run as were asked for */
	STRATA_REASON_GANG,             /* the others of its gang cannot start yet */
	STRATA_REASON_PREEMPTED,        /* it gave up its place for another job */
	STRATA_REASON_SUSPENDED,        /* it is frozen where it is */
	STRATA_REASON_REQUEUED,         /* it was sent back to the queue */
	STRATA_REASON_START_FAILED,     /* ended: it could not be started */
	STRATA_REASON_OUT_OF_MEMORY,    /* ended: it used more memory than it asked for */
	STRATA_REASON_RESERVED, /* what is free is reserved for others before it would end */
};
enum { STRATA_REASON_COUNT = STRATA_REASON_RESERVED + 1 };

/* May a job go from one state to the other? */
bool strata_job_may(enum strata_job_state from, enum strata_job_state to);
bool strata_job_ended(enum strata_job_state state);             /* completed, failed or cancelled */
const char *strata_job_state_name(enum strata_job_state state); /* "queued" */
const char *strata_reason_name(enum strata_reason reason);      /* "begin_time" */
const char *strata_reason_words(enum strata_reason reason);     /* "it asked to start later" */

enum strata_band { STRATA_BAND_LOW, STRATA_BAND_NORMAL, STRATA_BAND_HIGH };
enum { STRATA_BAND_COUNT = STRATA_BAND_HIGH + 1 };
const char *strata_band_name(enum strata_band band);

/* What a job waits for. */
enum strata_dependency_kind {
	STRATA_AFTER,        /* the other has started, or was cancelled before */
	STRATA_AFTER_ANY,    /* it has ended, whichever way */
	STRATA_AFTER_OK,     /* it has completed */
	STRATA_AFTER_NOT_OK, /* it has failed or was cancelled */
	/* of the same index in that array: it has completed. An element without a partner waits for
	 * all */
	STRATA_AFTER_CORR,
	STRATA_SINGLETON, /* all older jobs of this user and name have ended */
};
enum { STRATA_DEPENDENCY_KIND_COUNT = STRATA_SINGLETON + 1 };
const char *strata_dependency_name(enum strata_dependency_kind kind); /* "afterok" */

/* What the caller knows of a job that the cluster does not know any more. */
enum strata_known {
	STRATA_KNOWN_NOT,   /* nothing: the cluster knows that job */
	STRATA_KNOWN_MET,   /* the dependency is met */
	STRATA_KNOWN_NEVER, /* it cannot be met any more */
};
enum { STRATA_KNOWN_COUNT = STRATA_KNOWN_NEVER + 1 };

struct strata_dependency {
	enum strata_dependency_kind kind;
	uint64_t job;     /* 0 for SINGLETON */
	bool array;       /* `job` is the number of an array: all of its elements count */
	int64_t delay_ns; /* AFTER: so long after the start */
	bool array_bad;   /* an element that the cluster has forgotten failed or was cancelled */
	enum strata_known known;
};

/* What a job asks for. Texts and dependencies are copied. */
struct strata_job_request {
	uint64_t id;           /* the caller's, not 0, never used twice */
	const char *user;      /* not NULL */
	const char *account;   /* NULL: the user's own */
	const char *partition; /* NULL: any node */
	const char *qos;       /* NULL: none */
	const char *name;      /* NULL: none; what predictions may learn by */
	enum strata_band band;
	int64_t priority; /* finer than the band: higher first, 0 normal */

	uint32_t tasks;       /* at least 1; one task never spans nodes */
	uint32_t nodes;       /* exactly so many; 0: as few as will do */
	int64_t cpu_milli;    /* of one task, in thousandths of a core */
	int64_t memory_bytes; /* of one task */
	uint32_t gpus;        /* whole GPUs of one task */
	uint32_t gpu_milli; /* of one task: a share of one GPU, 1 to 999; 0: none. Not with gpus */
	/* whole GPUs of every node, however many tasks it gets. Wants nodes; not with the two
	 * above */
	uint32_t gpus_per_node;
	/* of every node, likewise. Wants nodes; not with memory_bytes */
	int64_t memory_per_node_bytes;
	const char *gpu_type;     /* "a100" or "a100|h100"; NULL: any */
	const char *features;     /* "big,ib": all of them; NULL: none */
	const char *node_list;    /* "n1,n2": only these; NULL: any */
	const char *node_exclude; /* NULL: none */
	bool exclusive;           /* whole nodes */

	int64_t time_limit_ns; /* at least 1 */
	int64_t begin_ns;      /* not before; 0: at once */
	bool held;
	bool requeue; /* goes back to the queue when its node dies; else it fails */

	/* nobody's usage grows by what it holds: those whom it works for are charged */
	bool uncharged;
	/* may be stopped for a job of a higher band, where the cluster does that */
	bool preemptible;
	/* it is asked to write a checkpoint so often; 0: only before it is stopped */
	int64_t checkpoint_ns;

	const struct strata_dependency *dependencies;
	size_t dependency_count; /* up to STRATA_DEPENDENCY_COUNT_MAX */
	bool any_dependency;     /* one of them is enough */
	/* cancelled once they cannot be met any more; else it waits and says so */
	bool cancel_if_never;

	uint64_t array;       /* number of the array it is an element of; 0: none */
	uint32_t array_index; /* its index there, used once */
	/* so many of the array may be placed at a time; 0: any number. The same in all elements */
	uint32_t array_limit;
	/* so many elements at once, up to STRATA_ARRAY_INDEX_MAX + 1: the ids from `id` on, the
	 * indexes array_index, array_index + array_step, …; 0 or 1: this one. They cost what one
	 * job costs until they differ from each other */
	uint32_t array_count;
	uint32_t array_step; /* at least 1 when array_count is above 1 */

	uint64_t gang; /* jobs of one gang start together or not at all; 0: none */
	/* how many they are, up to STRATA_GANG_SIZE_MAX; none starts before all are there */
	uint32_t gang_size;
};

/* ---- nodes ---- */

enum { STRATA_NODE_GPUS_MAX = 16 };

struct strata_node_conf {
	const char *name;
	int64_t cpu_milli;
	int64_t memory_bytes;
	uint32_t gpu_count;   /* up to STRATA_NODE_GPUS_MAX */
	const char *gpu_type; /* NULL when gpu_count is 0 */
	/* domain of each GPU: its NUMA node, or its NVLink group where those are finer */
	uint8_t numa[STRATA_NODE_GPUS_MAX];
	const char *features;   /* "big,ib"; NULL: none */
	const char *partitions; /* "gpu,debug"; NULL: every partition */
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
	double boost; /* of its band, see struct strata_cluster_conf */
	/* priorities of its partition and quality of service, 0 when nothing is known of them */
	double partition;
	double qos;
	double share;        /* of its user: weight / (usage + 1) */
	double share_factor; /* of its user in the account tree: 0 to 1 */
	double cluster_size; /* as `size`, of all nodes */
};

struct strata_order_class {
	struct strata_class base;
	/* the key of a waiting job may change: keys are computed at every pass */
	bool changes_with_time;
	bool wants_share; /* looks at share or share_factor */
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

/* Counts what has been asked for and keeps the most common needs until they make up `cover`
 * (above 0, up to 1) of all, at most STRATA_MIX_COUNT_MAX; their parts add up to 1. Needs that
 * differ in memory alone count as one, and the mix has none of it. Equally common ones come in
 * the order of their first appearance. gpu_types may be NULL: any for all. The arrays are in the
 * arena, the texts stay the caller's. */
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
	/* the score looks at the node alone; it is asked for once, with a need of nothing */
	bool ignores_need;
	/* of equal scores, one where the GPUs are in one NUMA domain wins before the lowest row */
	bool keeps_together;
	/* The state is the class's own, made from the mix (NULL: nothing is known) and the
	 * memory given, both borrowed until close. NULL functions: there is none. */
	int (*open)(const void *conf, const struct strata_mix *mix, struct strata_memory *memory,
		    void **ret_state, struct strata_error *err);
	void (*close)(void *state);
	/* How bad it would be to put the need there, which fits: the smallest wins, then the
	 * lowest row. Finite, and the same whenever it is asked for: it may be remembered.
	 * ret_gpu may be set to the GPU that a shared need (gpu_milli) should use; it comes as
	 * the fullest that will do. */
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
	/* The state is the class's own, made from the memory given; NULL functions: there is
	 * none. */
	int (*open)(const void *conf, struct strata_memory *memory, void **ret_state,
		    struct strata_error *err);
	void (*close)(void *state);
	/* How long a waiting job will run: 1 to requested_ns. */
	int64_t (*predict)(const void *conf, const void *state, const struct strata_run *run);
	/* It is still running after elapsed_ns, as long as predicted: how long now? More than
	 * elapsed_ns, or requested_ns. NULL: only waiting jobs are predicted, and of a placed
	 * one it is requested_ns from the start. */
	int64_t (*correct)(const void *conf, const void *state, const struct strata_run *run,
			   int64_t elapsed_ns, uint32_t corrections);
	/* It ended by itself after ran_ns. For lack of memory it may forget. */
	void (*learn)(const void *conf, void *state, const struct strata_run *run, int64_t ran_ns);
};
extern const struct strata_kind strata_prediction_kind;

/* Backfills work on the insides of a cluster and cannot be plug-ins. */
extern const struct strata_kind strata_backfill_kind;

/* How a placed job is stopped. */
enum strata_stop {
	STRATA_STOP_REQUEUE, /* it goes back to its place in the queue */
	STRATA_STOP_CANCEL,  /* for good */
	STRATA_STOP_SUSPEND, /* frozen; it keeps its memory and goes on where it was */
};

/* A running job that might be stopped for another one. */
struct strata_victim {
	enum strata_band band;
	int64_t priority;
	double size;        /* GPUs, or CPUs when it has none */
	int64_t ran_ns;     /* since this start */
	int64_t unsaved_ns; /* since its last checkpoint, or since this start */
	int64_t left_ns;    /* until its expected end */
	uint32_t preempted; /* how often it was before */
};

/* Options that every victim chooser has; the first member of its conf. */
struct strata_victims_conf {
	int64_t grace_ns;   /* between the request to stop and the end */
	int64_t protect_ns; /* a job is left alone for so long after its start */
	int64_t times_max;  /* and once it has been stopped so often */
	int mode;           /* enum strata_stop */
};

struct strata_victims_class {
	struct strata_class base; /* its conf begins with a struct strata_victims_conf */
	/* What it costs to stop this job: the cheapest are stopped, and of equal ones the lower
	 * band, the lower priority, the younger. Finite, not negative. */
	double (*cost)(const void *conf, const struct strata_victim *victim);
};
extern const struct strata_kind strata_victims_kind;

/* ---- the cluster ---- */

struct strata_cluster;
struct strata_event;

/* What one hour of use costs, in GPU-hours: the dearest of the three counts, so that a job pays
 * for what others cannot have because of it. All 0: a GPU 1, and a core 1/16, or 1 where there
 * are no GPUs. */
struct strata_billing {
	double gpu, cpu, memory_gib;
};

/* The specs are borrowed until strata_cluster_free. A zeroed spec means the default: fifo,
 * best_fit, easy, requested, and nobody is preempted. */
struct strata_cluster_conf {
	struct strata_spec order, placement, backfill, prediction, victims;
	int64_t half_life_ns; /* of usage; 0: 24 hours */
	struct strata_billing billing;
	/* a higher band does not simply go first: its boost counts in orders that know it
	 * (fair_share, multifactor) */
	bool mixed_bands;
	double boosts[STRATA_BAND_COUNT]; /* all 0: 0.5, 1, 2 */
	int64_t checkpoint_bytes_max;     /* larger checkpoints are refused; 0: any size */
	const struct strata_mix *mix;     /* for placements that want it; borrowed; NULL: none */
	/* Hears of everything that the cluster is told, in order and before it is done, also of
	 * what is refused; of a pass when it has decided. It must not call the cluster. Whoever
	 * keeps what it hears can do everything over. NULL: nobody listens. */
	void (*told)(void *context, const struct strata_event *event);
	void *told_context;
};

int strata_cluster_new(const struct strata_cluster_conf *conf, struct strata_memory *memory,
		       struct strata_cluster **ret_cluster, struct strata_error *err);
void strata_cluster_free(struct strata_cluster *cluster);

/* Another checkpoint_bytes_max, for checkpoints from now on. */
void strata_cluster_set_checkpoint_max(struct strata_cluster *cluster, int64_t bytes_max);

/* At most so many jobs have a place at a time, suspended ones included; 0: any number. What is
 * placed already stays. */
void strata_cluster_set_jobs_max(struct strata_cluster *cluster, uint32_t jobs_max);

/* Adds a node; ret_row is its number. Before the first job only. */
int strata_cluster_add_node(struct strata_cluster *cluster, const struct strata_node_conf *conf,
			    uint32_t *ret_row, struct strata_error *err);

/* ---- who uses it ---- */

/* What may be placed at a time, and used; 0: any amount. */
struct strata_limits {
	uint32_t jobs;     /* scheduled or running */
	uint32_t waiting;  /* a submission beyond this is refused with -EDQUOT */
	int64_t gpu_milli; /* in use */
	double gpu_hours;  /* nothing starts while the usage, which fades, is above this */
};

/* An account below another (NULL: below the root, or where it is); made if unknown, changed
 * otherwise. -ENOENT when there is no such parent, -EINVAL for a bad weight, -EBUSY when it
 * would have to move and has jobs that have not ended, or accounts below it. */
int strata_cluster_set_account(struct strata_cluster *cluster, const char *name, const char *parent,
			       double weight, const struct strata_limits *limits,
			       struct strata_error *err);
/* A user; made if unknown. The account is the one its jobs count for when they name none (NULL:
 * none). The weight holds among the users of an account. Limits are the user's over all
 * accounts. An account a job names is made if it is not known. */
int strata_cluster_set_user(struct strata_cluster *cluster, const char *name, const char *account,
			    double weight, const struct strata_limits *limits,
			    struct strata_error *err);
/* A quality of service: usage counts usage_factor-fold (at least 0). */
int strata_cluster_set_qos(struct strata_cluster *cluster, const char *name, double priority,
			   double usage_factor, const struct strata_limits *limits,
			   struct strata_error *err);
/* What a partition does with jobs, as in Slurm. Whether it takes new ones is the caller's to ask
 * (strata/admission.h). */
enum strata_partition_state {
	STRATA_PARTITION_UP,       /* takes jobs and starts them */
	STRATA_PARTITION_DOWN,     /* takes jobs, starts none */
	STRATA_PARTITION_DRAIN,    /* takes no new ones, starts those that wait */
	STRATA_PARTITION_INACTIVE, /* neither */
};
enum { STRATA_PARTITION_STATE_COUNT = STRATA_PARTITION_INACTIVE + 1 };
const char *strata_partition_state_name(enum strata_partition_state state); /* "up" */

int strata_cluster_set_partition(struct strata_cluster *cluster, const char *name, double priority,
				 enum strata_partition_state state, struct strata_error *err);

enum strata_entity_type {
	STRATA_ENTITY_USER,
	STRATA_ENTITY_ACCOUNT,
	STRATA_ENTITY_QOS,
	STRATA_ENTITY_PARTITION,
};
enum { STRATA_ENTITY_COUNT = STRATA_ENTITY_PARTITION + 1 };
const char *strata_entity_type_name(enum strata_entity_type entity); /* "user" */

/* What was said of it holds no more: it is as one that nobody has spoken of. What it has used
 * stays. -EBUSY while jobs of it (of a partition: known ones) have not ended, or accounts are
 * below it. One that is not known is nothing. */
int strata_cluster_remove_entity(struct strata_cluster *cluster, enum strata_entity_type entity,
				 const char *name, struct strata_error *err);

/* Usage from before, read back from a store, in GPU-hours as of that time. account NULL: as in a
 * request. */
int strata_cluster_add_usage(struct strata_cluster *cluster, const char *user, const char *account,
			     double gpu_hours, int64_t at_ns, struct strata_error *err);

/* Charges what runs up to the latest time seen. Whoever asks for a usage does that, too. */
void strata_cluster_settle(struct strata_cluster *cluster);

/* Of a user (name) or an account; what is not known has used nothing. */
struct strata_usage_view {
	double weight;
	double gpu_hours; /* faded */
	double share;  /* weight / (gpu_hours + 1): by which the order fair_share compares users */
	double factor; /* in the account tree: 0 to 1 */
	uint32_t jobs; /* placed now */
	uint32_t waiting;
	int64_t gpu_milli;
};
void strata_cluster_user(struct strata_cluster *cluster, const char *name,
			 struct strata_usage_view *ret_view);
void strata_cluster_account(struct strata_cluster *cluster, const char *name,
			    struct strata_usage_view *ret_view);
/* Every user who was set, has a job or has used something, in no order; the name is borrowed during
 * the call. */
void strata_cluster_each_user(const struct strata_cluster *cluster,
			      void (*each)(void *context, const char *name), void *context);
/* How long a job that has not ended is expected to run, by the prediction, as of now; 0: there is no
 * such job. */
int64_t strata_cluster_predicted(const struct strata_cluster *cluster, uint64_t id);

/* What a user has used in one account (NULL: as in a request), in GPU-hours as of the latest time
 * seen: what a store keeps. */
double strata_cluster_association_usage(struct strata_cluster *cluster, const char *user,
					const char *account);

/* GPU-hours that an hour of so much counts for: what a job that holds it is charged. */
double strata_cluster_bill(const struct strata_cluster *cluster, double gpus, double cpus,
			   int64_t memory_bytes);

/* Parts of a request, by which it may be impossible. */
enum strata_part {
	STRATA_PART_PARTITION = 1 << 0,
	STRATA_PART_NODE_LIST = 1 << 1,
	STRATA_PART_NODE_EXCLUDE = 1 << 2,
	STRATA_PART_FEATURES = 1 << 3,
	STRATA_PART_GPU_TYPE = 1 << 4,
	STRATA_PART_GPUS = 1 << 5, /* how many of a node or a task */
	STRATA_PART_CPUS = 1 << 6,
	STRATA_PART_MEMORY = 1 << 7,
	STRATA_PART_COUNT = 1 << 8, /* of nodes or tasks */
};
enum { STRATA_PART_KINDS = 9 };

/* A part that is to blame. Of GPUs, cores (in thousandths), memory and nodes or tasks: how many
 * it asks for, and the most that would be possible with the rest of it. */
struct strata_blamed {
	enum strata_part part;
	int64_t asked, most;
	/* asked for each task, not for each node; of STRATA_PART_COUNT: tasks are counted, not
	 * nodes */
	bool of_task;
};

/* What to change in a job that no node could take, however empty. ret_all is false when changing
 * any one of the parts is enough, true when all of them must be. Returns how many there are; 0:
 * it could be taken as it is, or there is no such job. */
size_t strata_cluster_blame(const struct strata_cluster *cluster, uint64_t id,
			    struct strata_blamed list[STRATA_PART_KINDS], bool *ret_all);
/* The same of one that is not submitted, or would become of one that is; 0 as well where memory is
 * short. */
size_t strata_cluster_blame_request(struct strata_cluster *cluster,
				    const struct strata_job_request *request,
				    struct strata_blamed list[STRATA_PART_KINDS], bool *ret_all);

/* ---- what happens ---- */

/* Takes a job in. -EEXIST for an id that was used, -EINVAL for a request that contradicts
 * itself, -ESRCH when it depends on a job or array that is not known (any more), -EDQUOT when a
 * limit on waiting jobs is reached. A request that no node could ever satisfy is taken and waits
 * with STRATA_REASON_IMPOSSIBLE. */
int strata_cluster_submit(struct strata_cluster *cluster, const struct strata_job_request *request,
			  int64_t now_ns, struct strata_error *err);

/* Takes a submission back that nobody was told of: as if it had not been. Elements that were
 * submitted at once go together. -ESTALE for a job that was ever placed, or has ended. */
int strata_cluster_withdraw(struct strata_cluster *cluster, uint64_t id, struct strata_error *err);

/* The start that a pass ordered has happened (-ESRCH, -ESTALE when it is not scheduled). */
int strata_cluster_started(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			   struct strata_error *err);

enum strata_outcome {
	STRATA_OUTCOME_COMPLETED,
	STRATA_OUTCOME_FAILED,
	STRATA_OUTCOME_TIME_LIMIT,
	STRATA_OUTCOME_START_FAILED, /* never ran: goes back to its place in the queue */
	STRATA_OUTCOME_STOPPED, /* as STRATA_EFFECT_STOP said; the job goes where its mode says */
	/* the machine took it down: queued again if it asked for that, else failed */
	STRATA_OUTCOME_LOST,
	STRATA_OUTCOME_NOT_STARTED, /* it cannot be started, now or later: failed */
	STRATA_OUTCOME_OUT_OF_MEMORY,
};
enum { STRATA_OUTCOME_COUNT = STRATA_OUTCOME_OUT_OF_MEMORY + 1 };
/* A scheduled, running or suspended job has ended: its place is free. For STOPPED with mode
 * SUSPEND it is frozen. One of a gang whose start failed takes the others with it: they are
 * stopped and queued again. */
int strata_cluster_ended(struct strata_cluster *cluster, uint64_t id, enum strata_outcome outcome,
			 int64_t now_ns, struct strata_error *err);
/* The same with the time that it ran, measured by a clock that does not jump; 0: not known. It
 * is charged for that time, whatever the cluster's clock said meanwhile. */
int strata_cluster_ended_after(struct strata_cluster *cluster, uint64_t id,
			       enum strata_outcome outcome, int64_t ran_ns, int64_t now_ns,
			       struct strata_error *err);

/* Takes a waiting job out, or marks a placed one as cancelled and frees its place: the caller stops
 * it first. */
int strata_cluster_cancel(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
			  struct strata_error *err);
int strata_cluster_hold(struct strata_cluster *cluster, uint64_t id, bool held, int64_t now_ns,
			struct strata_error *err);

/* The same done to `count` jobs with consecutive ids, such as the elements of an array: to all
 * of them, or to none when one is not known or in no state for it. It costs as much as there are
 * parts of the array that something told apart. Jobs that start together or not at all are
 * cancelled with those of their gang, which the effects of the next pass tell of unless they are
 * among these. */
int strata_cluster_cancel_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
				int64_t now_ns, struct strata_error *err);
int strata_cluster_hold_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
			      bool held, int64_t now_ns, struct strata_error *err);

/* Wants a placed job stopped: the next pass returns the effect, and its place is free when the
 * end is reported. A suspended job that is to be queued again or cancelled gives its memory back
 * likewise. */
int strata_cluster_stop(struct strata_cluster *cluster, uint64_t id, enum strata_stop mode,
			int64_t now_ns, struct strata_error *err);

/* What can change of a job that has not ended. A placed one: its time limit only. What one asks
 * for and waits for: of one that waits, is not suspended and of no gang (-ESTALE, -EBUSY). */
enum {
	STRATA_CHANGE_BAND = 1 << 0,
	STRATA_CHANGE_PRIORITY = 1 << 1,
	STRATA_CHANGE_TIME_LIMIT = 1 << 2,
	STRATA_CHANGE_BEGIN = 1 << 3,
	/* resources, account, quality of service, name; may it be stopped, started again, cancelled
	 * if it can never start */
	STRATA_CHANGE_REQUEST = 1 << 4,
	STRATA_CHANGE_DEPENDENCIES = 1 << 5,
};
struct strata_job_change {
	unsigned what; /* which of these */
	enum strata_band band;
	int64_t priority;
	int64_t time_limit_ns;
	int64_t begin_ns;
	/* of the last two: what else it says (user, array, gang, begin and so on) stays as it
	 * is. Under a new name, a job comes after those that have it */
	const struct strata_job_request *request;
};
int strata_cluster_change(struct strata_cluster *cluster, uint64_t id,
			  const struct strata_job_change *change, int64_t now_ns,
			  struct strata_error *err);
/* Of `count` jobs with consecutive ids, of all or none: see strata_cluster_cancel_range. */
int strata_cluster_change_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
				const struct strata_job_change *change, int64_t now_ns,
				struct strata_error *err);

/* How the elements of an array have fared, as far as they are known. */
struct strata_array_view {
	size_t count;     /* of all */
	size_t unstarted; /* never started */
	size_t open;      /* not ended */
	size_t bad;       /* ended other than completed */
};
int strata_cluster_array(const struct strata_cluster *cluster, uint64_t array,
			 struct strata_array_view *ret_view, struct strata_error *err);
/* Another limit of how many elements of an array are placed at a time; 0: any number. What is
 * placed stays. -ESRCH when nothing of it is known. */
int strata_cluster_limit_array(struct strata_cluster *cluster, uint64_t array, uint32_t limit,
			       struct strata_error *err);

/* A job found running when the service came back: it was just submitted, waits, and is now
 * placed where it is. -EBUSY when something of it is taken. */
int strata_cluster_adopt(struct strata_cluster *cluster, uint64_t id, uint32_t attempt,
			 int64_t start_ns, const struct strata_piece *pieces, uint32_t piece_count,
			 struct strata_error *err);

/* What a store knew of a job from before. */
struct strata_job_past {
	uint32_t attempt;   /* so often it was placed */
	uint32_t preempted; /* so often it was stopped for another */
	bool started;       /* it has run */
};
/* A waiting job was read back from a store, with its past. -ESTALE when it does not wait. */
int strata_cluster_remember(struct strata_cluster *cluster, uint64_t id,
			    const struct strata_job_past *past, struct strata_error *err);

/* A checkpoint that a job has written. The cluster keeps the latest and the one before; an effect
 * asks for the deletion of others. */
struct strata_checkpoint {
	const char *path; /* up to STRATA_PATH_BYTES_MAX */
	int64_t size_bytes;
	int64_t time_ns;
	int64_t step; /* the job's own count; -1: unknown */
};
/* -EFBIG above checkpoint_bytes_max, -EINVAL without a path or with a step before the last
 * one's. */
int strata_cluster_checkpoint(struct strata_cluster *cluster, uint64_t id,
			      const struct strata_checkpoint *checkpoint, int64_t now_ns,
			      struct strata_error *err);
/* The latest and the one before it, as many as there are; their number. Paths stay until the job
 * changes. */
size_t strata_cluster_checkpoints(const struct strata_cluster *cluster, uint64_t id,
				  struct strata_checkpoint ret_checkpoints[2]);
/* Forgets them; effects ask for their deletion. */
int strata_cluster_drop_checkpoints(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
				    struct strata_error *err);

/* A node dies, is drained or comes back. Jobs of a dead node are requeued or fail, as they
 * asked; the caller is told by the effects of the next pass. */
int strata_cluster_set_node(struct strata_cluster *cluster, uint32_t row,
			    enum strata_node_state state, int64_t now_ns, struct strata_error *err);

/* What an advance reservation keeps of a node. */
struct strata_kept {
	uint32_t node;     /* its row */
	uint16_t gpu_mask; /* these GPUs; 0: the whole node */
};
/* An advance reservation: nodes or GPUs are kept for some from a time to a time. */
struct strata_advance {
	const char *name;             /* one of the same name takes the place of the other */
	int64_t begin_ns, end_ns;     /* the end excluded */
	int64_t every_ns;             /* again so much later, and again; 0: once */
	const char *users, *accounts; /* "ann,bob": who may use it; both NULL: nobody */
	const struct strata_kept *kept;
	uint32_t kept_count;
};
/* Jobs of others are not placed where they would, by their time limits, still be when it begins;
 * those who may use it need not ask for it. What runs there already goes on. All of it is copied.
 * -EINVAL, -ENOENT for a node that is not there, -ERANGE for a GPU that it does not have. */
int strata_cluster_reserve(struct strata_cluster *cluster, const struct strata_advance *advance,
			   struct strata_error *err);
/* The names of those that keep something from a waiting job, were it to start now; at most `most`,
 * in the order in which they came. Borrowed until the next change. How many; 0 for no such job. */
size_t strata_cluster_kept_from(const struct strata_cluster *cluster, uint64_t id,
				const char **ret_names, size_t most);
/* -ENOENT when there is none of that name. */
int strata_cluster_unreserve(struct strata_cluster *cluster, const char *name,
			     struct strata_error *err);

enum strata_effect_kind {
	STRATA_EFFECT_START,  /* start it on the pieces, then report started or ended */
	STRATA_EFFECT_RESUME, /* let the suspended job go on, on the pieces, then report started */
	/* its node died, or a node of its gang: clean up; `state` says whether it failed or is
	 * queued again */
	STRATA_EFFECT_LOST,
	/* ask it to write a checkpoint and end, make it end after grace_ns, or freeze it; then
	 * report STOPPED */
	STRATA_EFFECT_STOP,
	STRATA_EFFECT_CHECKPOINT, /* ask it to write a checkpoint and go on */
	STRATA_EFFECT_DELETE,     /* delete the checkpoint at `path` */
	/* a waiting job was cancelled, by what it depends on or with its gang */
	STRATA_EFFECT_ENDED,
};
enum { STRATA_EFFECT_KIND_COUNT = STRATA_EFFECT_ENDED + 1 };

struct strata_effect {
	enum strata_effect_kind kind;
	uint64_t job;
	enum strata_job_state state;
	enum strata_reason reason;
	uint32_t attempt;                  /* 1 for the first start */
	const struct strata_piece *pieces; /* START, RESUME: in the pass's arena */
	uint32_t piece_count;
	enum strata_stop mode; /* STOP */
	int64_t grace_ns;      /* STOP */
	uint64_t preemptor;    /* STOP: the job that needs the place; 0: somebody asked for it */
	const char *path;      /* DELETE: in the pass's arena */
};

/* One pass: starts what may start now. Effects are in the arena, in the order of decisions. When
 * it fails for lack of memory, nothing was started that is not among the effects already
 * decided; ask again. */
int strata_cluster_pass(struct strata_cluster *cluster, int64_t now_ns, struct strata_arena *arena,
			const struct strata_effect **ret_effects, size_t *ret_count,
			struct strata_error *err);

/* When a pass is due even if nothing happens: a begin time, a promised start, an end that was
 * predicted. INT64_MAX: never. */
int64_t strata_cluster_next_ns(const struct strata_cluster *cluster);

/* How good a placement is, to be shown to people: 50 on several nodes; on one node 100, up to 20
 * more the less of that node is left idle (its GPUs, or its CPUs when it has none), as things
 * stand, and 30 more when the job's GPUs are in one NUMA domain, as one GPU or none always is. 0
 * without pieces. The pieces are of this cluster. */
int strata_placement_quality(const struct strata_cluster *cluster,
			     const struct strata_piece *pieces, uint32_t piece_count);

/* What is known about a job. */
struct strata_job_view {
	uint64_t id;
	enum strata_job_state state;
	enum strata_reason reason;
	uint32_t attempt;
	int64_t submit_ns;
	/* the next four: STRATA_TIME_NONE where there is none. Of the latest attempt: */
	int64_t start_ns, end_ns;
	int64_t expected_end_ns; /* of a placed job */
	/* it starts no later than this, unless others run longer than was predicted */
	int64_t promised_ns;
	uint32_t preempted;                /* how often it was stopped for another */
	bool stopping;                     /* it was asked to end */
	bool requeue;                      /* as in its request */
	const struct strata_piece *pieces; /* of a placed job; until the next change */
	uint32_t piece_count;
};
int strata_cluster_job(const struct strata_cluster *cluster, uint64_t id,
		       struct strata_job_view *ret_view, struct strata_error *err);

/* When a waiting job should start, and where its first part: what `strata why` says. */
struct strata_forecast {
	uint64_t job;
	int64_t start_ns;
	uint32_t node;       /* row */
	uint32_t node_count; /* how many nodes it will have; 0: where is not known */
	/* it is not in the queue: it waits for a time or for others, and this is when it starts
	 * should they run as long as predicted */
	bool apart;
	/* no later than that, unless somebody runs longer than predicted; else as things stand
	 * now */
	bool promised;
};
/* Of the first `most` jobs in the queue, in its order; those whose turn cannot be foreseen
 * (limits, nodes that are down) are left out. Behind them up to `most` that wait for a time or for
 * others, by id, where that can be foreseen: `most` jobs are planned together, the rest of these
 * start at the earliest that they may. In the arena. As of the latest time seen. It costs about as
 * much as planning them all, and changes nothing. */
int strata_cluster_forecast(struct strata_cluster *cluster, size_t most, struct strata_arena *arena,
			    const struct strata_forecast **ret_forecasts, size_t *ret_count,
			    struct strata_error *err);

/*
 * When waiting jobs would start if each, by itself, had the place in the queue that another has:
 * what asking for less would change. What is before that place counts as in a forecast; these jobs,
 * and the one whose place it is, do not. start_ns 0: never, as things stand. Costs one forecast
 * and a search for each. -ESRCH when that place cannot be foreseen, or is not among the first
 * `most`.
 */
int strata_cluster_foresee(struct strata_cluster *cluster, uint64_t in_place_of,
			   const uint64_t *jobs, size_t count, size_t most,
			   struct strata_arena *arena, struct strata_forecast *ret_forecasts,
			   struct strata_error *err);

/* Forgets an ended job; or `count` of them with consecutive ids, all or none. */
int strata_cluster_forget(struct strata_cluster *cluster, uint64_t id, struct strata_error *err);
int strata_cluster_forget_range(struct strata_cluster *cluster, uint64_t id, uint32_t count,
				struct strata_error *err);

/* ---- the log ---- */

/* What was told to a cluster or asked of it, as data: whoever keeps these in order can do
 * everything over. */
enum strata_event_kind {
	STRATA_EVENT_ADD_NODE,
	STRATA_EVENT_ACCOUNT,
	STRATA_EVENT_USER,
	STRATA_EVENT_QOS,
	STRATA_EVENT_PARTITION,
	STRATA_EVENT_REMOVE_ENTITY,
	STRATA_EVENT_USAGE,
	STRATA_EVENT_SETTLE,
	STRATA_EVENT_CHECKPOINT_MAX,
	STRATA_EVENT_JOBS_MAX,
	STRATA_EVENT_ADOPT,
	STRATA_EVENT_REMEMBER,
	STRATA_EVENT_SUBMIT,
	STRATA_EVENT_STARTED,
	STRATA_EVENT_ENDED,
	STRATA_EVENT_CANCEL,
	STRATA_EVENT_HOLD,
	STRATA_EVENT_RELEASE,
	STRATA_EVENT_STOP,
	STRATA_EVENT_CHANGE,
	STRATA_EVENT_LIMIT_ARRAY,
	STRATA_EVENT_CHECKPOINT,
	STRATA_EVENT_DROP_CHECKPOINTS,
	STRATA_EVENT_FORGET,
	STRATA_EVENT_WITHDRAW,
	STRATA_EVENT_NODE,
	STRATA_EVENT_RESERVE,
	STRATA_EVENT_UNRESERVE,
	STRATA_EVENT_PASS,
};
enum { STRATA_EVENT_KIND_COUNT = STRATA_EVENT_PASS + 1 };
const char *strata_event_name(enum strata_event_kind kind); /* "submit" */

struct strata_event {
	enum strata_event_kind kind;
	/* ADOPT: when it had started; USAGE: as of then. Not of ADD_NODE to JOBS_MAX, REMEMBER,
	 * FORGET, WITHDRAW, RESERVE, UNRESERVE */
	int64_t now_ns;
	uint64_t job;   /* ADOPT and all below but SUBMIT and NODE to PASS */
	uint32_t count; /* CANCEL, HOLD, RELEASE, CHANGE, FORGET: so many from `job` on; 0: one */
	const struct strata_node_conf *conf; /* ADD_NODE */
	/* ACCOUNT to USAGE: whose; of USAGE the user; UNRESERVE: of which */
	const char *name;
	enum strata_entity_type entity; /* REMOVE_PARTY */
	const char *account;            /* USER, USAGE: the account; ACCOUNT: its parent */
	double weight;                  /* ACCOUNT, USER */
	double priority;                /* QOS, PARTITION */
	enum strata_partition_state partition_state; /* PARTITION */
	double usage_factor;                         /* QOS */
	const struct strata_limits *limits;          /* ACCOUNT, USER, QOS; NULL: none */
	double gpu_hours;                            /* USAGE */
	int64_t bytes_max;                           /* CHECKPOINT_MAX */
	uint32_t jobs_max;                 /* JOBS_MAX; LIMIT_ARRAY, of which `job` is the array */
	uint32_t attempt;                  /* ADOPT, REMEMBER */
	uint32_t preempted;                /* REMEMBER */
	bool started;                      /* REMEMBER */
	const struct strata_piece *pieces; /* ADOPT */
	uint32_t piece_count;
	const struct strata_job_request *request; /* SUBMIT */
	enum strata_outcome outcome;              /* ENDED … */
	int64_t ran_ns;                           /* … after so long; 0: not known */
	enum strata_stop mode;                    /* STOP */
	struct strata_job_change change;          /* CHANGE */
	struct strata_checkpoint checkpoint;      /* CHECKPOINT */
	uint32_t node;                            /* NODE: its row … */
	enum strata_node_state state;             /* … and what it becomes */
	const struct strata_advance *advance;     /* RESERVE */
	/* PASS, when a listener hears of it: what was decided */
	const struct strata_effect *effects;
	size_t effect_count;
};

/* Does what the event says. ret_effects and ret_count (may be NULL): of a PASS, as there; otherwise
 * none. */
int strata_cluster_apply(struct strata_cluster *cluster, const struct strata_event *event,
			 struct strata_arena *arena, const struct strata_effect **ret_effects,
			 size_t *ret_count, struct strata_error *err);

/* What is free on a node now; -ENOENT when there is none of that row. */
int strata_cluster_room(const struct strata_cluster *cluster, uint32_t row,
			struct strata_room *ret_room);

/* Everything that decides what happens next, as one number: clusters that were told the same have
 * the same. */
uint64_t strata_cluster_digest(const struct strata_cluster *cluster);

struct strata_cluster_metrics {
	size_t node_count, nodes_up;
	size_t jobs[STRATA_JOB_STATE_COUNT];
	size_t job_groups;                 /* waiting jobs that are alike */
	int64_t cpu_milli, cpu_milli_free; /* of nodes that are up */
	int64_t gpu_milli, gpu_milli_free;
	uint64_t passes;
	uint64_t preemptions; /* jobs asked to stop for another */
};
void strata_cluster_metrics(const struct strata_cluster *cluster,
			    struct strata_cluster_metrics *ret_metrics);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
