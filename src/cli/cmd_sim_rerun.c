/* strata sim rerun: what a service decided, decided over from its record. */
#include "cli/cli.h"

#include "core/env.h"
#include "sim/input.h"
#include "sim/rerun.h"

#include <strata/limits.h>

enum { SHOWN_BYTES = 400 };

static int print_json(struct cli *cli, const char *path, const struct rerun_result *result)
{
	json_t *first = json_null();

	if (result->differing)
		first = json_pack("{s:I,s:s,s:s}", "line", (json_int_t)result->line, "recorded",
				  result->recorded.text, "decided", result->decided.text);
	return cli_print_json(
		cli,
		json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}",
			  "file", path,
			  "lines", (json_int_t)result->lines, "clusters",
			  (json_int_t)result->clusters, "events", (json_int_t)result->events,
			  "refused", (json_int_t)result->refused, "passes",
			  (json_int_t)result->passes, "decisions", (json_int_t)result->decisions,
			  "starts", (json_int_t)result->starts, "pools",
			  (json_int_t)result->pools, "tasks", (json_int_t)result->tasks, "picks",
			  (json_int_t)result->picks, "batches", (json_int_t)result->batches,
			  "digests",
			  (json_int_t)result->digests, "torn", (json_int_t)result->torn,
			  "differing", (json_int_t)result->differing, "first", first));
}

static int print(struct cli *cli, const char *path, const struct rerun_result *result)
{
	static const struct cli_column columns[] = {
		{ "RECORD", .style = CLI_BOLD }, { "BEGUN", .right = true },
		{ "EVENTS", .right = true },     { "PASSES", .right = true },
		{ "STARTS", .right = true },     { "DECISIONS", .right = true },
		{ "TASKS", .right = true },      { "PICKS", .right = true },
		{ "STATES", .right = true },     { "DECIDED OTHERWISE", .right = true },
	};
	struct cli_table *table;

	if (cli->globals.json)
		return print_json(cli, path, result);
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	cli_table_add(table, "%s", path);
	cli_table_add(table, "%zu", result->clusters);
	cli_table_add(table, "%zu", result->events);
	cli_table_add(table, "%zu", result->passes);
	cli_table_add(table, "%zu", result->starts);
	cli_table_add(table, "%zu", result->decisions);
	cli_table_add(table, "%zu", result->tasks);
	cli_table_add(table, "%zu", result->picks);
	cli_table_add(table, "%zu", result->digests);
	cli_table_add(table, "%zu", result->differing);
	rc = cli_table_print(table);
	if (rc == 0 && result->differing)
		cli_printf(cli, "\nline %zu then: %.*s\nline %zu now:  %.*s\n", result->line,
			   SHOWN_BYTES, result->recorded.text, result->line, SHOWN_BYTES,
			   result->decided.text);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct rerun_result result;
	const char *text;
	size_t length;
	int rc = input_read(env_system(), operands[0], STRATA_INPUT_BYTES_MAX, &cli->arena, &text,
			    &length, &cli->err);

	(void)conf;
	(void)operand_count;
	if (rc)
		return rc;
	rerun_init(&result, &cli->memory);
	rc = rerun_run(text, length, &cli->memory, &result, &cli->err);
	if (rc == 0)
		rc = print(cli, operands[0], &result);
	if (rc == 0 && result.differing) {
		cli_note(cli,
			 "line %zu was decided otherwise: another version wrote the record, or "
			 "something that decides is not in it",
			 result.line);
		rc = 1;
	}
	rerun_fini(&result);
	return rc;
}

const struct cli_command cli_sim_rerun = {
	.name = "sim rerun",
	.operands = "RECORD",
	.summary = "decide over what a service decided, and compare",
	.about = "A service with the setting `record` writes down everything that its scheduler and "
		 "its pools of generation tasks are told and what they decide. Here the same\n"
		 "code is told the same again; every decision must come out equal. Plain or "
		 "compressed with gzip.",
	.examples = "  strata serve --record /var/lib/strata/record.jsonl\n"
		    "  strata sim rerun /var/lib/strata/record.jsonl",
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
