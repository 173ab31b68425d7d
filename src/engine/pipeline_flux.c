/*
 * flux: a flow-matching transformer on packed latents that takes guidance as an input. A prompt goes through CLIP, of which only what it pools is taken, and
 * through T5 (text_encoder_2). Without encoders, embeddings come as arrays or from the folder's prompts/.
 */
#include "engine/pipeline.h"

#include <errno.h>
#include <string.h>

enum { CLIP, T5, T5_TOKENS = 512 };

/* Where each token of the picture is: (0, row, column). */
static int add_image_ids(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			 struct strata_error *err)
{
	const int64_t dims[] = { run->geometry.dims[0], 3 };
	int64_t columns = run->geometry.columns / 2;
	struct strata_array ids;
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_I64, 2, dims, &ids, err);

	if (rc)
		return rc;
	for (int64_t i = 0; i < dims[0]; i++) {
		int64_t *id = (int64_t *)ids.data + i * 3;

		id[0] = 0;
		id[1] = i / columns;
		id[2] = i % columns;
	}
	return pipeline_add_condition(run, "img_ids", true, ids, (struct strata_array){ 0 }, err);
}

static int add_text_ids(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			struct strata_error *err)
{
	const struct strata_array *embeds = &run->conditions[0].positive;
	const int64_t dims[] = { embeds->rank == 3 ? embeds->dims[1] : 0, 3 };
	struct strata_array ids;
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_I64, 2, dims, &ids, err);

	if (rc)
		return rc;
	memset(ids.data, 0, strata_array_bytes(&ids));
	return pipeline_add_condition(run, "txt_ids", true, ids, (struct strata_array){ 0 }, err);
}

static int add_guidance(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			struct strata_error *err)
{
	const int64_t dims[] = { (int64_t)run->image_count };
	struct strata_array guidance;

	if (strata_engine_input_find(pipeline->denoiser, "guidance") < 0)
		return 0; /* distilled without it (schnell) */
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, 1, dims, &guidance, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < run->image_count; i++)
		((float *)guidance.data)[i] = run->guidance;
	return pipeline_add_condition(run, "guidance", false, guidance, (struct strata_array){ 0 },
				      err);
}

static int pool_prompts(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			const char *const *prompts, struct strata_array *ret_pooled,
			struct strata_error *err)
{
	static const char *const names[] = { "pooler_output" };
	int rc = pipeline_text_open(pipeline, CLIP, err);

	if (rc == 0)
		rc = pipeline_text_tokens(pipeline, CLIP, prompts, run->image_count,
					  pipeline_text_room(pipeline, CLIP), &run->tokens[0], err);
	return rc ? rc
		  : pipeline_text_run(pipeline, CLIP, &run->tokens[0], names, 1, ret_pooled, err);
}

static int encode_prompts(struct strata_pipeline *pipeline,
			  const struct strata_pipeline_request *request,
			  struct strata_pipeline_run *run, struct strata_error *err)
{
	const struct strata_array none = { 0 };
	struct strata_array pooled = { 0 };

	if (request->embeds.dtype != STRATA_DTYPE_NONE || !pipeline_has_text(pipeline, CLIP))
		return pipeline_encode_files(pipeline, request, run, err);
	if (!request->prompts)
		return strata_fail(err, -EINVAL, "there is no prompt");
	int rc = pool_prompts(pipeline, run, request->prompts, &pooled, err);

	if (rc == 0)
		rc = pipeline_text_t5(pipeline, T5, request->prompts, run->image_count, T5_TOKENS,
				      &run->embeds[0], err);
	if (rc == 0)
		rc = pipeline_add_condition(run, "encoder_hidden_states", false,
					    strata_array_share(&run->embeds[0]), none, err);
	if (rc == 0)
		return pipeline_add_condition(run, "pooled_projections", false, pooled, none, err);
	strata_array_drop(&pooled);
	return rc;
}

static int encode(struct strata_pipeline *pipeline, const struct strata_pipeline_request *request,
		  struct strata_pipeline_run *run, struct strata_error *err)
{
	int rc = encode_prompts(pipeline, request, run, err);

	if (rc == 0)
		rc = add_image_ids(pipeline, run, err);
	if (rc == 0)
		rc = add_text_ids(pipeline, run, err);
	return rc ? rc : add_guidance(pipeline, run, err);
}

/* Noise levels 1 … 1/n, shifted by the number of tokens. */
static int solve(const struct strata_pipeline *pipeline, const struct strata_pipeline_run *run,
		 const json_t *scheduler, struct strata_arena *arena,
		 struct strata_solver_request *request, struct strata_error *err)
{
	size_t count = (size_t)(request->steps > 0 ? request->steps : 1);
	double *sigmas;

	(void)pipeline;
	if (json_is_true(json_object_get(scheduler, "use_dynamic_shifting"))) {
		request->has_mu = true;
		request->mu = pipeline_shift(scheduler, (double)run->geometry.dims[0]);
	}
	if (request->steps < 1 || request->steps > STRATA_SOLVER_STEPS_MAX)
		return 0; /* refused by the solver */
	sigmas = strata_arena_array(arena, count, sizeof(*sigmas));
	if (!sigmas)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		sigmas[i] = count == 1 ? 1
				       : 1 + (1.0 / (double)count - 1) * (double)i /
							 (double)(count - 1);
	request->sigmas = sigmas;
	request->sigma_count = count;
	request->steps = 0;
	return 0;
}

const struct pipeline_class pipeline_flux = {
	.base = {
		.name = "flux",
		.aliases = "FluxPipeline, FluxImg2ImgPipeline, ORTFluxPipeline",
		.summary = "FLUX: a flow-matching transformer with guidance as an input",
	},
	.denoiser = "transformer",
	.sample = "hidden_states",
	.guidance = 3.5,
	.steps = 28,
	.has_vae = true,
	.packed = true,
	.timestep_scale = 0.001,
	.encode = encode,
	.solve = solve,
};
