/*
 * srun: runs a program as tasks. Within a job they are a step of it, else a job is made for them.
 * Its options are read by strata_sbatch_parse, as sbatch's are.
 */
#include "cli/slurm/srun.h"

#include "slurm/sbatch_int.h"

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

/* What the job's variables say stands in front, so that the words win. */
static int parse(struct srun *srun)
{
	struct cli *cli = srun->cli;
	size_t count = 0;
	const char **args =
		strata_arena_array(&cli->arena, srun->word_count + INHERITED, sizeof(*args));

	for (size_t i = 0; args && srun->job_id && i < INHERITED; i++) {
		const char *value = getenv(inherited[i].variable);

		if (!value)
			continue;
		args[count] =
			strata_arena_printf(&cli->arena, "--%s=%s", inherited[i].option, value);
		if (!args[count++])
			args = NULL;
	}
	if (!args) {
		strata_fail_memory(&cli->err);
		return slurm_batch_complain(&srun->batch);
	}
	for (size_t i = 0; i < srun->word_count; i++)
		args[count++] = srun->words[i];
	struct strata_sbatch_input in = {
		.command = STRATA_SLURM_SRUN,
		.args = args,
		.arg_count = count,
		.now_ns = srun->batch.caller.now_ns,
		.zone_seconds = srun->batch.caller.zone_seconds,
	};

	if (strata_sbatch_parse(&in, &cli->arena, &srun->batch.job, &cli->err))
		return slurm_batch_complain(&srun->batch);
	srun->command_count = srun->batch.job.script_arg_count;
	srun->command = srun->words + (srun->word_count - srun->command_count);
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
	if (srun.batch.job.version || srun.batch.job.help || srun.batch.job.usage)
		return slurm_batch_talk(&srun.batch, &slurm_srun);
	if (srun.command_count == 0) {
		slurm_say(cli, "srun: fatal: No command given to execute.");
		return 1;
	}
	if (srun.batch.job.job_id &&
	    (!srun.job_id || strcmp(srun.job_id, srun.batch.job.job_id) != 0)) {
		code = srun_join(&srun);
		if (code == 0)
			code = parse(&srun); /* what the job's variables say counts now */
		if (code)
			return code;
	}
	if (!srun.job_id || srun.batch.job.job_id) /* once: the srun within has the same words */
		slurm_batch_tell(&srun.batch, &srun_syntax, (const char *const *)srun.words,
				 srun.word_count);
	return srun.job_id ? srun_step(&srun) : srun_job(&srun);
}

const struct slurm_command slurm_srun = { .name = "srun",
					  .summary = "run tasks within a job, or as one",
					  .operands = "PROGRAM [ARGUMENT…]",
					  .syntax = &srun_syntax,
					  .run = run };
