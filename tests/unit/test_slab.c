#include "test.h"

#include "core/slab.h"
#include "random.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

struct thing {
	uint64_t id;
	uint64_t rest[4];
};

TEST(objects_are_zeroed_stay_put_and_are_found_by_handle)
{
	struct strata_memory memory = { 0 };
	struct thing *things[5000];
	uint64_t handles[5000];
	struct slab slab;

	slab_init(&slab, &memory, sizeof(struct thing), 0);
	CHECK_INT(memory.calls, 0);
	for (uint64_t i = 0; i < 5000; i++) {
		things[i] = slab_get(&slab, &handles[i]);
		CHECK(things[i]);
		CHECK(handles[i] != 0);
		CHECK_INT(slab_index(handles[i]), i);
		CHECK_INT((uintptr_t)things[i] % 8, 0);
		for (int k = 0; k < 4; k++)
			CHECK_INT(things[i]->rest[k], 0);
		things[i]->id = i;
		memset(things[i]->rest, 0xFF, sizeof(things[i]->rest));
	}
	CHECK_INT(slab.count, 5000);
	for (uint64_t i = 0; i < 5000; i++) {
		CHECK(slab_at(&slab, handles[i]) == things[i]);
		CHECK(slab_by_index(&slab, slab_index(handles[i])) == things[i]);
		CHECK(slab_handle(&slab, slab_index(handles[i])) == handles[i]);
		CHECK_INT(things[i]->id, i);
	}
	slab_put(&slab, handles[17]);
	uint64_t handle;
	struct thing *again = slab_get(&slab, &handle);

	CHECK(again == things[17]);
	CHECK_INT(again->id | again->rest[0] | again->rest[3], 0);
	slab_fini(&slab);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(stale_and_foreign_handles_find_nothing)
{
	struct strata_memory memory = { 0 };
	uint64_t old, fresh;
	struct slab slab;

	slab_init(&slab, &memory, 1, 10);
	CHECK(!slab_at(&slab, 0));
	CHECK(!slab_at(&slab, 1ull << 32));
	CHECK(slab_get(&slab, &old));
	slab_put(&slab, old);
	CHECK(!slab_at(&slab, old));
	CHECK(!slab_at(&slab, old + (1ull << 32))); /* the generation of the free index itself */
	CHECK(!slab_by_index(&slab, slab_index(old)));
	CHECK_INT(slab_handle(&slab, slab_index(old)), 0);
	CHECK(slab_get(&slab, &fresh));
	CHECK_INT(slab_index(fresh), slab_index(old));
	CHECK(fresh != old);
	CHECK(!slab_at(&slab, old));
	CHECK(slab_at(&slab, fresh));
	CHECK(!slab_at(&slab, fresh + 1));
	CHECK(!slab_at(&slab, fresh | 0xFFFFFFFF));
	CHECK(!slab_by_index(&slab, UINT32_MAX));
	slab_fini(&slab);
	CHECK(!slab_at(&slab, fresh));
}

TEST(an_index_whose_generations_are_used_up_is_retired)
{
	struct strata_memory memory = { 0 };
	uint64_t handle, next;
	struct slab slab;

	slab_init(&slab, &memory, 8, 1);
	CHECK(slab_get(&slab, &handle));
	*(uint32_t *)(void *)(slab.chunks[0] + slab.generations_start) = UINT32_MAX -
									 2; /* long used */
	CHECK(!slab_at(&slab, handle));
	handle = slab_handle(&slab, 0);
	slab_put(&slab, handle);
	CHECK(slab_get(&slab, &handle));
	CHECK_INT(handle >> 32, UINT32_MAX);
	slab_put(&slab, handle);
	CHECK(!slab_at(&slab, handle));
	CHECK(slab_get(&slab, &next)); /* count_max is about the living: another index takes over */
	CHECK_INT(slab_index(next), 1);
	CHECK_INT(slab.count, 1);
	CHECK(!slab_get(&slab, &handle));
	uint64_t only = 0;

	CHECK(slab_next(&slab, only, &only));
	CHECK(only == next);
	CHECK(!slab_next(&slab, only, &only));
	slab_fini(&slab);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(count_max_is_met_exactly)
{
	struct strata_memory memory = { 0 };
	uint64_t handles[1001], untouched = 42;
	struct slab slab;

	for (size_t limit = 1; limit <= 1001; limit += 250) {
		slab_init(&slab, &memory, 24, limit);
		for (size_t i = 0; i < limit; i++)
			CHECK(slab_get(&slab, &handles[i]));
		CHECK(!slab_get(&slab, &untouched));
		CHECK_INT(untouched, 42);
		slab_put(&slab, handles[0]);
		CHECK_INT(slab_reserve(&slab, 2), -ENOMEM);
		CHECK_INT(slab_reserve(&slab, 1), 0);
		CHECK(slab_get(&slab, &handles[0]));
		slab_fini(&slab);
	}
	slab_init(&slab, &memory, 1, STRATA_SLAB_COUNT_MAX);
	CHECK_INT(slab.count_max, STRATA_SLAB_COUNT_MAX);
	CHECK_INT(slab_reserve(&slab, (size_t)STRATA_SLAB_COUNT_MAX + 1), -ENOMEM);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(reserved_room_is_there_without_allocating)
{
	struct strata_memory memory = { 0 };
	uint64_t handle;
	struct slab slab;

	slab_init(&slab, &memory, 100, 0);
	CHECK_INT(slab_reserve(&slab, 10000), 0);
	memory.fail_at = 1;
	memory.fail_from_there = true;
	memory.calls = 0;
	for (int i = 0; i < 10000; i++)
		CHECK(slab_get(&slab, &handle));
	CHECK_INT(memory.calls, 0);
	for (int i = 0; i < 100000; i++) {
		slab_put(&slab, handle);
		CHECK(slab_get(&slab, &handle));
	}
	CHECK_INT(memory.calls, 0);
	slab_fini(&slab);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(objects_are_aligned_as_their_size_is)
{
	static const struct {
		size_t size, aligned;
	} cases[] = {
		{ 1, 8 }, { 8, 8 }, { 24, 8 }, { 48, 16 }, { 96, 32 }, { 64, 64 }, { 192, 64 }
	};
	struct strata_memory memory = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slab slab;
		uint64_t handle;

		slab_init(&slab, &memory, cases[i].size, 0);
		for (int k = 0; k < 2000; k++)
			CHECK_INT((uintptr_t)slab_get(&slab, &handle) % cases[i].aligned, 0);
		slab_fini(&slab);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(large_objects_get_chunks_of_their_own)
{
	struct strata_memory memory = { 0 };
	uint64_t handles[3];
	struct slab slab;

	slab_init(&slab, &memory, 1 << 20, 0);
	for (int i = 0; i < 3; i++)
		CHECK(slab_get(&slab, &handles[i]));
	CHECK((uintptr_t)slab_at(&slab, handles[2]) % 16 == 0);
	CHECK(memory.used_bytes < (3 << 20) + 1024);
	slab_fini(&slab);
}

TEST(random_use_agrees_with_a_plain_array)
{
	enum { SLOTS = 700, STEPS = 60000 };
	static uint64_t handles[SLOTS], ids[SLOTS], last[SLOTS];
	struct strata_memory memory = { 0 };
	uint64_t seed = 1, next_id = 1;
	size_t count = 0;
	struct slab slab;

	memset(handles, 0, sizeof(handles));
	memset(last, 0, sizeof(last));
	slab_init(&slab, &memory, sizeof(struct thing), SLOTS);
	for (int step = 0; step < STEPS; step++) {
		size_t slot = random_below(&seed, SLOTS);

		if (handles[slot]) {
			struct thing *thing = slab_at(&slab, handles[slot]);

			CHECK(thing && thing->id == ids[slot]);
			slab_put(&slab, handles[slot]);
			last[slot] = handles[slot];
			handles[slot] = 0;
			count--;
		} else {
			struct thing *thing = slab_get(&slab, &handles[slot]);

			CHECK(thing && thing->id == 0);
			thing->id = ids[slot] = next_id++;
			count++;
		}
		CHECK_INT(slab.count, count);
		CHECK(!last[slot] || !slab_at(&slab, last[slot]));
	}
	size_t seen = 0;
	uint64_t before = 0;
	struct thing *thing;

	for (uint64_t at = 0; (thing = slab_next(&slab, at, &at)); before = at) {
		CHECK(seen == 0 || slab_index(at) > slab_index(before));
		CHECK(slab_at(&slab, at) == thing);
		slab_put(&slab, at); /* a loop may put back what it was given */
		seen++;
	}
	CHECK_INT(seen, count);
	CHECK_INT(slab.count, 0);
	slab_fini(&slab);
	CHECK_INT(memory.used_bytes, 0);
}

static int fill(struct strata_memory *memory, void *context, struct strata_error *err)
{
	uint64_t handle = 7;
	struct slab slab;
	int rc = 0;

	(void)context;
	slab_init(&slab, memory, 16 << 10,
		  0); /* four to a chunk, so that the chunk list grows too */
	for (uint32_t i = 0; i < 50 && rc == 0; i++)
		if (!slab_get(&slab, &handle)) {
			CHECK_INT(slab_index(handle), i ? i - 1 : 7);
			CHECK_INT(slab.count, i);
			rc = strata_fail_memory(err);
		}
	slab_fini(&slab);
	return rc;
}

TEST(running_out_of_memory_changes_nothing)
{
	CHECK_INT(test_every_allocation(fill, NULL), 13 + 2);
}
