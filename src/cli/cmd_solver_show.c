/* strata solver show: what a name stands for, and everything that can be set. */
#include "cli/solver.h"

#include "core/class.h"

static int print_options(struct cli *cli, const struct strata_class *cls, const void *conf)
{
	static const struct cli_column columns[] = { { "OPTION", .style = CLI_BOLD },
						     { "VALUE" },
						     { "WHAT IT DOES", .flexible = true } };
	struct cli_table *table;
	struct buf value;
	int rc = cli_table_new(cli, columns, 3, &table);

	if (rc)
		return rc;
	for (const struct strata_option *option = cls->options; option && option->name; option++) {
		buf_init(&value, &cli->memory, 0);
		option_print(option, (const char *)conf + option->offset, &value);
		cli_table_add(table, "%s", option->name);
		cli_table_add_buf(table, &value, "");
		cli_table_add(table, "%s", option->help ? option->help : "");
	}
	return cli_table_print(table);
}

static json_t *asked_json(const struct solver_asked *asked)
{
	struct strata_schema schema = class_schema(&asked->cls->base);

	return json_pack("{s:s,s:s,s:s?,s:s?,s:o}", "name", asked->cls->base.name, "summary",
			 asked->cls->base.summary, "aliases", asked->cls->base.aliases, "schedule",
			 asked->schedule.cls ? asked->schedule.cls->name : NULL, "options",
			 option_write_json(&schema, asked->conf));
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct solver_asked asked;
	int rc = solver_ask(cli, operand_count ? operands[0] : NULL, conf, &asked);

	if (rc)
		return rc;
	const struct strata_class *cls = &asked.cls->base;

	if (cli->globals.json) {
		rc = cli_print_json(cli, asked_json(&asked));
	} else {
		cli_printf(cli, "%s%s%s: %s\n", cli_style(cli, CLI_BOLD), cls->name,
			   cli_style(cli, CLI_PLAIN), cls->summary);
		if (cls->aliases)
			cli_printf(cli, "also known as: %s\n", cls->aliases);
		if (asked.schedule.cls)
			cli_printf(cli, "schedule: %s, %s\n", asked.schedule.cls->name,
				   asked.schedule.cls->summary);
		rc = print_options(cli, cls, asked.conf);
	}
	return rc;
}

static const struct strata_schema show_schema = { "solver show", NULL, sizeof(struct solver_flags),
						  solver_flag_rows };

const struct cli_command cli_solver_show = {
	.name = "solver show",
	.operands = "[NAME]",
	.summary = "what a solver's name stands for, and what can be set",
	.about =
		"NAME is any name of a solver that users know, perhaps with a schedule and options "
		"behind it, or a\nfamily of models; with --config the file's settings are shown.",
	.examples = "  strata solver show 'DPM++ 2M SDE Karras'\n"
		    "  strata solver show sdxl --json\n"
		    "  strata solver show --config scheduler_config.json",
	.options = &show_schema,
	.operands_max = 1,
	.run = run,
};
