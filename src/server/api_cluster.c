/* Nodes and accounting. */
#include "server/decider.h"
#include "server/front.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

static json_t *words(const char *text)
{
	json_t *list = json_array();

	while (text && *text) {
		size_t span = strcspn(text, ",");

		if (span)
			json_array_append_new(list, json_stringn(text, span));
		text += span + (text[span] != '\0');
	}
	return list;
}

static json_t *view_node(struct decider *decider, uint32_t row)
{
	const struct node_about *node = &decider->nodes[row];
	struct strata_room room;
	json_t *gpus = json_array(), *jobs = json_array();
	double gpus_free = 0;

	strata_cluster_room(decider->cluster, row, &room);
	for (uint32_t i = 0; i < node->conf.gpu_count; i++) {
		json_array_append_new(gpus, json_real(room.gpu_milli[i] / 1000.0));
		gpus_free += room.gpu_milli[i] / 1000.0;
	}
	for (const struct live *live = live_first(decider); live; live = live_next(live)) {
		struct strata_job_view view;

		if (!live->job.place ||
		    strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL))
			continue;
		for (uint32_t i = 0; i < view.piece_count; i++)
			if (view.pieces[i].node == row)
				json_array_append_new(jobs, json_integer((json_int_t)live->job.id));
	}
	return json_pack(
		"{s:s,s:s,s:s?,s:o,s:f,s:f,s:I,s:I,s:i,s:f,s:s?,s:o,s:o,s:o,s:o}", "name",
		node->name, "state", nodes_state_name(node->state), "reason", node->reason, "since",
		view_time(node->since_ns), "cpus", (double)node->conf.cpu_milli / 1000, "cpus_free",
		(double)room.cpu_milli / 1000, "memory_bytes", (json_int_t)node->conf.memory_bytes,
		"memory_free_bytes", (json_int_t)room.memory_bytes, "gpus",
		(int)node->conf.gpu_count, "gpus_free", gpus_free, "gpu_type", node->conf.gpu_type,
		"gpu_free", gpus, "features", words(node->conf.features), "partitions",
		words(node->conf.partitions), "jobs", jobs);
}

static void get_nodes(struct decider *decider, struct request *request)
{
	json_t *list = json_array();

	for (uint32_t row = 0; row < decider->node_count; row++)
		json_array_append_new(list, view_node(decider, row));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "nodes", list));
}

struct node_change {
	int state;
	const char *reason;
};
static const struct strata_choice node_states[] = { { "up", STRATA_NODE_UP, NULL },
						    { "drained", STRATA_NODE_DRAINED, NULL },
						    { "down", STRATA_NODE_DOWN, NULL },
						    { 0 } };
static const struct strata_option node_change_options[] = {
	{ "state", STRATA_ENUM, offsetof(struct node_change, state),
	  .choice = { node_states, STRATA_NODE_UP }, .flags = STRATA_REQUIRED,
	  .help = "what it is to be" },
	{ "reason", STRATA_TEXT, offsetof(struct node_change, reason), .text = { NULL, 256 },
	  .help = "why" },
	{ 0 }
};
static const struct strata_schema node_schema = { "node change", NULL, sizeof(struct node_change),
						  node_change_options };

static void parse_node(struct request *request)
{
	struct node_change *change = strata_arena_get(&request->arena, sizeof(*change));
	struct strata_error err = { 0 };
	int rc = change ? strata_schema_read_json(&node_schema, request->body ? request->body : "",
						  request->body_length, &request->arena, change,
						  &err)
			: strata_fail_memory(&err);

	request->parsed = change;
	if (rc)
		request_fail(request, rc, &err);
}

static void patch_node(struct decider *decider, struct request *request)
{
	const struct node_change *change = request->parsed;
	struct node_about *node = nodes_find(decider, request->segments[0]);
	struct strata_error err = { 0 };

	if (!node) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no node %.40s",
			       request->segments[0]);
		return;
	}
	uint32_t row = (uint32_t)(node - decider->nodes);
	int rc = strata_cluster_set_node(decider->cluster, row,
					 (enum strata_node_state)change->state,
					 decider_now_ns(decider), &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	nodes_set(decider, row, (enum strata_node_state)change->state, change->reason,
		  decider_now_ns(decider));
	struct store_node stored = { .name = node->name,
				     .state = node_states[change->state].name,
				     .reason = node->reason,
				     .since_ns = node->since_ns };

	batch_put(decider, STORE_PUT(&stored));
	batch_event(decider, 0, "node.changed",
		    json_pack("{s:s,s:s,s:s}", "node", node->name, "state", stored.state, "by",
			      request->who.user));
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, view_node(decider, row));
}

/* ---- accounting ---- */

enum by { BY_USER, BY_ACCOUNT };

struct accounting {
	const char *since;
	int by; /* enum by */
};

static const struct strata_choice groups[] = { { "user", BY_USER, NULL },
					       { "account", BY_ACCOUNT, NULL },
					       { 0 } };
static const struct strata_option accounting_options[] = {
	{ "since", STRATA_TEXT, offsetof(struct accounting, since), .text = { NULL, 100 },
	  .help = "submitted since then: a time, or now-2days" },
	{ "by", STRATA_ENUM, offsetof(struct accounting, by), .choice = { groups, BY_USER },
	  .help = "a row for each user, or for each account" },
	{ 0 }
};
static const struct strata_schema accounting_query = { "the query", NULL, sizeof(struct accounting),
						       accounting_options };

enum { PAGE = 1000 };

struct sum {
	json_t *rows; /* by user or account */
	enum by by;
	struct map_u64 workers; /* jobs of workers: their tasks are charged instead */
	json_t *models;         /* "name": {"gpus", "cpus"} of a worker */
	int64_t since_ns, now_ns, last;
	size_t count;
};

/* A row of what was used: made when it is the first of its user or account; NULL: no memory. */
static json_t *row_of(struct sum *sum, const char *user, const char *account)
{
	const char *name = sum->by == BY_USER ? user : account ? account : "";
	json_t *row = json_object_get(sum->rows, name);

	if (row)
		return row;
	row = json_pack("{s:s?,s:s?,s:i,s:i,s:f,s:f,s:f}", "user", sum->by == BY_USER ? user : NULL,
			"account", account, "jobs", 0, "tasks", 0, "task_seconds", 0.0, "gpu_hours",
			0.0, "cpu_hours", 0.0);
	return row && json_object_set_new(sum->rows, name, row) == 0 ? row : NULL;
}

static void count_one(json_t *row, const char *field)
{
	json_t *count = json_object_get(row, field);

	json_integer_set(count, json_integer_value(count) + 1);
}

static void add_real(json_t *row, const char *field, double more)
{
	json_t *sum = json_object_get(row, field);

	json_real_set(sum, json_real_value(sum) + more);
}

static int add_job(void *context, const void *row_any, struct strata_error *err)
{
	struct sum *sum = context;
	const struct store_job *job = row_any;
	int64_t end_ns = job->completed_ns ? job->completed_ns : sum->now_ns;
	double hours = job->started_ns && end_ns > job->started_ns
			       ? (double)(end_ns - job->started_ns) / 3.6e12
			       : 0;

	sum->last = job->id;
	sum->count++;
	if (map_u64_get(&sum->workers, (uint64_t)job->id))
		return 0;
	json_t *row = row_of(sum, job->user, job->account);

	if (!row)
		return strata_fail_memory(err);
	count_one(row, "jobs");
	add_real(row, "gpu_hours", hours * (double)job->gpu_count);
	add_real(row, "cpu_hours", hours * (double)job->cpu_cores);
	return 0;
}

/* What a task used is what its worker measured, of what its worker has. A model that is not there
 * any more has told nobody how much that was. */
static int add_task(void *context, const void *row_any, struct strata_error *err)
{
	struct sum *sum = context;
	const struct store_task *task = row_any;

	sum->last = task->id;
	sum->count++;
	if (task->created_ns < sum->since_ns)
		return 0;
	const json_t *model = json_object_get(sum->models, task->model);
	json_t *row = row_of(sum, task->user, task->account);
	double seconds = (double)task->cost_ns / 1e9;

	if (!row)
		return strata_fail_memory(err);
	count_one(row, "tasks");
	add_real(row, "task_seconds", seconds);
	add_real(row, "gpu_hours", seconds / 3600 * json_number_value(json_object_get(model, "gpus")));
	add_real(row, "cpu_hours", seconds / 3600 * json_number_value(json_object_get(model, "cpus")));
	return 0;
}

static int note_model(void *context, const void *row_any, struct strata_error *err)
{
	struct sum *sum = context;
	const struct store_model *row = row_any;
	json_t *settings = json_loads(row->settings, 0, NULL);
	const json_t *gpus = json_object_get(settings, "gpus"), *cpus = json_object_get(settings, "cpus");
	json_t *model = json_pack("{s:f,s:f}", "gpus", json_number_value(gpus), "cpus",
				  /* as model_schema has it */
				  cpus ? json_number_value(cpus) : 1.0);

	json_decref(settings);
	return model && json_object_set_new(sum->models, row->name, model) == 0
		       ? 0
		       : strata_fail_memory(err);
}

static int note_worker(void *context, const void *row_any, struct strata_error *err)
{
	struct sum *sum = context;
	const struct store_worker *row = row_any;

	return map_u64_put(&sum->workers, (uint64_t)row->job, sum, NULL) ? strata_fail_memory(err) : 0;
}

static int add_all(struct store *store, struct sum *sum, struct strata_error *err)
{
	struct store_query jobs = { .limit = PAGE, .since_ns = sum->since_ns };
	struct store_task_query tasks = { .limit = PAGE };
	int rc = store_load(store, STORE_WORKER, NULL, note_worker, sum, err);

	if (rc == 0)
		rc = store_load(store, STORE_MODEL, NULL, note_model, sum, err);
	for (sum->last = 0, sum->count = PAGE; rc == 0 && sum->count == PAGE;) {
		sum->count = 0;
		jobs.after = sum->last;
		rc = store_jobs_page(store, &jobs, add_job, sum, err);
	}
	for (sum->last = 0, sum->count = PAGE; rc == 0 && sum->count == PAGE;) {
		sum->count = 0;
		tasks.after = sum->last;
		rc = store_tasks_page(store, &tasks, add_task, sum, err);
	}
	return rc;
}

static void get_accounting(struct request *request)
{
	const struct accounting *asked = request->query;
	struct sum sum = { .rows = json_object(),
			   .models = json_object(),
			   .by = (enum by)asked->by,
			   .now_ns = common_now_ns(request->front->common) };
	struct strata_error err = { 0 };
	struct store *store;
	json_t *list = json_array(), *row;
	const char *key;
	int rc = 0;

	map_u64_init(&sum.workers, &request->memory);
	if (asked->since)
		rc = strata_time_parse(asked->since, STRATA_TEXT_NUL, sum.now_ns, 0, &sum.since_ns,
				       &err);
	if (rc)
		strata_fail_under(&err, rc, "since");
	if (rc == 0)
		rc = store_readers_take(request->front->readers, INT64_C(5000000000), &store, &err);
	if (rc == 0) {
		rc = add_all(store, &sum, &err);
		store_readers_give(request->front->readers, store);
	}
	json_object_foreach(sum.rows, key, row) json_array_append(list, row);
	json_decref(sum.rows);
	json_decref(sum.models);
	map_u64_fini(&sum.workers);
	if (rc) {
		json_decref(list);
		request_fail(request, rc, &err);
		return;
	}
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "rows", list));
}

/* ---- routes ---- */

const struct route api_cluster_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/nodes",
	  .summary = "nodes",
	  .role = ROLE_READER,
	  .decide = get_nodes,
	  .answer = "nodes" },
	{ .method = "PATCH",
	  .path = "/api/v1/nodes/*",
	  .summary = "drain, resume",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_node,
	  .decide = patch_node,
	  .body = &node_schema,
	  .answer = "name state" },
	{ .method = "GET",
	  .path = "/api/v1/accounting",
	  .summary = "who used what",
	  .role = ROLE_READER,
	  .parse = get_accounting,
	  .query = &accounting_query,
	  .answer = "rows" },
	{ 0 },
};
