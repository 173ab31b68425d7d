/* strata worker: draws the pictures of a model's tasks. worker_run.c does it, in the full
 * program. */
#include "cli/worker_options.h"

#include <strata/text.h>

#define OFFSET(field) offsetof(struct worker_options, field)
static const struct strata_option rows[] = {
	{ "model", STRATA_TEXT, OFFSET(model), .value = "NAME", .flags = STRATA_REQUIRED,
	  .help = "whose tasks: a model that the service knows" },
	{ "folder", STRATA_TEXT, OFFSET(folder), .value = "DIR",
	  .help = "where the model is; as the service has it when left out" },
	{ "devices", STRATA_TEXT, OFFSET(devices), .text = { "cpu" }, .value = "LIST",
	  .help = "what computes: cpu, or sets of cores: cpu:0,cpu:1-3" },
	{ "backend", STRATA_TEXT, OFFSET(backend), .value = "NAME",
	  .help = "what computes subgraphs; as the service has it when left out" },
	{ "budget", STRATA_TEXT, OFFSET(budget), .value = "SIZE",
	  .help = "most that weights may take in memory: 2GiB for all models together, or 33% of "
		  "each" },
	{ "noise", STRATA_TEXT, OFFSET(noise), .text = { "torch" }, .value = "SOURCE",
	  .help = "whose noise a seed stands for: `strata classes noise`" },
	{ "call_limit", STRATA_DURATION, OFFSET(call_limit_ns),
	  .integer = { 600 * STRATA_SECOND_NS, STRATA_SECOND_NS, STRATA_DURATION_NS_MAX },
	  .value = "TIME",
	  .help = "a call of the model that takes longer hangs: its tasks go to another worker" },
	{ "away", STRATA_DURATION, OFFSET(away_ns),
	  .integer = { 600 * STRATA_SECOND_NS, 0, STRATA_DURATION_NS_MAX }, .value = "TIME",
	  .help = "it ends when the service is away for longer" },
	{ 0 }
};
static const struct strata_schema schema = { "worker", NULL, sizeof(struct worker_options), rows };

const struct cli_command cli_worker = {
	.name = "worker",
	.summary = "draw the pictures of a model's tasks, as a job of the service",
	.about = "The service starts workers itself, as jobs, when a model has tasks. A worker "
		 "asks for tasks with the\n"
		 "token of its job (STRATA_TOKEN_FILE), draws several at a time, hands over their "
		 "pictures and asks\n"
		 "again, until SIGTERM or the service ends it; what it had then is drawn by "
		 "another.",
	.examples = "  strata worker --model digits\n"
		    "  strata worker --model sdxl --folder /srv/models/sdxl --budget 8GiB",
	.options = &schema,
	.run = worker_run_cli,
};
