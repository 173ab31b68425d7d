/* strata place bench: graphs with a known best, placed by us, one row each beside the reference. */
#include "cli/cli.h"

#include "core/env.h"
#include "bench/graph_sets.h"
#include "sim/input.h"

#include <strata/limits.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct bench_options {
	int64_t budget, visits, processors, seed;
	const char *strategy;
};

static const struct strata_option bench_rows[] = {
	{ "budget", STRATA_DURATION, offsetof(struct bench_options, budget),
	  .integer = { 30 * INT64_C(1000000000), 1000000, INT64_C(3600) * 1000000000 },
	  .help = "longest that one row may take" },
	{ "visits", STRATA_INT, offsetof(struct bench_options, visits),
	  .integer = { 10000000, 1, INT64_C(1) << 50 },
	  .help = "ops that may be looked at for one row" },
	{ "strategy", STRATA_TEXT, offsetof(struct bench_options, strategy),
	  .text = { "portfolio" }, .value = "SPEC",
	  .help = "one or several, the best of which counts" },
	{ "processors", STRATA_INT, offsetof(struct bench_options, processors),
	  .integer = { 4, 1, STRATA_PLACE_DEVICES_MAX },
	  .help = "for graphs that come without a machine and without a reference" },
	{ "seed", STRATA_INT, offsetof(struct bench_options, seed), .integer = { 0, 0, INT64_MAX },
	  .help = "of what is drawn" },
	{ 0 }
};
static const struct strata_schema bench_schema = { "place bench", NULL,
						   sizeof(struct bench_options), bench_rows };

struct bench {
	struct cli *cli;
	struct graphs_conf conf;
	struct graphs_row *rows;
	size_t count, room;
	int64_t budget_ns, begin_ns; /* of the row that runs */
};

static int64_t now_ns(void *context)
{
	struct bench *bench = context;
	int64_t now = env_now_ns(env_system(), ENV_MONOTONIC);

	bench->begin_ns = now; /* asked before and after each row */
	return now;
}

static bool expired(void *context)
{
	const struct bench *bench = context;

	return env_now_ns(env_system(), ENV_MONOTONIC) - bench->begin_ns > bench->budget_ns;
}

/* ---- files ---- */

/* A table of references beside a file or in the directory above; empty when there is none. */
static int read_references(struct bench *bench, const char *path, const char **ret_text,
			   size_t *ret_length)
{
	static const char *const places[] = { "reference.tsv", "../reference.tsv",
					      "../stg_reference.tsv" };
	const char *slash = strrchr(path, '/');
	int head = slash ? (int)(slash - path) + 1 : 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *name =
			strata_arena_printf(&bench->cli->arena, "%.*s%s", head, path, places[i]);
		struct stat status;

		if (!name)
			return strata_fail_memory(&bench->cli->err);
		if (stat(name, &status) == 0)
			return input_read(env_system(), name, STRATA_JSON_BYTES_MAX,
					  &bench->cli->arena, ret_text, ret_length,
					  &bench->cli->err);
	}
	return 0;
}

static int add_rows(struct bench *bench, const struct graphs_row *rows, size_t count)
{
	if (bench->count + count > bench->room) {
		size_t more = 2 * (bench->count + count);
		struct graphs_row *grown =
			strata_arena_array(&bench->cli->arena, more, sizeof(*grown));

		if (!grown)
			return strata_fail_memory(&bench->cli->err);
		if (bench->count)
			memcpy(grown, bench->rows, bench->count * sizeof(*grown));
		bench->rows = grown;
		bench->room = more;
	}
	if (count)
		memcpy(bench->rows + bench->count, rows, count * sizeof(*rows));
	bench->count += count;
	return 0;
}

/* "directory/name" of a path, the directory by its real name. */
static const char *short_path(struct bench *bench, const char *path)
{
	char *real = realpath(path, NULL);
	const char *name = real ? strrchr(real, '/') : NULL;

	while (name && name > real && name[-1] != '/')
		name--;
	const char *copy = strata_arena_printf(&bench->cli->arena, "%s", name ? name : path);

	free(real);
	return copy;
}

static int bench_file(struct bench *bench, const char *path)
{
	struct cli *cli = bench->cli;
	const char *text, *reference = NULL, *name = short_path(bench, path);
	size_t length, reference_length = 0, count;
	struct graphs_row *rows;
	int rc = name ? read_references(bench, path, &reference, &reference_length)
		      : strata_fail_memory(&cli->err);

	if (rc == 0)
		rc = input_read(env_system(), path, STRATA_JSON_BYTES_MAX, &cli->arena, &text,
				&length, &cli->err);
	if (rc)
		return rc;
	rc = graphs_run(text, length, name, reference, reference_length, &bench->conf, &cli->arena,
			&rows, &count, &cli->err);
	return rc ? rc : add_rows(bench, rows, count);
}

/* Files of a directory by name; tables, papers and hidden ones are not graphs. */
static int is_graph(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot &&
	       (!strcmp(dot, ".dot") || !strcmp(dot, ".stg") || !strcmp(dot, ".json") ||
		!strcmp(dot, ".jsonl") || !strcmp(dot, ".txt"));
}

static int bench_path(struct bench *bench, const char *path)
{
	struct cli *cli = bench->cli;
	struct dirent **entries = NULL;
	struct stat status;
	int rc = 0;

	if (stat(path, &status) || !S_ISDIR(status.st_mode))
		return bench_file(bench, path);
	int count = scandir(path, &entries, is_graph, alphasort);

	if (count < 0)
		return strata_fail(&cli->err, -errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		const char *name =
			strata_arena_printf(&cli->arena, "%s/%s", path, entries[i]->d_name);

		if (rc == 0)
			rc = name ? bench_file(bench, name) : strata_fail_memory(&cli->err);
		if (rc == -EINVAL) { /* something else that has such a name */
			cli_note(cli, "%s: %s", name, cli->err.text);
			rc = 0;
		}
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/* ---- output ---- */

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static int print_json(struct bench *bench)
{
	json_t *list = json_array();

	for (size_t i = 0; i < bench->count; i++) {
		const struct graphs_row *row = &bench->rows[i];

		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:o,s:o,s:o,s:f}", "set", row->set,
						"name", row->name, "result", number(row->result),
						"reference", number(row->reference), "ratio",
						number(row->ratio), "ms", row->ms));
	}
	return cli_print_json(bench->cli, json_pack("{s:o}", "rows", list));
}

static void add_number(struct cli_table *table, const char *format, double value)
{
	if (isfinite(value))
		cli_table_add(table, format, value);
	else
		cli_table_add(table, "-");
}

static int print_rows(struct bench *bench)
{
	static const struct cli_column columns[] = {
		{ "SET" },
		{ "NAME", .style = CLI_BOLD },
		{ "RESULT", .right = true },
		{ "REFERENCE", .right = true },
		{ "RATIO", .right = true },
		{ "MS", .right = true },
	};
	struct cli_table *table;
	int rc = cli_table_new(bench->cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	for (size_t i = 0; i < bench->count; i++) {
		const struct graphs_row *row = &bench->rows[i];

		cli_table_add(table, "%s", row->set);
		cli_table_add(table, "%s", row->name);
		add_number(table, "%.6g", row->result);
		add_number(table, "%.6g", row->reference);
		add_number(table, "%.4f", row->ratio);
		cli_table_add(table, "%.1f", row->ms);
	}
	return cli_table_print(table);
}

static void print_summaries(struct bench *bench)
{
	for (int form = 0; form < GRAPH_FORM_COUNT; form++) {
		struct graphs_summary sum;

		graphs_summarise(bench->rows, bench->count, graph_form_name((enum graph_form)form),
				 &sum);
		if (!sum.count)
			continue;
		cli_printf(bench->cli,
			   "%s: %zu rows, %zu compared, %zu no worse, %zu within 1 %%, %zu within "
			   "10 %%",
			   sum.set, sum.count, sum.compared, sum.equal, sum.within_1,
			   sum.within_10);
		if (sum.compared)
			cli_printf(bench->cli, ", mean %.4f, worst %.4f", sum.mean, sum.worst);
		cli_printf(bench->cli, ", %.0f ms\n", sum.ms);
	}
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct bench_options *options = conf_any;
	struct strata_spec *specs = NULL;
	struct bench bench = { .cli = cli, .budget_ns = options->budget };

	bench.conf = (struct graphs_conf){ .budget = { options->visits, expired, &bench },
					   .processors = (size_t)options->processors,
					   .seed = (uint64_t)options->seed,
					   .now_ns = now_ns,
					   .now_context = &bench };
	int rc = cli_spec_read_list(cli, &strata_strategy_kind, options->strategy, &specs,
				    &bench.conf.strategy_count);

	bench.conf.strategies = specs;
	for (size_t i = 0; i < operand_count && rc == 0; i++)
		rc = bench_path(&bench, operands[i]);
	if (rc == 0)
		rc = cli->globals.json ? print_json(&bench) : print_rows(&bench);
	if (rc == 0 && !cli->globals.json)
		print_summaries(&bench);
	return rc;
}

const struct cli_command cli_place_bench = {
	.name = "place bench",
	.operands = "FILE|DIR…",
	.summary = "place graphs whose best is known and compare",
	.about = "Reads graphs in any form it knows, told by their content: Graphviz, STG, RGPOS, "
		 "WfCommons,\n"
		 "dnn-partitioning, lines of small placements, and the documented JSON form. "
		 "References are in\n"
		 "the file, in reference.tsv beside it or in the directory above, or in "
		 "stg_reference.tsv there.",
	.examples = "  strata place bench graphs/dag_opt  # all of a set, and how far from the "
		    "optimum\n"
		    "  strata place bench g.dot --strategy heft --json",
	.options = &bench_schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
