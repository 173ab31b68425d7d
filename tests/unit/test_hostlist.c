#include "test.h"

#include "random.h"

#include <strata/slurm.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static const char **names;
static size_t count;

static int expand(const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return strata_hostlist_expand(text, STRATA_TEXT_NUL, &arena, &names, &count, &err);
}

/* The names, a blank between them. */
static const char *expanded(const char *text)
{
	static char line[1000];
	size_t used = 0;

	CHECK_OK(expand(text));
	line[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i ? " " : "",
					 names[i]);
	return line;
}

static const char *compressed(const char *text)
{
	const char *short_form = NULL;

	CHECK_OK(expand(text));
	CHECK_OK(strata_hostlist_compress(names, count, &arena, &short_form, &err));
	return short_form;
}

/* What `scontrol show hostnames` of Slurm 22.05 prints. */
TEST(names_are_those_of_scontrol)
{
	CHECK_TEXT(expanded("n[001-003,007]"), "n001 n002 n003 n007");
	CHECK_TEXT(expanded("n[1-3,5]"), "n1 n2 n3 n5");
	CHECK_TEXT(expanded("a,b,a"), "a b a");
	CHECK_TEXT(expanded("n[1-2]-[3-4]"), "n1-3 n1-4 n2-3 n2-4");
	CHECK_TEXT(expanded("n[01-2]"), "n01 n02");
	CHECK_TEXT(expanded("n[9-11]"), "n9 n10 n11");
	CHECK_TEXT(expanded("n[09-11]"), "n09 n10 n11");
	CHECK_TEXT(expanded(",a,,b"), "a b");
	CHECK_TEXT(expanded("n[1-2,2]"), "n1 n2 n2");
	CHECK_TEXT(expanded("a b"), "a b");
	CHECK_TEXT(expanded("n1-3"), "n1-3");
	CHECK_TEXT(expanded("[1-3]"), "1 2 3");
	CHECK_TEXT(expanded("n[1-]"), "n1");
	CHECK_TEXT(expanded(""), "");
}

/* And `scontrol show hostlist`. */
TEST(the_short_form_is_that_of_scontrol)
{
	CHECK_TEXT(compressed("n001,n002,n003,n007"), "n[001-003,007]");
	CHECK_TEXT(compressed("n1,n2,n3,n10"), "n[1-3,10]");
	CHECK_TEXT(compressed("n9,n10,n11"), "n[9-11]");
	CHECK_TEXT(compressed("n09,n10,n11"), "n[09-11]");
	CHECK_TEXT(compressed("n1,n01"), "n[1,01]");
	CHECK_TEXT(compressed("n1x,n2x"), "n1x,n2x");
	CHECK_TEXT(compressed("a,b,a"), "a,b,a");
	CHECK_TEXT(compressed("n1,n1,n2"), "n[1,1-2]");
	CHECK_TEXT(compressed("n3,n1,n2"), "n[3,1-2]");
	CHECK_TEXT(compressed("n[1-3],m[1-2]"), "n[1-3],m[1-2]");
	CHECK_TEXT(compressed("n1-1,n1-2,n2-1"), "n1-[1-2],n2-1");
	CHECK_TEXT(compressed("n099,n100"), "n[099-100]");
	CHECK_TEXT(compressed("n1,m1,n2"), "n1,m1,n2");
	CHECK_TEXT(compressed("n00,n01"), "n[00-01]");
	CHECK_TEXT(compressed("n7"), "n7");
	CHECK_TEXT(compressed(""), "");
}

TEST(what_is_no_list_is_refused)
{
	static const char *const bad[] = { "n[3-1]", "n[1-2]x",  "n[]",    "n[a-b]", "n[1,2,x]",
					   "n[-2]",  "n[1:2]",   "n[1-3",  "n]",     "n[1,]",
					   "n[1]]",  "n[[1-2]]", "n[1 2]", "n[,1]" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(expand(bad[i]), -EINVAL, "is not a list of hosts");
}

TEST(names_and_their_number_have_limits)
{
	char text[STRATA_NAME_BYTES_MAX + 2];

	snprintf(text, sizeof(text), "n[0-%d]", STRATA_HOSTLIST_COUNT_MAX - 1);
	CHECK_OK(expand(text));
	CHECK_INT(count, STRATA_HOSTLIST_COUNT_MAX);
	snprintf(text, sizeof(text), "n[0-%d],x", STRATA_HOSTLIST_COUNT_MAX - 1);
	CHECK_ERROR(expand(text), -E2BIG, "at most 65536 names");
	CHECK_ERROR(expand("n[1-99999999]"), -E2BIG, "at most 65536 names");
	CHECK_ERROR(expand("n[0-999][0-999]"), -E2BIG, "at most 65536 names");
	memset(text, 'x', sizeof(text));
	text[STRATA_NAME_BYTES_MAX] = '\0';
	CHECK_OK(expand(text));
	text[STRATA_NAME_BYTES_MAX] = 'x';
	text[STRATA_NAME_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(expand(text), -E2BIG, "at most 128 characters");
	CHECK_OK(expand("[1][2][3][4][5][6][7][8]"));
	CHECK_TEXT(names[0], "12345678");
	CHECK_ERROR(expand("[1][2][3][4][5][6][7][8][9]"), -E2BIG, "at most 8 brackets");
}

/* Whatever the names, the short form stands for the same ones in the same order. */
TEST(random_lists_survive_both_ways)
{
	static const char *const prefixes[] = { "n", "gpu-", "", "rack1-n" };
	uint64_t seed = 7;

	for (int round = 0; round < 500; round++) {
		const char *list[40], *text, **back;
		size_t length = 1 + random_below(&seed, 40), back_count;

		strata_arena_fini(&arena);
		strata_arena_init(&arena, &memory, 0);
		for (size_t i = 0; i < length; i++)
			list[i] = strata_arena_printf(
				&arena, "%s%0*d", prefixes[random_below(&seed, 4)],
				(int)random_below(&seed, 4), (int)random_below(&seed, 12));
		CHECK_OK(strata_hostlist_compress(list, length, &arena, &text, &err));
		CHECK_OK(strata_hostlist_expand(text, strlen(text), &arena, &back, &back_count,
						&err));
		CHECK_INT(back_count, length);
		for (size_t i = 0; i < length; i++)
			CHECK_TEXT(back[i], list[i]);
	}
}

static int both_ways(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	const char **got, *text;
	size_t got_count;

	strata_arena_init(&scratch, scarce, 0);
	int rc = strata_hostlist_expand("n[1-40],m", STRATA_TEXT_NUL, &scratch, &got, &got_count,
					error);

	if (rc == 0)
		rc = strata_hostlist_compress(got, got_count, &scratch, &text, error);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(both_ways, NULL);
}
