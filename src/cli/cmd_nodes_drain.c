/* strata nodes drain: what runs may end, nothing new starts. */
#include "cli/node_table.h"

#include <errno.h>

struct drain_conf {
	const char *reason;
	bool down;
};

static const struct strata_option drain_options[] = {
	{ "reason", STRATA_TEXT, offsetof(struct drain_conf, reason), .letter = 'r',
	  .value = "TEXT", .help = "why, for the others" },
	{ "down", STRATA_BOOL, offsetof(struct drain_conf, down),
	  .help = "it is dead: its jobs are given up too" },
	{ 0 }
};
static const struct strata_schema drain_schema = { "nodes drain", NULL, sizeof(struct drain_conf),
						   drain_options };

struct node_change {
	const char *state, *reason;
};

static int change(struct cli *cli, const char *name, const void *context, json_t **ret_json)
{
	const struct node_change *to = context;
	json_t *body = json_pack("{s:s, s:s*}", "state", to->state, "reason", to->reason);
	struct buf path;

	if (!body)
		return strata_fail(&cli->err, -EINVAL, "the reason is not valid UTF-8");
	service_path(cli, &path, "nodes", name, NULL);
	int rc = service_ask(cli, "PATCH", &path, body, ret_json);

	if (rc == 0 && !cli->globals.json)
		cli_printf(cli, "node %s is %s\n", name, to->state);
	return rc;
}

static int print_nothing(struct cli *cli, const char *name, const json_t *json)
{
	(void)cli, (void)name, (void)json;
	return 0;
}

int nodes_change(struct cli *cli, char *const *names, size_t count, const char *state,
		 const char *reason)
{
	struct node_change to = { state, reason };

	return job_each(cli, names, count, change, &to, print_nothing);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct drain_conf *conf = conf_any;

	return nodes_change(cli, operands, operand_count, conf->down ? "down" : "drained",
			    conf->reason);
}

const struct cli_command cli_nodes_drain = {
	.name = "nodes drain",
	.operands = "NAME…",
	.summary = "take nodes out of use once their jobs have ended",
	.about = "Nothing new starts on a drained node; `strata nodes resume` brings it back. For "
		 "operators.",
	.examples = "  strata nodes drain n3 --reason 'new disk'",
	.options = &drain_schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
