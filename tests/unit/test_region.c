/* Blocks out of one piece: none overlap, holes join again, and the smallest that fits is taken. */
#include "test.h"

#include "engine/region.h"

#include <stdlib.h>
#include <string.h>

static char memory[1 << 16] __attribute__((aligned(64)));

TEST(holes_join_again)
{
	struct engine_region region;
	void *blocks[4];

	engine_region_init(&region, memory, 1024);
	for (size_t i = 0; i < 4; i++)
		CHECK((blocks[i] = engine_region_get(&region, 256)) == memory + i * 256);
	CHECK(!engine_region_get(&region, 64));
	engine_region_put(&region, blocks[0], 256);
	engine_region_put(&region, blocks[2], 256);
	CHECK(!engine_region_get(&region, 320)); /* 512 are free, but not together */
	CHECK_INT(region.hole_count, 2);
	engine_region_put(&region, blocks[1], 256);
	CHECK_INT(region.hole_count, 1);
	CHECK(engine_region_get(&region, 768) == memory);
	engine_region_put(&region, memory, 768);
	engine_region_put(&region, blocks[3], 256);
	CHECK(region.hole_count == 1 && region.holes[0].bytes == 1024 && region.block_count == 0);
}

TEST(the_smallest_hole_that_fits_is_taken)
{
	struct engine_region region;

	engine_region_init(&region, memory, 1024);
	char *a = engine_region_get(&region, 512), *b = engine_region_get(&region, 64);
	char *c = engine_region_get(&region, 128), *d = engine_region_get(&region, 320);

	CHECK(a && b && c && d);
	engine_region_put(&region, a, 512);
	engine_region_put(&region, c, 128);
	CHECK(engine_region_get(&region, 128) == c);
	CHECK(engine_region_get(&region, 192) == a);
	CHECK(engine_region_has(&region, d) && !engine_region_has(&region, memory + 1024));
}

TEST(random_blocks_never_overlap)
{
	struct { char *at; size_t bytes; char mark; } blocks[100] = { 0 };
	struct engine_region region;
	uint32_t seed = 1;

	engine_region_init(&region, memory, sizeof(memory));
	for (int i = 0; i < 20000; i++) {
		seed = seed * 1664525u + 1013904223u;
		size_t k = (seed >> 8) % 100, bytes = 64 * (1 + (seed >> 16) % 40);

		if (blocks[k].at) {
			for (size_t n = 0; n < blocks[k].bytes; n++)
				CHECK(blocks[k].at[n] == blocks[k].mark);
			engine_region_put(&region, blocks[k].at, blocks[k].bytes);
			blocks[k].at = NULL;
		} else if ((blocks[k].at = engine_region_get(&region, bytes))) {
			blocks[k].bytes = bytes;
			blocks[k].mark = (char)i;
			memset(blocks[k].at, (char)i, bytes);
		}
	}
	for (size_t k = 0; k < 100; k++)
		if (blocks[k].at)
			engine_region_put(&region, blocks[k].at, blocks[k].bytes);
	CHECK(region.hole_count == 1 && region.holes[0].bytes == sizeof(memory));
}

TEST(there_is_always_room_to_note_a_hole)
{
	struct engine_region region;
	char *blocks[REGION_HOLES_MAX];
	size_t count = 0;

	engine_region_init(&region, memory, sizeof(memory));
	while ((blocks[count] = engine_region_get(&region, 64)))
		count++;
	CHECK_INT(count, REGION_HOLES_MAX - 1);
	for (size_t i = 0; i < count; i += 2)
		engine_region_put(&region, blocks[i], 64);
	for (size_t i = 1; i < count; i += 2)
		engine_region_put(&region, blocks[i], 64);
	CHECK_INT(region.hole_count, 1);
}
