/*
 * /sdapi/v1/…: as much of A1111's API (stable-diffusion-webui) as its clients need to draw with
 * this service as it is. Their words become ours: sampler_name is the solver, scheduler the
 * schedule, cfg_scale the guidance; what they send beyond that is passed over. Where theirs has one
 * queue and one user, here each caller has his own: progress and interrupt are about what he waits
 * for, the chosen checkpoint is his. HTTP Basic with the token as password works here and nowhere
 * else (identity.c).
 */
#include "core/option.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/models.h"
#include "server/route.h"
#include "server/whole_picture.h"

#include <strata/limits.h>
#include <strata/solver.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PREFIX "/sdapi/"
enum { ANSWER_BYTES_MAX = 64 << 20 }; /* of pictures in one answer */

struct drawing {
	struct whole_picture whole; /* first: the request is one of those */
	json_t *theirs;             /* the body, which the answer has in it again */
	bool send_images;
};

/* ---- reading ---- */

static bool is_said(const json_t *value)
{
	return value && !json_is_null(value) &&
	       !(json_is_string(value) && !json_string_length(value));
}

/* Their key as ours; what is null or empty is not said. */
static void copy(json_t *ours, const char *key, const json_t *theirs, const char *their_key)
{
	json_t *value = json_object_get(theirs, their_key);

	if (is_said(value))
		json_object_set(ours, key, value);
}

/* batch_size times n_iter, each 1 when left out. */
static int count_pictures(const json_t *theirs, json_t *ours, struct strata_error *err)
{
	static const char *const keys[] = { "batch_size", "n_iter" };
	int64_t count = 1;

	for (size_t i = 0; i < 2; i++) {
		const json_t *value = json_object_get(theirs, keys[i]);
		int64_t factor = is_said(value) ? json_integer_value(value) : 1;

		if (factor < 1 || factor > STRATA_PIPELINE_IMAGES_MAX ||
		    (is_said(value) && !json_is_integer(value)))
			return strata_fail_at(err, -EINVAL, keys[i],
					      "%s is not a whole number from 1 to %d", keys[i],
					      STRATA_PIPELINE_IMAGES_MAX);
		count *= factor;
	}
	return json_object_set_new(ours, "n", json_integer(count)) ? strata_fail_memory(err) : 0;
}

static void copy_solver(const json_t *theirs, json_t *ours)
{
	const char *schedule = json_string_value(json_object_get(theirs, "scheduler"));

	copy(ours, "scheduler", theirs, "sampler_index");
	copy(ours, "scheduler", theirs, "sampler_name");
	if (schedule && strcasecmp(schedule, "automatic") != 0)
		copy(ours, "schedule", theirs, "scheduler");
}

static int copy_init(const json_t *theirs, json_t *ours, struct strata_error *err)
{
	const json_t *list = json_object_get(theirs, "init_images");

	if (json_array_size(list) != 1 || !json_is_string(json_array_get(list, 0)))
		return strata_fail_at(err, -EINVAL, "init_images",
				      "init_images is not a list of one picture as base64");
	if (is_said(json_object_get(theirs, "mask")))
		return strata_fail_at(err, -EINVAL, "mask",
				      "mask is given; there is no pipeline that fills in parts of "
				      "a picture yet");
	json_object_set(ours, "init_image", json_array_get(list, 0));
	copy(ours, "strength", theirs, "denoising_strength");
	return 0;
}

/* Their request as one of ours. */
static int translate(const json_t *theirs, bool image, json_t *ours, struct strata_error *err)
{
	const json_t *settings = json_object_get(theirs, "override_settings");
	const json_t *prompt = json_object_get(theirs, "prompt");

	json_object_set_new(ours, "prompt", json_string(""));
	if (prompt && !json_is_null(prompt))
		json_object_set(ours, "prompt", (json_t *)(uintptr_t)prompt);
	copy(ours, "negative_prompt", theirs, "negative_prompt");
	copy(ours, "seed", theirs, "seed");
	copy(ours, "steps", theirs, "steps");
	copy(ours, "width", theirs, "width");
	copy(ours, "height", theirs, "height");
	copy(ours, "guidance_scale", theirs, "cfg_scale");
	copy(ours, "model", settings, "sd_model_checkpoint");
	copy_solver(theirs, ours);
	int rc = count_pictures(theirs, ours, err);

	return rc == 0 && image ? copy_init(theirs, ours, err) : rc;
}

static void release(struct request *request)
{
	struct drawing *it = request->parsed;

	json_decref(it->theirs);
	whole_picture_release(request);
}

static void parse_drawing(struct request *request, bool image)
{
	struct drawing *it = strata_arena_get(&request->arena, sizeof(*it));
	struct strata_error err = { 0 };
	json_t *ours = json_object(), *theirs = it && ours ? request_json(request) : NULL;
	int rc = it && ours ? 0 : strata_fail_memory(&err);

	if (theirs)
		rc = translate(theirs, image, ours, &err);
	if (rc)
		request_fail(request, rc, &err);
	if (rc == 0 && theirs && whole_picture_read(request, ours, &it->whole)) {
		json_object_del(theirs, "init_images"); /* nobody wants them back */
		it->theirs = json_incref(theirs);
		it->send_images = !json_is_false(json_object_get(theirs, "send_images"));
		request->release = release;
	}
	json_decref(theirs);
	json_decref(ours);
}

static void parse_text(struct request *request)
{
	parse_drawing(request, false);
}

static void parse_image(struct request *request)
{
	parse_drawing(request, true);
}

/* ---- drawing ---- */

static void post_drawing(struct decider *decider, struct request *request)
{
	struct drawing *it = request->parsed;
	const char *user = request->who.user;

	if (!it->whole.asked.model) /* what he chose, if it is still there */
		it->whole.asked.model = map_text_get(&decider->chosen_models, user, strlen(user));
	if (it->whole.asked.model && !models_find(decider, it->whole.asked.model) &&
	    map_text_get(&decider->chosen_models, user, strlen(user)) == it->whole.asked.model)
		it->whole.asked.model = NULL;
	if (whole_picture_take(decider, request))
		whole_picture_wait(decider, request);
}

/* What they keep beside the pictures: JSON in a text. */
static json_t *make_info(const json_t *task)
{
	const json_t *parameters = json_object_get(task, "parameters");
	json_t *info = json_object(), *seeds = json_array(), *prompts = json_array();
	json_int_t seed = json_integer_value(json_object_get(task, "seed"));
	size_t count = json_array_size(json_object_get(task, "images"));

	for (size_t i = 0; i < count; i++) {
		json_array_append_new(seeds, json_integer(seed + (json_int_t)i));
		json_array_append(prompts, json_object_get(parameters, "prompt"));
	}
	copy(info, "prompt", parameters, "prompt");
	copy(info, "negative_prompt", parameters, "negative_prompt");
	copy(info, "sampler_name", parameters, "scheduler");
	copy(info, "cfg_scale", parameters, "guidance_scale");
	copy(info, "steps", parameters, "steps");
	copy(info, "sd_model_name", task, "model");
	copy(info, "task", task, "id");
	json_object_set(
		info, "width",
		json_object_get(json_array_get(json_object_get(task, "images"), 0), "width"));
	json_object_set(
		info, "height",
		json_object_get(json_array_get(json_object_get(task, "images"), 0), "height"));
	json_object_set_new(info, "seed", json_integer(seed));
	json_object_set_new(info, "all_seeds", seeds);
	json_object_set_new(info, "all_prompts", prompts);
	json_object_set_new(info, "batch_size", json_integer((json_int_t)count));
	char *text = json_dumps(info, JSON_COMPACT);

	json_decref(info);
	json_t *wrapped = text ? json_string(text) : NULL;

	free(text);
	return wrapped;
}

/* The pictures, one text each; of a task that was interrupted how it looked last. */
static int add_pictures(const struct request *request, bool interrupted, struct buf *buf,
			struct strata_error *err)
{
	const struct drawing *it = request->parsed;
	size_t count = json_array_size(json_object_get(it->whole.task, "images"));
	int rc = 0;

	if (!it->send_images)
		return 0;
	if (interrupted && it->whole.preview) {
		buf_add_char(buf, '"');
		buf_add_base64(buf, it->whole.preview, it->whole.preview_bytes);
		buf_add_char(buf, '"');
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		buf_add(buf, i ? ",\"" : "\"");
		rc = whole_picture_add(request, it->whole.task, i, buf, err);
		buf_add_char(buf, '"');
	}
	return rc;
}

static void finish_drawing(struct request *request)
{
	const struct drawing *it = request->parsed;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	bool interrupted = false;
	struct buf buf;

	if (request->status != MHD_HTTP_OK ||
	    (!whole_picture_check(request, &interrupted) && !interrupted))
		return;
	if (it->send_images && whole_picture_bytes(it->whole.task) > ANSWER_BYTES_MAX) {
		request_refuse(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "too_large",
			       "the pictures of task T%lld have more than %d bytes; GET "
			       "/api/v1/tasks/%lld/image/0 gives each",
			       (long long)it->whole.id, ANSWER_BYTES_MAX, (long long)it->whole.id);
		return;
	}
	json_t *rest =
		json_pack("{s:O,s:o}", "parameters", it->theirs, "info", make_info(it->whole.task));
	char *text = rest ? json_dumps(rest, JSON_COMPACT) : NULL;

	json_decref(rest);
	buf_init(&buf, &memory, 0);
	buf_add(&buf, "{\"images\":[");
	int rc = text ? add_pictures(request, interrupted, &buf, &err) : strata_fail_memory(&err);

	buf_printf(&buf, "],%s", text ? text + 1 : "");
	if (rc == 0)
		rc = buf_check(&buf, &err);
	if (rc)
		request_fail(request, rc, &err);
	else
		request_give_text(request, MHD_HTTP_OK, NULL, strdup(buf.text));
	buf_fini(&buf);
	free(text);
}

/* ---- how far it is ---- */

struct progress_query {
	bool skip_current_image;
};
static const struct strata_option progress_options[] = {
	{ "skip_current_image", STRATA_BOOL, offsetof(struct progress_query, skip_current_image),
	  .help = "without the preview" },
	{ 0 }
};
static const struct strata_schema progress_query = { "the query", NULL,
						     sizeof(struct progress_query),
						     progress_options };

static json_t *view_preview(const struct task *task)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	if (!task || !task->preview)
		return json_null();
	buf_init(&buf, &memory, 0);
	buf_add_base64(&buf, task->preview, task->preview_bytes);
	json_t *json = buf.failed ? NULL : json_string(buf.text);

	buf_fini(&buf);
	return json;
}

static const struct task *current(const struct decider *decider, const struct request *request)
{
	const struct request *waits = whole_picture_waiting(decider, &request->who, PREFIX);

	return waits ? task_find(decider, ((const struct whole_picture *)waits->parsed)->id) : NULL;
}

static void get_progress(struct decider *decider, struct request *request)
{
	const struct progress_query *query = request->query;
	const struct task *task = current(decider, request);
	double steps = task ? (double)task->row.steps : 1;
	double part = task ? (double)task->row.steps_done / steps : 0;
	double spent = task ? (double)task->row.cost_ns / 1e9 : 0;
	char job[32] = "";

	if (task)
		snprintf(job, sizeof(job), "T%lld", (long long)task->row.id);
	json_t *state = json_pack("{s:b,s:b,s:b,s:s,s:i,s:i,s:I,s:I}", "skipped", 0, "interrupted",
				  0, "stopping_generation", 0, "job", job, "job_count",
				  task != NULL, "job_no", 0, "sampling_step",
				  (json_int_t)(task ? task->row.steps_done : 0), "sampling_steps",
				  (json_int_t)(task ? task->row.steps : 0));

	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:f,s:f,s:o,s:o,s:n}", "progress", part, "eta_relative",
				 part > 0 ? spent / part - spent : 0.0, "state", state,
				 "current_image",
				 query->skip_current_image ? json_null() : view_preview(task),
				 "textinfo"));
}

static void post_interrupt(struct decider *decider, struct request *request)
{
	struct task *task = (struct task *)(uintptr_t)current(decider, request);

	if (task && !task->ended)
		task_cancel(decider, task, request->who.user, NULL);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json_object());
}

/* ---- what there is ---- */

/* "Euler" of "Euler, EulerDiscreteScheduler, k_euler": what they call it; the rest as a list. */
static json_t *view_sampler(const struct strata_class *cls)
{
	json_t *aliases = json_array();
	const char *at = cls->aliases ? cls->aliases : "";
	size_t first = strcspn(at, ",");
	bool theirs = first && !(first > 9 && strncmp(at + first - 9, "Scheduler", 9) == 0);

	if (theirs)
		json_array_append_new(aliases, json_string(cls->name));
	for (bool skip = theirs; *at; skip = false) {
		size_t length = strcspn(at, ",");

		if (!skip)
			json_array_append_new(aliases, json_stringn(at, length));
		at += length;
		at += strspn(at, ", ");
	}
	return json_pack("{s:o,s:o,s:{}}", "name",
			 theirs ? json_stringn(cls->aliases, first) : json_string(cls->name),
			 "aliases", aliases, "options");
}

static void get_samplers(struct request *request)
{
	json_t *list = json_array();

	for (size_t i = 0; strata_solver_kind.classes[i]; i++)
		json_array_append_new(list, view_sampler(strata_solver_kind.classes[i]));
	request_answer(request, MHD_HTTP_OK, list);
}

static json_t *view_schedule(const char *name, const char *label)
{
	return json_pack("{s:s,s:s,s:n,s:f,s:b}", "name", name, "label", label, "aliases",
			 "default_rho", -1.0, "need_inner_model", 0);
}

static void get_schedulers(struct request *request)
{
	json_t *list = json_array();

	json_array_append_new(list, view_schedule("automatic", "Automatic"));
	for (size_t i = 0; strata_schedule_kind.classes[i]; i++)
		json_array_append_new(list, view_schedule(strata_schedule_kind.classes[i]->name,
							  strata_schedule_kind.classes[i]->name));
	request_answer(request, MHD_HTTP_OK, list);
}

static void get_models(struct decider *decider, struct request *request)
{
	json_t *list = json_array();

	for (const struct model *model = model_next(decider, NULL); model;
	     model = model_next(decider, model))
		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:n,s:n,s:s,s:n}", "title", model->name,
						"model_name", model->name, "hash", "sha256",
						"filename", model->name, "config"));
	request_answer(request, MHD_HTTP_OK, list);
}

/* ---- the checkpoint that a caller has chosen ---- */

static void get_options(struct decider *decider, struct request *request)
{
	const char *user = request->who.user;
	const char *name = map_text_get(&decider->chosen_models, user, strlen(user));
	const struct model *model = name ? models_find(decider, name) : NULL;

	if (!model)
		model = model_default(decider);
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s?,s:s}", "sd_model_checkpoint", model ? model->name : NULL,
				 "samples_format", "png"));
}

static void parse_options(struct request *request)
{
	json_t *json = request_json(request);
	const char *name = json_string_value(json_object_get(json, "sd_model_checkpoint"));

	request->parsed = name ? strata_arena_text(&request->arena, name, strlen(name)) : NULL;
	if (json && !request->parsed) /* nothing that would mean something here */
		request_answer(request, MHD_HTTP_OK, json_object());
	json_decref(json);
}

static void post_options(struct decider *decider, struct request *request)
{
	const char *user = request->who.user;
	struct model *model = models_find(decider, request->parsed);
	char *name = model ? strdup(model->name) : NULL;
	char *old = map_text_get(&decider->chosen_models, user, strlen(user));

	if (!model) {
		request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid",
			       "there is no model %.60s; GET /sdapi/v1/sd-models lists them",
			       (const char *)request->parsed);
		return;
	}
	if (old)
		map_text_remove(&decider->chosen_models, user, strlen(user));
	free(old);
	if (!name || map_text_put(&decider->chosen_models, user, strlen(user), name, NULL)) {
		free(name);
		request_answer(request, MHD_HTTP_OK, NULL);
		return;
	}
	request_answer(request, MHD_HTTP_OK, json_object());
}

/* ---- routes ---- */

const struct route api_sdapi_routes[] = {
	{ .method = "POST",
	  .path = "/sdapi/v1/txt2img",
	  .summary = "A1111's: draw pictures of a prompt",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_GENERATE_BODY_BYTES_MAX,
	  .parse = parse_text,
	  .decide = post_drawing,
	  .finish = finish_drawing },
	{ .method = "POST",
	  .path = "/sdapi/v1/img2img",
	  .summary = "A1111's: draw pictures of a prompt and a picture",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_GENERATE_BODY_BYTES_MAX,
	  .parse = parse_image,
	  .decide = post_drawing,
	  .finish = finish_drawing },
	{ .method = "GET",
	  .path = "/sdapi/v1/progress",
	  .summary = "A1111's: how far what the caller waits for is",
	  .role = ROLE_READER,
	  .decide = get_progress,
	  .query = &progress_query,
	  .answer = "progress state" },
	{ .method = "POST",
	  .path = "/sdapi/v1/interrupt",
	  .summary = "A1111's: cancel what the caller waits for",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .decide = post_interrupt,
	  .answer = "" },
	{ .method = "GET",
	  .path = "/sdapi/v1/samplers",
	  .summary = "A1111's: solvers",
	  .role = ROLE_READER,
	  .parse = get_samplers },
	{ .method = "GET",
	  .path = "/sdapi/v1/schedulers",
	  .summary = "A1111's: schedules of noise levels",
	  .role = ROLE_READER,
	  .parse = get_schedulers },
	{ .method = "GET",
	  .path = "/sdapi/v1/sd-models",
	  .summary = "A1111's: models",
	  .role = ROLE_READER,
	  .decide = get_models },
	{ .method = "GET",
	  .path = "/sdapi/v1/options",
	  .summary = "A1111's: the model that the caller has chosen",
	  .role = ROLE_READER,
	  .decide = get_options,
	  .answer = "sd_model_checkpoint" },
	{ .method = "POST",
	  .path = "/sdapi/v1/options",
	  .summary = "A1111's: choose a model",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_options,
	  .decide = post_options,
	  .answer = "" },
	{ 0 },
};
