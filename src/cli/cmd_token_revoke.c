/* strata token revoke: a token that is good no more. */
#include "cli/service.h"

static int revoke(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	service_path(cli, &path, "tokens", id, NULL);
	return service_ask(cli, "DELETE", &path, NULL, ret_json);
}

static int print(struct cli *cli, const char *id, const json_t *json)
{
	(void)json;
	cli_printf(cli, "token %s is revoked\n", id);
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, revoke, NULL, print);
}

const struct cli_command cli_token_revoke = {
	.name = "token revoke",
	.operands = "ID…",
	.summary = "make tokens invalid",
	.examples = "  strata token revoke 3",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
