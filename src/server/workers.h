/*
 * Workers: jobs that the service itself started to compute the tasks of a model, and the leases
 * they have. Only such a job may ask for tasks; which jobs are is in the store. Leases are not: a
 * worker that is asked again after a restart says what it holds. The decider's.
 */
#ifndef SERVER_WORKERS_H
#define SERVER_WORKERS_H

#include "server/decider.h"
#include "server/models.h"
#include "server/request.h"
#include "server/tasks.h"

struct worker {
	int64_t job;
	struct model *model;
	uint64_t handle;                /* in the model's pool; 0: it has no lease */
	int64_t heard_ns;               /* monotonic */
	int64_t busy_ns;                /* it had tasks then; monotonic */
	int64_t created_ns;             /* since 1970 */
	bool asked;                     /* it has asked for tasks */
	bool restored;                  /* from the store: it may hold something */
	bool open;                      /* it has a batch that it has not reported */
	bool stop;                      /* it is told to end when it asks the next time */
	bool given_up;                  /* it was silent for too long: its job is stopped */
	int64_t held[STRATA_BATCH_MAX]; /* the tasks of its last batch */
	uint32_t held_count;
	char why[200];  /* it cannot work, as it says; "": it has not said so */
	int64_t ask_ns; /* what asking and reporting cost it last, by its own clock; 0: not said */
};

/* What a worker says. */
struct worker_ask {
	int64_t free_bytes, wait_ms, ask_ns;
	struct strata_list holding, holding_steps; /* of int64_t */
};
struct worker_row {
	int64_t id;
	int kind; /* enum strata_done_kind */
	int64_t steps, cost_ns;
	int status;
	const char *error;
	struct strata_list images; /* of const char * */
	int64_t width, height;
	int64_t cap; /* more tasks like it at once do not pay; 0: not known */
};

int workers_load(struct decider *decider, struct strata_error *err);
void workers_free(struct decider *decider);
/* The caller's worker; NULL: answered, it is none. */
struct worker *lease_worker(struct decider *decider, struct request *request);
/* The same of one that may have nothing to do with leases yet. */
struct worker *lease_beginner(struct decider *decider, struct request *request);
struct worker *lease_add(struct decider *decider, int64_t job, struct model *model);
/* A task that it has; NULL: it has it not. */
struct task *lease_find(const struct decider *decider, const struct worker *worker, int64_t id);
/* Its tasks go back to their places. */
void lease_lose(struct decider *decider, struct worker *worker);

/* A batch, as JSON in ret_json, or NULL there: nothing to do now. */
int lease_pick(struct decider *decider, struct worker *worker, const struct worker_ask *ask,
	       json_t **ret_json, struct strata_error *err);
/* It lives; after a restart it may say what it holds, and has it again where nobody else does. */
int lease_beat(struct decider *decider, struct worker *worker, const struct worker_ask *ask,
	       struct strata_error *err);
/* What came of the batch. -ESTALE: the lease is lost. */
int lease_done(struct decider *decider, struct worker *worker, const struct worker_row *rows,
	       size_t count, struct strata_error *err);

/* Once a round: leases that end, jobs that have ended, workers that are wanted or not. */
void workers_look(struct decider *decider);
/* When there is something to look at, monotonic; INT64_MAX: never. */
int64_t workers_due_ns(const struct decider *decider);

/* worker_jobs.c: starts and stops the jobs of a model. */
void worker_jobs_look(struct decider *decider, struct model *model);
/* The numbers of the model's jobs; whether one of them has asked for tasks. NULL: no memory. */
json_t *worker_jobs_of(const struct decider *decider, const struct model *model, bool *ret_started);
/* It hangs: its job is stopped, so that another can be started in its place. */
void worker_jobs_give_up(struct decider *decider, struct worker *worker);
/* Its job has ended, or is not there: true when it was `worker`'s and it is to go. */
bool worker_jobs_ended(struct decider *decider, struct worker *worker);

#endif
