/* strata show: everything that is known of a job. */
#include "cli/interactive.h"

#include <inttypes.h>

/* "150 of 150". */
static void score_cell(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "%" PRId64 " of 150", grid_int(cell->row, cell->key));
}

static const struct grid_column fields[] = {
	{ { .title = "id" }, grid_text, "id" },
	{ { .title = "uuid" }, grid_text, "uuid" },
	{ { .title = "name" }, grid_text, "name" },
	{ { .title = "user" }, grid_text, "user" },
	{ { .title = "account" }, grid_text, "account" },
	{ { .title = "partition" }, grid_text, "partition" },
	{ { .title = "qos" }, grid_text, "qos" },
	{ { .title = "state" }, grid_text, "state" },
	{ { .title = "reason" }, grid_text, "reason_text" },
	{ { .title = "priority" }, grid_text, "priority" },
	{ { .title = "nice" }, grid_text, "nice" },
	{ { .title = "position" }, grid_text, "position" },
	{ { .title = "tasks" }, grid_text, "tasks" },
	{ { .title = "nodes" }, grid_text, "nodes" },
	{ { .title = "cpus" }, grid_text, "cpus" },
	{ { .title = "memory" }, grid_size, "memory_bytes" },
	{ { .title = "gpus" }, grid_text, "gpus" },
	{ { .title = "gpu type" }, grid_text, "gpu_type" },
	{ { .title = "time limit" }, grid_span, "time_limit_s" },
	{ { .title = "image" }, grid_text, "image" },
	{ { .title = "command" }, interactive_command_cell, "command" },
	{ { .title = "directory" }, grid_text, "working_dir" },
	{ { .title = "output" }, grid_text, "output" },
	{ { .title = "error" }, grid_text, "error" },
	{ { .title = "array" }, grid_text, "array_id" },
	{ { .title = "array index" }, grid_text, "array_index" },
	{ { .title = "dependencies" }, grid_text, "dependencies" },
	{ { .title = "submitted" }, grid_time, "submitted_at" },
	{ { .title = "eligible" }, grid_time, "eligible_at" },
	{ { .title = "scheduled" }, grid_time, "scheduled_at" },
	{ { .title = "started" }, grid_time, "started_at" },
	{ { .title = "ended" }, grid_time, "ended_at" },
	{ { .title = "elapsed" }, job_elapsed_cell, "started_at" },
	{ { .title = "on" }, grid_text, "node_names" },
	{ { .title = "gpu ids" }, grid_text, "gpu_ids" },
	{ { .title = "gpu domains" }, grid_text, "gpu_domains" },
	{ { .title = "placement score" }, score_cell, "placement_score" },
	{ { .title = "expected start" }, grid_time, "expected_start_at" },
	{ { .title = "expected on" }, grid_text, "expected_node" },
	{ { .title = "expected end" }, grid_time, "expected_end_at" },
	{ { .title = "attempt" }, grid_text, "attempt" },
	{ { .title = "preempted" }, grid_text, "preempted" },
	{ { .title = "exit code" }, grid_text, "exit" },
	{ { .title = "exit signal" }, grid_text, "exit_signal" },
	{ { .title = "peak memory" }, job_peak_cell, "memory_peak_bytes" },
	{ { .title = "CPU efficiency" }, job_cpu_cell, "cpu_user_ms" },
	{ { .title = "CPU time, user (ms)" }, grid_text, "cpu_user_ms" },
	{ { .title = "CPU time, system (ms)" }, grid_text, "cpu_system_ms" },
	{ { .title = "comment" }, grid_text, "comment" },
	{ { .title = "mail" }, grid_text, "mail" },
	{ { .title = "notify" }, grid_text, "notify" },
	{ { .title = "webhook" }, grid_text, "webhook" },
};

static int get(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	service_path(cli, &path, "jobs", id, NULL);
	return service_get(cli, &path, ret_json);
}

/* The exit code as text, since 0 is not nothing. NULL: there is none, or a signal instead. */
static json_t *exit_text(const json_t *job)
{
	const json_t *code = json_object_get(job, "exit_code");

	if (!json_is_integer(code) || grid_int(job, "exit_signal"))
		return NULL;
	return json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(code));
}

/* With what stands only in its request, and how it ended. */
static json_t *with_more(const json_t *job)
{
	static const char *const asked[] = { "image", "mail", "notify", "webhook" };
	json_t *more = json_copy((json_t *)(uintptr_t)job), *ended = exit_text(job);

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		json_t *value = json_object_get(json_object_get(job, "request"), asked[i]);

		if (value)
			json_object_set(more, asked[i], value);
	}
	if (ended)
		json_object_set_new(more, "exit", ended);
	return more;
}

static int print(struct cli *cli, const char *id, const json_t *job)
{
	json_t *more = with_more(job);

	if (!more)
		return strata_fail_memory(&cli->err);
	job_print_sentence(cli, id, job);
	int rc = grid_fields(cli, fields, sizeof(fields) / sizeof(fields[0]), more);

	json_decref(more);
	return rc;
}

/* ---- arrays ---- */

enum { SHOWN_MAX = 25 };

struct elements {
	struct cli *cli;
	json_t *list; /* the last first */
	json_t *counts;
};

static int count_element(void *context, const json_t *job)
{
	struct elements *elements = context;
	const char *state = grid_or(json_object_get(job, "state"), "?");
	json_int_t before = json_integer_value(json_object_get(elements->counts, state));

	return json_object_set_new(elements->counts, state, json_integer(before + 1)) ||
			       json_array_append(elements->list, (json_t *)(uintptr_t)job)
		       ? strata_fail_memory(&elements->cli->err)
		       : 0;
}

/* "array 35 (sweep) has 100 jobs: 97 queued, 3 running" and the first of them in a table. */
static int print_elements(struct cli *cli, int64_t array, const struct elements *elements)
{
	size_t count = json_array_size(elements->list);
	const json_t *first = json_array_get(elements->list, count - 1), *number;
	const char *state, *comma = ": ";
	json_t *shown = json_array();

	for (size_t i = count; i > 0 && count - i < SHOWN_MAX; i--)
		json_array_append(shown, json_array_get(elements->list, i - 1));
	cli_printf(cli, "array %" PRId64 " (%s) has %zu job%s", array,
		   grid_or(json_object_get(first, "name"), "no name"), count, cli_plural(count));
	json_object_foreach(elements->counts, state, number)
	{
		cli_printf(cli, "%s%" JSON_INTEGER_FORMAT " %s", comma, json_integer_value(number),
			   state);
		comma = ", ";
	}
	cli_print(cli, "\n");
	int rc = grid_print(cli, job_columns, job_column_count, shown, 0);

	json_decref(shown);
	if (rc == 0 && count > SHOWN_MAX)
		cli_note(cli, "`strata jobs --array %" PRId64 " --limit 0` lists all %zu", array,
			 count);
	if (rc == 0)
		cli_note(cli, "`strata show %" PRId64 "_%" PRId64 "` has everything of one", array,
			 grid_int(first, "array_index"));
	return rc;
}

static int show_array(struct cli *cli, int64_t array)
{
	struct elements elements = { cli, json_array(), json_object() };
	int rc = elements.list && elements.counts
			 ? job_array_walk(cli, array, count_element, &elements)
			 : strata_fail_memory(&cli->err);

	if (rc == 0)
		rc = print_elements(cli, array, &elements);
	json_decref(elements.list);
	json_decref(elements.counts);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each_or_array(cli, operands, operand_count, show_array, get, print);
}

const struct cli_command cli_show = {
	.name = "show",
	.operands = "ID…",
	.summary = "show everything that is known of a job",
	.about = "Jobs that have ended are found too. What does not apply is left out; --json has "
		 "all fields.\n"
		 "Of an array 35: how its jobs stand; `strata show 35_2` and 35_[2-4] have everything of "
		 "these.",
	.examples = "  strata show 17\n"
		    "  strata show 17 --json\n"
		    "  strata show 35_2",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
