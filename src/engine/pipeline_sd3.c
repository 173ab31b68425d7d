/* sd3: Stable Diffusion 3, a flow-matching transformer with classifier-free guidance. Embeddings of prompts come as arrays or from the folder's prompts/. */
#include "engine/pipeline.h"

static int solve(const struct strata_pipeline *pipeline, const struct strata_pipeline_run *run,
		 const json_t *scheduler, struct strata_arena *arena,
		 struct strata_solver_request *request, struct strata_error *err)
{
	double patch = pipeline_number(pipeline->denoiser_config, "patch_size", 2);

	(void)arena, (void)err;
	if (json_is_true(json_object_get(scheduler, "use_dynamic_shifting")) && patch >= 1) {
		request->has_mu = true;
		request->mu = pipeline_shift(
			scheduler, (double)(run->geometry.rows / (int64_t)patch) *
					   (double)(run->geometry.columns / (int64_t)patch));
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
	.encode = pipeline_encode_files,
	.solve = solve,
};
