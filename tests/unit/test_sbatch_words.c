#include "test.h"

#include "formats/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_error err;

/* The options found, "name=value" or "name", a blank between them, then "|" and the operands. */
static int take(char *line, size_t room, const char *const *list, size_t count, unsigned command)
{
	const struct sbatch_row *row;
	struct sbatch_words words;
	const char *value;
	size_t used = 0;

	line[0] = '\0';
	sbatch_words_init(&words, list, count, command);
	for (;;) {
		int rc = sbatch_words_next(&words, &row, &value, &err);

		if (rc)
			return rc;
		if (!row)
			break;
		used += (size_t)snprintf(line + used, room - used, "%s%s%s ", row->option.name,
					 value ? "=" : "", value ? value : "");
	}
	used += (size_t)snprintf(line + used, room - used, "|");
	for (; words.at < count; words.at++)
		used += (size_t)snprintf(line + used, room - used, " %s", words.words[words.at]);
	return 0;
}

#define TAKE(...)                                                      \
	take(line, sizeof(line), (const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), STRATA_SLURM_SBATCH)

static char line[500];

TEST(words_are_taken_as_getopt_does)
{
	CHECK_OK(TAKE("--nodes=2", "--ntasks", "4", "-c8", "-t", "5", "job.sh", "-N", "9"));
	CHECK_TEXT(line, "nodes=2 ntasks=4 cpus-per-task=8 time=5 | job.sh -N 9");
	CHECK_OK(TAKE("-sHN3", "--exclusive", "user"));
	CHECK_TEXT(line, "oversubscribe hold nodes=3 exclusive | user");
	CHECK_OK(TAKE("--exclusive=user", "-k", "--nice=5"));
	CHECK_TEXT(line, "exclusive=user no-kill nice=5 |");
	CHECK_OK(TAKE("-H", "--", "-N3"));
	CHECK_TEXT(line, "hold | -N3");
	CHECK_OK(TAKE("-N", "-1", "-"));
	CHECK_TEXT(line, "nodes=-1 | -");
	CHECK_OK(TAKE("--comment=", "-J", ""));
	CHECK_TEXT(line, "comment= job-name= |");
}

TEST(long_names_may_be_cut_short)
{
	CHECK_OK(TAKE("--job=x", "--err", "e", "--time=1", "--mem=2", "--gpus=3"));
	CHECK_TEXT(line, "job-name=x error=e time=1 mem=2 gpus=3 |");
	CHECK_ERROR(TAKE("--no=x"), -EINVAL,
		    "option '--no=x' is ambiguous; possibilities: '--no-kill' '--no-requeue' "
		    "'--nodefile' '--nodelist' '--nodes'");
}

/* In getopt's words. */
TEST(what_is_no_option_is_refused)
{
	CHECK_ERROR(TAKE("--nosuch=1"), -EINVAL, "unrecognized option '--nosuch=1'");
	CHECK_ERROR(TAKE("-H", "-Z"), -EINVAL, "invalid option -- 'Z'");
	CHECK_ERROR(TAKE("--hold=1"), -EINVAL, "option '--hold' doesn't allow an argument");
	CHECK_ERROR(TAKE("-N"), -EINVAL, "option requires an argument -- 'N'");
	CHECK_ERROR(TAKE("--nod"), -EINVAL, "is ambiguous");
	CHECK_ERROR(TAKE("--nodes"), -EINVAL, "option '--nodes' requires an argument");
	CHECK_ERROR(TAKE("--image=x"), -EINVAL, "unrecognized option '--image=x'");
	CHECK_ERROR(TAKE("--"
			 "nosuch\n"),
		    -EINVAL, "unrecognized option '--nosuch?'");
}

/* -W takes a number of srun, and none of sbatch. */
TEST(each_command_has_its_own_options)
{
	const char *const words[] = { "-W", "5", "--wait=6", "--pty" };

	CHECK_OK(take(line, sizeof(line), words, 4, STRATA_SLURM_SRUN));
	CHECK_TEXT(line, "wait=5 wait=6 pty |");
	CHECK_ERROR(take(line, sizeof(line), words + 3, 1, STRATA_SLURM_SBATCH), -EINVAL,
		    "unrecognized option '--pty'");
	CHECK_OK(take(line, sizeof(line), words, 2, STRATA_SLURM_SBATCH));
	CHECK_TEXT(line, "wait | 5");
}
