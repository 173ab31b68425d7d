#include "test.h"

#include "random.h"

#include <strata/slurm.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_array array;

static int parse(const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	array = (struct strata_array){ .limit = -7 };
	return strata_array_parse(text, STRATA_TEXT_NUL, &arena, &array, &err);
}

static const char *printed(const char *text)
{
	const char *back = NULL;

	CHECK_OK(parse(text));
	CHECK_OK(strata_array_print(&array, &arena, &back, &err));
	return back;
}

TEST(sets_are_read)
{
	CHECK_OK(parse("0-30"));
	CHECK_INT(array.task_count, 31);
	CHECK_INT(array.range_count, 1);
	CHECK_INT(array.limit, 0);
	CHECK_OK(parse("1-100%8"));
	CHECK_INT(array.task_count, 100);
	CHECK_INT(array.limit, 8);
	CHECK_OK(parse("7"));
	CHECK_INT(array.task_count, 1);
	CHECK_OK(parse("5,1,3-4,4,5"));
	CHECK_INT(array.task_count, 4);
	CHECK_INT(array.ranges[0].first, 1);
	CHECK_INT(array.ranges[1].last, 5);
}

/* "1-19:3%2" and "1,7,10,13,16,19%2" are squeue's, before and after one task was cancelled. */
TEST(sets_print_as_in_slurm)
{
	CHECK_TEXT(printed("1-19:3%2"), "1-19:3%2");
	CHECK_TEXT(printed("1,7,10,13,16,19%2"), "1,7,10,13,16,19%2");
	CHECK_TEXT(printed("1-20:3"), "1-19:3");
	CHECK_TEXT(printed("1,3,5"), "1,3,5");
	CHECK_TEXT(printed("9,8,7,1"), "1,7-9");
	CHECK_TEXT(printed("0-11:11"), "0-11:11");
	CHECK_TEXT(printed("0-10:10"), "0,10");
	CHECK_TEXT(printed("3-3:5%1"), "3%1");
}

/* What a task finds in SLURM_ARRAY_TASK_STEP, also where squeue would list the numbers. */
TEST(the_step_is_what_all_neighbours_have)
{
	static const struct {
		const char *text;
		int64_t step;
	} want[] = { { "3-9:3", 3 }, { "3,6,9", 3 }, { "0-100:20", 20 }, { "0-9", 1 },
		     { "7", 1 },     { "1,3,4", 1 }, { "1,2,4,6", 1 },   { "0,5", 5 } };

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		CHECK_OK(parse(want[i].text));
		CHECK_INT(strata_array_step(&array), want[i].step);
	}
}

TEST(next_walks_the_tasks)
{
	static const int64_t want[] = { 1, 3, 4, 9, -1 };
	int64_t task = -1;

	CHECK_OK(parse("9,1,3-4"));
	for (size_t i = 0; i < 5; i++) {
		task = strata_array_next(&array, task);
		CHECK_INT(task, want[i]);
	}
	CHECK_OK(parse("10-40:10"));
	CHECK_INT(strata_array_next(&array, -1), 10);
	CHECK_INT(strata_array_next(&array, 10), 20);
	CHECK_INT(strata_array_next(&array, 25), 30);
	CHECK_INT(strata_array_next(&array, 40), -1);
	CHECK_INT(strata_array_next(&(struct strata_array){ 0 }, -1), -1);
}

TEST(what_is_no_set_is_refused)
{
	static const char *const bad[] = { "",      "abc", "5-1",  "1-",   "-1",    "1-3:0",
					   "1-3%0", "1,",  ",1",   "1:2",  "3%2%1", "1 2",
					   "1-3%",  "%4",  "0x10", "1-3:", "1--3",  "1-2-3" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_ERROR(parse(bad[i]), -EINVAL, "is not an array");
		CHECK_INT(array.limit, -7);
	}
}

TEST(the_largest_number_has_a_limit)
{
	char text[64];

	snprintf(text, sizeof(text), "0-%d", STRATA_ARRAY_INDEX_MAX);
	CHECK_OK(parse(text));
	CHECK_INT(array.task_count, STRATA_ARRAY_INDEX_MAX + 1);
	snprintf(text, sizeof(text), "%d", STRATA_ARRAY_INDEX_MAX + 1);
	CHECK_ERROR(parse(text), -ERANGE, "0 to 100000");
	CHECK_OK(parse("1-100000,1-100000,1-100000,1-100000"));
	CHECK_ERROR(parse("1-100000,1-100000,1-100000,1-100000,7"), -E2BIG,
		    "at most 400000 tasks, repetitions counted");
	CHECK_ERROR(parse("1%99999999999999999999"), -ERANGE, "0 to 100000");
}

/* Against a plain array of flags. */
TEST(random_sets_are_what_was_written)
{
	uint64_t seed = 42;

	for (int round = 0; round < 300; round++) {
		char text[2000] = "";
		bool flags[300] = { 0 };
		size_t used = 0, count = 0, walked = 0;

		for (uint64_t items = 1 + random_below(&seed, 12); items > 0; items--) {
			uint64_t first = random_below(&seed, 200),
				 step = 1 + random_below(&seed, 5);
			uint64_t last = first + random_below(&seed, 60);

			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%llu-%llu:%llu",
				used ? "," : "", (unsigned long long)first,
				(unsigned long long)last, (unsigned long long)step);
			for (uint64_t i = first; i <= last; i += step)
				flags[i] = true;
		}
		for (size_t i = 0; i < 300; i++)
			count += flags[i];
		const char *back = printed(text);

		CHECK_INT(array.task_count, count);
		for (int64_t task = -1; (task = strata_array_next(&array, task)) >= 0; walked++)
			CHECK(flags[task]);
		CHECK_INT(walked, count);
		struct strata_array again;

		CHECK_OK(strata_array_parse(back, strlen(back), &arena, &again, &err));
		CHECK_INT(again.task_count, count);
	}
}

static int parse_and_print(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	struct strata_array got;
	const char *text;

	strata_arena_init(&scratch, scarce, 0);
	int rc = strata_array_parse("1-5,9", 5, &scratch, &got, error);

	if (rc == 0)
		rc = strata_array_print(&got, &scratch, &text, error);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(parse_and_print, NULL);
}
