/* strata solver replay: trajectories that were kept in files, gone through again and compared. */
#include "cli/cli.h"

#include "core/env.h"
#include "sim/input.h"
#include "bench/golden_run.h"

#include <errno.h>
#include <string.h>

struct replay_conf {
	bool failed, scalar;
};

static const struct strata_option replay_rows[] = {
	{ "failed", STRATA_BOOL, offsetof(struct replay_conf, failed),
	  .help = "also say which cases failed, and why" },
	{ "scalar", STRATA_BOOL, offsetof(struct replay_conf, scalar),
	  .help = "by the reference instead of the machine's best instructions" },
	{ 0 }
};
static const struct strata_schema replay_schema = { "solver replay", NULL,
						    sizeof(struct replay_conf), replay_rows };

struct tally {
	const char *file;
	size_t cases, passed;
	double worst;
};

/* bank.json beside the file. */
static int read_bank(struct cli *cli, const char *path, struct strata_arena *arena,
		     struct golden_bank *bank)
{
	const char *slash = strrchr(path, '/'), *text;
	size_t length;
	char *beside = strata_arena_printf(arena, "%.*sbank.json",
					   slash ? (int)(slash - path + 1) : 0, path);

	if (!beside)
		return strata_fail_memory(&cli->err);
	int rc = input_read(env_system(), beside, STRATA_JSON_BYTES_MAX, arena, &text, &length,
			    &cli->err);

	return rc ? rc : golden_read_bank(text, length, arena, bank, &cli->err);
}

static void say_failed(struct cli *cli, const struct tally *tally, size_t index,
		       const struct golden_case *one, const struct trajectory_result *result)
{
	cli_note(cli, "%s: case %zu (%s, %lld steps): %s", tally->file, index + 1,
		 one->name ? one->name : "", (long long)one->request.steps, result->why);
}

static int replay(struct cli *cli, const struct replay_conf *conf,
		  const struct strata_registry *solvers, struct strata_arena *arena,
		  struct tally *tally)
{
	struct golden_bank bank;
	struct golden_file file;
	const char *text;
	size_t length;
	int rc = input_read(env_system(), tally->file, STRATA_JSON_BYTES_MAX, arena, &text, &length,
			    &cli->err);

	if (rc == 0)
		rc = read_bank(cli, tally->file, arena, &bank);
	if (rc == 0)
		rc = golden_read(text, length, &bank, arena, &file, &cli->err);
	tally->cases = rc ? 0 : file.case_count;
	for (size_t i = 0; i < tally->cases && rc == 0; i++) {
		struct trajectory_result result;

		rc = trajectory_run(&file.cases[i], &bank, solvers,
				    conf->scalar ? STRATA_ISA_SCALAR : strata_isa_best(),
				    &cli->memory, &result, &cli->err);
		if (rc)
			break;
		if (trajectory_passed(&result))
			tally->passed++;
		else if (conf->failed)
			say_failed(cli, tally, i, &file.cases[i], &result);
		if (!(result.worst <= tally->worst))
			tally->worst = result.worst;
	}
	return rc;
}

static json_t *tally_json(const struct tally *tally)
{
	/* JSON has no infinity: null stands for a case without a trajectory */
	json_t *worst = tally->worst <= 1e300 ? json_real(tally->worst) : json_null();

	return json_pack("{s:s,s:I,s:I,s:o}", "file", tally->file, "cases",
			 (json_int_t)tally->cases, "passed", (json_int_t)tally->passed, "worst",
			 worst);
}

static int print(struct cli *cli, const struct tally *tallies, size_t count)
{
	static const struct cli_column columns[] = {
		{ "FILE", .style = CLI_BOLD },
		{ "CASES", .right = true },
		{ "PASSED", .right = true },
		{ "WORST", .right = true },
	};
	json_t *list = cli->globals.json ? json_array() : NULL;
	struct cli_table *table;

	if (cli->globals.json) {
		for (size_t i = 0; list && i < count; i++)
			if (json_array_append_new(list, tally_json(&tallies[i]))) {
				json_decref(list);
				list = NULL;
			}
		return cli_print_json(cli, list);
	}
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++) {
		cli_table_add(table, "%s", tallies[i].file);
		cli_table_add(table, "%zu", tallies[i].cases);
		cli_table_add_styled(table,
				     tallies[i].passed == tallies[i].cases ? CLI_GREEN : CLI_RED,
				     "%zu", tallies[i].passed);
		cli_table_add(table, "%.3f", tallies[i].worst);
	}
	return cli_table_print(table);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct tally *tallies =
		strata_arena_array(&cli->arena, operand_count, sizeof(struct tally));
	struct strata_registry *solvers;
	bool all = true;
	int rc = tallies ? cli_registry_open(cli, &strata_solver_kind, &solvers)
			 : strata_fail_memory(&cli->err);

	if (rc)
		return rc;
	for (size_t i = 0; i < operand_count && rc == 0; i++) {
		struct strata_arena arena;

		strata_arena_init(&arena, &cli->memory, 0);
		tallies[i].file = operands[i];
		rc = replay(cli, conf, solvers, &arena, &tallies[i]);
		strata_arena_fini(&arena);
		if (rc)
			strata_fail(&cli->err, rc, "%s: %s", operands[i],
				    strata_arena_printf(&cli->arena, "%s", cli->err.text));
		all &= tallies[i].passed == tallies[i].cases;
	}
	strata_registry_free(solvers);
	if (rc == 0)
		rc = print(cli, tallies, operand_count);
	return rc ? rc : all ? 0 : STRATA_EXIT_FAILED;
}

const struct cli_command cli_solver_replay = {
	.name = "solver replay",
	.operands = "FILE…",
	.summary = "go through kept trajectories again and compare",
	.about = "FILE holds cases of diffusers' schedulers or k-diffusion's samplers; the inputs "
		 "they "
		 "share are in\nbank.json beside it. WORST is the largest ratio of an error to the "
		 "file's tolerance. Exits with 1\nwhen a case fails.",
	.examples = "  strata solver replay golden/*.json\n"
		    "  strata solver replay ddim.json --failed --json",
	.options = &replay_schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
