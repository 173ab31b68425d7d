/* From a request to a run: sizes, prompts, the first sample. */
#include "engine/pipeline.h"

#include "core/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- conditions ---- */

int pipeline_add_condition(struct strata_pipeline_run *run, const char *input, bool shared,
			   struct strata_array positive, struct strata_array negative,
			   struct strata_error *err)
{
	const struct strata_engine_model *model = run->pipeline->denoiser;
	int at = strata_engine_input_find(model, input);
	int rc = 0;

	if (at < 0)
		rc = strata_fail(err, -ENOTSUP, "%.200s/%s/model.onnx has no input '%s'",
				 run->pipeline->folder, run->pipeline->cls->denoiser, input);
	else if (run->condition_count == PIPELINE_CONDITIONS_MAX)
		rc = strata_fail(err, -E2BIG, "the model has more than %d inputs",
				 PIPELINE_CONDITIONS_MAX + 2);
	else if (!shared && (positive.rank == 0 || positive.dims[0] != (int64_t)run->image_count))
		rc = strata_fail(err, -EINVAL, "'%s' is for %lld pictures; expected %zu", input,
				 (long long)(positive.rank ? positive.dims[0] : 0),
				 run->image_count);
	else if (run->guided && !shared &&
		 (negative.rank != positive.rank || negative.dtype != positive.dtype ||
		  memcmp(negative.dims, positive.dims, positive.rank * sizeof(int64_t)) != 0))
		rc = strata_fail(err, -EINVAL, "'%s' has another shape for the negative prompt",
				 input);
	if (rc) {
		strata_array_drop(&positive);
		strata_array_drop(&negative);
		return rc;
	}
	run->conditions[run->condition_count++] =
		(struct pipeline_condition){ at, shared, positive, negative };
	return 0;
}

/* A row for each picture from prompts/NAME_PART.npy. */
static int stack_files(struct strata_pipeline *pipeline, const char *const *names, size_t count,
		       const char *part, struct strata_array *ret_array, struct strata_error *err)
{
	struct strata_array all = { 0 }, one;
	size_t bytes = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		char path[256], shown[TEXT_EXCERPT_BYTES];

		if (!*names[i] || strchr(names[i], '/') || strlen(names[i]) > STRATA_NAME_BYTES_MAX)
			rc = -ENOENT;
		snprintf(path, sizeof(path), "prompts/%.128s_%s.npy", names[i], part);
		if (rc == 0)
			rc = pipeline_read_array(pipeline, path, &one, err);
		if (rc == -ENOENT)
			rc = strata_fail(err, -ENOTSUP,
					 "%.128s has no text encoders and no embeddings of the "
					 "prompt \"%s\" (prompts/NAME_%s.npy); give embeddings",
					 pipeline->folder,
					 text_excerpt(names[i], strlen(names[i]), shown), part);
		if (rc)
			break;
		if (one.rank == 0 || one.dims[0] != 1 || one.dtype != STRATA_DTYPE_F32)
			rc = strata_fail(err, -EINVAL, "%s is not float32 [1, …]", path);
		if (rc == 0 && !all.data) {
			int64_t dims[STRATA_TENSOR_RANK_MAX];

			memcpy(dims, one.dims, sizeof(dims));
			dims[0] = (int64_t)count;
			bytes = strata_array_bytes(&one);
			rc = strata_array_make(pipeline->engine, one.dtype, one.rank, dims, &all,
					       err);
		}
		if (rc == 0 && strata_array_bytes(&one) != bytes)
			rc = strata_fail(err, -EINVAL, "%s has another shape than the first", path);
		if (rc == 0)
			memcpy((char *)all.data + i * bytes, one.data, bytes);
		strata_array_drop(&one);
	}
	if (rc)
		strata_array_drop(&all);
	else
		*ret_array = all;
	return rc;
}

static int copy(struct strata_engine *engine, const struct strata_array *array,
		struct strata_array *ret_copy, struct strata_error *err)
{
	int rc = strata_array_make(engine, array->dtype, array->rank, array->dims, ret_copy, err);

	if (rc == 0)
		memcpy(ret_copy->data, array->data, strata_array_bytes(array));
	return rc;
}

/* The request's array, or the files'. */
static int take_embeds(struct strata_pipeline *pipeline, const struct strata_array *given,
		       const char *const *names, size_t count, const char *part,
		       struct strata_array *ret_array, struct strata_error *err)
{
	if (given->dtype != STRATA_DTYPE_NONE && given->dtype != STRATA_DTYPE_F32)
		return strata_fail(err, -EINVAL, "embeddings are %s; expected float32",
				   strata_dtype_name(given->dtype));
	if (given->dtype != STRATA_DTYPE_NONE)
		return copy(pipeline->engine, given, ret_array, err);
	if (!names)
		return strata_fail(err, -EINVAL,
				   "%.200s has no text encoders: with guidance above 1 both the "
				   "prompt and the negative one name embeddings",
				   pipeline->folder);
	return stack_files(pipeline, names, count, part, ret_array, err);
}

int pipeline_encode_files(struct strata_pipeline *pipeline,
			  const struct strata_pipeline_request *request,
			  struct strata_pipeline_run *run, struct strata_error *err)
{
	static const char *const parts[] = { "embeds", "pooled" };
	static const char *const inputs[] = { "encoder_hidden_states", "pooled_projections" };
	const struct strata_array *given[] = { &request->embeds, &request->pooled };
	const struct strata_array *against[] = { &request->negative_embeds,
						 &request->negative_pooled };
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		struct strata_array positive = { 0 }, negative = { 0 };

		rc = take_embeds(pipeline, given[i], request->prompts, run->image_count, parts[i],
				 &positive, err);
		if (rc == 0 && run->guided)
			rc = take_embeds(pipeline, against[i], request->negatives, run->image_count,
					 parts[i], &negative, err);
		if (rc)
			strata_array_drop(&positive);
		else
			rc = pipeline_add_condition(run, inputs[i], false, positive, negative, err);
	}
	return rc;
}

double pipeline_shift(const json_t *scheduler, double tokens)
{
	double base = pipeline_number(scheduler, "base_shift", 0.5);
	double most = pipeline_number(scheduler, "max_shift", 1.15);
	double from = pipeline_number(scheduler, "base_image_seq_len", 256);
	double to = pipeline_number(scheduler, "max_image_seq_len", 4096);
	double slope = to > from ? (most - base) / (to - from) : 0;

	return tokens * slope + (base - slope * from);
}

/* ---- sizes ---- */

static int set_geometry(struct strata_pipeline *pipeline,
			const struct strata_pipeline_request *request,
			struct pipeline_geometry *geometry, struct strata_error *err)
{
	uint32_t scale = (uint32_t)pipeline->latent_scale * (pipeline->cls->packed ? 2 : 1);
	uint32_t width = request->width ? request->width : pipeline->default_side;
	uint32_t height = request->height ? request->height : pipeline->default_side;

	if (width % scale || height % scale || width > STRATA_IMAGE_SIDE_MAX ||
	    height > STRATA_IMAGE_SIDE_MAX)
		return strata_fail_at(err, -ERANGE, "size",
				      "the size %ux%u cannot be: expected multiples of %u up to %d",
				      width, height, scale, STRATA_IMAGE_SIDE_MAX);
	*geometry = (struct pipeline_geometry){
		.width = width,
		.height = height,
		.channels = pipeline->latent_channels,
		.rows = height / pipeline->latent_scale,
		.columns = width / pipeline->latent_scale,
	};
	geometry->element_count = (size_t)(geometry->channels * geometry->rows * geometry->columns);
	geometry->rank = pipeline->cls->packed ? 2 : 3;
	if (pipeline->cls->packed) {
		geometry->dims[0] = geometry->rows * geometry->columns / 4;
		geometry->dims[1] = geometry->channels * 4;
	} else {
		geometry->dims[0] = geometry->channels;
		geometry->dims[1] = geometry->rows;
		geometry->dims[2] = geometry->columns;
	}
	return 0;
}

static int check_request(const struct strata_pipeline *pipeline,
			 const struct strata_pipeline_request *request, size_t images,
			 struct strata_error *err)
{
	if (images > STRATA_PIPELINE_IMAGES_MAX)
		return strata_fail_at(err, -E2BIG, "images",
				      "the request has %zu pictures; at most %d", images,
				      STRATA_PIPELINE_IMAGES_MAX);
	if (request->has_guidance && !(request->guidance >= 0 && request->guidance <= 1000))
		return strata_fail_at(err, -ERANGE, "guidance",
				      "guidance is %g; expected 0 to 1000", request->guidance);
	if (request->seed_count > 1 && request->seed_count != images)
		return strata_fail_at(err, -EINVAL, "seeds",
				      "there are %zu seeds for %zu pictures; expected one, or one "
				      "each",
				      request->seed_count, images);
	if (!request->init)
		return 0;
	if (!(request->strength > 0 && request->strength <= 1))
		return strata_fail_at(err, -ERANGE, "strength",
				      "strength is %g; expected above 0, up to 1",
				      request->strength);
	if (!pipeline->cls->has_vae)
		return strata_fail_at(err, -ENOTSUP, "init",
				      "a %s pipeline does not start from a picture",
				      pipeline->cls->base.name);
	if (images > 1 && request->seed_count <= 1)
		return strata_fail_at(err, -EINVAL, "seeds",
				      "%zu pictures that start from one need a seed each", images);
	return 0;
}

/* ---- encoding ---- */

/* Image to image: the picture's latents, sampled, for each image; tensor 0 of its seed is drawn for that. */
static int begin_from_picture(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			      const struct strata_pipeline_request *request,
			      struct strata_error *err)
{
	struct strata_arena arena;

	if (request->init->width != run->geometry.width ||
	    request->init->height != run->geometry.height)
		return strata_fail_at(err, -EINVAL, "init",
				      "the picture to start from is %ux%u; expected %ux%u",
				      request->init->width, request->init->height,
				      run->geometry.width, run->geometry.height);
	strata_arena_init(&arena, run->memory, 0);
	float *clean = strata_arena_array(&arena, run->image_count * run->geometry.element_count,
					  sizeof(*clean));
	int rc = clean ? pipeline_vae_encode(pipeline, run, request->init, clean, err)
		       : strata_fail_memory(err);

	if (rc == 0) {
		run->tensor = 1;
		pipeline_run_begin(run, clean);
	}
	strata_arena_fini(&arena);
	return rc;
}

static int fill(struct strata_pipeline *pipeline, const struct strata_pipeline_request *request,
		struct strata_pipeline_run *run, struct strata_error *err)
{
	int rc = set_geometry(pipeline, request, &run->geometry, err);

	if (rc == 0)
		rc = pipeline_run_prepare(run, request, err);
	if (rc == 0)
		rc = pipeline->cls->encode(pipeline, request, run, err);
	for (size_t i = 0; rc == 0 && i < strata_engine_input_count(pipeline->denoiser); i++) {
		bool known = (int)i == pipeline->sample_input || (int)i == pipeline->timestep_input;

		for (size_t k = 0; k < run->condition_count; k++)
			known = known || run->conditions[k].input == (int)i;
		if (!known)
			rc = strata_fail(err, -ENOTSUP,
					 "%.200s/%s/model.onnx wants '%.64s', which a %s pipeline "
					 "does not have",
					 pipeline->folder, pipeline->cls->denoiser,
					 strata_engine_input_at(pipeline->denoiser, i)->name,
					 pipeline->cls->base.name);
	}
	if (rc)
		return rc;
	if (request->init)
		return begin_from_picture(pipeline, run, request, err);
	pipeline_run_begin(run, NULL);
	return 0;
}

int strata_pipeline_encode(struct strata_pipeline *pipeline,
			   const struct strata_pipeline_request *request,
			   struct strata_pipeline_run **ret_run, struct strata_error *err)
{
	size_t images = request->image_count ? request->image_count : 1;
	int rc = check_request(pipeline, request, images, err);
	struct strata_pipeline_run *run = rc ? NULL
					     : strata_memory_get(pipeline->memory, sizeof(*run));

	if (rc)
		return rc;
	if (!run)
		return strata_fail_memory(err);
	run->pipeline = pipeline;
	run->memory = pipeline->memory;
	run->image_count = images;
	run->guidance =
		(float)(request->has_guidance ? request->guidance : pipeline->default_guidance);
	run->flow = request->flow;
	strata_arena_init(&run->arena, run->memory, 0);
	pipeline_trace_begin(pipeline, "encode", &run, 1);
	rc = fill(pipeline, request, run, err);
	pipeline_trace_end(pipeline);
	if (rc) {
		strata_pipeline_run_free(run);
		return rc;
	}
	*ret_run = run;
	return 0;
}
