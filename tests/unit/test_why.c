/* Every waiting task can say why. */
#include "pool_play.h"

#include <errno.h>

#define GIB (INT64_C(1) << 30)

static enum strata_wait why_of(uint64_t task, struct strata_why *ret_why)
{
	CHECK_OK(strata_pool_why(pool, task, 0, ret_why, &err));
	return ret_why->wait;
}

TEST(a_task_says_what_it_waits_for)
{
	struct strata_task_request request = play_request("a", 1);
	struct strata_why why;
	char text[128];

	play_open("fifo", NULL);
	uint64_t first = play_add("a", 1, 0), second = play_add("a", 1, 0);

	CHECK_INT(why_of(first, &why), STRATA_WAIT_WORKER);
	CHECK_TEXT(strata_why_print(&why, 0, text, sizeof(text)), "there is no worker");
	uint64_t worker = play_worker(8 * GIB, 0);

	CHECK_INT(why_of(first, &why), STRATA_WAIT_NONE); /* it is about to be picked */
	CHECK_INT(why_of(second, &why), STRATA_WAIT_BEHIND);
	CHECK_INT(why.ahead, 1);
	CHECK_TEXT(strata_why_print(&why, 0, text, sizeof(text)), "behind 1 task");
	play_pick(worker, 0, NULL);
	CHECK_INT(why_of(first, &why), STRATA_WAIT_NONE); /* it runs */
	CHECK_INT(why_of(second, &why), STRATA_WAIT_BUSY);
	request.memory_bytes = 9 * GIB;
	uint64_t large = play_add_request(&request, 0);

	CHECK_INT(why_of(large, &why), STRATA_WAIT_IMPOSSIBLE);
	play_worker(16 * GIB, 0);
	CHECK_INT(why_of(large, &why), STRATA_WAIT_BEHIND);
	CHECK_OK(strata_pool_cancel(pool, second, 0, &err));
	CHECK_INT(why_of(large, &why), STRATA_WAIT_NONE);
	CHECK_INT(strata_pool_why(pool, 5, 0, &why, &err), -ESTALE);
	play_close();
}

TEST(one_that_is_too_large_for_the_free_worker_says_so)
{
	struct strata_task_request request = play_request("a", 1);
	struct strata_why why;

	play_open("fifo", NULL);
	uint64_t large = play_worker(16 * GIB, 0);

	play_worker(4 * GIB, 0);
	play_add("b", 1, 0);
	play_pick(large, 0, NULL);
	request.memory_bytes = 9 * GIB;
	CHECK_INT(why_of(play_add_request(&request, 0), &why), STRATA_WAIT_MEMORY);
	play_close();
}

TEST(an_estimate_is_printed_as_one)
{
	struct strata_why why = { .wait = STRATA_WAIT_BEHIND, .ahead = 40, .error = 6 };
	char text[128];

	CHECK_TEXT(strata_why_print(&why, 0, text, sizeof(text)),
		   "behind about 40 tasks (give or take 6)");
	for (int i = 0; i < STRATA_WAIT_COUNT; i++) {
		CHECK(*strata_wait_name((enum strata_wait)i));
		CHECK(*strata_wait_words((enum strata_wait)i));
	}
	CHECK_TEXT(strata_wait_name((enum strata_wait)99), "unknown");
	CHECK_TEXT(strata_wait_words((enum strata_wait)99), "");
}

TEST(a_pick_that_gives_nothing_says_why)
{
	struct strata_why why;

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0);

	CHECK_INT(play_pick(worker, 0, &why).count, 0);
	CHECK_INT(why.wait, STRATA_WAIT_EMPTY);
	CHECK_INT(why.task, 0);
	play_add("a", 1, 0);
	CHECK_INT(play_pick(worker, 0, &why).count, 1);
	CHECK_INT(why.wait, STRATA_WAIT_NONE);
	play_close();
}
