/* strata engine run: one model, some calls, what they took. engine_run.c does it, in the full program. */
#include "cli/engine_options.h"
#include "cli/place_model.h"

static const struct strata_option file_item = { "file", STRATA_TEXT,
						.help = "a .npy file" };
static const struct strata_option dim_item = { "dim", STRATA_INT,
					       .integer = { 1, 0, INT64_MAX } };

#define OFFSET(field) offsetof(struct engine_run_options, field)
static const struct strata_option rows[] = {
	{ "input", STRATA_MAP, OFFSET(inputs), .list = { &file_item, 256 }, .value = "NAME=FILE",
	  .help = "an input as a .npy file; made up when left out" },
	{ "dim", STRATA_MAP, OFFSET(dims), .list = { &dim_item, 256 }, .value = "NAME=N",
	  .help = "a dimension of inputs that are made up: batch=2; 1 when left out" },
	{ "output", STRATA_TEXT, OFFSET(output), .value = "DIR",
	  .help = "write each output to DIR/NAME.npy" },
	{ "devices", STRATA_TEXT, OFFSET(devices), .text = { "cpu" }, .value = "LIST",
	  .help = "what computes: cpu, or sets of cores: cpu:0,cpu:1-3" },
	{ "budget", STRATA_TEXT, OFFSET(budget), .value = "SIZE",
	  .help = "most that weights may take in memory: 2GiB, or 33% of them; no limit when left out" },
	{ "backend", STRATA_TEXT, OFFSET(backend), .text = { "native" }, .value = "NAME",
	  .help = "what computes subgraphs: `strata classes backend`" },
	{ "mode", STRATA_ENUM, OFFSET(mode), .choice = { place_modes, STRATA_MODE_AUTO },
	  .help = "how much is tried to share several devices out" },
	{ "objective", STRATA_ENUM, OFFSET(objective),
	  .choice = { place_objectives, STRATA_LATENCY }, .help = "and for what" },
	{ "repeat", STRATA_INT, OFFSET(repeat), .integer = { 5, 1, 1000000 },
	  .help = "how often it is called" },
	{ "experimental", STRATA_BOOL, OFFSET(experimental),
	  .help = "use what is new and less exact: weights of products in eight bits" },
	{ "experience", STRATA_TEXT, OFFSET(experience), .value = "FILE",
	  .help = "what earlier runs learned about times, to which this one adds; none: nothing; "
		  "the user's own when left out" },
	{ "trace", STRATA_TEXT, OFFSET(trace), .value = "FILE",
	  .help = "write what happened when, for ui.perfetto.dev" },
	{ 0 }
};
static const struct strata_schema schema = { "engine run", NULL,
					     sizeof(struct engine_run_options), rows };

const struct cli_command cli_engine_run = {
	.name = "engine run",
	.operands = "MODEL.onnx",
	.summary = "run a model and show what each of its subgraphs took",
	.about = "A model is cut into subgraphs: runs of operators that one device computes in one "
		 "go. The table has, for each, its device,\n"
		 "the bytes of its weights, and the time of a call as it was predicted and as it was "
		 "observed.\n"
		 "\n"
		 "With --budget, weights that do not fit come and go as the stage level plans; the "
		 "result is the same to the bit.",
	.examples = "  strata engine run model.onnx\n"
		    "  strata engine run model.onnx --dim batch=4 --budget 33%\n"
		    "  strata engine run model.onnx --input sample=x.npy --output out --devices "
		    "cpu:0,cpu:1 --objective throughput",
	.options = &schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = engine_run_run,
};
