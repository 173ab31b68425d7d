/* Pictures as they are asked for: see generate.h. */
#include "server/generate.h"

#include "core/option.h"
#include "engine/png.h"
#include "server/entities.h"
#include "server/front.h"
#include "server/result_budget.h"
#include "server/results.h"
#include "webhook/webhook_address.h"

#include <strata/limits.h>
#include <strata/solver.h>
#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define STRENGTH 0.75                     /* as strata engine image --strength has it */
#define SEED_MAX ((INT64_C(1) << 53) - 1) /* that every reader of JSON keeps */
enum { INIT_TEXT_BYTES_MAX = STRATA_INIT_BYTES_MAX / 3 * 4 + 128 };

static const struct strata_choice qualities[] = { { "exact", 0 }, { "normal", 1 }, { "draft", 2 }, { 0 } };

#define OF(field) offsetof(struct generate, field)
/* clang-format off */
#define ROWS(first) \
	{ "prompt", STRATA_TEXT, OF(prompt), .text = { NULL, STRATA_PROMPT_BYTES_MAX }, \
	  .flags = (first) | STRATA_OPAQUE, .help = "what the picture shows" }, \
	{ "negative_prompt", STRATA_TEXT, OF(negative_prompt), \
	  .text = { NULL, STRATA_PROMPT_BYTES_MAX }, .flags = STRATA_OPAQUE, \
	  .help = "what it does not show" }, \
	{ "model", STRATA_TEXT, OF(model), .text = { NULL, STRATA_NAME_BYTES_MAX }, \
	  .help = "what it is made with; the service's own when left out" }, \
	{ "scheduler", STRATA_TEXT, OF(scheduler), .text = { NULL, STRATA_NAME_BYTES_MAX }, \
	  .aliases = "solver, sampler", \
	  .help = "by any name of `strata solver list`; the model's own when left out" }, \
	{ "schedule", STRATA_TEXT, OF(schedule), .text = { NULL, STRATA_NAME_BYTES_MAX }, \
	  .help = "of noise levels; the solver's own when left out" }, \
	{ "steps", STRATA_INT, OF(steps), .integer = { 0, 0, STRATA_GENERATE_STEPS_MAX }, \
	  .help = "0: as many as the model says" }, \
	{ "quality", STRATA_ENUM, OF(quality), .choice = { qualities, 0 }, \
	  .help = "normal and draft leave model calls out" }, \
	{ "seed", STRATA_INT, OF(seed), .integer = { -1, -1, SEED_MAX }, .help = "-1: any" }, \
	{ "width", STRATA_INT, OF(width), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX }, \
	  .help = "0: the model's" }, \
	{ "height", STRATA_INT, OF(height), .integer = { 0, 0, STRATA_IMAGE_SIDE_MAX }, \
	  .help = "0: the model's" }, \
	{ "guidance_scale", STRATA_REAL, OF(guidance_scale), .real = { -1, -1, 100 }, \
	  .help = "how closely it keeps to the prompt; -1: the model's" }, \
	{ "init_image", STRATA_TEXT, OF(init_image), .text = { NULL, INIT_TEXT_BYTES_MAX }, \
	  .aliases = "image", .flags = STRATA_OPAQUE, \
	  .help = "a picture to start from: a PNG file as base64" }, \
	{ "strength", STRATA_REAL, OF(strength), .real = { -1, -1, 1 }, \
	  .aliases = "denoising_strength", \
	  .help = "how much of that picture is made anew, above 0; -1: 0.75" }, \
	{ "n", STRATA_INT, OF(n), .integer = { 1, 1, STRATA_PIPELINE_IMAGES_MAX }, \
	  .help = "so many pictures" }, \
	{ "priority", STRATA_INT, OF(priority), .integer = { STRATA_PRIORITY_DEFAULT, 0, STRATA_TASK_PRIORITY_MAX }, \
	  .help = "higher goes first" }, \
	{ "deadline", STRATA_TEXT, OF(deadline), .text = { NULL, 100 }, \
	  .help = "to be finished by then: a time, or now+10minutes" }, \
	{ "account", STRATA_TEXT, OF(account), .text = { NULL, STRATA_NAME_BYTES_MAX }, \
	  .help = "that is charged" }, \
	{ "webhook", STRATA_TEXT, OF(webhook), .text = { NULL, STRATA_WEBHOOK_URL_BYTES_MAX }, \
	  .help = "a URL that hears how it ended" }, \
	{ "trace", STRATA_BOOL, OF(trace), \
	  .help = "its worker records what it does for it, for GET /tasks/{id}/trace" }, \
	{ "num_frames", STRATA_INT, OF(num_frames), .integer = { 1, 1, 1000000 }, \
	  .help = "of a video: 1, as there is no pipeline for videos" },
/* clang-format on */
static const struct strata_option options[] = { ROWS(STRATA_REQUIRED){ 0 } };
const struct strata_schema generate_schema = { "generate", "a picture", sizeof(struct generate),
					       options };

static const struct strata_option item = { .type = STRATA_TABLE, .table = &generate_schema };
static const struct strata_option list_options[] = {
	{ "requests", STRATA_LIST, offsetof(struct generate_list, requests),
	  .list = { &item, STRATA_GENERATE_REQUESTS_MAX }, .flags = STRATA_REQUIRED,
	  .help = "several pictures; all are taken, or none" },
	{ 0 }
};
const struct strata_schema generate_list_schema = { "a list of requests", NULL,
						    sizeof(struct generate_list), list_options };

struct post {
	struct generate one;
	struct strata_list requests;
};
static const struct strata_option post_options[] = {
	ROWS(0){ "requests", STRATA_LIST, offsetof(struct post, requests),
		 .list = { &item, STRATA_GENERATE_REQUESTS_MAX },
		 .help = "in place of the others: several pictures, all of which are taken, or "
			 "none" },
	{ 0 }
};
const struct strata_schema generate_post_schema = { "generate post", "a picture, or several",
						    sizeof(struct post), post_options };
#undef OF

/* ---- reading ---- */

int generate_read_field(struct request *request, struct generate *asked, const char *name,
			const char *bytes, size_t length, struct strata_error *err)
{
	const struct strata_option *option = option_find(&generate_schema, name, strlen(name));

	if (!option)
		return option_unknown(&generate_schema, name, strlen(name), err);
	if (option->offset == offsetof(struct generate, init_image)) {
		int rc = init_image_read(request, bytes, length, &asked->init, err);

		return rc ? strata_fail_under(err, rc, "init_image") : 0;
	}
	json_t *text = memchr(bytes, '\0', length) ? NULL : json_stringn(bytes, length);

	if (!text)
		return strata_fail_at(err, -EINVAL, option->name, "%s is not UTF-8", option->name);
	json_decref(text);
	return option_parse(option, bytes, length, &request->arena, (char *)asked + option->offset,
			    err);
}

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

static int read_deadline(struct request *request, struct generate *asked, struct strata_error *err)
{
	if (!asked->deadline)
		return 0;
	if (strata_time_parse(asked->deadline, STRATA_TEXT_NUL,
			      common_now_ns(request->front->common), 0, &asked->deadline_ns, err))
		return strata_fail_under(err, -EINVAL, "deadline");
	return 0;
}

static int read_init(struct request *request, struct generate *asked, struct strata_error *err)
{
	int rc = 0;

	if (asked->init_image)
		rc = init_image_read_text(request, asked->init_image, &asked->init, err);
	if (rc)
		return strata_fail_under(err, rc, "init_image");
	if (!asked->init.bytes && asked->strength >= 0)
		return strata_fail_at(err, -EINVAL, "strength",
				      "strength is %g without a picture to start from; "
				      "init_image is that",
				      asked->strength);
	if (!asked->init.bytes)
		return 0;
	if (asked->strength < 0)
		asked->strength = STRENGTH;
	if (!(asked->strength > 0))
		return strata_fail_at(err, -EINVAL, "strength",
				      "strength is %g; expected above 0, up to 1: with 0 the "
				      "picture stays as it is",
				      asked->strength);
	return 0;
}

int generate_check(struct request *request, struct generate *asked, struct strata_error *err)
{
	int rc = check_solver(request, asked, err);
	uint32_t seed;

	if (rc == 0 && asked->num_frames > 1)
		return strata_fail_at(err, -EINVAL, "num_frames",
				      "num_frames is %lld; expected 1: there is no pipeline for "
				      "videos yet",
				      (long long)asked->num_frames);
	if (rc == 0 && asked->webhook && webhook_url_check(asked->webhook, err))
		return strata_fail_under(err, -EINVAL, "webhook");
	if (rc == 0)
		rc = read_deadline(request, asked, err);
	if (rc == 0 && asked->seed < 0) {
		if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			return strata_fail(err, -EIO, "no random numbers");
		asked->seed = seed;
	}
	return rc ? rc : read_init(request, asked, err);
}

/* ---- deciding ---- */

/* A side of the picture: as asked for, else as what it starts from, else the model's. */
static int64_t side(const struct generate *asked, int64_t own, uint32_t init, int64_t model)
{
	bool follow = asked->init.bytes && !asked->width && !asked->height;

	return own ? own : follow ? engine_init_side(init) : model;
}

/* The request with its defaults filled in: what a worker gets, the same for ever. */
static char *parameters(const struct generate *asked, const struct model_conf *model)
{
	const char *solver = asked->scheduler ? asked->scheduler : model->solver;
	const char *schedule = asked->schedule ? asked->schedule : model->schedule;
	int64_t width = side(asked, asked->width, asked->init.width, model->width);
	int64_t height = side(asked, asked->height, asked->init.height, model->height);
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
	if (asked->quality)
		json_object_set_new(json, "quality",
				    json_string(qualities[asked->quality].name));
	if (guidance >= 0)
		json_object_set_new(json, "guidance_scale", json_real(guidance));
	if (asked->init.bytes) {
		json_object_set_new(json, "init_image", json_string(asked->init.hash));
		json_object_set_new(json, "strength", json_real(asked->strength));
	}
	if (asked->webhook)
		json_object_set_new(json, "webhook", json_string(asked->webhook));
	if (asked->trace)
		json_object_set_new(json, "trace", json_true());
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

/* What it starts from is the task's from now on. */
static void put_init(struct decider *decider, const struct generate *asked, int64_t size_bytes,
		     const struct task *task)
{
	const struct store_result result = { .hash = asked->init.hash,
					     .task = task->row.id,
					     .size_bytes = size_bytes };

	if (!asked->init.bytes)
		return;
	batch_put(decider, STORE_PUT(&result));
	result_budget_add(decider, task->row.user, size_bytes);
}

int generate_take(struct decider *decider, const struct identity *who, const struct generate *asked,
		  struct task **ret_task, struct strata_error *err)
{
	struct strata_rules rules = entities_rules(decider);
	struct strata_admission_request admission = { .user = who->user,
						      .account = asked->account };
	struct model *model = NULL;
	int64_t init_bytes = 0;
	int rc = find_model(decider, asked, &model, err);

	if (rc == 0)
		rc = task_check_priority(decider, who, asked->priority, err);
	if (rc == 0)
		rc = strata_rules_admit(&rules, &admission, err);
	if (rc == 0 && asked->init.bytes &&
	    !results_have(decider->conf->state_dir, asked->init.hash, &init_bytes))
		rc = strata_fail(err, -EAGAIN, "the picture to start from is gone; ask again");
	if (rc)
		return rc;
	char *text = parameters(asked, &model->conf);
	struct task_request wanted = { .user = who->user,
				       .uid = who->uid,
				       .account = admission.account,
				       .model = model,
				       .parameters = text,
				       .priority = asked->priority,
				       .deadline_ns = asked->deadline_ns,
				       .steps = asked->steps ? asked->steps : model->conf.steps,
				       .seed = asked->seed };

	rc = text ? task_add(decider, &wanted, ret_task, err) : strata_fail_memory(err);
	free(text);
	if (rc == 0)
		put_init(decider, asked, init_bytes, *ret_task);
	return rc;
}

void generate_refused(struct decider *decider, const struct generate *asked)
{
	if (asked->init.hash[0])
		tasks_doom(decider, asked->init.hash);
}
