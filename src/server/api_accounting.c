/*
 * GET /api/v1/accounting: who used how much, from the history of jobs and tasks. By day, what ran
 * over midnight is shared out between the days.
 */
#include "core/map.h"
#include "server/front.h"
#include "server/route.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>

enum { DAY_S = 86400 };

enum by { BY_USER, BY_ACCOUNT, BY_PARTITION, BY_DAY };

struct accounting {
	const char *since, *until;
	int by; /* enum by */
	int64_t zone;
};

static const struct strata_choice groups[] = { { "user", BY_USER, NULL },
					       { "account", BY_ACCOUNT, NULL },
					       { "partition", BY_PARTITION, NULL },
					       { "day", BY_DAY, NULL },
					       { 0 } };
static const struct strata_option accounting_options[] = {
	{ "since", STRATA_TEXT, offsetof(struct accounting, since), .text = { NULL, 100 },
	  .help = "submitted since then: a time, or now-2days" },
	{ "until", STRATA_TEXT, offsetof(struct accounting, until), .text = { NULL, 100 },
	  .help = "submitted before then" },
	{ "by", STRATA_ENUM, offsetof(struct accounting, by), .choice = { groups, BY_USER },
	  .help = "a row for each of these; a job counts on the day it started, and what it used on "
		  "every day it ran" },
	{ "zone", STRATA_INT, offsetof(struct accounting, zone),
	  .integer = { 0, -DAY_S, DAY_S }, .help = "where days begin: seconds east of UTC" },
	{ 0 }
};
static const struct strata_schema accounting_query = { "the query", NULL, sizeof(struct accounting),
						       accounting_options };

enum { PAGE = 1000 };

struct sum {
	json_t *rows; /* by what they are for */
	enum by by;
	struct map_u64 workers; /* jobs of workers: their tasks are charged instead */
	json_t *models;         /* "name": {"gpus", "cpus"} of a worker */
	int64_t since_ns, until_ns, zone_ns, now_ns, last;
	size_t count;
};

/* What a job or a task used: so much of each, from then to then. */
struct use {
	const char *kind; /* "jobs" */
	bool is_task;
	int64_t begin_ns, end_ns;
	double gpus, cpus;
};

/* Whose it is: what a row is for. */
struct owner {
	const char *user, *account, *partition;
};

/* The row of a name: made when it is the first; NULL: no memory. */
static json_t *row_of(struct sum *sum, const char *name, const struct owner *owner)
{
	json_t *row = json_object_get(sum->rows, name);

	if (row)
		return row;
	row = json_pack("{s:s?,s:s?,s:i,s:i,s:f,s:f,s:f}", "user",
			sum->by == BY_USER ? owner->user : NULL, "account",
			sum->by <= BY_ACCOUNT ? owner->account : NULL, "jobs", 0, "tasks", 0,
			"task_seconds", 0.0, "gpu_hours", 0.0, "cpu_hours", 0.0);
	if (sum->by >= BY_PARTITION)
		json_object_set_new(row, groups[sum->by].name,
				    *name ? json_string(name) : json_null());
	return row && json_object_set_new(sum->rows, name, row) == 0 ? row : NULL;
}

static const char *name_of(const struct sum *sum, const struct owner *owner)
{
	const char *name = sum->by == BY_USER	   ? owner->user
			   : sum->by == BY_ACCOUNT ? owner->account
						   : owner->partition;

	return name ? name : "";
}

/* The day of a time, and when the next one begins. */
static int64_t day_of(const struct sum *sum, int64_t ns, char ret_text[STRATA_FORM_BYTES])
{
	int64_t day_ns = DAY_S * STRATA_SECOND_NS, local_ns = ns + sum->zone_ns;
	int64_t begin_ns = local_ns - local_ns % day_ns;

	strata_time_print(begin_ns, ret_text); /* 2026-11-18T00:00:00Z */
	ret_text[10] = '\0';
	return begin_ns + day_ns - sum->zone_ns;
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

/* What something used, on each of the days that it took. */
static int add_days(struct sum *sum, const struct owner *owner, const struct use *use)
{
	int64_t at_ns = use->begin_ns;
	bool first = true;

	do {
		char day[STRATA_FORM_BYTES];
		int64_t next_ns = day_of(sum, at_ns, day);
		int64_t until_ns = next_ns < use->end_ns ? next_ns : use->end_ns;
		double hours = until_ns > at_ns ? (double)(until_ns - at_ns) / 3.6e12 : 0;
		json_t *row = row_of(sum, day, owner);

		if (!row)
			return -ENOMEM;
		if (first)
			count_one(row, use->kind);
		if (use->is_task)
			add_real(row, "task_seconds", hours * 3600);
		add_real(row, "gpu_hours", hours * use->gpus);
		add_real(row, "cpu_hours", hours * use->cpus);
		first = false;
		at_ns = until_ns;
	} while (at_ns < use->end_ns);
	return 0;
}

static int add_use(struct sum *sum, const struct owner *owner, const struct use *use,
		   struct strata_error *err)
{
	double hours = use->end_ns > use->begin_ns ? (double)(use->end_ns - use->begin_ns) / 3.6e12
						   : 0;

	if (sum->by == BY_DAY)
		return use->begin_ns && add_days(sum, owner, use) ? strata_fail_memory(err) : 0;
	json_t *row = row_of(sum, name_of(sum, owner), owner);

	if (!row)
		return strata_fail_memory(err);
	count_one(row, use->kind);
	if (use->is_task)
		add_real(row, "task_seconds", hours * 3600);
	add_real(row, "gpu_hours", hours * use->gpus);
	add_real(row, "cpu_hours", hours * use->cpus);
	return 0;
}

static int add_job(void *context, const void *row_any, struct strata_error *err)
{
	struct sum *sum = context;
	const struct store_job *job = row_any;
	const struct owner owner = { job->user, job->account, job->partition };
	const struct use use = { .kind = "jobs",
				 .begin_ns = job->started_ns,
				 .end_ns = !job->started_ns    ? 0
					   : job->completed_ns ? job->completed_ns
							       : sum->now_ns,
				 .gpus = (double)job->gpu_count,
				 .cpus = (double)job->cpu_cores };

	sum->last = job->id;
	sum->count++;
	return map_u64_get(&sum->workers, (uint64_t)job->id) ? 0 : add_use(sum, &owner, &use, err);
}

/* What a task used is what its worker measured, of what its worker has. A model that is not there
 * any more has told nobody how much that was. */
static int add_task(void *context, const void *row_any, struct strata_error *err)
{
	struct sum *sum = context;
	const struct store_task *task = row_any;
	const json_t *model = json_object_get(sum->models, task->model);
	const struct owner owner = { task->user, task->account, NULL };
	const struct use use = { .kind = "tasks",
				 .is_task = true,
				 .begin_ns = task->started_ns ? task->started_ns : task->created_ns,
				 .end_ns = (task->started_ns ? task->started_ns : task->created_ns) +
					   task->cost_ns,
				 .gpus = json_number_value(json_object_get(model, "gpus")),
				 .cpus = json_number_value(json_object_get(model, "cpus")) };

	sum->last = task->id;
	sum->count++;
	if (task->created_ns < sum->since_ns || (sum->until_ns && task->created_ns >= sum->until_ns))
		return 0;
	return add_use(sum, &owner, &use, err);
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
	struct store_query jobs = { .limit = PAGE,
				    .since_ns = sum->since_ns,
				    .until_ns = sum->until_ns };
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
			   .zone_ns = asked->zone * STRATA_SECOND_NS,
			   .now_ns = common_now_ns(request->front->common) };
	struct strata_error err = { 0 };
	struct store *store;
	json_t *list = json_array(), *row;
	const char *key;
	int rc = 0;

	map_u64_init(&sum.workers, &request->memory);
	rc = request_read_time(request, "since", asked->since, &sum.since_ns, &err);
	if (rc == 0)
		rc = request_read_time(request, "until", asked->until, &sum.until_ns, &err);
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

const struct route api_accounting_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/accounting",
	  .summary = "who used what",
	  .role = ROLE_READER,
	  .parse = get_accounting,
	  .query = &accounting_query,
	  .answer = "rows" },
	{ 0 },
};
