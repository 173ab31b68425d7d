/* strata trace: what the service did, as a timeline. */
#include "cli/job_history.h"
#include "cli/task.h"

#include "client/chart.h"
#include "core/env.h"

#include <errno.h>
#include <inttypes.h>

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

/* Jobs that run are shown however long ago they came; the history has them by the time they were
 * submitted. */
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

/* ---- events ---- */

enum { EVENTS_AT_ONCE = 1000 };

static int get_events(struct cli *cli, int64_t after, int64_t limit, json_t **ret_json)
{
	char text[24];
	struct buf path;

	service_path(cli, &path, "events", NULL, "?format=json");
	snprintf(text, sizeof(text), "%" PRId64, after);
	client_query(&path, "after", text);
	snprintf(text, sizeof(text), "%" PRId64, limit);
	client_query(&path, "limit", text);
	return service_get(cli, &path, ret_json);
}

/* Is the first event behind this number older than the time? */
static int is_older(struct cli *cli, int64_t after, int64_t than_ns, bool *ret_older)
{
	json_t *json;
	int rc = get_events(cli, after, 1, &json);

	if (rc)
		return rc;
	const json_t *first = json_array_get(json_object_get(json, "events"), 0);

	*ret_older = first && when_json(first, "at") < than_ns;
	json_decref(json);
	return 0;
}

/* The number behind which events are as young as that: they are in order, so halving finds it. */
static int find_event(struct cli *cli, int64_t since_ns, int64_t *ret_after)
{
	int64_t low = 0,
		/* the one searched for is behind low, or low itself, and not behind high */
		high = 1;
	bool older = true;
	int rc = is_older(cli, 0, since_ns, &older);

	while (rc == 0 && older && high < INT64_MAX / 2) {
		rc = is_older(cli, high, since_ns, &older);
		if (older) {
			low = high;
			high *= 2;
		}
	}
	while (rc == 0 && high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		rc = is_older(cli, middle, since_ns, &older);
		*(older ? &low : &high) = middle;
	}
	*ret_after = low;
	return rc;
}

static int add_events(struct cli *cli, struct chart *chart, int64_t since_ns)
{
	int64_t after;
	size_t count = EVENTS_AT_ONCE;
	int rc = find_event(cli, since_ns, &after);

	while (rc == 0 && count == EVENTS_AT_ONCE) {
		json_t *json, *event;
		size_t i;

		rc = get_events(cli, after, EVENTS_AT_ONCE, &json);
		if (rc)
			break;
		count = json_array_size(json_object_get(json, "events"));
		json_array_foreach(json_object_get(json, "events"), i, event)
		{
			if (rc == 0)
				rc = chart_add_event(chart, event, &cli->err);
			after = grid_int(event, "sequence");
		}
		json_decref(json);
	}
	return rc;
}

/* The service's own trace, which one of an earlier version has not. */
static int get_service(struct cli *cli, int64_t since_ns, json_t **ret_json)
{
	char text[STRATA_FORM_BYTES];
	struct buf path;

	service_path(cli, &path, "trace", NULL, "");
	client_query(&path, "since", strata_time_print(since_ns, text));
	int rc = service_get(cli, &path, ret_json);

	return rc == -ENOENT ? 0 : rc;
}

/* ---- the file ---- */

static int write_stdout(void *context, const char *bytes, size_t count)
{
	struct cli *cli = context;

	buf_add_bytes(&cli->out, bytes, count);
	cli_flush(cli);
	return 0;
}

/* What the program asked the service for. */
struct answers {
	json_t *passes;
	json_t *service; /* NULL: it has no trace of its own */
	json_t *task;    /* NULL: none was asked for */
};

static int write_to(struct chart *chart, const struct answers *answers,
		    const struct strata_trace_sink *sink, struct strata_error *err)
{
	const json_t *passes = json_object_get(answers->passes, "passes");
	struct chart_trace traces[2];
	size_t count = 0;

	if (answers->service)
		traces[count++] = (struct chart_trace){ "service", answers->service };
	if (answers->task)
		traces[count++] = (struct chart_trace){ "worker", answers->task };
	return count ? chart_write_with(chart, passes, traces, count, sink, err)
		     : chart_write(chart, passes, sink, err);
}

static int write_chart(struct cli *cli, struct chart *chart, const struct answers *answers,
		       const char *path)
{
	struct env_draft draft;
	struct strata_trace_sink out = { write_stdout, cli }, file = cli_draft_sink(&draft);
	int rc;

	if (!path)
		return write_to(chart, answers, &out, &cli->err);
	rc = env_draft_open(&draft, env_system(), AT_FDCWD, path, &cli->err);
	if (rc)
		return rc;
	rc = write_to(chart, answers, &file, &cli->err);
	rc = cli_draft_end(cli, &draft, rc);
	if (rc == 0)
		cli_note(cli, "wrote %zu job%s to %s; ui.perfetto.dev shows it", chart->count,
			 cli_plural(chart->count), path);
	return rc;
}

/* The task's own trace; what is shown begins where it was submitted. */
static int get_task(struct cli *cli, const char *word, int64_t *ret_since_ns, json_t **ret_trace)
{
	const char *id;
	struct buf path;
	json_t *task;
	int rc = task_id(cli, word, &id);

	if (rc)
		return rc;
	service_path(cli, &path, "tasks", id, NULL);
	rc = service_get(cli, &path, &task);
	if (rc)
		return rc;
	*ret_since_ns = when_json(task, "created_at") - STRATA_SECOND_NS;
	json_decref(task);
	service_path(cli, &path, "tasks", id, "/trace");
	return service_get(cli, &path, ret_trace);
}

static int read_since(struct cli *cli, const char *since, int64_t *ret_since_ns)
{
	char text[STRATA_FORM_BYTES];
	int rc = when_since(cli, since, text);

	return rc ? rc
		  : strata_time_parse(text, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, ret_since_ns,
				      &cli->err);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct trace_conf *conf = conf_any;
	char text[STRATA_FORM_BYTES];
	struct chart chart;
	struct answers answers = { 0 };
	int64_t since_ns;
	int rc = operand_count ? get_task(cli, operands[0], &since_ns, &answers.task)
			       : read_since(cli, conf->since, &since_ns);

	if (rc)
		return rc;
	chart_init(&chart, &cli->memory, since_ns, when_now_ns());
	/* one that ran in that time may have waited before: a day is looked back */
	strata_time_print(since_ns > STRATA_DAY_NS ? since_ns - STRATA_DAY_NS : 0, text);
	rc = history_walk(cli, text, add_job, &chart);
	if (rc == 0)
		rc = add_live(cli, &chart, since_ns - STRATA_DAY_NS);
	if (rc == 0)
		rc = add_events(cli, &chart, since_ns - STRATA_DAY_NS);
	if (rc == 0)
		rc = service_list(cli, "passes", &answers.passes);
	if (rc == 0)
		rc = get_service(cli, since_ns, &answers.service);
	if (rc == 0)
		rc = write_chart(cli, &chart, &answers, conf->output);
	json_decref(answers.passes);
	json_decref(answers.service);
	json_decref(answers.task);
	chart_fini(&chart);
	return rc;
}

const struct cli_command cli_trace = {
	.name = "trace",
	.operands = "[TASK]",
	.operands_max = 1,
	.summary = "write what the service did as a timeline for Perfetto",
	.about = "Every node is a process with a track for each of its GPUs; arrows lead from "
		 "submissions to starts. The\n"
		 "passes of the scheduler are those it remembers, as are rounds, commits and "
		 "starts in the\n"
		 "service's own tracks. Jobs that were submitted more "
		 "than a day before --since and\n"
		 "have ended are not shown. With a task whose request asked for a timeline "
		 "(`strata generate --trace`),\n"
		 "everything since it was submitted, and what its worker did for it: batches, "
		 "steps, the solver's rows,\n"
		 "subgraphs and layers. The file is for ui.perfetto.dev or chrome://tracing; "
		 "`strata trace merge` puts\n"
		 "several together.",
	.examples = "  strata trace --since 1h -o t.json\n"
		    "  strata trace T17 -o t.json\n"
		    "  strata trace --since 2026-11-15T12:00 | gzip >t.json.gz",
	.options = &trace_schema,
	.run = run,
};
