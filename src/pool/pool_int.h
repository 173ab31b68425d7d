/*
 * What the files of the pool share. pool.c makes and counts, task.c is what can happen to a task,
 * user.c who asks, batch_key.c what goes together, line.c the order, worker.c who works, pick.c the
 * decision, batch.c who joins it, report.c what came of it, message.c decisions as bytes, why.c
 * answers for people, fluid.c positions where there is no one line. Policies are policy_*.c.
 *
 * A decision has two halves. choose (pick.c) looks and changes nothing; take changes the state and
 * decides nothing. So a decision that another pool made can be done over by the second half alone.
 */
#ifndef POOL_POOL_INT_H
#define POOL_POOL_INT_H

#include "core/heap.h"
#include "core/int128.h"
#include "core/map.h"
#include "core/ranked.h"

#include <strata/pool.h>
#include <strata/text.h>

#define MIB_BYTES (INT64_C(1) << 20)

/* ---- fluid.c ---- */

/*
 * Who has done how much when each of many served side by side has had the same virtual service?
 * Members have tasks, work and a weight; each gets its work done at a rate of its weight. A
 * histogram over work / weight in powers of two answers in the number of its buckets, whatever the
 * number of members.
 */
enum { FLUID_BUCKETS = 64 };
struct fluid_member {
	double tasks, work, weight;
};
struct fluid {
	struct fluid_bucket {
		double tasks, work, weight;
		double rate; /* Σ tasks · weight / work: tasks per virtual service */
		uint64_t members;
	} buckets[FLUID_BUCKETS];
	uint64_t members; /* with tasks */
};
struct fluid_sum {
	double tasks, work;
	double error; /* of tasks: those of the bucket that holds the service */
};
/* Replaces what a member counts for. */
void fluid_change(struct fluid *fluid, struct fluid_member *member, struct fluid_member now);
/* What is done after so much virtual service, the member itself left out. */
struct fluid_sum fluid_served(const struct fluid *fluid, double service,
			      const struct fluid_member *without);

/* ---- what there is ---- */

enum {
	TASK_CHARGED = 1 << 0,  /* its estimate has been charged to its user */
	TASK_REPORTED = 1 << 1, /* while a report is checked: a row names it */
	TASK_KEPT = 1 << 2,     /* while a batch is applied: the worker keeps it */
	TASK_STARTED = 1 << 3,  /* started_ns is set */
};

struct task {
	void *payload;
	uint64_t serial; /* its place among equals: counts up, kept when it comes back */
	int64_t key;     /* in line, as the policy gave it */
	int64_t added_ns, started_ns, changed_ns;
	int64_t deadline_ns; /* STRATA_TIME_NONE: none */
	int64_t cost_ns;     /* estimate of all of it */
	int64_t used_ns;     /* measured so far */
	uint32_t steps_done, steps;
	uint32_t memory_mib;
	uint32_t user, shape; /* indexes */
	uint32_t worker;      /* 1 + index; 0: none has it */
	uint32_t next;        /* of the worker's tasks: 1 + index, 0 at the end */
	uint32_t index;       /* of this one in the slab */
	struct heap_node due; /* in a policy's second order */
	float weight;         /* charges are divided by it */
	int16_t priority;
	uint16_t passed; /* how often it was overtaken while first in line */
	uint8_t status;  /* enum strata_task_status */
	uint8_t flags;
	uint16_t unused;
};
_Static_assert(sizeof(struct task) == 120, "what a million of them costs is a promise");

struct user {
	const char *name, *account; /* account NULL: none */
	uint32_t number;            /* its index: its group in a line by users */
	uint32_t pending, running;
	uint64_t started, finished, failed, cancelled;
	int64_t pending_cost_ns;
	int64_t used_ns;
	int64_t wait_ns_sum;
	/* of policies that take turns between users */
	struct heap_node turn; /* round_robin: in line; fair: waits for a window to end */
	uint64_t leaf;         /* fair: in the share */
	uint64_t served; /* round_robin: number of the decision that served it last; 0: never */
	uint64_t head_serial; /* of its first task in line, while it has one */
	double weight;
	double credit;              /* fair: charged too much, not yet made good */
	struct fluid_member member; /* fair, round_robin: its part of the estimate */
	struct strata_quota quota;
	int64_t window_ns;      /* fair: when its window began */
	int64_t window_used_ns; /* and what it has used since */
	uint8_t parked;         /* fair: enum strata_wait that keeps it from its turn, or 0 */
};

/* Tasks of one model and shape. */
struct batch_key {
	uint64_t model, shape;
	uint32_t number;       /* its index: its group among the mates */
	uint32_t model_number; /* small; its group in a line by models */
	uint32_t cap;          /* of a batch */
	uint32_t pending;
	uint64_t steps;  /* measured: so many steps (or tasks without steps) */
	int64_t used_ns; /* took so long */
};

struct worker {
	uint64_t handle;
	struct worker *before, *after; /* by when they were last heard of, the most silent first */
	int64_t heard_ns;
	int64_t memory_mib; /* when empty; 0: not counted */
	int64_t used_mib;   /* of its tasks */
	uint32_t first;     /* of its tasks: 1 + index; 0: none */
	uint32_t count;     /* of them, cancelled ones included */
	uint32_t steps;     /* of its batch; 0: it has reported and may pick */
	int64_t since_ns;   /* the pick or report since which its tasks have been so far */
	int64_t left_ns;    /* what they had left then */
};

struct strata_pool {
	struct strata_memory *memory; /* borrowed until strata_pool_free */
	struct strata_pool_conf conf; /* with defaults filled in */
	const struct strata_policy_class *policy;
	size_t policy_bytes; /* of its conf, which is the pool's own copy; 0: it has none */
	const struct policy_hooks *hooks; /* NULL: tasks go by key */
	void *state;                      /* of the hooks */

	struct slab tasks, users, shapes, workers;
	struct ranked line; /* all that wait */
	/* the same by shape and serial, where batches may hold more than one */
	struct ranked mates;
	struct map_text names;    /* account, NUL, user → struct user */
	struct map_text accounts; /* name → struct account, of policies that keep them */
	struct map_text pairs;    /* model and shape → struct shape */
	struct map_u64 models;    /* model → some shape of it */
	struct worker *silent;    /* the most silent worker; the circle ends there */

	int64_t now_ns; /* the latest seen */
	uint64_t serial, decision;
	int128 until_ns_sum; /* Σ over workers with tasks of since_ns + left_ns */
	uint64_t busy_count; /* how many workers that are */
	/* the last pick that gave nothing waits for mates until then; INT64_MAX: it does not */
	int64_t batch_until_ns;
	struct strata_pool_metrics metrics;
};

/* ---- policies with an order of their own ---- */

struct account; /* of user.c's users; kept by policy fair */

/* What a worker can take. */
struct fit {
	const struct worker *worker;
	int64_t free_mib; /* INT64_MAX: not counted */
	const uint64_t *models;
	size_t model_count;
};

struct policy_hooks {
	enum ranked_columns columns; /* of the line */
	/* Called once, with the pool otherwise made; state is the policy's. */
	int (*open)(struct strata_pool *pool, struct strata_error *err);
	void (*close)(struct strata_pool *pool);
	/* A user is new: what goes with it. -ENOMEM. NULL: nothing. */
	int (*meet)(struct strata_pool *pool, struct user *user, struct strata_error *err);
	/* May this task get in line? Nothing is changed. NULL: always. */
	int (*admit)(struct strata_pool *pool, struct user *user, const struct task *task,
		     struct strata_error *err);
	/* Room for so many tasks in line altogether, so that enter cannot fail. NULL: needs none. */
	int (*reserve)(struct strata_pool *pool, size_t count);
	/* The group of a task in line; NULL: 0. */
	uint32_t (*group)(const struct strata_pool *pool, const struct task *task);
	/* The limit of a task in line, where the line has such a column. */
	int64_t (*limit)(const struct strata_pool *pool, const struct task *task);
	/* A task is in line; it is in line no longer. Either may be NULL. */
	void (*enter)(struct strata_pool *pool, struct task *task);
	void (*leave)(struct strata_pool *pool, struct task *task);
	/* A worker gets it, just before it leaves the line; it cost so much more; it is with no
	 * worker any more; it has ended and no worker has it. Each may be NULL. */
	void (*start)(struct strata_pool *pool, struct task *task);
	void (*spend)(struct strata_pool *pool, struct task *task, int64_t cost_ns);
	void (*stop)(struct strata_pool *pool, struct task *task);
	void (*end)(struct strata_pool *pool, struct task *task);
	/* What the tasks of one worker may need together; NULL: only what it has counts. */
	int64_t (*budget_mib)(const struct strata_pool *pool);
	/* The task that is first, or NULL with why in ret_wait. NULL: the first of the line. */
	struct task *(*front)(const struct strata_pool *pool, enum strata_wait *ret_wait);
	/* Which to take for this worker instead of the first, which fits it; NULL: the first. */
	struct task *(*prefer)(const struct strata_pool *pool, const struct fit *fit,
			       struct task *front);
	/* The first in its order that fits, the front being too large; NULL: walk along the line. */
	struct task *(*seek)(struct strata_pool *pool, const struct fit *fit);
	/* May the mate run in the batch of the first? NULL: yes. */
	bool (*joins)(const struct strata_pool *pool, const struct task *first,
		      const struct task *mate);
	/* Should the task that a worker has give way to the one that is first? NULL: by group, key
	 * and serial. */
	bool (*yields)(const struct strata_pool *pool, const struct task *held,
		       const struct task *front);
	/* Position and work ahead, where the line is not the order; NULL: it is. */
	void (*estimate)(const struct strata_pool *pool, const struct task *task,
			 struct strata_position *ret_position, int64_t *ret_work_ns);
	/* Why a task of this user waits whatever is before it; NULL: nothing of the kind. */
	enum strata_wait (*blocked)(const struct strata_pool *pool, const struct task *task,
				    int64_t *ret_until_ns);
	/* Time has come to now_ns; when the next change comes by itself. NULL: never. */
	void (*tick)(struct strata_pool *pool);
	int64_t (*next_ns)(const struct strata_pool *pool);
	/* The earliest deadline it would accept for a task of this cost; NULL: it promises nothing. */
	int64_t (*earliest)(struct strata_pool *pool, int64_t cost_ns);
	/* Its part of the digest. NULL: none. */
	uint64_t (*digest)(const struct strata_pool *pool, uint64_t hash);
	/* Weights and quotas of strata_pool_set_account and _set_user; NULL: it keeps none. */
	int (*set_account)(struct strata_pool *pool, const char *name, double weight,
			   struct strata_error *err);
	int (*set_user)(struct strata_pool *pool, struct user *user, double weight,
			const struct strata_quota *quota, struct strata_error *err);
	/* What a user has used elsewhere counts here; NULL: it keeps no shares. */
	void (*charge)(struct strata_pool *pool, struct user *user, int64_t cost_ns);
	double (*virtual_time)(const struct strata_pool *pool, const struct user *user);
};

/* ---- pool.c ---- */

/* The pool's clock, which does not go back; the policy hears of it. */
void pool_tick(struct strata_pool *pool, int64_t now_ns);
/* Tells the listener, if there is one. */
void pool_say(const struct strata_pool *pool, const struct strata_pool_event *event);
/* The clock of a question, which the listener hears of when it moves. */
void pool_ask(struct strata_pool *pool, int64_t now_ns);
static inline const void *pool_policy_conf(const struct strata_pool *pool)
{
	return pool->conf.policy.conf;
}

/* ---- task.c ---- */

struct task *task_at(const struct strata_pool *pool, uint64_t task, struct strata_error *err);
static inline struct task *task_by_index(const struct strata_pool *pool, uint32_t index)
{
	return slab_live(&pool->tasks, index);
}
/* Its handle, and its index in the slab. */
uint64_t task_handle(const struct strata_pool *pool, const struct task *task);
static inline bool task_waits(const struct task *task)
{
	return task->status == STRATA_TASK_PENDING;
}
static inline bool task_runs(const struct task *task)
{
	return task->status >= STRATA_TASK_ENCODING && task->status <= STRATA_TASK_DECODING;
}
/* What it is expected to need still. */
int64_t task_left_ns(const struct task *task);
/* Asserts that it may. */
void task_set_status(struct strata_pool *pool, struct task *task, enum strata_task_status status);
struct strata_policy_task task_for_policy(const struct strata_pool *pool, const struct task *task);

/* ---- user.c ---- */

/* The user of these names, made if unknown. */
int user_get(struct strata_pool *pool, const char *name, const char *account,
	     struct user **ret_user, struct strata_error *err);
struct user *user_find(const struct strata_pool *pool, const char *name, const char *account);
static inline struct user *user_of(const struct strata_pool *pool, const struct task *task)
{
	return slab_live(&pool->users, task->user);
}

/* ---- batch_key.c ---- */

int batch_key_get(struct strata_pool *pool, uint64_t model, uint64_t shape,
		  struct batch_key **ret_shape, struct strata_error *err);
static inline struct batch_key *shape_of(const struct strata_pool *pool, const struct task *task)
{
	return slab_live(&pool->shapes, task->shape);
}
/* The number of a model that some task has had, or UINT32_MAX. */
uint32_t shape_model_number(const struct strata_pool *pool, uint64_t model);
/* What a task of this shape and so many steps has cost so far, by the measure. */
int64_t shape_expect(const struct batch_key *shape, uint32_t steps);
void shape_measure(struct batch_key *shape, uint32_t steps, int64_t cost_ns);
uint32_t shape_cap(const struct strata_pool *pool, const struct batch_key *shape);

/* ---- line.c ---- */

/* Room for so many tasks more, and for all that workers have, so that line_enter cannot fail. */
int line_reserve(struct strata_pool *pool, size_t more);
void line_enter(struct strata_pool *pool, struct task *task);
void line_leave(struct strata_pool *pool, struct task *task);
struct ranked_key line_key(const struct strata_pool *pool, const struct task *task);
struct task *line_task(const struct strata_pool *pool, const struct ranked_key *key);
/* The first of a group, or NULL. */
struct task *line_first_of(const struct strata_pool *pool, const struct ranked *set,
			   uint32_t group);
/* Tasks of its group that are before it, and the work they are. */
void line_own(const struct strata_pool *pool, const struct task *task, uint64_t *ret_count,
	      int64_t *ret_work_ns);
/* All tasks that are before it, and the work they are. */
uint64_t line_ahead(const struct strata_pool *pool, const struct task *task, int64_t *ret_work_ns);
/* How much work runs now. */
int64_t line_running_ns(const struct strata_pool *pool);

/* ---- worker.c ---- */

struct worker *worker_at(const struct strata_pool *pool, uint64_t worker, struct strata_error *err);
void worker_hear(struct strata_pool *pool, struct worker *worker);
void worker_give(struct strata_pool *pool, struct worker *worker, struct task *task);
/* It has the task no longer; the status is the caller's affair. */
void worker_lose(struct strata_pool *pool, struct worker *worker, struct task *task);
/* The same for good: the user's count and the policy hear of it. */
void worker_end(struct strata_pool *pool, struct worker *worker, struct task *task);
/* Its tasks have got so far by now. */
void worker_count(struct strata_pool *pool, struct worker *worker);
static inline struct task *worker_first(const struct strata_pool *pool, const struct worker *worker)
{
	return worker->first ? task_by_index(pool, worker->first - 1) : NULL;
}
static inline struct task *worker_next(const struct strata_pool *pool, const struct task *task)
{
	return task->next ? task_by_index(pool, task->next - 1) : NULL;
}

/* ---- pick.c ---- */

/* What was chosen, and by whom: nothing has changed yet. */
struct choice {
	struct task *front; /* first in line; may be NULL */
	struct task *guard; /* the front, if this worker could take it; NULL otherwise */
	enum strata_wait wait;
	int64_t until_ns;
	uint32_t count, kept; /* the first `kept` are the worker's already */
	struct task *tasks[STRATA_BATCH_MAX];
	bool passes; /* others go before the front */
};
bool pick_fits(const struct fit *fit, const struct task *task);
struct task *pick_front(const struct strata_pool *pool, enum strata_wait *ret_wait);
/* May others still go before this task, which is first? */
bool pick_may_pass(const struct strata_pool *pool, const struct task *front);
/* The second half: makes it so. */
void pick_take(struct strata_pool *pool, struct worker *worker, struct task *const *tasks,
	       uint32_t count, struct task *passed);
/* And for a pick that gave nothing: the worker was heard of. */
void pick_nothing(struct strata_pool *pool, struct worker *worker);
/* From a worker back to its place in line. */
void pick_return(struct strata_pool *pool, struct worker *worker, struct task *task);

/* ---- batch.c ---- */

/* Adds mates to a choice that has at least one task. */
void batch_fill(const struct strata_pool *pool, const struct fit *fit, struct choice *choice);
/* Until when a batch of this choice waits for mates; INT64_MIN: it need not. */
int64_t batch_wait_until(const struct strata_pool *pool, const struct choice *choice);

#endif
