#include "random.h"
#include "test.h"

#include "stream/frames.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 8192 };

static struct strata_memory memory;
static struct strata_error err;
static struct frames frames;

static sigjmp_buf fault;
static void on_fault(int number)
{
	(void)number;
	siglongjmp(fault, 1);
}

/* Does reading there end in a fault? */
static bool faults(const char *at)
{
	struct sigaction action = { .sa_handler = on_fault }, old;
	volatile bool faulted = true;

	sigaction(SIGSEGV, &action, &old);
	if (sigsetjmp(fault, 1) == 0) {
		(void)*(volatile const char *)at;
		faulted = false;
	}
	sigaction(SIGSEGV, &old, NULL);
	return faulted;
}

TEST(a_page_is_where_it_always_is)
{
	uint32_t one, two, none;

	CHECK_OK(frames_open(&frames, PAGE, 2, 1000, &memory, &err));
	CHECK_OK(frames_take(&frames, 999, FRAMES_NONE, &one, &err));
	memset(frames_at(&frames, 999), 'a', PAGE);
	CHECK_OK(frames_take(&frames, 5, FRAMES_NONE, &two, &err));
	memset(frames_at(&frames, 5), 'b', PAGE);
	CHECK(frames_at(&frames, 6) == frames_at(&frames, 5) + PAGE);
	CHECK_INT(*frames_at(&frames, 999), 'a');
	CHECK_OK(frames_take(&frames, 7, FRAMES_NONE, &none, &err));
	CHECK_INT(none, FRAMES_NONE);
	CHECK_INT(frames.used_count, 2);
	frames_close(&frames);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_frame_moves_and_what_is_in_it_does_too)
{
	uint32_t one;

	CHECK_OK(frames_open(&frames, PAGE, 1, 10, &memory, &err));
	CHECK_OK(frames_take(&frames, 3, FRAMES_NONE, &one, &err));
	memset(frames_at(&frames, 3), 'x', PAGE);
	CHECK_OK(frames_give(&frames, one, &err));
	CHECK_OK(frames_take(&frames, 4, FRAMES_NONE, &one, &err));
	/* the same memory: nothing was faulted in anew */
	CHECK_INT(frames_at(&frames, 4)[PAGE - 1], 'x');
	CHECK_INT(frames.peak_count, 1);
	frames_close(&frames);
}

TEST(a_page_that_comes_back_soon_finds_its_frame)
{
	uint32_t one, two, again;

	CHECK_OK(frames_open(&frames, PAGE, 2, 10, &memory, &err));
	CHECK_OK(frames_take(&frames, 1, FRAMES_NONE, &one, &err));
	CHECK_OK(frames_take(&frames, 2, FRAMES_NONE, &two, &err));
	*frames_at(&frames, 2) = 'k';
	CHECK_OK(frames_give(&frames, one, &err));
	CHECK_OK(frames_give(&frames, two, &err));
	CHECK_OK(frames_take(&frames, 2, two, &again, &err));
	CHECK_INT(again, two);
	CHECK_INT(*frames_at(&frames, 2), 'k');
	CHECK_OK(frames_take(&frames, 3, two, &again, &err)); /* that one is in use */
	CHECK_INT(again, one);
	frames_close(&frames);
}

TEST(what_is_not_there_cannot_be_read)
{
	uint32_t one;

	CHECK_OK(frames_open(&frames, PAGE, 1, 10, &memory, &err));
	CHECK(faults(frames_at(&frames, 3)));
	CHECK_OK(frames_take(&frames, 3, FRAMES_NONE, &one, &err));
	CHECK(!faults(frames_at(&frames, 3)));
	CHECK_OK(frames_give(&frames, one, &err));
	CHECK(faults(frames_at(&frames, 3)));
	CHECK_OK(frames_take(&frames, 5, FRAMES_NONE, &one, &err));
	CHECK(faults(frames_at(&frames, 3)));
	CHECK(faults(frames.home));
	frames_close(&frames);
}

/* Frames wander among many pages; each page finds what was put there as long as it has its frame. */
TEST(no_two_pages_share_a_frame)
{
	enum { FRAMES = 17, PAGES = 64 };
	uint32_t of[PAGES], last[PAGES];
	uint64_t seed = 7;

	CHECK_OK(frames_open(&frames, PAGE, FRAMES, PAGES, &memory, &err));
	memset(of, 0xff, sizeof(of));
	memset(last, 0xff, sizeof(last));
	for (int i = 0; i < 20000; i++) {
		uint32_t page = (uint32_t)random_below(&seed, PAGES);

		if (of[page] == FRAMES_NONE) {
			CHECK_OK(frames_take(&frames, page, last[page], &of[page], &err));
			if (of[page] == FRAMES_NONE)
				CHECK_INT(frames.used_count, FRAMES);
			else
				*(uint32_t *)frames_at(&frames, page) = page;
		} else {
			CHECK_INT(*(uint32_t *)frames_at(&frames, page), page);
			CHECK_OK(frames_give(&frames, of[page], &err));
			last[page] = of[page];
			of[page] = FRAMES_NONE;
		}
		CHECK(frames.used_count <= FRAMES);
	}
	CHECK_INT(frames.peak_count, FRAMES);
	frames_close(&frames);
}

TEST(more_than_the_system_has_is_refused)
{
	CHECK(frames_open(&frames, 1 << 30, 1 << 18, 10, &memory, &err) == -ENOMEM);
	CHECK(err.text[0]);
	CHECK_INT(memory.used_bytes, 0);
}

static int open_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct frames some;
	int rc = frames_open(&some, PAGE, 2, 2, own, why);

	(void)context;
	if (rc == 0)
		frames_close(&some);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(open_once, NULL) > 0);
}
