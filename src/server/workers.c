/*
 * Leases: what workers ask for and report, put to the pool of their model. A pick covers whole
 * tasks in the pool; how many steps a worker does before it asks again is decided here: as few as
 * keep the asking cheap when somebody waits who may join, else somewhat more.
 */
#include "server/workers.h"

#include "core/env_log.h"
#include "server/live.h"
#include "server/result_budget.h"
#include "server/results.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_NS INT64_C(250000000)   /* a worker asks about so often when nobody waits */
#define ASK_NS_USUAL INT64_C(2000000) /* what asking costs one that has not said */

enum {
	ASK_SHARE = 50,
	SILENT_LEASES = 6, /* who has asked before and is silent for so many hangs */
};

static int64_t now_mono(const struct decider *decider)
{
	return env_now_ns(decider->env, ENV_MONOTONIC);
}

/* ---- who is one ---- */

struct worker *lease_add(struct decider *decider, int64_t job, struct model *model)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker || map_u64_put(&decider->workers, (uint64_t)job, worker, NULL)) {
		free(worker);
		return NULL;
	}
	if (worker_set_put(&decider->common->workers, job)) {
		map_u64_remove(&decider->workers, (uint64_t)job);
		free(worker);
		return NULL;
	}
	worker->job = job;
	worker->model = model;
	worker->heard_ns = worker->busy_ns = now_mono(decider);
	worker->created_ns = decider_now_ns(decider);
	model->worker_count++;
	return worker;
}

static int load_worker(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_worker *row = row_any;
	const struct live *live = live_get(decider, row->job);
	/* the row of one that has ended says whose job that was, as long as the job is known */
	struct model *model = live && !live->job.completed_ns ? models_find(decider, row->model)
							      : NULL;
	struct worker *worker = model ? lease_add(decider, row->job, model) : NULL;

	if (model && !worker)
		return strata_fail_memory(err);
	if (worker) {
		worker->created_ns = row->created_ns;
		worker->restored = true;
	}
	return 0;
}

int workers_load(struct decider *decider, struct strata_error *err)
{
	return store_load(decider->store, STORE_WORKER, NULL, load_worker, decider, err);
}

void workers_free(struct decider *decider)
{
	const struct map_u64_entry *entry = NULL;

	while ((entry = map_u64_next(&decider->workers, entry))) {
		worker_set_remove(&decider->common->workers, (int64_t)entry->key);
		free(entry->value);
	}
	map_u64_fini(&decider->workers);
	map_u64_init(&decider->workers, &decider->memory);
}

struct worker *lease_beginner(struct decider *decider, struct request *request)
{
	const struct identity *who = &request->who;
	struct worker *worker = who->job ? map_u64_get(&decider->workers, (uint64_t)who->job)
					 : NULL;
	const struct live *live = worker ? live_get(decider, who->job) : NULL;

	if (!live || live->job.completed_ns || live->job.attempt != who->attempt) {
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "only a job that the service started for a model may do this");
		return NULL;
	}
	return worker;
}

struct worker *lease_worker(struct decider *decider, struct request *request)
{
	struct worker *worker = lease_beginner(decider, request);

	if (!worker)
		return NULL;
	worker->heard_ns = now_mono(decider);
	worker->asked = true;
	worker->model->failures = 0;
	worker->model->trouble[0] = '\0';
	return worker;
}

/* ---- leases ---- */

static struct task *held(const struct decider *decider, const struct worker *worker, uint32_t index)
{
	return task_find(decider, worker->held[index]);
}

struct task *lease_find(const struct decider *decider, const struct worker *worker, int64_t id)
{
	struct task *task = task_find(decider, id);

	if (!task || task->ended)
		return NULL;
	for (uint32_t i = 0; i < worker->held_count; i++)
		if (worker->held[i] == id)
			return task;
	return NULL;
}

void lease_lose(struct decider *decider, struct worker *worker)
{
	if (!worker->handle)
		return;
	worker->model->metrics.leases_lost += worker->held_count > 0;
	strata_pool_remove_worker(worker->model->pool, worker->handle, decider_now_ns(decider),
				  NULL);
	worker->handle = 0;
	worker->open = false;
	for (uint32_t i = 0; i < worker->held_count; i++)
		if (held(decider, worker, i))
			task_update(decider, held(decider, worker, i));
	worker->held_count = 0;
	decider->again = true; /* others may have what it had */
}

/* Is it one that waits in this model's line? */
static struct task *free_task(struct decider *decider, const struct worker *worker, int64_t id)
{
	struct task *task = task_find(decider, id);
	struct strata_task_view view;

	if (!task || task->ended || task->model != worker->model ||
	    strata_pool_get(worker->model->pool, task->handle, &view, NULL) ||
	    view.status != STRATA_TASK_PENDING)
		return NULL;
	return task;
}

static uint32_t least(int64_t a, int64_t b)
{
	int64_t value = a < b ? a : b;

	return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* What it has done that the pool does not know of. */
static uint32_t more_steps(const struct task *task, int64_t steps)
{
	struct strata_task_view view;

	if (strata_pool_get(task->model->pool, task->handle, &view, NULL))
		return 0;
	return least(steps - view.steps_done, (int64_t)view.steps - view.steps_done);
}

/* What a worker says it holds is its again, as far as nobody else has it. `steps` may be NULL. */
static int take_up(struct decider *decider, struct worker *worker, const int64_t *ids,
		   const int64_t *steps, size_t count, struct strata_error *err)
{
	struct strata_pool *pool = worker->model->pool;
	struct strata_pool_metrics metrics;
	struct strata_done rows[STRATA_BATCH_MAX];
	struct strata_batch batch = { .now_ns = decider_now_ns(decider),
				      .worker = worker->handle,
				      .until_ns = INT64_MAX,
				      .steps = UINT32_MAX };

	for (size_t i = 0; i < count && batch.count < (uint32_t)worker->model->conf.batch; i++) {
		struct task *task = free_task(decider, worker, ids[i]);
		bool twice = false;

		for (uint32_t j = 0; task && j < batch.count; j++)
			twice |= batch.tasks[j] == task->handle;
		if (!task || twice)
			continue;
		rows[batch.count] = (struct strata_done){
			.task = task->handle,
			.kind = STRATA_DONE_STEPS,
			.steps = steps ? more_steps(task, steps[i]) : 0,
		};
		worker->held[batch.count] = ids[i];
		batch.tasks[batch.count++] = task->handle;
	}
	if (!batch.count)
		return 0;
	strata_pool_metrics(pool, &metrics);
	batch.number = metrics.decisions + 1;
	int rc = strata_pool_apply(pool, &batch, err);

	if (rc == 0)
		rc = strata_pool_done(pool, worker->handle, rows, batch.count, batch.now_ns, err);
	if (rc)
		return rc;
	worker->held_count = batch.count;
	for (uint32_t i = 0; i < batch.count; i++) {
		held(decider, worker, i)->row.attempts++;
		task_update(decider, held(decider, worker, i));
	}
	return 0;
}

static int begin_lease(struct decider *decider, struct worker *worker, const int64_t *ids,
		       const int64_t *steps, size_t count, struct strata_error *err)
{
	assert(!worker->handle);
	worker->held_count = 0;
	int rc = strata_pool_add_worker(worker->model->pool, 0, decider_now_ns(decider),
					&worker->handle, err);

	return rc ? rc : take_up(decider, worker, ids, steps, count, err);
}

/* The same with what it says in a request. */
static int begin_asked(struct decider *decider, struct worker *worker, const struct worker_ask *ask,
		       struct strata_error *err)
{
	bool paired = ask->holding_steps.count == ask->holding.count;

	return begin_lease(decider, worker, ask->holding.items,
			   paired ? ask->holding_steps.items : NULL, ask->holding.count, err);
}

int lease_beat(struct decider *decider, struct worker *worker, const struct worker_ask *ask,
	       struct strata_error *err)
{
	if (worker->handle)
		return strata_pool_beat(worker->model->pool, worker->handle,
					decider_now_ns(decider), err);
	return ask->holding.count ? begin_asked(decider, worker, ask, err) : 0;
}

/* Only what it still has is held. */
static void prune(struct decider *decider, struct worker *worker)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < worker->held_count; i++) {
		struct task *task = held(decider, worker, i);
		struct strata_task_view view;

		if (task && strata_pool_get(worker->model->pool, task->handle, &view, NULL) == 0 &&
		    view.worker == worker->handle)
			worker->held[kept++] = worker->held[i];
	}
	worker->held_count = kept;
}

/* It asks although it has not reported: it did not hear the last answer, or has begun anew. What it
 * does not hold goes back. */
static int settle(struct decider *decider, struct worker *worker, const struct worker_ask *ask,
		  struct strata_error *err)
{
	const int64_t *ids = ask->holding.items;
	struct strata_done rows[STRATA_BATCH_MAX];
	size_t count = 0;

	for (uint32_t i = 0; i < worker->held_count; i++) {
		struct task *task = held(decider, worker, i);
		bool holds = false;

		for (size_t j = 0; j < ask->holding.count; j++)
			holds |= ids[j] == worker->held[i];
		if (task && !task->ended)
			rows[count++] = (struct strata_done){ .task = task->handle,
							      .kind = holds ? STRATA_DONE_STEPS
									    : STRATA_DONE_BACK };
	}
	worker->open = false;
	int rc = strata_pool_done(worker->model->pool, worker->handle, rows, count,
				  decider_now_ns(decider), err);

	if (rc == 0)
		prune(decider, worker);
	return rc;
}

/* ---- picking ---- */

/* A step of one task: as it went so far, else as others like it went; 0: nobody has seen one. What
 * was expected when it came does not count, as more may be known since. */
static int64_t step_ns_of(const struct strata_task_view *view, uint32_t left)
{
	const struct task *task = view->payload;
	const struct model_measures *measures = &task->model->measures;

	if (view->steps_done && view->used_ns)
		return view->left_ns / left;
	return model_measure_knows(measures, &task->shape)
		       ? model_measure_expect(measures, &task->shape, 1)
		       : 0;
}

/* Steps until it asks again: so many that asking costs less than one part in ASK_SHARE of the
 * computing. When nobody waits it may be more: who comes meanwhile joins a little later. */
static uint32_t steps_of(const struct worker *worker, const struct strata_batch *batch)
{
	struct strata_pool *pool = worker->model->pool;
	uint32_t left = UINT32_MAX;
	int64_t step_ns = 0; /* of the whole batch */

	for (uint32_t i = 0; i < batch->count; i++) {
		struct strata_task_view view;

		if (strata_pool_get(pool, batch->tasks[i], &view, NULL))
			continue;
		uint32_t own = view.steps > view.steps_done ? view.steps - view.steps_done : 1;

		left = own < left ? own : left;
		step_ns += step_ns_of(&view, own);
	}
	bool full = batch->count >= (uint32_t)worker->model->conf.batch;
	bool waits = strata_pool_pending_count(pool) && !full;
	int64_t round_ns = (worker->ask_ns ? worker->ask_ns : ASK_NS_USUAL) * ASK_SHARE;

	if (!step_ns)
		return 1; /* nothing is known of it yet */
	if (!waits && round_ns < ROUND_NS)
		round_ns = ROUND_NS;
	return least((round_ns + step_ns - 1) / step_ns, left);
}

static json_t *task_json(struct decider *decider, const struct worker *worker, uint64_t handle)
{
	struct strata_task_view view;

	if (strata_pool_get(worker->model->pool, handle, &view, NULL))
		return NULL;
	struct task *task = view.payload;
	json_t *parameters = json_loads(task->row.parameters, 0, NULL);

	(void)decider;
	json_object_del(parameters, "webhook"); /* between the service and its user */
	return json_pack("{s:I,s:I,s:o,s:I,s:b}", "id", (json_int_t)task->row.id, "steps_done",
			 (json_int_t)view.steps_done, "parameters", parameters, "seed",
			 (json_int_t)task->row.seed, "latents", task->latents_steps >= 0);
}

/* Those that it says it holds and does not go on with. */
static json_t *dropped(const struct worker *worker, const struct worker_ask *ask)
{
	const int64_t *ids = ask->holding.items;
	json_t *list = json_array();

	for (size_t i = 0; i < ask->holding.count; i++) {
		bool kept = false;

		for (uint32_t j = 0; j < worker->held_count; j++)
			kept |= worker->held[j] == ids[i];
		if (!kept)
			json_array_append_new(list, json_integer(ids[i]));
	}
	return list;
}

static bool was_held(const int64_t *ids, uint32_t count, int64_t id)
{
	for (uint32_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* The batch is the worker's from now on. */
static json_t *hand_out(struct decider *decider, struct worker *worker,
			const struct strata_batch *batch)
{
	int64_t before[STRATA_BATCH_MAX];
	uint32_t before_count = worker->held_count;
	json_t *list = json_array();

	memcpy(before, worker->held, sizeof(before));
	worker->held_count = 0;
	for (uint32_t i = 0; i < batch->count; i++) {
		struct strata_task_view view;

		if (strata_pool_get(worker->model->pool, batch->tasks[i], &view, NULL))
			continue;
		struct task *task = view.payload;

		worker->held[worker->held_count++] = task->row.id;
		if (!was_held(before, before_count, task->row.id)) {
			task->row.attempts++;
			service_trace_task(&decider->common->trace, "picked", task->row.id,
					   strata_trace_int("worker's job", worker->job));
		}
		task_update(decider, task);
		json_array_append_new(list, task_json(decider, worker, batch->tasks[i]));
	}
	for (uint32_t i = 0; i < before_count; i++) { /* given way */
		struct task *task = was_held(worker->held, worker->held_count, before[i])
					    ? NULL
					    : task_find(decider, before[i]);

		if (!task)
			continue;
		task->left_job = worker->job;
		task_update(decider, task);
	}
	worker->open = worker->held_count > 0;
	if (worker->open) {
		worker->busy_ns = now_mono(decider);
		worker->model->metrics.batches++;
		worker->model->metrics.members += worker->held_count;
	}
	return list;
}

/* After a start: until when a worker that lives may say what it holds, before others get it;
 * monotonic. 0: it has said so, or has nothing to say. */
static int64_t unheard_until_ns(const struct decider *decider, const struct worker *worker)
{
	const struct live *live =
		worker->restored && !worker->asked ? live_get(decider, worker->job) : NULL;

	return live && live->job.place && !live->job.completed_ns
		       ? worker->heard_ns + decider->conf->worker_lease_ns / 2
		       : 0;
}

static bool others_may_hold(const struct decider *decider, const struct worker *worker)
{
	const struct map_u64_entry *entry = NULL;

	while ((entry = map_u64_next(&decider->workers, entry))) {
		const struct worker *other = entry->value;

		if (other->model == worker->model &&
		    unheard_until_ns(decider, other) > now_mono(decider))
			return true;
	}
	return false;
}

int lease_pick(struct decider *decider, struct worker *worker, const struct worker_ask *ask,
	       json_t **ret_json, struct strata_error *err)
{
	struct strata_ask asked = { .free_bytes = ask->free_bytes };
	struct strata_batch batch = { 0 };
	int64_t now_ns = decider_now_ns(decider);
	int rc = 0;

	if (!worker->handle)
		rc = begin_asked(decider, worker, ask, err);
	asked.worker = worker->handle;
	worker->ask_ns = ask->ask_ns;
	/* one whose model is paused goes on with what it has */
	bool rests = (worker->model->paused || worker->stop || others_may_hold(decider, worker)) &&
		     !worker->held_count;

	if (rc == 0 && !rests)
		rc = strata_pool_pick(worker->model->pool, &asked, now_ns, &batch, NULL, err);
	if (rc == -EBUSY) {
		rc = settle(decider, worker, ask, err);
		if (rc == 0)
			rc = strata_pool_pick(worker->model->pool, &asked, now_ns, &batch, NULL,
					      err);
	}
	if (rc)
		return rc;
	json_t *tasks = hand_out(decider, worker, &batch), *drop = dropped(worker, ask);

	if (!batch.count && !json_array_size(drop) && !worker->stop) {
		json_decref(tasks);
		json_decref(drop);
		*ret_json = NULL;
		return 0;
	}
	*ret_json = json_pack("{s:I,s:o,s:o,s:b,s:I,s:I}", "steps",
			      (json_int_t)(batch.count ? steps_of(worker, &batch) : 0), "tasks",
			      tasks, "drop", drop, "stop", worker->stop && !batch.count, "lease_ms",
			      (json_int_t)(decider->conf->worker_lease_ns / STRATA_MS_NS),
			      "save_ms",
			      (json_int_t)(decider->conf->worker_save_ns / STRATA_MS_NS));
	return *ret_json ? 0 : strata_fail_memory(err);
}

/* ---- reporting ---- */

/* The pictures of a row as the store keeps them; each is there, or the row is refused. */
static int images_of(struct decider *decider, const struct worker_row *row, char **ret_text,
		     struct strata_error *err)
{
	const char *const *hashes = row->images.items;
	json_t *list = json_array();

	for (size_t i = 0; i < row->images.count; i++) {
		int64_t bytes = 0;

		if (!results_have(decider->conf->state_dir, hashes[i], &bytes)) {
			json_decref(list);
			return strata_fail_at(err, -ENOENT, "images",
					      "the picture %.64s was not sent", hashes[i]);
		}
		json_array_append_new(list,
				      json_pack("{s:s,s:I,s:I,s:I}", "hash", hashes[i], "bytes",
						(json_int_t)bytes, "width", (json_int_t)row->width,
						"height", (json_int_t)row->height));
	}
	*ret_text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return *ret_text ? 0 : strata_fail_memory(err);
}

static void put_results(struct decider *decider, const struct task *task,
			const struct worker_row *row)
{
	const char *const *hashes = row->images.items;

	for (size_t i = 0; i < row->images.count; i++) {
		struct store_result result = { .hash = hashes[i], .task = task->row.id };

		results_have(decider->conf->state_dir, hashes[i], &result.size_bytes);
		batch_put(decider, STORE_PUT(&result));
		result_budget_add(decider, task->row.user, result.size_bytes);
	}
}

/* One row is the task's, after the pool has taken all of them. */
static void take_row(struct decider *decider, struct task *task, const struct worker_row *row,
		     int64_t job, const char *images)
{
	struct strata_task_view view;

	if (strata_pool_get(task->model->pool, task->handle, &view, NULL) == 0)
		model_learn_cap(decider, task->model, view.shape, (uint32_t)row->cap, job);
	if (row->cost_ns)
		task_charge(decider, task, row->steps, row->cost_ns);
	if (task->ended)
		return; /* cancelled meanwhile: only what it cost counts */
	if (row->kind == STRATA_DONE_FINISHED)
		put_results(decider, task, row);
	if (row->kind == STRATA_DONE_FINISHED || row->kind == STRATA_DONE_FAILED)
		task_end(decider, task, row->kind == STRATA_DONE_FINISHED ? images : NULL,
			 row->kind == STRATA_DONE_FAILED
				 ? row->error ? row->error : "the worker gave no reason"
				 : NULL);
	else
		task_update(decider, task);
}

/* After a restart it reports what it was given before: that is its again where nobody has it. */
static int renew(struct decider *decider, struct worker *worker, const struct worker_row *rows,
		 size_t count, struct strata_error *err)
{
	int64_t ids[STRATA_BATCH_MAX] = { 0 };

	for (size_t i = 0; i < count; i++) {
		ids[i] = rows[i].id;
		if (!free_task(decider, worker, ids[i]))
			return strata_fail(err, -ESTALE,
					   "the lease is lost: task %lld is not this worker's any "
					   "more",
					   (long long)ids[i]);
	}
	return begin_lease(decider, worker, ids, NULL, count, err);
}

/* It reports twice in a row: it goes on with what it has, as if it had asked in between. */
static int go_on(struct decider *decider, struct worker *worker, struct strata_error *err)
{
	struct strata_ask ask = { .worker = worker->handle, .free_bytes = -1 };
	struct strata_batch batch;

	if (worker->open || !worker->held_count)
		return 0;
	int rc = strata_pool_pick(worker->model->pool, &ask, decider_now_ns(decider), &batch, NULL,
				  err);

	if (rc == 0)
		json_decref(hand_out(decider, worker, &batch));
	return rc;
}

static bool is_reported(const struct worker_row *rows, size_t count, int64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].id == id)
			return true;
	return false;
}

/* The rows as the pool wants them: one for each task of the batch, and of nothing else. */
static int make_rows(struct decider *decider, struct worker *worker, const struct worker_row *rows,
		     size_t count, struct strata_done *ret_rows, size_t *ret_count,
		     struct strata_error *err)
{
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		struct task *task = task_find(decider, rows[i].id);

		if (!was_held(worker->held, worker->held_count, rows[i].id))
			return strata_fail(err, -ESTALE,
					   "the lease is lost: task %lld is not this worker's any "
					   "more",
					   (long long)rows[i].id);
		struct strata_task_view view;

		if (!task || strata_pool_get(worker->model->pool, task->handle, &view, NULL))
			continue; /* cancelled and forgotten */
		ret_rows[made++] = (struct strata_done){
			.task = task->handle,
			.kind = (enum strata_done_kind)rows[i].kind,
			.steps = least(rows[i].steps, (int64_t)view.steps - view.steps_done),
			.cost_ns = rows[i].cost_ns,
		};
	}
	/* joined in go_on: it has none of them */
	for (uint32_t i = 0; i < worker->held_count; i++) {
		struct task *task = held(decider, worker, i);

		if (task && !task->ended && !is_reported(rows, count, worker->held[i]))
			ret_rows[made++] = (struct strata_done){ .task = task->handle,
								 .kind = STRATA_DONE_BACK };
	}
	*ret_count = made;
	return 0;
}

int lease_done(struct decider *decider, struct worker *worker, const struct worker_row *rows,
	       size_t count, struct strata_error *err)
{
	struct strata_done done[2 * STRATA_BATCH_MAX];
	char *images[STRATA_BATCH_MAX] = { 0 };
	size_t done_count = 0;
	int rc = worker->handle ? 0 : renew(decider, worker, rows, count, err);

	if (rc == 0)
		rc = go_on(decider, worker, err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (rows[i].kind == STRATA_DONE_FINISHED)
			rc = images_of(decider, &rows[i], &images[i], err);
	if (rc == 0)
		rc = make_rows(decider, worker, rows, count, done, &done_count, err);
	if (rc == 0)
		rc = strata_pool_done(worker->model->pool, worker->handle, done, done_count,
				      decider_now_ns(decider), err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct task *task = task_find(decider, rows[i].id);

		if (task)
			take_row(decider, task, &rows[i], worker->job, images[i]);
	}
	for (size_t i = 0; i < count; i++)
		free(images[i]);
	if (rc == 0) {
		worker->open = false;
		prune(decider, worker);
		worker->busy_ns = now_mono(decider);
	}
	return rc;
}

/* ---- once a round ---- */

/* From when on it is taken to hang; monotonic. INT64_MAX: it may load its model, for however long,
 * or is given up already. */
static int64_t hangs_from_ns(const struct decider *decider, const struct worker *worker)
{
	return worker->asked && !worker->given_up
		       ? worker->heard_ns + SILENT_LEASES * decider->conf->worker_lease_ns
		       : INT64_MAX;
}

static void look_at_worker(struct decider *decider, struct worker *worker)
{
	int64_t now_ns = now_mono(decider);

	if (worker_jobs_ended(decider, worker))
		return;
	if (decider->batch.held) /* the store is away: nobody can be heard */
		worker->heard_ns = now_ns;
	if (worker->handle && now_ns - worker->heard_ns >= decider->conf->worker_lease_ns) {
		log_say(LOG_LEVEL_WARNING, "tasks", worker->job,
			"the worker is silent; its tasks go back to their places");
		lease_lose(decider, worker);
	}
	if (now_ns >= hangs_from_ns(decider, worker))
		worker_jobs_give_up(decider, worker);
}

void workers_look(struct decider *decider)
{
	const struct map_u64_entry *entry = map_u64_next(&decider->workers, NULL);

	while (entry) {
		const struct map_u64_entry *next = map_u64_next(&decider->workers, entry);

		look_at_worker(decider, entry->value);
		entry = next;
	}
	for (struct model *model = model_next(decider, NULL); model;
	     model = model_next(decider, model))
		worker_jobs_look(decider, model);
}

int64_t workers_due_ns(const struct decider *decider)
{
	const struct map_u64_entry *entry = NULL;
	int64_t due_ns = INT64_MAX;

	while ((entry = map_u64_next(&decider->workers, entry))) {
		const struct worker *worker = entry->value;
		int64_t lease_ns = worker->heard_ns + decider->conf->worker_lease_ns;

		int64_t unheard_ns = unheard_until_ns(decider, worker);

		if (worker->handle && lease_ns < due_ns)
			due_ns = lease_ns;
		if (hangs_from_ns(decider, worker) < due_ns)
			due_ns = hangs_from_ns(decider, worker);
		if (unheard_ns > now_mono(decider) && unheard_ns < due_ns)
			due_ns = unheard_ns;
	}
	for (const struct model *model = model_next(decider, NULL); model;
	     model = model_next(decider, model))
		if (model->start_ns && model->task_count && model->start_ns < due_ns)
			due_ns = model->start_ns;
	return due_ns;
}
