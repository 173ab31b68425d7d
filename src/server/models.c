/* The table of models: see models.h. A model's pool is made with it and goes with it, so it stays
 * as long as tasks of it are live. */
#include "server/models.h"

#include "core/env_log.h"
#include "core/option.h"
#include "core/text.h"
#include "server/tasks.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/solver.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OF(field) offsetof(struct model_conf, field)
#define MIB (INT64_C(1) << 20)
/* beside the settings in a stored row; no setting is called so */
#define KEPT "measured"
#define KEPT_CAPS "caps"
#define KEPT_USUAL "usual"
#define KEPT_WARM "warm"
#define KEEP_NS INT64_C(10000000000) /* so often what was measured is written, at most */

enum { STEPS_USUAL = 20 };

static const struct strata_choice workers[] = {
	{ "strata", MODEL_WORKER_STRATA, "`strata worker`, with the engine" },
	{ "python", MODEL_WORKER_PYTHON, "the Python package" },
	{ 0 },
};

static const struct strata_option options[] = {
	{ "folder", STRATA_TEXT, OF(folder), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .help = "absolute path of the model; left out: one that comes with the program" },
	{ "family", STRATA_TEXT, OF(family), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "sd15, sdxl, flux …: solver, steps, size and guidance of requests that say nothing" },
	{ "backend", STRATA_TEXT, OF(backend), .text = { "native", STRATA_NAME_BYTES_MAX },
	  .help = "what computes it: native or onnxruntime" },
	{ "worker", STRATA_ENUM, OF(worker), .choice = { workers, MODEL_WORKER_STRATA },
	  .help = "which program makes its pictures" },
	{ "gpus", STRATA_INT, OF(gpus), .integer = { 0, 0, 64 }, .help = "of one worker" },
	{ "cpus", STRATA_REAL, OF(cpus), .real = { 1, 0.01, 4096 }, .help = "of one worker" },
	{ "memory", STRATA_BYTES, OF(memory_bytes), .integer = { 512 * MIB, MIB, INT64_C(1) << 50 },
	  .help = "of one worker" },
	{ "workers_min", STRATA_INT, OF(workers_min), .integer = { 0, 0, STRATA_MODEL_WORKERS_MAX },
	  .help = "workers that are always there" },
	{ "workers_max", STRATA_INT, OF(workers_max), .integer = { 1, 0, STRATA_MODEL_WORKERS_MAX },
	  .help = "at most so many workers" },
	{ "batch", STRATA_INT, OF(batch), .integer = { 4, 1, STRATA_BATCH_MAX },
	  .help = "tasks that a worker computes together" },
	{ "solver", STRATA_TEXT, OF(solver), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .aliases = "scheduler, sampler", .help = "of requests that name none" },
	{ "schedule", STRATA_TEXT, OF(schedule), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of requests that name none" },
	{ "steps", STRATA_INT, OF(steps), .integer = { 0, 0, STRATA_GENERATE_STEPS_MAX },
	  .help = "of requests that say nothing; 0: the family's, else 20" },
	{ "width", STRATA_INT, OF(width), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "of requests that say nothing; 0: the model's own" },
	{ "height", STRATA_INT, OF(height), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "of requests that say nothing; 0: the model's own" },
	{ "guidance_scale", STRATA_REAL, OF(guidance_scale), .real = { -1, -1, 100 },
	  .help = "of requests that say nothing; -1: the model's own" },
	{ 0 }
};
const struct strata_schema model_schema = { "model", "what pictures are made with",
					    sizeof(struct model_conf), options };
#undef OF

/* ---- settings ---- */

static bool is_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= STRATA_NAME_BYTES_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       length &&
	       name[0] != '.' && name[0] != '-';
}

/* What its family is usually drawn with, where nothing is said. */
static int fill_family(struct model_conf *conf, struct strata_error *err)
{
	const struct strata_model_family *family = NULL;
	int rc = conf->family ? strata_model_family_find(conf->family, strlen(conf->family),
							 &family, err)
			      : 0;

	if (rc)
		return rc;
	if (family) {
		conf->family = family->name;
		conf->solver = conf->solver ? conf->solver : family->solver;
		conf->steps = conf->steps ? conf->steps : family->steps;
		conf->width = conf->width ? conf->width : family->side;
		conf->height = conf->height ? conf->height : family->side;
		if (conf->guidance_scale < 0)
			conf->guidance_scale = family->guidance_scale;
	}
	conf->steps = conf->steps ? conf->steps : STEPS_USUAL;
	return 0;
}

static int read_conf(const char *name, const json_t *settings, struct strata_arena *arena,
		     struct model_conf *ret_conf, struct strata_error *err)
{
	struct model_conf conf = { 0 };
	int rc = strata_schema_defaults(&model_schema, arena, &conf, err);

	if (rc == 0)
		rc = option_read_json(&model_schema, settings, 0, arena, &conf, err);
	if (rc)
		return rc;
	if (conf.folder && conf.folder[0] != '/')
		return strata_fail_at(err, -EINVAL, "folder",
				      "folder is %.100s; expected an absolute path", conf.folder);
	if (!conf.folder && strcmp(name, MODEL_BUILT_IN) != 0)
		return strata_fail_at(err, -EINVAL, "folder",
				      "folder is missing: only %s comes with the program",
				      MODEL_BUILT_IN);
	if (strcmp(conf.backend, "native") != 0 && strcmp(conf.backend, "onnxruntime") != 0)
		return strata_fail_at(err, -EINVAL, "backend",
				      "backend is %.60s; expected native or onnxruntime",
				      conf.backend);
	rc = fill_family(&conf, err);
	if (rc)
		return rc;
	if (conf.workers_min > conf.workers_max)
		return strata_fail_at(err, -EINVAL, "workers_min",
				      "workers_min is %lld; expected at most workers_max, %lld",
				      (long long)conf.workers_min, (long long)conf.workers_max);
	*ret_conf = conf;
	return 0;
}

int model_check(const char *name, const json_t *settings, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct model_conf conf;

	if (!is_name(name))
		return strata_fail(err, -EINVAL,
				   "%.60s is no name of a model; expected letters, digits, '.', "
				   "'_' and '-', up to %d",
				   name, STRATA_NAME_BYTES_MAX);
	strata_arena_init(&arena, &memory, 0);
	int rc = read_conf(name, settings, &arena, &conf, err);

	strata_arena_fini(&arena);
	return rc;
}

/* ---- making and taking away ---- */

static void free_model(struct model *model)
{
	strata_pool_free(model->pool);
	strata_arena_fini(&model->arena);
	json_decref(model->settings);
	free(model->name);
	free(model);
}

static int new_pool(struct decider *decider, struct model *model, struct strata_error *err)
{
	struct strata_pool_conf conf = { .policy = decider->policy,
					 .steps_per_pick = UINT32_MAX,
					 .batch_max = (uint32_t)model->conf.batch,
					 .lease_ns = decider->conf->worker_lease_ns,
					 .preempt = decider->conf->pool_preempt,
					 .attribute = task_attribute };

	recorder_pool(decider, &model->record, &model->pool, model->name,
		      decider->conf->pool_policy, &conf);
	return strata_pool_new(&conf, &decider->memory, &model->pool, err);
}

uint32_t model_cap(const struct model *model, uint64_t shape)
{
	uint32_t learned = model_caps_get(&model->caps, shape);
	uint32_t batch = (uint32_t)model->conf.batch;

	return learned && learned < batch ? learned : batch;
}

void model_learn_cap(const struct decider *decider, struct model *model, uint64_t shape,
		     uint32_t cap, int64_t job)
{
	if (model_caps_tell(&model->caps, shape, cap, job,
			    env_now_ns(decider->env, ENV_MONOTONIC)))
		strata_pool_set_cap(model->pool, 1, shape, model_cap(model, shape), NULL);
}

static int new_model(struct decider *decider, const char *name, const json_t *settings,
		     struct model **ret_model, struct strata_error *err)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model)
		return strata_fail_memory(err);
	strata_arena_init(&model->arena, &decider->memory, 0);
	model->name = strdup(name);
	model->settings = json_deep_copy(settings);
	int rc = model->name && model->settings
			 ? read_conf(name, settings, &model->arena, &model->conf, err)
			 : strata_fail_memory(err);

	if (rc == 0)
		rc = new_pool(decider, model, err);
	if (rc == 0 && map_text_put(&decider->models, name, strlen(name), model, NULL))
		rc = strata_fail_memory(err);
	if (rc) {
		free_model(model);
		return rc;
	}
	model->created_ns = decider_now_ns(decider);
	*ret_model = model;
	return 0;
}

static void put_row(struct decider *decider, const struct model *model)
{
	json_t *kept = batch_need(json_copy(model->settings));

	json_object_set_new(kept, KEPT, model_measure_keep(&model->measures));
	json_object_set_new(kept, KEPT_CAPS, model_caps_keep(&model->caps));
	if (model->usual)
		json_object_set_new(kept, KEPT_USUAL, json_true());
	if (model->warm)
		json_object_set_new(kept, KEPT_WARM, json_integer(model->warm));
	char *text = batch_need(json_dumps(kept, JSON_COMPACT));
	struct store_model row = { .name = model->name,
				   .settings = text,
				   .paused = model->paused,
				   .created_ns = model->created_ns };

	batch_put(decider, STORE_PUT(&row));
	free(text);
	json_decref(kept);
}

void model_keep(struct decider *decider, struct model *model)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);

	if (!(model->measures.changed || model->caps.changed) || decider->batch.held ||
	    now_ns - model->kept_ns < KEEP_NS)
		return;
	model->measures.changed = model->caps.changed = false;
	model->kept_ns = now_ns;
	put_row(decider, model);
}

struct model *models_find(const struct decider *decider, const char *name)
{
	return map_text_get(&decider->models, name, strlen(name));
}

struct model *model_next(const struct decider *decider, const struct model *model)
{
	const struct map_text_entry *entry = map_text_next(
		&decider->models,
		model ? map_text_find(&decider->models, model->name, strlen(model->name)) : NULL);

	return entry ? entry->value : NULL;
}

struct model *model_default(const struct decider *decider)
{
	struct model *model = NULL;

	while ((model = model_next(decider, model)))
		if (model->usual)
			return model;
	model = models_find(decider, MODEL_BUILT_IN);
	return model ? model : model_next(decider, NULL);
}

/* Takes other settings; the pool stays unless its size of a batch changes, which it was made
 * with. */
static int change(struct decider *decider, struct model *model, const json_t *settings,
		  struct strata_error *err)
{
	struct strata_arena arena;
	struct model_conf conf;

	strata_arena_init(&arena, &decider->memory, 0);
	json_t *copy = json_deep_copy(settings);
	int rc = copy ? read_conf(model->name, settings, &arena, &conf, err)
		      : strata_fail_memory(err);

	if (rc == 0 && conf.batch != model->conf.batch &&
	    (model->task_count || model->worker_count))
		rc = strata_fail_at(err, -EBUSY, "batch",
				    "model %.60s has tasks or workers; batch can change when they "
				    "have ended",
				    model->name);
	if (rc == 0 && conf.batch != model->conf.batch) {
		struct strata_pool *old = model->pool;
		int64_t batch = model->conf.batch;

		model->conf.batch = conf.batch;
		rc = new_pool(decider, model, err);
		if (rc == 0) {
			strata_pool_free(old);
		} else {
			model->pool = old;
			model->conf.batch = batch;
		}
	}
	if (rc) {
		json_decref(copy);
		strata_arena_fini(&arena);
		return rc;
	}
	json_decref(model->settings);
	strata_arena_fini(&model->arena);
	model->settings = copy;
	model->arena = arena;
	model->conf = conf;
	model->trouble[0] = '\0'; /* what was wrong may be right now */
	model->failures = 0;
	model->start_ns = 0;
	return 0;
}

int model_set(struct decider *decider, const char *name, const json_t *settings,
	      struct strata_error *err)
{
	struct model *model = models_find(decider, name);
	int rc;

	if (!model && decider->models.count >= STRATA_MODELS_MAX)
		return strata_fail(err, -EDQUOT, "there are %d models, and may be no more",
				   STRATA_MODELS_MAX);
	rc = model ? change(decider, model, settings, err)
		   : new_model(decider, name, settings, &model, err);
	if (rc == 0)
		put_row(decider, model);
	return rc;
}

int model_remove(struct decider *decider, struct model *model, struct strata_error *err)
{
	struct store_model row = { .name = model->name };

	/* those of this very round are in its pool until the commit */
	for (const struct task *task = decider->ended_tasks; task; task = task->next_ended)
		if (task->model == model)
			return strata_fail(err, -EBUSY,
					   "a task of model %.60s has ended just now; ask again",
					   model->name);
	if (model->task_count || model->worker_count)
		return strata_fail(err, -EBUSY,
				   "model %.60s has %zu task%s and %zu worker%s that have not ended",
				   model->name, model->task_count,
				   model->task_count == 1 ? "" : "s", model->worker_count,
				   model->worker_count == 1 ? "" : "s");
	batch_put(decider, STORE_DELETE(&row));
	map_text_remove(&decider->models, model->name, strlen(model->name));
	free_model(model);
	return 0;
}

void model_pause(struct decider *decider, struct model *model, bool paused)
{
	model->paused = paused;
	put_row(decider, model);
}

void model_set_usual(struct decider *decider, struct model *model)
{
	for (struct model *other = model_next(decider, NULL); other;
	     other = model_next(decider, other))
		if (other->usual != (other == model)) {
			other->usual = other == model;
			put_row(decider, other);
		}
}

int model_set_warm(struct decider *decider, struct model *model, int64_t count,
		   struct strata_error *err)
{
	if (count > model->conf.workers_max)
		return strata_fail_at(err, -EINVAL, "workers",
				      "workers is %lld; model %.60s may have up to %lld "
				      "(workers_max)",
				      (long long)count, model->name,
				      (long long)model->conf.workers_max);
	model->warm = count;
	model->cool = count == 0;
	model->start_ns = 0; /* what failed may be right now */
	put_row(decider, model);
	return 0;
}

/* ---- beginning and end ---- */

static int load_model(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_model *row = row_any;
	json_t *settings = json_loads(row->settings, 0, NULL);
	json_t *kept = json_incref(json_object_get(settings, KEPT));
	json_t *caps = json_incref(json_object_get(settings, KEPT_CAPS));
	bool usual = json_is_true(json_object_get(settings, KEPT_USUAL));
	int64_t warm = json_integer_value(json_object_get(settings, KEPT_WARM));
	struct model *model;

	json_object_del(settings, KEPT);
	json_object_del(settings, KEPT_CAPS);
	json_object_del(settings, KEPT_USUAL);
	json_object_del(settings, KEPT_WARM);
	int rc = settings ? new_model(decider, row->name, settings, &model, err)
			  : strata_fail(err, -EBADMSG, "its settings are not JSON");

	json_decref(settings);
	if (rc == 0) {
		model_measure_restore(&model->measures, kept);
		model_caps_restore(&model->caps, caps, env_now_ns(decider->env, ENV_MONOTONIC));
	}
	json_decref(kept);
	json_decref(caps);
	if (rc)
		return strata_fail(err, rc, "model %.60s cannot be restored: %s", row->name,
				   err->text);
	model->paused = row->paused;
	model->usual = usual;
	model->warm = warm;
	model->created_ns = row->created_ns;
	return 0;
}

int models_load(struct decider *decider, struct strata_error *err)
{
	int rc = store_load(decider->store, STORE_MODEL, NULL, load_model, decider, err);

	if (rc || decider->models.count)
		return rc;
	json_t *settings = json_pack("{s:i}", "steps", MODEL_BUILT_IN_STEPS);

	rc = settings ? model_set(decider, MODEL_BUILT_IN, settings, err) : strata_fail_memory(err);
	json_decref(settings);
	return rc;
}

void models_free(struct decider *decider)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&decider->models, entry)))
		free_model(entry->value);
	map_text_fini(&decider->models);
	map_text_init(&decider->models, &decider->memory);
}

/* ---- as JSON ---- */

json_t *model_view(const struct decider *decider, const struct model *model)
{
	const struct model_conf *conf = &model->conf;
	struct strata_pool_metrics metrics;

	strata_pool_metrics(model->pool, &metrics);
	return json_pack(
		"{s:s,s:s?,s:s,s:s,s:I,s:f,s:I,s:I,s:I,s:I,s:b,s:o,s:{s:s?,s:s?,s:I,s:I,s:I,s:f},"
		"s:I,s:I,s:I,s:s?,s:s,s:s?,s:b,s:I,s:I,s:o}",
		"name", model->name, "folder", conf->folder, "backend", conf->backend, "worker",
		workers[conf->worker].name, "gpus", (json_int_t)conf->gpus, "cpus", conf->cpus,
		"memory_bytes", (json_int_t)conf->memory_bytes, "workers_min",
		(json_int_t)conf->workers_min, "workers_max", (json_int_t)conf->workers_max,
		"batch", (json_int_t)conf->batch, "paused", model->paused, "created_at",
		view_time(model->created_ns), "defaults", "solver", conf->solver, "schedule",
		conf->schedule, "steps", (json_int_t)conf->steps, "width", (json_int_t)conf->width,
		"height", (json_int_t)conf->height, "guidance_scale", conf->guidance_scale,
		"pending", (json_int_t)metrics.tasks[STRATA_TASK_PENDING], "running",
		(json_int_t)(metrics.tasks[STRATA_TASK_ENCODING] +
			     metrics.tasks[STRATA_TASK_DENOISING] +
			     metrics.tasks[STRATA_TASK_DECODING]),
		"workers", (json_int_t)model->worker_count, "trouble",
		model->trouble[0] ? model->trouble : NULL, "policy", metrics.policy, "family",
		conf->family, "default", model == model_default(decider), "warm",
		(json_int_t)model->warm, "tasks", (json_int_t)model->task_count, "measured",
		model_measure_view(&model->measures));
}
