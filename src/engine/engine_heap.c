/*
 * Tensor memory: see engine_heap.h. Sizes are rounded up to whole cache lines, large ones to pages; a kept block serves the next request of its size. So a
 * cache that grows with every token takes a new block once in a page, and the two that it goes to and fro between serve until then.
 */
#include "engine/engine_heap.h"

#include "core/poison.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void engine_heap_init(struct engine_heap *heap, struct strata_memory *memory)
{
	*heap = (struct engine_heap){ .memory = memory };
	pthread_mutex_init(&heap->lock, NULL);
}

static size_t rounded(size_t bytes)
{
	size_t unit = bytes > (size_t)4 * ENGINE_PAGE ? ENGINE_PAGE : ENGINE_ALIGN;
	size_t units = bytes / unit + (bytes % unit != 0);

	return units ? units * unit : unit;
}

/* Into the account of the memory, which may be told to fail. */
static bool account(struct strata_memory *memory, size_t bytes)
{
	uint64_t call = ++memory->calls;

	if (memory->fail_at &&
	    (memory->fail_from_there ? call >= memory->fail_at : call == memory->fail_at))
		return false;
	if (memory->limit_bytes &&
	    (bytes > memory->limit_bytes || memory->used_bytes > memory->limit_bytes - bytes))
		return false;
	memory->used_bytes += bytes;
	if (memory->used_bytes > memory->peak_bytes)
		memory->peak_bytes = memory->used_bytes;
	return true;
}

/* Large blocks go back to the system when they are freed; malloc would keep them for itself. */
static void *block_get(size_t bytes)
{
	void *block = NULL;

	if (bytes < ENGINE_HEAP_MAPPED)
		return posix_memalign(&block, ENGINE_ALIGN, bytes) ? NULL : block;
	block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return block == MAP_FAILED ? NULL : block;
}

static void block_put(void *block, size_t bytes)
{
	if (bytes < ENGINE_HEAP_MAPPED)
		free(block);
	else
		munmap(block, bytes);
}

static void drop(struct engine_heap *heap, size_t index)
{
	heap->memory->used_bytes -= heap->kept[index].bytes;
	heap->kept_bytes -= heap->kept[index].bytes;
	block_put(heap->kept[index].block, heap->kept[index].bytes);
	memmove(&heap->kept[index], &heap->kept[index + 1],
		(--heap->kept_count - index) * sizeof(heap->kept[0]));
}

/* A kept block of that size, which is accounted for already. */
static void *take_kept(struct engine_heap *heap, size_t bytes)
{
	for (size_t i = heap->kept_count; i-- > 0;)
		if (heap->kept[i].bytes == bytes) {
			void *block = heap->kept[i].block;

			memmove(&heap->kept[i], &heap->kept[i + 1],
				(heap->kept_count - i - 1) * sizeof(heap->kept[0]));
			heap->kept_count--;
			heap->kept_bytes -= bytes;
			return block;
		}
	return NULL;
}

static void *fresh(struct engine_heap *heap, size_t bytes)
{
	while (!account(heap->memory, bytes)) {
		if (heap->kept_count == 0)
			return NULL;
		drop(heap, 0); /* the oldest makes room */
	}
	void *block = block_get(bytes);

	if (!block)
		heap->memory->used_bytes -= bytes;
	return block;
}

static void *get(struct engine_heap *heap, size_t bytes, bool planned)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = rounded(bytes);
	pthread_mutex_lock(&heap->lock);
	/* A memory that is told to fail sees every request. */
	bool fails = heap->memory->fail_at != 0;
	void *block = planned && !fails ? engine_region_get(&heap->region, bytes) : NULL;

	if (!block && !fails)
		block = take_kept(heap, bytes);
	if (!block)
		block = fresh(heap, bytes);
	if (block) {
		heap->live_bytes += bytes;
		if (heap->live_bytes > heap->live_peak)
			heap->live_peak = heap->live_bytes;
	}
	pthread_mutex_unlock(&heap->lock);
	return block;
}

void *engine_heap_get(struct engine_heap *heap, size_t bytes)
{
	return get(heap, bytes, false);
}

void *engine_heap_get_planned(struct engine_heap *heap, size_t bytes)
{
	return get(heap, bytes, true);
}

/* Gives the region back, if nothing of it is in use. */
static void drop_region(struct engine_heap *heap)
{
	struct engine_region *region = &heap->region;

	if (!region->base || region->block_count)
		return;
	unpoison(region->base, region->bytes);
	block_put(region->base, region->bytes);
	heap->memory->used_bytes -= region->bytes;
	*region = (struct engine_region){ 0 };
}

void engine_heap_reserve(struct engine_heap *heap, size_t bytes)
{
	bytes = rounded(bytes < ENGINE_HEAP_MAPPED ? ENGINE_HEAP_MAPPED : bytes);
	pthread_mutex_lock(&heap->lock);
	if (bytes > heap->region.bytes && !heap->memory->fail_at)
		drop_region(heap);
	if (!heap->region.base && !heap->memory->fail_at) {
		void *base = fresh(heap, bytes);

		if (base)
			engine_region_init(&heap->region, base, bytes);
	}
	pthread_mutex_unlock(&heap->lock);
}

void engine_heap_put(struct engine_heap *heap, void *block, size_t bytes)
{
	if (!block)
		return;
	bytes = rounded(bytes);
	pthread_mutex_lock(&heap->lock);
	assert(heap->live_bytes >= bytes);
	heap->live_bytes -= bytes;
	if (engine_region_has(&heap->region, block)) {
		engine_region_put(&heap->region, block, bytes);
		pthread_mutex_unlock(&heap->lock);
		return;
	}
	size_t most = heap->live_peak / 4 > ENGINE_HEAP_KEPT_BYTES ? heap->live_peak / 4
								   : ENGINE_HEAP_KEPT_BYTES;

	if (heap->kept_count == ENGINE_HEAP_KEPT)
		drop(heap, 0);
	heap->kept[heap->kept_count].block = block;
	heap->kept[heap->kept_count++].bytes = bytes;
	heap->kept_bytes += bytes;
	while (heap->kept_bytes > most && heap->kept_count > 1)
		drop(heap, 0);
	pthread_mutex_unlock(&heap->lock);
}

void engine_heap_trim(struct engine_heap *heap)
{
	pthread_mutex_lock(&heap->lock);
	while (heap->kept_count)
		drop(heap, heap->kept_count - 1);
	drop_region(heap);
	pthread_mutex_unlock(&heap->lock);
}

void engine_heap_fini(struct engine_heap *heap)
{
	assert(heap->live_bytes == 0);
	engine_heap_trim(heap);
	pthread_mutex_destroy(&heap->lock);
}
