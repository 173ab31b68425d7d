/* strata engine conformance: ONNX's own test data. engine_conformance.c does it, in the full program. */
#include "cli/engine_options.h"

#define OFFSET(field) offsetof(struct engine_conformance_options, field)
static const struct strata_option rows[] = {
	{ "backend", STRATA_TEXT, OFFSET(backend), .text = { "native" }, .value = "NAME",
	  .help = "what computes: `strata classes backend`" },
	{ "devices", STRATA_TEXT, OFFSET(devices), .text = { "cpu" }, .value = "LIST",
	  .help = "on what: cpu, or sets of cores: cpu:0,cpu:1" },
	{ 0 }
};
static const struct strata_schema schema = { "engine conformance", NULL,
					     sizeof(struct engine_conformance_options), rows };

const struct cli_command cli_engine_conformance = {
	.name = "engine conformance",
	.operands = "DIR…",
	.summary = "run directories of model.onnx with inputs and expected outputs",
	.about = "Each directory has a model.onnx and test_data_set_0 … with input_0.pb … and "
		 "output_0.pb …, as ONNX publishes them\n"
		 "(Debian: libonnx-testdata). A model is right, wrong (a result differs by more than "
		 "rounding) or refused, with the reason.\n"
		 "Exit status 1 when one is wrong.",
	.examples = "  strata engine conformance /usr/share/libonnx-testdata/data/node/*",
	.options = &schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = engine_conformance_run_cli,
};
