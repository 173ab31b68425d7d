/*
 * sattach: what a step of a running job writes, as it comes, and keys for one at a terminal. Steps
 * write into their job's output here, or to the terminal of whoever started them; so it is the job
 * that one attaches to.
 */
#include "cli/slurm/jobs.h"

#include "cli/interactive.h"
#include "cli/service.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "sattach"

struct sattach {
	bool layout;
	int64_t verbose;
};

#define FIELD(name) offsetof(struct sattach, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	SLURM_ROW_IGNORED("error-filter", 0, VALUE, "errors of this task only"),
	SLURM_ROW_HELP('h'),
	SLURM_ROW_IGNORED("input-filter", 0, VALUE, "input for this task only"),
	SLURM_ROW_IGNORED("label", 'l', STRATA_SLURM_NONE, "the task's number before each line"),
	{ { "layout", 0, .help = "where its tasks are, and no more" }, slurm_read_flag, FIELD(layout) },
	SLURM_ROW_IGNORED("output-filter", 0, VALUE, "output of this task only"),
	SLURM_ROW_HOLDS("pty", 0, "a terminal, where the job has one"),
	SLURM_ROW_HOLDS("quiet", 'Q', "say nothing but errors"),
	SLURM_ROW_USAGE('u'),
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

/* The step's record; NULL: it does not run. New reference. */
static json_t *find_step(struct cli *cli, const struct slurm_job *job, const char *name)
{
	json_t *steps, *row, *found = NULL;
	size_t index;

	if (strcmp(name, "batch") == 0)
		return json_pack("{s:i,s:[s]}", "tasks", 1, "nodes", job->first_node);
	steps = slurm_steps(cli, job);
	json_array_foreach(steps, index, row)
	{
		if (grid_int(row, "number") == strtoll(name, NULL, 10) &&
		    !when_json(row, "ended_at"))
			found = json_incref(row);
	}
	json_decref(steps);
	return found;
}

static void print_layout(struct cli *cli, const json_t *step)
{
	const json_t *nodes = json_object_get(step, "nodes");
	int64_t tasks = grid_int(step, "tasks"), next = 0;
	size_t count = json_array_size(nodes);
	const char **names = strata_arena_array(&cli->arena, count + 1, sizeof(*names)),
		   *list = NULL;

	for (size_t i = 0; names && i < count; i++)
		names[i] = grid_or(json_array_get(nodes, i), "?");
	if (names)
		list = slurm_hosts(cli, names, count);
	cli_printf(cli, "Job step layout:\n\t%" PRId64 " tasks, %zu nodes (%s)\n\n", tasks, count,
		   list ? list : "");
	for (size_t i = 0; names && i < count; i++) {
		int64_t own = tasks / (int64_t)count + ((int64_t)i < tasks % (int64_t)count);

		cli_printf(cli, "\tNode %zu (%s), %" PRId64 " task(s): ", i, names[i], own);
		for (int64_t k = 0; k < own; k++)
			cli_printf(cli, "%" PRId64 " ", next++);
		cli_print(cli, "\n");
	}
}

/* As `strata attach` does. */
static int attach(struct cli *cli, const struct sattach *sattach, const struct slurm_job *job)
{
	size_t taken;
	char word[] = "attach", *words[] = { word };
	char *id = strata_arena_printf(&cli->arena, "%s", job->id_text);
	const struct cli_command *command = cli_command_find(words, 1, &taken);
	void *conf = command ? strata_arena_get(&cli->arena, command->options->conf_size) : NULL;

	if (!conf || !id || strata_schema_defaults(command->options, &cli->arena, conf, &cli->err))
		return 1;
	if (sattach->verbose)
		slurm_say(cli, "sattach: attaching to job %s", id);
	int rc = command->run(cli, conf, &id, 1);

	if (rc < 0)
		slurm_error(cli, NAME, "%s", cli->err.text);
	return rc < 0 ? 1 : rc;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sattach sattach = { 0 };
	struct slurm_reading reading;
	struct slurm_jobs jobs;
	int code = slurm_options(cli, &slurm_sattach, argc, argv, &sattach, &reading);

	if (code >= 0)
		return code;
	const char *word = reading.operand_count ? reading.operands[0] : "";
	const char *dot = strchr(word, '.');

	if (!dot || !dot[1]) {
		slurm_error(cli, NAME,
			    *word ? "Failed to parse stepid from command line options"
				  : "too many parameters"); /* as Slurm has it */
		cli_print(cli, "Usage: sattach [options] <jobid.stepid>\n");
		return 1;
	}
	char *name = strata_arena_text(&cli->arena, word, (size_t)(dot - word));

	if (!name || slurm_jobs_find(cli, name, &jobs))
		return slurm_unreachable(cli, "slurm_load_jobs");
	const struct slurm_job *job = NULL;

	for (size_t i = 0; i < jobs.count; i++)
		if (slurm_job_named(&jobs.list[i], name) && !jobs.list[i].pending &&
		    !jobs.list[i].ended)
			job = &jobs.list[i];
	json_t *step = job ? find_step(cli, job, dot + 1) : NULL;

	code = 1;
	if (!step) {
		slurm_error(cli, NAME, "Could not get job step info: Invalid job id specified");
	} else if (sattach.layout) {
		print_layout(cli, step);
		code = 0;
	} else {
		code = attach(cli, &sattach, job);
	}
	json_decref(step);
	slurm_jobs_fini(&jobs);
	return code;
}

const struct slurm_command slurm_sattach = { .name = NAME,
					     .summary = "show what a step of a job writes",
					     .operands = "JOB.STEP",
					     .syntax = &syntax,
					     .run = run };
