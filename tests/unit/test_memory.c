#include "test.h"

#include <string.h>

TEST(blocks_are_zeroed_and_accounted)
{
	struct strata_memory memory = { 0 };
	char *block = strata_memory_get(&memory, 100);

	CHECK(block);
	for (int i = 0; i < 100; i++)
		CHECK_INT(block[i], 0);
	CHECK_INT(memory.used_bytes, 100);
	memset(block, 1, 100);
	block = strata_memory_resize(&memory, block, 100, 300);
	CHECK_INT(block[99], 1);
	CHECK_INT(block[100], 0);
	CHECK_INT(block[299], 0);
	block = strata_memory_resize(&memory, block, 300, 50);
	CHECK_INT(memory.used_bytes, 50);
	CHECK_INT(memory.peak_bytes, 300);
	strata_memory_put(&memory, block, 50);
	CHECK_INT(memory.used_bytes, 0);
	strata_memory_put(&memory, NULL, 0);
	CHECK(!strata_memory_get(&memory, 0));
}

TEST(the_limit_is_met_exactly)
{
	struct strata_memory memory = { .limit_bytes = 1000 };
	void *first = strata_memory_get(&memory, 600);

	CHECK(first);
	CHECK(!strata_memory_get(&memory, 401));
	void *second = strata_memory_get(&memory, 400);

	CHECK(second);
	CHECK(!strata_memory_resize(&memory, second, 400, 401));
	CHECK_INT(memory.used_bytes, 1000);
	strata_memory_put(&memory, first, 600);
	second = strata_memory_resize(&memory, second, 400, 1000);
	CHECK(second);
	CHECK(!strata_memory_get(&memory, SIZE_MAX));
	strata_memory_put(&memory, second, 1000);
}

TEST(a_chosen_allocation_fails_once_or_from_there_on)
{
	struct strata_memory once = { .fail_at = 2 },
			     onward = { .fail_at = 2, .fail_from_there = true };
	bool got[2][3];

	for (int i = 0; i < 3; i++) {
		void *a = strata_memory_get(&once, 8), *b = strata_memory_get(&onward, 8);

		got[0][i] = a;
		got[1][i] = b;
		strata_memory_put(&once, a, 8);
		strata_memory_put(&onward, b, 8);
	}
	CHECK(got[0][0] && !got[0][1] && got[0][2]);
	CHECK(got[1][0] && !got[1][1] && !got[1][2]);
}
