/* The law of deadline: who was admitted is on time when costs are as estimated, with one worker and
 * with several. */
#include "pool_play.h"
#include "random.h"

#include <errno.h>
#include <stdio.h>

static int add_by(int64_t cost_s, int64_t deadline_s, int64_t now_s, uint64_t *ret_task)
{
	struct strata_task_request request = play_request("a", cost_s);

	request.deadline_ns = deadline_s * SECOND;
	return strata_pool_add(pool, &request, now_s * SECOND, ret_task, &err);
}

TEST(a_deadline_at_0_is_not_none)
{
	struct strata_task_request request = play_request("a", 1);
	struct strata_task_view view;
	uint64_t task;

	play_open("deadline", NULL);
	task = play_add_request(&request, 0);
	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK(view.deadline_ns == STRATA_TIME_NONE);
	request.has_deadline = true; /* and now is 0 */
	CHECK_INT(strata_pool_add(pool, &request, 0, &task, &err), -ETIME);
	play_open("deadline:admission=false", NULL);
	task = play_add_request(&request, 0);
	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK_INT(view.deadline_ns, 0);
	play_close();
}

TEST(the_earliest_deadline_goes_first)
{
	uint64_t none, late, soon;

	play_open("deadline", NULL);
	uint64_t worker = play_worker(0, 0);

	none = play_add("a", 1, 0);
	CHECK_OK(add_by(1, 100, 0, &late));
	CHECK_OK(add_by(1, 50, 0, &soon));
	CHECK(play_whole(worker, 0) == soon);
	CHECK(play_whole(worker, SECOND) == late);
	CHECK(play_whole(worker, SECOND) == none);
	play_close();
}

TEST(what_cannot_be_on_time_is_refused_with_the_earliest_possible)
{
	uint64_t task = 7;

	play_open("deadline", NULL);
	play_worker(0, 0);
	CHECK_OK(add_by(10, 10, 0, &task)); /* just */
	CHECK_ERROR(add_by(5, 14, 0, &task), -ETIME, "the earliest possible is 15 s from now");
	CHECK_TEXT(err.field, "deadline");
	CHECK_OK(add_by(5, 15, 0, &task));
	/* It would be on time itself, but those promised before would not. */
	CHECK_INT(add_by(1, 9, 0, &task), -ETIME);
	struct strata_task_request request = play_request("a", 3);

	CHECK_INT(strata_pool_earliest(pool, &request, 0), 18 * SECOND);
	CHECK_OK(add_by(3, 18, 0, &task));
	CHECK_INT(play_metrics().refused, 2);
	CHECK_INT(strata_pool_pending_count(pool), 3);
	play_open("deadline:admission=false", NULL);
	CHECK_OK(add_by(10, 1, 0, &task));
	play_open("fifo", NULL);
	CHECK_INT(strata_pool_earliest(pool, &request, 0), INT64_MIN);
	play_close();
}

/* Random arrivals at more than the workers can do, on a clock of seconds. Workers ask in any order;
 * a third of the tasks has no deadline. */
static void promise(int workers, bool preempt, uint64_t seed, size_t *ret_admitted,
		    size_t *ret_refused)
{
	struct strata_pool_conf conf = { .preempt = preempt };
	struct {
		uint64_t handle;
		struct strata_batch batch;
	} crew[8];
	char policy[64];
	uint64_t task;

	snprintf(policy, sizeof(policy), "deadline:workers=%d", workers);
	play_open(policy, &conf);
	for (int i = 0; i < workers; i++) {
		crew[i].handle = play_worker(0, 0);
		crew[i].batch.count = 0;
	}
	for (int64_t now_s = 0; now_s < 3000; now_s++) {
		for (int i = 0; i < workers; i++)
			if (crew[i].batch.count) {
				struct strata_task_view view;

				CHECK_OK(
					strata_pool_get(pool, crew[i].batch.tasks[0], &view, &err));
				play_done(&crew[i].batch,
					  view.steps_done + 1 == view.steps ? STRATA_DONE_FINISHED
									    : STRATA_DONE_STEPS,
					  1, SECOND, now_s * SECOND);
				crew[i].batch.count = 0;
			}
		for (int i = 0; i < workers && now_s < 2500; i++) {
			int64_t cost_s = 1 + (int64_t)random_below(&seed, 12);
			int64_t slack_s = (int64_t)random_below(&seed, 60);

			if (random_below(&seed, 4) > 0)
				continue;
			if (random_below(&seed, 3) == 0) {
				play_add("b", cost_s, now_s * SECOND);
				continue;
			}
			if (add_by(cost_s, now_s + cost_s + slack_s, now_s, &task))
				++*ret_refused;
			else
				++*ret_admitted;
		}
		for (int i = 0; i < workers; i++)
			crew[i].batch = play_pick(crew[i].handle, now_s * SECOND, NULL);
	}
	CHECK_INT(play_metrics().late, 0);
	play_close();
}

TEST(who_was_admitted_is_on_time)
{
	size_t admitted = 0, refused = 0;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		promise(1, false, seed, &admitted, &refused);
		promise(4, false, seed, &admitted, &refused);
		promise(3, true, seed, &admitted, &refused);
	}
	CHECK(admitted > 2000);
	CHECK(refused > 200);
}

TEST(a_late_one_is_counted)
{
	uint64_t task;

	play_open("deadline", NULL);
	uint64_t worker = play_worker(0, 0);

	CHECK_OK(add_by(2, 5, 0, &task));
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_FINISHED, 0, 9 * SECOND, 9 * SECOND);
	CHECK_INT(play_metrics().late, 1);
	play_close();
}
