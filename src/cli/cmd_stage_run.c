/* strata stage run: streams a model through a budget, computes with it, and compares.
 * src/bench/stream_rounds.c measures. */
#include "cli/stage_run.h"

#include "sim/input.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>

static const struct strata_choice channels[] = {
	{ "auto", STRATA_STREAM_AUTO, "io_uring where the kernel has it, threads elsewhere" },
	{ "io_uring", STRATA_STREAM_URING, NULL },
	{ "threads", STRATA_STREAM_THREADS, "that wait in pread" },
	{ 0 }
};

static const struct strata_option run_rows[] = {
	{ "budget", STRATA_BYTES, offsetof(struct run_options, budget),
	  .integer = { 0, 1, INT64_MAX }, .flags = STRATA_REQUIRED,
	  .help = "memory for parameters, those on their way included" },
	{ "compute_ms", STRATA_REAL, offsetof(struct run_options, compute_ms), .unit = "ms",
	  .real = { 0, 0, 1e6 }, .help = "a visit takes this long, and looks at every byte" },
	{ "matmul", STRATA_INT, offsetof(struct run_options, matmul), .value = "M",
	  .integer = { 0, 1, 1 << 16 }, .help = "or: multiplies M rows with every matrix" },
	{ "rounds", STRATA_INT, offsetof(struct run_options, rounds),
	  .integer = { 3, 1, STREAM_ROUNDS_MAX },
	  .help = "how often all is measured; medians are shown" },
	{ "bandwidth", STRATA_RATE, offsetof(struct run_options, bandwidth),
	  .integer = { 0, 0, INT64_MAX }, .help = "for the plan; measured when left out" },
	{ "pace", STRATA_RATE, offsetof(struct run_options, pace), .integer = { 0, 0, INT64_MAX },
	  .help = "slows reading down to this rate" },
	{ "page", STRATA_BYTES, offsetof(struct run_options, page),
	  .integer = { 2 << 20, 4096, 1 << 30 }, .help = "size of a page" },
	{ "planner", STRATA_TEXT, offsetof(struct run_options, planner), .text = { "best" },
	  .value = "SPEC", .help = "who chooses what stays: `strata classes planner`" },
	{ "schedule", STRATA_TEXT, offsetof(struct run_options, schedule), .value = "FILE",
	  .help = "follow this schedule, as `strata stage verify` takes it, and not a planner's" },
	{ "group", STRATA_TEXT, offsetof(struct run_options, group), .value = "PATTERNS",
	  .help = "which tensors are one layer: model.layers.*.mlp,model.layers.*; by number when "
		  "left out" },
	{ "channel", STRATA_ENUM, offsetof(struct run_options, channel),
	  .choice = { channels, STRATA_STREAM_AUTO }, .help = "how files are read" },
	{ "cached", STRATA_BOOL, offsetof(struct run_options, cached),
	  .help = "read through the system's cache, not directly" },
	{ "threads", STRATA_INT, offsetof(struct run_options, threads), .integer = { 0, 0, 1024 },
	  .help = "that multiply; 0: as OpenBLAS likes" },
	{ "trace", STRATA_TEXT, offsetof(struct run_options, trace), .value = "FILE",
	  .help = "write the last steps as a trace for ui.perfetto.dev" },
	{ "plot", STRATA_TEXT, offsetof(struct run_options, plot), .value = "FILE",
	  .help = "draw the last steps as SVG" },
	{ 0 }
};
static const struct strata_schema run_schema = { "stage run", NULL, sizeof(struct run_options),
						 run_rows };

/* ---- what came of it ---- */

struct run {
	struct cli *cli;
	const struct run_options *options;
	struct stream_rounds rounds;
	struct stage_trace trace;
};

static int print_json(struct run *of, const struct stream_result *result)
{
	const struct strata_stream_metrics *metrics = &of->rounds.metrics;

	return cli_print_json(
		of->cli,
		json_pack("{s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:b,s:b,s:s,s:s,s:I,s:I,s:I}",
			  "step_us", result->step_ns / 1e3, "bound_us", result->bound_ns / 1e3,
			  "compute_us", result->compute_ns / 1e3, "read_us", result->io_ns / 1e3,
			  "overlap", result->overlap, "bytes_per_step",
			  (json_int_t)result->bytes_per_step, "bytes_read",
			  (json_int_t)metrics->bytes_asked, "disk_bytes",
			  (json_int_t)of->rounds.disk_bytes, "peak_bytes",
			  (json_int_t)metrics->peak_bytes, "budget_bytes",
			  (json_int_t)of->options->budget, "equal", 1, "direct", metrics->direct,
			  "channel", metrics->channel, "planner", of->rounds.planner, "layers",
			  (json_int_t)of->rounds.weights.layer_count, "bandwidth",
			  (json_int_t)of->rounds.bytes_per_s, "rounds",
			  (json_int_t)of->options->rounds));
}

static int print(struct run *of, const struct stream_result *result)
{
	static const struct cli_column columns[] = {
		{ "STEP", .right = true, .style = CLI_BOLD },
		{ "BOUND", .right = true },
		{ "COMPUTING", .right = true },
		{ "READING", .right = true },
		{ "OVERLAP", .right = true },
		{ "READ", .right = true },
		{ "FROM DISK", .right = true },
		{ "PEAK", .right = true },
		{ "RESULTS", .style = CLI_GREEN },
	};
	char read[STRATA_FORM_BYTES], disk[STRATA_FORM_BYTES], peak[STRATA_FORM_BYTES];
	struct cli_table *table;

	if (of->cli->globals.json)
		return print_json(of, result);
	int rc = cli_table_new(of->cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	cli_table_add(table, "%.3f ms", result->step_ns / 1e6);
	cli_table_add(table, "%.3f ms", result->bound_ns / 1e6);
	cli_table_add(table, "%.3f ms", result->compute_ns / 1e6);
	cli_table_add(table, "%.3f ms", result->io_ns / 1e6);
	cli_table_add(table, "%.3f", result->overlap);
	cli_table_add(table, "%s", strata_size_print_short(result->bytes_per_step, read));
	cli_table_add(
		table, "%s",
		of->rounds.disk_bytes < 0
			? "not known"
			: strata_size_print_short(of->rounds.disk_bytes / result->steps, disk));
	cli_table_add(table, "%s", strata_size_print_short(of->rounds.metrics.peak_bytes, peak));
	cli_table_add(table, "equal");
	return cli_table_print(table);
}

static int draw(struct run *of, const struct stream_result *result)
{
	const struct run_options *options = of->options;
	char budget[STRATA_FORM_BYTES], read[STRATA_FORM_BYTES], rate[STRATA_FORM_BYTES];
	const char *subtitle = strata_arena_printf(
		&of->cli->arena, "two steps; budget %s, %s read in each, %s, overlap %.3f",
		strata_size_print_short(options->budget, budget),
		strata_size_print_short(result->bytes_per_step, read),
		strata_rate_print_short(of->rounds.bytes_per_s, rate), result->overlap);

	if (!subtitle)
		return strata_fail_memory(&of->cli->err);
	return stage_picture_plot(of->cli, &of->rounds.spans, &of->rounds.weights, subtitle,
				  options->plot);
}

/* ---- the command ---- */

/* What the options say, and what files they name. */
static int read_options(struct run *of, struct stream_rounds_conf *ret_conf)
{
	const struct run_options *options = of->options;
	struct cli *cli = of->cli;

	*ret_conf = (struct stream_rounds_conf){
		.bench = { .rows = options->matmul,
			   .compute_ns = (int64_t)(options->compute_ms * 1e6),
			   .threads = (int)options->threads },
		.budget_bytes = options->budget,
		.page_bytes = options->page,
		.bytes_per_s = options->bandwidth,
		.pace_bytes_per_s = options->pace,
		.channel = (enum strata_stream_channel)options->channel,
		.cached = options->cached,
		.round_count = options->rounds,
		.spans = options->plot != NULL,
	};
	int rc = cli_spec_read(cli, &strata_planner_kind, options->planner, &ret_conf->planner);

	if (rc == 0 && options->schedule)
		rc = input_read(env_system(), options->schedule, STRATA_JSON_BYTES_MAX, &cli->arena,
				&ret_conf->schedule, &ret_conf->schedule_bytes, &cli->err);
	return rc;
}

static int measure(struct run *of)
{
	struct cli *cli = of->cli;
	int rc = of->options->trace ? stage_trace_open(cli, of->options->trace, &of->trace) : 0;

	of->rounds.conf.trace = of->trace.trace;
	if (rc == 0)
		rc = stream_rounds_run(&of->rounds, &cli->err);
	rc = stage_trace_close(cli, &of->trace, rc);
	if (rc)
		return rc;
	struct stream_result result = stream_rounds_judge(&of->rounds);

	if (of->options->plot)
		rc = draw(of, &result);
	return rc ? rc : print(of, &result);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct run of = { .cli = cli, .options = conf };
	struct stream_rounds_conf rounds;
	bool timed = origins_find(&cli->given, "compute_ms") != NULL;

	(void)operand_count;
	if (timed == (of.options->matmul > 0))
		return strata_fail_at(&cli->err, -EINVAL, "matmul",
				      "expected --matmul M or --compute-ms T, and one of them");
	int rc = read_options(&of, &rounds);

	if (rc == 0)
		rc = stream_rounds_open(&of.rounds, &rounds, operands[0], of.options->group,
					&cli->memory, &cli->arena, &cli->err);
	if (rc)
		return rc;
	rc = measure(&of);
	stream_rounds_close(&of.rounds);
	return rc;
}

const struct cli_command cli_stage_run = {
	.name = "stage run",
	.operands = "MODEL",
	.summary = "run a model from disk within a budget of memory, and compare",
	.about = "MODEL is a .safetensors file, an index of several, or their directory. Its "
		 "layers are "
		 "streamed through the budget by a plan, step after step,\n"
		 "and a visit computes with its layer: --matmul M multiplies M rows with every "
		 "matrix "
		 "(OpenBLAS), --compute-ms takes a time. What comes out is\n"
		 "compared, bit for bit, with the same computing on layers that were read whole.\n"
		 "Each round measures computing alone, reading alone and both together. BOUND is "
		 "the "
		 "longer of the two; OVERLAP is that over STEP: 1 when the shorter is hidden, "
		 "above 1\n"
		 "when the longer went slower alone than beside the other. READ is\n"
		 "what a step asked for, FROM DISK what the kernel counted for it, PEAK the memory "
		 "in "
		 "use at a time.",
	.examples = "  strata stage run model.safetensors --budget 2GiB --matmul 16\n"
		    "  strata stage run model/ --budget 512MiB --compute-ms 5 --plot run.svg\n"
		    "  strata stage run model.safetensors --budget 1GiB --matmul 64 --pace 400MB/s "
		    "--rounds 5 --json",
	.options = &run_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
