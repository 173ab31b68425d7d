/* strata stage plan: what stays in memory of a model that does not fit, and what a step then
 * takes. */
#include "cli/stage.h"

#include "formats/stage_schedule.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

struct plan_options {
	const char *layers, *model, *group, *planner;
	int64_t budget, bandwidth, page;
	double compute_ms;
	bool schedule;
};

static const struct strata_option plan_rows[] = {
	{ "layers", STRATA_TEXT, offsetof(struct plan_options, layers), .value = "FILE",
	  .help = "layers of the model, as JSON; - reads standard input" },
	{ "model", STRATA_TEXT, offsetof(struct plan_options, model), .value = "FILE",
	  .help = "or its weights: a .safetensors file, an index of several, an .onnx model, their "
		  "directory" },
	{ "group", STRATA_TEXT, offsetof(struct plan_options, group), .value = "PATTERNS",
	  .help = "which tensors are one layer: model.layers.*.mlp,model.layers.*; by number when "
		  "left out" },
	{ "compute_ms", STRATA_REAL, offsetof(struct plan_options, compute_ms), .unit = "ms",
	  .real = { 0, 0, 1e9 }, .help = "with --model: computing of a visit" },
	{ "budget", STRATA_BYTES, offsetof(struct plan_options, budget),
	  .integer = { 0, 1, INT64_MAX }, .flags = STRATA_REQUIRED,
	  .help = "memory for parameters, those on their way included" },
	{ "bandwidth", STRATA_RATE, offsetof(struct plan_options, bandwidth),
	  .integer = { INT64_C(1000000000), 1, INT64_MAX }, .help = "of what they are read from" },
	{ "page", STRATA_BYTES, offsetof(struct plan_options, page),
	  .integer = { 2 << 20, 1, INT64_C(1) << 40 }, .help = "size of a page" },
	{ "planner", STRATA_TEXT, offsetof(struct plan_options, planner), .text = { "best" },
	  .value = "SPEC", .help = "who chooses what stays: `strata classes planner`" },
	{ "schedule", STRATA_BOOL, offsetof(struct plan_options, schedule),
	  .help = "show every read, visit and release of a step" },
	{ 0 }
};
static const struct strata_schema plan_schema = { "stage plan", NULL, sizeof(struct plan_options),
						  plan_rows };

/* What makes the answer a document that `strata stage verify` and `simulate` read. */
static int add_schedule(json_t *json, const struct strata_stage_plan *plan,
			const struct strata_stage_model *model)
{
	json_t *layers = json_array(), *order = json_array(), *held = json_array();
	int rc = 0;

	for (size_t i = 0; i < model->layer_count; i++) {
		const struct strata_stage_layer *layer = &model->layers[i];

		rc |= json_array_append_new(layers,
					    json_pack("{s:s,s:I,s:f}", "name", layer->name, "bytes",
						      (json_int_t)layer->bytes, "compute_us",
						      (double)layer->compute_ns / 1e3));
	}
	for (size_t v = 0; v < model->visit_count; v++)
		rc |= json_array_append_new(
			order, json_string(model->layers[model->order ? model->order[v] : v].name));
	for (size_t i = 0; i < plan->layer_count; i++)
		rc |= json_array_append_new(held, json_integer(plan->held[i]));
	rc |= json_object_set_new(json, "layers", layers);
	rc |= json_object_set_new(json, "held", held);
	rc |= json_object_set_new(json, "order", order);
	rc |= json_object_set_new(json, "schedule", stage_schedule_json(plan, model));
	return rc;
}

static int print_json(struct cli *cli, const struct strata_stage_plan *plan,
		      const struct strata_stage_model *model, bool schedule)
{
	const struct strata_stage_metrics *metrics = &plan->metrics;
	json_t *json = json_pack(
		"{s:s,s:f,s:I,s:f,s:f,s:I,s:I,s:f,s:I,s:I}", "planner", plan->planner, "step_us",
		metrics->step_ns / 1e3, "bytes_per_step", (json_int_t)metrics->bytes_per_step,
		"lower_bound_us", metrics->lower_bound_ns / 1e3, "ratio", metrics->ratio,
		"peak_bytes", (json_int_t)metrics->peak_bytes, "min_bytes_per_step",
		(json_int_t)metrics->min_bytes_per_step, "compute_us", metrics->compute_ns / 1e3,
		"page_bytes", (json_int_t)plan->page_bytes, "budget_bytes",
		(json_int_t)plan->budget_pages * plan->page_bytes);

	if (json && schedule && add_schedule(json, plan, model)) {
		json_decref(json);
		json = NULL;
	}
	return cli_print_json(cli, json);
}

static int print_schedule(struct cli *cli, const struct strata_stage_plan *plan,
			  const struct strata_stage_model *model)
{
	struct buf line;

	buf_init(&line, &cli->memory, 0);
	cli_printf(cli, "\n");
	for (size_t i = 0; i < plan->entry_count; i++) {
		line.length = 0; /* a failure is kept */
		stage_schedule_add(&line, &plan->entries[i], model);
		cli_printf(cli, "%s\n", line.text);
	}
	int rc = buf_check(&line, &cli->err);

	buf_fini(&line);
	return rc;
}

static int print(struct cli *cli, const struct strata_stage_plan *plan,
		 const struct strata_stage_model *model, bool schedule)
{
	static const struct cli_column columns[] = {
		{ "PLANNER", .style = CLI_BOLD }, { "STEP", .right = true },
		{ "BOUND", .right = true },       { "RATIO", .right = true },
		{ "READ", .right = true },        { "AT LEAST", .right = true },
		{ "PEAK", .right = true },
	};
	const struct strata_stage_metrics *metrics = &plan->metrics;
	struct cli_table *table;

	if (cli->globals.json)
		return print_json(cli, plan, model, schedule);
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	cli_table_add(table, "%s", plan->planner);
	cli_table_add(table, "%.3f ms", metrics->step_ns / 1e6);
	cli_table_add(table, "%.3f ms", metrics->lower_bound_ns / 1e6);
	cli_table_add(table, "%.3f", metrics->ratio);
	cli_table_add(table, "%.1f MiB", (double)metrics->bytes_per_step / (1 << 20));
	cli_table_add(table, "%.1f MiB", (double)metrics->min_bytes_per_step / (1 << 20));
	cli_table_add(table, "%.1f MiB", (double)metrics->peak_bytes / (1 << 20));
	rc = cli_table_print(table);
	return rc || !schedule ? rc : print_schedule(cli, plan, model);
}

static int read_weights(struct cli *cli, const struct plan_options *options,
			struct strata_stage_model *ret_model)
{
	struct strata_weights weights;
	int rc = strata_weights_read(options->model, options->group, &cli->arena, &weights,
				     &cli->err);

	return rc ? rc
		  : strata_weights_model(&weights, (int64_t)(options->compute_ms * 1e6),
					 &cli->arena, ret_model, &cli->err);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct plan_options *options = conf;
	const struct strata_stage_machine machine = { options->page, options->budget,
						      options->bandwidth };
	struct strata_stage_model model;
	struct strata_stage_plan plan;
	struct strata_spec spec;

	(void)operands, (void)operand_count;
	if (!options->layers == !options->model)
		return strata_fail_at(&cli->err, -EINVAL, "layers",
				      "expected --layers FILE or --model FILE, and one of them");
	int rc = options->model ? read_weights(cli, options, &model)
				: stage_layers_read(cli, options->layers, &model);

	if (rc == 0)
		rc = cli_spec_read(cli, &strata_planner_kind, options->planner, &spec);
	if (rc == 0)
		rc = strata_stage_plan(&spec, &model, &machine, &cli->arena, &plan, &cli->err);
	if (rc == 0)
		rc = strata_stage_verify(&plan, &model, &cli->arena, &cli->err);
	return rc ? rc : print(cli, &plan, &model, options->schedule);
}

const struct cli_command cli_stage_plan = {
	.name = "stage plan",
	.summary = "plan which layers of a model stay in memory",
	.about =
		"The layers are visited in their order, step after step, and read over one channel "
		"into a budget that does not hold them all.\n"
		"STEP is the time of a step once they follow on each other, BOUND what no plan can "
		"beat: all computing, or the fewest bytes through\n"
		"the channel. READ is what a step reads, AT LEAST the fewest that any plan reads, "
		"PEAK the memory in use. The plan is verified first.\n"
		"The file: {\"layers\": [{\"name\": \"l0\", \"bytes\": 1048576, \"compute_us\": "
		"250}, "
		"…], \"order\": [\"l0\", …]}; without an order each once.\n"
		"--model takes the layers from the weights themselves: tensors with a number in "
		"their name belong to the layer of that number.",
	.examples =
		"  strata stage plan --layers model.json --budget 2GiB --bandwidth 1.5GB/s\n"
		"  strata stage plan --layers model.json --budget 2GiB --planner stream --json\n"
		"  strata stage plan --layers model.json --budget 64MiB --schedule\n"
		"  strata stage plan --model model.safetensors --budget 2GiB --compute-ms 12",
	.options = &plan_schema,
	.run = run,
};
