/* strata place ops: the operators of ONNX that are known, and how much of a model is. */
#include "cli/cli.h"

#include "core/map.h"

#include <strata/detector.h>
#include <strata/onnx.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

struct ops_options {
	struct strata_map dim;
};

static const struct strata_option dim_item = { .type = STRATA_INT, .integer = { 0, 0, INT64_MAX } };
static const struct strata_option ops_rows[] = {
	{ "dim", STRATA_MAP, offsetof(struct ops_options, dim), .list = { &dim_item, 256 },
	  .value = "NAME=N",
	  .help = "value of a dimension that the model has by name; *=N for all others" },
	{ 0 }
};
static const struct strata_schema ops_schema = { "place ops", NULL, sizeof(struct ops_options),
						 ops_rows };

/* ---- what is known ---- */

static int list_json(struct cli *cli)
{
	json_t *list = json_array();
	struct strata_onnx_op op;

	for (size_t i = 0; strata_onnx_op_at(i, &op); i++)
		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:b,s:b}", "kind", op.kind,
						      "domain", op.domain, "family", op.family,
						      "folds", op.folds, "flops", op.counts));
	return cli_print_json(cli, list);
}

static int list(struct cli *cli)
{
	static const struct cli_column columns[] = { { "OPERATOR", .style = CLI_BOLD },
						     { "FAMILY" },
						     { "FOLDS" },
						     { "FLOPS" },
						     { "DOMAIN", .style = CLI_DIM } };
	struct strata_onnx_op op;
	struct cli_table *table;

	if (cli->globals.json)
		return list_json(cli);
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	for (size_t i = 0; rc == 0 && strata_onnx_op_at(i, &op); i++) {
		cli_table_add(table, "%s", op.kind);
		cli_table_add(table, "%s", op.family);
		cli_table_add(table, "%s", op.folds ? "yes" : "");
		cli_table_add(table, "%s", op.counts ? "yes" : "");
		cli_table_add(table, "%s", op.domain[0] ? op.domain : "ai.onnx");
	}
	return rc ? rc : cli_table_print(table);
}

/* ---- of a model ---- */

/* Ops of one kind. */
struct tally {
	const char *kind;
	size_t count;
	double flops;
	bool unknown;
};

static int count_kinds(struct cli *cli, const struct strata_graph *graph, struct map_text *tallies)
{
	for (size_t i = 0; i < graph->op_count; i++) {
		const struct strata_op *op = &graph->ops[i];
		struct tally *tally = map_text_get(tallies, op->kind, strlen(op->kind));

		if (!tally) {
			tally = strata_arena_get(&cli->arena, sizeof(*tally));
			if (!tally ||
			    map_text_put(tallies, op->kind, strlen(op->kind), tally, NULL))
				return strata_fail_memory(&cli->err);
			tally->kind = op->kind;
		}
		tally->count++;
		tally->flops += op->flops;
		tally->unknown |= op->unknown;
	}
	return 0;
}

static double share(size_t part, size_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

static int model_json(struct cli *cli, const struct strata_onnx_metrics *metrics,
		      const struct strata_findings *findings, const struct map_text *tallies)
{
	const struct map_text_entry *entry = NULL;
	json_t *kinds = json_array();
	json_t *json = json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:s,s:s}", "nodes",
		(json_int_t)metrics->node_count, "known", (json_int_t)metrics->known_count,
		"folded", (json_int_t)metrics->folded_count, "outputs",
		(json_int_t)metrics->output_count, "shaped", (json_int_t)metrics->shaped_count,
		"contradictions", (json_int_t)metrics->contradiction_count, "flops", metrics->flops,
		"weight_bytes", (json_int_t)metrics->initializer_bytes, "activation_bytes",
		(json_int_t)metrics->activation_bytes, "kv_in_bytes",
		(json_int_t)findings->kv_in_bytes, "kv_out_bytes",
		(json_int_t)findings->kv_out_bytes, "workload",
		strata_workload_name(findings->workload), "phase",
		strata_phase_name(findings->phase));

	while ((entry = map_text_next(tallies, entry))) {
		const struct tally *tally = entry->value;

		json_array_append_new(kinds, json_pack("{s:s,s:I,s:b,s:f}", "kind", tally->kind,
						       "ops", (json_int_t)tally->count, "known",
						       !tally->unknown, "flops", tally->flops));
	}
	json_object_set_new(json, "kinds", kinds);
	json_object_set_new(json, "dims", json_string(metrics->dims));
	return cli_print_json(cli, json);
}

static void print_metrics(struct cli *cli, const struct strata_onnx_metrics *metrics,
			  const struct strata_findings *findings)
{
	char weights[STRATA_FORM_BYTES], activations[STRATA_FORM_BYTES], in[STRATA_FORM_BYTES],
		out[STRATA_FORM_BYTES];
	const char *least = metrics->shaped_count < metrics->output_count ? "at least " : "";

	cli_printf(cli, "\n%zu of %zu nodes known (%.1f %%), %zu computed while reading\n",
		   metrics->known_count, metrics->node_count,
		   share(metrics->known_count, metrics->node_count), metrics->folded_count);
	cli_printf(cli, "%zu of %zu outputs shaped (%.1f %%), %zu against what the file declares\n",
		   metrics->shaped_count, metrics->output_count,
		   share(metrics->shaped_count, metrics->output_count),
		   metrics->contradiction_count);
	cli_printf(cli, "%s%.4g MFLOP, weights %s, activations %s%s\n", least, metrics->flops / 1e6,
		   strata_size_print_short(metrics->initializer_bytes, weights), least,
		   strata_size_print_short(metrics->activation_bytes, activations));
	cli_printf(cli, "%s, %s: %s\n", strata_workload_name(findings->workload),
		   strata_phase_name(findings->phase), findings->why);
	if (findings->kv_in_count + findings->kv_out_count)
		cli_printf(cli, "KV cache: %zu tensors in (%s%s), %zu out (%s%s)\n",
			   findings->kv_in_count, least,
			   strata_size_print_short(findings->kv_in_bytes, in),
			   findings->kv_out_count, least,
			   strata_size_print_short(findings->kv_out_bytes, out));
	if (metrics->shaped_count < metrics->output_count && metrics->dim_count)
		cli_printf(cli, "not given: %s (--dim NAME=N)\n", metrics->dims);
	if (metrics->clash[0])
		cli_printf(cli, "%s\n", metrics->clash);
}

static int print_model(struct cli *cli, const struct strata_onnx_metrics *metrics,
		       const struct strata_findings *findings, const struct map_text *tallies)
{
	static const struct cli_column columns[] = { { "OPERATOR", .style = CLI_BOLD },
						     { "OPS", .right = true },
						     { "KNOWN" },
						     { "MFLOP", .right = true } };
	const struct map_text_entry *entry = NULL;
	struct cli_table *table;

	if (cli->globals.json)
		return model_json(cli, metrics, findings, tallies);
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	while ((entry = map_text_next(tallies, entry))) {
		const struct tally *tally = entry->value;

		cli_table_add(table, "%s", tally->kind);
		cli_table_add(table, "%zu", tally->count);
		cli_table_add(table, "%s", tally->unknown ? "no" : "yes");
		cli_table_add(table, "%.4g", tally->flops / 1e6);
	}
	rc = cli_table_print(table);
	if (rc == 0)
		print_metrics(cli, metrics, findings);
	return rc;
}

static int show_model(struct cli *cli, const char *path, const struct ops_options *options)
{
	struct strata_onnx_dim *dims =
		strata_arena_array(&cli->arena, options->dim.count, sizeof(*dims));
	const int64_t *values = options->dim.items;
	struct strata_onnx_metrics metrics;
	struct strata_findings findings;
	struct strata_graph *graph;
	struct map_text tallies;

	if (!dims)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < options->dim.count; i++)
		dims[i] = (struct strata_onnx_dim){ options->dim.keys[i], values[i] };
	int rc = strata_onnx_open(path, dims, options->dim.count, &cli->memory, &graph, &metrics,
				  &cli->err);

	if (rc)
		return rc;
	map_text_init(&tallies, &cli->memory);
	rc = strata_graph_detect(graph, NULL, &cli->arena, &findings, &cli->err);
	if (rc == 0)
		rc = count_kinds(cli, graph, &tallies);
	if (rc == 0)
		rc = print_model(cli, &metrics, &findings, &tallies);
	map_text_fini(&tallies);
	strata_graph_free(graph);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	return operand_count ? show_model(cli, operands[0], conf) : list(cli);
}

const struct cli_command cli_place_ops = {
	.name = "place ops",
	.operands = "[MODEL.onnx]",
	.summary = "list the operators that are known, and how much of a model is",
	.about = "Without a model, every operator of ONNX that has a rule for its shapes. FOLDS: "
		 "its "
		 "results are computed while a model is read, when its inputs\n"
		 "are small constants. FLOPS: they are counted; of the others only bytes are.\n"
		 "With a model, the operators that are left to compute in it, and below them how "
		 "much "
		 "of it is known and what it was taken for.",
	.examples =
		"  strata place ops\n"
		"  strata place ops model.onnx\n"
		"  strata place ops decoder.onnx --dim batch=2,sequence=1,past_sequence=16 --json",
	.options = &ops_schema,
	.operands_max = 1,
	.run = run,
};
