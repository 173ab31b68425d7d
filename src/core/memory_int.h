/* What arena.c shares with memory.c: the two halves of an allocation, so that an arena can count each
 * of its own allocations (and fail each on demand) though it asks for whole chunks. */
#ifndef CORE_MEMORY_INT_H
#define CORE_MEMORY_INT_H

#include <strata/memory.h>

/* Counts one allocation; false when it is the one that was told to fail. */
bool memory_may_allocate(struct strata_memory *memory);

/* Allocates within the limit, without counting a call. */
void *memory_get_uncounted(struct strata_memory *memory, size_t size_bytes);

#endif
