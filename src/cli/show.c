/* strata show: everything that is known of a job. */
#include "cli/service.h"

static const struct view_column fields[] = {
	{ { .title = "id" }, view_text, "id" },
	{ { .title = "uuid" }, view_text, "uuid" },
	{ { .title = "name" }, view_text, "name" },
	{ { .title = "user" }, view_text, "user" },
	{ { .title = "account" }, view_text, "account" },
	{ { .title = "partition" }, view_text, "partition" },
	{ { .title = "qos" }, view_text, "qos" },
	{ { .title = "state" }, view_text, "state" },
	{ { .title = "reason" }, view_text, "reason_text" },
	{ { .title = "priority" }, view_text, "priority" },
	{ { .title = "nice" }, view_text, "nice" },
	{ { .title = "position" }, view_text, "position" },
	{ { .title = "tasks" }, view_text, "tasks" },
	{ { .title = "nodes" }, view_text, "nodes" },
	{ { .title = "cpus" }, view_text, "cpus" },
	{ { .title = "memory" }, view_size, "memory_bytes" },
	{ { .title = "gpus" }, view_text, "gpus" },
	{ { .title = "gpu type" }, view_text, "gpu_type" },
	{ { .title = "time limit" }, view_span, "time_limit_s" },
	{ { .title = "command" }, view_text, "command" },
	{ { .title = "directory" }, view_text, "working_dir" },
	{ { .title = "output" }, view_text, "output" },
	{ { .title = "error" }, view_text, "error" },
	{ { .title = "array" }, view_text, "array_id" },
	{ { .title = "array index" }, view_text, "array_index" },
	{ { .title = "dependencies" }, view_text, "dependencies" },
	{ { .title = "submitted" }, view_time, "submitted_at" },
	{ { .title = "eligible" }, view_time, "eligible_at" },
	{ { .title = "scheduled" }, view_time, "scheduled_at" },
	{ { .title = "started" }, view_time, "started_at" },
	{ { .title = "ended" }, view_time, "ended_at" },
	{ { .title = "on" }, view_text, "node_names" },
	{ { .title = "gpu ids" }, view_text, "gpu_ids" },
	{ { .title = "expected start" }, view_time, "expected_start_at" },
	{ { .title = "expected on" }, view_text, "expected_node" },
	{ { .title = "expected end" }, view_time, "expected_end_at" },
	{ { .title = "attempt" }, view_text, "attempt" },
	{ { .title = "preempted" }, view_text, "preempted" },
	{ { .title = "exit code" }, view_text, "exit_code" },
	{ { .title = "exit signal" }, view_text, "exit_signal" },
	{ { .title = "comment" }, view_text, "comment" },
};

static int get(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct buf path;

	(void)context;
	service_path(cli, &path, "jobs", id, NULL);
	return service_get(cli, &path, ret_json);
}

static int print(struct cli *cli, const char *id, const json_t *job)
{
	job_print_sentence(cli, id, job);
	return view_fields(cli, fields, sizeof(fields) / sizeof(fields[0]), job);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, get, NULL, print);
}

const struct cli_command cli_show = {
	.name = "show",
	.operands = "ID…",
	.summary = "show everything that is known of a job",
	.about = "Jobs that have ended are found too. What does not apply is left out; --json has "
		 "all fields.",
	.examples = "  strata show 17\n"
		    "  strata show 17 --json",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
