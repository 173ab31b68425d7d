/* A reference run of a picture: tokens and bytes equal, embeddings, first latents, every step's latents and the picture near. */
#include "engine/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EMBEDS_LIMIT 2e-5
#define INIT_LIMIT 1e-6       /* of the largest value */
#define INIT_IMAGE_LIMIT 4e-5 /* the same where the latents come from a picture */
#define TIMESTEP_LIMIT 1e-3

/* What errors of latents may be, as a share of the largest latent, and of pictures, as a share of bytes that are off by one. */
static const struct limits {
	const char *pipeline;
	double latents, bytes;
} limits[] = {
	{ "tiny-sd-fp16", 1.5e-4, 0.01 }, { "tiny-sd", 5e-5, 0.005 }, { "tiny-flow", 4e-5, 0.005 },
	{ "tiny-flux", 1e-5, 0.005 },     { "digits", 4e-5, 0.005 },  { NULL, 5e-5, 0.005 },
};

static const struct limits *limits_of(const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "pipeline"));
	const struct limits *at = limits;

	while (at->pipeline && (!name || strcmp(at->pipeline, name) != 0))
		at++;
	return at;
}

/* ---- the request ---- */

struct asked {
	struct strata_pipeline_request request;
	struct strata_picture init;
};

/* A text or a list of texts, one for each picture; a single one is for all. */
static int read_texts(struct replay_case *it, const char *key, size_t images,
		      const char *const **ret_texts, struct strata_error *err)
{
	const json_t *value = json_object_get(it->json, key);
	const char **texts = strata_arena_array(&it->arena, images, sizeof(*texts));

	if (!value || json_is_null(value))
		return 0;
	if (!texts)
		return strata_fail_memory(err);
	for (size_t i = 0; i < images; i++) {
		texts[i] =
			json_string_value(json_is_array(value) ? json_array_get(value, i) : value);
		if (!texts[i])
			return strata_fail(err, -EBADMSG, "%s is not a text for each picture", key);
	}
	*ret_texts = texts;
	return 0;
}

static int read_numbers(struct replay_case *it, const char *key, size_t *ret_count,
			int64_t **ret_numbers, struct strata_error *err)
{
	const json_t *value = json_object_get(it->json, key);
	size_t count = json_is_array(value) ? json_array_size(value) : 1;
	int64_t *numbers = strata_arena_array(&it->arena, count, sizeof(*numbers));

	*ret_count = 0;
	if (!value || json_is_null(value))
		return 0;
	if (!numbers)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		numbers[i] =
			json_integer_value(json_is_array(value) ? json_array_get(value, i) : value);
	*ret_numbers = numbers;
	*ret_count = count;
	return 0;
}

static int read_init(struct replay_case *it, struct asked *asked, struct strata_error *err)
{
	struct npy init;
	bool there;
	int rc = replay_read(it, "init_image", &init, &there, err);

	if (rc || !there)
		return rc;
	if (init.dtype != STRATA_DTYPE_U8 || init.rank != 3 || init.dims[2] != 3)
		return strata_fail(err, -EBADMSG, "init_image is not uint8 [H, W, 3]");
	asked->init = (struct strata_picture){ (uint32_t)init.dims[1], (uint32_t)init.dims[0],
					       (uint8_t *)init.data };
	asked->request.init = &asked->init;
	asked->request.strength = json_number_value(json_object_get(it->json, "strength"));
	return 0;
}

/* "class" and "config", with eta where the case has it. */
static int read_solver(struct replay_case *it, struct strata_pipeline_request *request,
		       struct strata_error *err)
{
	const json_t *solver = json_object_get(it->json, "solver");
	const json_t *eta = json_object_get(it->json, "eta");
	const char *name = json_string_value(json_object_get(solver, "class"));
	char *config = json_dumps(json_object_get(solver, "config"), JSON_REAL_PRECISION(17));

	if (config) {
		request->scheduler_config = strata_arena_text(&it->arena, config, strlen(config));
		free(config);
	}
	if (name)
		request->solver = json_is_number(eta)
					  ? strata_arena_printf(&it->arena, "%s:eta=%.17g", name,
								json_number_value(eta))
					  : strata_arena_text(&it->arena, name, strlen(name));
	return !request->scheduler_config || !request->solver
		       ? strata_fail(err, -EBADMSG, "the case has no solver with class and config")
		       : 0;
}

static int read_request(struct replay_case *it, struct asked *asked, struct strata_error *err)
{
	const json_t *prompt = json_object_get(it->json, "prompt");
	struct strata_pipeline_request *request = &asked->request;
	int64_t *seeds = NULL, *labels = NULL;
	size_t label_count;
	int rc = read_numbers(it, "class_labels", &label_count, &labels, err);

	request->image_count = label_count             ? label_count
			       : json_is_array(prompt) ? json_array_size(prompt)
						       : 1;
	request->labels = label_count ? labels : NULL;
	request->steps = json_integer_value(json_object_get(it->json, "steps"));
	request->has_guidance = true;
	request->guidance = json_number_value(json_object_get(it->json, "guidance_scale"));
	request->width = (uint32_t)json_integer_value(json_object_get(it->json, "width"));
	request->height = (uint32_t)json_integer_value(json_object_get(it->json, "height"));
	if (rc == 0 && request->image_count > STRATA_PIPELINE_IMAGES_MAX)
		rc = strata_fail(err, -E2BIG, "the case has %zu pictures", request->image_count);
	if (rc == 0)
		rc = read_numbers(it, "seed", &request->seed_count, &seeds, err);
	request->seeds = (const uint64_t *)seeds;
	if (rc == 0)
		rc = read_texts(it, "prompt", request->image_count, &request->prompts, err);
	if (rc == 0)
		rc = read_texts(it, "negative_prompt", request->image_count, &request->negatives,
				err);
	if (rc == 0)
		rc = read_init(it, asked, err);
	return rc ? rc : read_solver(it, request, err);
}

/* ---- what comes of it ---- */

static int check_tokens(struct replay_case *it, const struct strata_pipeline_run *run,
			struct strata_error *err)
{
	static const char *const ids[] = { "input_ids", "negative_ids" };
	static const char *const embeds[] = { "prompt_embeds", "negative_embeds" };
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		struct strata_array got = strata_pipeline_tokens(run, i);
		struct npy want;
		bool there;

		rc = replay_read(it, ids[i], &want, &there, err);
		if (rc == 0 && there)
			replay_equal(it, ids[i],
				     want.dtype == got.dtype &&
					     want.data_bytes == strata_array_bytes(&got) &&
					     memcmp(want.data, got.data, want.data_bytes) == 0);
		strata_array_drop(&got);
		if (rc == 0)
			rc = replay_read(it, embeds[i], &want, &there, err);
		if (rc || !there)
			continue;
		got = strata_pipeline_embeds(run, i);
		size_t count = (size_t)strata_array_elements(&got);

		rc = replay_expect(&want, embeds[i], STRATA_DTYPE_F32, count, err);
		if (rc == 0)
			replay_compare(it, embeds[i], got.data, want.data, count, EMBEDS_LIMIT);
		strata_array_drop(&got);
	}
	return rc;
}

static double largest(const float *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++) {
		float value;

		memcpy(&value, (const char *)values + i * sizeof(value), sizeof(value));
		most = fabs((double)value) > most ? fabs((double)value) : most;
	}
	return most;
}

static int check_first(struct replay_case *it, const struct strata_pipeline_run *run, size_t images,
		       struct strata_error *err)
{
	size_t count;
	const float *latents = strata_pipeline_latents(run, &count);
	struct npy want;
	bool there;
	int rc = replay_read(it, "latents_init", &want, &there, err);
	double share = json_object_get(it->json, "strength") ? INIT_IMAGE_LIMIT : INIT_LIMIT;

	if (rc || !there)
		return rc;
	rc = replay_expect(&want, "latents_init", STRATA_DTYPE_F32, images * count, err);
	if (rc == 0)
		replay_compare(it, "latents_init", latents, want.data, images * count,
			       share * largest(want.data, images * count));
	return rc;
}

static int check_timestep(struct replay_case *it, const struct strata_pipeline_run *run,
			  const struct npy *timesteps, size_t call, struct strata_error *err)
{
	float got = (float)strata_pipeline_timestep(run);

	if (timesteps->dtype != STRATA_DTYPE_F32 ||
	    timesteps->data_bytes < (call + 1) * sizeof(float))
		return strata_fail(err, -EBADMSG, "there are fewer timesteps than model calls");
	replay_compare(it, "timesteps", &got,
		       (const float *)((const char *)timesteps->data + call * sizeof(float)), 1,
		       TIMESTEP_LIMIT);
	return 0;
}

static int check_steps(struct replay_case *it, struct strata_pipeline *pipeline,
		       struct strata_pipeline_run *run, size_t images, struct strata_error *err)
{
	double limit = limits_of(it->json)->latents *
		       json_number_value(json_object_get(it->json, "max_abs_latent"));
	size_t count, call = 0;
	const float *latents = strata_pipeline_latents(run, &count);
	struct npy want = { 0 }, timesteps = { 0 };
	bool there, has_times;
	int rc = replay_read(it, "latents_steps", &want, &there, err);

	if (rc == 0)
		rc = replay_read(it, "timesteps", &timesteps, &has_times, err);
	if (rc == 0 && there)
		rc = replay_expect(&want, "latents_steps", STRATA_DTYPE_F32,
				   strata_pipeline_left(run) * images * count, err);
	for (; rc == 0 && strata_pipeline_left(run); call++) {
		if (has_times)
			rc = check_timestep(it, run, &timesteps, call, err);
		if (rc == 0)
			rc = strata_pipeline_step(pipeline, &run, 1, err);
		if (rc == 0 && there)
			replay_compare(it, "latents_steps", latents,
				       (const float *)((const char *)want.data +
						       call * images * count * sizeof(float)),
				       images * count, limit);
	}
	return rc;
}

/* One picture of the file, with three bytes for a pixel or one. */
static void compare_picture(struct replay_case *it, const struct strata_picture *got,
			    const uint8_t *want, size_t channels)
{
	size_t pixels = (size_t)got->width * got->height, off = 0;
	int most = 0;

	for (size_t i = 0; i < pixels * channels; i++) {
		int difference = got->rgb[channels == 3 ? i : i * 3] - want[i];

		difference = abs(difference);
		off += difference != 0;
		most = difference > most ? difference : most;
	}
	replay_compare(it, "image", &(float){ (float)most }, &(float){ 0 }, 1, 1);
	if (most <= 1)
		replay_compare(it, "image", &(float){ (float)off / (float)(pixels * channels) },
			       &(float){ 0 }, 1, limits_of(it->json)->bytes);
}

static int check_pictures(struct replay_case *it, struct strata_pipeline *pipeline,
			  struct strata_pipeline_run *run, size_t images, struct strata_error *err)
{
	struct strata_picture picture;
	struct npy want;
	bool there;
	int rc = replay_read(it, "image", &want, &there, err);

	for (size_t i = 0; rc == 0 && there && i < images; i++) {
		rc = strata_pipeline_decode(pipeline, run, i, &it->arena, &picture, err);
		if (rc)
			return rc;
		size_t channels = want.rank == 4 ? 3 : 1;
		size_t bytes = (size_t)picture.width * picture.height * channels;

		rc = replay_expect(&want, "image", STRATA_DTYPE_U8, images * bytes, err);
		if (rc == 0)
			compare_picture(it, &picture, (const uint8_t *)want.data + i * bytes,
					channels);
	}
	return rc;
}

int replay_picture(struct replay_case *it, struct strata_pipeline *pipeline,
		   struct strata_error *err)
{
	struct asked asked = { 0 };
	struct strata_pipeline_run *run;
	int rc = read_request(it, &asked, err);
	size_t images = asked.request.image_count;

	if (rc == 0)
		rc = strata_pipeline_encode(pipeline, &asked.request, &run, err);
	if (rc)
		return rc;
	rc = check_tokens(it, run, err);
	if (rc == 0)
		rc = check_first(it, run, images, err);
	if (rc == 0)
		rc = check_steps(it, pipeline, run, images, err);
	if (rc == 0)
		rc = check_pictures(it, pipeline, run, images, err);
	strata_pipeline_run_free(run);
	return rc;
}
