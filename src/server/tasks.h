/*
 * Generation tasks that have not ended: what is asked for, where it is in its model's pool, and who
 * waits for it. A task is durable before it is acknowledged and its end before that is. What lies
 * between, who has it and how far it is, is known here only: after a restart every live task waits
 * again, in its old place, until a worker says that it holds it. The decider's.
 */
#ifndef SERVER_TASKS_H
#define SERVER_TASKS_H

#include "server/decider.h"
#include "server/models.h"
#include "server/request.h"

#include <strata/pool.h>

struct task {
	struct store_task row; /* texts are owned, but for status and model */
	struct model *model;
	uint64_t handle; /* in its model's pool */
	struct model_shape shape;
	int64_t expected_ns; /* what it should cost; 0: no more than a guess */
	int64_t said_ns;     /* when its progress was last an event; monotonic */
	char *preview;       /* PNG; NULL: none */
	size_t preview_bytes;
	uint64_t preview_number; /* so many came */
	struct task *next_ended; /* of those that go after the commit */
	int64_t latents_steps;   /* saved latents are of after so many; -1: there are none */
	int64_t left_job;        /* of the worker that it was taken from last; 0: none */
	bool ended;
};

/* What is asked for, with the model's defaults filled in. Texts are borrowed. */
struct task_request {
	const char *user, *account;
	int64_t uid;
	struct model *model;
	const char *parameters; /* JSON */
	int64_t priority, deadline_ns, steps, seed, width, height, n;
};

int tasks_load(struct decider *decider, struct strata_error *err);
void tasks_free(struct decider *decider);

struct task *task_find(const struct decider *decider, int64_t id); /* live, or ended just now */
/* Takes it in; into the batch. -EDQUOT: the queue, or the user's part of it, is full. */
int task_add(struct decider *decider, const struct task_request *request, struct task **ret_task,
	     struct strata_error *err);
/* Takes it back, before anybody was told: the number is not used again. */
void task_withdraw(struct decider *decider, struct task *task);
/* -EALREADY: it has ended. */
int task_cancel(struct decider *decider, struct task *task, const char *by,
		struct strata_error *err);
/* May this caller ask for it? */
int task_check_priority(const struct decider *decider, const struct identity *who, int64_t priority,
			struct strata_error *err);
int task_set_priority(struct decider *decider, struct task *task, int64_t priority,
		      struct strata_error *err);
/* What the pool says of it is its state now; told as an event when it is worth it. */
void task_update(struct decider *decider, struct task *task);
/* It has ended as the pool says; images (JSON, may be NULL) and error become its own. */
void task_end(struct decider *decider, struct task *task, const char *images, const char *error);
/* The measured cost of so many steps of it goes to its user's fair share, which jobs share. */
void task_charge(struct decider *decider, const struct task *task, int64_t steps, int64_t cost_ns);
/* After a commit: forgets those that have ended, and files that no task names. */
void tasks_committed(struct decider *decider);
/* The file goes after the next commit, if no task names it then. */
void tasks_doom(struct decider *decider, const char *hash);

/* A number among its parameters, for policies that look at them. */
bool task_attribute(void *context, const void *payload, const char *name, double *ret_value);
enum strata_task_status task_status(const struct task *task);
/* As JSON; `all`: with what is its owner's. NULL: no memory. */
json_t *task_view(const struct store_task *row, bool all); /* any thread */
json_t *task_view_live(struct decider *decider, const struct task *task, bool all);
/* Are prompt and picture this caller's to see? Any thread. */
bool task_may_see(const struct identity *who, const struct store_task *row);

#endif
