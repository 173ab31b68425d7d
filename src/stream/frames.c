/* Frames as frames.h has them: two stretches of addresses, and mremap between them. */
#include "stream/frames.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_BYTES = 2 << 20 };

struct frame {
	char *at;                /* where it is mapped */
	uint32_t previous, next; /* in the line of free ones */
	bool used;
};

/* Addresses from a boundary of large pages on, without memory behind them. */
static char *reserve(size_t bytes, size_t *ret_mapped)
{
	size_t mapped = bytes + HUGE_BYTES;
	char *block =
		mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (block == MAP_FAILED)
		return NULL;
	size_t before = (size_t)(-(uintptr_t)block % HUGE_BYTES);

	if (before)
		munmap(block, before);
	*ret_mapped = mapped - before;
	return block + before;
}

/* All memory that there will be, faulted in now: later is in the middle of a step. */
static int fill_home(struct frames *frames, size_t bytes, struct strata_error *err)
{
	if (mprotect(frames->home, bytes, PROT_READ | PROT_WRITE))
		return strata_fail(err, -errno, "cannot have %zu bytes of memory: %s", bytes,
				   strerror(errno));
	if (frames->page_bytes % HUGE_BYTES == 0)
		madvise(frames->home, bytes, MADV_HUGEPAGE); /* it is only faster with them */
	if (madvise(frames->home, bytes, MADV_POPULATE_WRITE)) {
		if (errno != EINVAL)
			return strata_fail(err, -errno, "cannot have %zu bytes of memory: %s",
					   bytes, strerror(errno));
		memset(frames->home, 0, bytes); /* a kernel that does not know how */
	}
	if (mprotect(frames->home, bytes, PROT_NONE))
		return strata_fail(err, -errno, "cannot protect memory: %s", strerror(errno));
	return 0;
}

static void append_free(struct frames *frames, uint32_t index)
{
	struct frame *frame = &frames->frames[index];

	frame->used = false;
	frame->next = FRAMES_NONE;
	frame->previous = frames->last_free;
	if (frames->last_free == FRAMES_NONE)
		frames->first_free = index;
	else
		frames->frames[frames->last_free].next = index;
	frames->last_free = index;
}

static void remove_free(struct frames *frames, uint32_t index)
{
	struct frame *frame = &frames->frames[index];

	if (frame->previous == FRAMES_NONE)
		frames->first_free = frame->next;
	else
		frames->frames[frame->previous].next = frame->next;
	if (frame->next == FRAMES_NONE)
		frames->last_free = frame->previous;
	else
		frames->frames[frame->next].previous = frame->previous;
	frame->used = true;
}

int frames_open(struct frames *frames, size_t page_bytes, uint32_t frame_count, uint64_t page_count,
		struct strata_memory *memory, struct strata_error *err)
{
	size_t bytes = page_bytes * frame_count;

	assert(page_bytes % (size_t)sysconf(_SC_PAGESIZE) == 0);
	*frames = (struct frames){ .memory = memory,
				   .page_bytes = page_bytes,
				   .first_free = FRAMES_NONE,
				   .last_free = FRAMES_NONE };
	frames->frames = strata_memory_get(memory, frame_count * sizeof(struct frame));
	if (!frames->frames)
		return strata_fail_memory(err);
	frames->frame_count = frame_count;
	frames->home = reserve(bytes, &frames->home_bytes);
	frames->pages = reserve(page_bytes * page_count, &frames->pages_bytes);
	int rc = frames->home && frames->pages
			 ? fill_home(frames, bytes, err)
			 : strata_fail(err, -ENOMEM, "cannot reserve addresses");

	for (uint32_t i = 0; rc == 0 && i < frame_count; i++) {
		frames->frames[i].at = frames->home + i * page_bytes;
		append_free(frames, i);
	}
	if (rc)
		frames_close(frames);
	return rc;
}

void frames_close(struct frames *frames)
{
	if (frames->home)
		munmap(frames->home, frames->home_bytes);
	if (frames->pages)
		munmap(frames->pages, frames->pages_bytes);
	strata_memory_put(frames->memory, frames->frames,
			  frames->frame_count * sizeof(struct frame));
	*frames = (struct frames){ 0 };
}

/* The old place stays reserved, so nothing else of the process can be mapped there meanwhile. */
static int move(struct frames *frames, struct frame *frame, char *at, struct strata_error *err)
{
	size_t bytes = frames->page_bytes;

	if (mremap(frame->at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, at) ==
	    MAP_FAILED)
		return strata_fail(
			err, -errno, "cannot move a page of memory: %s%s", strerror(errno),
			errno == ENOMEM ? " (see vm.max_map_count, or take larger pages)" : "");
	frame->at = at;
	return 0;
}

int frames_take(struct frames *frames, uint64_t page, uint32_t last, uint32_t *ret_frame,
		struct strata_error *err)
{
	char *at = frames_at(frames, page);
	uint32_t index = frames->first_free;

	if (last != FRAMES_NONE && !frames->frames[last].used && frames->frames[last].at == at)
		index = last;
	if (index == FRAMES_NONE) {
		*ret_frame = FRAMES_NONE;
		return 0;
	}
	struct frame *frame = &frames->frames[index];
	int rc = frame->at == at ? 0 : move(frames, frame, at, err);

	if (rc)
		return rc;
	if (mprotect(at, frames->page_bytes, PROT_READ | PROT_WRITE))
		return strata_fail(err, -errno, "cannot open a page of memory: %s",
				   strerror(errno));
	remove_free(frames, index);
	if (++frames->used_count > frames->peak_count)
		frames->peak_count = frames->used_count;
	*ret_frame = index;
	return 0;
}

int frames_give(struct frames *frames, uint32_t index, struct strata_error *err)
{
	assert(index < frames->frame_count && frames->frames[index].used);
	if (mprotect(frames->frames[index].at, frames->page_bytes, PROT_NONE))
		return strata_fail(err, -errno, "cannot close a page of memory: %s",
				   strerror(errno));
	append_free(frames, index);
	frames->used_count--;
	return 0;
}
