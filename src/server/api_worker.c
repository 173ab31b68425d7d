/*
 * /api/v1/worker/…: what workers ask and report, each with its job's own token. Who is no worker is
 * refused before his body is read (http.c); pictures are written by HTTP threads, so that nobody
 * who decides waits for a disk.
 */
#include "server/decider.h"
#include "server/front.h"
#include "server/latents.h"
#include "server/parked.h"
#include "server/results.h"
#include "server/route.h"
#include "server/task_traces.h"
#include "server/workers.h"

#include <strata/limits.h>
#include <strata/text.h>
#include <strata/trace.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS_MAX = 30000 };

/* ---- picking ---- */

#define OF(field) offsetof(struct worker_ask, field)
static const struct strata_option number = { .type = STRATA_INT, .integer = { 0, 0, INT64_MAX } };
static const struct strata_option pick_options[] = {
	{ "free_bytes", STRATA_INT, OF(free_bytes), .integer = { -1, -1, INT64_MAX },
	  .help = "memory for more tasks; -1: not counted" },
	{ "wait_ms", STRATA_INT, OF(wait_ms), .integer = { 0, 0, WAIT_MS_MAX },
	  .help = "answered after so long when there is nothing to do" },
	{ "ask_ns", STRATA_INT, OF(ask_ns), .integer = { 0, 0, 60 * STRATA_SECOND_NS },
	  .help = "what asking and reporting cost it lately, by its own clock; 0: not known" },
	{ "holding", STRATA_LIST, OF(holding), .list = { &number, STRATA_BATCH_MAX },
	  .help = "tasks that it has" },
	{ "holding_steps", STRATA_LIST, OF(holding_steps), .list = { &number, STRATA_BATCH_MAX },
	  .help = "how far each of them is; may be left out" },
	{ 0 }
};
#undef OF
static const struct strata_schema pick_schema = { "pick", "what a worker asks",
						  sizeof(struct worker_ask), pick_options };

static void parse_pick(struct request *request)
{
	request_read(request, &pick_schema);
}

/* There is an answer: tasks, an order to end, or that it is none of ours. */
static bool look(struct decider *decider, struct request *request, bool due)
{
	struct worker *worker = lease_worker(decider, request);
	struct strata_error err = { 0 };
	json_t *json = NULL;

	if (!worker)
		return true;
	int rc = lease_pick(decider, worker, request->parsed, &json, &err);

	if (rc)
		request_fail(request, rc, &err);
	else if (json)
		request_answer(request, MHD_HTTP_OK, json);
	else if (due)
		request_answer(
			request, MHD_HTTP_OK,
			json_pack("{s:i,s:[],s:[],s:b}", "steps", 0, "tasks", "drop", "stop", 0));
	return request->answered;
}

static void post_pick(struct decider *decider, struct request *request)
{
	const struct worker_ask *ask = request->parsed;
	int64_t wait_ns = ask->wait_ms * STRATA_MS_NS, half_ns = decider->conf->worker_lease_ns / 2;

	if (wait_ns > half_ns) /* it is heard of before its lease ends */
		wait_ns = half_ns;
	if (!look(decider, request, wait_ns == 0) && !parked_add(decider, request, wait_ns, look))
		look(decider, request, true);
}

/* ---- beating ---- */

#define OF(field) offsetof(struct worker_ask, field)
static const struct strata_option beat_options[] = {
	{ "holding", STRATA_LIST, OF(holding), .list = { &number, STRATA_BATCH_MAX },
	  .help = "tasks that it has" },
	{ "holding_steps", STRATA_LIST, OF(holding_steps), .list = { &number, STRATA_BATCH_MAX },
	  .help = "how far each of them is; may be left out" },
	{ 0 }
};
#undef OF
static const struct strata_schema beat_schema = { "beat", "what a worker that computes says",
						  sizeof(struct worker_ask), beat_options };

static void parse_beat(struct request *request)
{
	request_read(request, &beat_schema);
}

static void post_beat(struct decider *decider, struct request *request)
{
	struct worker *worker = lease_worker(decider, request);
	struct strata_error err = { 0 };
	int rc = worker ? lease_beat(decider, worker, request->parsed, &err) : 0;

	if (rc)
		request_fail(request, rc, &err);
	else if (worker)
		request_answer(request, MHD_HTTP_OK, json_object());
}

/* ---- what is wrong with it ---- */

struct trouble {
	const char *error;
};
static const struct strata_option trouble_options[] = {
	{ "error", STRATA_TEXT, offsetof(struct trouble, error), .text = { NULL, 4096 },
	  .flags = STRATA_REQUIRED, .help = "why, as a sentence" },
	{ 0 }
};
static const struct strata_schema trouble_schema = { "trouble", "why a worker cannot work",
						     sizeof(struct trouble), trouble_options };

static void parse_trouble(struct request *request)
{
	request_read(request, &trouble_schema);
}

/* It is about to end: the sentence is shown with its end, on the tasks that wait for it. */
static void post_trouble(struct decider *decider, struct request *request)
{
	const struct trouble *trouble = request->parsed;
	struct worker *worker = lease_beginner(decider, request);

	if (!worker)
		return;
	snprintf(worker->why, sizeof(worker->why), "%s", trouble->error);
	request_answer(request, MHD_HTTP_OK, json_object());
}

/* ---- reporting ---- */

static const struct strata_choice kinds[] = { { "steps", STRATA_DONE_STEPS, "it goes on" },
					      { "finished", STRATA_DONE_FINISHED, NULL },
					      { "failed", STRATA_DONE_FAILED, NULL },
					      { "back", STRATA_DONE_BACK, "it is given back" },
					      { 0 } };
static const struct strata_choice statuses[] = { { "encoding", STRATA_TASK_ENCODING, NULL },
						 { "denoising", STRATA_TASK_DENOISING, NULL },
						 { "decoding", STRATA_TASK_DECODING, NULL },
						 { 0 } };
static const struct strata_option hash = { .type = STRATA_TEXT,
					   .text = { NULL, STORE_HASH_BYTES - 1 } };

#define OF(field) offsetof(struct worker_row, field)
static const struct strata_option row_options[] = {
	{ "id", STRATA_INT, OF(id), .integer = { 0, 0, INT64_MAX }, .flags = STRATA_REQUIRED,
	  .help = "of the task" },
	{ "kind", STRATA_ENUM, OF(kind), .choice = { kinds, STRATA_DONE_STEPS },
	  .help = "what came of it" },
	{ "steps", STRATA_INT, OF(steps), .integer = { 0, 0, STRATA_TASK_STEPS_MAX },
	  .help = "done since it was picked" },
	{ "cost_ns", STRATA_INT, OF(cost_ns), .integer = { 0, 0, STRATA_TASK_COST_NS_MAX },
	  .help = "measured, this task's part" },
	{ "status", STRATA_ENUM, OF(status), .choice = { statuses, STRATA_TASK_DENOISING },
	  .help = "where it is" },
	{ "error", STRATA_TEXT, OF(error), .text = { NULL, 4096 }, .flags = STRATA_OPAQUE,
	  .help = "why it failed" },
	{ "images", STRATA_LIST, OF(images), .list = { &hash, STRATA_PIPELINE_IMAGES_MAX },
	  .help = "hashes of its pictures, which were sent before" },
	{ "width", STRATA_INT, OF(width), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "of its pictures" },
	{ "height", STRATA_INT, OF(height), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "of its pictures" },
	{ "cap", STRATA_INT, OF(cap), .integer = { 0, 0, STRATA_BATCH_MAX },
	  .help = "more tasks like it at once do not pay or do not fit; 0: not known" },
	{ 0 }
};
#undef OF
static const struct strata_schema row_schema = { "row", NULL, sizeof(struct worker_row),
						 row_options };

struct report {
	struct strata_list rows; /* of struct worker_row */
};
static const struct strata_option row_item = { .type = STRATA_TABLE, .table = &row_schema };
static const struct strata_option done_options[] = {
	{ "rows", STRATA_LIST, offsetof(struct report, rows),
	  .list = { &row_item, STRATA_BATCH_MAX }, .flags = STRATA_REQUIRED,
	  .help = "one for each task of the batch" },
	{ 0 }
};
static const struct strata_schema done_schema = { "done", "what came of a batch",
						  sizeof(struct report), done_options };

static void parse_done(struct request *request)
{
	request_read(request, &done_schema);
}

static bool is_end(const struct worker_row *row)
{
	return row->kind == STRATA_DONE_FINISHED || row->kind == STRATA_DONE_FAILED;
}

static void post_done(struct decider *decider, struct request *request)
{
	const struct report *report = request->parsed;
	struct worker *worker = lease_worker(decider, request);
	struct strata_error err = { 0 };

	if (!worker)
		return;
	int rc = report->rows.count
			 ? lease_done(decider, worker, report->rows.items, report->rows.count, &err)
			 : 0;

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	/* progress is nobody's promise: only who has ended waits for the commit */
	for (size_t i = 0; i < report->rows.count; i++)
		request->durable |= is_end(&((const struct worker_row *)report->rows.items)[i]);
	request_answer(request, MHD_HTTP_OK, json_object());
}

/* ---- pictures ---- */

static void parse_image(struct request *request)
{
	struct strata_error err = { 0 };
	uint32_t width, height;

	int rc = results_check_png(request->body ? request->body : "", request->body_length, &width,
				   &height, &err);

	if (rc)
		request_fail(request, rc, &err);
}

/* Is the caller a worker? Its picture is written when that is known, by an HTTP thread again. */
static void put_image(struct decider *decider, struct request *request)
{
	lease_worker(decider, request);
}

static void keep_image(struct request *request)
{
	char name[STORE_HASH_BYTES];
	struct strata_error err = { 0 };

	if (request->answered)
		return;
	int rc = results_put(request->front->conf->state_dir, request->body, request->body_length,
			     name, &err);

	if (rc)
		request_fail(request, rc, &err);
	else
		request_answer(request, MHD_HTTP_CREATED,
			       json_pack("{s:s,s:I}", "hash", name, "bytes",
					 (json_int_t)request->body_length));
}

/* Whose is it, and does it start from a picture? */
static void get_init(struct decider *decider, struct request *request)
{
	struct worker *worker = lease_worker(decider, request);
	int64_t id = 0;
	const struct task *task =
		worker && strata_int_parse(request->segments[0], STRATA_TEXT_NUL, 1, INT64_MAX, &id,
					   NULL) == 0
			? lease_find(decider, worker, id)
			: NULL;

	if (!worker)
		return;
	if (!task) {
		request_refuse(request, MHD_HTTP_CONFLICT, "stale",
			       "the lease is lost: task %.40s is not this worker's",
			       request->segments[0]);
		return;
	}
	json_t *parameters = json_loads(task->row.parameters, 0, NULL);
	const char *name = json_string_value(json_object_get(parameters, "init_image"));

	request->parsed = name ? strata_arena_text(&request->arena, name, strlen(name)) : NULL;
	json_decref(parameters);
	if (!request->parsed)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "task %.40s does not start from a picture", request->segments[0]);
}

static void send_init(struct request *request)
{
	if (!request->answered)
		results_answer(request, request->parsed);
}

/* The task of the path: one that the caller has, or had until it was taken from it. NULL:
 * answered. */
static struct task *own_task(struct decider *decider, struct request *request, bool had)
{
	struct worker *worker = lease_worker(decider, request);
	struct task *task = NULL, *left;
	int64_t id = 0;

	if (!worker)
		return NULL;
	if (strata_int_parse(request->segments[0], STRATA_TEXT_NUL, 1, INT64_MAX, &id, NULL) == 0)
		task = lease_find(decider, worker, id);
	left = had ? task_find(decider, id) : NULL;
	if (!task && left && !left->ended && left->left_job == worker->job)
		task = left;
	if (!task)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "task %.40s is not this worker's", request->segments[0]);
	return task;
}

static void put_preview(struct decider *decider, struct request *request)
{
	struct task *task = own_task(decider, request, false);

	if (!task)
		return;
	free(task->preview);
	task->preview = request->body; /* malloc's */
	task->preview_bytes = request->body_length;
	task->preview_number++;
	request->body = NULL;
	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

/* ---- latents ---- */

struct latents_query {
	int64_t steps;
};
static const struct strata_option latents_options[] = {
	{ "steps", STRATA_INT, offsetof(struct latents_query, steps),
	  .integer = { 0, 0, STRATA_TASK_STEPS_MAX }, .help = "that are done" },
	{ 0 }
};
static const struct strata_schema latents_query = { "the query", NULL, sizeof(struct latents_query),
						    latents_options };

/* What has not become a task's goes with the request. */
static void discard_latents(struct request *request)
{
	part_remove(&latents_place, request->front->conf->state_dir, request->parsed);
}

static void discard_trace(struct request *request)
{
	part_remove(&task_traces_place, request->front->conf->state_dir, request->parsed);
}

/* The body becomes a file before the decider knows of it, and by nobody who decides; it is the
 * task's when the decider says so. */
static void write_body(struct request *request, const struct part_place *place,
		       void (*discard)(struct request *request))
{
	char *part = strata_arena_get(&request->arena, PART_NAME_BYTES);
	struct strata_error err = { 0 };
	int rc = part ? part_write(place, request->front->conf->state_dir, request->body,
				   request->body_length, part, &err)
		      : strata_fail_memory(&err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->parsed = part;
	request->release = discard;
}

static void parse_latents(struct request *request)
{
	write_body(request, &latents_place, discard_latents);
}

static void put_latents(struct decider *decider, struct request *request)
{
	const struct latents_query *asked = request->query;
	struct task *task = own_task(decider, request, true);
	struct strata_error err = { 0 };

	if (!task)
		return;
	if (asked->steps >= task->latents_steps) { /* newer ones are better */
		int rc = latents_accept(decider->conf->state_dir, request->parsed, task->row.id,
					asked->steps, task->latents_steps, &err);

		if (rc) {
			request_fail(request, rc, &err);
			return;
		}
		request->release = NULL;
		task->latents_steps = asked->steps;
	}
	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

/* Opening a file is no waiting for a disk; it is read by an HTTP thread. */
static void get_latents(struct decider *decider, struct request *request)
{
	const struct task *task = own_task(decider, request, false);
	struct strata_error err = { 0 };

	if (!task)
		return;
	int fd = latents_open_file(decider->conf->state_dir, task->row.id, task->latents_steps,
				   &request->file_bytes, &err);

	if (fd < 0) {
		request_fail(request, fd, &err);
		return;
	}
	request_answer_file(request, fd, "application/octet-stream");
}

/* ---- timelines ---- */

/* What is left of the body to read. */
struct rest {
	const char *at;
	size_t count;
};

static ssize_t read_rest(void *context, char *bytes, size_t room)
{
	struct rest *rest = context;
	size_t count = rest->count < room ? rest->count : room;

	memcpy(bytes, rest->at, count);
	rest->at += count;
	rest->count -= count;
	return (ssize_t)count;
}

static int drop(void *context, const char *bytes, size_t count)
{
	(void)context, (void)bytes, (void)count;
	return 0;
}

/* As whoever merges it reads it, event by event: memory does not grow with it. */
static void parse_trace(struct request *request)
{
	struct rest rest = { request->body ? request->body : "", request->body_length };
	const struct strata_trace_input input = { "the timeline", read_rest, &rest };
	const struct strata_trace_sink sink = { drop, NULL };
	struct strata_trace_merged merged;
	struct strata_error err = { 0 };
	int rc = rest.count && *rest.at == '{'
			 ? strata_trace_merge(&input, 1, &request->memory, &sink, &merged, &err)
			 : strata_fail(&err, -EBADMSG,
				       "the timeline is no trace file: expected an object with "
				       "traceEvents");

	if (rc)
		request_fail(request, rc, &err);
	else
		write_body(request, &task_traces_place, discard_trace);
}

static void put_trace(struct decider *decider, struct request *request)
{
	const struct task *task = own_task(decider, request, true);
	struct strata_error err = { 0 };

	if (!task)
		return;
	int rc = task_traces_accept(&decider->task_traces, decider->conf->state_dir,
				    request->parsed, task->row.id, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->release = NULL;
	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

/* ---- routes ---- */

const struct route api_worker_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/worker/pick",
	  .summary = "a worker asks for tasks",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_pick,
	  .decide = post_pick,
	  .body = &pick_schema,
	  .answer = "steps tasks drop stop" },
	{ .method = "POST",
	  .path = "/api/v1/worker/beat",
	  .summary = "a worker that computes says that it lives",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_beat,
	  .decide = post_beat,
	  .body = &beat_schema,
	  .answer = "" },
	{ .method = "POST",
	  .path = "/api/v1/worker/trouble",
	  .summary = "a worker says why it ends",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_trouble,
	  .decide = post_trouble,
	  .body = &trouble_schema,
	  .answer = "" },
	{ .method = "POST",
	  .path = "/api/v1/worker/done",
	  .summary = "a worker says what came of them",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_done,
	  .decide = post_done,
	  .body = &done_schema,
	  .answer = "" },
	{ .method = "PUT",
	  .path = "/api/v1/worker/image",
	  .summary = "a worker sends a picture",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_RESULT_BYTES_MAX,
	  .parse = parse_image,
	  .decide = put_image,
	  .finish = keep_image,
	  .answer = "hash bytes",
	  .also = 201 },
	{ .method = "GET",
	  .path = "/api/v1/worker/tasks/*/init",
	  .summary = "the picture that a worker's task starts from",
	  .role = ROLE_USER,
	  .decide = get_init,
	  .finish = send_init },
	{ .method = "PUT",
	  .path = "/api/v1/worker/tasks/*/preview",
	  .summary = "a worker sends a preview",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_PREVIEW_BYTES_MAX,
	  .parse = parse_image,
	  .decide = put_preview,
	  .also = 204 },
	{ .method = "PUT",
	  .path = "/api/v1/worker/tasks/*/latents",
	  .summary = "a worker saves where a task stands",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_LATENTS_BYTES_MAX,
	  .parse = parse_latents,
	  .decide = put_latents,
	  .query = &latents_query,
	  .also = 204 },
	{ .method = "GET",
	  .path = "/api/v1/worker/tasks/*/latents",
	  .summary = "where a task stands, as a worker saved it",
	  .role = ROLE_USER,
	  .decide = get_latents },
	{ .method = "PUT",
	  .path = "/api/v1/worker/tasks/*/trace",
	  .summary = "a worker sends the timeline of a task that asked for one",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_TASK_TRACE_BYTES_MAX,
	  .parse = parse_trace,
	  .decide = put_trace,
	  .also = 204 },
	{ 0 },
};
