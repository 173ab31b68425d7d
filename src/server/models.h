/*
 * Models: what pictures are made with, each with a pool of its own (strata/pool.h), in which its
 * tasks wait for its workers. The decider's.
 */
#ifndef SERVER_MODELS_H
#define SERVER_MODELS_H

#include "server/decider.h"
#include "server/model_caps.h"
#include "server/model_measure.h"
#include "server/recorder.h"
#include "server/task_metrics.h"

#include <strata/pool.h>

#include <jansson.h>

/* As an operator says it: one table for the API, the documents and the stored row. */
struct model_conf {
	const char *folder; /* NULL: one that comes with the program, by its name */
	const char *family; /* of strata_model_family_find; NULL: not known */
	const char *backend;
	int worker; /* enum model_worker */
	int64_t gpus, memory_bytes, workers_min, workers_max, batch;
	double cpus;
	/* Of requests that say nothing, those of the family filled in; NULL, 0 and -1: the model's
	 * own. */
	const char *solver, *schedule;
	int64_t steps, width, height;
	double guidance_scale;
};
enum model_worker { MODEL_WORKER_STRATA, MODEL_WORKER_PYTHON };
extern const struct strata_schema model_schema;

struct model {
	char *name;
	json_t *settings; /* as they were said; owned */
	struct strata_arena arena;
	struct model_conf conf; /* texts in the arena */
	bool paused;
	bool usual;   /* requests that name no model mean this one */
	int64_t warm; /* workers that are kept up, besides workers_min */
	bool cool;    /* workers without tasks end at once, until there are tasks */
	int64_t created_ns;
	struct strata_pool *pool;
	struct model_caps caps; /* by shape: batches that its workers found to pay */
	struct recorder_pool record; /* of the pool */
	struct model_measures measures;
	struct task_metrics metrics;
	int64_t kept_ns; /* they were written; monotonic */
	size_t task_count;   /* live tasks */
	size_t worker_count; /* jobs of it that have not ended */
	/* why the last worker did not work; "": it does. Shown on tasks that wait */
	char trouble[300];
	int failures;     /* workers in a row that asked for nothing */
	int64_t start_ns; /* no worker is started before; monotonic */
};

#define MODEL_BUILT_IN "digits"
enum { MODEL_BUILT_IN_STEPS = 12 }; /* as models/digits/README.md says */

/* Reads what is stored; a service that knows none makes the one that comes with it. */
int models_load(struct decider *decider, struct strata_error *err);
void models_free(struct decider *decider);
/* NULL: there is none of this name. */
struct model *models_find(const struct decider *decider, const char *name);
/* The one to use when a request names none; NULL: there is none. */
struct model *model_default(const struct decider *decider);
/* In the order of their making; NULL: the first, or past the last. */
struct model *model_next(const struct decider *decider, const struct model *model);

/* How many tasks of a shape go together: what was learned (0: nothing), never more than its
 * batch. */
uint32_t model_cap(const struct model *model, uint64_t shape);
/* The worker of this job says so. */
void model_learn_cap(const struct decider *decider, struct model *model, uint64_t shape,
		     uint32_t cap, int64_t job);

/* Is it a name, and are these the settings of a model? Any thread. */
int model_check(const char *name, const json_t *settings, struct strata_error *err);
/* Makes or changes one: goes into the batch. The settings were checked. -EBUSY for what cannot be
 * changed while tasks of it are live. */
int model_set(struct decider *decider, const char *name, const json_t *settings,
	      struct strata_error *err);
/* -EBUSY while it has tasks or workers that have not ended. */
int model_remove(struct decider *decider, struct model *model, struct strata_error *err);
void model_pause(struct decider *decider, struct model *model, bool paused);
void model_set_usual(struct decider *decider, struct model *model);
/* So many workers are up with or without tasks; -EINVAL for more than it may have. 0: those without
 * tasks end now. */
int model_set_warm(struct decider *decider, struct model *model, int64_t workers,
		   struct strata_error *err);
/* Once a round: what was measured goes into the batch, now and then. */
void model_keep(struct decider *decider, struct model *model);
/* NULL: no memory */
json_t *model_view(const struct decider *decider, const struct model *model);

#endif
