/* The lines of sacct: a job, its script, its steps. */
#include "cli/slurm/sacct.h"

#include "cli/service.h"

#include <ctype.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#define RULE "--------------------------------------------------------------------------------\n"

/* "CANCELLED by 0" */
static const char *job_state(struct cli *cli, const struct slurm_job *job)
{
	const char *by = grid_string(job->json, "cancelled_by");
	const struct passwd *row = by ? getpwnam(by) : NULL;
	const char *text = job->state->name;

	if (row && strcmp(text, "CANCELLED") == 0)
		text = strata_arena_printf(&cli->arena, "CANCELLED by %u", (unsigned)row->pw_uid);
	return text ? text : "";
}

/* The script's own end: what ends the job from outside ends it with a signal. */
static struct sacct_line batch_line(const struct slurm_job *job)
{
	const json_t *first = json_array_get(json_object_get(job->json, "place"), 0);
	int64_t cpu_milli = grid_int(first, "cpu_milli");
	bool stopped = job->exit_signal || strcmp(job->state->code, "TO") == 0 ||
		       strcmp(job->state->code, "CA") == 0;

	return (struct sacct_line){
		.job = job,
		.step = "batch",
		.name = "batch",
		.state = stopped && job->ended && strcmp(job->state->code, "OOM") != 0
				 ? "CANCELLED"
				 : job->state->name,
		.exit_code = job->exit_code,
		.exit_signal = job->exit_signal,
		.start_ns = job->start_ns,
		.end_ns = job->ended ? job->end_ns : 0,
		.nodes = 1,
		.cpus = cpu_milli ? (cpu_milli + 999) / 1000 : job->cpus,
		.memory_bytes = grid_int(first, "memory_bytes"),
		.node_list = job->first_node,
		.tasks = 1,
		.used = job->json,
	};
}

static void print_steps(struct cli *cli, const struct sacct *sacct, const struct slurm_job *job)
{
	struct sacct_line line = batch_line(job);
	json_t *steps = slurm_steps(cli, job), *row;
	size_t index;

	listing_row(cli, &sacct->listing, &line);
	json_array_foreach(steps, index, row)
	{
		const char *state = grid_or(json_object_get(row, "state"), "completed");
		char *upper = strata_arena_text(&cli->arena, state, strlen(state));

		for (char *at = upper; at && *at; at++)
			*at = (char)toupper((unsigned char)*at);
		struct sacct_line step = {
			.job = job,
			.step = strata_arena_printf(&cli->arena, "%" PRId64,
						    grid_int(row, "number")),
			.name = grid_or(json_object_get(row, "name"), ""),
			.state = upper ? upper : "",
			.exit_code = grid_int(row, "exit_code"),
			.exit_signal = grid_int(row, "exit_signal"),
			.start_ns = when_json(row, "started_at"),
			.end_ns = when_json(row, "ended_at"),
			.nodes = job->nodes,
			.cpus = job->cpus,
			.memory_bytes = job->memory_bytes,
			.node_list = job->node_list,
			.tasks = grid_int(row, "tasks") ? grid_int(row, "tasks") : job->tasks,
			.used = row,
		};

		listing_row(cli, &sacct->listing, &step);
	}
	json_decref(steps);
}

void sacct_print_job(struct cli *cli, const struct sacct *sacct, const struct slurm_job *job)
{
	bool failed = strcmp(job->state->code, "F") == 0; /* of the others the script tells */
	bool began = !job->pending && when_json(job->json, "started_at");
	struct sacct_line line = { .job = job,
				   .state = job_state(cli, job),
				   .exit_code = failed ? job->exit_code : 0,
				   .exit_signal = failed ? job->exit_signal : 0,
				   .start_ns = job->pending ? 0 : job->start_ns,
				   .end_ns = job->ended ? job->end_ns : 0,
				   .nodes = job->nodes,
				   .cpus = job->cpus,
				   .memory_bytes = job->memory_bytes,
				   .node_list = job->node_list,
				   .used = job->json };

	listing_row(cli, &sacct->listing, &line);
	if (began && !sacct->only_jobs)
		print_steps(cli, sacct, job);
}

void sacct_print_text(struct cli *cli, const struct slurm_job *job, bool variables)
{
	struct strata_error kept = cli->err;
	json_t *json = NULL, *value;
	const char *key;
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, grid_int(job->json, "id"));
	if (slurm_job_script(cli, id, &json))
		cli->err = kept; /* somebody else's: as if it were not kept */
	const char *script = grid_string(json, "script");
	json_t *map = json_object_get(json, "environment");

	cli_printf(cli,
		   variables ? "Environment used for %s (must be batch to display)\n" RULE
			     : "Batch Script for %s\n" RULE,
		   job->id_text);
	if (variables ? !json_object_size(map) : !script)
		cli_print(cli, "NONE\n");
	else if (!variables)
		cli_print(cli, script);
	json_object_foreach(variables ? map : NULL, key, value)
	{
		cli_printf(cli, "%s=%s\n", key, grid_or(value, ""));
	}
	cli_print(cli, "\n");
	json_decref(json);
}
