/* stable_diffusion: versions 1 and 2. A CLIP text encoder, a UNet with classifier-free guidance, a VAE. */
#include "engine/pipeline.h"

#include <errno.h>
#include <string.h>

enum { ROOM_MAX = 1024 };

/* Tokens of the prompts: [pictures, room]. */
static int make_tokens(struct strata_pipeline *pipeline, const char *const *prompts, size_t count,
		       struct strata_array *ret_ids, struct strata_error *err)
{
	int64_t room = strata_tokenizer_longest(pipeline->tokenizer);
	const int64_t dims[] = { (int64_t)count, room = room < 2 || room > ROOM_MAX ? 77 : room };
	struct strata_arena arena;
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_I64, 2, dims, ret_ids, err);

	if (rc)
		return rc;
	strata_arena_init(&arena, pipeline->memory, 0);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = strata_tokenizer_prompt(pipeline->tokenizer, prompts ? prompts[i] : "",
					     STRATA_TEXT_NUL, (size_t)room, &arena,
					     (int64_t *)ret_ids->data + (int64_t)i * room, err);
	strata_arena_fini(&arena);
	if (rc)
		strata_array_drop(ret_ids);
	return rc;
}

static int run_encoder(struct strata_pipeline *pipeline, const struct strata_array *ids,
		       struct strata_array *ret_embeds, struct strata_error *err)
{
	struct strata_engine_model *model = pipeline->text_encoder;
	struct strata_array input, outputs[64] = { { 0 } };
	size_t count = strata_engine_output_count(model);
	int at = strata_engine_output_find(model, "last_hidden_state");

	if (strata_engine_input_count(model) != 1 || at < 0 || count > 64)
		return strata_fail(err, -ENOTSUP,
				   "%.200s/text_encoder/model.onnx has no last_hidden_state of "
				   "input_ids alone",
				   pipeline->folder);
	int rc = strata_array_cast(pipeline->engine, ids, strata_engine_input_at(model, 0)->dtype,
				   &input, err);

	if (rc)
		return rc;
	rc = strata_engine_run(model, &input, outputs, err);
	if (rc == 0)
		rc = strata_array_cast(pipeline->engine, &outputs[at], STRATA_DTYPE_F32, ret_embeds,
				       err);
	strata_array_drop(&input);
	for (size_t i = 0; i < count; i++)
		strata_array_drop(&outputs[i]);
	return rc;
}

static int encode_prompts(struct strata_pipeline *pipeline,
			  const struct strata_pipeline_request *request,
			  struct strata_pipeline_run *run, struct strata_error *err)
{
	const char *const *texts[] = { request->prompts, request->negatives };
	int rc = 0;

	if (!pipeline->tokenizer)
		return strata_fail(err, -ENOTSUP,
				   "%.200s has no tokenizer (vocab.json and merges.txt)",
				   pipeline->folder);
	rc = pipeline_model(pipeline, "text_encoder", &pipeline->text_encoder, err);
	for (int i = 0; rc == 0 && i < (run->guided ? 2 : 1); i++) {
		rc = make_tokens(pipeline, texts[i], run->image_count, &run->tokens[i], err);
		if (rc == 0)
			rc = run_encoder(pipeline, &run->tokens[i], &run->embeds[i], err);
	}
	return rc;
}

static int encode(struct strata_pipeline *pipeline, const struct strata_pipeline_request *request,
		  struct strata_pipeline_run *run, struct strata_error *err)
{
	const struct strata_array *given[] = { &request->embeds, &request->negative_embeds };
	int rc = 0;

	if (request->embeds.dtype == STRATA_DTYPE_NONE) {
		if (!request->prompts)
			return strata_fail(err, -EINVAL, "there is no prompt");
		rc = encode_prompts(pipeline, request, run, err);
	}
	for (int i = 0; rc == 0 && i < (run->guided ? 2 : 1); i++)
		if (request->embeds.dtype != STRATA_DTYPE_NONE) {
			if (given[i]->dtype != STRATA_DTYPE_F32)
				return strata_fail(
					err, -EINVAL,
					"embeddings of the prompt and, with guidance, of "
					"the negative one are float32 arrays");
			rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, given[i]->rank,
					       given[i]->dims, &run->embeds[i], err);
			if (rc == 0)
				memcpy(run->embeds[i].data, given[i]->data,
				       strata_array_bytes(given[i]));
		}
	return rc ? rc
		  : pipeline_add_condition(run, "encoder_hidden_states", false,
					   strata_array_share(&run->embeds[0]),
					   run->guided ? strata_array_share(&run->embeds[1])
						       : (struct strata_array){ 0 },
					   err);
}

const struct pipeline_class pipeline_stable_diffusion = {
	.base = {
		.name = "stable_diffusion",
		.aliases = "StableDiffusionPipeline, StableDiffusionImg2ImgPipeline, "
			   "OnnxStableDiffusionPipeline, ORTStableDiffusionPipeline, LatentConsistencyModelPipeline",
		.summary = "Stable Diffusion 1.x and 2.x: CLIP, UNet, VAE",
	},
	.denoiser = "unet",
	.sample = "sample",
	.guidance = 7.5,
	.steps = 20,
	.guided = true,
	.has_vae = true,
	.timestep_scale = 1,
	.encode = encode,
};
