/* strata trace: what the service did, as a timeline. */
#include "cli/history.h"

#include "client/chart.h"
#include "core/env.h"

#include <errno.h>
#include <string.h>

struct trace_conf {
	const char *since, *output;
};

static const struct strata_option trace_options[] = {
	{ "since", STRATA_TEXT, offsetof(struct trace_conf, since), .text = { "1h" },
	  .value = "TIME", .help = "from then on: 1h (ago), or a time" },
	{ "output", STRATA_TEXT, offsetof(struct trace_conf, output), .letter = 'o',
	  .value = "FILE", .help = "where to; printed when left out" },
	{ 0 }
};
static const struct strata_schema trace_schema = { "trace", NULL, sizeof(struct trace_conf),
						   trace_options };

static int add_job(void *context, const json_t *job, struct strata_error *err)
{
	return chart_add(context, job, err);
}

/* Jobs that run are shown however long ago they came; the history has them by the time they were submitted. */
static int add_live(struct cli *cli, struct chart *chart, int64_t before_ns)
{
	json_t *json, *job;
	size_t i;
	int rc = service_list(cli, "queue", &json);

	if (rc)
		return rc;
	json_array_foreach(json_object_get(json, "jobs"), i, job)
	{
		if (rc == 0 && when_json(job, "submitted_at") < before_ns)
			rc = chart_add(chart, job, &cli->err);
	}
	json_decref(json);
	return rc;
}

static int write_draft(void *context, const char *bytes, size_t count)
{
	return env_draft_add(context, bytes, count);
}

static int write_stdout(void *context, const char *bytes, size_t count)
{
	struct cli *cli = context;

	buf_add_bytes(&cli->out, bytes, count);
	cli_flush(cli);
	return 0;
}

static int write_chart(struct cli *cli, struct chart *chart, const json_t *passes, const char *path)
{
	struct env_draft draft;
	struct strata_trace_sink out = { write_stdout, cli }, file = { write_draft, &draft };
	int rc;

	if (!path)
		return chart_write(chart, passes, &out, &cli->err);
	rc = env_draft_open(&draft, env_system(), AT_FDCWD, path, &cli->err);
	if (rc)
		return rc;
	rc = chart_write(chart, passes, &file, &cli->err);
	if (rc) {
		env_draft_drop(&draft);
		return rc;
	}
	rc = env_draft_keep(&draft, 0644, &cli->err);
	if (rc == 0)
		cli_note(cli, "%zu jobs are in %s; ui.perfetto.dev shows it", chart->count, path);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct trace_conf *conf = conf_any;
	char text[STRATA_FORM_BYTES];
	struct chart chart;
	json_t *passes = NULL;
	int64_t since_ns;
	int rc = when_since(cli, conf->since, text);

	(void)operands, (void)operand_count;
	if (rc == 0)
		rc = strata_time_parse(text, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &since_ns,
				       &cli->err);
	if (rc)
		return rc;
	chart_init(&chart, &cli->memory, since_ns, when_now_ns());
	/* one that ran in that time may have waited before: a day is looked back */
	strata_time_print(since_ns > STRATA_DAY_NS ? since_ns - STRATA_DAY_NS : 0, text);
	rc = history_walk(cli, text, add_job, &chart);
	if (rc == 0)
		rc = add_live(cli, &chart, since_ns - STRATA_DAY_NS);
	if (rc == 0)
		rc = service_list(cli, "passes", &passes);
	if (rc == 0)
		rc = write_chart(cli, &chart, json_object_get(passes, "passes"), conf->output);
	json_decref(passes);
	chart_fini(&chart);
	return rc;
}

const struct cli_command cli_trace = {
	.name = "trace",
	.summary = "write what the service did as a timeline for Perfetto",
	.about = "Every node is a process with a track for each of its GPUs; arrows lead from "
		 "submissions to starts. The\n"
		 "passes of the scheduler are those it remembers. Jobs that were submitted more "
		 "than a day before --since and\n"
		 "have ended are not shown. The file is for ui.perfetto.dev or chrome://tracing; "
		 "`strata trace merge` puts\n"
		 "several together.",
	.examples = "  strata trace --since 1h -o t.json\n"
		    "  strata trace --since 2026-11-15T12:00 | gzip >t.json.gz",
	.options = &trace_schema,
	.run = run,
};
