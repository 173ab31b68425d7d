/*
 * sbatch: a batch script becomes a job. strata_sbatch_parse reads the options as Slurm does;
 * slurm_batch.c and fits.c do the rest, so that what is said, in which order and with which exit
 * code is all that is left here.
 */
#include "cli/slurm/slurm_batch.h"

#include "core/env.h"
#include "slurm/sbatch_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Here, or on PATH when it has no slash and is not here. */
static const char *find_script(struct cli *cli, const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/') || access(name, R_OK) == 0)
		return name;
	for (const char *at = path; at && *at;) {
		size_t span = strcspn(at, ":");
		const char *full = strata_arena_printf(&cli->arena, "%.*s/%s", (int)span, at, name);

		if (full && span && access(full, R_OK) == 0)
			return full;
		at += span + (at[span] == ':');
	}
	return name;
}

static int read_stdin(struct cli *cli, struct strata_sbatch_input *in)
{
	struct buf buf;
	char part[65536];
	ssize_t got;

	buf_init(&buf, &cli->memory, STRATA_SCRIPT_BYTES_MAX);
	while ((got = read(STDIN_FILENO, part, sizeof(part))) > 0)
		buf_add_bytes(&buf, part, (size_t)got);
	int rc = buf_check(&buf, &cli->err);

	in->script = strata_arena_text(&cli->arena, buf.text, buf.length);
	in->script_length = buf.length;
	buf_fini(&buf);
	return rc || !in->script ? -1 : 0;
}

/* Slurm says no more than that a directory, say, is an empty script. */
static int read_script(struct batch *batch, struct strata_sbatch_input *in, size_t at)
{
	struct cli *cli = batch->cli;

	if (at == in->arg_count)
		return read_stdin(cli, in);
	const char *path = find_script(cli, in->args[at]);
	char *text;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		slurm_error(cli, batch->program, "Unable to open file %s", path);
		return -1;
	}
	close(fd);
	in->script_name = path;
	in->script = "";
	if (env_read_file(env_system(), AT_FDCWD, path, STRATA_SCRIPT_BYTES_MAX, &cli->arena, &text,
			  &in->script_length, &cli->err) == 0)
		in->script = text;
	else
		in->script_length = 0;
	return 0;
}

static int parse(struct batch *batch, int argc, char **argv)
{
	struct cli *cli = batch->cli;
	struct strata_sbatch_input in = {
		.args = (const char *const *)argv + 1,
		.arg_count = (size_t)argc - 1,
		.env = batch->caller.env,
		.now_ns = batch->caller.now_ns,
		.zone_seconds = batch->caller.zone_seconds,
	};
	size_t at;
	bool wrap;
	int rc = strata_sbatch_find_script(in.args, in.arg_count, &at, &wrap, &cli->err);

	if (rc)
		return slurm_batch_complain(batch);
	if (!wrap && read_script(batch, &in, at))
		return 1;
	if (strata_sbatch_parse(&in, &cli->arena, &batch->job, &cli->err))
		return slurm_batch_complain(batch);
	batch->script_name = in.script_name ? in.script_name : "stdin";
	return 0;
}

static int submit(struct batch *batch)
{
	const struct strata_sbatch *job = &batch->job;
	int64_t *ids;
	size_t count;
	int code = slurm_batch_fill(batch);

	if (code)
		return code;
	if (job_script_add_text(job->script, job->script_length,
				job->wrap ? "wrap" : batch->script_name, job->script_args,
				job->script_arg_count, batch->body, &batch->cli->err))
		return slurm_batch_complain(batch);
	code = slurm_batch_send(batch, &ids, &count);
	if (code)
		return code;
	if (job->parsable)
		cli_printf(batch->cli, "%" PRId64 "\n", ids[0]);
	else if (!job->quiet)
		cli_printf(batch->cli, "Submitted batch job %" PRId64 "\n", ids[0]);
	cli_flush(batch->cli);
	return job->wait ? slurm_batch_wait(batch, ids, count) : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct batch batch;
	int code = slurm_batch_init(&batch, cli, argv[0]);

	if (code == 0)
		code = parse(&batch, argc, argv);
	if (code)
		return code;
	if (batch.job.version || batch.job.help || batch.job.usage)
		return slurm_batch_talk(&batch, &slurm_sbatch);
	slurm_batch_tell(&batch, &sbatch_syntax, (const char *const *)argv + 1, (size_t)argc - 1);
	code = slurm_fits_check(&batch);
	if (code)
		return code;
	if (batch.job.test_only)
		return slurm_fits_tell(&batch);
	slurm_batch_warn(&batch);
	return submit(&batch);
}

const struct slurm_command slurm_sbatch = { .name = "sbatch",
					    .summary = "submit a batch script",
					    .operands = "[SCRIPT [ARGUMENT…]]",
					    .syntax = &sbatch_syntax,
					    .run = run };
