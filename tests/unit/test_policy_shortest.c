/* The laws of shortest: the least remaining cost first, and nobody waits for ever. */
#include "pool_play.h"
#include "random.h"

TEST(without_a_bound_the_shortest_goes_first)
{
	int64_t before = 0;
	uint64_t seed = 2;

	play_open("shortest:bound=0", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 300; i++)
		play_add("a", 1 + (int64_t)random_below(&seed, 50), i);
	for (int i = 0; i < 300; i++) {
		struct strata_task_view view;

		CHECK_OK(strata_pool_get(pool, play_whole(worker, 1000), &view, &err));
		CHECK(view.cost_ns >= before);
		before = view.cost_ns;
	}
	play_close();
}

TEST(what_is_left_counts_and_not_what_there_was)
{
	struct strata_pool_conf conf = { .preempt = true, .steps_per_pick = 4 };

	play_open("shortest:bound=0", &conf);
	uint64_t worker = play_worker(0, 0);
	uint64_t almost = play_add("a", 10, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_STEPS, 4, 4 * SECOND, 4 * SECOND);
	uint64_t longer = play_add("b", 7, 4 * SECOND);

	batch = play_pick(worker, 4 * SECOND, NULL); /* 6 s are left of it */
	CHECK(batch.tasks[0] == almost);
	play_done(&batch, STRATA_DONE_STEPS, 4, 4 * SECOND, 8 * SECOND);
	uint64_t shorter = play_add("b", 1, 8 * SECOND);

	batch = play_pick(worker, 8 * SECOND, NULL); /* 2 s are left: one of 1 s goes before */
	CHECK(batch.tasks[0] == shorter);
	CHECK_INT(play_status(almost), STRATA_TASK_PENDING);
	play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, 9 * SECOND);
	CHECK(play_whole(worker, 9 * SECOND) == almost);
	CHECK(play_whole(worker, 9 * SECOND) == longer);
	play_close();
}

/*
 * An endless stream of short tasks that takes all there is: without the bound the long one never
 * starts; with it it starts when it has waited bound times its cost and the others' lead on the
 * reserve is made good.
 */
static int64_t wait_in_a_stream(const char *policy)
{
	play_open(policy, NULL);
	uint64_t worker = play_worker(0, 0), tall = play_add("a", 20, 0);

	for (int64_t now = 0; now < 3000; now++) {
		play_add("b", 1, now * SECOND);
		if (play_whole(worker, now * SECOND) == tall) {
			play_close();
			return now;
		}
	}
	play_close();
	return -1;
}

TEST(a_long_one_does_not_starve)
{
	CHECK_INT(wait_in_a_stream("shortest:bound=0"), -1);
	CHECK_INT(wait_in_a_stream("shortest:bound=10"), 200);
	CHECK_INT(wait_in_a_stream("shortest:bound=3"), 60);
}

/* start ≤ bound · c + (work overdue before it, with what runs) / (reserve · workers) after its
 * arrival, under an overload of everything. */
TEST(the_latest_start_is_as_stated)
{
	enum { COUNT = 3000 };
	static struct {
		uint64_t task;
		int64_t added_s, cost_s;
	} added[COUNT];
	const double bound = 4, reserve = 0.2;
	int64_t now_s = 0;
	uint64_t seed = 8;
	size_t count = 0;

	play_open("shortest:bound=4:reserve=0.2", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int round = 0; round < 1500; round++) {
		/* Twice as much comes as can be done, mostly short. */
		for (int i = 0; i < 2 && count < COUNT; i++) {
			added[count].cost_s =
				random_below(&seed, 8) ? 1 : 1 + (int64_t)random_below(&seed, 40);
			added[count].added_s = now_s;
			added[count].task = play_add("a", added[count].cost_s, now_s * SECOND);
			count++;
		}
		uint64_t task = play_whole(worker, now_s * SECOND);
		size_t at = 0;

		while (added[at].task != task)
			at++;
		double due = (double)added[at].added_s + bound * (double)added[at].cost_s,
		       work = 80;

		for (size_t i = 0; i < count; i++)
			if (i != at &&
			    (double)added[i].added_s + bound * (double)added[i].cost_s <= due)
				work += (double)added[i].cost_s;
		CHECK((double)now_s <= due + work / reserve);
		now_s += added[at].cost_s;
	}
	play_close();
}

TEST(short_ones_lose_no_more_than_the_reserve)
{
	int64_t overdue_s = 0, all_s = 0, now_s = 0;

	play_open("shortest:bound=1:reserve=0.1", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 500; i++)
		play_add("long", 10, 0);
	while (all_s < 2000) {
		struct strata_task_view view;

		play_add("short", 1, now_s * SECOND);
		CHECK_OK(strata_pool_get(pool, play_whole(worker, now_s * SECOND), &view, &err));
		int64_t cost_s = view.cost_ns / SECOND;

		if (now_s > 10) {
			overdue_s += cost_s > 1 ? cost_s : 0;
			all_s += cost_s;
		}
		now_s += cost_s;
	}
	CHECK_NEAR((double)overdue_s / (double)all_s, 0.1, 0.01);
	play_close();
}
