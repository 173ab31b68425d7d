/*
 * The configuration: defaults, then the file, then variables, then flags. [serve] of the file and
 * STRATA_SERVE_* are the service's own (server/conf.h). strata config shows each value and where it
 * came from, but for passwords.
 */
#include "cli/cli.h"

#include "core/env_trust.h"
#include "machine/inventory.h"

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

static const struct strata_option declared_node = { .type = STRATA_TABLE,
						    .table = &inventory_declared_schema };

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
	{ "node", STRATA_LIST, offsetof(struct cli_config, nodes), .list = { &declared_node },
	  .help = "[node NAME]: a node of the service; this machine when there is none" },
	{ "serve", STRATA_TABLE, offsetof(struct cli_config, serve), .table = &server_schema,
	  .help = "what the service does" },
	{ 0 }
};

const struct strata_schema cli_config_schema = {
	.name = "configuration",
	.summary = "what strata.ini and STRATA_* variables may say",
	.conf_size = sizeof(struct cli_config),
	.options = config_options,
};

/* A mistake in the service's sections is the service's: whoever only asks it does not read them.
 * Lines keep their numbers. */
static void blank_service(char *text)
{
	bool service = false;

	for (char *line = text; *line;) {
		char *end = line + strcspn(line, "\n");

		if (*line == '[')
			service = strncmp(line, "[serve]", 7) == 0 ||
				  strncmp(line, "[node ", 6) == 0;
		if (service)
			memset(line, ' ', (size_t)(end - line));
		line = end + (*end == '\n');
	}
}

static int read_config_file(struct cli *cli, const char *path, bool must_exist)
{
	char *text;
	size_t length;
	int rc = 0;

	/* what is missing is said below */
	if (cli->command && cli->command->run == serve_run)
		rc = env_trust_check(path, ENV_TRUST_FILE, "the settings in", &cli->err);
	if (rc == -EPERM)
		return rc;
	rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_INI_BYTES_MAX, &cli->arena, &text,
			   &length, &cli->err);

	if (rc == -ENOENT && !must_exist)
		return 0;
	if (rc)
		return rc;
	if (cli->command && !cli->command->serves)
		blank_service(text);
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
	else
		return 0;
	return own ? read_config_file(cli, own, false) : strata_fail_memory(&cli->err);
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

/* Variables that others use for the same; those with our own names go before them. */
static int read_common_variables(struct cli *cli)
{
	const struct {
		const char *variable, *path;
		const char **slot;
	} rows[] = { { "DATABASE_URL", "serve.store", &cli->config.serve.store },
		     { "INVENTORY_SERVICE_URL", "serve.inventory_url",
		       &cli->config.serve.inventory_url },
		     { "CHECKPOINT_PATH", "serve.checkpoint_dir",
		       &cli->config.serve.checkpoint_dir } };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value = getenv(rows[i].variable);

		if (!value || !*value)
			continue;
		*rows[i].slot = value;
		rc = origins_add(&cli->origins, rows[i].path, rows[i].variable, &cli->err);
	}
	return rc;
}

int cli_config_load_file(struct cli *cli, const char *path)
{
	int rc = strata_schema_defaults(&cli_config_schema, &cli->arena, &cli->config, &cli->err);

	return rc ? rc : read_config_file(cli, path, true);
}

int cli_config_load(struct cli *cli)
{
	int rc = strata_schema_defaults(&cli_config_schema, &cli->arena, &cli->config, &cli->err);

	if (rc == 0)
		rc = read_files(cli);
	if (rc == 0)
		rc = read_common_variables(cli);
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

int cli_spec_read(struct cli *cli, const struct strata_kind *kind, const char *text,
		  struct strata_spec *ret_spec)
{
	struct strata_registry *registry;
	int rc = cli_registry_open(cli, kind, &registry);

	if (rc)
		return rc;
	rc = strata_spec_read(registry, text, strlen(text), &cli->arena, ret_spec, &cli->err);
	strata_registry_free(registry);
	return rc;
}

int cli_spec_read_list(struct cli *cli, const struct strata_kind *kind, const char *text,
		       struct strata_spec **ret_specs, size_t *ret_count)
{
	struct strata_registry *registry;
	int rc = cli_registry_open(cli, kind, &registry);

	if (rc)
		return rc;
	rc = strata_spec_read_list(registry, text, strlen(text), &cli->arena, ret_specs, ret_count,
				   &cli->err);
	strata_registry_free(registry);
	return rc;
}

/* ---- strata config ---- */

struct config_conf {
	const char *check;
};

static const struct strata_option own_options[] = {
	{ "check", STRATA_TEXT, offsetof(struct config_conf, check), .value = "FILE",
	  .help = "only say whether the file is right" },
	{ 0 }
};
static const struct strata_schema own_schema = { "config", NULL, sizeof(struct config_conf),
						 own_options };

/* One setting on its way out. */
struct shown {
	const struct strata_option *option;
	char name[STRATA_NAME_BYTES_MAX];
	const void *slot;
	const char *from;
	bool live; /* a reload is enough */
};

typedef int show(struct cli *cli, void *context, const struct shown *shown);

static int show_row(struct cli *cli, const struct strata_option *option, const char *prefix,
		    const char *conf, bool told, show *print, void *context)
{
	struct shown shown = { .option = option, .slot = conf + option->offset };

	snprintf(shown.name, sizeof(shown.name), "%s%s", prefix, option->name);
	shown.from = told && *prefix ? "the server" : origins_find(&cli->origins, shown.name);
	shown.live = *prefix && conf_is_live(option->name);
	return print(cli, context, &shown);
}

/* told: `serve` is what a running server said of itself. */
static int show_all(struct cli *cli, const struct server_conf *serve, bool told, show *print,
		    void *context)
{
	int rc = 0;

	for (const struct strata_option *option = config_options; rc == 0 && option->name; option++)
		if (option->type != STRATA_TABLE &&
		    option->offset != offsetof(struct cli_config, nodes))
			rc = show_row(cli, option, "", (const char *)&cli->config, told, print,
				      context);
	for (const struct strata_option *option = server_schema.options; rc == 0 && option->name;
	     option++)
		rc = show_row(cli, option, "serve.", (const char *)serve, told, print, context);
	return rc;
}

/* A text without the passwords in it; NULL is one that is not set. */
static int hide(struct cli *cli, const struct shown *shown, const char **ret_text)
{
	const char *text = *(const char *const *)shown->slot;

	*ret_text = text ? conf_hide_password(text, &cli->arena) : NULL;
	return text && !*ret_text ? strata_fail_memory(&cli->err) : 0;
}

static int add_json(struct cli *cli, void *context, const struct shown *shown)
{
	const char *text = NULL;
	bool is_text = shown->option->type == STRATA_TEXT;

	if (is_text && hide(cli, shown, &text))
		return -ENOMEM;
	json_t *value = is_text ? json_pack("s?", text)
				: option_value_json(shown->option, shown->slot);
	json_t *row = json_pack("{s:o,s:s,s:b}", "value", value, "from",
				shown->from ? shown->from : "default", "reload", shown->live);

	return json_object_set_new(context, shown->name, row) ? strata_fail_memory(&cli->err) : 0;
}

static int add_line(struct cli *cli, void *context, const struct shown *shown)
{
	const char *text = NULL;
	struct buf value;

	if (shown->option->type == STRATA_TEXT && hide(cli, shown, &text))
		return -ENOMEM;
	buf_init(&value, &cli->memory, 0);
	if (text)
		buf_add(&value, text);
	else if (shown->option->type != STRATA_TEXT)
		option_print(shown->option, shown->slot, &value);
	cli_table_add(context, "%s", shown->name);
	cli_table_add_buf(context, &value, "-");
	cli_table_add(context, "%s", shown->from ? shown->from : "default");
	return 0;
}

static int check_file(struct cli *cli, const char *path)
{
	struct server_conf serve;
	int rc = cli_config_load_file(cli, path);

	if (rc == 0)
		rc = serve_conf_make(cli, NULL, NULL, &serve);
	if (rc == 0)
		rc = conf_check(&serve, &cli->err);
	if (rc)
		return rc;
	if (cli->globals.json)
		return cli_print_json(cli, json_pack("{s:s,s:b}", "file", path, "ok", 1));
	cli_printf(cli, "%s is right\n", path);
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	static const struct cli_column columns[] = { { "OPTION", .style = CLI_BOLD },
						     { "VALUE", .flexible = true },
						     { "FROM", .style = CLI_DIM } };
	const struct config_conf *own = conf;
	struct server_conf serve;
	struct cli_table *table;
	int rc;

	(void)operands, (void)operand_count;
	if (own->check)
		return check_file(cli, own->check);
	cli->err = cli->config_error;
	rc = cli->err.code ? cli->err.code : serve_conf_make(cli, NULL, NULL, &serve);
	if (rc)
		return rc;
	/* whoever names a file wants to know what that says */
	bool told = !cli->globals.config && !getenv("STRATA_CONFIG") && serve_conf_ask(cli, &serve);

	if (cli->globals.json) {
		json_t *values = json_object();

		rc = show_all(cli, &serve, told, add_json, values);
		return rc ? rc : cli_print_json(cli, values);
	}
	rc = cli_table_new(cli, columns, 3, &table);
	if (rc == 0)
		rc = show_all(cli, &serve, told, add_line, table);
	return rc ? rc : cli_table_print(table);
}

const struct cli_command cli_config_show = {
	.name = "config",
	.summary = "show every setting and where its value comes from",
	.about =
		"Settings come from, in this order, each beating the one before: the defaults;\n"
		"/etc/strata/strata.ini; ~/.config/strata/strata.ini; variables (STRATA_SOCKET,\n"
		"STRATA_COLOR …); flags. --config FILE (or STRATA_CONFIG) names the only file\n"
		"that is read.\n"
		"\n"
		"What begins with serve. is the service's: section [serve] of the file, variables\n"
		"such as STRATA_SERVE_STORE (also DATABASE_URL, INVENTORY_SERVICE_URL and\n"
		"CHECKPOINT_PATH), flags of strata serve. Where a server runs and tells, which it\n"
		"does to operators, its own values are shown. Passwords are shown as ***.",
	.examples = "  STRATA_COLOR=never strata config\n"
		    "  strata config --config lab.ini --json\n"
		    "  strata config --check lab.ini",
	.options = &own_schema,
	.tolerant = true,
	.serves = true,
	.run = run,
};
