/* strata engine image: a picture of a prompt. engine_image.c does it, in the full program. */
#include "cli/engine_options.h"

#include <strata/limits.h>

const struct strata_choice engine_previews[] = {
	{ "auto", ENGINE_PREVIEW_AUTO },     { "none", ENGINE_PREVIEW_NONE },
	{ "blocks", ENGINE_PREVIEW_BLOCKS }, { "sixel", ENGINE_PREVIEW_SIXEL },
	{ "kitty", ENGINE_PREVIEW_KITTY },   { 0 },
};

#define OFFSET(field) offsetof(struct engine_image_options, field)
static const struct strata_option rows[] = {
	{ "output", STRATA_TEXT, OFFSET(output), .text = { "image.png" }, .value = "FILE",
	  .letter = 'o', .help = "the PNG file to write, with the settings in it" },
	{ "solver", STRATA_TEXT, OFFSET(solver), .value = "NAME", .aliases = "sampler, scheduler",
	  .help = "any name that users know, as \"DPM++ 2M Karras\"; the folder's own when left "
		  "out" },
	{ "steps", STRATA_INT, OFFSET(steps), .integer = { 0, 0, STRATA_SOLVER_STEPS_MAX },
	  .help = "solver steps; 0: what the kind of pipeline usually takes" },
	{ "quality", STRATA_TEXT, OFFSET(quality), .value = "WORD",
	  .help = "exact: every model call; normal and draft leave some out, or as `strata "
		  "classes reuse` has them" },
	{ "seed", STRATA_INT, OFFSET(seed), .integer = { -1, -1, INT64_MAX },
	  .help = "where the noise starts; -1: somewhere else each time" },
	{ "guidance", STRATA_REAL, OFFSET(guidance), .real = { -1, -1, 1000 },
	  .aliases = "cfg_scale",
	  .help = "how much the prompt counts; -1: what the kind of pipeline usually takes" },
	{ "negative", STRATA_TEXT, OFFSET(negative), .value = "PROMPT",
	  .aliases = "negative_prompt", .help = "what should not be in the picture" },
	{ "size", STRATA_TEXT, OFFSET(size), .value = "WxH",
	  .help = "width and height, as 512x768; what the model was trained with when left out" },
	{ "init", STRATA_TEXT, OFFSET(init), .value = "FILE",
	  .help = "a PNG picture to start from (image to image)" },
	{ "strength", STRATA_REAL, OFFSET(strength), .real = { 0.75, 0, 1 },
	  .aliases = "denoising_strength", .help = "how much of that picture is drawn anew" },
	{ "scale", STRATA_INT, OFFSET(scale), .integer = { 1, 1, 64 },
	  .help = "write each pixel as a square of so many each way" },
	{ "preview", STRATA_ENUM, OFFSET(preview), .choice = { engine_previews, ENGINE_PREVIEW_AUTO },
	  .help = "show the picture in the terminal while it is drawn; auto: half blocks where "
		  "there are colours" },
	{ "noise", STRATA_TEXT, OFFSET(noise), .text = { "torch" }, .value = "SOURCE",
	  .help = "whose noise a seed stands for: `strata classes noise`" },
	{ "devices", STRATA_TEXT, OFFSET(devices), .text = { "cpu" }, .value = "LIST",
	  .help = "what computes: cpu, or sets of cores: cpu:0,cpu:1-3" },
	{ "backend", STRATA_TEXT, OFFSET(backend), .text = { "native" }, .value = "NAME",
	  .help = "what computes subgraphs: `strata classes backend`" },
	{ "budget", STRATA_TEXT, OFFSET(budget), .value = "SIZE",
	  .help = "most that weights may take in memory: 2GiB for all models together, or 33% of each" },
	{ "trace", STRATA_TEXT, OFFSET(trace), .value = "FILE",
	  .help = "write what happened when, for ui.perfetto.dev" },
	{ "experimental", STRATA_BOOL, OFFSET(experimental),
	  .help = "use what is new and less exact: weights of products in eight bits" },
	{ "experience", STRATA_TEXT, OFFSET(experience), .value = "FILE",
	  .help = "what earlier runs learned about times, to which this one adds; none: nothing; "
		  "the user's own when left out" },
	{ 0 }
};
static const struct strata_schema schema = { "engine image", NULL,
					     sizeof(struct engine_image_options), rows };

const struct cli_command cli_engine_image = {
	.name = "engine image",
	.operands = "DIR PROMPT",
	.summary = "draw a picture of a prompt",
	.about = "DIR is a pipeline in the ONNX layout of diffusers and optimum: model_index.json, "
		 "unet or transformer, text_encoder, tokenizer,\n"
		 "vae_decoder, scheduler. It may also be the name of a model that is installed "
		 "(digits), or that is in a directory of STRATA_MODELS.\n"
		 "The same seed gives the picture that diffusers draws on a "
		 "CPU. Where DIR has no text encoders the prompt\n"
		 "is the name of embeddings in it: prompts/NAME_embeds.npy and "
		 "prompts/NAME_pooled.npy.",
	.examples = "  strata engine image digits \"a seven\" -o seven.png --scale 8\n"
		    "  strata engine image models/sd15 \"a red bicycle\" -o bicycle.png --seed 42\n"
		    "  strata engine image models/sd15 \"oil painting\" --init photo.png "
		    "--strength 0.6",
	.options = &schema,
	.operands_min = 2,
	.operands_max = 2,
	.run = engine_image_run,
};
