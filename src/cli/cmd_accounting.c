/* strata accounting: who used how much, and the history as a log that simulators read. */
#include "cli/job_history.h"

#include "core/env.h"

#include <errno.h>

struct accounting_conf {
	int by;
	const char *since, *output, *nodes;
	bool swf;
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
	{ "swf", STRATA_BOOL, offsetof(struct accounting_conf, swf),
	  .help = "every job that has ended, in the Standard Workload Format, for strata sim "
		  "cluster" },
	{ "output", STRATA_TEXT, offsetof(struct accounting_conf, output), .letter = 'o',
	  .value = "FILE", .help = "of --swf: where to; printed when left out" },
	{ "nodes", STRATA_TEXT, offsetof(struct accounting_conf, nodes), .value = "FILE",
	  .help = "of --swf: write the nodes as well, for strata sim cluster --nodes" },
	{ 0 }
};
static const struct strata_schema accounting_schema = { "accounting", NULL,
							sizeof(struct accounting_conf),
							accounting_options };

#define USE                                                                           \
	{ { .title = "JOBS", .right = true }, grid_text, "jobs" },                    \
		{ { .title = "TASKS", .right = true }, grid_text, "tasks" },          \
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

static int write_nodes(struct cli *cli, const char *path, const struct history_log *log)
{
	struct buf buf;
	int rc;

	buf_init(&buf, &cli->memory, 0);
	openb_add_nodes(&buf, log->nodes, log->node_count);
	rc = buf_check(&buf, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, buf.text, buf.length, 0644,
				    &cli->err);
	buf_fini(&buf);
	return rc;
}

static int export_swf(struct cli *cli, const struct accounting_conf *conf)
{
	struct history_log log;
	const char *text;
	size_t length;
	int rc = history_read(cli, conf->since, &log);

	if (rc == 0)
		rc = strata_swf_write(&log.swf, &cli->arena, &text, &length, &cli->err);
	if (rc == 0 && conf->nodes)
		rc = write_nodes(cli, conf->nodes, &log);
	if (rc == 0 && conf->output)
		rc = env_write_file(env_system(), AT_FDCWD, conf->output, text, length, 0644,
				    &cli->err);
	if (rc)
		return rc;
	if (log.left_out)
		cli_note(cli, "left out: %zu job%s that did not run to the end", log.left_out,
			 cli_plural(log.left_out));
	if (!conf->output)
		cli_print(cli, text);
	else
		cli_note(cli, "wrote %zu job%s to %s; `strata sim cluster %s` replays them",
			 log.swf.job_count, cli_plural(log.swf.job_count), conf->output,
			 conf->output);
	return 0;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct accounting_conf *conf = conf_any;
	bool users = conf->by == BY_USER;
	char since[STRATA_FORM_BYTES];
	struct buf path;
	int rc = conf->since ? when_since(cli, conf->since, since) : 0;

	(void)operands, (void)operand_count;
	if (!conf->swf && (conf->output || conf->nodes))
		return strata_fail(&cli->err, -EINVAL, "--output and --nodes go with --swf");
	if (conf->swf)
		return export_swf(cli, conf);
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
	.summary = "show who used how much, or write the history as a log",
	.examples =
		"  strata accounting --since 7d\n"
		"  strata accounting --by account --since 2026-01-01 --json\n"
		"  strata accounting --swf --since 30d -o month.swf --nodes nodes.csv\n"
		"  strata sim cluster month.swf --nodes nodes.csv --compare fifo,sjf,fair_share",
	.options = &accounting_schema,
	.run = run,
};
