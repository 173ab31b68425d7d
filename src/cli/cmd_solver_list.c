/* strata solver list: the solvers, schedules and families of models that there are. */
#include "cli/cli.h"

#include <strata/solver.h>

static json_t *classes_json(const struct strata_registry *registry)
{
	const struct strata_class *cls;
	json_t *list = json_array();

	for (size_t i = 0; list && (cls = strata_registry_at(registry, i)); i++)
		if (json_array_append_new(list,
					  json_pack("{s:s,s:s,s:s?}", "name", cls->name, "summary",
						    cls->summary, "aliases", cls->aliases))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static json_t *names_json(void)
{
	json_t *list = json_array();
	const char *name;

	for (size_t i = 0; list && (name = strata_solver_other_name(i)); i++)
		if (json_array_append_new(list, json_string(name))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static json_t *families_json(void)
{
	const struct strata_model_family *family;
	json_t *list = json_array();

	for (size_t i = 0; list && (family = strata_model_family_at(i)); i++)
		if (json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "name", family->name,
							  "aliases", family->aliases, "solver",
							  family->solver))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static int print_classes(struct cli *cli, const char *title, const struct strata_registry *registry)
{
	const struct cli_column columns[] = { { title, .style = CLI_BOLD },
					      { "WHAT IT IS" },
					      { "ALSO KNOWN AS", .flexible = true,
						.style = CLI_DIM } };
	const struct strata_class *cls;
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, 3, &table);

	for (size_t i = 0; rc == 0 && (cls = strata_registry_at(registry, i)); i++) {
		cli_table_add(table, "%s", cls->name);
		cli_table_add(table, "%s", cls->summary);
		cli_table_add(table, "%s", cls->aliases ? cls->aliases : "");
	}
	return rc ? rc : cli_table_print(table);
}

static int print_families(struct cli *cli)
{
	static const struct cli_column columns[] = { { "FAMILY", .style = CLI_BOLD },
						     { "USUALLY" },
						     { "ALSO KNOWN AS", .flexible = true,
						       .style = CLI_DIM } };
	const struct strata_model_family *family;
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, 3, &table);

	for (size_t i = 0; rc == 0 && (family = strata_model_family_at(i)); i++) {
		cli_table_add(table, "%s", family->name);
		cli_table_add(table, "%s", family->solver);
		cli_table_add(table, "%s", family->aliases);
	}
	return rc ? rc : cli_table_print(table);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct strata_registry *solvers, *schedules = NULL;
	int rc = cli_registry_open(cli, &strata_solver_kind, &solvers);

	(void)conf;
	(void)operands;
	(void)operand_count;
	if (rc)
		return rc;
	rc = cli_registry_open(cli, &strata_schedule_kind, &schedules);
	if (rc == 0 && cli->globals.json) {
		rc = cli_print_json(cli, json_pack("{s:o,s:o,s:o,s:o}", "solvers",
						   classes_json(solvers), "names", names_json(),
						   "schedules", classes_json(schedules), "families",
						   families_json()));
	} else if (rc == 0) {
		rc = print_classes(cli, "SOLVER", solvers);
		cli_print(cli, "\n");
		if (rc == 0)
			rc = print_classes(cli, "SCHEDULE", schedules);
		cli_print(cli, "\n");
		if (rc == 0)
			rc = print_families(cli);
	}
	strata_registry_free(schedules);
	strata_registry_free(solvers);
	return rc;
}

const struct cli_command cli_solver_list = {
	.name = "solver list",
	.summary = "the solvers, schedules and families of models",
	.about = "A schedule may stand behind a solver's name ('DPM++ 2M Karras'); a family stands "
		 "for the "
		 "solver that\nits models are usually sampled with.",
	.examples = "  strata solver list\n"
		    "  strata solver list --json",
	.run = run,
};
