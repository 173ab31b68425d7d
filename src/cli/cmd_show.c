/* strata show: everything that is known of a job. */
#include "cli/interactive.h"

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
	{ { .title = "expected start" }, grid_time, "expected_start_at" },
	{ { .title = "expected on" }, grid_text, "expected_node" },
	{ { .title = "expected end" }, grid_time, "expected_end_at" },
	{ { .title = "attempt" }, grid_text, "attempt" },
	{ { .title = "preempted" }, grid_text, "preempted" },
	{ { .title = "exit code" }, grid_text, "exit_code" },
	{ { .title = "exit signal" }, grid_text, "exit_signal" },
	{ { .title = "peak memory" }, job_peak_cell, "memory_peak_bytes" },
	{ { .title = "CPU efficiency" }, job_cpu_cell, "cpu_user_ms" },
	{ { .title = "CPU time, user (ms)" }, grid_text, "cpu_user_ms" },
	{ { .title = "CPU time, system (ms)" }, grid_text, "cpu_system_ms" },
	{ { .title = "comment" }, grid_text, "comment" },
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
	return grid_fields(cli, fields, sizeof(fields) / sizeof(fields[0]), job);
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
