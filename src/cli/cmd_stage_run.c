/* strata stage run: streams a model through a budget, computes with it, and compares. stage_rounds.c has what is measured. */
#include "cli/stage_run.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 1000 };

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
	  .integer = { 3, 1, ROUNDS_MAX }, .help = "how often all is measured; medians are shown" },
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

struct result {
	double compute_ns, io_ns, step_ns, bound_ns, overlap;
	int64_t steps, bytes_per_step;
};

static int by_value(const void *one, const void *two)
{
	double a = *(const double *)one, b = *(const double *)two;

	return a < b ? -1 : a > b;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Medians over rounds; bound and overlap are of each round. */
static struct result judge(const struct bench *bench)
{
	size_t count = (size_t)bench->options->rounds;
	double compute[ROUNDS_MAX] = { 0 }, io[ROUNDS_MAX] = { 0 }, steps[ROUNDS_MAX] = { 0 },
	       bounds[ROUNDS_MAX] = { 0 }, overlaps[ROUNDS_MAX] = { 0 };
	struct result result = { .steps = (int64_t)bench->metrics.progress.steps };

	for (size_t i = 0; i < count; i++) {
		const struct round *round = &bench->rounds[i];

		compute[i] = round->compute_ns;
		io[i] = round->io_ns;
		steps[i] = round->step_ns;
		bounds[i] = compute[i] > io[i] ? compute[i] : io[i];
		overlaps[i] = bounds[i] / steps[i];
	}
	result.compute_ns = median(compute, count);
	result.io_ns = median(io, count);
	result.step_ns = median(steps, count);
	result.bound_ns = median(bounds, count);
	result.overlap = median(overlaps, count);
	result.bytes_per_step = bench->metrics.bytes_asked / (result.steps ? result.steps : 1);
	return result;
}

static int print_json(struct bench *bench, const struct result *result)
{
	const struct strata_stream_metrics *metrics = &bench->metrics;

	return cli_print_json(
		bench->cli,
		json_pack("{s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:b,s:b,s:s,s:s,s:I,s:I,s:I}",
			  "step_us", result->step_ns / 1e3, "bound_us", result->bound_ns / 1e3,
			  "compute_us", result->compute_ns / 1e3, "read_us", result->io_ns / 1e3,
			  "overlap", result->overlap, "bytes_per_step",
			  (json_int_t)result->bytes_per_step, "bytes_read",
			  (json_int_t)metrics->bytes_asked, "disk_bytes",
			  (json_int_t)bench->disk_bytes, "peak_bytes",
			  (json_int_t)metrics->peak_bytes, "budget_bytes",
			  (json_int_t)bench->options->budget, "equal", 1, "direct", metrics->direct,
			  "channel", metrics->channel, "planner", bench->planner, "layers",
			  (json_int_t)bench->weights.layer_count, "bandwidth",
			  (json_int_t)bench->bandwidth, "rounds",
			  (json_int_t)bench->options->rounds));
}

static int print(struct bench *bench, const struct result *result)
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

	if (bench->cli->globals.json)
		return print_json(bench, result);
	int rc = cli_table_new(bench->cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	cli_table_add(table, "%.3f ms", result->step_ns / 1e6);
	cli_table_add(table, "%.3f ms", result->bound_ns / 1e6);
	cli_table_add(table, "%.3f ms", result->compute_ns / 1e6);
	cli_table_add(table, "%.3f ms", result->io_ns / 1e6);
	cli_table_add(table, "%.3f", result->overlap);
	cli_table_add(table, "%s", strata_size_print_short(result->bytes_per_step, read));
	cli_table_add(table, "%s",
		      bench->disk_bytes < 0
			      ? "not known"
			      : strata_size_print_short(bench->disk_bytes / result->steps, disk));
	cli_table_add(table, "%s", strata_size_print_short(bench->metrics.peak_bytes, peak));
	cli_table_add(table, "equal");
	return cli_table_print(table);
}

static int draw(struct bench *bench, const struct result *result)
{
	const struct run_options *options = bench->options;
	char budget[STRATA_FORM_BYTES], read[STRATA_FORM_BYTES], rate[STRATA_FORM_BYTES];
	const char *subtitle = strata_arena_printf(
		&bench->cli->arena, "two steps; budget %s, %s read in each, %s, overlap %.3f",
		strata_size_print_short(options->budget, budget),
		strata_size_print_short(result->bytes_per_step, read),
		strata_rate_print_short(bench->bandwidth, rate), result->overlap);

	if (!subtitle)
		return strata_fail_memory(&bench->cli->err);
	return stage_picture_plot(bench->cli, &bench->spans, &bench->weights, subtitle,
				  options->plot);
}

/* ---- the command ---- */

static int prepare(struct bench *bench, const char *path)
{
	struct cli *cli = bench->cli;
	size_t most = 0;
	int rc = strata_weights_read(path, bench->options->group, &cli->arena, &bench->weights,
				     &cli->err);

	if (rc)
		return rc;
	size_t count = bench->weights.layer_count;

	bench->layers = strata_arena_array(&cli->arena, count, sizeof(*bench->layers));
	bench->digests = strata_arena_array(&cli->arena, count, sizeof(*bench->digests));
	bench->rounds = strata_arena_array(&cli->arena, (size_t)bench->options->rounds,
					   sizeof(*bench->rounds));
	for (size_t i = 0; i < count; i++)
		if (bench->weights.layers[i].tensor_count > most)
			most = bench->weights.layers[i].tensor_count;
	bench->tensors = strata_arena_array(&cli->arena, most, sizeof(*bench->tensors));
	if (!bench->layers || !bench->digests || !bench->rounds || !bench->tensors)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < count; i++)
		bench->layers[i] =
			(struct strata_stream_layer){ bench->weights.layers[i].name,
						      bench->weights.layers[i].extents,
						      bench->weights.layers[i].tensor_count, 0 };
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct run_options *options = conf;
	struct bench bench = { .cli = cli,
			       .options = options,
			       .spans = { .memory = &cli->memory } };
	bool timed = origins_find(&cli->given, "compute_ms") != NULL;

	(void)operand_count;
	if (timed == (options->matmul > 0))
		return strata_fail_at(&cli->err, -EINVAL, "matmul",
				      "expected --matmul M or --compute-ms T, and one of them");
	int rc = prepare(&bench, operands[0]);

	if (rc)
		return rc;
	const struct stream_bench_conf stream_bench = {
		.weights = &bench.weights,
		.rows = options->matmul,
		.compute_ns = (int64_t)(options->compute_ms * 1e6),
		.threads = (int)options->threads
	};

	rc = stream_bench_open(&bench.stream_bench, &stream_bench, &cli->memory, &cli->err);
	if (rc)
		return rc;
	if (options->trace)
		rc = stage_trace_open(cli, options->trace, &bench.trace);
	if (rc == 0)
		rc = stage_rounds_run(&bench);
	rc = stage_trace_close(cli, &bench.trace, rc);
	if (rc == 0) {
		struct result result = judge(&bench);

		if (options->plot)
			rc = draw(&bench, &result);
		if (rc == 0)
			rc = print(&bench, &result);
	}
	stage_spans_fini(&bench.spans);
	stream_bench_close(&bench.stream_bench);
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
		 "longer of the two; OVERLAP is that over STEP. READ is\n"
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
