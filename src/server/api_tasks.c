/*
 * /api/v1/tasks: pictures that were asked for. Lists and ended tasks are read from the store by
 * HTTP threads; what the decider alone knows of a live one (who has it, how far it is, its place in
 * line) is put over that. Prompts and pictures are their owner's, and operators'.
 */
#include "server/decider.h"
#include "server/front.h"
#include "server/result_budget.h"
#include "server/results.h"
#include "server/route.h"
#include "server/task_routes.h"
#include "server/task_traces.h"
#include "server/tasks.h"
#include "server/view.h"
#include "server/workers.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define READER_WAIT_NS (5 * STRATA_SECOND_NS)

/* ---- what routes about one task have in common ---- */

int64_t task_route_id(struct request *request)
{
	const char *text = request->segments[0];
	int64_t id = 0;

	if (strata_int_parse(text + (text[0] == 'T'), STRATA_TEXT_NUL, 1, INT64_MAX, &id, NULL) ==
	    0)
		return id;
	request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no task %.40s", text);
	return 0;
}

bool task_route_may(struct request *request, const struct store_task *row)
{
	if (task_may_see(&request->who, row))
		return true;
	request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden", "task %lld is %s's; you are %s",
		       (long long)row->id, row->user, request->who.user);
	return false;
}

/* The live task of the path, its owner's or an operator's to change; NULL: answered. */
static struct task *find_own(struct decider *decider, struct request *request)
{
	int64_t id = task_route_id(request);
	struct task *task = id ? task_find(decider, id) : NULL;
	struct strata_error err = { 0 };
	struct store_task row;

	if (!id || (task && !task_route_may(request, &task->row)))
		return NULL;
	if (task && !task->ended)
		return task;
	int rc = store_task_get(decider->store, id, &request->arena, &row, &err);

	if (rc == 0 && task_route_may(request, &row))
		rc = strata_fail(&err, -ESTALE, "task %lld has ended: it is %s", (long long)id,
				 task ? task->row.status : row.status);
	if (!request->answered)
		request_fail(request, rc, &err);
	return NULL;
}

bool task_route_read(struct request *request, struct store_task *ret_row)
{
	struct strata_error err = { 0 };
	struct store *store;
	int64_t id = request->answered ? 0 : task_route_id(request);

	if (!id)
		return false;
	int rc = store_readers_take(request->front->readers, READER_WAIT_NS, &store, &err);

	if (rc == 0) {
		rc = store_task_get(store, id, &request->arena, ret_row, &err);
		store_readers_give(request->front->readers, store);
	}
	if (rc)
		request_fail(request, rc, &err);
	return rc == 0;
}

/* ---- the list ---- */

static const struct strata_choice statuses[] = {
	{ "pending", STRATA_TASK_PENDING, NULL },     { "encoding", STRATA_TASK_ENCODING, NULL },
	{ "denoising", STRATA_TASK_DENOISING, NULL }, { "decoding", STRATA_TASK_DECODING, NULL },
	{ "finished", STRATA_TASK_FINISHED, NULL },   { "failed", STRATA_TASK_FAILED, NULL },
	{ "cancelled", STRATA_TASK_CANCELLED, NULL }, { 0 },
};

struct list_query {
	struct strata_list statuses; /* of int */
	const char *user, *model;
	int64_t limit, after;
};

#define OF(field) offsetof(struct list_query, field)
static const struct strata_option list_status = { .type = STRATA_ENUM, .choice = { statuses } };
static const struct strata_option list_options[] = {
	{ "status", STRATA_LIST, OF(statuses), .list = { &list_status, STRATA_STORE_STATES_MAX },
	  .help = "with one of these" },
	{ "user", STRATA_TEXT, OF(user), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this user" },
	{ "model", STRATA_TEXT, OF(model), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this model" },
	{ "limit", STRATA_INT, OF(limit), .integer = { 100, 1, 1000 }, .help = "at most so many" },
	{ "after", STRATA_INT, OF(after), .integer = { 0, 0, INT64_MAX },
	  .help = "older than this task: the next of the page before" },
	{ 0 }
};
#undef OF
static const struct strata_schema tasks_query = { "the query", NULL, sizeof(struct list_query),
						  list_options };

struct page {
	struct strata_arena *arena;
	const struct store_task **rows;
	size_t count;
};

static int add_row(void *context, const void *row, struct strata_error *err)
{
	struct page *page = context;
	const struct store_task *copy = store_row_copy(STORE_TASK, row, page->arena);

	if (!copy)
		return strata_fail_memory(err);
	page->rows[page->count++] = copy;
	return 0;
}

static bool is_asked(const struct list_query *asked, const char *status)
{
	const int *numbers = asked->statuses.items;

	for (size_t i = 0; i < asked->statuses.count; i++)
		if (strcmp(strata_task_status_name((enum strata_task_status)numbers[i]), status) ==
		    0)
			return true;
	return asked->statuses.count == 0;
}

/* In the store a task that has not ended is pending, whoever has it. */
static size_t stored_statuses(const struct list_query *asked,
			      const char *ret_names[STRATA_STORE_STATES_MAX])
{
	const int *numbers = asked->statuses.items;
	size_t count = 0;
	bool live = false;

	for (size_t i = 0; i < asked->statuses.count; i++) {
		if (strata_task_ended((enum strata_task_status)numbers[i]))
			ret_names[count++] =
				strata_task_status_name((enum strata_task_status)numbers[i]);
		else if (!live)
			ret_names[count++] = strata_task_status_name(STRATA_TASK_PENDING);
		live |= !strata_task_ended((enum strata_task_status)numbers[i]);
	}
	return count;
}

static void parse_tasks(struct request *request)
{
	const struct list_query *asked = request->query;
	const char *names[STRATA_STORE_STATES_MAX];
	struct store_task_query query = { .statuses = names,
					  .status_count = stored_statuses(asked, names),
					  .user = asked->user,
					  .model = asked->model,
					  .after = asked->after,
					  .limit = (size_t)asked->limit,
					  .descending = true };
	struct page *page = strata_arena_get(&request->arena, sizeof(*page));
	struct strata_error err = { 0 };
	struct store *store;
	int rc = 0;

	if (page) {
		page->arena = &request->arena;
		page->rows = strata_arena_array(&request->arena, query.limit, sizeof(*page->rows));
	}
	if (!page || !page->rows)
		rc = strata_fail_memory(&err);
	if (rc == 0)
		rc = store_readers_take(request->front->readers, READER_WAIT_NS, &store, &err);
	if (rc == 0) {
		rc = store_tasks_page(store, &query, add_row, page, &err);
		store_readers_give(request->front->readers, store);
	}
	request->parsed = page;
	if (rc)
		request_fail(request, rc, &err);
}

static void get_tasks(struct decider *decider, struct request *request)
{
	const struct list_query *asked = request->query;
	const struct page *page = request->parsed;
	json_t *list = json_array();

	for (size_t i = 0; i < page->count; i++) {
		const struct store_task *row = page->rows[i];
		const struct task *task = task_find(decider, row->id);

		if (!is_asked(asked, task ? task->row.status : row->status))
			continue;
		bool all = task_may_see(&request->who, row);

		request->durable |= task && task->ended; /* its end may be of this very round */

		json_array_append_new(list, task ? task_view_live(decider, task, all)
						 : task_view(row, all));
	}
	json_t *next = page->count == (size_t)asked->limit
			       ? json_integer(page->rows[page->count - 1]->id)
			       : json_null();

	request_answer(request, MHD_HTTP_OK, json_pack("{s:o,s:o}", "tasks", list, "next", next));
}

/* ---- one task ---- */

static void get_task(struct decider *decider, struct request *request)
{
	int64_t id = task_route_id(request);
	const struct task *task = id ? task_find(decider, id) : NULL;

	if (!task) /* the store is looked at then */
		return;
	/* An end of this very round is told when it is durable: who hears of it asks for the
	 * picture next. */
	request->durable = task->ended;
	request_answer(request, MHD_HTTP_OK,
		       task_view_live(decider, task, task_may_see(&request->who, &task->row)));
}

static void get_past_task(struct request *request)
{
	struct store_task row;

	if (task_route_read(request, &row))
		request_answer(request, MHD_HTTP_OK,
			       task_view(&row, task_may_see(&request->who, &row)));
}

static void delete_task(struct decider *decider, struct request *request)
{
	struct task *task = find_own(decider, request);
	struct strata_error err = { 0 };
	int rc = task ? task_cancel(decider, task, request->who.user, &err) : 0;

	if (rc)
		request_fail(request, rc, &err);
	if (!task || rc)
		return;
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, task_view_live(decider, task, true));
}

struct change {
	int64_t priority;
};
static const struct strata_option change_options[] = {
	{ "priority", STRATA_INT, offsetof(struct change, priority),
	  .integer = { STRATA_PRIORITY_DEFAULT, 0, STRATA_TASK_PRIORITY_MAX },
	  .flags = STRATA_REQUIRED, .help = "higher goes first" },
	{ 0 }
};
static const struct strata_schema change_schema = { "change of a task", NULL, sizeof(struct change),
						    change_options };

static void parse_change(struct request *request)
{
	request_read(request, &change_schema);
}

static void patch_task(struct decider *decider, struct request *request)
{
	const struct change *change = request->parsed;
	struct task *task = find_own(decider, request);
	struct strata_error err = { 0 };

	if (!task)
		return;
	int rc = task_check_priority(decider, &request->who, change->priority, &err);

	if (rc == 0)
		rc = task_set_priority(decider, task, change->priority, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, task_view_live(decider, task, true));
}

/* ---- why ---- */

static void get_why(struct decider *decider, struct request *request)
{
	int64_t id = task_route_id(request), now_ns = decider_now_ns(decider);
	const struct task *task = id ? task_find(decider, id) : NULL;
	struct strata_why why = { 0 };
	char text[300], trouble[300];

	if (!task || task->ended)
		return; /* the store is looked at then */
	const struct model *model = task->model;

	if (strcmp(task->row.status, "pending") != 0) {
		snprintf(text, sizeof(text), "a worker has it: %lld of %lld steps",
			 (long long)task->row.steps_done, (long long)task->row.steps);
	} else if (model->paused) {
		snprintf(text, sizeof(text),
			 "model %.60s is paused; `strata models resume %.60s` lets it go on",
			 model->name, model->name);
	} else {
		strata_pool_why(model->pool, task->handle, now_ns, &why, NULL);
		strata_why_print(&why, now_ns, text, sizeof(text));
	}
	bool started = false;
	json_t *jobs = worker_jobs_of(decider, model, &started);

	snprintf(trouble, sizeof(trouble), "%s", model->trouble);
	if (!trouble[0] && !started && json_array_size(jobs))
		snprintf(trouble, sizeof(trouble),
			 "its worker, job %lld, has not asked for a task yet; `strata why %lld`",
			 (long long)json_integer_value(json_array_get(jobs, 0)),
			 (long long)json_integer_value(json_array_get(jobs, 0)));
	json_t *json = json_pack("{s:I,s:s,s:s,s:s,s:I,s:s?,s:o}", "id", (json_int_t)id, "status",
				 task->row.status, "reason", strata_wait_name(why.wait), "text",
				 text, "ahead", (json_int_t)why.ahead, "trouble",
				 trouble[0] ? trouble : NULL, "worker_jobs", jobs);

	request_answer(request, MHD_HTTP_OK, json);
}

static void get_past_why(struct request *request)
{
	struct store_task row;
	char text[300];

	if (!task_route_read(request, &row))
		return;
	bool all = task_may_see(&request->who, &row);

	snprintf(text, sizeof(text), "it does not wait: it is %.20s%s%.200s", row.status,
		 all && row.error ? ": " : "", all && row.error ? row.error : "");
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:I,s:s,s:s,s:s,s:i,s:n,s:[]}", "id", (json_int_t)row.id,
				 "status", row.status, "reason", strata_wait_name(STRATA_WAIT_NONE),
				 "text", text, "ahead", 0, "trouble", "worker_jobs"));
}

/* ---- pictures ---- */

/* Of the picture that the path asks for; NULL: answered. */
static const char *hash_of(struct request *request, const struct store_task *row)
{
	json_t *images = row->images ? json_loads(row->images, 0, NULL) : NULL;
	const char *asked = request->segments[1];
	int64_t number = 0;
	const char *hash = NULL;

	if (!asked || strata_int_parse(asked, STRATA_TEXT_NUL, 0, INT32_MAX, &number, NULL) == 0)
		hash = json_string_value(
			json_object_get(json_array_get(images, (size_t)number), "hash"));
	hash = hash ? strata_arena_text(&request->arena, hash, strlen(hash)) : NULL;
	json_decref(images);
	if (!hash && !row->images && strcmp(row->status, "finished") == 0)
		request_refuse(request, MHD_HTTP_GONE, "gone",
			       "the picture of task %lld was removed", (long long)row->id);
	else if (!hash)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       row->ended_ns ? "task %lld has no such picture"
					     : "task %lld has no picture yet",
			       (long long)row->id);
	return hash;
}

static void get_image(struct request *request)
{
	const char *known =
		MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "If-None-Match");
	struct store_task row;

	if (!task_route_read(request, &row) || !task_route_may(request, &row))
		return;
	const char *hash = hash_of(request, &row);

	if (!hash)
		return;
	request->etag = strata_arena_printf(&request->arena, "\"%s\"", hash);
	if (known && request->etag && strcmp(known, request->etag) == 0) {
		request_answer_empty(request, MHD_HTTP_NOT_MODIFIED);
		return;
	}
	results_answer(request, hash);
}

static void delete_image(struct decider *decider, struct request *request)
{
	int64_t id = task_route_id(request);
	struct strata_error err = { 0 };
	struct store_task row;
	const struct task *task = id ? task_find(decider, id) : NULL;

	if (!id)
		return;
	int rc = task ? strata_fail(&err, -EBUSY,
				    "task %lld has not ended; `strata tasks cancel` stops it",
				    (long long)id)
		      : store_task_get(decider->store, id, &request->arena, &row, &err);

	if (task && !task_route_may(request, &task->row))
		return;
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	if (!task_route_may(request, &row))
		return;
	rc = result_budget_drop(decider, &row, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	row.images = NULL;
	batch_put(decider, STORE_PUT(&row));
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, task_view(&row, true));
}

static void get_preview(struct decider *decider, struct request *request)
{
	int64_t id = task_route_id(request);
	const struct task *task = id ? task_find(decider, id) : NULL;

	if (!id || (task && !task_route_may(request, &task->row)))
		return;
	if (!task || !task->preview) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "there is no preview of task %lld", (long long)id);
		return;
	}
	char *bytes = malloc(task->preview_bytes + 1);

	if (bytes) {
		memcpy(bytes, task->preview, task->preview_bytes);
		bytes[task->preview_bytes] = '\0';
	}
	request_give_bytes(request, MHD_HTTP_OK, "image/png", bytes, task->preview_bytes);
}

/* ---- timelines ---- */

static void get_task_trace(struct request *request)
{
	struct strata_error err = { 0 };
	struct store_task row;

	if (!task_route_read(request, &row) || !task_route_may(request, &row))
		return;
	int fd = task_traces_open_file(request->front->conf->state_dir, row.id,
				       &request->file_bytes, &err);

	if (fd < 0 && !row.ended_ns)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "task %lld has no timeline yet; its worker sends one when it is "
			       "finished, if its request asked for it",
			       (long long)row.id);
	else if (fd < 0)
		request_fail(request, fd, &err);
	else
		request_answer_file(request, fd, "application/json");
}

/* ---- routes ---- */

const struct route api_tasks_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/tasks",
	  .summary = "pictures that were asked for",
	  .role = ROLE_READER,
	  .parse = parse_tasks,
	  .decide = get_tasks,
	  .query = &tasks_query,
	  .answer = "tasks next" },
	{ .method = "GET",
	  .path = "/api/v1/tasks/*",
	  .summary = "one task",
	  .role = ROLE_READER,
	  .decide = get_task,
	  .finish = get_past_task,
	  .answer = "id status model user" },
	{ .method = "PATCH",
	  .path = "/api/v1/tasks/*",
	  .summary = "change a task",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_change,
	  .decide = patch_task,
	  .body = &change_schema,
	  .answer = "id status model user" },
	{ .method = "DELETE",
	  .path = "/api/v1/tasks/*",
	  .summary = "cancel a task",
	  .role = ROLE_USER,
	  .decide = delete_task,
	  .answer = "id status model user" },
	{ .method = "GET",
	  .path = "/api/v1/tasks/*/why",
	  .summary = "why a task waits",
	  .role = ROLE_READER,
	  .decide = get_why,
	  .finish = get_past_why,
	  .answer = "id status text" },
	{ .method = "GET",
	  .path = "/api/v1/tasks/*/image",
	  .summary = "its picture",
	  .role = ROLE_READER,
	  .parse = get_image },
	{ .method = "GET",
	  .path = "/api/v1/tasks/*/image/*",
	  .summary = "one of its pictures",
	  .role = ROLE_READER,
	  .parse = get_image },
	{ .method = "DELETE",
	  .path = "/api/v1/tasks/*/image",
	  .summary = "remove its pictures",
	  .role = ROLE_USER,
	  .decide = delete_image,
	  .answer = "id status model user" },
	{ .method = "GET",
	  .path = "/api/v1/tasks/*/preview",
	  .summary = "how it looks so far",
	  .role = ROLE_READER,
	  .decide = get_preview },
	{ .method = "GET",
	  .path = "/api/v1/tasks/*/trace",
	  .summary = "what its worker did for it, as a trace for Perfetto",
	  .role = ROLE_READER,
	  .parse = get_task_trace,
	  .answer = "otherData traceEvents" },
	{ 0 },
};
