/*
 * What Slurm's commands write to standard error when they refuse something: getopt's messages with a hint behind them, others behind
 * the command's name, and where Slurm needs several lines these.
 */
#include "slurm/rows.h"

#include "slurm/slurm_value.h"

#include <errno.h>
#include <string.h>

/* Slurm prints these without "error: " before and a hint behind: they are getopt's. */
static const char *const getopt_starts[] = { "unrecognized option '", "invalid option -- '",
					     "option '--", "option requires an argument -- '" };

static bool is_getopt(const char *text)
{
	for (size_t i = 0; i < sizeof(getopt_starts) / sizeof(getopt_starts[0]); i++)
		if (strncmp(text, getopt_starts[i], strlen(getopt_starts[i])) == 0)
			return true;
	return false;
}

/* Slurm is silent about what may have been meant: that is a line of ours. */
static void add_getopt(struct buf *buf, const char *text, const char *program)
{
	static const char meant[] = "; did you mean ";
	const char *hint = strstr(text, meant);
	int length = hint ? (int)(hint - text) : (int)strlen(text);

	buf_printf(buf, "%s: %.*s\n", program, length, text);
	if (strcmp(program, "sacct") != 0) /* which says no more */
		buf_printf(buf, "Try \"%s --help\" for more information\n", program);
	if (hint)
		buf_printf(buf, "strata: %s\n", hint + 2);
}

/* Where Slurm begins a new line; an error's text has "; " before it. */
static const char *next_line(const char *text)
{
	static const char *const starts[] = { "; line must start with",
					      "; For instance: ",
					      "; contain a NULL character",
					      "; instead of expected",
					      "; Invalid generic resource",
					      "; Invalid --",
					      "; --propagate=" };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const char *found = strstr(text, starts[i]);

		if (found && (!first || found < first))
			first = found;
	}
	return first;
}

static void add_lines(struct buf *buf, const char *text, const char *program)
{
	while (text) {
		const char *next = next_line(text);
		int length = next ? (int)(next - text) : (int)strlen(text);

		/* said by the reader of times, which has no name to put in front */
		if (strncmp(text, "Invalid time specification", 26) == 0)
			buf_printf(buf, "%.*s\n", length, text);
		else
			buf_printf(buf, "%s: %s%.*s\n", program,
				   strncmp(text, "fatal: ", 7) == 0 ? "" : "error: ", length, text);
		text = next ? next + 2 : NULL;
	}
}

int slurm_rows_complaint(const struct strata_error *failure, const char *program,
			 struct strata_arena *arena, const char **ret_text)
{
	struct buf buf;

	buf_init(&buf, arena->memory, 0);
	if (is_getopt(failure->text))
		add_getopt(&buf, failure->text, program);
	else
		add_lines(&buf, failure->text, program);
	return slurm_keep(&buf, arena, ret_text, NULL);
}

const char *strata_sbatch_complaint(const struct strata_error *err, const char *program,
				    struct strata_arena *arena, int *ret_exit)
{
	const char *text = NULL;

	if (slurm_rows_complaint(err, program, arena, &text) == 0)
		*ret_exit = err->code == -EINVAL ? 255 : 1;
	return text;
}
