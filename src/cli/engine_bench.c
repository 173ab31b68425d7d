/* strata engine bench, in the full program: which models, which parts, and the tables. engine_bench_parts.c measures. */
#include "cli/engine_bench.h"

#include "bench/unet.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUBJECTS_MAX = 64 };

struct column {
	const char *key, *title, *format; /* of a real; NULL: a whole number */
};

struct part {
	const char *name, *heading;
	json_t *(*measure)(struct cli *cli, const struct engine_bench_subject *subject);
	bool large_only; /* of the usual models, only with the made-up one */
	struct column columns[9];
};

static const struct part parts[] = {
	{ "native", "CPU time of a call, one thread: native ÷ ONNX Runtime",
	  engine_bench_native, false,
	  { { "native_ms", "NATIVE ms", "%.3f" },
	    { "onnxruntime_ms", "ONNXRUNTIME ms", "%.3f" },
	    { "ratio", "RATIO", "%.2f" },
	    { "gflop_per_s", "GFLOP/s", "%.1f" },
	    { "differs", "DIFFERS", "%.1e" } } },
	{ "ort", "CPU time of a call, one thread: subgraphs by ONNX Runtime ÷ one whole session",
	  engine_bench_ort, false,
	  { { "one_ms", "ONE SUBGRAPH ms", "%.3f" },
	    { "split_ms", "SPLIT ms", "%.3f" },
	    { "subgraphs", "SUBGRAPHS", NULL },
	    { "onnxruntime_ms", "ONNXRUNTIME ms", "%.3f" },
	    { "ratio", "RATIO", "%.2f" },
	    { "split_ratio", "SPLIT RATIO", "%.2f" } } },
	{ "budget", "time of a call: a share of the weights, from a cold disk ÷ all of them in memory",
	  engine_bench_budget, true,
	  { { "resident_ms", "RESIDENT ms", "%.1f" },
	    { "budget_ms", "BUDGET ms", "%.1f" },
	    { "ratio", "RATIO", "%.2f" },
	    { "cpu_ratio", "OF CPU TIME", "%.2f" },
	    { "predicted_ms", "PREDICTED ms", "%.1f" },
	    { "bound_ms", "BOUND ms", "%.1f" },
	    { "disk_mb_per_s", "DISK MB/s", "%.0f" },
	    { "read_bytes", "READ bytes", NULL },
	    { "disk_bytes", "BY THE KERNEL", NULL } } },
	{ "place", "time of a call by mode of the place level, after it has learned; BEST is by hand: a device alone",
	  engine_bench_place, false,
	  { { "basic_ms", "BASIC ms", "%.3f" },
	    { "semantic_ms", "SEMANTIC ms", "%.3f" },
	    { "advanced_ms", "ADVANCED ms", "%.3f" },
	    { "auto_ms", "AUTO ms", "%.3f" },
	    { "best_ms", "BEST ms", "%.3f" },
	    { "ratio", "AUTO ÷ BEST", "%.2f" },
	    { "off", "PREDICTED ÷ OBSERVED", "%.2f" } } },
	{ "devices", "calls a second: two devices of one core ÷ one",
	  engine_bench_devices, true,
	  { { "one_per_s", "ONE /s", "%.2f" },
	    { "two_per_s", "TWO /s", "%.2f" },
	    { "ratio", "RATIO", "%.2f" },
	    { "balance", "BALANCE", "%.2f" },
	    { "subgraphs", "SUBGRAPHS", NULL } } },
};
enum { PART_COUNT = sizeof(parts) / sizeof(parts[0]) };

struct bench {
	struct cli *cli;
	const struct engine_bench_options *options;
	struct engine_bench_subject subjects[SUBJECTS_MAX];
	size_t subject_count;
	const char *made_up; /* path of the network that was made up; NULL: none */
	bool wanted[PART_COUNT];
};

/* ---- what is to be measured ---- */

static int read_parts(struct bench *bench)
{
	for (const char *at = bench->options->part; *at;) {
		size_t length = strcspn(at, ","), i = 0;

		while (i < PART_COUNT && (strlen(parts[i].name) != length ||
					  memcmp(parts[i].name, at, length) != 0))
			i++;
		if (i == PART_COUNT)
			return strata_fail(&bench->cli->err, -EINVAL,
					   "--part %.*s is not known; expected native, ort, budget, place or devices",
					   (int)(length < 40 ? length : 40), at);
		bench->wanted[i] = true;
		at += length + (at[length] == ',');
	}
	return 0;
}

static void add_subject(struct bench *bench, const char *name, const char *path,
			const struct strata_map *dims)
{
	if (bench->subject_count < SUBJECTS_MAX)
		bench->subjects[bench->subject_count++] =
			(struct engine_bench_subject){ name, path, dims, bench->options->rounds,
						       bench->options->share };
}

/* Models under $STRATA_DATA, with dimensions that they can be run with. */
static const char *const usual_models[] = {
	"graphs/onnx/sd_unet_mini.onnx",
	"graphs/onnx/vae_decoder_mini.onnx",
	"graphs/onnx/resnet_mini.onnx",
	"graphs/onnx/mobilenet_mini.onnx",
	"graphs/onnx/clip_mini.onnx",
	"graphs/onnx/bert_cls.onnx",
	"graphs/onnx/gpt2_prefill.onnx",
	"graphs/onnx/gpt2_decode.onnx",
	"graphs/onnx/llama_gqa_decode.onnx",
	"graphs/onnx/lstm_lm.onnx",
	"golden/pipelines/tiny-sd/unet/model.onnx",
	"golden/pipelines/tiny-sd/text_encoder/model.onnx",
	"golden/pipelines/tiny-sd/vae_decoder/model.onnx",
	"golden/pipelines/tiny-flow/transformer/model.onnx",
	"golden/pipelines/tiny-flux/transformer/model.onnx",
	"golden/pipelines/digits/unet/model.onnx",
};
static const char *const usual_names[] = { "batch",
					   "batch_size",
					   "height",
					   "width",
					   "h",
					   "w",
					   "sequence",
					   "sequence_length",
					   "num_channels",
					   "text_length",
					   "image_sequence" };
static const int64_t usual_dims[] = { 2, 2, 8, 8, 8, 8, 16, 16, 4, 16, 16 };

static int add_usual(struct bench *bench)
{
	static const struct strata_map usual = { .keys = (const char **)usual_names,
						 .items = (void *)usual_dims,
						 .count = sizeof(usual_dims) / sizeof(usual_dims[0]) };
	const char *data = getenv("STRATA_DATA");

	for (size_t i = 0; data && i < sizeof(usual_models) / sizeof(usual_models[0]); i++) {
		const char *path =
			strata_arena_printf(&bench->cli->arena, "%s/%s", data, usual_models[i]);

		if (!path)
			return strata_fail_memory(&bench->cli->err);
		if (access(path, R_OK) == 0)
			add_subject(bench, strchr(usual_models[i] + 7, '/') + 1, path,
				    bench->options->dims.count ? &bench->options->dims : &usual);
	}
	return 0;
}

/* Files of 300 MB that must not stay: also when it is interrupted. */
static char made_up_model[4096], made_up_data[4096 + 8];

static void remove_made_up(void)
{
	if (made_up_model[0]) {
		unlink(made_up_model);
		unlink(made_up_data);
	}
	made_up_model[0] = '\0';
}

static void on_signal(int number)
{
	remove_made_up();
	signal(number, SIG_DFL);
	raise(number);
}

static void note_made_up(const char *path)
{
	snprintf(made_up_model, sizeof(made_up_model), "%s", path);
	snprintf(made_up_data, sizeof(made_up_data), "%s.data", made_up_model);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
}

static int make_up(struct bench *bench)
{
	const char *directory = getenv("TMPDIR");
	const struct unet_conf conf = unet_conf_usual();
	struct unet_made made;
	const char *path =
		bench->options->keep
			? strata_arena_printf(&bench->cli->arena, "%s/strata-unet.onnx",
					      directory ? directory : "/tmp")
			: strata_arena_printf(&bench->cli->arena, "%s/strata-unet-%ld.onnx",
					      directory ? directory : "/tmp", (long)getpid());

	if (!path)
		return strata_fail_memory(&bench->cli->err);
	if (!bench->options->keep)
		note_made_up(path);
	if (!bench->options->keep || access(path, R_OK)) {
		int rc = unet_write(&conf, path, &bench->cli->memory, &made, &bench->cli->err);

		if (rc)
			return rc;
	}
	bench->made_up = path;
	add_subject(bench, "made-up UNet", path, NULL);
	return 0;
}

/* ---- printing ---- */

static void print_cell(struct cli_table *table, const json_t *row, const struct column *column)
{
	const json_t *value = json_object_get(row, column->key);

	if (!value)
		cli_table_add(table, "-");
	else if (column->format) {
		char text[64];

		snprintf(text, sizeof(text), column->format, json_number_value(value));
		cli_table_add(table, "%s", text);
	} else
		cli_table_add(table, "%lld", (long long)json_integer_value(value));
}

static int print_part(struct cli *cli, const struct part *part, const json_t *rows)
{
	struct cli_column columns[sizeof(part->columns) / sizeof(part->columns[0]) + 2] = {
		{ "MODEL" }
	};
	struct cli_table *table;
	size_t count = 0, index;
	const json_t *row;
	bool reasons = false;

	while (count < sizeof(part->columns) / sizeof(part->columns[0]) && part->columns[count].key) {
		columns[count + 1] =
			(struct cli_column){ part->columns[count].title, .right = true };
		count++;
	}
	json_array_foreach(rows, index, row) reasons |= json_object_get(row, "why") != NULL;
	columns[count + 1] = (struct cli_column){ "WHY NOT", .flexible = true };
	int rc = cli_table_new(cli, columns, count + 1 + reasons, &table);

	if (rc)
		return rc;
	cli_printf(cli, "%s\n", part->heading);
	json_array_foreach(rows, index, row) {
		const char *why = json_string_value(json_object_get(row, "why"));

		cli_table_add(table, "%s", json_string_value(json_object_get(row, "model")));
		for (size_t i = 0; i < count; i++)
			print_cell(table, row, &part->columns[i]);
		if (reasons)
			cli_table_add(table, "%s", why ? why : "");
	}
	rc = cli_table_print(table);
	cli_printf(cli, "\n");
	return rc;
}

static int measure_part(struct bench *bench, const struct part *part, json_t *rows)
{
	struct cli *cli = bench->cli;
	struct cli_progress progress;
	int rc = 0;

	cli_progress_start(&progress, cli, part->name, (double)bench->subject_count);
	for (size_t i = 0; rc == 0 && i < bench->subject_count; i++) {
		const struct engine_bench_subject *subject = &bench->subjects[i];

		if (!(part->large_only && bench->made_up && subject->path != bench->made_up) &&
		    json_array_append_new(rows, part->measure(cli, subject)))
			rc = strata_fail_memory(&cli->err);
		cli_progress_show(&progress, (double)i + 1);
	}
	cli_progress_end(&progress);
	return rc;
}

static int measure_all(struct bench *bench)
{
	struct cli *cli = bench->cli;
	json_t *all = json_object();
	int rc = all ? 0 : strata_fail_memory(&cli->err);

	for (size_t i = 0; rc == 0 && i < PART_COUNT; i++) {
		json_t *rows = bench->wanted[i] ? json_array() : NULL;

		if (!rows)
			continue;
		json_object_set_new(all, parts[i].name, rows);
		rc = measure_part(bench, &parts[i], rows);
		if (rc == 0 && !cli->globals.json)
			rc = print_part(cli, &parts[i], rows);
	}
	if (rc == 0 && cli->globals.json)
		return cli_print_json(cli, all);
	json_decref(all);
	return rc;
}

int engine_bench_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct bench bench = { .cli = cli, .options = conf };
	int rc = read_parts(&bench);

	if (operand_count > SUBJECTS_MAX)
		return strata_fail(&cli->err, -E2BIG, "%zu models; at most %d", operand_count,
				   SUBJECTS_MAX);
	for (size_t i = 0; rc == 0 && i < operand_count; i++)
		add_subject(&bench, operands[i], operands[i], &bench.options->dims);
	if (rc == 0 && operand_count == 0)
		rc = add_usual(&bench);
	if (rc == 0 && operand_count == 0)
		rc = make_up(&bench);
	if (rc == 0)
		rc = measure_all(&bench);
	remove_made_up();
	return rc;
}
