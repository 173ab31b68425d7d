/* The laws of fifo, priority and round_robin: who goes before whom. */
#include "pool_play.h"
#include "random.h"

#include <errno.h>
#include <stdio.h>

TEST(fifo_serves_as_they_came)
{
	uint64_t tasks[50];

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 50; i++) {
		struct strata_task_request request = play_request(i % 2 ? "a" : "b", 100 - i);

		request.priority = i % 11;
		tasks[i] = play_add_request(&request, i);
	}
	for (int i = 0; i < 50; i++)
		CHECK(play_whole(worker, 100) == tasks[i]);
	CHECK_INT(play_whole(worker, 100), 0);
	play_close();
}

static uint64_t add_priority(int64_t priority, int64_t now_ns)
{
	struct strata_task_request request = play_request("a", 1);

	request.priority = priority;
	return play_add_request(&request, now_ns);
}

TEST(the_higher_priority_goes_first_and_equal_ones_as_they_came)
{
	play_open("priority:aging=0s", NULL);
	uint64_t worker = play_worker(0, 0);
	uint64_t low = add_priority(0, 0), normal = add_priority(5, 1), high = add_priority(10, 2);
	uint64_t later = add_priority(10, 1000000 * SECOND);

	CHECK(play_whole(worker, 1000000 * SECOND) == high);
	CHECK(play_whole(worker, 1000000 * SECOND) == later);
	CHECK_OK(strata_pool_set_priority(pool, low, 6, 1000000 * SECOND, &err));
	CHECK(play_whole(worker, 1000000 * SECOND) == low);
	CHECK(play_whole(worker, 1000000 * SECOND) == normal);
	play_close();
}

/* With `aging` a later task goes before an earlier one only if it came less than aging ·
 * (difference of priorities) after it. */
TEST(priority_overtakes_within_its_bound_only)
{
	enum { COUNT = 400 };
	const int64_t aging_ns = 10 * SECOND;
	static struct {
		uint64_t task;
		int64_t priority, added_ns;
	} added[COUNT];
	uint64_t seed = 3, overtakes = 0;
	size_t left = COUNT;

	play_open("priority:aging=10s", NULL);
	uint64_t worker = play_worker(0, 0);

	for (size_t i = 0; i < COUNT; i++) {
		added[i].priority = (int64_t)random_below(&seed, 11);
		added[i].added_ns = (int64_t)(i * SECOND / 3);
		added[i].task = add_priority(added[i].priority, added[i].added_ns);
	}
	while (left > 0) {
		uint64_t task = play_whole(worker, COUNT * SECOND);
		size_t at = 0;

		while (added[at].task != task)
			at++;
		for (size_t i = 0; i < at; i++) { /* these came earlier and still wait */
			int64_t more = added[at].priority - added[i].priority;

			if (added[i].task == 0)
				continue;
			overtakes++;
			CHECK(added[at].added_ns - added[i].added_ns < aging_ns * more);
		}
		added[at].task = 0;
		left--;
	}
	CHECK(overtakes > 1000); /* or nothing was shown */
	play_close();
}

TEST(priorities_have_the_range_they_are_given)
{
	struct strata_task_request request = play_request("a", 1);
	uint64_t task;

	play_open("priority", NULL);
	request.priority = 10;
	play_add_request(&request, 0);
	request.priority = 11;
	CHECK_ERROR(strata_pool_add(pool, &request, 0, &task, &err), -EINVAL, "expected 0 to 10");
	CHECK_TEXT(err.field, "priority");
	play_open("priority",
		  &(struct strata_pool_conf){ .priority_min = -20, .priority_max = 19 });
	request.priority = -20;
	task = play_add_request(&request, 0);
	CHECK_ERROR(strata_pool_set_priority(pool, task, 20, 0, &err), -EINVAL,
		    "expected -20 to 19");
	play_open("priority", &(struct strata_pool_conf){ .has_priorities = true });
	request.priority = 0;
	play_add_request(&request, 0);
	request.priority = 1;
	CHECK_ERROR(strata_pool_add(pool, &request, 0, &task, &err), -EINVAL, "expected 0 to 0");
	CHECK_INT(strata_pool_new(&(struct strata_pool_conf){ .priority_min = -1001 }, &play_memory,
				  &(struct strata_pool *){ NULL }, &err),
		  -EINVAL);
	play_close();
}

/* Two users with tasks in line all the time are served in turn, whatever their tasks cost and
 * whoever else comes. */
TEST(round_robin_gives_users_the_same_number_of_turns)
{
	int served[3] = { 0 };
	uint64_t seed = 9;
	char user[] = "u0";

	play_open("round_robin", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 900; i++) {
		user[1] = (char)('0' + (i < 600 ? i % 2 : 2));
		play_add(user, 1 + (int64_t)random_below(&seed, 50), 0);
	}
	for (int i = 0; i < 600; i++) {
		struct strata_task_view view;

		CHECK_OK(strata_pool_get(pool, play_whole(worker, 1), &view, &err));
		served[view.user[1] - '0']++;
		for (int a = 0; a < 3; a++)
			for (int b = 0; b < 3; b++)
				CHECK(served[a] - served[b] <= 1);
	}
	play_close();
}

TEST(round_robin_lets_the_newcomer_go_first)
{
	play_open("round_robin", NULL);
	uint64_t worker = play_worker(0, 0);

	play_add("a", 1, 0);
	play_add("a", 1, 0);
	play_whole(worker, 0);
	uint64_t first = play_add("b", 9, 1);

	CHECK(play_whole(worker, 1) == first);
	play_close();
}

/* The estimate of a place in line is as good as it says. */
TEST(a_place_under_round_robin_is_within_its_error)
{
	enum { COUNT = 300 };
	static uint64_t tasks[COUNT];
	static struct strata_position said[COUNT];
	uint64_t seed = 4;
	char user[8];

	play_open("round_robin", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < COUNT; i++) {
		uint64_t number = random_below(&seed, 20);

		snprintf(user, sizeof(user), "u%d", (int)(number * number / 20));
		tasks[i] = play_add(user, 1, 0);
	}
	for (int i = 0; i < COUNT; i++)
		CHECK_OK(strata_pool_position(pool, tasks[i], 0, &said[i], &err));
	for (uint64_t place = 0; place < COUNT; place++) {
		uint64_t task = play_whole(worker, 0);

		for (int i = 0; i < COUNT; i++)
			if (tasks[i] == task)
				CHECK(place <= said[i].ahead + said[i].error &&
				      said[i].ahead <= place + said[i].error);
	}
	play_close();
}
