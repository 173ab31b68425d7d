/* Layers in memory: extents sorted and joined into segments. See layout.h. */
#include "stream/layout.h"

#include <stdlib.h>

struct place {
	struct strata_extent extent;
	size_t index; /* of the caller's extent */
};

static int by_place(const void *one, const void *two)
{
	const struct place *a = one, *b = two;

	if (a->extent.file != b->extent.file)
		return a->extent.file < b->extent.file ? -1 : 1;
	if (a->extent.offset != b->extent.offset)
		return a->extent.offset < b->extent.offset ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int64_t block_down(int64_t offset)
{
	return offset - offset % LAYOUT_BLOCK_BYTES;
}

static int64_t block_up(int64_t offset)
{
	return block_down(offset + LAYOUT_BLOCK_BYTES - 1);
}

/* Adds an extent to the last segment, or begins another. */
static void add(struct segment *segments, size_t *count, const struct strata_extent *extent)
{
	int64_t from = block_down(extent->offset), end = block_up(extent->offset + extent->bytes);
	struct segment *last = *count ? &segments[*count - 1] : NULL;

	if (last && last->file == extent->file && from <= last->offset + last->bytes) {
		if (end > last->offset + last->bytes)
			last->bytes = end - last->offset;
		return;
	}
	segments[(*count)++] = (struct segment){ extent->file, from, end - from,
						 last ? last->at + last->bytes : 0 };
}

int layout_make(const struct strata_extent *extents, size_t extent_count,
		struct strata_arena *arena, struct layout *ret_layout, struct strata_error *err)
{
	struct place *places = strata_arena_array(arena, extent_count, sizeof(*places));
	struct segment *segments = strata_arena_array(arena, extent_count, sizeof(*segments));
	int64_t *at = strata_arena_array(arena, extent_count, sizeof(*at));
	size_t count = 0;

	if (!places || !segments || !at)
		return strata_fail_memory(err);
	for (size_t i = 0; i < extent_count; i++)
		places[i] = (struct place){ extents[i], i };
	if (extent_count)
		qsort(places, extent_count, sizeof(*places), by_place);
	for (size_t i = 0; i < extent_count; i++) {
		const struct strata_extent *extent = &places[i].extent;

		if (extent->bytes == 0) /* an empty tensor is nowhere in particular */
			continue;
		add(segments, &count, extent);
		at[places[i].index] = segments[count - 1].at + extent->offset -
				      segments[count - 1].offset;
	}
	*ret_layout =
		(struct layout){ segments, count, at,
				 count ? segments[count - 1].at + segments[count - 1].bytes : 0 };
	return 0;
}

size_t layout_find(const struct layout *layout, int64_t at)
{
	size_t low = 0, high = layout->segment_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct segment *segment = &layout->segments[middle];

		if (segment->at + segment->bytes <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
