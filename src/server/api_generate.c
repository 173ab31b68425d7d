/*
 * POST /api/v1/generate: pictures are asked for, one or several, as JSON or as a form. What is
 * asked is generate.h's; here are the key that makes it once and `wait`, which blocks until all of
 * it has ended. Beside it what may be asked for: /samplers and /schedules.
 */
#include "server/decider.h"
#include "server/generate.h"
#include "server/multipart.h"
#include "server/parked.h"
#include "server/result_budget.h"
#include "server/route.h"

#include "core/option.h"
#include "core/text.h"

#include <strata/limits.h>
#include <strata/solver.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_NS_MAX (600 * STRATA_SECOND_NS)
enum {
	RETRY_S = 5,
	PIXELS_MAX = 4 * STRATA_INIT_PIXELS_MAX, /* looked at for one request */
};

struct post {
	struct generate *asked; /* so many; in the arena */
	size_t count;
	bool list;       /* they came as a list, and so they are answered */
	const char *key; /* NULL: none */
	char hash[STORE_HASH_BYTES];
	int64_t wait_ns;
	int64_t *ids;  /* of the tasks, once they are taken in */
	json_t *views; /* of who waits: the tasks as they are answered, by their places */
};

struct asked {
	int64_t wait_ns;
};
static const struct strata_option query_options[] = {
	{ "wait", STRATA_DURATION, offsetof(struct asked, wait_ns),
	  .integer = { 0, 0, WAIT_NS_MAX }, .unit = "s",
	  .help = "answered when it has ended, or after so long" },
	{ 0 }
};
static const struct strata_schema generate_query = { "the query", NULL, sizeof(struct asked),
						     query_options };

/* ---- reading ---- */

static int read_key(struct request *request, struct post *post, struct strata_error *err)
{
	const char *key = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
						      "Idempotency-Key");
	size_t length = key ? strlen(key) : 0;

	if (!key)
		return 0;
	if (length == 0 || length > STRATA_NAME_BYTES_MAX || text_printable(key, length) < length)
		return strata_fail_at(err, -EINVAL, "request_key",
				      "the idempotency key has %zu bytes; expected 1 to %d, all "
				      "of them printable",
				      length, STRATA_NAME_BYTES_MAX);
	post->key = key;
	store_blob_hash(request->body ? request->body : "", request->body_length, post->hash);
	return 0;
}

static int new_one(struct request *request, struct post *post, struct strata_error *err)
{
	post->asked = strata_arena_get(&request->arena, sizeof(*post->asked));
	post->count = 1;
	return post->asked
		       ? strata_schema_defaults(&generate_schema, &request->arena, post->asked, err)
		       : strata_fail_memory(err);
}

static int read_form(struct request *request, struct post *post, struct multipart *form,
		     struct strata_error *err)
{
	struct multipart_part part;
	int rc = new_one(request, post, err);

	while (rc == 0 && (rc = multipart_next(form, &part, err)) > 0)
		rc = generate_read_field(request, post->asked, part.name, part.bytes, part.length,
					 err);
	if (rc == 0 && !post->asked->prompt)
		rc = strata_fail_at(err, -EINVAL, "prompt", "the form has no prompt");
	return rc;
}

static int read_list(struct request *request, struct post *post, const json_t *json,
		     struct strata_error *err)
{
	struct generate_list list = { 0 };
	int rc = option_read_json(&generate_list_schema, json, 0, &request->arena, &list, err);

	post->list = true;
	post->asked = list.requests.items;
	post->count = list.requests.count;
	if (rc == 0 && post->count == 0)
		rc = strata_fail_at(err, -EINVAL, "requests",
				    "requests is empty; expected 1 to %d pictures",
				    STRATA_GENERATE_REQUESTS_MAX);
	return rc;
}

/* False: answered. */
static bool read_json(struct request *request, struct post *post)
{
	struct strata_error err = { 0 };
	json_t *json = request_json(request);

	if (!json)
		return false;
	int rc;

	if (json_is_null(json_object_get(json, "requests"))) /* not said */
		json_object_del(json, "requests");
	if (json_object_get(json, "requests")) {
		rc = read_list(request, post, json, &err);
	} else {
		rc = new_one(request, post, &err);
		if (rc == 0)
			rc = option_read_json(&generate_schema, json, 0, &request->arena,
					      post->asked, &err);
	}
	json_decref(json);
	if (rc)
		request_fail(request, rc, &err);
	return rc == 0;
}

static int check(struct request *request, struct post *post, struct strata_error *err)
{
	uint64_t pixels = 0;
	int rc = read_key(request, post, err);

	for (size_t i = 0; rc == 0 && i < post->count; i++) {
		const struct init_image *init = &post->asked[i].init;

		rc = generate_check(request, &post->asked[i], err);
		pixels += (uint64_t)init->width * init->height;
		if (rc == 0 && pixels > PIXELS_MAX)
			rc = strata_fail_at(err, -E2BIG, "init_image",
					    "the pictures to start from have more than %d pixels "
					    "together; send several requests",
					    PIXELS_MAX);
		if (rc && post->list)
			rc = strata_fail_under(err, rc, "requests[%zu]", i);
	}
	for (size_t i = 0; rc == 0 && i < post->count; i++)
		rc = init_image_keep(request, &post->asked[i].init, err);
	return rc;
}

static void release(struct request *request)
{
	struct post *post = request->parsed;

	json_decref(post->views);
}

static void parse_generate(struct request *request)
{
	const struct asked *query = request->query;
	const char *type =
		MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Content-Type");
	struct post *post = strata_arena_get(&request->arena, sizeof(*post));
	struct strata_error err = { 0 };
	struct multipart form;
	int rc = post ? multipart_init(&form, type, request->body ? request->body : "",
				       request->body_length, &err)
		      : strata_fail_memory(&err);

	request->parsed = post;
	if (rc > 0)
		rc = read_form(request, post, &form, &err);
	else if (rc == 0 && !read_json(request, post))
		return;
	if (rc == 0)
		rc = check(request, post, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	post->wait_ns = query->wait_ns;
	post->ids = strata_arena_array(&request->arena, post->count, sizeof(*post->ids));
	post->views = json_array();
	request->release = release;
	if (!post->ids || !post->views)
		request_answer(request, MHD_HTTP_OK, NULL);
}

/* ---- deciding ---- */

/* The same key as before: the same answer as before. False: nobody has asked with it. */
static bool answered_before(struct decider *decider, struct request *request)
{
	struct post *post = request->parsed;
	struct strata_error err = { 0 };
	struct store_answer answer;

	if (!post->key)
		return false;
	int rc = batch_answered(decider, request->who.user, post->key, &request->arena, &answer,
				&err);

	if (rc == -ENOENT)
		return false;
	if (rc) {
		request_fail(request, rc, &err);
	} else if (strcmp(answer.request, post->hash) != 0) {
		request_refuse(request, MHD_HTTP_CONFLICT, "conflict",
			       "the key %.128s was used for another request; take another key",
			       post->key);
	} else {
		json_t *json = json_loadb(answer.body, answer.body_bytes, 0, NULL);
		const json_t *tasks = json_object_get(json, "tasks");

		for (size_t i = 0; i < post->count; i++) {
			json_t *task = post->list ? json_array_get(tasks, i) : json;

			json_array_append(post->views, task);
			post->ids[i] = json_integer_value(json_object_get(task, "id"));
		}
		json_decref(json);
		request->durable = true; /* it may be of this very round */
		request_give_text(request, MHD_HTTP_OK, NULL,
				  strndup(answer.body, answer.body_bytes));
	}
	return true;
}

/* The tasks as they are now; one that was seen to end is as it was then. */
static void answer_all(struct decider *decider, struct request *request, int status)
{
	struct post *post = request->parsed;

	for (size_t i = 0; i < post->count; i++) {
		const struct task *task = task_find(decider, post->ids[i]);
		json_t *view = task ? task_view_live(decider, task, true) : NULL;

		if (view && i < json_array_size(post->views))
			json_array_set_new(post->views, i, view);
		else if (view)
			json_array_append_new(post->views, view);
	}
	bool whole = json_array_size(post->views) == post->count;

	request_answer(request, status,
		       !whole       ? NULL
		       : post->list ? json_pack("{s:O}", "tasks", post->views)
				    : json_incref(json_array_get(post->views, 0)));
}

/* Of one who waits: all have ended, or the time is up. */
static bool look(struct decider *decider, struct request *request, bool due)
{
	struct post *post = request->parsed;
	bool waits = false;

	for (size_t i = 0; i < post->count; i++) {
		const struct task *task = task_find(decider, post->ids[i]);

		waits |= task && !task->ended;
		if (task && task->ended && post->list) /* before it is forgotten */
			json_array_set_new(post->views, i, task_view_live(decider, task, true));
	}
	if (waits && !due)
		return false;
	answer_all(decider, request, request->status);
	return true;
}

static void wait_for_them(struct decider *decider, struct request *request)
{
	struct post *post = request->parsed;
	bool waits = false;

	for (size_t i = 0; i < post->count; i++) {
		const struct task *task = task_find(decider, post->ids[i]);

		waits |= task && !task->ended;
	}
	if (post->wait_ns && waits && json_array_size(post->views) == post->count)
		parked_add(decider, request, post->wait_ns, look);
}

static void withdraw(struct decider *decider, const struct post *post, size_t count)
{
	while (count--) {
		struct task *task = task_find(decider, post->ids[count]);

		if (post->asked[count].init.bytes)
			result_budget_take(decider, task->row.user,
					   (int64_t)post->asked[count].init.length);
		task_withdraw(decider, task);
	}
}

/* All of them, or none. */
static int take(struct decider *decider, struct request *request, struct strata_error *err)
{
	struct post *post = request->parsed;
	struct task *task;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < post->count; i++) {
		rc = generate_take(decider, &request->who, &post->asked[i], &task, err);
		if (rc == 0)
			post->ids[i] = task->row.id;
		else
			withdraw(decider, post, i);
		if (rc && post->list)
			rc = strata_fail_under(err, rc, "requests[%zu]", i);
	}
	return rc;
}

static void take_and_answer(struct decider *decider, struct request *request)
{
	struct post *post = request->parsed;
	struct batch_mark mark = batch_mark(decider);
	struct strata_error err = { 0 };
	int rc = take(decider, request, &err);

	if (rc == 0) {
		answer_all(decider, request, MHD_HTTP_CREATED);
		if (request->status != MHD_HTTP_CREATED) /* no memory for the answer */
			withdraw(decider, post, post->count);
	} else {
		request->retry_after_s = rc == -EDQUOT ? RETRY_S : 0;
		request_fail(request, rc, &err);
	}
	if (request->status != MHD_HTTP_CREATED) {
		batch_undo(decider, &mark);
		for (size_t i = 0; i < post->count; i++)
			generate_refused(decider, &post->asked[i]);
		return;
	}
	if (post->key)
		batch_answer(decider, request->who.user, post->key, post->hash, request->text);
	request->durable = true;
}

static void post_generate(struct decider *decider, struct request *request)
{
	if (!answered_before(decider, request))
		take_and_answer(decider, request);
	if (request->durable)
		wait_for_them(decider, request);
}

/* ---- what may be asked for ---- */

static void answer_classes(struct request *request, const char *name,
			   const struct strata_kind *kind)
{
	json_t *list = json_array();

	for (size_t i = 0; kind->classes[i]; i++)
		json_array_append_new(list,
				      json_pack("{s:s,s:s?,s:s?}", "name", kind->classes[i]->name,
						"aliases", kind->classes[i]->aliases, "summary",
						kind->classes[i]->summary));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", name, list));
}

static void get_samplers(struct request *request)
{
	answer_classes(request, "samplers", &strata_solver_kind);
}

static void get_schedules(struct request *request)
{
	answer_classes(request, "schedules", &strata_schedule_kind);
}

/* ---- routes ---- */

const struct route api_generate_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/generate",
	  .summary = "ask for pictures",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_GENERATE_BODY_BYTES_MAX,
	  .parse = parse_generate,
	  .decide = post_generate,
	  .body = &generate_post_schema,
	  .query = &generate_query,
	  .answer = "",
	  .also = 201 },
	{ .method = "GET",
	  .path = "/api/v1/samplers",
	  .summary = "solvers that can be asked for",
	  .role = ROLE_READER,
	  .parse = get_samplers,
	  .answer = "samplers" },
	{ .method = "GET",
	  .path = "/api/v1/schedules",
	  .summary = "schedules of noise levels",
	  .role = ROLE_READER,
	  .parse = get_schedules,
	  .answer = "schedules" },
	{ 0 },
};
