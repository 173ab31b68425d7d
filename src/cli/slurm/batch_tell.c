/* --verbose of sbatch, srun and salloc: the options of the command line, as they were
 * understood. */
#include "cli/slurm/jobs.h"
#include "cli/slurm/slurm_batch.h"

#include <inttypes.h>
#include <string.h>

static void tell(const struct batch *batch, const char *name, const char *value)
{
	const struct strata_sbatch *job = &batch->job;
	char number[24];
	struct buf span;

	buf_init(&span, &batch->cli->memory, 0);
	if (strcmp(name, "time") == 0 && job->time_limit_ns >= 0) {
		slurm_clock(&span, job->time_limit_ns / STRATA_SECOND_NS);
		value = span.text;
	} else if (strcmp(name, "verbose") == 0) {
		snprintf(number, sizeof(number), "%" PRId64, job->verbose);
		value = number;
	}
	slurm_say(batch->cli, "%s: %-20s: %s", batch->program, name, value ? value : "set");
	buf_fini(&span);
}

/* The last value that the words give an option. False: they do not name it. */
static bool find_value(const struct slurm_syntax *syntax, const char *const *words, size_t count,
		       const struct slurm_row *wanted, const char **ret_value)
{
	struct slurm_words at = { .syntax = syntax, .words = words, .count = count };
	const struct slurm_row *row;
	const char *value;
	bool found = false;

	while (slurm_words_next(&at, &row, &value, NULL) == 0 && row)
		if (row == wanted) {
			found = true;
			*ret_value = value;
		}
	return found;
}

void slurm_batch_tell(const struct batch *batch, const struct slurm_syntax *syntax,
		      const char *const *words, size_t count)
{
	static const char rule[] = "-------------------- --------------------";
	const char *value;

	if (!batch->job.verbose)
		return;
	slurm_say(batch->cli, "%s: defined options", batch->program);
	slurm_say(batch->cli, "%s: %s", batch->program, rule);
	for (const struct slurm_row *row = NULL; (row = slurm_row_next(syntax, row));)
		if (find_value(syntax, words, count, row, &value))
			tell(batch, row->option.name, value);
	slurm_say(batch->cli, "%s: %s", batch->program, rule);
	slurm_say(batch->cli, "%s: end of defined options", batch->program);
}
