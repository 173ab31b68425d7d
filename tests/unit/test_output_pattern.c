#include "test.h"

#include <strata/slurm.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static const struct strata_output_values nothing = { -1, -1, -1, -1, -1, -1, NULL, NULL, NULL };
static const struct strata_output_values everything = {
	.job = 128,
	.array_job = 120,
	.task = 7,
	.step = 3,
	.node = 1,
	.rank = 5,
	.host = "n001",
	.user = "ann",
	.name = "train",
};

static const char *expand(const char *pattern, const struct strata_output_values *values)
{
	const char *text = NULL;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_output_expand(pattern, values, &arena, &text, &err));
	return text;
}

TEST(letters_stand_for_values)
{
	CHECK_TEXT(expand("logs/%x-%j.out", &everything), "logs/train-128.out");
	CHECK_TEXT(expand("%A_%a", &everything), "120_7");
	CHECK_TEXT(expand("%J %s %n %t %N %u", &everything), "128.3 3 1 5 n001 ann");
	CHECK_TEXT(expand("100%%", &everything), "100%");
	CHECK_TEXT(expand("%%j", &everything), "%j");
	CHECK_TEXT(expand("plain", &everything), "plain");
	CHECK_TEXT(expand("", &everything), "");
}

TEST(widths_pad_numbers_with_zeros)
{
	CHECK_TEXT(expand("%5j", &everything), "00128");
	CHECK_TEXT(expand("%2j", &everything), "128");
	CHECK_TEXT(expand("%4t-%x", &everything), "0005-train");
	CHECK_TEXT(expand("%10j", &everything), "0000000128");
	CHECK_TEXT(expand("%11j", &everything), "0000000128");
	CHECK_TEXT(expand("%99999999999999999999j", &everything), "0000000128");
	CHECK_TEXT(expand("%9x", &everything), "train");
}

/* As scontrol shows a job that has not started; a task outside an array is Slurm's 4294967294. */
TEST(what_is_not_known_stays)
{
	struct strata_output_values values = nothing;

	values.job = 34;
	values.name = "chess";
	CHECK_TEXT(expand("%x-%j_%n.out", &values), "chess-34_%n.out");
	CHECK_TEXT(expand("%A-%a", &values), "34-4294967294");
	CHECK_TEXT(expand("%5j %5n", &nothing), "%5j %5n");
	CHECK_TEXT(expand("%J", &values), "34");
	CHECK_TEXT(expand("%q %", &everything), "%q %");
	CHECK_TEXT(expand("%5", &everything), "%5");
}

TEST(a_backslash_turns_letters_off)
{
	CHECK_TEXT(expand("\\%x-%j", &everything), "%x-%j");
}

TEST(file_names_have_a_limit)
{
	char pattern[STRATA_OUTPUT_PATH_BYTES_MAX + 2];
	const char *text = "before";

	memset(pattern, 'x', sizeof(pattern));
	pattern[STRATA_OUTPUT_PATH_BYTES_MAX] = '\0';
	CHECK_INT(strlen(expand(pattern, &everything)), STRATA_OUTPUT_PATH_BYTES_MAX);
	pattern[STRATA_OUTPUT_PATH_BYTES_MAX] = 'x';
	pattern[STRATA_OUTPUT_PATH_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(strata_output_expand(pattern, &everything, &arena, &text, &err), -E2BIG,
		    "at most 4096 characters");
	CHECK_TEXT(text, "before");
}

static int once(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	const char *text;

	strata_arena_init(&scratch, scarce, 0);
	int rc = strata_output_expand("%x-%j", &everything, &scratch, &text, error);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(once, NULL);
}
