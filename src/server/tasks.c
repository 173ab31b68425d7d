/* The tasks of tasks.h: taking in, changing, ending; and after a start their places again. */
#include "server/tasks.h"

#include "core/env_log.h"
#include "server/entities.h"
#include "server/figures.h"
#include "server/latents.h"
#include "server/result_budget.h"
#include "server/results.h"
#include "server/task_feed.h"
#include "server/view.h"
#include "server/webhooks.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_NS INT64_C(1000000000) /* so often its progress is an event, at most */

enum { ORPHAN_S = 3600 }; /* a picture that no task names is kept for so long */

struct task *task_find(const struct decider *decider, int64_t id)
{
	return id > 0 ? map_u64_get(&decider->tasks, (uint64_t)id) : NULL;
}

enum strata_task_status task_status(const struct task *task)
{
	for (int i = 0; i < STRATA_TASK_STATUS_COUNT; i++)
		if (strcmp(strata_task_status_name((enum strata_task_status)i), task->row.status) ==
		    0)
			return (enum strata_task_status)i;
	assert(!"a status that there is");
	return STRATA_TASK_PENDING;
}

/* ---- how many a user has ---- */

static size_t *count_of(struct decider *decider, const char *user)
{
	size_t *count = map_text_get(&decider->task_users, user, strlen(user));

	if (count || !(count = calloc(1, sizeof(*count))))
		return count;
	if (map_text_put(&decider->task_users, user, strlen(user), count, NULL)) {
		free(count);
		return NULL;
	}
	return count;
}

static void uncount(struct decider *decider, const struct task *task)
{
	const char *user = task->row.user;
	size_t *count = map_text_get(&decider->task_users, user, strlen(user));

	assert(count && *count > 0 && task->model->task_count > 0);
	task->model->task_count--;
	decider->task_count--;
	if (--*count == 0) {
		map_text_remove(&decider->task_users, user, strlen(user));
		free(count);
	}
}

/* ---- making and taking away ---- */

static void free_task(struct task *task)
{
	free((char *)task->row.user);
	free((char *)task->row.account);
	free((char *)task->row.parameters);
	free((char *)task->row.error);
	free((char *)task->row.cancelled_by);
	free((char *)task->row.images);
	free(task->preview);
	free(task);
}

static char *copy(const char *text, bool *failed)
{
	char *made = text ? strdup(text) : NULL;

	*failed |= text && !made;
	return made;
}

static struct task *new_task(const struct store_task *row, struct model *model)
{
	struct task *task = calloc(1, sizeof(*task));
	bool failed = false;

	if (!task)
		return NULL;
	task->row = *row;
	task->latents_steps = -1;
	task->model = model;
	task->row.model = model->name;
	task->row.status = strata_task_status_name(STRATA_TASK_PENDING);
	task->row.user = copy(row->user, &failed);
	task->row.account = copy(row->account, &failed);
	task->row.parameters = copy(row->parameters, &failed);
	task->row.error = copy(row->error, &failed);
	task->row.cancelled_by = copy(row->cancelled_by, &failed);
	task->row.images = copy(row->images, &failed);
	if (failed) {
		free_task(task);
		return NULL;
	}
	return task;
}

/* Tasks of one size may share a batch, at whatever step they are. */
static struct model_shape shape_of(const struct store_task *row)
{
	json_t *json = json_loads(row->parameters, 0, NULL);
	struct model_shape shape = {
		.width = json_integer_value(json_object_get(json, "width")),
		.height = json_integer_value(json_object_get(json, "height")),
		.n = json_integer_value(json_object_get(json, "n")),
	};

	json_decref(json);
	return shape;
}

/* The user's limits on jobs hold for the tasks of a line, too; 0: none. */
static struct strata_quota quota_of(const struct decider *decider, const char *user)
{
	const struct entity *entity = entity_find(decider, STRATA_ENTITY_USER, user);
	const json_t *limits = entity ? json_object_get(entity->settings, "limits") : NULL;

	return (struct strata_quota){
		.running_max = (uint32_t)json_number_value(json_object_get(limits, "jobs")),
		.queued_max = (uint32_t)json_number_value(json_object_get(limits, "waiting")),
	};
}

/* Every task brings the weights that jobs go by, as they are now; a policy that keeps none goes
 * without. */
static void set_weights(struct decider *decider, const struct task *task)
{
	struct strata_usage_view user, account;
	struct strata_pool *pool = task->model->pool;

	strata_cluster_user(decider->cluster, task->row.user, &user);
	if (task->row.account) {
		strata_cluster_account(decider->cluster, task->row.account, &account);
		strata_pool_set_account(pool, task->row.account, account.weight, NULL);
	}
	struct strata_quota quota = quota_of(decider, task->row.user);
	bool limited = quota.running_max || quota.queued_max;

	strata_pool_set_user(pool, task->row.user, task->row.account, user.weight,
			     limited ? &quota : NULL, NULL);
}

bool task_attribute(void *context, const void *payload, const char *name, double *ret_value)
{
	const struct task *task = payload;
	json_t *json = json_loads(task->row.parameters, 0, NULL);
	const json_t *value = json_object_get(json, name);
	bool known = json_is_number(value);

	(void)context;
	if (known)
		*ret_value = json_number_value(value);
	json_decref(json);
	return known;
}

/* Puts it in line, and into the tables. */
static int enter(struct decider *decider, struct task *task, struct strata_error *err)
{
	struct strata_pool *pool = task->model->pool;
	struct strata_task_request request;

	strata_task_request_init(&request);
	request.user = task->row.user;
	request.account = task->row.account;
	request.priority = task->row.priority;
	request.deadline_ns = task->row.deadline_ns;
	request.steps = (uint32_t)task->row.steps;
	request.model = 1;
	task->shape = shape_of(&task->row);
	request.shape = model_shape_key(&task->shape);
	request.cost_ns = model_measure_expect(&task->model->measures, &task->shape, request.steps);
	task->expected_ns =
		model_measure_knows(&task->model->measures, &task->shape) ? request.cost_ns : 0;
	request.payload = task;
	size_t *count = count_of(decider, task->row.user);
	int rc = count ? strata_pool_set_cap(pool, request.model, request.shape,
					     model_cap(task->model, request.shape), err)
		       : strata_fail_memory(err);

	if (rc == 0)
		set_weights(decider, task);
	if (rc == 0)
		rc = strata_pool_add(pool, &request, task->row.created_ns, &task->handle, err);
	if (rc == 0 && map_u64_put(&decider->tasks, (uint64_t)task->row.id, task, NULL)) {
		strata_pool_cancel(pool, task->handle, task->row.created_ns, NULL);
		strata_pool_forget(pool, task->handle, NULL);
		rc = strata_fail_memory(err);
	}
	if (rc) {
		if (count && *count == 0) {
			map_text_remove(&decider->task_users, task->row.user,
					strlen(task->row.user));
			free(count);
		}
		return rc;
	}
	++*count;
	task->model->task_count++;
	decider->task_count++;
	return 0;
}

static void put_row(struct decider *decider, const struct task *task)
{
	struct store_task row = task->row;

	if (!task->ended) /* who has it is known here only */
		row.status = strata_task_status_name(STRATA_TASK_PENDING);
	assert(task->ended == (row.ended_ns != 0));
	batch_put(decider, STORE_PUT(&row));
}

static void put_event(struct decider *decider, struct task *task)
{
	batch_event(decider, 0, "task",
		    json_pack("{s:I,s:s,s:s,s:I,s:I}", "id", (json_int_t)task->row.id, "user",
			      task->row.user, "status", task->row.status, "steps_done",
			      (json_int_t)task->row.steps_done, "steps",
			      (json_int_t)task->row.steps));
	task->said_ns = env_now_ns(decider->env, ENV_MONOTONIC);
}

static int check_room(struct decider *decider, const struct task_request *request,
		      struct strata_error *err)
{
	const size_t *count =
		map_text_get(&decider->task_users, request->user, strlen(request->user));

	if (decider->task_count >= STRATA_TASKS_MAX)
		return strata_fail(err, -EDQUOT, "the queue is full: %d tasks have not ended",
				   STRATA_TASKS_MAX);
	int rc = result_budget_check(decider, request->user, err);

	if (rc)
		return rc;
	if (count && *count >= (size_t)decider->conf->task_queue_max)
		return strata_fail(err, -EDQUOT,
				   "%.60s has %zu tasks that have not ended; at most %lld are "
				   "allowed",
				   request->user, *count, (long long)decider->conf->task_queue_max);
	return 0;
}

int task_add(struct decider *decider, const struct task_request *request, struct task **ret_task,
	     struct strata_error *err)
{
	struct store_task row = { .id = decider->next_task,
				  .user = request->user,
				  .uid = request->uid,
				  .account = request->account,
				  .parameters = request->parameters,
				  .priority = request->priority,
				  .deadline_ns = request->deadline_ns,
				  .created_ns = decider_now_ns(decider),
				  .steps = request->steps,
				  .seed = request->seed };
	int rc = check_room(decider, request, err);

	if (rc)
		return rc;
	struct task *task = new_task(&row, request->model);

	rc = task ? enter(decider, task, err) : strata_fail_memory(err);
	if (rc) {
		if (task)
			free_task(task);
		return rc == -ETIME ? strata_fail(err, -ECANCELED, "%s", err->text) : rc;
	}
	decider->next_task++;
	put_row(decider, task);
	put_event(decider, task);
	service_trace_task(&decider->common->trace, "submitted", task->row.id,
			   strata_trace_int("steps", task->row.steps));
	*ret_task = task;
	return 0;
}

static void leave_pool(struct task *task, int64_t now_ns)
{
	strata_pool_cancel(task->model->pool, task->handle, now_ns, NULL);
	strata_pool_forget(task->model->pool, task->handle, NULL);
}

void task_withdraw(struct decider *decider, struct task *task)
{
	leave_pool(task, decider_now_ns(decider));
	map_u64_remove(&decider->tasks, (uint64_t)task->row.id);
	uncount(decider, task);
	free_task(task);
}

/* ---- changes ---- */

static void set_text(const char **field, const char *text)
{
	free((char *)*field);
	*field = text ? batch_need(strdup(text)) : NULL;
}

static void count_images(struct task *task)
{
	int64_t count = task->shape.n > 0 ? task->shape.n : 1;

	model_measure_images(&task->model->measures, &task->shape, count);
	task->model->metrics.images += (uint64_t)count;
	task->model->metrics.image_cost_ns += task->row.cost_ns;
	if (!task->expected_ns)
		return;
	int64_t off_ns = task->row.cost_ns - task->expected_ns;

	task->model->metrics.expected_ns += task->expected_ns;
	task->model->metrics.expected_cost_ns += task->row.cost_ns;
	task->model->metrics.expected_error_ns += off_ns < 0 ? -off_ns : off_ns;
}

void task_end(struct decider *decider, struct task *task, const char *images, const char *error)
{
	struct strata_task_view view;

	assert(!task->ended);
	if (strata_pool_get(task->model->pool, task->handle, &view, NULL))
		assert(!"a live task is in its pool");
	assert(strata_task_ended(view.status));
	task->row.status = strata_task_status_name(view.status);
	task->row.ended_ns = decider_now_ns(decider);
	task->row.steps_done = view.status == STRATA_TASK_FINISHED ? task->row.steps
								   : view.steps_done;
	task->row.cost_ns = view.used_ns;
	if (images)
		count_images(task);
	set_text(&task->row.images, images);
	set_text(&task->row.error, error);
	task->ended = true;
	task->next_ended = decider->ended_tasks;
	decider->ended_tasks = task;
	uncount(decider, task);
	put_row(decider, task);
	put_event(decider, task);
	service_trace_task(&decider->common->trace, task->row.status, task->row.id,
			   strata_trace_int("attempts", task->row.attempts));
	webhook_task_ended(decider, task);
}

int task_cancel(struct decider *decider, struct task *task, const char *by,
		struct strata_error *err)
{
	if (task->ended)
		return strata_fail(err, -ECANCELED, "task %lld has ended: it is %s",
				   (long long)task->row.id, task->row.status);
	int rc = strata_pool_cancel(task->model->pool, task->handle, decider_now_ns(decider), err);

	if (rc)
		return rc;
	set_text(&task->row.cancelled_by, by);
	task_end(decider, task, NULL, NULL);
	return 0;
}

/* Where a priority counts between users only operators may raise it. */
int task_check_priority(const struct decider *decider, const struct identity *who, int64_t priority,
			struct strata_error *err)
{
	const char *policy = decider->policy.cls->name;

	if (priority <= STRATA_PRIORITY_DEFAULT || who->role >= ROLE_OPERATOR ||
	    strcmp(policy, "fair") == 0 || strcmp(policy, "round_robin") == 0)
		return 0;
	return strata_fail_at(err, -EPERM, "priority",
			      "only operators may ask for a priority above %d here",
			      STRATA_PRIORITY_DEFAULT);
}

int task_set_priority(struct decider *decider, struct task *task, int64_t priority,
		      struct strata_error *err)
{
	if (task->ended)
		return strata_fail(err, -ECANCELED, "task %lld has ended: it is %s",
				   (long long)task->row.id, task->row.status);
	int rc = strata_pool_set_priority(task->model->pool, task->handle, priority,
					  decider_now_ns(decider), err);

	if (rc)
		return rc;
	task->row.priority = priority;
	put_row(decider, task);
	return 0;
}

void task_update(struct decider *decider, struct task *task)
{
	struct strata_task_view view;
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);

	if (task->ended || strata_pool_get(task->model->pool, task->handle, &view, NULL))
		return;
	const char *status = strata_task_status_name(view.status);
	bool changed = strcmp(status, task->row.status) != 0;
	bool moved = task->row.steps_done != (int64_t)view.steps_done;

	task->row.status = status;
	task->row.steps_done = view.steps_done;
	task->row.cost_ns = view.used_ns;
	if (!task->row.started_ns && view.started_ns != STRATA_TIME_NONE) {
		task->row.started_ns = decider_now_ns(decider);
		int64_t waited_ns = task->row.started_ns - task->row.created_ns;

		metrics_time(&decider->common->metrics, METRIC_TASK_WAIT, waited_ns);
		figures_add(decider, FIGURE_TASK_WAIT, task->row.model,
			    waited_ns > 0 ? (double)waited_ns / 1e9 : 0);
	}
	if (changed || (moved && now_ns - task->said_ns >= PROGRESS_NS))
		put_event(decider, task);
}

/* One share over all models: what it used of one counts in the lines of the others. */
static void charge_others(struct decider *decider, const struct task *task, int64_t cost_ns)
{
	for (struct model *model = model_next(decider, NULL); model;
	     model = model_next(decider, model))
		if (model != task->model)
			strata_pool_charge(model->pool, task->row.user, task->row.account, cost_ns,
					   decider_now_ns(decider), NULL);
}

/* Seconds of a step, by model and size. */
static void note_step(struct decider *decider, const struct task *task, int64_t steps,
		      int64_t cost_ns)
{
	const struct model_shape *shape = &task->shape;
	char of[STRATA_NAME_BYTES_MAX + 64];

	if (steps < 1 || cost_ns < 1)
		return;
	if (shape->width)
		snprintf(of, sizeof(of), "%s %" PRId64 "x%" PRId64, task->row.model, shape->width,
			 shape->height);
	else
		snprintf(of, sizeof(of), "%s", task->row.model);
	figures_add(decider, FIGURE_STEP, of, (double)cost_ns / 1e9 / (double)steps);
}

void task_charge(struct decider *decider, const struct task *task, int64_t steps, int64_t cost_ns)
{
	const struct model_conf *conf = &task->model->conf;
	/* as its worker's job would be charged, whom nobody is charged for */
	double bill = strata_cluster_bill(decider->cluster, (double)conf->gpus, conf->cpus,
					  conf->memory_bytes);
	double gpu_hours = (double)cost_ns / 3600e9 * bill;
	struct strata_error err = { 0 };

	task->model->metrics.steps += steps > 0 ? (uint64_t)steps : 0;
	model_measure_steps(&task->model->measures, &task->shape, steps, cost_ns);
	note_step(decider, task, steps, cost_ns);
	if (decider->conf->pool_scope == POOL_SCOPE_SHARED)
		charge_others(decider, task, cost_ns);
	if (gpu_hours <= 0)
		return;
	if (strata_cluster_add_usage(decider->cluster, task->row.user, task->row.account, gpu_hours,
				     decider_now_ns(decider), &err)) {
		log_warning("tasks", "task %lld is not charged: %s", (long long)task->row.id,
			    err.text);
		return;
	}
	struct store_usage usage = {
		.account = task->row.account ? task->row.account : "",
		.user = task->row.user,
		.amount = strata_cluster_association_usage(decider->cluster, task->row.user,
							   task->row.account),
		.updated_ns = decider_now_ns(decider),
	};

	batch_put(decider, STORE_PUT(&usage));
}

/* ---- after a commit ---- */

struct doomed {
	struct doomed *next;
	char hash[STORE_HASH_BYTES];
};

void tasks_doom(struct decider *decider, const char *hash)
{
	struct doomed *doomed = calloc(1, sizeof(*doomed));

	if (!doomed)
		return; /* the file stays: nothing is lost */
	snprintf(doomed->hash, sizeof(doomed->hash), "%s", hash);
	doomed->next = decider->doomed_results;
	decider->doomed_results = doomed;
}

static void remove_doomed(struct decider *decider)
{
	while (decider->doomed_results) {
		struct doomed *doomed = decider->doomed_results;
		bool used = true;

		decider->doomed_results = doomed->next;
		if (store_result_used(decider->store, doomed->hash, &used, NULL) == 0 && !used)
			results_remove(decider->conf->state_dir, doomed->hash);
		free(doomed);
	}
}

void tasks_committed(struct decider *decider)
{
	struct task **link = &decider->ended_tasks;

	while (*link) {
		struct task *task = *link;

		if (task->latents_steps >= 0)
			latents_remove(decider->conf->state_dir, task->row.id, task->latents_steps);
		task->latents_steps = -1;
		/* a worker that has not heard of it yet still has it */
		if (strata_pool_forget(task->model->pool, task->handle, NULL) == -EBUSY) {
			link = &task->next_ended;
			continue;
		}
		*link = task->next_ended;
		map_u64_remove(&decider->tasks, (uint64_t)task->row.id);
		free_task(task);
	}
	remove_doomed(decider);
	result_budget_committed(decider);
}

/* ---- beginning and end ---- */

static int load_task(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_task *row = row_any;
	struct model *model = models_find(decider, row->model);
	struct task *task = model ? new_task(row, model) : NULL;
	int rc = task    ? enter(decider, task, err)
		 : model ? strata_fail_memory(err)
			 : strata_fail(err, -ENOENT, "there is no model %.60s", row->model);

	if (rc == -ETIME) { /* it was promised once; it is late now */
		task->row.deadline_ns = 0;
		rc = enter(decider, task, err);
	}
	if (rc && task)
		free_task(task);
	if (rc)
		return strata_fail(err, rc, "task %lld cannot be restored: %s", (long long)row->id,
				   err->text);
	return 0;
}

/* A task that has saved latents goes on from there: the pool knows of its steps. */
static void go_on_from(struct decider *decider, struct task *task, int64_t steps)
{
	struct strata_pool *pool = task->model->pool;
	struct strata_pool_metrics metrics;
	struct strata_batch batch = { .now_ns = decider_now_ns(decider),
				      .until_ns = INT64_MAX,
				      .steps = UINT32_MAX,
				      .count = 1,
				      .tasks = { task->handle } };
	struct strata_done row = { .task = task->handle, .kind = STRATA_DONE_BACK };

	row.steps = (uint32_t)(steps < task->row.steps ? steps : task->row.steps);
	strata_pool_metrics(pool, &metrics);
	batch.number = metrics.decisions + 1;
	if (strata_pool_add_worker(pool, 0, batch.now_ns, &batch.worker, NULL))
		return; /* it only seems to have done nothing yet */
	if (strata_pool_apply(pool, &batch, NULL) == 0)
		strata_pool_done(pool, batch.worker, &row, 1, batch.now_ns, NULL);
	strata_pool_remove_worker(pool, batch.worker, batch.now_ns, NULL);
	task->row.steps_done = row.steps;
}

static bool restore_latents(void *context, int64_t id, int64_t steps)
{
	struct decider *decider = context;
	struct task *task = task_find(decider, id);

	if (!task || task->latents_steps >= steps)
		return false;
	if (task->latents_steps >= 0)
		latents_remove(decider->conf->state_dir, id, task->latents_steps);
	task->latents_steps = steps;
	return true;
}

/* Once only the newest of each task are left: a directory names its files in any order. */
static bool go_on_from_latents(void *context, int64_t id, int64_t steps)
{
	struct task *task = task_find(context, id);

	if (task)
		go_on_from(context, task, steps);
	return true;
}

static void doom_each(void *context, const char *hash)
{
	tasks_doom(context, hash);
}

/* In the order of their numbers, each as of its own time: so each gets its old place. */
int tasks_load(struct decider *decider, struct strata_error *err)
{
	static const struct store_filter live = { .live = true };
	int rc = models_load(decider, err);

	if (rc == 0)
		rc = store_load(decider->store, STORE_TASK, &live, load_task, decider, err);
	if (rc == 0)
		rc = store_last(decider->store, STORE_TASK, &decider->next_task, err);
	decider->next_task++;
	if (rc == 0)
		rc = result_budget_load(decider, err);
	if (rc == 0 && decider->exec)
		latents_each(decider->conf->state_dir, restore_latents, decider);
	if (rc == 0 && decider->exec)
		latents_each(decider->conf->state_dir, go_on_from_latents, decider);
	if (rc == 0 && decider->exec)
		task_traces_load(&decider->task_traces, decider->conf->state_dir);
	if (rc == 0 && decider->exec) /* pictures whose tasks never ended with them */
		results_each(decider->conf->state_dir,
			     decider_now_ns(decider) / 1000000000 - ORPHAN_S, doom_each, decider);
	return rc;
}

void tasks_free(struct decider *decider)
{
	const struct map_u64_entry *entry = NULL;
	const struct map_text_entry *user = NULL;

	while ((entry = map_u64_next(&decider->tasks, entry)))
		free_task(entry->value);
	map_u64_fini(&decider->tasks);
	map_u64_init(&decider->tasks, &decider->memory);
	while ((user = map_text_next(&decider->task_users, user)))
		free(user->value);
	map_text_fini(&decider->task_users);
	map_text_init(&decider->task_users, &decider->memory);
	while ((user = map_text_next(&decider->chosen_models, user)))
		free(user->value);
	map_text_fini(&decider->chosen_models);
	map_text_init(&decider->chosen_models, &decider->memory);
	result_budget_free(decider);
	decider->ended_tasks = NULL;
	decider->task_count = 0;
	while (decider->doomed_results) {
		struct doomed *doomed = decider->doomed_results;

		decider->doomed_results = doomed->next;
		free(doomed);
	}
	task_feeds_free(decider);
	models_free(decider);
}
