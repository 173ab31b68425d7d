/*
 * Memory for tensors: blocks aligned to a cache line, accounted for in one struct strata_memory that several device threads share. A block
 * that is given back is kept for the next one of its size, because the same sizes come again with every call and fresh pages from the
 * system cost more than most operators. What is kept counts as used.
 */
#ifndef ENGINE_HEAP_H
#define ENGINE_HEAP_H

#include <strata/error.h>
#include <strata/memory.h>

#include "engine/region.h"

#include <pthread.h>

enum { ENGINE_ALIGN = 64, ENGINE_PAGE = 64 << 10, ENGINE_HEAP_KEPT = 64, ENGINE_HEAP_KEPT_BYTES = 32 << 20, ENGINE_HEAP_MAPPED = 1 << 20 };

struct engine_heap {
	struct strata_memory *memory; /* borrowed until _fini; limits, counts and fails */
	pthread_mutex_t lock;
	struct {
		void *block;
		size_t bytes;
	} kept[ENGINE_HEAP_KEPT];
	size_t kept_count;
	size_t kept_bytes; /* at most ENGINE_HEAP_KEPT_BYTES, or a quarter of what was ever in use */
	struct engine_region region; /* for tensors between operators */
	size_t live_bytes; /* in use by tensors, without what is kept */
	size_t live_peak;  /* most ever */
};

void engine_heap_init(struct engine_heap *heap, struct strata_memory *memory);
/* All blocks must have been given back. */
void engine_heap_fini(struct engine_heap *heap);

/* Not zeroed. NULL when the limit is reached or there is no memory. Size 0 gives a block of one line. */
void *engine_heap_get(struct engine_heap *heap, size_t bytes);
/* One region for what is planned, of at least so many bytes; where another one is in use, or there is no memory, it stays as it is. */
void engine_heap_reserve(struct engine_heap *heap, size_t bytes);
/* The same as engine_heap_get, out of the region as far as it has room. */
void *engine_heap_get_planned(struct engine_heap *heap, size_t bytes);
void engine_heap_put(struct engine_heap *heap, void *block, size_t bytes); /* NULL is nothing */
/* Gives what is kept back to the system. */
void engine_heap_trim(struct engine_heap *heap);

#endif
