/*
 * The slab of slab.h. A chunk starts at a cache line, with the objects, which keep their exact
 * size. Their generations stand together behind them, so that a walk over the living reads four
 * bytes for each index.
 */
#include "core/slab.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	CHUNK_BYTES = 64 << 10, /* about; one object if that is larger */
	FIRST_CHUNK_ROOM = 8,
	LINE_BYTES = 64,
};

void slab_init(struct slab *slab, struct strata_memory *memory, size_t object_bytes,
	       size_t count_max)
{
	assert(object_bytes > 0 && object_bytes <= UINT32_MAX / 2);
	assert(count_max <= STRATA_SLAB_COUNT_MAX);
	if (count_max == 0)
		count_max = STRATA_SLAB_COUNT_MAX;
	uint32_t bytes = (uint32_t)((object_bytes + 7) / 8 * 8), shift = 0;

	while (2 << shift <= CHUNK_BYTES / (int64_t)bytes && (size_t)1 << shift < count_max)
		shift++;
	*slab = (struct slab){
		.memory = memory,
		.chunk_shift = shift,
		.generations_start = bytes << shift,
		.object_bytes = bytes,
		.count_max = (uint32_t)count_max,
	};
}

/* Where a chunk remembers the block of memory it lies in. */
static size_t block_start(const struct slab *slab)
{
	size_t end = slab->generations_start + (sizeof(uint32_t) << slab->chunk_shift);

	return (end + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
}

static size_t block_bytes(const struct slab *slab)
{
	return LINE_BYTES - 1 + block_start(slab) + sizeof(void *);
}

static char *new_chunk(struct slab *slab)
{
	char *block = strata_memory_get(slab->memory, block_bytes(slab));

	if (!block)
		return NULL;
	char *chunk = block + (LINE_BYTES - (uintptr_t)block % LINE_BYTES) % LINE_BYTES;

	memcpy(chunk + block_start(slab), &block, sizeof(block));
	return chunk;
}

static void free_chunk(struct slab *slab, char *chunk)
{
	void *block;

	memcpy(&block, chunk + block_start(slab), sizeof(block));
	strata_memory_put(slab->memory, block, block_bytes(slab));
}

void slab_fini(struct slab *slab)
{
	for (uint32_t i = 0; i < slab->chunk_count; i++)
		free_chunk(slab, slab->chunks[i]);
	strata_memory_put(slab->memory, slab->chunks, slab->chunk_room * sizeof(*slab->chunks));
	slab->chunks = NULL;
	slab->chunk_count = slab->chunk_room = 0;
	slab->index_end = slab->free_first = slab->free_count = slab->count = 0;
}

static uint32_t *generation_at(const struct slab *slab, uint32_t index)
{
	char *chunk = slab->chunks[index >> slab->chunk_shift];
	uint32_t *generations = (void *)(chunk + slab->generations_start);

	return &generations[index & ((1u << slab->chunk_shift) - 1)];
}

static void *object_at(const struct slab *slab, uint32_t index)
{
	char *chunk = slab->chunks[index >> slab->chunk_shift];
	size_t slot = index & ((1u << slab->chunk_shift) - 1);

	return chunk + slot * slab->object_bytes;
}

/* Indexes that can be handed out without a new chunk. */
static uint64_t room(const struct slab *slab)
{
	uint64_t end = (uint64_t)slab->chunk_count << slab->chunk_shift;

	return slab->free_count + end - slab->index_end;
}

static bool add_chunk(struct slab *slab)
{
	if ((uint64_t)(slab->chunk_count + 1) << slab->chunk_shift > UINT32_MAX)
		return false; /* only after billions of indexes were retired */
	if (slab->chunk_count == slab->chunk_room) {
		uint32_t more = slab->chunk_room ? slab->chunk_room * 2 : FIRST_CHUNK_ROOM;
		char **chunks = strata_memory_resize(slab->memory, slab->chunks,
						     slab->chunk_room * sizeof(*chunks),
						     more * sizeof(*chunks));

		if (!chunks)
			return false;
		slab->chunks = chunks;
		slab->chunk_room = more;
	}
	char *chunk = new_chunk(slab);

	if (!chunk)
		return false;
	slab->chunks[slab->chunk_count++] = chunk;
	return true;
}

int slab_reserve(struct slab *slab, size_t more)
{
	if (more > slab->count_max - slab->count)
		return -ENOMEM;
	while (room(slab) < more)
		if (!add_chunk(slab))
			return -ENOMEM;
	return 0;
}

void *slab_get(struct slab *slab, uint64_t *ret_handle)
{
	if (slab->count == slab->count_max)
		return NULL;
	if (room(slab) == 0 && !add_chunk(slab))
		return NULL;
	uint32_t index;
	void *object;

	if (slab->free_first) {
		index = slab->free_first - 1;
		object = object_at(slab, index);
		memcpy(&slab->free_first, object, sizeof(slab->free_first));
		slab->free_count--;
		memset(object, 0, slab->object_bytes);
	} else {
		index = slab->index_end++; /* never used: still zeroed */
		object = object_at(slab, index);
	}
	uint32_t generation = ++*generation_at(slab, index);

	slab->count++;
	*ret_handle = (uint64_t)generation << 32 | index;
	return object;
}

void slab_put(struct slab *slab, uint64_t handle)
{
	void *object = slab_at(slab, handle);

	assert(object);
	uint32_t index = slab_index(handle);

	slab->count--;
	if (++*generation_at(slab, index) == 0)
		return; /* every generation was used: retired, 0 being even */
	memcpy(object, &slab->free_first, sizeof(slab->free_first));
	slab->free_first = index + 1;
	slab->free_count++;
}

void *slab_by_index(const struct slab *slab, uint32_t index)
{
	return slab_handle(slab, index) ? object_at(slab, index) : NULL;
}

uint64_t slab_handle(const struct slab *slab, uint32_t index)
{
	if (index >= slab->index_end)
		return 0;
	uint32_t generation = *generation_at(slab, index);

	return generation % 2 ? (uint64_t)generation << 32 | index : 0;
}

void *slab_next(const struct slab *slab, uint64_t after, uint64_t *ret_handle)
{
	for (uint32_t index = after ? slab_index(after) + 1 : 0; index < slab->index_end; index++) {
		uint32_t generation = *generation_at(slab, index);

		if (generation % 2) {
			*ret_handle = (uint64_t)generation << 32 | index;
			return object_at(slab, index);
		}
	}
	return NULL;
}
