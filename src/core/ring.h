/*
 * A first-in first-out queue of fixed-size items with a fixed number of places. When it is full the
 * caller chooses: ring_push refuses the new item, ring_push_over gives up the oldest. Items are
 * copied in and out.
 */
#ifndef CORE_RING_H
#define CORE_RING_H

#include <strata/memory.h>

struct ring {
	struct strata_memory *memory; /* borrowed until ring_fini */
	char *items;                  /* owned; count_max places */
	size_t item_bytes;
	size_t count_max;
	size_t first; /* place of the oldest */
	size_t count;
};

/* Both sizes at least 1. 0 or -ENOMEM; nothing is allocated after that. */
int ring_init(struct ring *ring, struct strata_memory *memory, size_t item_bytes, size_t count_max);
void ring_fini(struct ring *ring);

/* false: full, and nothing changed. */
bool ring_push(struct ring *ring, const void *item);
/* true: the oldest was given up for it. */
bool ring_push_over(struct ring *ring, const void *item);
/* Takes the oldest out; false: empty, ret_item untouched. ret_item may be NULL. */
bool ring_pop(struct ring *ring, void *ret_item);
/* The item at a position from the oldest (0) on, in its place, valid until it is popped or given
 * up; NULL past the newest. */
void *ring_at(const struct ring *ring, size_t position);
void ring_reset(struct ring *ring);

#endif
