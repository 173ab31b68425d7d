/*
 * Fixed-size objects in chunks, named by handles. An object stays where it is until it is put back;
 * a handle knows when that has happened, so a stale one finds nothing instead of a stranger.
 *
 * A handle is generation << 32 | index, never 0. Indexes are small and dense: use them for side
 * arrays and bitsets. The generation of an index is odd while an object lives there and even while
 * it is free; an index whose generation would wrap is retired, so no handle ever comes twice.
 *
 * Which index comes next depends only on the order of calls. Nothing is given back to memory before
 * slab_fini.
 */
#ifndef CORE_SLAB_H
#define CORE_SLAB_H

#include <strata/memory.h>

struct slab {
	struct strata_memory *memory; /* borrowed until slab_fini */
	char **chunks; /* each: the objects, their generations (uint32_t), the block it is in */
	uint32_t chunk_count;
	uint32_t chunk_room;        /* pointers that fit in the block `chunks` */
	uint32_t chunk_shift;       /* a chunk holds 1 << chunk_shift objects */
	uint32_t generations_start; /* bytes from a chunk's start to its generations */
	uint32_t object_bytes;      /* a multiple of 8 */
	uint32_t index_end;         /* indexes from here on were never used */
	uint32_t free_first; /* 1 + a free index, 0: none; a free object holds the next likewise */
	uint32_t free_count; /* length of that list */
	uint32_t count;      /* objects alive */
	uint32_t count_max;
};

/* Allocates nothing. Objects are aligned as object_bytes (at least 1) is, up to a cache line: to 64
 * bytes if it is a multiple of 64, to at least 8 otherwise. count_max: most objects alive at a
 * time, up to STRATA_SLAB_COUNT_MAX; 0 stands for that. */
void slab_init(struct slab *slab, struct strata_memory *memory, size_t object_bytes,
	       size_t count_max);
void slab_fini(struct slab *slab);

/* The next `more` calls of slab_get will succeed. 0, or -ENOMEM when memory or count_max forbids
 * it. */
int slab_reserve(struct slab *slab, size_t more);

/* A zeroed object, or NULL when out of memory or count_max are alive. */
void *slab_get(struct slab *slab, uint64_t *ret_handle);

/* Gives back a live object. Its handle finds nothing from now on. */
void slab_put(struct slab *slab, uint64_t handle);

/* The live object at an index, and its handle; NULL and 0 where none lives. */
void *slab_by_index(const struct slab *slab, uint32_t index);
uint64_t slab_handle(const struct slab *slab, uint32_t index);

/* The live object with the next higher index after the handle's (0: the first), or NULL. The handle
 * may be stale, so a loop may put back what it has just been given. ret_handle may point to
 * `after`'s variable. */
void *slab_next(const struct slab *slab, uint64_t after, uint64_t *ret_handle);

static inline uint32_t slab_index(uint64_t handle)
{
	return (uint32_t)handle;
}

/* The object at an index that is known to be alive: nothing is checked, and one line of memory less is read. */
static inline void *slab_live(const struct slab *slab, uint32_t index)
{
	char *chunk = slab->chunks[index >> slab->chunk_shift];

	return chunk + (size_t)(index & ((1u << slab->chunk_shift) - 1)) * slab->object_bytes;
}

/* The object a handle names; NULL when it was put back or never was. */
static inline void *slab_at(const struct slab *slab, uint64_t handle)
{
	uint32_t index = (uint32_t)handle, generation = (uint32_t)(handle >> 32);

	if (index >= slab->index_end || generation % 2 == 0)
		return NULL;
	char *chunk = slab->chunks[index >> slab->chunk_shift];
	size_t slot = index & ((1u << slab->chunk_shift) - 1);
	const uint32_t *generations = (const void *)(chunk + slab->generations_start);

	return generations[slot] == generation ? chunk + slot * slab->object_bytes : NULL;
}

#endif
