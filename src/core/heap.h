/*
 * A min-heap of objects that know where they are in it, so that any of them can be removed or
 * re-keyed in O(log n). Each entry carries a 64-bit key beside the pointer: most comparisons read
 * four neighbouring entries of one array and no object. Entries of equal key are put in order by
 * the callback, which should order totally (by an id at last) if the order of equals matters;
 * without one they come in an order that depends only on the order of calls.
 *
 * Keys order as unsigned numbers: see heap_key_time here and real_key in real.h. Not a container
 * for two heaps at once: an object needs one heap_node for each.
 */
#ifndef CORE_HEAP_H
#define CORE_HEAP_H

#include <strata/memory.h>

/* Inside the object; zeroed: in no heap. */
struct heap_node {
	uint32_t position; /* 1 + index in the heap; 0: in none */
};

struct heap_entry {
	uint64_t key;
	struct heap_node *node; /* borrowed while in the heap */
};

/* Orders two nodes of equal key: negative when a comes first. */
typedef int heap_compare(const struct heap_node *a, const struct heap_node *b, void *context);

struct heap {
	struct strata_memory *memory; /* borrowed until heap_fini */
	struct heap_entry *entries;   /* owned; entries[0] is the smallest */
	uint32_t count;
	uint32_t room;
	heap_compare *compare; /* may be NULL */
	void *context;         /* of compare; borrowed */
};

/* Allocates nothing. */
void heap_init(struct heap *heap, struct strata_memory *memory, heap_compare *compare,
	       void *context);
/* Lets go of the nodes without touching them: they may be gone. */
void heap_fini(struct heap *heap);

/* Room for `count` entries altogether, so that pushes up to there cannot fail. 0 or -ENOMEM. */
int heap_reserve(struct heap *heap, size_t count);

/* The node must be in no heap. 0, or -ENOMEM and nothing changed. */
int heap_push(struct heap *heap, struct heap_node *node, uint64_t key);

/* Removes the smallest and returns it; NULL when empty. */
struct heap_node *heap_pop(struct heap *heap);

/* The node must be in this heap. */
void heap_remove(struct heap *heap, struct heap_node *node);
/* Gives a node another key, or the same one when what the callback looks at has changed. */
void heap_update(struct heap *heap, struct heap_node *node, uint64_t key);
/* Removes all. */
void heap_clear(struct heap *heap);

/* The smallest, or NULL. */
static inline struct heap_node *heap_top(const struct heap *heap)
{
	return heap->count ? heap->entries[0].node : NULL;
}

static inline bool heap_node_in(const struct heap_node *node)
{
	return node->position != 0;
}

/* The key of a node that is in this heap. */
static inline uint64_t heap_key(const struct heap *heap, const struct heap_node *node)
{
	return heap->entries[node->position - 1].key;
}

/* A key that orders as signed times do. */
static inline uint64_t heap_key_time(int64_t time_ns)
{
	return (uint64_t)time_ns ^ 1ull << 63;
}

#endif
