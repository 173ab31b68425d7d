/* stable_diffusion: versions 1 and 2. A CLIP text encoder, a UNet with classifier-free guidance, a VAE. */
#include "engine/pipeline.h"

#include <errno.h>
#include <string.h>

static int encode_prompts(struct strata_pipeline *pipeline,
			  const struct strata_pipeline_request *request,
			  struct strata_pipeline_run *run, struct strata_error *err)
{
	static const char *const names[] = { "last_hidden_state" };
	const char *const *texts[] = { request->prompts, request->negatives };
	int rc = pipeline_text_open(pipeline, 0, err);

	for (int i = 0; rc == 0 && i < (run->guided ? 2 : 1); i++) {
		rc = pipeline_text_tokens(pipeline, 0, texts[i], run->image_count,
					  pipeline_text_room(pipeline, 0), &run->tokens[i], err);
		if (rc == 0)
			rc = pipeline_text_run(pipeline, 0, &run->tokens[i], names, 1,
					       &run->embeds[i], err);
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
