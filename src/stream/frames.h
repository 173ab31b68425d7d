/*
 * Frames: the memory that pages come and go in, taken from the system once, faulted in, and then only moved. Every page of the model has an
 * address of its own for good; while it is in memory a frame is mapped there. So a layer lies in one piece, at the same place each time, and
 * what moves is one entry of a page table and not the bytes: mremap of memory that is there already.
 *
 * An address without a frame, and that of a frame that was given back, cannot be read: using a layer that was released ends in a fault at
 * once and not in another layer's numbers.
 */
#ifndef STREAM_FRAMES_H
#define STREAM_FRAMES_H

#include <strata/error.h>
#include <strata/memory.h>

#define FRAMES_NONE UINT32_MAX

struct frames {
	struct strata_memory *memory;
	size_t page_bytes;
	char *home, *pages; /* where frames wait before their first use; addresses of all pages */
	size_t home_bytes, pages_bytes; /* as mapped */
	struct frame *frames;
	uint32_t frame_count, used_count, peak_count;
	uint32_t first_free, last_free; /* a line: what was given back first is taken first */
};

/* page_bytes: whole pages of the system. -ENOMEM when the system does not have that much. */
int frames_open(struct frames *frames, size_t page_bytes, uint32_t frame_count, uint64_t page_count,
		struct strata_memory *memory, struct strata_error *err);
void frames_close(struct frames *frames);

/* Where a page is, while it is there. */
static inline char *frames_at(const struct frames *frames, uint64_t page)
{
	return frames->pages + page * frames->page_bytes;
}

/* Gives a page a frame: its index, or FRAMES_NONE in ret_frame when none is free. `last` is the frame that the page had before, if any:
 * where it is still at its place, nothing moves. */
int frames_take(struct frames *frames, uint64_t page, uint32_t last, uint32_t *ret_frame,
		struct strata_error *err);
/* Takes it away again; what was in it is lost. */
int frames_give(struct frames *frames, uint32_t frame, struct strata_error *err);

#endif
