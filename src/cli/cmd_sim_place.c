/* strata sim place: the GPU allocation experiment, pods that come one after the other and never
 * leave. */
#include "cli/cli.h"

#include "core/env.h"
#include "formats/openb.h"
#include "sim/input.h"
#include "sim/place_cluster.h"

#include <strata/limits.h>

#include <string.h>

struct place_options {
	const char *placement;
	bool batch;
};

static const struct strata_option place_rows[] = {
	{ "placement", STRATA_TEXT, offsetof(struct place_options, placement),
	  .text = { "best_fit" }, .value = "SPEC", .help = "choice of nodes" },
	{ "batch", STRATA_BOOL, offsetof(struct place_options, batch),
	  .help = "all are known beforehand and come largest first" },
	{ 0 }
};
static const struct strata_schema place_schema = { "sim place", NULL, sizeof(struct place_options),
						   place_rows };

/* A whole file on the arena. */
static int read_text(struct cli *cli, const char *path, const char **ret_text, size_t *ret_length)
{
	return input_read(env_system(), path, STRATA_INPUT_BYTES_MAX, &cli->arena, ret_text,
			  ret_length, &cli->err);
}

static int read_files(struct cli *cli, char **paths, struct place_conf *conf)
{
	struct openb_node *nodes = NULL;
	struct openb_pod *pods = NULL;
	uint32_t *sequence = NULL;
	const char *text;
	size_t length;
	int rc = read_text(cli, paths[0], &text, &length);

	if (rc == 0)
		rc = openb_read_nodes(text, length, &cli->arena, &nodes, &conf->node_count,
				      &cli->err);
	if (rc == 0)
		rc = read_text(cli, paths[1], &text, &length);
	if (rc == 0)
		rc = openb_read_pods(text, length, &cli->arena, &pods, &conf->pod_count, &cli->err);
	if (rc == 0)
		rc = read_text(cli, paths[2], &text, &length);
	if (rc == 0)
		rc = openb_read_sequence(text, length, pods, conf->pod_count, &cli->arena,
					 &sequence, &conf->sequence_count, &cli->err);
	conf->nodes = nodes;
	conf->pods = pods;
	conf->sequence = sequence;
	return rc;
}

static int print(struct cli *cli, const char *placement, const struct place_result *result,
		 size_t pods)
{
	static const struct cli_column columns[] = {
		{ "PLACEMENT", .style = CLI_BOLD },
		{ "PODS", .right = true },
		{ "PLACED", .right = true },
		{ "GPUS IN USE", .right = true },
		{ "OF", .right = true },
		{ "PART", .right = true },
	};
	struct cli_table *table;

	if (cli->globals.json)
		return cli_print_json(
			cli, json_pack("{s:s,s:I,s:I,s:I,s:I,s:f}", "placement", placement, "pods",
				       (json_int_t)pods, "placed", (json_int_t)result->placed,
				       "alloc_milli", (json_int_t)result->alloc_milli,
				       "capacity_milli", (json_int_t)result->capacity_milli,
				       "alloc_percent", result->alloc_percent));
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	cli_table_add(table, "%s", placement);
	cli_table_add(table, "%zu", pods);
	cli_table_add(table, "%zu", result->placed);
	cli_table_add(table, "%.2f", (double)result->alloc_milli / 1000);
	cli_table_add(table, "%.0f", (double)result->capacity_milli / 1000);
	cli_table_add(table, "%.2f %%", result->alloc_percent);
	return cli_table_print(table);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct place_options *options = conf_any;
	struct place_conf conf = { .batch = options->batch };
	struct place_result result;
	int rc = cli_spec_read(cli, &strata_placement_kind, options->placement, &conf.placement);

	(void)operand_count;
	if (rc == 0)
		rc = read_files(cli, operands, &conf);
	if (rc == 0)
		rc = place_run(&conf, &cli->memory, &result, &cli->err);
	return rc ? rc : print(cli, options->placement, &result, conf.sequence_count);
}

const struct cli_command cli_sim_place = {
	.name = "sim place",
	.operands = "NODES.csv PODS.csv SEQUENCE.csv",
	.summary = "fill a GPU cluster with pods and see how much of it is used",
	.about = "Pods come in the order of the sequence to an empty cluster and never leave; one "
		 "that fits nowhere is dropped.\n"
		 "Files are tables as Alibaba publishes them (openb), plain or compressed.",
	.examples = "  strata sim place nodes.csv pods.csv seq.csv --placement fgd\n"
		    "  strata sim place nodes.csv pods.csv seq.csv --batch --json",
	.options = &place_schema,
	.operands_min = 3,
	.operands_max = 3,
	.run = run,
};
