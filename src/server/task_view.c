/* Tasks as JSON. What is its owner's (prompt, parameters, seed, pictures) is left out for others;
 * position and expected start are the pool's word. */
#include "server/tasks.h"

#include "server/view.h"

#include <string.h>

bool task_may_see(const struct identity *who, const struct store_task *row)
{
	return who->role >= ROLE_OPERATOR || (int64_t)who->uid == row->uid;
}

static json_t *parsed(const char *text)
{
	json_t *json = text ? json_loads(text, 0, NULL) : NULL;

	return json ? json : json_null();
}

json_t *task_view(const struct store_task *row, bool all)
{
	json_t *json = json_pack(
		"{s:I,s:s,s:s?,s:s,s:s,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:s?,s:I}", "id",
		(json_int_t)row->id, "user", row->user, "account", row->account, "model",
		row->model, "status", row->status, "priority", (json_int_t)row->priority, "steps",
		(json_int_t)row->steps, "steps_done", (json_int_t)row->steps_done, "attempts",
		(json_int_t)row->attempts, "created_at", view_exact_time(row->created_ns),
		"started_at", view_exact_time(row->started_ns), "ended_at",
		view_exact_time(row->ended_ns),
		"deadline", view_time(row->deadline_ns), "cancelled_by", row->cancelled_by,
		"cost_ns", (json_int_t)row->cost_ns);

	if (!json || !all)
		return json;
	json_object_set_new(json, "seed", json_integer(row->seed));
	json_object_set_new(json, "error", row->error ? json_string(row->error) : json_null());
	json_object_set_new(json, "parameters", parsed(row->parameters));
	json_object_set_new(json, "images", row->images ? parsed(row->images) : json_array());
	return json;
}

json_t *task_view_live(struct decider *decider, const struct task *task, bool all)
{
	struct strata_position position;
	json_t *json = task_view(&task->row, all);

	if (!json || task->ended ||
	    strata_pool_position(task->model->pool, task->handle, decider_now_ns(decider),
				 &position, NULL))
		return json;
	json_object_set_new(json, "position", json_integer((json_int_t)position.ahead + 1));
	json_object_set_new(json, "position_error", json_integer((json_int_t)position.error));
	json_object_set_new(json, "expected_start",
			    position.start_ns == INT64_MAX ? json_null()
							   : view_time(position.start_ns));
	if (all && task->model->trouble[0])
		json_object_set_new(json, "error", json_string(task->model->trouble));
	return json;
}
