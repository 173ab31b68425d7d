#include "test.h"

#include "core/poison.h"

#include <stdint.h>
#include <string.h>

TEST(pieces_are_aligned_zeroed_and_apart)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	char *pieces[200];

	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < 200; i++) {
		pieces[i] = strata_arena_get(&arena, i + 1);
		CHECK(pieces[i]);
		CHECK_INT((uintptr_t)pieces[i] % 16, 0);
		for (size_t k = 0; k <= i; k++)
			CHECK_INT(pieces[i][k], 0);
		memset(pieces[i], (int)i, i + 1);
	}
	for (size_t i = 0; i < 200; i++)
		for (size_t k = 0; k <= i; k++)
			CHECK_INT((unsigned char)pieces[i][k], i);
	CHECK(strata_arena_get(&arena, 5 << 20));
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_reset_arena_gives_zeroed_memory_and_stops_allocating)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	strata_arena_reset(&arena);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 100; i++) {
			char *piece = strata_arena_get(&arena, 1000);

			CHECK(piece);
			CHECK_INT(piece[0] | piece[999], 0);
			memset(piece, 7, 1000);
		}
		strata_arena_reset(&arena);
	}
	size_t peak = memory.peak_bytes;

	for (int i = 0; i < 60; i++)
		CHECK(strata_arena_get(&arena, 1000));
	CHECK_INT(memory.peak_bytes, peak);
	strata_arena_fini(&arena);
}

TEST(the_arena_has_a_limit_of_its_own)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 4096);
	CHECK(strata_arena_get(&arena, 4000));
	CHECK(!strata_arena_get(&arena, 97));
	CHECK(strata_arena_get(&arena, 96));
	CHECK(!strata_arena_get(&arena, 1));
	CHECK(!strata_arena_get(&arena, SIZE_MAX));
	CHECK(!strata_arena_array(&arena, SIZE_MAX / 2, 3));
	strata_arena_fini(&arena);
}

TEST(text_is_copied_and_formatted)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_TEXT(strata_arena_text(&arena, "abcdef", 3), "abc");
	CHECK_TEXT(strata_arena_text(&arena, NULL, 0), "");
	CHECK_TEXT(strata_arena_printf(&arena, "%d-%s", 12, "x"), "12-x");
	CHECK(!strata_arena_text(&arena, "x", SIZE_MAX));
	strata_arena_fini(&arena);
}

static int three_pieces(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;

	(void)context;
	strata_arena_init(&arena, memory, 0);
	bool ok = strata_arena_get(&arena, 10) && strata_arena_printf(&arena, "%d", 5) &&
		  strata_arena_text(&arena, "abc", 3);
	strata_arena_fini(&arena);
	return ok ? 0 : strata_fail_memory(err);
}

TEST(each_piece_counts_as_an_allocation_that_can_fail)
{
	CHECK_INT(test_every_allocation(three_pieces, NULL), 3);
}

#ifdef POISON
/* To the byte, and again after a reset. */
TEST(only_what_was_handed_out_may_be_touched)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	for (int round = 0; round < 2; round++) {
		char *first = strata_arena_get(&arena, 13), *second = strata_arena_get(&arena, 16);
		char *nothing = strata_arena_get(&arena, 0);

		CHECK(!__asan_region_is_poisoned(first, 13));
		CHECK(__asan_address_is_poisoned(first + 13));
		CHECK(!__asan_region_is_poisoned(second, 16));
		CHECK(__asan_address_is_poisoned(second - 1));
		CHECK(__asan_address_is_poisoned(second + 16));
		CHECK(__asan_address_is_poisoned(nothing));
		strata_arena_reset(&arena);
		CHECK(__asan_address_is_poisoned(first));
		CHECK(__asan_address_is_poisoned(second));
	}
	strata_arena_fini(&arena);
}
#endif
