/* strata classes: the kinds of this build, the classes of a kind, the options of a class. */
#include "cli/cli.h"

#include "core/class.h"
#include "core/text.h"

#include <errno.h>
#include <string.h>

static json_t *class_json(const struct strata_class *cls)
{
	struct strata_schema schema = class_schema(cls);
	const char *at = cls->aliases, *alias;
	size_t length;
	json_t *aliases = json_array();

	while (aliases && class_next_alias(&at, &alias, &length))
		if (json_array_append_new(aliases, json_stringn(alias, length))) {
			json_decref(aliases);
			return NULL;
		}
	if (!aliases)
		return NULL;
	return json_pack("{s:s,s:o,s:s,s:o}", "name", cls->name, "aliases", aliases, "summary",
			 cls->summary, "options", option_openapi(&schema));
}

static int print_kinds(struct cli *cli)
{
	static const struct cli_column columns[] = { { "KIND", .style = CLI_BOLD },
						     { "CLASSES", .right = true },
						     { "WHAT IT DECIDES", .flexible = true } };
	const struct strata_kind *kind;
	struct cli_table *table;
	json_t *list = json_array();
	int rc = cli_table_new(cli, columns, 3, &table);

	for (size_t i = 0; rc == 0 && (kind = cli_kind_at(i)); i++) {
		struct strata_registry *registry;
		size_t count = 0;

		rc = cli_registry_open(cli, kind, &registry);
		if (rc)
			break;
		while (strata_registry_at(registry, count))
			count++;
		strata_registry_free(registry);
		cli_table_add(table, "%s", kind->name);
		cli_table_add(table, "%zu", count);
		cli_table_add(table, "%s", kind->summary);
		json_array_append_new(list,
				      json_pack("{s:s,s:I,s:s}", "kind", kind->name, "classes",
						(json_int_t)count, "summary", kind->summary));
	}
	if (rc || !cli->globals.json) {
		json_decref(list);
		return rc ? rc : cli_table_print(table);
	}
	return cli_print_json(cli, list);
}

static int print_classes(struct cli *cli, const struct strata_registry *registry)
{
	static const struct cli_column columns[] = { { "NAME", .style = CLI_BOLD },
						     { "WHAT IT IS", .flexible = true },
						     { "ALSO KNOWN AS", .flexible = true,
						       .style = CLI_DIM } };
	const struct strata_class *cls;
	struct cli_table *table;
	json_t *list = json_array();
	int rc = cli_table_new(cli, columns, 3, &table);

	for (size_t i = 0; rc == 0 && (cls = strata_registry_at(registry, i)); i++) {
		cli_table_add(table, "%s", cls->name);
		cli_table_add(table, "%s", cls->summary);
		cli_table_add(table, "%s", cls->aliases ? cls->aliases : "");
		if (json_array_append_new(list, class_json(cls)))
			rc = strata_fail_memory(&cli->err);
	}
	if (rc || !cli->globals.json) {
		json_decref(list);
		return rc ? rc : cli_table_print(table);
	}
	return cli_print_json(cli, list);
}

static int print_class(struct cli *cli, const struct strata_registry *registry, const char *name)
{
	static const struct cli_column columns[] = { { "OPTION", .style = CLI_BOLD },
						     { "TYPE" },
						     { "DEFAULT" },
						     { "WHAT IT DOES", .flexible = true } };
	const struct strata_class *cls;
	struct cli_table *table;
	struct strata_spec spec;
	int rc = strata_registry_find(registry, name, strlen(name), &cls, &cli->err);

	if (rc)
		return rc;
	if (cli->globals.json)
		return cli_print_json(cli, class_json(cls));
	cli_printf(cli, "%s%s%s: %s\n", cli_style(cli, CLI_BOLD), cls->name,
		   cli_style(cli, CLI_PLAIN), cls->summary);
	if (cls->aliases)
		cli_printf(cli, "also known as: %s\n", cls->aliases);
	if (!cls->options || !cls->options->name)
		return 0;
	struct strata_schema schema = class_schema(cls);

	spec.conf = strata_arena_get(&cli->arena, cls->conf_size);
	rc = spec.conf ? strata_schema_defaults(&schema, &cli->arena, spec.conf, &cli->err)
		       : strata_fail_memory(&cli->err);
	if (rc == 0)
		rc = cli_table_new(cli, columns, 4, &table);
	for (const struct strata_option *option = cls->options; rc == 0 && option->name; option++) {
		struct buf type, value;

		buf_init(&type, &cli->memory, 0);
		buf_init(&value, &cli->memory, 0);
		option_print_value_name(option, &type);
		option_print(option, (char *)spec.conf + option->offset, &value);
		cli_table_add(table, "%s", option->name);
		cli_table_add_buf(table, &type, "true|false");
		cli_table_add_buf(table, &value, "-");
		cli_table_add(table, "%s%s%s%s", option->help ? option->help : "",
			      option->unit ? " (" : "", option->unit ? option->unit : "",
			      option->unit ? ")" : "");
	}
	cli_print(cli, "\n");
	return rc ? rc : cli_table_print(table);
}

static int unknown_kind(struct cli *cli, const char *name)
{
	struct text_closest closest;
	const struct strata_kind *kind;

	text_closest_init(&closest, name, strlen(name));
	for (size_t i = 0; (kind = cli_kind_at(i)); i++)
		text_closest_offer(&closest, kind->name);
	return strata_fail(&cli->err, -ENOENT, "there is no kind '%.60s'; %s%s%s", name,
			   closest.best ? "did you mean '" : "`strata classes` lists them",
			   closest.best ? closest.best : "", closest.best ? "'?" : "");
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct strata_registry *registry;

	(void)conf;
	const struct strata_kind *kind = operand_count ? cli_kind_find(operands[0]) : NULL;

	if (!kind && !cli_has_engine())
		return cli_hand_over(cli);
	if (operand_count == 0)
		return print_kinds(cli);
	if (!kind)
		return unknown_kind(cli, operands[0]);
	int rc = cli_registry_open(cli, kind, &registry);

	if (rc)
		return rc;
	if (operand_count == 1)
		rc = print_classes(cli, registry);
	else
		rc = print_class(cli, registry, operands[1]);
	strata_registry_free(registry);
	return rc;
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	const struct strata_kind *kind;

	if (operand_index == 0 && !cli_has_engine())
		(void)cli_hand_over(cli); /* returns only where there is no other program */
	for (size_t i = 0; operand_index == 0 && (kind = cli_kind_at(i)); i++)
		buf_printf(ret_lines, "%s\t%s\n", kind->name, kind->summary);
}

const struct cli_command cli_classes = {
	.name = "classes",
	.operands = "[KIND [NAME]]",
	.summary = "list what can be chosen: kinds, their classes, a class's options",
	.about = "A class is one of several ways to do a thing: a source of noise, a queue policy, "
		 "a solver.\n"
		 "It is named with its options as NAME:key=value:key=value. Plug-ins named in the "
		 "configuration\n"
		 "are listed with the rest.",
	.examples = "  strata classes\n"
		    "  strata classes noise\n"
		    "  strata classes noise cuda --json",
	.operands_max = 2,
	.run = run,
	.complete = complete,
};
