/* Blocks out of one piece of memory: see region.h. */
#include "engine/region.h"

#include "core/poison.h"

#include <assert.h>
#include <string.h>

void engine_region_init(struct engine_region *region, void *base, size_t bytes)
{
	*region = (struct engine_region){ .base = base,
					  .bytes = bytes,
					  .holes = { { 0, bytes } },
					  .hole_count = base && bytes };
	if (base)
		poison(base, bytes);
}

static void remove_hole(struct engine_region *region, size_t index)
{
	memmove(&region->holes[index], &region->holes[index + 1],
		(--region->hole_count - index) * sizeof(region->holes[0]));
}

void *engine_region_get(struct engine_region *region, size_t bytes)
{
	size_t best = region->hole_count;

	/* A block that is given back makes one hole more at the most: there is always room to note it. */
	if (bytes == 0 || region->block_count + 1 >= REGION_HOLES_MAX)
		return NULL;
	for (size_t i = 0; i < region->hole_count; i++)
		if (region->holes[i].bytes >= bytes &&
		    (best == region->hole_count ||
		     region->holes[i].bytes < region->holes[best].bytes))
			best = i;
	if (best == region->hole_count)
		return NULL;
	char *block = region->base + region->holes[best].at;

	region->holes[best].at += bytes;
	region->holes[best].bytes -= bytes;
	if (region->holes[best].bytes == 0)
		remove_hole(region, best);
	region->block_count++;
	unpoison(block, bytes);
	return block;
}

bool engine_region_has(const struct engine_region *region, const void *block)
{
	const char *at = block;

	return region->base && at >= region->base && at < region->base + region->bytes;
}

void engine_region_put(struct engine_region *region, void *block, size_t bytes)
{
	size_t at = (size_t)((char *)block - region->base), next = 0;

	assert(region->block_count > 0 && at + bytes <= region->bytes);
	poison(block, bytes);
	region->block_count--;
	while (next < region->hole_count && region->holes[next].at < at)
		next++;
	bool joins_last = next > 0 &&
			  region->holes[next - 1].at + region->holes[next - 1].bytes == at;
	bool joins_next = next < region->hole_count && at + bytes == region->holes[next].at;

	if (joins_last) {
		region->holes[next - 1].bytes += bytes;
		if (joins_next) {
			region->holes[next - 1].bytes += region->holes[next].bytes;
			remove_hole(region, next);
		}
	} else if (joins_next) {
		region->holes[next].at = at;
		region->holes[next].bytes += bytes;
	} else {
		assert(region->hole_count < REGION_HOLES_MAX);
		memmove(&region->holes[next + 1], &region->holes[next],
			(region->hole_count++ - next) * sizeof(region->holes[0]));
		region->holes[next].at = at;
		region->holes[next].bytes = bytes;
	}
}
