#include "test.h"

#include "engine/engine_heap.h"

#include <string.h>

TEST(blocks_are_aligned_and_counted)
{
	struct strata_memory memory = { 0 };
	struct engine_heap heap;

	engine_heap_init(&heap, &memory);
	char *a = engine_heap_get(&heap, 1), *b = engine_heap_get(&heap, 65);

	CHECK(a && b);
	CHECK_INT((uintptr_t)a % ENGINE_ALIGN, 0);
	CHECK_INT((uintptr_t)b % ENGINE_ALIGN, 0);
	CHECK_INT(heap.live_bytes, 64 + 128);
	CHECK_INT(memory.used_bytes, 64 + 128);
	memset(b, 1, 65);
	engine_heap_put(&heap, a, 1);
	engine_heap_put(&heap, b, 65);
	CHECK_INT(heap.live_bytes, 0);
	CHECK_INT(heap.live_peak, 64 + 128);
	CHECK_INT(memory.used_bytes, 64 + 128); /* kept for the next */
	engine_heap_fini(&heap);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_block_serves_the_next_of_its_size)
{
	struct strata_memory memory = { 0 };
	struct engine_heap heap;

	engine_heap_init(&heap, &memory);
	void *a = engine_heap_get(&heap, 1000);

	engine_heap_put(&heap, a, 1000);
	CHECK(engine_heap_get(&heap, 1001) == a); /* the same lines */
	CHECK_INT(memory.calls, 1);
	engine_heap_put(&heap, a, 1001);
	engine_heap_trim(&heap);
	CHECK_INT(memory.used_bytes, 0);
	engine_heap_fini(&heap);
}

TEST(what_grows_takes_a_new_block_once_in_a_page)
{
	struct strata_memory memory = { 0 };
	struct engine_heap heap;
	size_t bytes = (size_t)4 * ENGINE_PAGE + 1;

	engine_heap_init(&heap, &memory);
	void *old = engine_heap_get(&heap, bytes);

	for (int i = 0; i < 60; i++) { /* a cache with each token: the new one, then the old one goes */
		void *grown = engine_heap_get(&heap, bytes + 1024);

		CHECK(old && grown);
		engine_heap_put(&heap, old, bytes);
		old = grown;
		bytes += 1024;
	}
	CHECK_INT(memory.calls, 2);
	CHECK_INT(heap.live_bytes, 5 * ENGINE_PAGE);
	engine_heap_put(&heap, old, bytes);
	engine_heap_fini(&heap);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(kept_blocks_have_a_limit_of_bytes)
{
	struct strata_memory memory = { 0 };
	struct engine_heap heap;
	void *blocks[40];

	engine_heap_init(&heap, &memory);
	for (size_t i = 0; i < 40; i++) {
		blocks[i] = engine_heap_get(&heap, (i + 1) << 20);
		engine_heap_put(&heap, blocks[i], (i + 1) << 20);
	}
	CHECK(heap.kept_bytes <= (size_t)40 << 20); /* the newest stays, however large */
	CHECK_INT(heap.kept_bytes, memory.used_bytes);
	for (size_t i = 0; i < 40; i++)
		engine_heap_put(&heap, engine_heap_get(&heap, 1 << 20), 1 << 20);
	CHECK(heap.kept_bytes <= ENGINE_HEAP_KEPT_BYTES + ((size_t)40 << 20));
	engine_heap_put(&heap, engine_heap_get(&heap, 3 << 20), 3 << 20);
	CHECK(heap.kept_bytes <= ENGINE_HEAP_KEPT_BYTES);
	engine_heap_fini(&heap);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_limit_holds_and_kept_blocks_make_room)
{
	struct strata_memory memory = { .limit_bytes = 1024 };
	struct engine_heap heap;

	engine_heap_init(&heap, &memory);
	void *a = engine_heap_get(&heap, 1024);

	CHECK(a);
	CHECK(!engine_heap_get(&heap, 1));
	CHECK(!engine_heap_get(&heap, SIZE_MAX));
	engine_heap_put(&heap, a, 1024);
	a = engine_heap_get(&heap, 64); /* the kept one goes */
	CHECK(a);
	CHECK_INT(memory.used_bytes, 64);
	engine_heap_put(&heap, a, 64);
	engine_heap_put(&heap, NULL, 64);
	engine_heap_fini(&heap);
}

TEST(what_is_kept_is_bounded)
{
	struct strata_memory memory = { 0 };
	struct engine_heap heap;
	void *blocks[ENGINE_HEAP_KEPT + 1];

	engine_heap_init(&heap, &memory);
	for (size_t i = 0; i <= ENGINE_HEAP_KEPT; i++)
		blocks[i] = engine_heap_get(&heap, 64 * (i + 1));
	for (size_t i = 0; i <= ENGINE_HEAP_KEPT; i++)
		engine_heap_put(&heap, blocks[i], 64 * (i + 1));
	CHECK_INT(heap.kept_count, ENGINE_HEAP_KEPT);
	engine_heap_fini(&heap);
	CHECK_INT(memory.used_bytes, 0);
}
