/*
 * The settings of the service as they count: what the configuration says, over it the flags of
 * strata serve, and for what nobody said the usual places. strata serve runs by them, also when it
 * reads them again; config and doctor look at them.
 */
#include "cli/service.h"

#include "machine/inventory.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of whoever runs this; NULL: there is none. */
static const char *find_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *entry = home && *home ? NULL : getpwuid(geteuid());

	return entry ? entry->pw_dir : home && *home ? home : NULL;
}

static int find_state_dir(struct cli *cli, const char **ret_path)
{
	const char *home = find_home(), *state = getenv("XDG_STATE_HOME");

	if (geteuid() == 0)
		*ret_path = "/var/lib/strata";
	else if (state && *state)
		*ret_path = strata_arena_printf(&cli->arena, "%s/strata", state);
	else if (home)
		*ret_path = strata_arena_printf(&cli->arena, "%s/.local/state/strata", home);
	else
		return strata_fail_at(&cli->err, -EINVAL, "state_dir",
				      "there is no home directory to keep the state in; say where "
				      "with --state DIR");
	return *ret_path ? 0 : strata_fail_memory(&cli->err);
}

/* Jobs and supervisors know it by this path, and work elsewhere. */
static int make_absolute(struct cli *cli, const char **path)
{
	char here[4096];

	if (**path == '/')
		return 0;
	if (!getcwd(here, sizeof(here)))
		return strata_fail(&cli->err, -errno, "%s: the current directory is gone", *path);
	*path = strata_arena_printf(&cli->arena, "%s/%s", here, *path);
	return *path ? 0 : strata_fail_memory(&cli->err);
}

/* Where things are when nobody says so: of the system for root, of the user for others. */
static int fill_places(struct cli *cli, const struct origins *given, struct server_conf *conf)
{
	struct strata_arena *arena = &cli->arena;
	bool usual = !conf->state_dir; /* the socket is then where clients look for it */
	const char *from = origins_find(&cli->origins, "socket");
	/* STRATA_SOCKET tells clients where a server is; another one, with a state directory of its
	 * own, has its own socket there */
	bool another = from && strcmp(from, "STRATA_SOCKET") == 0 && given &&
		       origins_find(given, "state_dir");
	int rc = usual ? find_state_dir(cli, &conf->state_dir) : 0;

	if (rc == 0)
		rc = make_absolute(cli, &conf->state_dir);
	if (rc)
		return rc;
	if (!conf->socket)
		conf->socket =
			cli->globals.socket  ? cli->globals.socket
			: cli->config.socket && !another ? cli->config.socket
			: usual && geteuid() == 0
				? "/run/strata/strata.sock"
				: strata_arena_printf(arena, "%s/strata.sock", conf->state_dir);
	if (!conf->store)
		conf->store = strata_arena_printf(arena, "sqlite:%s/strata.db", conf->state_dir);
	if (!conf->checkpoint_dir)
		conf->checkpoint_dir =
			strata_arena_printf(arena, "%s/checkpoints", conf->state_dir);
	if (!conf->socket || !conf->store || !conf->checkpoint_dir)
		return strata_fail_memory(&cli->err);
	rc = make_absolute(cli, &conf->socket);
	return rc ? rc : make_absolute(cli, &conf->checkpoint_dir);
}

/* "NAME:cpus=8:…": what a declaration says beside the defaults. NULL for lack of memory. */
static const char *node_text(struct cli *cli, const struct inventory_declared *node)
{
	enum { ROWS_MAX = 32 };
	struct strata_option rows[ROWS_MAX] = { 0 };
	const struct strata_schema said = { .name = "node", .options = rows };
	const struct strata_option whole = { .type = STRATA_TABLE, .table = &said };
	struct inventory_declared usual;
	struct buf value, other;
	size_t count = 0;

	if (strata_schema_defaults(&inventory_declared_schema, &cli->arena, &usual, &cli->err))
		return NULL;
	buf_init(&value, &cli->memory, 0);
	buf_init(&other, &cli->memory, 0);
	for (const struct strata_option *option = inventory_declared_schema.options;
	     option->name && count + 1 < ROWS_MAX; option++) {
		buf_reset(&value);
		buf_reset(&other);
		option_print(option, (const char *)node + option->offset, &value);
		option_print(option, (const char *)&usual + option->offset, &other);
		if (strcmp(value.text, other.text) != 0)
			rows[count++] = *option;
	}
	buf_reset(&value);
	option_print(&whole, node, &value); /* the name comes first, as in the table */
	const char *text =
		value.failed ? NULL
			     : strata_arena_printf(&cli->arena, "%s", value.text + strlen("name="));

	buf_fini(&value);
	buf_fini(&other);
	return text;
}

/* [node NAME] sections behind the nodes of the list, in its form. */
static int add_nodes(struct cli *cli, struct server_conf *conf)
{
	const struct inventory_declared *nodes = cli->config.nodes.items;
	const char **texts = strata_arena_array(
		&cli->arena, conf->nodes.count + cli->config.nodes.count, sizeof(*texts));
	size_t count = conf->nodes.count;

	if (!texts)
		return strata_fail_memory(&cli->err);
	if (count)
		memcpy(texts, conf->nodes.items, count * sizeof(*texts));
	for (size_t i = 0; i < cli->config.nodes.count; i++) {
		texts[count] = node_text(cli, &nodes[i]);
		if (!texts[count++])
			return strata_fail_memory(&cli->err);
	}
	conf->nodes = (struct strata_list){ texts, count };
	return origins_find(&cli->origins, "serve.nodes") || !cli->config.nodes.count
		       ? 0
		       : origins_add(&cli->origins, "serve.nodes", "[node]", &cli->err);
}

int serve_conf_make(struct cli *cli, const struct server_conf *flags, const struct origins *given,
		    struct server_conf *ret_conf)
{
	struct server_conf conf = cli->config.serve;
	int rc = add_nodes(cli, &conf);

	conf.plugins = cli->config.plugins;
	for (const struct strata_option *option = server_schema.options;
	     rc == 0 && flags && option->name; option++)
		if (origins_find(given, option->name))
			memcpy((char *)&conf + option->offset, (const char *)flags + option->offset,
			       option_size(option));
	if (rc == 0)
		rc = fill_places(cli, given, &conf);
	if (rc == 0)
		*ret_conf = conf;
	return rc;
}

bool serve_conf_ask(struct cli *cli, struct server_conf *ret_conf)
{
	struct server_conf conf = *ret_conf;
	json_t *json = NULL;
	struct buf path;

	service_path(cli, &path, "settings", NULL, NULL);
	bool told = service_get(cli, &path, &json) == 0 &&
		    option_read_json(&server_schema, json_object_get(json, "settings"),
				     OPTION_PARTIAL, &cli->arena, &conf, &cli->err) == 0;

	json_decref(json);
	cli->err = (struct strata_error){ 0 };
	if (told)
		*ret_conf = conf;
	return told;
}
