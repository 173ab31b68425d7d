/*
 * The configuration: defaults, then the file, then STRATA_* variables, then flags. strata config shows each value and
 * where it came from.
 */
#include "cli/cli.h"

#include "core/env.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct strata_choice colors[] = { { "auto", CLI_COLOR_AUTO, "on a terminal" },
					       { "always", CLI_COLOR_ALWAYS, NULL },
					       { "never", CLI_COLOR_NEVER, NULL },
					       { 0 } };

static const struct strata_option plugin_path = { .type = STRATA_TEXT, .value = "FILE" };

static const struct strata_option config_options[] = {
	{ "color", STRATA_ENUM, offsetof(struct cli_config, color),
	  .choice = { colors, CLI_COLOR_AUTO }, .help = "when to use colours",
	  .aliases = "colour" },
	{ "socket", STRATA_TEXT, offsetof(struct cli_config, socket), .value = "PATH",
	  .help = "the server's Unix socket" },
	{ "server", STRATA_TEXT, offsetof(struct cli_config, server), .value = "URL",
	  .help = "the server's address" },
	{ "plugins", STRATA_LIST, offsetof(struct cli_config, plugins), .list = { &plugin_path },
	  .help = "shared objects whose classes are added to the built-in ones" },
	{ 0 }
};

const struct strata_schema cli_config_schema = {
	.name = "configuration",
	.summary = "what strata.ini and STRATA_* variables may say",
	.conf_size = sizeof(struct cli_config),
	.options = config_options,
};

static int read_config_file(struct cli *cli, const char *path, bool must_exist)
{
	char *text;
	size_t length;
	int rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_INI_BYTES_MAX, &cli->arena,
			       &text, &length, &cli->err);

	if (rc == -ENOENT && !must_exist)
		return 0;
	if (rc)
		return rc;
	return option_read_ini(&cli_config_schema, text, length, path, &cli->arena, &cli->config,
			       &cli->origins, &cli->err);
}

/* The file named by --config or STRATA_CONFIG; else the system's and then the user's own. */
static int read_files(struct cli *cli)
{
	const char *named = cli->globals.config ? cli->globals.config : getenv("STRATA_CONFIG");
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
	const char *own = NULL;
	int rc;

	if (named && *named)
		return read_config_file(cli, named, true);
	rc = read_config_file(cli, "/etc/strata/strata.ini", false);
	if (rc)
		return rc;
	if (xdg && *xdg)
		own = strata_arena_printf(&cli->arena, "%s/strata/strata.ini", xdg);
	else if (home && *home)
		own = strata_arena_printf(&cli->arena, "%s/.config/strata/strata.ini", home);
	return own ? read_config_file(cli, own, false) : 0;
}

static const char *get_variable(void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

static int take_flag(struct cli *cli, const char *name, const char *value, const char **slot)
{
	char flag[64];

	if (!value)
		return 0;
	*slot = value;
	snprintf(flag, sizeof(flag), "--%s", name);
	return origins_add(&cli->origins, name, flag, &cli->err);
}

int cli_config_load(struct cli *cli)
{
	int rc = strata_schema_defaults(&cli_config_schema, &cli->arena, &cli->config, &cli->err);

	if (rc == 0)
		rc = read_files(cli);
	if (rc == 0)
		rc = option_read_env(&cli_config_schema, "STRATA_", get_variable, NULL, &cli->arena,
				     &cli->config, &cli->origins, &cli->err);
	if (rc == 0)
		rc = take_flag(cli, "socket", cli->globals.socket, &cli->config.socket);
	if (rc == 0)
		rc = take_flag(cli, "server", cli->globals.server, &cli->config.server);
	return rc;
}

int cli_registry_open(struct cli *cli, const struct strata_kind *kind,
		      struct strata_registry **ret_registry)
{
	struct strata_registry *registry;
	const char **paths = cli->config.plugins.items;
	int rc = strata_registry_new(kind, &cli->memory, &registry, &cli->err);

	if (rc)
		return rc;
	for (size_t i = 0; rc == 0 && i < cli->config.plugins.count; i++) {
		const char *of_kind;

		rc = strata_plugin_kind(paths[i], &cli->arena, &of_kind, &cli->err);
		if (rc == 0 && strcmp(of_kind, kind->name) == 0)
			rc = strata_registry_load(registry, paths[i], &cli->err);
	}
	if (rc) {
		strata_registry_free(registry);
		return rc;
	}
	*ret_registry = registry;
	return 0;
}

static int print_json(struct cli *cli)
{
	json_t *values = json_object();

	for (const struct strata_option *option = config_options; values && option->name;
	     option++) {
		const char *from = origins_find(&cli->origins, option->name);
		json_t *value = option_value_json(option, (char *)&cli->config + option->offset);

		if (!value || json_object_set_new(values, option->name,
						  json_pack("{s:o,s:s}", "value", value, "from",
							    from ? from : "default"))) {
			json_decref(values);
			values = NULL;
		}
	}
	return cli_print_json(cli, values);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	static const struct cli_column columns[] = { { "OPTION", .style = CLI_BOLD },
						     { "VALUE", .flexible = true },
						     { "FROM", .style = CLI_DIM } };
	struct cli_table *table;

	(void)conf, (void)operands, (void)operand_count;
	if (cli->globals.json)
		return print_json(cli);
	int rc = cli_table_new(cli, columns, 3, &table);

	if (rc)
		return rc;
	for (const struct strata_option *option = config_options; option->name; option++) {
		const char *from = origins_find(&cli->origins, option->name);
		struct buf value;

		buf_init(&value, &cli->memory, 0);
		option_print(option, (char *)&cli->config + option->offset, &value);
		cli_table_add(table, "%s", option->name);
		cli_table_add(table, "%s", value.length ? value.text : "-");
		cli_table_add(table, "%s", from ? from : "default");
		buf_fini(&value);
	}
	return cli_table_print(table);
}

const struct cli_command cli_config_show = {
	.name = "config",
	.summary = "show every setting and where its value comes from",
	.about = "Settings come from, in this order, each beating the one before: the defaults;\n"
		 "/etc/strata/strata.ini; ~/.config/strata/strata.ini; STRATA_* variables\n"
		 "(STRATA_SOCKET, STRATA_COLOR …); flags. --config FILE (or STRATA_CONFIG) names\n"
		 "the only file that is read.",
	.examples = "  STRATA_COLOR=never strata config\n"
		    "  strata config --config lab.ini --json",
	.run = run,
};
