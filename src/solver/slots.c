/*
 * Slots in one block, staggered. A pass reads and writes up to a dozen tensors side by side; an allocator gives large ones that
 * all begin at a page, and a cache of eight ways then has room for eight of them.
 */
#include <strata/solver.h>

enum { LINE_BYTES = 64, PAGE_BYTES = 4096, STAGGER_BYTES = 448 };

static size_t element_bytes(enum strata_element element)
{
	return element == STRATA_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* From one slot to the next: whole pages, and the stagger. */
static size_t stride(size_t element_count, enum strata_element element)
{
	size_t bytes = element_count * element_bytes(element);

	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES + STAGGER_BYTES;
}

size_t strata_solver_slots_bytes(uint32_t slot_count, size_t element_count,
				 enum strata_element element)
{
	size_t bytes = STAGGER_BYTES + slot_count * stride(element_count, element);

	return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

void strata_solver_slots_init(void *block, uint32_t slot_count, size_t element_count,
			      enum strata_element element, void **ret_slots)
{
	for (uint32_t i = 0; i < slot_count; i++)
		ret_slots[i] = (char *)block + STAGGER_BYTES + i * stride(element_count, element);
}
