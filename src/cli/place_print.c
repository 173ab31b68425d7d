/* A plan as people read it: devices, the time a request takes, what the alternatives would have
 * cost, and why; or all of it as JSON. */
#include "cli/place_model.h"

#include <strata/text.h>

#include <math.h>
#include <string.h>

static const char *duration(double ns, char text[STRATA_FORM_BYTES])
{
	return strata_duration_print_short((int64_t)(ns + 0.5), text);
}

static int print_devices(struct cli *cli, const struct place_answer *answer)
{
	static const struct cli_column columns[] = {
		{ "DEVICE", .style = CLI_BOLD }, { "OPS", .right = true },
		{ "TIME", .right = true },       { "BUSY", .right = true },
		{ "LOAD", .right = true },       { "WEIGHTS", .right = true },
		{ "KV", .right = true },         { "ACTIVATIONS", .right = true },
		{ "OF", .right = true },
	};
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	for (size_t d = 0; d < answer->machine->device_count && rc == 0; d++) {
		const struct strata_place_metrics *metrics = &answer->plan.devices[d];
		int64_t has = answer->machine->devices[d].capacity_bytes;
		char text[STRATA_FORM_BYTES];

		cli_table_add(table, "%s%s", answer->machine->devices[d].name,
			      answer->machine->devices[d].lost ? " (lost)" : "");
		cli_table_add(table, "%zu", metrics->op_count);
		cli_table_add(table, "%s", duration(metrics->busy_ns, text));
		cli_table_add(table, "%.0f %%", 100 * metrics->utilisation);
		cli_table_add(table, "%s", duration(metrics->load_ns, text));
		cli_table_add(table, "%s", strata_size_print_short(metrics->weight_bytes, text));
		cli_table_add(table, "%s", strata_size_print_short(metrics->kv_bytes, text));
		cli_table_add(table, "%s",
			      strata_size_print_short(metrics->activation_bytes, text));
		cli_table_add(table, "%s", has > 0 ? strata_size_print_short(has, text) : "-");
	}
	return rc ? rc : cli_table_print(table);
}

static int print_results(struct cli *cli, const struct place_answer *answer)
{
	static const struct cli_column columns[] = {
		{ "STRATEGY", .style = CLI_BOLD },
		{ "REQUEST", .right = true },
		{ "LOAD", .right = true },
		{ "COST", .right = true },
	};
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	for (size_t i = 0; i < answer->plan.result_count && rc == 0; i++) {
		const struct strata_place_result *result = &answer->plan.results[i];
		char text[STRATA_FORM_BYTES];

		cli_table_add(table, "%s", result->strategy);
		if (!result->fits) {
			cli_table_add(table, "does not fit");
			cli_table_add(table, "-");
			cli_table_add(table, "-");
			continue;
		}
		cli_table_add(table, "%s", duration(result->latency_ns, text));
		cli_table_add(table, "%s", duration(result->load_ns, text));
		cli_table_add(table, "%.3f", result->value / answer->plan.value);
	}
	return rc ? rc : cli_table_print(table);
}

static int print_text(struct cli *cli, const struct place_answer *answer)
{
	const struct strata_place_plan *plan = &answer->plan;
	char request[STRATA_FORM_BYTES], load[STRATA_FORM_BYTES];
	int rc = print_devices(cli, answer);

	if (rc)
		return rc;
	cli_printf(cli, "\n%s: %zu ops, workload %s; by %s, objective %s, chosen in %.1f ms\n",
		   answer->model->name, answer->model->graph->op_count, answer->model->workload,
		   plan->strategy, strata_objective_name(answer->objective), answer->took_ms);
	cli_printf(cli, "predicted: a request takes %s; a pipeline ends one every %s\n\n",
		   duration(plan->latency_ns, request), duration(plan->load_ns, load));
	rc = print_results(cli, answer);
	if (rc)
		return rc;
	cli_printf(cli, "\nwhy:\n");
	for (size_t i = 0; i < plan->reason_count; i++)
		cli_printf(cli, "  %s\n", plan->reasons[i]);
	for (size_t i = 0; i < answer->choice->reason_count; i++)
		cli_printf(cli, "  %s\n", answer->choice->reasons[i]);
	if (answer->model->why)
		cli_printf(cli, "  %s\n", answer->model->why);
	return 0;
}

/* ---- JSON ---- */

static json_t *texts(const char *const *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_string(list[i]));
	return array;
}

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *devices_json(const struct place_answer *answer)
{
	json_t *array = json_array();

	for (size_t d = 0; d < answer->machine->device_count; d++) {
		const struct strata_device *device = &answer->machine->devices[d];
		const struct strata_place_metrics *metrics = &answer->plan.devices[d];

		json_array_append_new(
			array,
			json_pack("{s:s,s:s,s:I,s:f,s:f,s:f,s:I,s:I,s:I,s:I}", "name", device->name,
				  "kind", device->kind ? device->kind : "", "ops",
				  (json_int_t)metrics->op_count, "busy_ns", metrics->busy_ns,
				  "load_ns", metrics->load_ns, "utilisation", metrics->utilisation,
				  "weight_bytes", (json_int_t)metrics->weight_bytes, "kv_bytes",
				  (json_int_t)metrics->kv_bytes, "activation_bytes",
				  (json_int_t)metrics->activation_bytes, "capacity_bytes",
				  (json_int_t)device->capacity_bytes));
	}
	return array;
}

static json_t *results_json(const struct place_answer *answer)
{
	json_t *array = json_array();

	for (size_t i = 0; i < answer->plan.result_count; i++) {
		const struct strata_place_result *result = &answer->plan.results[i];

		json_array_append_new(array, json_pack("{s:s,s:b,s:o,s:o,s:o}", "strategy",
						       result->strategy, "fits", result->fits,
						       "value", number(result->value), "latency_ns",
						       number(result->latency_ns), "load_ns",
						       number(result->load_ns)));
	}
	return array;
}

static json_t *ops_json(const struct place_answer *answer)
{
	const struct strata_graph *graph = answer->model->graph;
	json_t *array = json_array();

	for (size_t i = 0; i < graph->op_count; i++)
		json_array_append_new(
			array, json_pack("{s:s,s:s,s:s,s:s,s:f,s:f}", "name", graph->ops[i].name,
					 "kind", graph->ops[i].kind, "phase",
					 strata_phase_name(graph->ops[i].phase), "device",
					 answer->machine->devices[answer->plan.device[i]].name,
					 "start_ns", answer->plan.start_ns[i], "finish_ns",
					 answer->plan.finish_ns[i]));
	return array;
}

static json_t *features_json(unsigned features)
{
	json_t *array = json_array();

	for (int i = 0; i < STRATA_FEATURE_COUNT; i++)
		if (features >> i & 1)
			json_array_append_new(
				array, json_string(strata_feature_name((enum strata_feature)i)));
	return array;
}

static int print_json(struct cli *cli, const struct place_answer *answer)
{
	const struct strata_place_plan *plan = &answer->plan;
	json_t *json = json_pack(
		"{s:s,s:s,s:s,s:s,s:o,s:s,s:s,s:f,s:f,s:f,s:f,s:f,s:I,s:o,s:o,s:o,s:o,s:o}",
		"model", answer->model->name, "workload", answer->model->workload, "mode",
		answer->mode, "profile", answer->choice->profile, "features",
		features_json(answer->choice->features), "strategy", plan->strategy, "objective",
		strata_objective_name(answer->objective), "value", plan->value, "latency_ns",
		plan->latency_ns, "load_ns", plan->load_ns, "memory_share", plan->memory_share,
		"took_ms", answer->took_ms, "visits", (json_int_t)plan->visits, "devices",
		devices_json(answer), "alternatives", results_json(answer), "reasons",
		texts(plan->reasons, plan->reason_count), "choices",
		texts(answer->choice->reasons, answer->choice->reason_count), "ops",
		ops_json(answer));

	return cli_print_json(cli, json);
}

int place_print(struct cli *cli, const struct place_answer *answer)
{
	return cli->globals.json ? print_json(cli, answer) : print_text(cli, answer);
}
