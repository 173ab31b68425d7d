/*
 * /api/v1/jobs/…/steps: parts of a job that are run within it, side by side or one after the other,
 * as srun does. The service runs none of them: it gives each a number and remembers when it was and
 * how it ended. A step whose job has ended has ended with it, said or not.
 */
#include "server/api_jobs.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/live.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/limits.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

struct step_conf {
	const char *name;
	struct strata_list command, nodes; /* of const char * */
	int64_t tasks;
	int64_t number; /* of the path */
	int64_t exit_code, exit_signal;
	bool cancelled;
	int64_t cpu_user_ms, cpu_system_ms, memory_peak_bytes;
};

static const struct strata_option word = { .type = STRATA_TEXT, .flags = STRATA_OPAQUE };
static const struct strata_option begin_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct step_conf, name),
	  .text = { NULL, STRATA_NAME_BYTES_MAX }, .help = "what to call it" },
	{ "command", STRATA_LIST, offsetof(struct step_conf, command), .list = { &word, 4096 },
	  .help = "program and arguments" },
	{ "nodes", STRATA_LIST, offsetof(struct step_conf, nodes), .list = { &word, 65536 },
	  .help = "where its tasks run" },
	{ "tasks", STRATA_INT, offsetof(struct step_conf, tasks), .integer = { 1, 1, 1000000 },
	  .help = "how many they are" },
	{ 0 }
};
static const struct strata_schema step_schema = { "step", NULL, sizeof(struct step_conf),
						  begin_options };

static const struct strata_option end_options[] = {
	{ "exit_code", STRATA_INT, offsetof(struct step_conf, exit_code), .integer = { 0, 0, 255 },
	  .help = "the highest of its tasks" },
	{ "exit_signal", STRATA_INT, offsetof(struct step_conf, exit_signal),
	  .integer = { 0, 0, 127 }, .help = "that ended it" },
	{ "cancelled", STRATA_BOOL, offsetof(struct step_conf, cancelled),
	  .help = "it was stopped" },
	{ "cpu_user_ms", STRATA_INT, offsetof(struct step_conf, cpu_user_ms),
	  .integer = { 0, 0, INT64_MAX / STRATA_MS_NS }, .help = "CPU time of its tasks" },
	{ "cpu_system_ms", STRATA_INT, offsetof(struct step_conf, cpu_system_ms),
	  .integer = { 0, 0, INT64_MAX / STRATA_MS_NS }, .help = "and the kernel's for them" },
	{ "memory_peak_bytes", STRATA_INT, offsetof(struct step_conf, memory_peak_bytes),
	  .integer = { 0, 0, INT64_MAX }, .help = "of the largest task; 0: not known" },
	{ 0 }
};
static const struct strata_schema step_end_schema = { "end of a step", NULL,
						      sizeof(struct step_conf), end_options };

/* ---- reading ---- */

static void parse(struct request *request, const struct strata_schema *schema)
{
	struct step_conf *conf = strata_arena_get(&request->arena, sizeof(*conf));
	struct strata_error err = { 0 };
	int rc = conf ? strata_schema_defaults(schema, &request->arena, conf, &err)
		      : strata_fail_memory(&err);

	if (rc == 0)
		rc = strata_schema_read_json(schema, request->body_length ? request->body : "{}",
					     request->body_length ? request->body_length : 2,
					     &request->arena, conf, &err);
	if (rc == 0 && schema == &step_end_schema &&
	    strata_int_parse(request->segments[1], STRATA_TEXT_NUL, 0, INT64_MAX, &conf->number,
			     NULL))
		rc = strata_fail_at(&err, -ENOENT, "", "there is no step %.40s",
				    request->segments[1]);
	request->parsed = conf;
	if (rc)
		request_fail(request, rc, &err);
}

static void parse_step(struct request *request)
{
	parse(request, &step_schema);
}

static void parse_step_end(struct request *request)
{
	parse(request, &step_end_schema);
}

static json_t *texts_json(const struct strata_list *list)
{
	const char *const *texts = list->items;
	json_t *json = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(json, json_string(texts[i]));
	return json;
}

/* ---- beginning ---- */

static int count_step(void *context, const void *row, struct strata_error *err)
{
	const struct store_step *step = row;
	int64_t *count = context;

	(void)err;
	*count = step->number + 1;
	return 0;
}

/* The next number; after a restart the store knows it. */
static int next_number(struct decider *decider, struct live *live, int64_t *ret_number,
		       struct strata_error *err)
{
	struct store_filter filter = { .job = live->job.id };

	if (!live->steps_known) {
		int rc = store_load(decider->store, STORE_STEP, &filter, count_step,
				    &live->step_count, err);

		if (rc)
			return rc;
		live->steps_known = true;
	}
	if (live->step_count >= STRATA_JOB_STEPS_MAX)
		return strata_fail(err, -E2BIG, "job %lld has had %d steps, and may have no more",
				   (long long)live->job.id, STRATA_JOB_STEPS_MAX);
	*ret_number = live->step_count++;
	return 0;
}

static void post_step(struct decider *decider, struct request *request)
{
	const struct step_conf *conf = request->parsed;
	struct strata_error err = { 0 };
	struct live *live = api_job_find_live(decider, request, true);
	struct store_step step = { .name = conf->name, .state = "running" };

	if (!live)
		return;
	step.job = live->job.id;
	step.started_ns = decider_now_ns(decider);
	int rc = live->ordered ? next_number(decider, live, &step.number, &err)
			       : strata_fail(&err, -ESTALE, "job %lld does not run",
					     (long long)live->job.id);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	json_t *command = texts_json(&conf->command);
	json_t *place = json_pack("{s:I,s:o}", "tasks", (json_int_t)conf->tasks, "nodes",
				  texts_json(&conf->nodes));
	char *command_text = json_dumps(command, JSON_COMPACT);
	char *place_text = json_dumps(place, JSON_COMPACT);

	step.command = command_text;
	step.place = place_text;
	batch_put(decider, STORE_PUT(&step));
	free(command_text);
	free(place_text);
	json_decref(command);
	json_decref(place);
	request->durable = true;
	request_answer(request, MHD_HTTP_CREATED,
		       json_pack("{s:I,s:I}", "id", (json_int_t)step.job, "number",
				 (json_int_t)step.number));
}

/* ---- the end ---- */

struct search {
	struct decider *decider;
	const struct step_conf *conf;
	bool found;
};

static int end_found(void *context, const void *row, struct strata_error *err)
{
	struct search *search = context;
	struct store_step step = *(const struct store_step *)row;

	(void)err;
	if (step.number != search->conf->number)
		return 0;
	search->found = true;
	if (step.completed_ns)
		return 0; /* the first word counts */
	step.state = search->conf->cancelled                                ? "cancelled"
		     : search->conf->exit_code || search->conf->exit_signal ? "failed"
									    : "completed";
	step.exit_code = search->conf->exit_code;
	step.exit_signal = search->conf->exit_signal;
	step.user_ns = search->conf->cpu_user_ms * STRATA_MS_NS;
	step.system_ns = search->conf->cpu_system_ms * STRATA_MS_NS;
	step.memory_peak_bytes = search->conf->memory_peak_bytes;
	step.completed_ns = decider_now_ns(search->decider);
	batch_put(search->decider, STORE_PUT(&step));
	return 0;
}

static void patch_step(struct decider *decider, struct request *request)
{
	struct search search = { .decider = decider, .conf = request->parsed };
	struct strata_error err = { 0 };
	struct live *live = api_job_find_live(decider, request, true);

	if (!live)
		return;
	struct store_filter filter = { .job = live->job.id };
	int rc = store_load(decider->store, STORE_STEP, &filter, end_found, &search, &err);

	if (rc == 0 && !search.found)
		rc = strata_fail(&err, -ENOENT, "job %lld has no step %lld",
				 (long long)live->job.id, (long long)search.conf->number);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:I,s:I}", "id", (json_int_t)live->job.id, "number",
				 (json_int_t)search.conf->number));
}

/* ---- the list ---- */

struct listing {
	const struct job *job;
	json_t *steps;
};

static int add_step(void *context, const void *row, struct strata_error *err)
{
	struct listing *listing = context;
	struct store_step step = *(const struct store_step *)row;

	if (!step.completed_ns && listing->job->completed_ns) {
		step.state = "cancelled";
		step.completed_ns = listing->job->completed_ns;
		step.exit_signal = listing->job->exit_signal;
	}
	json_t *command = step.command ? json_loads(step.command, 0, NULL) : NULL;
	json_t *place = step.place ? json_loads(step.place, 0, NULL) : NULL;
	json_t *json = json_pack(
		"{s:I,s:s?,s:s,s:O?,s:O?,s:O?,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "number",
		(json_int_t)step.number, "name", step.name, "state", step.state, "command", command,
		"tasks", json_object_get(place, "tasks"), "nodes", json_object_get(place, "nodes"),
		"started_at", view_time(step.started_ns), "ended_at", view_time(step.completed_ns),
		"exit_code", step.completed_ns ? json_integer(step.exit_code) : json_null(),
		"exit_signal", step.completed_ns ? json_integer(step.exit_signal) : json_null(),
		"cpu_user_ms",
		step.completed_ns ? json_integer(step.user_ns / STRATA_MS_NS) : json_null(),
		"cpu_system_ms",
		step.completed_ns ? json_integer(step.system_ns / STRATA_MS_NS) : json_null(),
		"memory_peak_bytes",
		step.memory_peak_bytes ? json_integer(step.memory_peak_bytes) : json_null());

	json_decref(command);
	json_decref(place);
	return json_array_append_new(listing->steps, json) ? strata_fail_memory(err) : 0;
}

static void get_steps(struct request *request)
{
	struct strata_error err = { 0 };
	struct job job;
	struct store *store;

	if (!api_job_read(request, &job))
		return;
	struct listing listing = { &job, json_array() };
	struct store_filter filter = { .job = job.id };
	int rc = store_readers_take(request->front->readers, INT64_C(5000000000), &store, &err);

	if (rc == 0) {
		rc = store_load(store, STORE_STEP, &filter, add_step, &listing, &err);
		store_readers_give(request->front->readers, store);
	}
	if (rc) {
		json_decref(listing.steps);
		request_fail(request, rc, &err);
		return;
	}
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "steps", listing.steps));
}

/* ---- routes ---- */

const struct route api_steps_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs/*/steps",
	  .summary = "its steps",
	  .role = ROLE_READER,
	  .parse = get_steps,
	  .answer = "steps" },
	{ .method = "POST",
	  .path = "/api/v1/jobs/*/steps",
	  .summary = "begin a step",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_step,
	  .decide = post_step,
	  .body = &step_schema,
	  .answer = "",
	  .also = 201 },
	{ .method = "PATCH",
	  .path = "/api/v1/jobs/*/steps/*",
	  .summary = "end a step",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_step_end,
	  .decide = patch_step,
	  .body = &step_end_schema,
	  .answer = "" },
	{ 0 },
};
