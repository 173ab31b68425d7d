/*
 * Pipelines: from a prompt to a picture. A folder in the layout of diffusers and optimum (model_index.json, text_encoder, unet or transformer,
 * vae_decoder, vae_encoder, tokenizer, scheduler) is opened once; a request becomes a run, and a run is brought forward call by call:
 *
 *	strata_pipeline_open(engine, "models/tiny-sd", NULL, &memory, &pipeline, &err);
 *	strata_pipeline_encode(pipeline, &request, &run, &err);
 *	while (strata_pipeline_left(run))
 *		strata_pipeline_step(pipeline, &run, 1, &err);
 *	strata_pipeline_decode(pipeline, run, 0, &arena, &picture, &err);
 *
 * Between any two calls a run may join a batch, leave it, be saved and go on elsewhere: _step takes any number of runs, which stand where they stand. On the
 * native backend the picture's bytes do not depend on any of it. The same seed gives the picture that diffusers draws.
 *
 * A pipeline and its runs belong to the thread of their engine.
 */
#ifndef STRATA_PIPELINE_H
#define STRATA_PIPELINE_H

#include <strata/class.h>
#include <strata/engine.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Which architecture a folder holds: stable_diffusion, sd3, flux, class_conditional. */
extern const struct strata_kind strata_pipeline_kind;

struct strata_pipeline_conf {
	const char *cls;   /* a class of kind pipeline; NULL: the one that model_index.json names */
	const char *noise; /* a source of kind noise; NULL: "torch" */
	/* A folder whose models come before this one's (a UNet of another precision); NULL: none. */
	const char *over;
	int64_t budget_bytes; /* of weights in memory, for all models together; 0: all stay */
	double budget_share;  /* the same as a share of the weights, of each model; 0: budget_bytes */
};

struct strata_pipeline;
/* `folder` may be the name of a model in a directory of STRATA_MODELS or of one that is installed with the library: "digits". */
int strata_pipeline_open(struct strata_engine *engine, const char *folder,
			 const struct strata_pipeline_conf *conf, struct strata_memory *memory,
			 struct strata_pipeline **ret_pipeline, struct strata_error *err);
/* All runs must be freed. NULL is nothing. */
void strata_pipeline_close(struct strata_pipeline *pipeline);
const struct strata_class *strata_pipeline_class(const struct strata_pipeline *pipeline);

/*
 * From now on the trace has a lane with what is asked of the pipeline: encode, a slice for each step with its rows inside, decode. A request
 * that has a flow is tied to its slices by it. The trace is borrowed until the pipeline is closed; strata_engine_trace adds what is underneath.
 */
int strata_pipeline_trace(struct strata_pipeline *pipeline, struct strata_trace *trace,
			  uint32_t tid, struct strata_error *err);

/* A picture: rows of red, green and blue, a byte each. */
struct strata_picture {
	uint32_t width, height;
	uint8_t *rgb; /* height · width · 3 */
};

/* What is asked for. Zeroed but for the prompts it is text to image with the pipeline's defaults. Everything is borrowed during the call. */
struct strata_pipeline_request {
	size_t image_count;           /* pictures; 0: 1 */
	const char *const *prompts;   /* one for each */
	const char *const *negatives; /* one for each; NULL: "" */
	/* In place of prompts: float32 [image_count, tokens, width] and [image_count, width]; dtype NONE: there are none. */
	struct strata_array embeds, pooled, negative_embeds, negative_pooled;
	const int64_t *labels; /* of a class_conditional model, in place of prompts; NULL: none */
	const char *solver;    /* what strata_solver_read takes; NULL: the folder's */
	const char *scheduler_config; /* in place of the folder's scheduler_config.json; NULL */
	int64_t steps;                /* 0: the pipeline's default */
	const char *quality; /* exact, normal, draft, or a spec of kind reuse; NULL: exact */
	bool has_guidance;
	double guidance;
	/* One for each picture; or one for all, which are then drawn as torch draws a batch. NULL: 0. */
	const uint64_t *seeds;
	size_t seed_count;
	uint32_t width, height;            /* 0: what the model was trained with */
	const struct strata_picture *init; /* image to image; of that size. NULL: text to image */
	double strength;                   /* with init: 0 to 1 */
	uint64_t flow; /* what ties it together in a trace, such as the number of a task; 0: nothing */
};

struct strata_pipeline_run;

/* Encodes prompts and picture, compiles the solver and draws the first noise. -EINVAL, -ERANGE for what cannot be; -ENOTSUP where the folder lacks what is
 * asked for; and what strata_engine_run returns. */
int strata_pipeline_encode(struct strata_pipeline *pipeline,
			   const struct strata_pipeline_request *request,
			   struct strata_pipeline_run **ret_run, struct strata_error *err);
void strata_pipeline_run_free(struct strata_pipeline_run *run); /* NULL is nothing */

/* Model calls that are left and that there are in all; of an adaptive solver 1 until it ends. */
size_t strata_pipeline_left(const struct strata_pipeline_run *run);
size_t strata_pipeline_calls(const struct strata_pipeline_run *run);
/* What the next call tells the model; 0 at the end. */
double strata_pipeline_timestep(const struct strata_pipeline_run *run);
/* Solver steps, the solver's name and the guidance that count. */
size_t strata_pipeline_steps(const struct strata_pipeline_run *run);
const char *strata_pipeline_solver(const struct strata_pipeline_run *run);
double strata_pipeline_guidance(const struct strata_pipeline_run *run);
/* Runs of the same number here can share a model call. */
uint64_t strata_pipeline_batch_key(const struct strata_pipeline_run *run);

/* One model call and one solver row for each run; all must have one left. No run has changed after a failure. */
int strata_pipeline_step(struct strata_pipeline *pipeline, struct strata_pipeline_run *const *runs,
			 size_t count, struct strata_error *err);

/* Picture number `image` of a run, wherever it stands; rgb is in the arena. */
int strata_pipeline_decode(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			   size_t image, struct strata_arena *arena,
			   struct strata_picture *ret_picture, struct strata_error *err);
/* The same, rough and cheap: in the size of the latents, by a straight map from their channels to colours that is fitted to the decoder once. */
int strata_pipeline_preview(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			    size_t image, struct strata_arena *arena,
			    struct strata_picture *ret_picture, struct strata_error *err);

/* Where a run stands, as bytes in the arena; and back, into a run of the same request. -EBADMSG for bytes of another one. */
int strata_pipeline_save(const struct strata_pipeline_run *run, struct strata_arena *arena,
			 void **ret_bytes, size_t *ret_count, struct strata_error *err);
int strata_pipeline_restore(struct strata_pipeline_run *run, const void *bytes, size_t count,
			    struct strata_error *err);

/* ---- for those who check ---- */

/* The latents as they stand: image_count times element_count numbers, borrowed until the next step. */
const float *strata_pipeline_latents(const struct strata_pipeline_run *run, size_t *ret_count);
/* Tokens and embeddings of a text prompt, if the class has them; dtype NONE if not. Shared: the caller drops them. */
struct strata_array strata_pipeline_tokens(const struct strata_pipeline_run *run, bool negative);
struct strata_array strata_pipeline_embeds(const struct strata_pipeline_run *run, bool negative);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
