/* strata engine replay: reference runs of pipelines and language models, gone through again. engine_replay.c does it, in the full program. */
#include "cli/engine_options.h"

#define OFFSET(field) offsetof(struct engine_replay_options, field)
static const struct strata_option rows[] = {
	{ "devices", STRATA_TEXT, OFFSET(devices), .text = { "cpu" }, .value = "LIST",
	  .help = "what computes: cpu, or sets of cores: cpu:0,cpu:1-3" },
	{ "backend", STRATA_TEXT, OFFSET(backend), .text = { "native" }, .value = "NAME",
	  .help = "what computes subgraphs: `strata classes backend`" },
	{ "budget", STRATA_TEXT, OFFSET(budget), .value = "SHARE",
	  .help = "share of each model's weights that may be in memory: 33%" },
	{ "over", STRATA_TEXT, OFFSET(over), .value = "DIR",
	  .help = "a folder whose models come before those beside the file" },
	{ 0 }
};
static const struct strata_schema schema = { "engine replay", NULL,
					     sizeof(struct engine_replay_options), rows };

const struct cli_command cli_engine_replay = {
	.name = "engine replay",
	.operands = "CASES.json…",
	.summary = "go through reference runs of pipelines again and compare",
	.about =
		"CASES.json lists requests and the .npy files of what came of each: tokens, "
		"embeddings, first latents, those after every step,\n"
		"the picture; of a language model tokens, logits and caches. The models are beside "
		"it. WORST is the largest error in units of\n"
		"what is allowed. Exit status 1 when a case fails.",
	.examples = "  strata engine replay golden/tiny-sd/cases.json --budget 33%",
	.options = &schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = engine_replay_run,
};
