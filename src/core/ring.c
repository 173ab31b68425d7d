/* The bounded queue of ring.h. */
#include "core/ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int ring_init(struct ring *ring, struct strata_memory *memory, size_t item_bytes, size_t count_max)
{
	size_t bytes;

	assert(item_bytes > 0 && count_max > 0);
	if (__builtin_mul_overflow(item_bytes, count_max, &bytes))
		return -ENOMEM;
	char *items = strata_memory_get(memory, bytes);

	if (!items)
		return -ENOMEM;
	*ring = (struct ring){
		.memory = memory,
		.items = items,
		.item_bytes = item_bytes,
		.count_max = count_max,
	};
	return 0;
}

void ring_fini(struct ring *ring)
{
	strata_memory_put(ring->memory, ring->items, ring->item_bytes * ring->count_max);
	*ring = (struct ring){ 0 };
}

void *ring_at(const struct ring *ring, size_t position)
{
	if (position >= ring->count)
		return NULL;
	size_t to_end = ring->count_max - ring->first;
	size_t place = position < to_end ? ring->first + position : position - to_end;

	return ring->items + place * ring->item_bytes;
}

bool ring_push(struct ring *ring, const void *item)
{
	if (ring->count == ring->count_max)
		return false;
	ring->count++;
	memcpy(ring_at(ring, ring->count - 1), item, ring->item_bytes);
	return true;
}

bool ring_pop(struct ring *ring, void *ret_item)
{
	if (ring->count == 0)
		return false;
	if (ret_item)
		memcpy(ret_item, ring_at(ring, 0), ring->item_bytes);
	ring->first = ring->first + 1 == ring->count_max ? 0 : ring->first + 1;
	ring->count--;
	return true;
}

bool ring_push_over(struct ring *ring, const void *item)
{
	bool full = ring->count == ring->count_max;

	if (full)
		ring_pop(ring, NULL);
	ring_push(ring, item);
	return full;
}

void ring_reset(struct ring *ring)
{
	ring->first = ring->count = 0;
}
