/*
 * The heap of heap.h, four children to an entry: half the depth of a binary heap, and the four keys
 * that are compared lie in one or two cache lines. Sifting moves a hole and writes the moved entry
 * once.
 */
#include "core/heap.h"

#include <assert.h>
#include <errno.h>

enum { FIRST_ROOM = 16, CHILDREN = 4 };

void heap_init(struct heap *heap, struct strata_memory *memory, heap_compare *compare,
	       void *context)
{
	*heap = (struct heap){ .memory = memory, .compare = compare, .context = context };
}

void heap_fini(struct heap *heap)
{
	strata_memory_put(heap->memory, heap->entries, heap->room * sizeof(*heap->entries));
	heap->entries = NULL;
	heap->count = heap->room = 0;
}

int heap_reserve(struct heap *heap, size_t count)
{
	if (count <= heap->room)
		return 0;
	if (count >= UINT32_MAX / 2)
		return -ENOMEM;
	uint32_t room = heap->room + heap->room / 4 +
			FIRST_ROOM; /* a large one is seldom half empty */

	if (room < count)
		room = (uint32_t)count;
	struct heap_entry *entries = strata_memory_resize(heap->memory, heap->entries,
							  heap->room * sizeof(*entries),
							  room * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	heap->entries = entries;
	heap->room = room;
	return 0;
}

static inline bool before(const struct heap *heap, const struct heap_entry *a,
			  const struct heap_entry *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	return heap->compare && heap->compare(a->node, b->node, heap->context) < 0;
}

static inline void place(struct heap *heap, uint32_t index, struct heap_entry entry)
{
	heap->entries[index] = entry;
	entry.node->position = index + 1;
}

/* Puts an entry where a hole is, or above it. */
static void sift_up(struct heap *heap, uint32_t hole, struct heap_entry entry)
{
	while (hole > 0) {
		uint32_t parent = (hole - 1) / CHILDREN;

		if (!before(heap, &entry, &heap->entries[parent]))
			break;
		place(heap, hole, heap->entries[parent]);
		hole = parent;
	}
	place(heap, hole, entry);
}

static uint32_t smallest_child(const struct heap *heap, uint32_t first)
{
	uint32_t best = first,
		 end = first + CHILDREN < heap->count ? first + CHILDREN : heap->count;

	for (uint32_t child = first + 1; child < end; child++)
		if (before(heap, &heap->entries[child], &heap->entries[best]))
			best = child;
	return best;
}

/* Puts an entry where a hole is, or below it. */
static void sift_down(struct heap *heap, uint32_t hole, struct heap_entry entry)
{
	for (;;) {
		uint64_t first = (uint64_t)hole * CHILDREN + 1;

		if (first >= heap->count)
			break;
		uint32_t child = smallest_child(heap, (uint32_t)first);

		if (!before(heap, &heap->entries[child], &entry))
			break;
		place(heap, hole, heap->entries[child]);
		hole = child;
	}
	place(heap, hole, entry);
}

/* Puts an entry where a hole is, or wherever it belongs from there. */
static void settle(struct heap *heap, uint32_t hole, struct heap_entry entry)
{
	if (hole > 0 && before(heap, &entry, &heap->entries[(hole - 1) / CHILDREN]))
		sift_up(heap, hole, entry);
	else
		sift_down(heap, hole, entry);
}

int heap_push(struct heap *heap, struct heap_node *node, uint64_t key)
{
	assert(node->position == 0);
	if (heap_reserve(heap, (size_t)heap->count + 1) < 0)
		return -ENOMEM;
	sift_up(heap, heap->count++, (struct heap_entry){ key, node });
	return 0;
}

static uint32_t index_of(const struct heap *heap, const struct heap_node *node)
{
	uint32_t index = node->position - 1; /* in no heap: past every count */

	assert(index < heap->count && heap->entries[index].node == node);
	return index;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
	uint32_t hole = index_of(heap, node);
	struct heap_entry last = heap->entries[--heap->count];

	node->position = 0;
	if (last.node != node)
		settle(heap, hole, last);
}

struct heap_node *heap_pop(struct heap *heap)
{
	struct heap_node *top = heap_top(heap);

	if (top)
		heap_remove(heap, top);
	return top;
}

void heap_update(struct heap *heap, struct heap_node *node, uint64_t key)
{
	settle(heap, index_of(heap, node), (struct heap_entry){ key, node });
}

void heap_clear(struct heap *heap)
{
	for (uint32_t i = 0; i < heap->count; i++)
		heap->entries[i].node->position = 0;
	heap->count = 0;
}
