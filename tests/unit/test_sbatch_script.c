#include "test.h"

#include "slurm/sbatch_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static const char **words;
static size_t count;

static int cut(const char *script)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return sbatch_script_words(script, strlen(script), "dir/s.sh", &arena, &words, &count,
				   &err);
}

/* The words of a script, each in «». */
static const char *words_of(const char *script)
{
	static char line[1000];
	size_t used = 0;

	CHECK_OK(cut(script));
	line[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "<%s>", words[i]);
	return line;
}

TEST(directives_stand_before_the_first_command)
{
	CHECK_TEXT(words_of("#!/bin/sh\n#SBATCH -N 1\n\n  \t\n# x\n  # y\n#SBATCH -n2\ntrue\n"
			    "#SBATCH -c 3\n"),
		   "<-N><1><-n2>");
	CHECK_TEXT(words_of("#!/bin/sh\n#SBATCH -N 1"), "<-N><1>");
	CHECK_TEXT(words_of("#!/bin/sh"), "");
	CHECK_TEXT(words_of(""), "");
}

TEST(only_exact_directives_count)
{
	CHECK_TEXT(words_of("##SBATCH -a\n# SBATCH -b\n #SBATCH -c\n#SBATCH\n#sbatch -d\n"), "");
	CHECK_TEXT(words_of("#SBATCH-N3\n#SBATCH\t-n2\n"), "<-N3><-n2>");
}

/* All of these were tried with Slurm. */
TEST(words_are_cut_as_slurm_cuts_them)
{
	CHECK_TEXT(words_of("#SBATCH --a=1 -b  2   # comment --c\n"), "<--a=1><-b><2>");
	CHECK_TEXT(words_of("#SBATCH -J \"a b\" --c='x # y'\n"), "<-J><a b><--c=x # y>");
	CHECK_TEXT(words_of("#SBATCH --o=\"dir/x\"%j.out\n"), "<--o=dir/x%j.out>");
	CHECK_TEXT(words_of("#SBATCH -J a#b -N 3\n"), "<-J><a>");
	CHECK_TEXT(words_of("#SBATCH -J a\\#b\\\"\n"), "<-J><a#b\">");
	CHECK_TEXT(words_of("#SBATCH -J a\\ b\n"), "<-J><a><b>");
	CHECK_TEXT(words_of("#SBATCH -J \"\" -N 3\n#SBATCH -n 2\n"), "<-J><-n><2>");
	CHECK_TEXT(words_of("#SBATCH -J \"it's\"\n"), "<-J><it's>");
	CHECK_TEXT(words_of("#SBATCH -J a\\"), "<-J><a>");
}

TEST(unfinished_quotes_and_colons_are_refused)
{
	CHECK_ERROR(cut("#!/bin/sh\n#SBATCH -J \"abc\n"), -EBADMSG,
		    "fatal: s.sh: line 2: Unmatched `\"` in [ \"abc]");
	CHECK_ERROR(cut("#!/bin/sh\n#SBATCH -N 2 : -N 3\n"), -EBADMSG,
		    "fatal: s.sh: line 2: Unexpected `:` in [ : -N 3]");
}

TEST(only_scripts_are_taken)
{
	static const char nul[] = "#!/bin/sh\necho \0x\n";

	CHECK_OK(sbatch_script_check("#! /bin/sh", 10, &err));
	CHECK_ERROR(sbatch_script_check("", 0, &err), -EBADMSG, "Batch script is empty!");
	CHECK_ERROR(sbatch_script_check(NULL, 0, &err), -EBADMSG, "Batch script is empty!");
	CHECK_ERROR(sbatch_script_check(" \n", 2, &err), -EBADMSG, "contains only whitespace!");
	CHECK_ERROR(sbatch_script_check("\n#!/bin/sh\n", 11, &err), -EBADMSG,
		    "This does not look like a batch script.  The first");
	CHECK_ERROR(sbatch_script_check("#", 1, &err), -EBADMSG, "does not look like");
	CHECK_ERROR(sbatch_script_check("#!/bin/sh\r\n", 11, &err), -EBADMSG,
		    "Batch script contains DOS line breaks (\\r\\n)");
	CHECK_ERROR(sbatch_script_check(nul, sizeof(nul) - 1, &err), -EBADMSG,
		    "contain a NULL character '\\0'.");
	CHECK_OK(sbatch_script_check("#!/bin/sh\rx\n", 12, &err));
}

TEST(scripts_and_their_words_have_limits)
{
	size_t length = STRATA_SCRIPT_BYTES_MAX + 1;
	char *script = malloc(length + 1);

	memset(script, '#', length);
	script[1] = '!';
	script[length] = '\0';
	CHECK_OK(sbatch_script_check(script, length - 1, &err));
	CHECK_ERROR(sbatch_script_check(script, length, &err), -E2BIG, "expected at most 4194304");
	memcpy(script, "#SBATCH ", 8);
	memset(script + 8, 'x', STRATA_SLURM_VALUE_BYTES_MAX + 1);
	script[8 + STRATA_SLURM_VALUE_BYTES_MAX] = '\0';
	CHECK_OK(cut(script));
	script[8 + STRATA_SLURM_VALUE_BYTES_MAX] = 'x';
	script[9 + STRATA_SLURM_VALUE_BYTES_MAX] = '\0';
	CHECK_ERROR(cut(script), -E2BIG, "more than 65536 bytes");
	for (size_t i = 8; i < 10 + (size_t)STRATA_SCRIPT_WORDS_MAX * 2; i += 2)
		memcpy(script + i, " x", 2);
	script[8 + STRATA_SCRIPT_WORDS_MAX * 2] = '\0';
	CHECK_OK(cut(script));
	CHECK_INT(count, STRATA_SCRIPT_WORDS_MAX);
	script[8 + STRATA_SCRIPT_WORDS_MAX * 2] = ' ';
	script[10 + STRATA_SCRIPT_WORDS_MAX * 2] = '\0';
	CHECK_ERROR(cut(script), -E2BIG, "more than 4096 words");
	free(script);
}

static int once(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	const char **got;
	size_t got_count;

	strata_arena_init(&scratch, scarce, 0);
	int rc = sbatch_script_words("#SBATCH -N 1\n", 13, "x", &scratch, &got, &got_count, error);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(once, NULL);
}
