#include "test.h"

#include "slurm/sbatch_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_error err;

/* The options found, "name=value" or "name", a blank between them, then "|" and the operands. */
static int take(char *line, size_t room, const char *const *list, size_t count,
		const struct slurm_syntax *syntax)
{
	const struct slurm_row *row;
	struct slurm_words words = { .syntax = syntax, .words = list, .count = count };
	const char *operands[20], *value;
	size_t used = 0;

	line[0] = '\0';
	words.operands = syntax->stops ? NULL : operands;
	for (;;) {
		int rc = slurm_words_next(&words, &row, &value, &err);

		if (rc)
			return rc;
		if (!row)
			break;
		used += (size_t)snprintf(line + used, room - used, "%s%s%s ", row->option.name,
					 value ? "=" : "", value ? value : "");
	}
	used += (size_t)snprintf(line + used, room - used, "|");
	for (size_t i = 0; i < words.operand_count; i++)
		used += (size_t)snprintf(line + used, room - used, " %s", operands[i]);
	for (; words.at < count; words.at++)
		used += (size_t)snprintf(line + used, room - used, " %s", words.words[words.at]);
	return 0;
}

#define TAKE(...)                                                      \
	take(line, sizeof(line), (const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), &sbatch_syntax)

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

	CHECK_OK(take(line, sizeof(line), words, 4, &srun_syntax));
	CHECK_TEXT(line, "wait=5 wait=6 pty |");
	CHECK_ERROR(take(line, sizeof(line), words + 3, 1, &sbatch_syntax), -EINVAL,
		    "unrecognized option '--pty'");
	CHECK_OK(take(line, sizeof(line), words, 2, &sbatch_syntax));
	CHECK_TEXT(line, "wait | 5");
}

static const struct slurm_row list_rows[] = {
	{ { "state", 0, STRATA_SLURM_REQUIRED, .help = "jobs in these states" } },
	{ { "states", 't', STRATA_SLURM_REQUIRED, .help = "jobs in these states" } },
	{ { "start", 0, .help = "when they start" } },
	{ { "steps", 's', STRATA_SLURM_OPTIONAL, .help = "their steps" } },
	{ .read = NULL },
};
static const struct slurm_syntax list_syntax = { .rows = list_rows };

#define LIST(...)                                                      \
	take(line, sizeof(line), (const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), &list_syntax)

TEST(operands_may_stand_between_options)
{
	CHECK_OK(LIST("12", "-t", "PD", "", "-", "--start", "13", "--", "--steps", "14"));
	CHECK_TEXT(line, "states=PD start | 12  - 13 --steps 14");
	CHECK_OK(LIST("-s", "5", "-s6", "--steps=7"));
	CHECK_TEXT(line, "steps steps=6 steps=7 | 5");
}

TEST(two_names_of_one_option_are_not_ambiguous)
{
	CHECK_OK(LIST("--state=PD", "--stat", "R"));
	CHECK_TEXT(line, "state=PD state=R |");
	CHECK_ERROR(LIST("--sta"), -EINVAL,
		    "option '--sta' is ambiguous; possibilities: '--state' '--states' '--start'");
}

TEST(a_name_that_is_near_is_offered)
{
	CHECK_ERROR(LIST("--stpes=3"), -EINVAL,
		    "unrecognized option '--stpes=3'; did you mean --steps?");
	CHECK_ERROR(TAKE("--ntask-per-nodes=4"), -EINVAL,
		    "unrecognized option '--ntask-per-nodes=4'; did you mean --ntasks-per-node?");
}
