/* strata engine replay, in the full program. */
#include "cli/engine_options.h"

#include "engine/replay.h"

#include <errno.h>
#include <math.h>

static json_t *result_json(const char *file, const struct engine_replay_result *result)
{
	/* JSON has no infinity: null stands for a case that could not be run. */
	json_t *worst = isfinite(result->worst) ? json_real(result->worst) : json_null();

	return json_pack("{s:s,s:I,s:I,s:o,s:s}", "file", file, "cases",
			 (json_int_t)result->case_count, "passed", (json_int_t)result->passed,
			 "worst", worst, "failed", result->failed);
}

static int print(struct cli *cli, char **files, const struct engine_replay_result *results,
		 size_t count)
{
	static const struct cli_column columns[] = {
		{ "FILE", .style = CLI_BOLD },
		{ "CASES", .right = true },
		{ "PASSED", .right = true },
		{ "WORST", .right = true },
	};
	struct cli_table *table;

	if (cli->globals.json) {
		json_t *list = json_array();

		for (size_t i = 0; i < count; i++)
			json_array_append_new(list, result_json(files[i], &results[i]));
		return cli_print_json(cli, list);
	}
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++) {
		bool all = results[i].passed == results[i].case_count;

		cli_table_add(table, "%s", files[i]);
		cli_table_add(table, "%zu", results[i].case_count);
		cli_table_add_styled(table, all ? CLI_GREEN : CLI_RED, "%zu", results[i].passed);
		cli_table_add(table, "%.3f", results[i].worst);
		if (!all)
			cli_note(cli, "%s: %s", files[i], results[i].failed);
	}
	return cli_table_print(table);
}

int engine_replay_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct engine_replay_options *options = conf;
	const struct strata_engine_conf engine_conf = { .devices = options->devices,
							.backend = options->backend };
	struct engine_replay_conf how = { .over = options->over };
	struct engine_replay_result *results =
		strata_arena_array(&cli->arena, operand_count, sizeof(*results));
	struct strata_engine *engine;
	bool all = true;
	int64_t bytes;
	int rc = results ? engine_budget_read(cli, options->budget, &bytes, &how.budget_share)
			 : strata_fail_memory(&cli->err);

	if (rc == 0 && options->budget && how.budget_share <= 0)
		rc = strata_fail(&cli->err, -EINVAL,
				 "--budget %s: expected a share of the weights, as 33%%",
				 options->budget);
	if (rc == 0)
		rc = strata_engine_new(&engine_conf, &cli->memory, &engine, &cli->err);
	if (rc)
		return rc;
	engine_interruptible(engine);
	for (size_t i = 0; rc == 0 && i < operand_count; i++) {
		rc = engine_replay_file(engine, operands[i], &how, &cli->memory, &results[i],
					&cli->err);
		all = all && rc == 0 && results[i].passed == results[i].case_count;
	}
	engine_interruptible(NULL);
	strata_engine_free(engine);
	if (rc == 0)
		rc = print(cli, operands, results, operand_count);
	return rc ? rc : all ? 0 : STRATA_EXIT_FAILED;
}
