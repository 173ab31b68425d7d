/*
 * POST /api/v1/generate: a picture is asked for. An HTTP thread reads and checks what is asked; the
 * decider fills in what the model says and takes the task in. `wait` blocks until the task has
 * ended. Beside it what may be asked for: /samplers and /schedules.
 */
#include "server/decider.h"
#include "server/entities.h"
#include "server/front.h"
#include "server/parked.h"
#include "server/route.h"
#include "server/tasks.h"

#include "core/text.h"
#include "webhook/webhook_address.h"

#include <strata/limits.h>
#include <strata/solver.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WAIT_NS_MAX (600 * STRATA_SECOND_NS)
#define SEED_MAX ((INT64_C(1) << 53) - 1) /* that every reader of JSON keeps */
enum { RETRY_S = 5 };

struct generate {
	const char *prompt, *negative_prompt, *model, *scheduler, *schedule, *account, *deadline;
	const char *webhook;
	int64_t steps, seed, width, height, n, priority, num_frames;
	double guidance_scale, strength;
	/* beside the table: */
	int64_t deadline_ns, wait_ns;
	const char *key; /* NULL: none */
	char hash[STORE_HASH_BYTES];
	int64_t id; /* once it is taken in, and waited for */
};

#define OF(field) offsetof(struct generate, field)
static const struct strata_option options[] = {
	{ "prompt", STRATA_TEXT, OF(prompt), .text = { NULL, STRATA_PROMPT_BYTES_MAX },
	  .flags = STRATA_REQUIRED | STRATA_OPAQUE, .help = "what the picture shows" },
	{ "negative_prompt", STRATA_TEXT, OF(negative_prompt),
	  .text = { NULL, STRATA_PROMPT_BYTES_MAX }, .flags = STRATA_OPAQUE,
	  .help = "what it does not show" },
	{ "model", STRATA_TEXT, OF(model), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "what it is made with; the service's own when left out" },
	{ "scheduler", STRATA_TEXT, OF(scheduler), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .aliases = "solver, sampler",
	  .help = "by any name of `strata solver list`; the model's own when left out" },
	{ "schedule", STRATA_TEXT, OF(schedule), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of noise levels; the solver's own when left out" },
	{ "steps", STRATA_INT, OF(steps), .integer = { 0, 0, STRATA_GENERATE_STEPS_MAX },
	  .help = "0: as many as the model says" },
	{ "seed", STRATA_INT, OF(seed), .integer = { -1, -1, SEED_MAX }, .help = "-1: any" },
	{ "width", STRATA_INT, OF(width), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "0: the model's" },
	{ "height", STRATA_INT, OF(height), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX },
	  .help = "0: the model's" },
	{ "guidance_scale", STRATA_REAL, OF(guidance_scale), .real = { -1, -1, 100 },
	  .help = "how closely it keeps to the prompt; -1: the model's" },
	{ "strength", STRATA_REAL, OF(strength), .real = { 1, 0, 1 },
	  .help = "how much of a first picture is made anew" },
	{ "n", STRATA_INT, OF(n), .integer = { 1, 1, STRATA_PIPELINE_IMAGES_MAX },
	  .help = "so many pictures" },
	{ "priority", STRATA_INT, OF(priority), .integer = { STRATA_PRIORITY_DEFAULT, 0, 10 },
	  .help = "higher goes first" },
	{ "deadline", STRATA_TEXT, OF(deadline), .text = { NULL, 100 },
	  .help = "to be finished by then: a time, or now+10minutes" },
	{ "account", STRATA_TEXT, OF(account), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "that is charged" },
	{ "webhook", STRATA_TEXT, OF(webhook), .text = { NULL, STRATA_WEBHOOK_URL_BYTES_MAX },
	  .help = "a URL that hears how it ended" },
	{ "num_frames", STRATA_INT, OF(num_frames), .integer = { 1, 1, 1000000 },
	  .help = "of a video: 1, as there is no pipeline for videos" },
	{ 0 }
};
#undef OF
static const struct strata_schema generate_schema = { "generate", "a picture",
						      sizeof(struct generate), options };

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

/* A name that is not known is a wrong value here, not a page that is not there. */
static int refuse_name(struct strata_error *err, const char *field)
{
	struct strata_error why = *err;

	return strata_fail_at(err, -EINVAL, field, "%s", why.text);
}

/* Are there a solver and a schedule of these names? The sentence names the nearest ones. */
static int check_solver(struct request *request, const struct generate *asked,
			struct strata_error *err)
{
	struct strata_registry *solvers = NULL, *schedules = NULL;
	struct strata_solver_name name;
	int rc = strata_registry_new(&strata_solver_kind, &request->memory, &solvers, err);

	if (rc == 0)
		rc = strata_registry_new(&strata_schedule_kind, &request->memory, &schedules, err);
	if (rc == 0 && asked->scheduler) {
		rc = strata_solver_find(solvers, schedules, asked->scheduler,
					strlen(asked->scheduler), &name, err);
		if (rc == -ENOENT)
			rc = refuse_name(err, "scheduler");
	}
	if (rc == 0 && asked->schedule) {
		const struct strata_class *cls = NULL;

		rc = strata_registry_find(schedules, asked->schedule, strlen(asked->schedule), &cls,
					  err);
		if (rc == -ENOENT)
			rc = refuse_name(err, "schedule");
	}
	strata_registry_free(schedules);
	strata_registry_free(solvers);
	return rc;
}

static int read_key(struct request *request, struct generate *asked, struct strata_error *err)
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
	asked->key = key;
	store_blob_hash(request->body ? request->body : "", request->body_length, asked->hash);
	return 0;
}

static int check(struct request *request, struct generate *asked, struct strata_error *err)
{
	int rc = check_solver(request, asked, err);

	if (rc == 0 && asked->webhook && webhook_url_check(asked->webhook, err))
		return strata_fail_under(err, -EINVAL, "webhook");
	if (rc == 0 && asked->num_frames > 1)
		return strata_fail_at(err, -EINVAL, "num_frames",
				      "num_frames is %lld; expected 1: there is no pipeline for "
				      "videos yet",
				      (long long)asked->num_frames);
	if (rc == 0 && asked->deadline)
		rc = strata_time_parse(asked->deadline, STRATA_TEXT_NUL,
				       common_now_ns(request->front->common), 0,
				       &asked->deadline_ns, err)
			     ? strata_fail_under(err, -EINVAL, "deadline")
			     : 0;
	uint32_t seed;

	if (rc == 0 && asked->seed < 0) {
		if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			return strata_fail(err, -EIO, "no random numbers");
		asked->seed = seed;
	}
	return rc ? rc : read_key(request, asked, err);
}

static void parse_generate(struct request *request)
{
	const struct asked *query = request->query;
	struct strata_error err = { 0 };

	if (!request_read(request, &generate_schema))
		return;
	struct generate *asked = request->parsed;

	asked->wait_ns = query->wait_ns;
	int rc = check(request, asked, &err);

	if (rc)
		request_fail(request, rc, &err);
}

/* ---- deciding ---- */

/* The request with its defaults filled in: what a worker gets, the same for ever. */
static char *parameters(const struct generate *asked, const struct model_conf *model)
{
	const char *solver = asked->scheduler ? asked->scheduler : model->solver;
	const char *schedule = asked->schedule ? asked->schedule : model->schedule;
	int64_t width = asked->width ? asked->width : model->width;
	int64_t height = asked->height ? asked->height : model->height;
	double guidance = asked->guidance_scale >= 0 ? asked->guidance_scale
						     : model->guidance_scale;
	json_t *json = json_pack("{s:s,s:I,s:I,s:I}", "prompt", asked->prompt, "steps",
				 (json_int_t)(asked->steps ? asked->steps : model->steps), "seed",
				 (json_int_t)asked->seed, "n", (json_int_t)asked->n);

	if (asked->negative_prompt)
		json_object_set_new(json, "negative_prompt", json_string(asked->negative_prompt));
	if (solver)
		json_object_set_new(json, "scheduler", json_string(solver));
	if (schedule)
		json_object_set_new(json, "schedule", json_string(schedule));
	if (width)
		json_object_set_new(json, "width", json_integer(width));
	if (height)
		json_object_set_new(json, "height", json_integer(height));
	if (guidance >= 0)
		json_object_set_new(json, "guidance_scale", json_real(guidance));
	if (asked->strength < 1)
		json_object_set_new(json, "strength", json_real(asked->strength));
	if (asked->webhook)
		json_object_set_new(json, "webhook", json_string(asked->webhook));
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

static int find_model(struct decider *decider, const struct generate *asked,
		      struct model **ret_model, struct strata_error *err)
{
	struct model *model = asked->model ? models_find(decider, asked->model)
					   : model_default(decider);

	if (!model && asked->model)
		return strata_fail_at(err, -EINVAL, "model",
				      "there is no model %.60s; `strata models` lists them",
				      asked->model);
	if (!model)
		return strata_fail_at(err, -EINVAL, "model",
				      "there is no model; `strata models add` makes one");
	*ret_model = model;
	return 0;
}

static int take(struct decider *decider, struct request *request, struct task **ret_task,
		struct strata_error *err)
{
	const struct generate *asked = request->parsed;
	struct strata_rules rules = entities_rules(decider);
	struct strata_admission_request admission = { .user = request->who.user,
						      .account = asked->account };
	struct model *model = NULL;
	int rc = find_model(decider, asked, &model, err);

	if (rc == 0)
		rc = task_check_priority(decider, &request->who, asked->priority, err);
	if (rc == 0)
		rc = strata_rules_admit(&rules, &admission, err);
	if (rc)
		return rc;
	char *text = parameters(asked, &model->conf);
	struct task_request wanted = { .user = request->who.user,
				       .uid = request->who.uid,
				       .account = admission.account,
				       .model = model,
				       .parameters = text,
				       .priority = asked->priority,
				       .deadline_ns = asked->deadline_ns,
				       .steps = asked->steps ? asked->steps : model->conf.steps,
				       .seed = asked->seed };

	rc = text ? task_add(decider, &wanted, ret_task, err) : strata_fail_memory(err);
	free(text);
	return rc;
}

/* The same key as before: the same answer as before. False: nobody has asked with it. */
static bool answered_before(struct decider *decider, struct request *request)
{
	struct generate *asked = request->parsed;
	struct strata_error err = { 0 };
	struct store_answer answer;

	if (!asked->key)
		return false;
	int rc = batch_answered(decider, request->who.user, asked->key, &request->arena, &answer,
				&err);

	if (rc == -ENOENT)
		return false;
	if (rc) {
		request_fail(request, rc, &err);
	} else if (strcmp(answer.request, asked->hash) != 0) {
		request_refuse(request, MHD_HTTP_CONFLICT, "conflict",
			       "the key %.128s was used for another request; take another key",
			       asked->key);
	} else {
		json_t *json = json_loadb(answer.body, answer.body_bytes, 0, NULL);

		asked->id = json_integer_value(json_object_get(json, "id"));
		json_decref(json);
		request->durable = true; /* it may be of this very round */
		request_give_text(request, MHD_HTTP_OK, NULL,
				  strndup(answer.body, answer.body_bytes));
	}
	return true;
}

/* Of one who waits: it has ended, or the time is up. */
static bool look(struct decider *decider, struct request *request, bool due)
{
	const struct generate *asked = request->parsed;
	struct task *task = task_find(decider, asked->id);

	if (task && !task->ended && !due)
		return false;
	if (task)
		request_answer(request, request->status, task_view_live(decider, task, true));
	return true;
}

static void wait_for_it(struct decider *decider, struct request *request)
{
	struct generate *asked = request->parsed;
	struct task *task = task_find(decider, asked->id);

	if (asked->wait_ns && task && !task->ended)
		parked_add(decider, request, asked->wait_ns, look);
}

static void take_and_answer(struct decider *decider, struct request *request)
{
	struct generate *asked = request->parsed;
	struct batch_mark mark = batch_mark(decider);
	struct strata_error err = { 0 };
	struct task *task;
	int rc = take(decider, request, &task, &err);

	if (rc == -EDQUOT)
		request->retry_after_s = RETRY_S;
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	asked->id = task->row.id;
	request_answer(request, MHD_HTTP_CREATED, task_view_live(decider, task, true));
	if (request->status != MHD_HTTP_CREATED) { /* no memory for the answer */
		task_withdraw(decider, task);
		batch_undo(decider, &mark);
		return;
	}
	if (asked->key)
		batch_answer(decider, request->who.user, asked->key, asked->hash, request->text);
	request->durable = true;
}

static void post_generate(struct decider *decider, struct request *request)
{
	if (!answered_before(decider, request))
		take_and_answer(decider, request);
	if (request->durable)
		wait_for_it(decider, request);
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
	  .summary = "ask for a picture",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_GENERATE_BODY_BYTES_MAX,
	  .parse = parse_generate,
	  .decide = post_generate,
	  .body = &generate_schema,
	  .query = &generate_query,
	  .answer = "id status model",
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
