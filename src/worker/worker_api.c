/* Bodies and answers of the worker's calls; worker_api.h says what they are. */
#include "worker/worker_api.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A whole number of an object within a range. */
static int read_int(const json_t *object, const char *key, int64_t otherwise, int64_t min,
		    int64_t max, int64_t *ret_value, struct strata_error *err)
{
	const json_t *value = json_object_get(object, key);

	*ret_value = otherwise;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < min ||
	    json_integer_value(value) > max)
		return strata_fail_at(err, -EBADMSG, key,
				      "the service's answer has no good %s; expected %" PRId64
				      " to %" PRId64,
				      key, min, max);
	*ret_value = json_integer_value(value);
	return 0;
}

static int read_task(const json_t *json, struct worker_task *ret_task, struct strata_error *err)
{
	struct worker_task task = { .parameters = json_object_get(json, "parameters"),
				    .latents = json_is_true(json_object_get(json, "latents")) };
	int rc = read_int(json, "id", 0, 1, INT64_MAX, &task.id, err);

	if (rc == 0)
		rc = read_int(json, "steps_done", 0, 0, STRATA_TASK_STEPS_MAX, &task.steps_done,
			      err);
	if (rc == 0)
		rc = read_int(json, "seed", -1, 0, INT64_MAX, &task.seed, err);
	if (rc == 0 && (!task.id || !json_is_object(task.parameters)))
		rc = strata_fail(err, -EBADMSG,
				 "the service's answer has a task without id or parameters");
	if (rc == 0)
		*ret_task = task;
	return rc;
}

static bool is_twice(const struct worker_pick *pick, int64_t id)
{
	for (size_t i = 0; i < pick->count; i++)
		if (pick->tasks[i].id == id)
			return true;
	return false;
}

int worker_pick_read(json_t *answer, struct worker_pick *ret_pick, struct strata_error *err)
{
	struct worker_pick pick = { .stop = json_is_true(json_object_get(answer, "stop")) };
	const json_t *tasks = json_object_get(answer, "tasks");
	size_t count = json_array_size(tasks);

	if (!json_is_object(answer) || (tasks && !json_is_array(tasks)) || (!tasks && !pick.stop))
		return strata_fail(err, -EBADMSG, "the service's answer has no tasks");
	if (count > STRATA_BATCH_MAX)
		return strata_fail(err, -EBADMSG,
				   "the service's answer has %zu tasks; expected at most %d", count,
				   STRATA_BATCH_MAX);
	int rc = read_int(answer, "steps", 1, count ? 1 : 0, STRATA_TASK_STEPS_MAX, &pick.steps,
			  err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = read_task(json_array_get(tasks, i), &pick.tasks[i], err);
		if (rc == 0 && is_twice(&pick, pick.tasks[i].id))
			rc = strata_fail(err, -EBADMSG,
					 "the service's answer has task %" PRId64 " twice",
					 pick.tasks[i].id);
		pick.count += rc == 0;
	}
	if (rc == 0)
		rc = read_int(answer, "lease_ms", 0, 1, INT64_MAX / STRATA_MS_NS, &pick.lease_ns,
			      err);
	if (rc == 0)
		rc = read_int(answer, "save_ms", -1, 0, INT64_MAX / STRATA_MS_NS, &pick.save_ns,
			      err);
	if (rc)
		return rc;
	pick.lease_ns *= STRATA_MS_NS;
	pick.save_ns *= pick.save_ns < 0 ? 1 : STRATA_MS_NS;
	pick.answer = json_incref(answer);
	*ret_pick = pick;
	return 0;
}

/* Asks; gives back the references to the body and, where it is not wanted, to the answer. */
static int ask(const struct worker_link *link, const char *path, json_t *body, json_t **ret_json,
	       struct strata_error *err)
{
	const struct client_request request = { .method = "POST", .path = path, .body = body };
	json_t *json = NULL;
	int rc = body ? link->ask(link->context, &request, &json, err) : strata_fail_memory(err);

	json_decref(body);
	if (rc == 0 && ret_json)
		*ret_json = json;
	else if (rc == 0)
		json_decref(json);
	return rc;
}

/* What is held, as the body of a request; NULL: no memory. */
static json_t *held_json(const struct worker_held *held)
{
	json_t *body = json_pack("{s:[],s:[]}", "holding", "holding_steps");
	json_t *ids = json_object_get(body, "holding");
	json_t *steps = json_object_get(body, "holding_steps");

	for (size_t i = 0; body && i < held->count; i++)
		if (json_array_append_new(ids, json_integer(held->ids[i])) ||
		    json_array_append_new(steps, json_integer(held->steps[i]))) {
			json_decref(body);
			return NULL;
		}
	return body;
}

int worker_api_pick(const struct worker_link *link, const struct worker_held *held, int64_t wait_ms,
		    int64_t ask_ns, struct worker_pick *ret_pick, struct strata_error *err)
{
	json_t *body = held_json(held), *answer;

	if (!body || json_object_set_new(body, "free_bytes", json_integer(-1)) ||
	    json_object_set_new(body, "wait_ms", json_integer(wait_ms)) ||
	    json_object_set_new(body, "ask_ns", json_integer(ask_ns))) {
		json_decref(body);
		return strata_fail_memory(err);
	}
	int rc = ask(link, "/api/v1/worker/pick", body, &answer, err);

	if (rc)
		return rc;
	rc = worker_pick_read(answer, ret_pick, err);
	json_decref(answer);
	return rc;
}

int worker_api_beat(const struct worker_link *link, const struct worker_held *held,
		    struct strata_error *err)
{
	return ask(link, "/api/v1/worker/beat", held_json(held), NULL, err);
}

int worker_api_trouble(const struct worker_link *link, const char *sentence,
		       struct strata_error *err)
{
	return ask(link, "/api/v1/worker/trouble", json_pack("{s:s}", "error", sentence), NULL, err);
}

/* A row as the service reads it; NULL: no memory. */
static json_t *row_json(const struct worker_row *row)
{
	static const char *const kinds[] = { "steps", "finished", "failed", "back" };
	json_t *json = json_pack("{s:I,s:s,s:I,s:I}", "id", (json_int_t)row->id, "kind",
				 kinds[row->kind], "steps", (json_int_t)row->steps, "cost_ns",
				 (json_int_t)row->cost_ns);
	bool bad = !json;

	if (row->cap)
		bad = bad || json_object_set_new(json, "cap", json_integer(row->cap));
	if (row->kind == WORKER_STEPS && row->status)
		bad = bad || json_object_set_new(json, "status", json_string(row->status));
	if (row->kind == WORKER_FAILED)
		bad = bad || json_object_set_new(json, "error", json_string(row->error));
	if (row->kind == WORKER_FINISHED) {
		json_t *images = json_array();

		for (size_t i = 0; images && i < row->hash_count; i++)
			bad = bad || json_array_append_new(images, json_string(row->hashes[i]));
		bad = !images || bad;
		bad = json_object_set_new(json, "images", images) || bad;
		bad = json_object_set_new(json, "width", json_integer(row->width)) || bad;
		bad = json_object_set_new(json, "height", json_integer(row->height)) || bad;
	}
	if (bad)
		json_decref(json);
	return bad ? NULL : json;
}

int worker_api_done(const struct worker_link *link, const struct worker_row *rows, size_t count,
		    struct strata_error *err)
{
	json_t *body = json_pack("{s:[]}", "rows"), *list = json_object_get(body, "rows");

	for (size_t i = 0; list && i < count; i++)
		if (json_array_append_new(list, row_json(&rows[i]))) {
			json_decref(body);
			return strata_fail_memory(err);
		}
	return ask(link, "/api/v1/worker/done", body, NULL, err);
}

static int put(const struct worker_link *link, const char *path, const char *type,
	       const void *bytes, size_t count, json_t **ret_json, struct strata_error *err)
{
	const struct client_request request = {
		.method = "PUT", .path = path, .bytes = bytes, .byte_count = count, .type = type
	};

	return link->ask(link->context, &request, ret_json, err);
}

int worker_api_image(const struct worker_link *link, const void *bytes, size_t count,
		     char ret_hash[WORKER_HASH_BYTES], struct strata_error *err)
{
	json_t *json;
	int rc = put(link, "/api/v1/worker/image", "image/png", bytes, count, &json, err);

	if (rc)
		return rc;
	const char *hash = json_string_value(json_object_get(json, "hash"));

	if (hash && *hash && strlen(hash) < WORKER_HASH_BYTES)
		strcpy(ret_hash, hash);
	else
		rc = strata_fail(err, -EBADMSG, "the service's answer has no hash of the picture");
	json_decref(json);
	return rc;
}

int worker_api_init(const struct worker_link *link, int64_t task, struct buf *file,
		    struct strata_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/api/v1/worker/tasks/%" PRId64 "/init", task);
	return link->fetch(link->context, path, file, err);
}

static int put_quietly(const struct worker_link *link, const char *path, const char *type,
		       const void *bytes, size_t count, struct strata_error *err)
{
	json_t *json;
	int rc = put(link, path, type, bytes, count, &json, err);

	if (rc == 0)
		json_decref(json);
	return rc;
}

int worker_api_preview(const struct worker_link *link, int64_t task, const void *bytes,
		       size_t count, struct strata_error *err)
{
	char path[64];

	if (count > WORKER_PREVIEW_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the preview has %zu bytes; at most %d", count,
				   WORKER_PREVIEW_BYTES_MAX);
	snprintf(path, sizeof(path), "/api/v1/worker/tasks/%" PRId64 "/preview", task);
	return put_quietly(link, path, "image/png", bytes, count, err);
}

int worker_api_save(const struct worker_link *link, int64_t task, int64_t steps, const void *bytes,
		    size_t count, struct strata_error *err)
{
	char path[96];

	snprintf(path, sizeof(path), "/api/v1/worker/tasks/%" PRId64 "/latents?steps=%" PRId64,
		 task, steps);
	return put_quietly(link, path, "application/octet-stream", bytes, count, err);
}

int worker_api_trace(const struct worker_link *link, int64_t task, const void *bytes, size_t count,
		     struct strata_error *err)
{
	char path[96];

	snprintf(path, sizeof(path), "/api/v1/worker/tasks/%" PRId64 "/trace", task);
	return put_quietly(link, path, "application/json", bytes, count, err);
}

int worker_api_saved(const struct worker_link *link, int64_t task, struct buf *bytes,
		     struct strata_error *err)
{
	char path[96];

	snprintf(path, sizeof(path), "/api/v1/worker/tasks/%" PRId64 "/latents", task);
	return link->fetch(link->context, path, bytes, err);
}

bool worker_is_away(int rc)
{
	return rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -ETIMEDOUT || rc == -EAGAIN;
}

bool worker_is_lost(int rc)
{
	return rc == -ESTALE || rc == -EBUSY;
}
