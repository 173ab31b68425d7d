/* strata slurm coverage: how many options of each of Slurm's commands act here, warn, and are
 * refused. */
#include "cli/slurm/command.h"

/* Options with several names are one. */
struct coverage {
	size_t options, acts, warns, refused;
};

static bool is_alias(const struct slurm_command *command, const struct slurm_row *row)
{
	for (const struct slurm_row *before = NULL;
	     (before = slurm_row_next(command->syntax, before)) != row;)
		if (slurm_row_same(before, row))
			return true;
	return false;
}

static struct coverage count(const struct slurm_command *command)
{
	struct coverage coverage = { 0 };

	for (const struct slurm_row *row = NULL; (row = slurm_row_next(command->syntax, row));) {
		enum strata_slurm_effect effect = row->option.effect;

		if (is_alias(command, row))
			continue;
		coverage.options++;
		coverage.warns += effect == STRATA_SLURM_IGNORED;
		coverage.refused += effect == STRATA_SLURM_REFUSED;
		coverage.acts += effect == STRATA_SLURM_ACTS || effect == STRATA_SLURM_HOLDS;
	}
	return coverage;
}

static int print_json(struct cli *cli)
{
	const struct slurm_command *command;
	json_t *list = json_array();

	for (size_t i = 0; (command = slurm_command_at(i)); i++) {
		struct coverage coverage = count(command);

		json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:I, s:I}", "command", command->name,
					"options", (json_int_t)coverage.options, "acts",
					(json_int_t)coverage.acts, "warns",
					(json_int_t)coverage.warns, "refused",
					(json_int_t)coverage.refused));
	}
	return cli_print_json(cli, list);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	static const struct cli_column columns[] = { { .title = "COMMAND", .style = CLI_BOLD },
						     { .title = "OPTIONS", .right = true },
						     { .title = "ACT", .right = true },
						     { .title = "WARN", .right = true },
						     { .title = "REFUSED", .right = true } };
	const struct slurm_command *command;
	struct cli_table *table;

	(void)conf, (void)operands, (void)operand_count;
	if (cli->globals.json)
		return print_json(cli);
	int rc = cli_table_new(cli, columns, 5, &table);

	for (size_t i = 0; rc == 0 && (command = slurm_command_at(i)); i++) {
		struct coverage coverage = count(command);

		cli_table_add(table, "%s", command->name);
		cli_table_add(table, "%zu", coverage.options);
		cli_table_add(table, "%zu", coverage.acts);
		cli_table_add(table, "%zu", coverage.warns);
		cli_table_add(table, "%zu", coverage.refused);
	}
	if (rc == 0)
		rc = cli_table_print(table);
	if (rc == 0)
		cli_note(cli, "`strata slurm ls COMMAND` has each option");
	return rc;
}

const struct cli_command cli_slurm_coverage = {
	.name = "slurm coverage",
	.summary = "count what becomes of the options of Slurm's commands here",
	.about = "An option acts (or what it asks for holds anyway), is accepted with a warning, or "
		 "is refused.",
	.examples = "  strata slurm coverage\n"
		    "  strata slurm ls sbatch",
	.run = run,
};
