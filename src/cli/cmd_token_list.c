/* strata token list: which tokens there are; their texts are known to nobody. */
#include "cli/service.h"

static const struct grid_column columns[] = {
	{ { .title = "ID", .style = CLI_BOLD }, grid_text, "id" },
	{ { .title = "USER" }, grid_text, "user" },
	{ { .title = "ROLE" }, grid_text, "role" },
	{ { .title = "CREATED" }, grid_time, "created_at" },
	{ { .title = "EXPIRES" }, grid_time, "expires_at" },
	{ { .title = "COMMENT", .flexible = true }, grid_text, "comment" },
};

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;

	(void)conf, (void)operands, (void)operand_count;
	service_path(cli, &path, "tokens", NULL, NULL);
	return grid_collection(cli, &path, "tokens", columns, sizeof(columns) / sizeof(columns[0]),
			       "there are no tokens; `strata token create` makes one");
}

const struct cli_command cli_token_list = {
	.name = "token list",
	.summary = "show the tokens there are",
	.run = run,
};
