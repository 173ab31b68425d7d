/*
 * The history of task_history.h: asked for a page at a time, newest first, and written as the table
 * that sim pool reads from a file, so that there is one way in. What a task needs is what its
 * worker reported; all else between its arrival and its end was waiting.
 */
#include "cli/task_history.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct reading {
	struct cli *cli;
	struct buf csv;
	struct buf spans; /* of int64_t: from arrival to end, by row of the table */
	size_t count;
	int64_t since_ns;
	struct task_history *history;
};

static void add_cell(struct buf *buf, const char *text)
{
	buf_add_char(buf, '"');
	for (; text && *text; text++) {
		if (*text == '"')
			buf_add_char(buf, '"');
		buf_add_char(buf, *text);
	}
	buf_add(buf, "\",");
}

static int read_time(struct cli *cli, const json_t *task, const char *key, int64_t *ret_ns)
{
	const char *text = json_string_value(json_object_get(task, key));

	*ret_ns = 0;
	return text ? strata_time_parse(text, STRATA_TEXT_NUL, 0, 0, ret_ns, &cli->err) : 0;
}

static int check_model(struct reading *reading, const char *model)
{
	struct task_history *history = reading->history;

	if (!history->model) {
		history->model = strata_arena_text(&reading->cli->arena, model, strlen(model));
		return history->model ? 0 : strata_fail_memory(&reading->cli->err);
	}
	if (strcmp(history->model, model) == 0)
		return 0;
	return strata_fail(&reading->cli->err, -EINVAL,
			   "there are tasks of %.60s and of %.60s, and each model has a line of its "
			   "own; expected --model NAME",
			   history->model, model);
}

static void add_row(struct reading *reading, const json_t *task, int64_t created_ns,
		    int64_t span_ns, int64_t cost_ns)
{
	const json_t *asked = json_object_get(task, "parameters");
	struct buf *csv = &reading->csv;
	char shape[80];

	snprintf(shape, sizeof(shape), "%" JSON_INTEGER_FORMAT "x%" JSON_INTEGER_FORMAT "x%"
		 JSON_INTEGER_FORMAT, json_integer_value(json_object_get(asked, "width")),
		 json_integer_value(json_object_get(asked, "height")),
		 json_integer_value(json_object_get(asked, "n")));
	buf_printf(csv, "%" PRId64 ".%09" PRId64 ",%" PRId64 ".%09" PRId64 ",",
		   created_ns / STRATA_SECOND_NS, created_ns % STRATA_SECOND_NS,
		   cost_ns / STRATA_SECOND_NS, cost_ns % STRATA_SECOND_NS);
	add_cell(csv, json_string_value(json_object_get(task, "user")));
	add_cell(csv, json_string_value(json_object_get(task, "account")));
	add_cell(csv, reading->history->model);
	add_cell(csv, shape);
	buf_printf(csv, "%" JSON_INTEGER_FORMAT ",%" JSON_INTEGER_FORMAT "\n",
		   json_integer_value(json_object_get(task, "steps")),
		   json_integer_value(json_object_get(task, "priority")));
	buf_add_bytes(&reading->spans, (const char *)&span_ns, sizeof(span_ns));
	reading->count++;
}

static int add_task(struct reading *reading, const json_t *task)
{
	struct cli *cli = reading->cli;
	const char *model = json_string_value(json_object_get(task, "model"));
	int64_t cost_ns = json_integer_value(json_object_get(task, "cost_ns"));
	int64_t created_ns, ended_ns;
	int rc = read_time(cli, task, "created_at", &created_ns);

	if (rc == 0)
		rc = read_time(cli, task, "ended_at", &ended_ns);
	if (rc || created_ns < reading->since_ns)
		return rc;
	const char *status = json_string_value(json_object_get(task, "status"));

	if (!status || strcmp(status, "finished") != 0 || ended_ns <= created_ns || !model) {
		reading->history->left_out++;
		return 0;
	}
	rc = check_model(reading, model);
	if (rc)
		return rc;
	int64_t span_ns = ended_ns - created_ns;

	/* one that reported nothing has cost something */
	cost_ns = cost_ns < 1 ? 1 : cost_ns > span_ns ? span_ns : cost_ns;
	add_row(reading, task, created_ns, span_ns, cost_ns);
	return 0;
}

static int walk(struct reading *reading, const char *model)
{
	json_int_t after = 0;
	int rc = 0;

	do {
		char text[24];
		struct buf path;
		json_t *json, *task;
		size_t i;

		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, after);
		service_path(reading->cli, &path, "tasks", NULL, NULL);
		client_query(&path, "limit", "1000");
		client_query(&path, "model", model);
		client_query(&path, "after", after ? text : NULL);
		rc = service_get(reading->cli, &path, &json);
		if (rc)
			return rc;
		json_array_foreach(json_object_get(json, "tasks"), i, task) if (rc == 0)
			rc = add_task(reading, task);
		after = json_integer_value(json_object_get(json, "next"));
		json_decref(json);
	} while (rc == 0 && after > 0);
	return rc;
}

/* How it went, of each request. */
static int make_jobs(struct reading *reading)
{
	struct cli *cli = reading->cli;
	struct task_history *history = reading->history;
	const struct requests *requests = &history->requests;

	history->jobs = strata_arena_array(&cli->arena, requests->count, sizeof(*history->jobs));
	if (!history->jobs)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->rows[i];
		int64_t span_ns;

		memcpy(&span_ns, reading->spans.text + request->row * sizeof(span_ns),
		       sizeof(span_ns));
		int64_t wait_ns = span_ns > request->exec_ns ? span_ns - request->exec_ns : 0;

		history->jobs[i] = (struct metrics_job){ .submit_ns = request->arrival_ns,
							 .start_ns = request->arrival_ns + wait_ns,
							 .run_ns = request->exec_ns,
							 .procs = 1,
							 .user = request->user };
	}
	return 0;
}

int task_history_read(struct cli *cli, const char *since, const char *model,
		      struct task_history *ret_history)
{
	struct task_history history = { .model = model };
	struct reading reading = { .cli = cli, .history = &history };
	char text[STRATA_FORM_BYTES];
	int rc = since ? when_since(cli, since, text) : 0;

	if (rc == 0 && since)
		rc = strata_time_parse(text, STRATA_TEXT_NUL, 0, 0, &reading.since_ns, &cli->err);
	buf_init(&reading.csv, &cli->memory, 0);
	buf_init(&reading.spans, &cli->memory, 0);
	buf_add(&reading.csv, "arrival_s,exec_s,user,account,model,shape,steps,priority\n");
	if (rc == 0)
		rc = walk(&reading, model);
	if (rc == 0 && reading.count == 0)
		rc = strata_fail(&cli->err, -ENOENT,
				 "the service has no task that was drawn to its end%s",
				 since ? " since then" : "");
	if (rc == 0)
		rc = buf_check(&reading.csv, &cli->err);
	if (rc == 0)
		rc = buf_check(&reading.spans, &cli->err);
	if (rc == 0)
		rc = requests_read(reading.csv.text, reading.csv.length, &cli->arena,
				   &history.requests, &cli->err);
	if (rc == 0)
		rc = make_jobs(&reading);
	buf_fini(&reading.csv);
	buf_fini(&reading.spans);
	if (rc == 0)
		*ret_history = history;
	return rc;
}
