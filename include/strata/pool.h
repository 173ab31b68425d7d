/*
 * The pool level: which generation tasks run next, in which batch.
 *
 * A struct strata_pool holds tasks and workers and decides; it does nothing itself. A worker asks
 * for work (strata_pool_pick), gets a batch of tasks that go together and the number of steps to
 * do, does them and tells what came of it (strata_pool_done). At that moment, a step boundary,
 * tasks may leave, others may join, and where it is allowed a task may give way to another and keep
 * what it has done.
 *
 * In which order tasks go is a class, a policy (`strata classes policy`). What the pool knows of a
 * task is what it decides by; everything else (prompt, width, seed, solver …) is the caller's
 * payload behind a pointer.
 *
 * What a user asks of a queue never costs a scan: with n tasks, adding, picking, cancelling,
 * changing and a position cost O(log n), counts O(1), a page its own length.
 *
 * Not thread-safe: one owner. Time is int64_t nanoseconds of any clock and does not go back; an
 * earlier time counts as the latest seen. All memory comes from the struct strata_memory given at
 * creation. Tasks and workers are named by handles that are never used twice; one that is gone
 * gives -ESTALE. The same calls in the same order give the same handles and decisions.
 */
#ifndef STRATA_POOL_H
#define STRATA_POOL_H

#include <strata/class.h>
#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- tasks ---- */

enum strata_task_status {
	STRATA_TASK_PENDING,   /* waits in line, perhaps with steps done already */
	STRATA_TASK_ENCODING,  /* with a worker, no step done yet */
	STRATA_TASK_DENOISING, /* with a worker, some steps done */
	STRATA_TASK_DECODING,  /* with a worker, all steps done */
	STRATA_TASK_FINISHED,
	STRATA_TASK_FAILED,
	STRATA_TASK_CANCELLED,
};
enum { STRATA_TASK_STATUS_COUNT = STRATA_TASK_CANCELLED + 1 };

/* May a task go from one status to the other? */
bool strata_task_may(enum strata_task_status from, enum strata_task_status to);
bool strata_task_ended(enum strata_task_status status); /* finished, failed or cancelled */
const char *strata_task_status_name(enum strata_task_status status); /* "pending" */

/* What a task is to the pool. Zeroed fields have the meaning given. Texts are copied. */
struct strata_task_request {
	const char *user;    /* not NULL */
	const char *account; /* NULL: none; such users stand beside the accounts */
	/* in the pool's range, higher first; strata_task_request_init gives the default, 5 */
	int64_t priority;
	/* to be finished by then, if has_deadline or not 0 */
	int64_t deadline_ns;
	bool has_deadline;
	double weight;       /* what it costs counts for its user divided by this; 0: 1 */
	uint32_t steps;      /* 0: nothing is known of steps, it is done in one go */
	/* what a worker is expected to need for all of it; 0: as its shape has needed so far */
	int64_t cost_ns;
	uint64_t model; /* any number; tasks of different models never share a batch */
	/* any number: the batch key. Same model and shape may share a batch, at any step */
	uint64_t shape;
	int64_t memory_bytes; /* needed besides the model; 0: not counted */
	void *payload;        /* the caller's; borrowed until the task is forgotten */
};
enum { STRATA_PRIORITY_DEFAULT = 5 };
void strata_task_request_init(struct strata_task_request *ret_request);

struct strata_task_view {
	enum strata_task_status status;
	const char *user, *account; /* borrowed until strata_pool_free; account may be NULL */
	int64_t priority;
	int64_t deadline_ns; /* STRATA_TIME_NONE: none */
	uint32_t steps_done, steps;
	int64_t cost_ns;      /* the estimate */
	int64_t used_ns;      /* measured so far */
	int64_t left_ns;      /* expected still, by the measure where there is one */
	int64_t added_ns;     /* in line since; a task that comes back keeps it, and its place */
	int64_t started_ns;   /* first with a worker; STRATA_TIME_NONE: not yet */
	int64_t changed_ns;   /* of its status: when it ended, if it has */
	uint64_t worker;      /* that has it; 0: none */
	int64_t memory_bytes; /* rounded up to MiB */
	uint64_t model, shape;
	void *payload;
};

/* ---- policies ---- */

/* Something of the payload by its name ("num_frames"): whether it is known, and its value. */
typedef bool (*strata_task_attribute)(void *context, const void *payload, const char *name,
				      double *ret_value);

/* What a policy may look at. */
struct strata_policy_task {
	uint64_t task;
	const void *payload;
	int64_t added_ns;
	int64_t deadline_ns; /* STRATA_TIME_NONE: none */
	int64_t cost_ns, left_ns;
	int64_t memory_bytes;
	int64_t priority;
	uint64_t model, shape;
	uint32_t steps_done, steps;
	double weight;
	strata_task_attribute attribute; /* of the pool; may be NULL */
	void *attribute_context;
};

/* attribute() of the task's payload, or `otherwise` when it is not known. */
double strata_policy_attribute(const struct strata_policy_task *task, const char *name,
			       double otherwise);

struct policy_hooks; /* of policies that keep an order of their own; built in */

struct strata_policy_class {
	struct strata_class base;
	/* The smaller key goes first, equal ones in the order of arrival. Asked for once when a
	 * task gets in line (again) and when it is changed: it may look at the task but not at the
	 * time. NULL: all equal, the order of arrival. */
	int64_t (*key)(const void *conf, const struct strata_policy_task *task);
	const struct policy_hooks *hooks; /* NULL in plug-ins: tasks go by key */
};
extern const struct strata_kind strata_policy_kind;

/* ---- the pool ---- */

struct strata_pool;
struct strata_pool_event;

#define STRATA_OVERTAKE_NEVER (UINT32_MAX - 1)

/* 0 means the default everywhere. */
struct strata_pool_conf {
	struct strata_spec policy;          /* fifo; copied */
	/* what priorities may be, if has_priorities or one of them is not 0; else 0 to 10 */
	int64_t priority_min, priority_max;
	bool has_priorities;
	/* 1: what a pick covers; UINT32_MAX: whole tasks. It ends early when a task does */
	uint32_t steps_per_pick;
	/* 1: no batch is larger, whatever strata_pool_set_cap says; up to STRATA_BATCH_MAX */
	uint32_t batch_max;
	/* 64: tasks looked at for one that fits, or for mates; up to STRATA_POOL_LOOK_MAX */
	uint32_t look_max;
	/*
	 * 16: how often the first in line may be overtaken. Batches, loaded models and lack of
	 * memory make others go before it; each such task counts, and when so many did, nothing
	 * goes before it any more: batches are not refilled and workers that could take it wait for
	 * it. STRATA_OVERTAKE_NEVER: by nobody; UINT32_MAX: no bound.
	 */
	uint32_t overtake_max;
	int64_t batch_wait_ns; /* 0: a task that could have mates waits so long for them */
	int64_t lease_ns;      /* 30 s: a worker not heard of for so long has lost its tasks */
	bool preempt; /* at a step boundary a task gives way to one that the policy puts before it */
	uint32_t tasks_max; /* it holds, ended ones included; 0: STRATA_SLAB_COUNT_MAX */
	strata_task_attribute attribute; /* for policies that look at payloads; may be NULL */
	void *attribute_context;         /* borrowed until strata_pool_free */
	/* Hears of everything that the pool is told, in order and before it is done, also of what is
	 * refused; of a pick when it has decided. May be NULL. */
	void (*told)(void *context, const struct strata_pool_event *event);
	void *told_context; /* borrowed until strata_pool_free */
};

/* -EINVAL for a conf that contradicts itself, -ENOMEM. */
int strata_pool_new(const struct strata_pool_conf *conf, struct strata_memory *memory,
		    struct strata_pool **ret_pool, struct strata_error *err);
void strata_pool_free(struct strata_pool *pool); /* NULL is nothing */

/* A pool of a built-in policy, written as text ("fair:window=1h", "shortest"), with the defaults of everything else. */
int strata_pool_build(const char *policy, struct strata_memory *memory,
		      struct strata_pool **ret_pool, struct strata_error *err);

/* ---- who asks ---- */

enum {
	STRATA_QUOTA_RUNNING = 1 << 0,
	STRATA_QUOTA_QUEUED = 1 << 1,
	STRATA_QUOTA_COST = 1 << 2,
};

/* What a user may have. Kept by the policy fair, which has such options for everybody. A limit holds when it is not 0; one of 0 when `has` names it
 * (STRATA_QUOTA_QUEUED with 0: no task is taken); else any amount is allowed. */
struct strata_quota {
	unsigned has;
	uint32_t running_max; /* tasks with workers */
	uint32_t queued_max;  /* tasks in line: one more is refused with -EDQUOT */
	int64_t cost_ns_max;  /* measured cost within a window; no task starts beyond it */
};

/* An account or a user of an account (NULL: of none), made if unknown, changed otherwise. The
 * weight is at STRATA_SHARE_WEIGHT_MIN … _MAX. quota NULL: the policy's own. -ENOTSUP when the
 * policy keeps no weights or quotas. */
int strata_pool_set_account(struct strata_pool *pool, const char *name, double weight,
			    struct strata_error *err);
int strata_pool_set_user(struct strata_pool *pool, const char *user, const char *account,
			 double weight, const struct strata_quota *quota, struct strata_error *err);

/* The user has used so much elsewhere, of what one share counts together with this pool: its turn
 * comes later by as much as if it had been used here. -ENOTSUP when the policy keeps no shares. */
int strata_pool_charge(struct strata_pool *pool, const char *user, const char *account,
		       int64_t cost_ns, int64_t now_ns, struct strata_error *err);

/* ---- what happens ---- */

/*
 * Takes a task in. -EINVAL for a request that is not sound, -EDQUOT when the user has as many in
 * line as allowed, -EPERM for a user who is not in a closed list, -ETIME when the policy deadline
 * cannot promise it (the sentence has the earliest it could, and so does strata_pool_earliest),
 * -E2BIG for more memory than the policy allows, -ENOSPC past tasks_max, -ENOMEM. Nothing has
 * changed then.
 */
int strata_pool_add(struct strata_pool *pool, const struct strata_task_request *request,
		    int64_t now_ns, uint64_t *ret_task, struct strata_error *err);

/* A task that waits is gone from the line at once. One that a worker has is cancelled at once too,
 * but the worker hears of it at its next step boundary. -EALREADY when it has ended. */
int strata_pool_cancel(struct strata_pool *pool, uint64_t task, int64_t now_ns,
		       struct strata_error *err);
/* Another priority; counts from when it is in line. */
int strata_pool_set_priority(struct strata_pool *pool, uint64_t task, int64_t priority,
			     int64_t now_ns, struct strata_error *err);
/* Forgets a task that has ended; -EBUSY when it has not, or a worker still has it. */
int strata_pool_forget(struct strata_pool *pool, uint64_t task, struct strata_error *err);

/* How many of one model and shape a batch may hold, as measured on the device: 1 unless set. */
int strata_pool_set_cap(struct strata_pool *pool, uint64_t model, uint64_t shape, uint32_t cap,
			struct strata_error *err);

/* ---- workers ---- */

/* memory_bytes: what it has for tasks when empty; 0: not counted. */
int strata_pool_add_worker(struct strata_pool *pool, int64_t memory_bytes, int64_t now_ns,
			   uint64_t *ret_worker, struct strata_error *err);
/* In order or not, it is gone: its tasks go back to their places in line, and whatever it still
 * says gets -ESTALE. */
int strata_pool_remove_worker(struct strata_pool *pool, uint64_t worker, int64_t now_ns,
			      struct strata_error *err);
/* It is still there. Picking and reporting say so too. */
int strata_pool_beat(struct strata_pool *pool, uint64_t worker, int64_t now_ns,
		     struct strata_error *err);
/* Removes the workers that have been silent for lease_ns; how many they were. */
size_t strata_pool_expire(struct strata_pool *pool, int64_t now_ns);
/* When something changes by itself: a lease ends, a wait for mates, a window of quotas. INT64_MAX:
 * never. */
int64_t strata_pool_next_ns(const struct strata_pool *pool);

/* Why a task waits, or a pick gave nothing. */
enum strata_wait {
	STRATA_WAIT_NONE,    /* it does not wait, or is next; something was picked */
	STRATA_WAIT_EMPTY,   /* nothing is in line */
	STRATA_WAIT_BEHIND,  /* others are before it: see ahead */
	STRATA_WAIT_RUNNING, /* its user has as many running as allowed */
	STRATA_WAIT_COST, /* its user has used what is allowed in the window, which ends at until_ns */
	STRATA_WAIT_MEMORY,     /* it does not fit into the worker's free memory */
	STRATA_WAIT_IMPOSSIBLE, /* it fits into no worker there is, even an empty one */
	STRATA_WAIT_BATCH,      /* for mates, until until_ns */
	STRATA_WAIT_WORKER,     /* there is no worker */
	STRATA_WAIT_BUSY,       /* it is next, and every worker is busy */
};
enum { STRATA_WAIT_COUNT = STRATA_WAIT_BUSY + 1 };
const char *strata_wait_name(enum strata_wait wait);  /* "behind" */
const char *strata_wait_words(enum strata_wait wait); /* "others are before it" */

struct strata_why {
	enum strata_wait wait;
	uint64_t ahead;   /* tasks before it, where it is behind */
	uint64_t error;   /* how far that may be off; 0: exact */
	int64_t until_ns; /* it ends by itself then; INT64_MAX: not known */
	uint64_t task; /* of a pick that gave nothing: the task it would have begun with; 0: none */
};

/* What a worker says when it asks. */
struct strata_ask {
	uint64_t worker;
	int64_t free_bytes; /* for tasks besides those it has; negative: as the pool counts it */
	const uint64_t *models; /* loaded ones; borrowed during the call */
	size_t model_count;     /* up to STRATA_WORKER_MODELS_MAX */
};

/*
 * A decision: what a worker does until its next step boundary. It has no pointers: packed into
 * bytes it can be sent to other ranks, each with a pool that was told the same, where
 * strata_pool_apply makes of it the same state. That there is nothing to do is a decision like any
 * other, with count 0: who coordinates sends it too, so that every rank hears of every pick.
 */
struct strata_batch {
	/* Of the decision, from 1 on without a gap; of one that there is nothing to do: that of the
	 * last one before it, 0 when there was none. */
	uint64_t number;
	int64_t now_ns;
	uint64_t worker;
	uint64_t passed; /* the task that was first in line and was overtaken; 0: none */
	int64_t until_ns; /* count 0: when it is worth asking again; else, and when that is not known: INT64_MAX */
	enum strata_wait wait; /* count 0: why; else STRATA_WAIT_NONE */
	uint32_t steps;        /* a task with fewer left ends early; 0 with count 0 */
	uint32_t count;        /* of tasks; 0: there is nothing to do */
	uint64_t tasks
		/* those it had and keeps, then new ones; one it had that is not here is no longer
		 * its */
		[STRATA_BATCH_MAX];
};

/*
 * Work for a worker that holds a whole batch of answers: -EBUSY when it has not reported the last.
 * A worker that has tasks goes on with them, together with others that may join. ret_why (may be
 * NULL) says why when there is nothing to do (count 0).
 */
int strata_pool_pick(struct strata_pool *pool, const struct strata_ask *ask, int64_t now_ns,
		     struct strata_batch *ret_batch, struct strata_why *ret_why,
		     struct strata_error *err);

/* The task that a worker without limits would begin with; 0 when there is none. Changes nothing. */
uint64_t strata_pool_schedule(const struct strata_pool *pool);

enum { STRATA_BATCH_BYTES = 320 };
/* Fixed size, any byte order of machine; the last bytes are a checksum. */
void strata_batch_pack(const struct strata_batch *batch, uint8_t ret_bytes[STRATA_BATCH_BYTES]);
/* -EBADMSG when the bytes are not such a message. */
int strata_batch_unpack(const uint8_t bytes[STRATA_BATCH_BYTES], struct strata_batch *ret_batch,
			struct strata_error *err);
/* Does what another pool decided. -ESTALE, nothing changed, when this pool is not in the state that
 * the decision was made in: another number is due, or a task is not where it was. */
int strata_pool_apply(struct strata_pool *pool, const struct strata_batch *batch,
		      struct strata_error *err);
/* The state as one number; equal for pools that were told the same. Costs a walk over everything:
 * for tests and doubts. */
uint64_t strata_pool_digest(const struct strata_pool *pool);

enum strata_done_kind {
	STRATA_DONE_STEPS,    /* it goes on */
	STRATA_DONE_FINISHED, /* that was all of it, however many steps */
	STRATA_DONE_FAILED,
	STRATA_DONE_BACK, /* the worker gives it back: to its place in line */
};
struct strata_done {
	uint64_t task;
	enum strata_done_kind kind;
	uint32_t steps;  /* done since the pick */
	int64_t cost_ns; /* measured; of a batch, this task's part */
};
/*
 * What came of a batch: one row for each of its tasks; those cancelled meanwhile may be left out.
 * -ESTALE when the worker has lost its lease, -EINVAL when the rows are not the batch's; nothing
 * has changed then.
 */
int strata_pool_done(struct strata_pool *pool, uint64_t worker, const struct strata_done *rows,
		     size_t row_count, int64_t now_ns, struct strata_error *err);

/* ---- questions ---- */

int strata_pool_get(const struct strata_pool *pool, uint64_t task,
		    struct strata_task_view *ret_view, struct strata_error *err);
size_t strata_pool_pending_count(const struct strata_pool *pool);
/* Nothing waits and no worker has anything. */
bool strata_pool_all_finished(const struct strata_pool *pool);

/*
 * Where a waiting task is in line. Exact (error 0) where the policy's order is one static line;
 * otherwise an estimate as if costs were fluid, with `error` how far it may be off when costs are
 * as estimated and nothing new comes. start_ns: when it is expected to start, all workers going on
 * as they are; INT64_MAX without workers. -EINVAL when it does not wait.
 */
struct strata_position {
	uint64_t ahead;
	uint64_t error;
	int64_t start_ns;
};
int strata_pool_position(struct strata_pool *pool, uint64_t task, int64_t now_ns,
			 struct strata_position *ret_position, struct strata_error *err);

/* The tasks from a place in line on: how many were stored. Policies that take turns between users
 * (fair, round_robin) have no one line: there it goes user by user, each in the user's own order. */
size_t strata_pool_page(const struct strata_pool *pool, size_t from, uint64_t *ret_tasks,
			size_t count);

int strata_pool_why(struct strata_pool *pool, uint64_t task, int64_t now_ns,
		    struct strata_why *ret_why, struct strata_error *err);
/* A sentence for people: "behind 12 tasks". */
char *strata_why_print(const struct strata_why *why, int64_t now_ns, char *ret_text, size_t room);

/* The earliest deadline that the policy deadline would accept for this request now; INT64_MIN: any,
 * the policy promises nothing. */
int64_t strata_pool_earliest(struct strata_pool *pool, const struct strata_task_request *request,
			     int64_t now_ns);

/* ---- the log ---- */

/* What was told to a pool or asked of it, as data: whoever keeps these in order can do everything
 * over. */
enum strata_pool_event_kind {
	STRATA_POOL_EVENT_ADD,
	STRATA_POOL_EVENT_CANCEL,
	STRATA_POOL_EVENT_PRIORITY,
	STRATA_POOL_EVENT_FORGET,
	STRATA_POOL_EVENT_CAP,
	STRATA_POOL_EVENT_ACCOUNT,
	STRATA_POOL_EVENT_USER,
	STRATA_POOL_EVENT_CHARGE,
	STRATA_POOL_EVENT_ADD_WORKER,
	STRATA_POOL_EVENT_REMOVE_WORKER,
	STRATA_POOL_EVENT_BEAT,
	STRATA_POOL_EVENT_EXPIRE,
	STRATA_POOL_EVENT_CLOCK, /* somebody asked, and the clock has moved */
	STRATA_POOL_EVENT_EARLIEST,
	STRATA_POOL_EVENT_APPLY,
	STRATA_POOL_EVENT_DONE,
	STRATA_POOL_EVENT_PICK,
};
enum { STRATA_POOL_EVENT_KIND_COUNT = STRATA_POOL_EVENT_PICK + 1 };
const char *strata_pool_event_name(enum strata_pool_event_kind kind); /* "add" */

struct strata_pool_event {
	enum strata_pool_event_kind kind;
	int64_t now_ns;  /* not of FORGET, CAP, ACCOUNT, USER, APPLY */
	uint64_t task;   /* CANCEL, PRIORITY, FORGET */
	uint64_t worker; /* REMOVE_WORKER, BEAT, DONE */
	const struct strata_task_request *request; /* ADD, EARLIEST */
	int64_t priority;                          /* PRIORITY */
	uint64_t model, shape;                     /* CAP … */
	uint32_t cap;                              /* … so many */
	const char *name;                          /* ACCOUNT, USER, CHARGE: whose */
	const char *account;                       /* USER, CHARGE; NULL: none */
	int64_t cost_ns;                           /* CHARGE */
	double weight;                             /* ACCOUNT, USER */
	const struct strata_quota *quota;          /* USER; NULL: the policy's own */
	int64_t memory_bytes;                      /* ADD_WORKER */
	const struct strata_ask *ask;              /* PICK */
	/* APPLY: what to do. PICK, when a listener hears of it: what was decided */
	const struct strata_batch *batch;
	const struct strata_done *rows; /* DONE */
	size_t row_count;
};

/* Does what the event says. ret_batch (may be NULL): of a PICK, as there. A task that is added has
 * the payload of the request, which is NULL in a log that was read. */
int strata_pool_tell(struct strata_pool *pool, const struct strata_pool_event *event,
		     struct strata_batch *ret_batch, struct strata_error *err);

/* ---- numbers ---- */

struct strata_pool_metrics {
	const char *policy;                       /* its name */
	uint64_t tasks[STRATA_TASK_STATUS_COUNT]; /* held now */
	uint64_t ended[STRATA_TASK_STATUS_COUNT]; /* ever; 0 for what is no end */
	uint64_t added, refused;
	uint64_t decisions;   /* picks that gave something */
	uint64_t stalls;      /* picks that gave nothing though tasks were in line */
	uint64_t idle;        /* picks that gave nothing because nothing was */
	uint64_t batched;     /* tasks that joined another's batch */
	uint64_t overtakes;   /* tasks that went before the first in line */
	uint64_t preemptions; /* tasks that gave way at a step boundary */
	uint64_t returned; /* tasks that came back from workers that were lost or gave them back */
	uint64_t late;     /* tasks that finished after their deadline */
	uint64_t workers, workers_lost;
	int64_t pending_cost_ns; /* of all that wait */
	int64_t used_ns;         /* measured, ever */
};
void strata_pool_metrics(const struct strata_pool *pool, struct strata_pool_metrics *ret_metrics);

struct strata_user_metrics {
	uint64_t pending, running;
	uint64_t finished, failed, cancelled; /* ever */
	int64_t pending_cost_ns;
	int64_t used_ns;     /* measured, ever */
	int64_t wait_ns_sum; /* of all that started: from being added to the first start */
	uint64_t started;
	double virtual_time; /* under fair; else 0 */
};
/* -ENOENT when nothing is known of such a user. */
int strata_pool_user_metrics(const struct strata_pool *pool, const char *user, const char *account,
			     struct strata_user_metrics *ret_metrics, struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
