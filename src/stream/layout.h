/*
 * Where a layer's bytes lie in memory. Disks are read in blocks: of each extent the blocks that it touches are read, into memory at the
 * same place of a block, so that nothing is copied afterwards. Extents whose blocks touch each other are one segment. A layer is its
 * segments, one behind the other.
 */
#ifndef STREAM_LAYOUT_H
#define STREAM_LAYOUT_H

#include <strata/stream.h>

enum { LAYOUT_BLOCK_BYTES = 4096 }; /* reads begin and end at these, in files and in memory */

struct segment {
	uint32_t file;
	int64_t offset; /* in the file; whole blocks */
	int64_t bytes;  /* whole blocks; the last may lie past the end of the file */
	int64_t at;     /* in the layer */
};

struct layout {
	const struct segment *segments; /* in the order of `at` */
	size_t segment_count;
	const int64_t *at; /* of each extent, in the layer */
	int64_t bytes;
};

/* In the arena. Extents are as the caller says: not below 0, and their ends fit 62 bits. */
int layout_make(const struct strata_extent *extents, size_t extent_count,
		struct strata_arena *arena, struct layout *ret_layout, struct strata_error *err);

/* The first segment with bytes at or behind `at` of the layer; segment_count: none. */
size_t layout_find(const struct layout *layout, int64_t at);

#endif
