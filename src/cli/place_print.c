/* A plan as people read it: devices, the time a request takes, what the alternatives would have
 * cost, and why; or all of it as JSON. */
#include "cli/place_model.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <math.h>
#include <stdio.h>
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

/* ---- what was observed ---- */

enum { FACTOR_LOG2_MAX = 64 };

/* Of ops of this kind on this device: observed ÷ predicted, how often. In a phase of its own when
 * that was seen, else of the kind as a whole, as the engine corrects its plans. False: never. */
static bool find_observed(const json_t *experience, const char *device, const struct strata_op *op,
			  double *ret_factor, int64_t *ret_count)
{
	const json_t *kinds = json_object_get(json_object_get(experience, "devices"), device);
	char key[STRATA_NAME_BYTES_MAX];

	snprintf(key, sizeof(key), "%s@%s", op->kind, strata_phase_name(op->phase));
	const json_t *pair = json_object_get(kinds, key);

	if (!pair)
		pair = json_object_get(kinds, op->kind);
	const json_t *slow = json_object_get(pair, "slow");

	if (!json_is_number(slow) || !(fabs(json_number_value(slow)) < FACTOR_LOG2_MAX))
		return false;
	*ret_factor = exp2(json_number_value(slow));
	*ret_count = json_integer_value(json_object_get(pair, "count"));
	return *ret_count > 0;
}

/* By kind of op, in the plan's time: what is predicted, how much of it was ever observed, and what
 * that takes by what was observed. Times are those of each op on its device. */
static json_t *observed_json(const struct place_answer *answer)
{
	const struct strata_graph *graph = answer->model->graph;
	json_t *kinds = json_object(), *one;

	for (size_t i = 0; i < graph->op_count; i++) {
		double ns = answer->plan.finish_ns[i] - answer->plan.start_ns[i], factor = 1;
		const char *device = answer->machine->devices[answer->plan.device[i]].name;
		int64_t count = 0;
		bool seen = find_observed(answer->experience, device, &graph->ops[i], &factor,
					  &count);

		one = json_object_get(kinds, graph->ops[i].kind);
		double sums[3] = { ns, seen ? ns : 0, seen ? ns * factor : 0 };

		for (int k = 0; one && k < 3; k++)
			sums[k] += json_number_value(json_array_get(one, (size_t)k));
		if (json_integer_value(json_array_get(one, 3)) > count)
			count = json_integer_value(json_array_get(one, 3));
		json_object_set_new(kinds, graph->ops[i].kind,
				    json_pack("[f,f,f,I]", sums[0], sums[1], sums[2],
					      (json_int_t)count));
	}
	json_t *array = json_array();
	const char *kind;

	json_object_foreach(kinds, kind, one) {
		double seen_ns = json_number_value(json_array_get(one, 1));
		double took_ns = json_number_value(json_array_get(one, 2));

		json_array_append_new(
			array, json_pack("{s:s,s:f,s:o,s:O}", "kind", kind, "predicted_ns",
					 json_number_value(json_array_get(one, 0)), "factor",
					 seen_ns > 0 ? json_real(took_ns / seen_ns) : json_null(),
					 "seen", json_array_get(one, 3)));
	}
	json_decref(kinds);
	return array;
}

static int print_observed(struct cli *cli, const struct place_answer *answer)
{
	static const struct cli_column columns[] = { { "OPERATOR", .flexible = true },
						     { "PREDICTED ms", .right = true },
						     { "OBSERVED / PREDICTED", .right = true },
						     { "SEEN", .right = true } };
	json_t *array = observed_json(answer), *one;
	struct cli_table *table;
	size_t i;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc == 0) {
		json_array_foreach(array, i, one) {
			const json_t *factor = json_object_get(one, "factor");

			cli_table_add(table, "%s", json_string_value(json_object_get(one, "kind")));
			cli_table_add(table, "%.3f",
				      json_number_value(json_object_get(one, "predicted_ns")) / 1e6);
			if (json_is_number(factor))
				cli_table_add(table, "%.2f", json_number_value(factor));
			else
				cli_table_add(table, "not yet");
			cli_table_add(table, "%lld",
				      (long long)json_integer_value(json_object_get(one, "seen")));
		}
		cli_print(cli, "\n");
		rc = cli_table_print(table);
	}
	json_decref(array);
	return rc;
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

	if (json && answer->experience)
		json_object_set_new(json, "observed", observed_json(answer));
	return cli_print_json(cli, json);
}

int place_print(struct cli *cli, const struct place_answer *answer)
{
	if (cli->globals.json)
		return print_json(cli, answer);
	int rc = print_text(cli, answer);

	return rc || !answer->experience ? rc : print_observed(cli, answer);
}
