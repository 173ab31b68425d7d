/*
 * A region: one piece of memory that blocks are cut from, for the tensors between the operators of a call. How large it has to be is known from the plan of their
 * lifetimes before anything runs, so that a call takes nothing else from the system for them. The smallest hole that a block fits into is taken. Not thread-safe:
 * the heap that has it has a lock.
 */
#ifndef ENGINE_REGION_H
#define ENGINE_REGION_H

#include <stdbool.h>
#include <stddef.h>

enum { REGION_HOLES_MAX = 256 };

struct engine_region {
	char *base; /* NULL: there is none */
	size_t bytes;
	struct {
		size_t at, bytes;
	} holes[REGION_HOLES_MAX]; /* by place; no two touch */
	size_t hole_count, block_count;
};

/* Over memory of the caller's, aligned as blocks are to be. */
void engine_region_init(struct engine_region *region, void *base, size_t bytes);
/* A block of so many bytes, a multiple of the alignment; NULL: no hole is large enough. */
void *engine_region_get(struct engine_region *region, size_t bytes);
/* Is the block one of this region's? */
bool engine_region_has(const struct engine_region *region, const void *block);
void engine_region_put(struct engine_region *region, void *block, size_t bytes);

#endif
