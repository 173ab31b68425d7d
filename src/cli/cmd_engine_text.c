/* strata engine text: a prompt, gone on with. engine_text.c does it, in the full program. */
#include "cli/engine_options.h"

#include <strata/limits.h>

#define OFFSET(field) offsetof(struct engine_text_options, field)
static const struct strata_option rows[] = {
	{ "tokens", STRATA_INT, OFFSET(tokens), .integer = { 64, 1, STRATA_LANGUAGE_TOKENS_MAX },
	  .letter = 'n', .help = "most that the answer may have" },
	{ "temperature", STRATA_REAL, OFFSET(temperature), .real = { 0, 0, 100 },
	  .help = "how much is left to chance; 0: always the likeliest token" },
	{ "top_k", STRATA_INT, OFFSET(top_k), .integer = { 0, 0, STRATA_TOKENIZER_TOKENS_MAX },
	  .help = "choose of so many tokens only; 0: of all" },
	{ "top_p", STRATA_REAL, OFFSET(top_p), .real = { 0, 0, 1 },
	  .help = "choose of the likeliest that have this share together; 0: of all" },
	{ "seed", STRATA_INT, OFFSET(seed), .integer = { 0, 0, INT64_MAX }, .help = "of chance" },
	{ "ids", STRATA_BOOL, OFFSET(ids),
	  .help = "PROMPT is numbers of tokens, and so is the answer" },
	{ "devices", STRATA_TEXT, OFFSET(devices), .text = { "cpu" }, .value = "LIST",
	  .help = "what computes: cpu, or sets of cores: cpu:0,cpu:1-3" },
	{ "backend", STRATA_TEXT, OFFSET(backend), .text = { "native" }, .value = "NAME",
	  .help = "what computes subgraphs: `strata classes backend`" },
	{ "budget", STRATA_TEXT, OFFSET(budget), .value = "SIZE",
	  .help = "most that weights may take in memory: 2GiB for all models together, or 33% of each" },
	{ "cache", STRATA_BYTES, OFFSET(cache), .integer = { 0, 0, INT64_MAX },
	  .help = "most that keys and values of earlier tokens may take; 0: no limit" },
	{ "experimental", STRATA_BOOL, OFFSET(experimental),
	  .help = "use what is new and less exact: weights of products in eight bits" },
	{ "experience", STRATA_TEXT, OFFSET(experience), .value = "FILE",
	  .help = "what earlier runs learned about times, to which this one adds; none: nothing; "
		  "the user's own when left out" },
	{ 0 }
};
static const struct strata_schema schema = { "engine text", NULL,
					     sizeof(struct engine_text_options), rows };

const struct cli_command cli_engine_text = {
	.name = "engine text",
	.operands = "DIR PROMPT",
	.summary = "go on with a text",
	.about = "DIR is a language model in optimum's ONNX layout: decoder_model.onnx, "
		 "decoder_with_past_model.onnx, and for texts\n"
		 "vocab.json and merges.txt.",
	.examples = "  strata engine text models/gpt2 \"Once upon a time\" --temperature 0.8 "
		    "--top-p 0.95\n"
		    "  strata engine text models/tiny \"88 12\" --ids",
	.options = &schema,
	.operands_min = 2,
	.operands_max = 2,
	.run = engine_text_run,
};
