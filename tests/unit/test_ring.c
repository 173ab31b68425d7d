#include "test.h"

#include "core/ring.h"
#include "random.h"

#include <errno.h>

TEST(a_full_ring_refuses_or_gives_up_the_oldest)
{
	struct strata_memory memory = { 0 };
	struct ring ring;
	int item = 0, got = 99;

	CHECK_INT(ring_init(&ring, &memory, sizeof(int), 3), 0);
	CHECK(!ring_pop(&ring, &got));
	CHECK_INT(got, 99);
	CHECK(!ring_at(&ring, 0));
	for (item = 1; item <= 3; item++)
		CHECK(ring_push(&ring, &item));
	CHECK(!ring_push(&ring, &item));
	CHECK_INT(ring.count, 3);
	CHECK_INT(*(int *)ring_at(&ring, 0), 1);
	CHECK(ring_push_over(&ring, &item));
	CHECK_INT(*(int *)ring_at(&ring, 0), 2);
	CHECK_INT(*(int *)ring_at(&ring, 2), 4);
	CHECK(!ring_at(&ring, 3));
	for (int want = 2; want <= 4; want++) {
		CHECK(ring_pop(&ring, &got));
		CHECK_INT(got, want);
	}
	CHECK(!ring_push_over(&ring, &item));
	ring_reset(&ring);
	CHECK(!ring_pop(&ring, NULL));
	ring_fini(&ring);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(random_use_agrees_with_a_running_window)
{
	struct item {
		uint64_t number;
		char rest[5]; /* an odd size */
	} item = { 0 }, got;
	struct strata_memory memory = { 0 };
	uint64_t seed = 9;

	for (size_t places = 1; places <= 9; places++) {
		uint64_t first = 0, end = 0; /* numbers first … end − 1 are in */
		struct ring ring;

		CHECK_INT(ring_init(&ring, &memory, sizeof(item), places), 0);
		for (int step = 0; step < 2000; step++) {
			item.number = end;
			if (random_below(&seed, 2)) {
				bool room = end - first < places;

				CHECK_INT(ring_push(&ring, &item), room);
				end += room;
			} else if (random_below(&seed, 3) == 0) {
				bool full = end - first == places;

				CHECK_INT(ring_push_over(&ring, &item), full);
				first += full;
				end++;
			} else if (ring_pop(&ring, &got)) {
				CHECK_INT(got.number, first);
				first++;
			} else {
				CHECK_INT(first, end);
			}
			CHECK_INT(ring.count, end - first);
			for (size_t i = 0; i < ring.count; i++)
				CHECK_INT(((struct item *)ring_at(&ring, i))->number, first + i);
		}
		ring_fini(&ring);
	}
	CHECK_INT(memory.used_bytes, 0);
}

static int make(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct ring ring = { .count = 5 };

	(void)context;
	if (ring_init(&ring, memory, 8, 100) < 0) {
		CHECK_INT(ring.count, 5);
		return strata_fail_memory(err);
	}
	for (uint64_t i = 0; i < 1000; i++)
		ring_push_over(&ring, &i);
	CHECK_INT(ring.count, 100);
	ring_fini(&ring);
	return 0;
}

TEST(running_out_of_memory_is_reported)
{
	struct strata_memory memory = { 0 };
	struct ring ring;

	CHECK_INT(test_every_allocation(make, NULL), 1);
	CHECK_INT(ring_init(&ring, &memory, SIZE_MAX / 2, 3), -ENOMEM);
}
