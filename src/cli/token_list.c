/* strata token list: which tokens there are; their texts are known to nobody. */
#include "cli/service.h"

static const struct view_column columns[] = {
	{ { .title = "ID", .style = CLI_BOLD }, view_text, "id" },
	{ { .title = "USER" }, view_text, "user" },
	{ { .title = "ROLE" }, view_text, "role" },
	{ { .title = "CREATED" }, view_time, "created_at" },
	{ { .title = "EXPIRES" }, view_time, "expires_at" },
	{ { .title = "COMMENT", .flexible = true }, view_text, "comment" },
};

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;

	(void)conf, (void)operands, (void)operand_count;
	service_path(cli, &path, "tokens", NULL, NULL);
	return view_collection(cli, &path, "tokens", columns, sizeof(columns) / sizeof(columns[0]),
			       "there are no tokens; `strata token create` makes one");
}

const struct cli_command cli_token_list = {
	.name = "token list",
	.summary = "show the tokens there are",
	.run = run,
};
