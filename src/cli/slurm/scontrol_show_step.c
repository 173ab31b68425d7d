/* scontrol show step: what runs within jobs, step by step. */
#include "cli/slurm/scontrol.h"

#include "cli/service.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct shown {
	const char *id; /* "7.batch", "7.0" */
	const char *name, *nodes, *state;
	int64_t node_count, cpus, tasks, start_ns;
};

static void print_step(struct scontrol *scontrol, const struct slurm_job *job,
		       const struct shown *step)
{
	struct buf *buf = &scontrol->cli->out;
	const char *gap = scontrol_gap(scontrol);

	buf_printf(buf, "StepId=%s UserId=%" PRId64 " StartTime=", step->id, job->uid);
	slurm_date(buf, step->start_ns, "Unknown");
	buf_printf(buf, " TimeLimit=UNLIMITED%sState=%s Partition=%s NodeList=%s%s", gap,
		   step->state, job->partition, step->nodes, gap);
	buf_printf(buf,
		   "Nodes=%" PRId64 " CPUs=%" PRId64 " Tasks=%" PRId64 " Name=%s Network=(null)%s",
		   step->node_count, step->cpus, step->tasks, step->name, gap);
	buf_printf(buf, "TRES=(null)%sResvPorts=(null)%sCPUFreqReq=Default%sSrunHost:Pid=(null):0",
		   gap, gap, gap);
	cli_print(scontrol->cli, scontrol->oneline ? "\n" : "\n\n");
}

/* Names of a step's nodes in short. */
static const char *nodes_of(struct cli *cli, const json_t *step, size_t *ret_count)
{
	const json_t *list = json_object_get(step, "nodes");
	size_t count = json_array_size(list);
	const char **names = strata_arena_array(&cli->arena, count + 1, sizeof(*names)),
		   *text = NULL;

	for (size_t i = 0; names && i < count; i++)
		names[i] = grid_or(json_array_get(list, i), "?");
	if (names)
		text = slurm_hosts(cli, names, count);
	*ret_count = count;
	return text ? text : "";
}

/* The script, and the steps that run. `number` −1: all of them. Returns how many. */
static size_t print_steps(struct scontrol *scontrol, const struct slurm_job *job, int64_t number)
{
	struct cli *cli = scontrol->cli;
	json_t *steps = slurm_steps(cli, job), *row;
	size_t index, shown = 0;
	struct shown batch = { .id = strata_arena_printf(&cli->arena, "%s.batch", job->id_text),
			       .name = "batch",
			       .nodes = job->first_node,
			       .state = "RUNNING",
			       .node_count = 1,
			       .cpus = job->cpus,
			       .tasks = 1,
			       .start_ns = job->start_ns };

	if (number < 0 && batch.id) {
		print_step(scontrol, job, &batch);
		shown++;
	}
	json_array_foreach(steps, index, row)
	{
		int64_t own = grid_int(row, "number");
		size_t count;
		struct shown step = {
			.id = strata_arena_printf(&cli->arena, "%s.%" PRId64, job->id_text, own),
			.name = grid_or(json_object_get(row, "name"), ""),
			.nodes = nodes_of(cli, row, &count),
			.state = "RUNNING",
			.tasks = grid_int(row, "tasks"),
			.start_ns = when_json(row, "started_at"),
		};

		if (when_json(row, "ended_at") || (number >= 0 && own != number) || !step.id)
			continue;
		step.node_count = (int64_t)count;
		step.cpus = step.tasks * job->cpus_per_task;
		print_step(scontrol, job, &step);
		shown++;
	}
	json_decref(steps);
	return shown;
}

int scontrol_show_steps(struct scontrol *scontrol, const char *name)
{
	struct cli *cli = scontrol->cli;
	const char *dot = name ? strchr(name, '.') : NULL;
	char *job_name = name ? strata_arena_text(&cli->arena, name,
						  dot ? (size_t)(dot - name) : strlen(name))
			      : NULL;
	int64_t number = dot ? strtoll(dot + 1, NULL, 10) : -1;
	struct slurm_jobs jobs;
	size_t shown = 0;
	bool known = !name;

	if (slurm_jobs_load(cli, false, &jobs))
		return slurm_unreachable(cli, "slurm_get_job_steps");
	for (size_t i = 0; i < jobs.count; i++) {
		const struct slurm_job *job = &jobs.list[i];

		if (job_name && !slurm_job_named(job, job_name))
			continue;
		known = true;
		if (!job->pending && !job->ended)
			shown += print_steps(scontrol, job, number);
	}
	slurm_jobs_fini(&jobs);
	if (!known) {
		slurm_say(cli, "slurm_get_job_steps error: Invalid job id specified");
		return 1;
	}
	if (dot && !shown) {
		cli_printf(cli, "Job step %s.%" PRId64 " not found\n", job_name, number);
		return 1;
	}
	if (!shown)
		cli_print(cli, "No job steps in the system\n");
	return 0;
}
