/* strata engine bench: what the engine takes beside others, in one run. engine_bench.c does it, in the full program. */
#include "cli/engine_options.h"

static const struct strata_option dim_item = { "dim", STRATA_INT,
					       .integer = { 1, 0, INT64_MAX } };

#define OFFSET(field) offsetof(struct engine_bench_options, field)
static const struct strata_option rows[] = {
	{ "part", STRATA_TEXT, OFFSET(part), .text = { "native,ort,budget,place,devices" },
	  .value = "LIST", .help = "what is measured" },
	{ "dim", STRATA_MAP, OFFSET(dims), .list = { &dim_item, 256 }, .value = "NAME=N",
	  .help = "a dimension of the inputs, which are made up: batch=2; 1 when left out" },
	{ "rounds", STRATA_INT, OFFSET(rounds), .integer = { 9, 1, 1000 },
	  .help = "of each of the two that are compared, in turns; the median counts" },
	{ "share", STRATA_REAL, OFFSET(share), .real = { 1.0 / 3, 0.01, 1 },
	  .help = "of the weights that the budget holds" },
	{ "keep", STRATA_BOOL, OFFSET(keep),
	  .help = "keep the made-up network in the temporary directory, and use one that is there" },
	{ 0 }
};
static const struct strata_schema schema = { "engine bench", NULL,
					     sizeof(struct engine_bench_options), rows };

const struct cli_command cli_engine_bench = {
	.name = "engine bench",
	.operands = "[MODEL.onnx…]",
	.summary = "measure the engine beside ONNX Runtime and beside itself",
	.about = "Parts, each with ratios of what was measured in turns in this run:\n"
		 "native: CPU time of the native backend ÷ of one whole session of ONNX Runtime, one "
		 "thread each.\n"
		 "ort: CPU time of subgraphs by ONNX Runtime ÷ of one whole session.\n"
		 "budget: time of a call with a third of the weights, from a cold disk ÷ with all of "
		 "them, and what the stage level says that no plan can beat.\n"
		 "place: time of a call on two devices by mode of the place level, beside the best "
		 "device alone.\n"
		 "devices: calls a second over two devices of one core ÷ over one.\n"
		 "\n"
		 "Without models: those under $STRATA_DATA (graphs/onnx, golden/pipelines) and a network "
		 "of 78 million parameters that is\n"
		 "made up, in the shape of a diffusion model's UNet; budget and devices with that one "
		 "alone.",
	.examples = "  strata engine bench\n"
		    "  strata engine bench --part native model.onnx --dim batch=2\n"
		    "  STRATA_ONNXRUNTIME=/opt/libonnxruntime.so strata engine bench --part ort",
	.options = &schema,
	.operands_min = 0,
	.operands_max = -1,
	.run = engine_bench_run,
};
