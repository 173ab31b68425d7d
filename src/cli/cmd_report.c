/* strata report: how the cluster was used, on a terminal or as one file to mail. */
#include "cli/report.h"

#include "core/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

struct report_conf {
	const char *since, *output;
};

static const struct strata_option report_options[] = {
	{ "since", STRATA_TEXT, offsetof(struct report_conf, since), .text = { "7d" },
	  .value = "TIME", .help = "about what was submitted since: 7d (ago), or a time" },
	{ "output", STRATA_TEXT, offsetof(struct report_conf, output), .letter = 'o',
	  .value = "FILE", .help = "one HTML file with plots; printed as text when left out" },
	{ 0 }
};
static const struct strata_schema report_schema = { "report", NULL, sizeof(struct report_conf),
						    report_options };

/* What was asked for, by what it is called there. */
struct asking {
	struct cli *cli;
	char since[STRATA_FORM_BYTES], zone[24];
	json_t *answers[6];
	size_t count;
};

static int ask(struct asking *asking, const char *collection, const char *by, bool since,
	       const char *key, const json_t **ret_list)
{
	struct buf path;
	json_t *json;

	service_path(asking->cli, &path, collection, NULL, NULL);
	client_query(&path, "by", by);
	client_query(&path, "since", since ? asking->since : NULL);
	client_query(&path, "zone", by && *by == 'd' ? asking->zone : NULL);
	int rc = service_get(asking->cli, &path, &json);

	if (rc)
		return rc;
	asking->answers[asking->count++] = json;
	*ret_list = key ? json_object_get(json, key) : json;
	return 0;
}

static int ask_all(struct asking *asking, struct report_answers *answers)
{
	int rc = ask(asking, "accounting", "day", true, "rows", &answers->days);

	if (rc == 0)
		rc = ask(asking, "accounting", "user", true, "rows", &answers->users);
	if (rc == 0)
		rc = ask(asking, "report", NULL, true, NULL, &answers->history);
	if (rc == 0)
		rc = ask(asking, "figures", NULL, false, "figures", &answers->figures);
	if (rc == 0)
		rc = ask(asking, "users", NULL, false, "users", &answers->shares);
	if (rc == 0)
		rc = ask(asking, "nodes", NULL, false, "nodes", &answers->nodes);
	return rc;
}

static int write_html(struct cli *cli, const char *path, const json_t *report)
{
	struct buf buf;

	buf_init(&buf, &cli->memory, 0);
	int rc = report_html(cli, report, &buf);

	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, buf.text, buf.length, 0644,
				    &cli->err);
	buf_fini(&buf);
	if (rc == 0)
		cli_note(cli, "wrote %s; a browser or a mail shows it", path);
	return rc;
}

static int show(struct cli *cli, const struct report_conf *conf, json_t *report)
{
	int rc = conf->output ? write_html(cli, conf->output, report) : 0;

	if (rc == 0 && cli->globals.json)
		return cli_print_json(cli, report); /* which takes it */
	if (rc == 0 && !conf->output)
		rc = report_print(cli, report);
	json_decref(report);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct report_conf *conf = conf_any;
	struct report_answers answers = { .until_ns = when_now_ns() };
	struct asking asking = { .cli = cli };
	json_t *report;

	(void)operands, (void)operand_count;
	answers.until_ns -= answers.until_ns % STRATA_SECOND_NS;
	int rc = when_since(cli, conf->since, asking.since);

	if (rc)
		return rc;
	strata_time_parse(asking.since, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &answers.since_ns,
			  NULL);
	if (answers.since_ns >= answers.until_ns)
		return strata_fail(&cli->err, -EINVAL,
				   "--since is '%.60s', which is not over yet; expected a time "
				   "before now, such as 7d",
				   conf->since);
	snprintf(asking.zone, sizeof(asking.zone), "%d", (int)when_zone(answers.until_ns));
	rc = ask_all(&asking, &answers);
	if (rc == 0)
		rc = report_make(cli, &answers, &report);
	for (size_t i = 0; i < asking.count; i++)
		json_decref(asking.answers[i]);
	return rc ? rc : show(cli, conf, report);
}

const struct cli_command cli_report = {
	.name = "report",
	.summary = "how the cluster was used: use, waits, fairness, waste, what has changed",
	.about = "Use and waits are of what was submitted since then; days are those of here. What "
		 "has changed compares\n"
		 "days of the service's own key figures with the weeks before; the forecast draws "
		 "the trend of the use on.\n"
		 "With -o it is one HTML file, with plots and without anything to load, to be "
		 "mailed or printed.",
	.examples = "  strata report\n"
		    "  strata report --since 30d -o report.html\n"
		    "  strata report --since 2026-11-01 --json",
	.options = &report_schema,
	.run = run,
};
