/* strata context, context use, list and remove, and logout: the servers that one is signed in to,
 * and which of them commands ask. */
#include "cli/service.h"

#include "client/context.h"

#include <errno.h>
#include <string.h>

static int find_dir(struct cli *cli, const char **ret_dir)
{
	struct client_hints hints = service_hints(cli);

	return context_dir(&hints, &cli->arena, ret_dir, &cli->err);
}

static int find_used(struct cli *cli, const char **ret_name)
{
	struct client_hints hints = service_hints(cli);

	*ret_name = NULL;
	return context_used(&hints, &cli->arena, ret_name, &cli->err);
}

/* One that cannot be read is shown with the reason. */
static json_t *view(struct cli *cli, const char *dir, const char *name, const char *used)
{
	struct client_context context = { 0 };
	struct strata_error why = { 0 };
	int rc = context_read(dir, name, &cli->arena, &context, &why);

	return json_pack("{s:s,s:b,s:s?,s:s?,s:s?}", "name", name, "used",
			 used && strcmp(used, name) == 0, "server", context.server, "fingerprint",
			 context.fingerprint, "trouble", rc ? why.text : NULL);
}

static int gather(struct cli *cli, json_t **ret_list)
{
	const char *dir, **names, *used;
	size_t count;
	int rc = find_dir(cli, &dir);

	if (rc == 0)
		rc = find_used(cli, &used);
	if (rc == 0)
		rc = context_list(dir, &cli->arena, &names, &count, &cli->err);
	if (rc)
		return rc;
	*ret_list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(*ret_list, view(cli, dir, names[i], used));
	return 0;
}

static void used_cell(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "%s",
		      json_is_true(json_object_get(cell->row, cell->key)) ? "*" : "");
}

static void trust_cell(const struct grid_cell *cell)
{
	const char *trouble = grid_string(cell->row, "trouble");
	const char *pin = grid_string(cell->row, "fingerprint");
	const char *server = grid_string(cell->row, "server");

	cli_table_add(cell->table, "%s",
		      trouble ? trouble
		      : pin   ? pin
		      : server && strncmp(server, "https:", 6) == 0 ? "an authority"
								    : "this machine");
}

static int list(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	static const struct grid_column columns[] = {
		{ { .title = "" }, used_cell, "used" },
		{ { .title = "NAME" }, grid_text, "name" },
		{ { .title = "SERVER" }, grid_text, "server" },
		{ { .title = "TRUSTED BY", .flexible = true }, trust_cell, "fingerprint" },
	};
	json_t *rows;
	int rc = gather(cli, &rows);

	(void)conf, (void)operands, (void)operand_count;
	if (rc)
		return rc;
	if (cli->globals.json)
		return cli_print_json(cli, json_pack("{s:o}", "contexts", rows));
	if (json_array_size(rows))
		rc = grid_print(cli, columns, sizeof(columns) / sizeof(columns[0]), rows, 0);
	else
		cli_say(cli, "you are signed in nowhere; `strata login URL` signs in");
	json_decref(rows);
	return rc;
}

static int show(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct client_place place;
	const char *used;
	int rc = find_used(cli, &used);

	(void)conf, (void)operands, (void)operand_count;
	if (rc == 0)
		rc = service_find(cli, &place);
	if (rc)
		return rc;
	const char *where = place.socket ? place.socket : place.url;

	if (cli->globals.json)
		return cli_print_json(cli, json_pack("{s:s?,s:s,s:s?}", "context", used, "server",
						     where, "fingerprint", place.pin));
	if (used)
		cli_printf(cli, "%s\n", used);
	if (used)
		cli_note(cli, "commands ask %s", where);
	else
		cli_say(cli, "no context is in use; commands ask %s", where);
	return 0;
}

static int use(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const char *dir;
	int rc = find_dir(cli, &dir);

	(void)conf, (void)operand_count;
	return rc ? rc : context_use(dir, operands[0], &cli->err);
}

static int forget(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const char *dir, *name = operand_count ? operands[0] : NULL;
	int rc = find_dir(cli, &dir);

	(void)conf;
	if (rc == 0 && !name)
		rc = find_used(cli, &name);
	if (rc == 0 && !name)
		rc = strata_fail(&cli->err, -ENOENT,
				 "no context is in use; `strata context list` shows what there is");
	if (rc == 0)
		rc = context_remove(dir, name, &cli->err);
	if (rc == 0)
		cli_say(cli, "%s is forgotten here; its token stays good until it ends or is "
			     "revoked (`strata token revoke`)",
			name);
	return rc;
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	const char *dir, **names;
	size_t count;

	if (operand_index > 0 || find_dir(cli, &dir) ||
	    context_list(dir, &cli->arena, &names, &count, NULL))
		return;
	for (size_t i = 0; i < count; i++)
		buf_printf(ret_lines, "%s\n", names[i]);
}

const struct cli_command cli_context = {
	.name = "context",
	.summary = "show which server commands ask",
	.about = "Contexts are the servers that one is signed in to (`strata login`). --socket, "
		 "--server, --context and\n"
		 "STRATA_SOCKET, STRATA_SERVER, STRATA_CONTEXT go before the one in use.",
	.examples = "  strata context\n"
		    "  strata queue --context lab",
	.run = show,
};
const struct cli_command cli_context_list = {
	.name = "context list",
	.summary = "show the servers one is signed in to",
	.run = list,
};
const struct cli_command cli_context_use = {
	.name = "context use",
	.operands = "NAME",
	.summary = "ask this server from now on",
	.examples = "  strata context use lab",
	.operands_min = 1,
	.operands_max = 1,
	.run = use,
	.complete = complete,
};
const struct cli_command cli_context_remove = {
	.name = "context remove",
	.operands = "NAME",
	.summary = "forget a server and the token for it",
	.examples = "  strata context remove lab",
	.operands_min = 1,
	.operands_max = 1,
	.run = forget,
	.complete = complete,
};
const struct cli_command cli_logout = {
	.name = "logout",
	.operands = "[NAME]",
	.summary = "forget the server that is in use, and the token for it",
	.examples = "  strata logout",
	.operands_max = 1,
	.run = forget,
	.complete = complete,
};
