/* strata token create: a key for a program, or for another machine. */
#include "cli/service.h"

struct create_conf {
	const char *user, *role, *comment;
	int64_t expires_ns;
};

static const struct strata_option create_options[] = {
	{ "user", STRATA_TEXT, offsetof(struct create_conf, user), .letter = 'u', .value = "NAME",
	  .help = "for whom; yourself when left out" },
	{ "role", STRATA_TEXT, offsetof(struct create_conf, role),
	  .help = "what it may do: read-only, user, operator, admin" },
	{ "expires_in", STRATA_DURATION, offsetof(struct create_conf, expires_ns),
	  .help = "good for so long" },
	{ "comment", STRATA_TEXT, offsetof(struct create_conf, comment), .help = "a note" },
	{ 0 }
};
static const struct strata_schema create_schema = { "token create", NULL,
						    sizeof(struct create_conf), create_options };

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	json_t *body = json_object(), *json;
	struct buf path;

	(void)operands, (void)operand_count;
	for (const struct strata_option *option = create_options; option->name; option++) {
		if (!origins_find(&cli->given, option->name))
			continue;
		json_t *value = option_value_json(option, (const char *)conf + option->offset);

		if (json_object_set_new(body, option->name, value)) {
			json_decref(body);
			return strata_fail_memory(&cli->err);
		}
	}
	service_path(cli, &path, "tokens", NULL, NULL);
	int rc = service_ask(cli, "POST", &path, body, &json);

	if (rc || service_printed(cli, json, &rc))
		return rc;
	cli_printf(cli, "%s\n", grid_or(json_object_get(json, "token"), ""));
	cli_note(cli, "keep it now, it is not shown again: ~/.config/strata/token (mode 600) or "
		      "STRATA_TOKEN");
	json_decref(json);
	return 0;
}

const struct cli_command cli_token_create = {
	.name = "token create",
	.summary = "make a token for use over TCP",
	.about = "The token is all that is printed, and is shown this once.",
	.examples = "  strata token create --expires-in 30d --comment laptop",
	.options = &create_schema,
	.run = run,
};
