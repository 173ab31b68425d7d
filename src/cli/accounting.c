/* strata accounting: who used how much. */
#include "cli/service.h"

struct accounting_conf {
	int by;
	const char *since;
};

enum { BY_USER, BY_ACCOUNT };
static const struct strata_choice groups[] = { { "user", BY_USER, NULL },
					       { "account", BY_ACCOUNT, NULL },
					       { 0 } };

static const struct strata_option accounting_options[] = {
	{ "by", STRATA_ENUM, offsetof(struct accounting_conf, by), .choice = { groups, BY_USER },
	  .help = "what is summed up" },
	{ "since", STRATA_TEXT, offsetof(struct accounting_conf, since), .value = "TIME",
	  .help = "only what was used since: 7d (ago), or a time" },
	{ 0 }
};
static const struct strata_schema accounting_schema = { "accounting", NULL,
							sizeof(struct accounting_conf),
							accounting_options };

#define USE                                                                           \
	{ { .title = "JOBS", .right = true }, grid_text, "jobs" },                    \
		{ { .title = "GPU HOURS", .right = true }, grid_hours, "gpu_hours" }, \
	{                                                                             \
		{ .title = "CPU HOURS", .right = true }, grid_hours, "cpu_hours"      \
	}

static const struct grid_column by_user[] = {
	{ { .title = "USER", .style = CLI_BOLD }, grid_text, "user" },
	{ { .title = "ACCOUNT" }, grid_text, "account" },
	USE,
};
static const struct grid_column by_account[] = {
	{ { .title = "ACCOUNT", .style = CLI_BOLD }, grid_text, "account" },
	USE,
};
#undef USE

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct accounting_conf *conf = conf_any;
	bool users = conf->by == BY_USER;
	char since[STRATA_FORM_BYTES];
	struct buf path;
	int rc = conf->since ? when_since(cli, conf->since, since) : 0;

	(void)operands, (void)operand_count;
	if (rc)
		return rc;
	service_path(cli, &path, "accounting", NULL, NULL);
	client_query(&path, "by", groups[conf->by].name);
	client_query(&path, "since", conf->since ? since : NULL);
	return grid_collection(cli, &path, "rows", users ? by_user : by_account,
			       users ? sizeof(by_user) / sizeof(by_user[0])
				     : sizeof(by_account) / sizeof(by_account[0]),
			       "nothing was used; `strata queue` shows what is on its way");
}

const struct cli_command cli_accounting = {
	.name = "accounting",
	.summary = "show who used how much",
	.examples = "  strata accounting --since 7d\n"
		    "  strata accounting --by account --since 2026-01-01 --json",
	.options = &accounting_schema,
	.run = run,
};
