/*
 * Batch jobs (<strata/sbatch.h>): script, variables and command line, read in this order by the rows
 * of one table, so that what comes later wins; then what follows from all of them is settled. The
 * command line's options are looked at once before, because help and --wrap make a script needless
 * and its mistakes are reported before those of the script.
 */
#include "slurm/sbatch_int.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

static int read_script(struct sbatch_reading *reading, struct strata_error *err)
{
	const struct strata_sbatch_input *in = reading->in;
	char excerpt[TEXT_EXCERPT_BYTES];
	const char **words = NULL;
	size_t count = 0;
	int rc = sbatch_script_check(in->script, in->script_length, err);

	if (rc == 0)
		rc = sbatch_script_words(in->script, in->script_length,
					 in->script_name ? in->script_name : "stdin",
					 reading->base.arena, &words, &count, err);
	if (rc == 0)
		rc = slurm_rows_read_words(&reading->base, words, count, err);
	if (rc || reading->base.operand_count == 0)
		return rc;
	const char *word = reading->base.operands[0];

	if (strcmp(word, "hetjob") == 0 || strcmp(word, "packjob") == 0)
		return strata_fail(err, -EBADMSG, "heterogeneous jobs are not supported here");
	text_excerpt(word, strlen(word), excerpt);
	return strata_fail(err, -EINVAL, "Invalid directive found in batch script: %s", excerpt);
}

/* What the command line holds beside values: the place of the script or program, whether a script is to be read, --help. */
struct glance {
	size_t operand;
	bool scriptless, talk;
};

static int look_at_args(const struct slurm_syntax *syntax, const char *const *args, size_t count,
			struct glance *ret_glance, struct strata_error *err)
{
	bool batch = syntax == &sbatch_syntax, wrap = false;
	struct glance glance = { 0 };
	const struct slurm_row *row;
	struct slurm_words words = { .syntax = syntax, .words = args, .count = count };
	const char *value;

	if (batch && count > STRATA_SCRIPT_WORDS_MAX)
		return strata_fail(err, -E2BIG, "the command line has more than %d words",
				   STRATA_SCRIPT_WORDS_MAX);
	do {
		int rc = slurm_words_next(&words, &row, &value, err);

		if (rc)
			return rc;
		const char *name = row ? row->option.name : "";

		wrap |= strcmp(name, "wrap") == 0;
		glance.talk |= strcmp(name, "help") == 0 || strcmp(name, "usage") == 0 ||
			       strcmp(name, "version") == 0;
	} while (row);
	glance.operand = words.at;
	glance.scriptless = wrap || !batch;
	if (wrap && !glance.talk && words.at < count)
		return strata_fail(err, -EBADMSG,
				   "Script arguments not permitted with --wrap option");
	*ret_glance = glance;
	return 0;
}

int strata_sbatch_find_script(const char *const *args, size_t arg_count, size_t *ret_index,
			      bool *ret_wrap, struct strata_error *err)
{
	struct glance glance;
	int rc = look_at_args(&sbatch_syntax, args, arg_count, &glance, err);

	if (rc == 0) {
		*ret_index = glance.operand;
		*ret_wrap = glance.scriptless || glance.talk;
	}
	return rc;
}

/* The script that will run. */
static int keep_script(struct sbatch_reading *reading, struct strata_error *err)
{
	const struct strata_sbatch_input *in = reading->in;
	struct strata_sbatch *job = &reading->job;

	if (job->wrap) {
		job->script = strata_arena_printf(reading->base.arena,
						  "#!/bin/sh\n"
						  "# This script was created by sbatch --wrap.\n"
						  "\n"
						  "%s\n",
						  job->wrap);
		job->script_length = job->script ? strlen(job->script) : 0;
	} else {
		job->script = strata_arena_text(reading->base.arena, in->script, in->script_length);
		job->script_length = in->script_length;
	}
	return job->script ? 0 : strata_fail_memory(err);
}

/* The words from the first on. */
static int keep_arguments(struct sbatch_reading *reading, size_t first, struct strata_error *err)
{
	const struct strata_sbatch_input *in = reading->in;
	struct strata_sbatch *job = &reading->job;
	size_t count = in->arg_count > first ? in->arg_count - first : 0;

	job->script_args =
		strata_arena_array(reading->base.arena, count, sizeof(*job->script_args));
	if (!job->script_args)
		return strata_fail_memory(err);
	for (; job->script_arg_count < count; job->script_arg_count++) {
		const char *word = in->args[first + job->script_arg_count];

		job->script_args[job->script_arg_count] =
			strata_arena_text(reading->base.arena, word, strlen(word));
		if (!job->script_args[job->script_arg_count])
			return strata_fail_memory(err);
	}
	return 0;
}

/* Names and files where none were given. */
static int settle_names(struct sbatch_reading *reading, struct strata_error *err)
{
	struct strata_sbatch *job = &reading->job;
	bool batch = reading->base.syntax == &sbatch_syntax;
	const char *path = batch                   ? reading->in->script_name
			   : job->script_arg_count ? job->script_args[0]
						   : NULL;

	if (!job->name && job->wrap) {
		job->name = "wrap";
	} else if (!job->name && path) {
		const char *slash = strrchr(path, '/'),
			   *base = slash && slash[1] ? slash + 1 : path;

		job->name = strata_arena_text(reading->base.arena, base, strlen(base));
		if (!job->name)
			return strata_fail_memory(err);
	} else if (!job->name) {
		job->name = batch ? "sbatch" : "interactive";
	}
	job->error_given = job->error != NULL;
	if (!job->output)
		job->output = job->array.task_count ? "slurm-%A_%a.out" : "slurm-%j.out";
	if (!job->error)
		job->error = job->output;
	job->ignored = reading->base.ignored;
	job->ignored_count = reading->base.ignored_count;
	job->warnings = reading->warnings;
	job->warning_count = reading->warning_count;
	return 0;
}

static int read_all(struct sbatch_reading *reading, const struct glance *glance,
		    struct strata_error *err)
{
	const struct strata_sbatch_input *in = reading->in;
	bool batch = reading->base.syntax == &sbatch_syntax;
	struct sbatch_reading trial = *reading; /* bad values there are reported first */

	trial.base.into = &trial.job;
	int rc = slurm_rows_read_words(&trial.base, in->args, in->arg_count, err);

	if (rc == 0 && !glance->scriptless)
		rc = read_script(reading, err);
	if (rc == 0) /* a script that says --wrap is still a script */
		reading->job.wrap = NULL;
	if (rc == 0 && reading->base.syntax != &srun_syntax)
		rc = slurm_rows_read_env(&reading->base, in->env, err);
	if (rc == 0)
		rc = slurm_rows_read_words(&reading->base, in->args, in->arg_count, err);
	if (rc == 0)
		rc = sbatch_settle(reading, err);
	if (rc == 0 && batch)
		rc = keep_script(reading, err);
	if (rc == 0)
		rc = keep_arguments(reading, glance->operand + batch, err);
	return rc ? rc : settle_names(reading, err);
}

int strata_sbatch_parse(const struct strata_sbatch_input *in, struct strata_arena *arena,
			struct strata_sbatch *ret_job, struct strata_error *err)
{
	const struct slurm_syntax *syntax = in->command == STRATA_SLURM_SRUN     ? &srun_syntax
					    : in->command == STRATA_SLURM_SALLOC ? &salloc_syntax
										 : &sbatch_syntax;
	struct sbatch_reading reading = {
		.in = in,
		.job = { .mem_bytes = -1,
			 .mem_per_cpu_bytes = -1,
			 .mem_per_gpu_bytes = -1,
			 .tmp_bytes = -1,
			 .time_limit_ns = -1,
			 .time_min_ns = -1,
			 .relative = -1,
			 .immediate_s = -1,
			 .requeue = -1,
			 .priority = -1 },
		.warnings =
			strata_arena_array(arena, SBATCH_WARNINGS_MAX, sizeof(*reading.warnings)),
	};
	struct glance glance;
	int rc = slurm_reading_init(&reading.base, syntax, arena, &reading.job, err);

	if (rc == 0 && !reading.warnings)
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = look_at_args(syntax, in->args, in->arg_count, &glance, err);
	if (rc)
		return rc;
	rc = glance.talk ? slurm_rows_read_words(&reading.base, in->args, in->arg_count, err)
			 : read_all(&reading, &glance, err);
	if (rc == 0)
		*ret_job = reading.job;
	return rc;
}
