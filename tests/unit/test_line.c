/* Places in line: positions, starts that are expected, pages. */
#include "pool_play.h"
#include "random.h"

#include <errno.h>

TEST(positions_are_exact_where_there_is_one_line)
{
	static const char *const policies[] = { "fifo", "priority:aging=5s", "shortest:bound=0",
						"deadline" };
	enum { COUNT = 500 };
	static uint64_t order[COUNT];

	for (size_t i = 0; i < 4; i++) {
		uint64_t seed = i;

		play_open(policies[i], NULL);
		uint64_t worker = play_worker(0, 0);

		for (int64_t j = 0; j < COUNT; j++) {
			struct strata_task_request request =
				play_request("a", 1 + (int64_t)random_below(&seed, 30));

			request.priority = (int64_t)random_below(&seed, 11);
			request.deadline_ns = (int64_t)(100000 + random_below(&seed, 99)) * SECOND;
			play_add_request(&request, j * SECOND);
		}
		CHECK_INT(strata_pool_page(pool, 0, order, COUNT), COUNT);
		int64_t work_ns = 0;

		for (uint64_t place = 0; place < COUNT; place++) {
			struct strata_position position;
			struct strata_task_view view;

			CHECK_OK(strata_pool_position(pool, order[place], COUNT * SECOND, &position,
						      &err));
			CHECK_INT(position.ahead, place);
			CHECK_INT(position.error, 0);
			CHECK_INT(position.start_ns, COUNT * SECOND + work_ns);
			CHECK_OK(strata_pool_get(pool, order[place], &view, &err));
			work_ns += view.cost_ns;
		}
		for (uint64_t place = 0; place < COUNT; place++)
			CHECK(play_whole(worker, COUNT * SECOND) == order[place]);
	}
	play_close();
}

TEST(the_start_that_is_expected_counts_what_runs_and_who_works)
{
	struct strata_position position;

	play_open("fifo", NULL);
	play_add("a", 10, 0);
	play_add("a", 20, 0);
	uint64_t last = play_add("a", 5, 0);

	CHECK_OK(strata_pool_position(pool, last, 0, &position, &err));
	CHECK_INT(position.start_ns, INT64_MAX); /* nobody works */
	uint64_t one = play_worker(0, 0);

	CHECK_OK(strata_pool_position(pool, last, 0, &position, &err));
	CHECK_INT(position.start_ns, 30 * SECOND);
	play_pick(one, 0, NULL);
	CHECK_OK(strata_pool_position(pool, last, 4 * SECOND, &position, &err));
	CHECK_INT(position.ahead, 1);
	CHECK_INT(position.start_ns, 30 * SECOND); /* 6 s are left of the first */
	play_worker(0, 4 * SECOND);
	CHECK_OK(strata_pool_position(pool, last, 4 * SECOND, &position, &err));
	CHECK_INT(position.start_ns, 4 * SECOND + 13 * SECOND);
	play_close();
}

TEST(who_does_not_wait_has_no_place)
{
	struct strata_position position = { .ahead = 42 };

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("a", 1, 0);

	play_pick(worker, 0, NULL);
	CHECK_ERROR(strata_pool_position(pool, task, 0, &position, &err), -EINVAL, "encoding");
	CHECK_INT(position.ahead, 42);
	CHECK_INT(strata_pool_position(pool, 1, 0, &position, &err), -ESTALE);
	play_close();
}

TEST(a_page_is_a_stretch_of_the_line)
{
	uint64_t tasks[25], page[10] = { 0 };

	play_open("fifo", NULL);
	for (int i = 0; i < 25; i++)
		tasks[i] = play_add("a", 1, i);
	CHECK_INT(strata_pool_page(pool, 20, page, 10), 5);
	for (int i = 0; i < 5; i++)
		CHECK(page[i] == tasks[20 + i]);
	CHECK_INT(page[5], 0);
	CHECK_INT(strata_pool_page(pool, 25, page, 10), 0);
	CHECK_INT(strata_pool_page(pool, 3, page, 2), 2);
	CHECK(page[1] == tasks[4]);
	play_close();
}

TEST(a_page_is_no_longer_than_its_limit)
{
	static uint64_t page[STRATA_POOL_PAGE_MAX + 2];

	play_open("fifo", NULL);
	for (int i = 0; i < STRATA_POOL_PAGE_MAX + 2; i++)
		play_add("a", 1, 0);
	CHECK_INT(strata_pool_page(pool, 0, page, STRATA_POOL_PAGE_MAX), STRATA_POOL_PAGE_MAX);
	CHECK_INT(strata_pool_page(pool, 0, page, STRATA_POOL_PAGE_MAX + 1), STRATA_POOL_PAGE_MAX);
	play_close();
}

TEST(another_priority_moves_a_task)
{
	struct strata_position position;

	play_open("priority", NULL);
	for (int i = 0; i < 10; i++)
		play_add("a", 1, 0);
	uint64_t last = play_add("a", 1, 0);

	CHECK_OK(strata_pool_set_priority(pool, last, 6, 0, &err));
	CHECK_OK(strata_pool_position(pool, last, 0, &position, &err));
	CHECK_INT(position.ahead, 0);
	CHECK_OK(strata_pool_set_priority(pool, last, 5, 0, &err)); /* equal ones as they came */
	CHECK_OK(strata_pool_position(pool, last, 0, &position, &err));
	CHECK_INT(position.ahead, 10);
	play_close();
}
