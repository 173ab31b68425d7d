/*
 * sd3: Stable Diffusion 3, a flow-matching transformer with classifier-free guidance. A prompt goes through two CLIP encoders, whose last hidden states but
 * one stand side by side, filled up with zeros to the width of T5's, which follow; what both pool is a second condition. A folder without T5 (text_encoder_3)
 * has zeros in its place, as in diffusers. Without encoders, embeddings come as arrays or from the folder's prompts/.
 */
#include "engine/pipeline.h"

#include <errno.h>
#include <string.h>

enum { CLIP_COUNT = 2, T5 = 2, T5_TOKENS = 256 };

/* What the encoders say of one list of prompts. */
struct said {
	struct strata_array hidden[CLIP_COUNT], pooled[CLIP_COUNT], t5;
};

static void drop(struct said *said)
{
	for (int i = 0; i < CLIP_COUNT; i++) {
		strata_array_drop(&said->hidden[i]);
		strata_array_drop(&said->pooled[i]);
	}
	strata_array_drop(&said->t5);
}

static int ask_encoders(struct strata_pipeline *pipeline, const char *const *prompts, size_t count,
			struct strata_array *ret_tokens, struct said *said,
			struct strata_error *err)
{
	int64_t width = pipeline_whole(pipeline->denoiser_config, "joint_attention_dim", 4096);
	const int64_t zeros[] = { (int64_t)count, T5_TOKENS, width };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < CLIP_COUNT; i++) {
		struct strata_array ids = { 0 };

		rc = pipeline_text_open(pipeline, i, err);
		if (rc == 0)
			rc = pipeline_text_tokens(pipeline, i, prompts, count,
						  pipeline_text_room(pipeline, 0), &ids, err);
		if (rc == 0)
			rc = pipeline_text_clip(pipeline, i, &ids, "text_embeds", &said->hidden[i],
						&said->pooled[i], err);
		if (rc == 0 && i == 0)
			*ret_tokens = strata_array_share(&ids);
		strata_array_drop(&ids);
	}
	if (rc == 0 && pipeline_has_text(pipeline, T5))
		return pipeline_text_t5(pipeline, T5, prompts, count, T5_TOKENS, &said->t5, err);
	if (rc == 0 && (width < 1 || width > PIPELINE_WIDTH_MAX))
		rc = strata_fail(err, -EBADMSG,
				 "%.200s/transformer/config.json has joint_attention_dim %lld; "
				 "expected 1 to %d",
				 pipeline->folder, (long long)width, PIPELINE_WIDTH_MAX);
	if (rc == 0)
		rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, 3, zeros, &said->t5,
				       err);
	if (rc == 0)
		memset(said->t5.data, 0, strata_array_bytes(&said->t5));
	return rc;
}

/* [pictures, CLIP's tokens + T5's, width] */
static int join_hidden(struct strata_pipeline *pipeline, const struct said *said,
		       struct strata_array *ret_embeds, struct strata_error *err)
{
	const struct strata_array *first = &said->hidden[0], *second = &said->hidden[1];
	size_t tokens = (size_t)first->dims[1], width = (size_t)said->t5.dims[2];
	size_t one = (size_t)first->dims[2], two = (size_t)second->dims[2];
	size_t rest = (size_t)said->t5.dims[1] * width;
	const int64_t dims[] = { first->dims[0], first->dims[1] + said->t5.dims[1],
				 said->t5.dims[2] };

	if (one + two > width)
		return strata_fail(err, -ENOTSUP,
				   "the CLIP encoders of %.200s are %zu and %zu wide; expected %zu "
				   "together at most",
				   pipeline->folder, one, two, width);
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, 3, dims, ret_embeds, err);

	if (rc)
		return rc;
	memset(ret_embeds->data, 0, strata_array_bytes(ret_embeds));
	for (size_t i = 0; i < (size_t)dims[0]; i++) {
		float *to = (float *)ret_embeds->data + i * (tokens * width + rest);

		for (size_t k = 0; k < tokens; k++) {
			memcpy(to + k * width, (float *)first->data + (i * tokens + k) * one,
			       one * sizeof(float));
			memcpy(to + k * width + one, (float *)second->data + (i * tokens + k) * two,
			       two * sizeof(float));
		}
		memcpy(to + tokens * width, (float *)said->t5.data + i * rest,
		       rest * sizeof(float));
	}
	return 0;
}

static int join_pooled(struct strata_pipeline *pipeline, const struct said *said,
		       struct strata_array *ret_pooled, struct strata_error *err)
{
	size_t one = (size_t)said->pooled[0].dims[1], two = (size_t)said->pooled[1].dims[1];
	const int64_t dims[] = { said->pooled[0].dims[0], (int64_t)(one + two) };
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, 2, dims, ret_pooled, err);

	for (size_t i = 0; rc == 0 && i < (size_t)dims[0]; i++) {
		float *to = (float *)ret_pooled->data + i * (one + two);

		memcpy(to, (float *)said->pooled[0].data + i * one, one * sizeof(float));
		memcpy(to + one, (float *)said->pooled[1].data + i * two, two * sizeof(float));
	}
	return rc;
}

static int encode_prompts(struct strata_pipeline *pipeline, const char *const *prompts,
			  size_t count, struct strata_array *ret_tokens,
			  struct strata_array *ret_embeds, struct strata_array *ret_pooled,
			  struct strata_error *err)
{
	struct said said = { 0 };
	int rc = ask_encoders(pipeline, prompts, count, ret_tokens, &said, err);

	if (rc == 0)
		rc = join_hidden(pipeline, &said, ret_embeds, err);
	if (rc == 0)
		rc = join_pooled(pipeline, &said, ret_pooled, err);
	drop(&said);
	return rc;
}

static int encode(struct strata_pipeline *pipeline, const struct strata_pipeline_request *request,
		  struct strata_pipeline_run *run, struct strata_error *err)
{
	const char *const *texts[] = { request->prompts, request->negatives };
	struct strata_array pooled[2] = { { 0 } };
	int rc = 0;

	if (request->embeds.dtype != STRATA_DTYPE_NONE || !pipeline_has_text(pipeline, 0))
		return pipeline_encode_files(pipeline, request, run, err);
	if (!request->prompts)
		return strata_fail(err, -EINVAL, "there is no prompt");
	for (int i = 0; rc == 0 && i < (run->guided ? 2 : 1); i++)
		rc = encode_prompts(pipeline, texts[i], run->image_count, &run->tokens[i],
				    &run->embeds[i], &pooled[i], err);
	if (rc == 0)
		rc = pipeline_add_condition(run, "encoder_hidden_states", false,
					    strata_array_share(&run->embeds[0]),
					    run->guided ? strata_array_share(&run->embeds[1])
							: (struct strata_array){ 0 },
					    err);
	if (rc == 0)
		return pipeline_add_condition(run, "pooled_projections", false, pooled[0],
					      pooled[1], err);
	strata_array_drop(&pooled[0]);
	strata_array_drop(&pooled[1]);
	return rc;
}

static int solve(const struct strata_pipeline *pipeline, const struct strata_pipeline_run *run,
		 const json_t *scheduler, struct strata_arena *arena,
		 struct strata_solver_request *request, struct strata_error *err)
{
	int64_t patch = pipeline_whole(pipeline->denoiser_config, "patch_size", 2);

	(void)arena, (void)err;
	if (json_is_true(json_object_get(scheduler, "use_dynamic_shifting")) && patch >= 1) {
		request->has_mu = true;
		request->mu =
			pipeline_shift(scheduler, (double)(run->geometry.rows / patch) *
							  (double)(run->geometry.columns / patch));
	}
	return 0;
}

const struct pipeline_class pipeline_sd3 = {
	.base = {
		.name = "sd3",
		.aliases = "StableDiffusion3Pipeline, StableDiffusion3Img2ImgPipeline, ORTStableDiffusion3Pipeline",
		.summary = "Stable Diffusion 3: a flow-matching transformer",
	},
	.denoiser = "transformer",
	.sample = "hidden_states",
	.guidance = 7,
	.steps = 28,
	.guided = true,
	.has_vae = true,
	.timestep_scale = 1,
	.encode = encode,
	.solve = solve,
};
