/*
 * srun: runs a program as tasks. Within a job they are a step of it, else a job is made for them. Options that sbatch has too are read by
 * strata_sbatch_parse, with what the job's variables say in front of them, so that the words win.
 */
#include "cli/slurm/srun.h"

#include "formats/slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a step takes over from the job it is in. */
static const struct {
	const char *variable, *option;
} inherited[] = {
	{ "SLURM_NNODES", "nodes" },
	{ "SLURM_NTASKS", "ntasks" },
	{ "SLURM_NTASKS_PER_NODE", "ntasks-per-node" },
	{ "SLURM_GPUS_PER_TASK", "gpus-per-task" },
};
enum { INHERITED = sizeof(inherited) / sizeof(inherited[0]) };

static bool is(const struct sbatch_row *row, const char *name)
{
	return strcmp(row->option.name, name) == 0;
}

/* An option that only srun has. −1: go on, else the exit code. */
static int read_own(struct srun *srun, const struct sbatch_row *row, const char *value)
{
	if (is(row, "label"))
		srun->label = true;
	else if (is(row, "unbuffered"))
		srun->unbuffered = true;
	else if (is(row, "kill-on-bad-exit"))
		srun->kill_on_fail = !value || strcmp(value, "0") != 0;
	else if (is(row, "exact"))
		srun->exact = true;
	else if (is(row, "overlap"))
		srun->overlap = true;
	else if (is(row, "pty"))
		srun->pty = true;
	else if (is(row, "multi-prog")) {
		slurm_error(srun->cli, "srun", "--multi-prog is not possible here");
		return 1;
	} else if (is(row, "jobid") && !srun->job_id) {
		slurm_error(srun->cli, "srun",
			    "--jobid is not possible here: call srun within the job");
		return 1;
	}
	return -1;
}

/* The words as sbatch would have them. −1: go on, else the exit code. */
static int read_words(struct srun *srun, const char **args, size_t *count)
{
	struct cli *cli = srun->cli;
	const struct sbatch_row *row;
	struct sbatch_words words;
	const char *value;

	sbatch_words_init(&words, (const char *const *)srun->words, srun->word_count,
			  STRATA_SLURM_SRUN);
	for (;;) {
		if (sbatch_words_next(&words, &row, &value, &cli->err))
			return slurm_batch_complain(&srun->batch);
		if (!row)
			break;
		if (!(row->option.commands & STRATA_SLURM_SBATCH)) {
			int code = read_own(srun, row, value);

			if (code >= 0)
				return code;
			continue;
		}
		args[*count] =
			value ? strata_arena_printf(&cli->arena, "--%s=%s", row->option.name, value)
			      : strata_arena_printf(&cli->arena, "--%s", row->option.name);
		if (!args[(*count)++])
			return 1;
	}
	srun->command = srun->words + words.at;
	srun->command_count = srun->word_count - words.at;
	return -1;
}

static int parse(struct srun *srun)
{
	struct cli *cli = srun->cli;
	size_t count = 0;
	const char **args =
		strata_arena_array(&cli->arena, srun->word_count + INHERITED + 1, sizeof(*args));

	for (size_t i = 0; args && srun->job_id && i < INHERITED; i++) {
		const char *value = getenv(inherited[i].variable);

		if (value)
			args[count++] = strata_arena_printf(&cli->arena, "--%s=%s",
							    inherited[i].option, value);
	}
	int code = args ? read_words(srun, args, &count) : 1;

	if (code >= 0)
		return code;
	args[count++] = "--wrap=:";
	struct strata_sbatch_input in = {
		.args = args,
		.arg_count = count,
		.now_ns = srun->batch.caller.now_ns,
		.zone_seconds = srun->batch.caller.zone_seconds,
	};

	return strata_sbatch_parse(&in, &cli->arena, &srun->batch.job, &cli->err)
		       ? slurm_batch_complain(&srun->batch)
		       : 0;
}

static int help(struct cli *cli)
{
	const struct strata_slurm_option *option;

	cli_print(cli, "Usage: srun [OPTION…] PROGRAM [ARGUMENT…]\n");
	for (size_t i = 0; (option = strata_slurm_option_at(i)); i++)
		if (option->commands & STRATA_SLURM_SRUN)
			cli_printf(cli, "  --%-22s %s\n", option->name, option->help);
	return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct srun srun = { .cli = cli,
			     .job_id = getenv("SLURM_JOB_ID"),
			     .words = argv + 1,
			     .word_count = (size_t)argc - 1 };
	int code = slurm_batch_init(&srun.batch, cli, argv[0]);

	if (code == 0)
		code = parse(&srun);
	if (code)
		return code;
	if (srun.batch.job.version)
		return slurm_version(cli);
	if (srun.batch.job.help || srun.batch.job.usage)
		return help(cli);
	if (srun.command_count == 0) {
		slurm_say(cli, "srun: fatal: No command given to execute.");
		return 1;
	}
	return srun.job_id ? srun_step(&srun) : srun_job(&srun);
}

const struct slurm_command slurm_srun = { "srun", "run tasks within a job, or as one", run };
