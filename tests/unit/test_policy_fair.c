/* The laws of fair: equal service by cost, weights, accounts, quotas, and charges that follow the
 * measure. */
#include "pool_play.h"
#include "random.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct strata_user_metrics metrics_of(const char *user, const char *account)
{
	struct strata_user_metrics metrics;

	CHECK_OK(strata_pool_user_metrics(pool, user, account, &metrics, &err));
	return metrics;
}

/*
 * While two users have tasks in line, what they were charged over their weights differs by at most
 * a largest charge of each over its weight. Costs turn out other than estimated, so that the
 * charges are corrected on the way.
 */
TEST(service_differs_by_a_charge_of_each_at_most)
{
	enum { USERS = 4, LARGEST_S = 30 };
	static const double weights[USERS] = { 1, 2, 1, 5 };
	uint64_t seed = 11;
	char user[] = "u0";

	play_open("fair", &(struct strata_pool_conf){ .steps_per_pick = UINT32_MAX });
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < USERS; i++) {
		user[1] = (char)('0' + i);
		CHECK_OK(strata_pool_set_user(pool, user, NULL, weights[i], NULL, &err));
	}
	for (int i = 0; i < 4000; i++) {
		user[1] = (char)('0' + i % USERS);
		play_add(user, 1 + (int64_t)random_below(&seed, LARGEST_S), 0);
	}
	for (int round = 0; round < 1500; round++) {
		struct strata_batch batch = play_pick(worker, round, NULL);
		/* Half of the tasks cost less than they said, none more than the largest. */
		int64_t cost_ns = (int64_t)(1 + random_below(&seed, LARGEST_S)) * SECOND;
		double service[USERS];

		play_done(&batch, STRATA_DONE_FINISHED, 0, cost_ns, round);
		for (int i = 0; i < USERS; i++) {
			user[1] = (char)('0' + i);
			struct strata_user_metrics metrics = metrics_of(user, NULL);

			if (metrics.pending == 0) {
				play_close();
				return; /* the stretch of time is over */
			}
			service[i] = (double)metrics.used_ns / SECOND / weights[i];
		}
		/* A task that was dearer than its estimate is charged twice: both are charges. */
		for (int i = 0; i < USERS; i++)
			for (int j = 0; j < USERS; j++)
				CHECK(fabs(service[i] - service[j]) <=
				      2 * LARGEST_S / weights[i] + 2 * LARGEST_S / weights[j]);
	}
	play_close();
}

TEST(cheap_tasks_come_more_often)
{
	int served[2] = { 0 };

	play_open("fair", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 200; i++) {
		play_add("long", 10, 0);
		play_add("short", 1, 0);
	}
	for (int i = 0; i < 110; i++) {
		struct strata_task_view view;

		CHECK_OK(strata_pool_get(pool, play_whole(worker, 0), &view, &err));
		served[view.user[0] == 's']++;
	}
	CHECK_INT(served[0], 10);
	CHECK_INT(served[1], 100);
	play_close();
}

TEST(who_was_away_does_not_save_up)
{
	play_open("fair", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 100; i++)
		play_add("busy", 1, 0);
	for (int i = 0; i < 50; i++)
		play_whole(worker, i);
	for (int i = 0; i < 50; i++)
		play_add("new", 1, 50);
	for (int i = 0; i < 20; i++)
		play_whole(worker, 60);
	CHECK(metrics_of("new", NULL).used_ns <= 11 * SECOND);
	CHECK(metrics_of("new", NULL).used_ns >= 10 * SECOND);
	play_close();
}

TEST(accounts_share_before_their_users_do)
{
	char user[] = "u0";

	play_open("fair", NULL);
	uint64_t worker = play_worker(0, 0);

	CHECK_OK(strata_pool_set_account(pool, "lab", 3, &err));
	for (int i = 0; i < 2000; i++) {
		struct strata_task_request request = play_request(user, 1);

		user[1] = (char)('0' + i % 10);
		request.account = i % 10 < 9 ? "crowd" : "lab";
		play_add_request(&request, 0);
	}
	for (int i = 0; i < 120; i++)
		play_whole(worker, 0);
	/* Nine users of one account and one of another that has three times its weight. */
	CHECK_NEAR((double)metrics_of("u9", "lab").used_ns / SECOND, 90, 1);
	CHECK_NEAR((double)metrics_of("u0", "crowd").used_ns / SECOND, 30.0 / 9, 1);
	CHECK_ERROR(strata_pool_set_account(pool, "lab", 0, &err), -EINVAL, "weight");
	play_close();
}

TEST(what_was_charged_too_much_is_credited)
{
	int served[2] = { 0 };

	play_open("fair", NULL);
	uint64_t worker = play_worker(0, 0);

	/* One user's tasks say 10 s and cost 1, the other's are as they say. */
	for (int i = 0; i < 400; i++) {
		play_add("wary", 10, 0);
		play_add("exact", 1, 0);
	}
	for (int i = 0; i < 200; i++) {
		struct strata_batch batch = play_pick(worker, 0, NULL);
		struct strata_task_view view;

		CHECK_OK(strata_pool_get(pool, batch.tasks[0], &view, &err));
		served[view.user[0] == 'w']++;
		play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, 0);
	}
	CHECK(abs(served[0] - served[1]) <= 11);
	play_open("fair:charge=start", NULL);
	worker = play_worker(0, 0);
	memset(served, 0, sizeof(served));
	for (int i = 0; i < 400; i++) {
		play_add("wary", 10, 0);
		play_add("exact", 1, 0);
	}
	for (int i = 0; i < 110; i++) {
		struct strata_batch batch = play_pick(worker, 0, NULL);
		struct strata_task_view view;

		CHECK_OK(strata_pool_get(pool, batch.tasks[0], &view, &err));
		served[view.user[0] == 'w']++;
		play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, 0);
	}
	CHECK_INT(served[1], 10);
	play_close();
}

TEST(a_quota_on_running_tasks_passes_a_user_over)
{
	struct strata_why why;
	struct strata_batch batch;

	play_open("fair:max_running=1", NULL);
	uint64_t workers[] = { play_worker(0, 0), play_worker(0, 0), play_worker(0, 0) };
	uint64_t first = play_add("a", 5, 0), second = play_add("a", 1, 0);
	uint64_t other = play_add("b", 100, 0);

	batch = play_pick(workers[0], 0, NULL);
	CHECK(batch.tasks[0] == first);
	CHECK(play_next(workers[1], 0) == other);
	CHECK_INT(play_pick(workers[2], 0, &why).count, 0);
	CHECK_INT(why.wait, STRATA_WAIT_RUNNING);
	CHECK_OK(strata_pool_why(pool, second, 0, &why, &err));
	CHECK_INT(why.wait, STRATA_WAIT_RUNNING);
	CHECK_INT(play_metrics().stalls, 1);
	play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, 1);
	CHECK(play_next(workers[2], 1) == second);
	play_close();
}

TEST(a_quota_on_waiting_tasks_refuses_the_next)
{
	struct strata_task_request request = play_request("a", 1);
	struct strata_quota quota = { .queued_max = 3 };
	uint64_t task;

	play_open("fair:max_queued=2", NULL);
	play_add("a", 1, 0);
	play_add("a", 1, 0);
	CHECK_ERROR(strata_pool_add(pool, &request, 0, &task, &err), -EDQUOT, "2 tasks in line");
	CHECK_INT(play_metrics().refused, 1);
	play_add("b", 1, 0);
	CHECK_OK(strata_pool_set_user(pool, "a", NULL, 1, &quota, &err));
	play_add("a", 1, 0);
	CHECK_INT(strata_pool_add(pool, &request, 0, &task, &err), -EDQUOT);
	play_close();
}

TEST(a_quota_of_nothing_is_not_no_quota)
{
	struct strata_task_request request = play_request("a", 1);
	struct strata_quota none = { .has = STRATA_QUOTA_QUEUED }, any = { 0 };
	uint64_t task;

	play_open("fair", NULL);
	play_add("a", 1, 0);
	CHECK_OK(strata_pool_set_user(pool, "a", NULL, 1, &none, &err));
	CHECK_INT(strata_pool_add(pool, &request, 0, &task, &err), -EDQUOT);
	CHECK_OK(strata_pool_set_user(pool, "a", NULL, 1, &any, &err));
	play_add("a", 1, 0);
	none.has = STRATA_QUOTA_RUNNING;
	CHECK_OK(strata_pool_set_user(pool, "a", NULL, 1, &none, &err));
	uint64_t worker = play_worker(0, 0);

	CHECK_INT(play_pick(worker, 0, NULL).count, 0);
	none.has = STRATA_QUOTA_COST;
	CHECK_OK(strata_pool_set_user(pool, "a", NULL, 1, &none, &err));
	CHECK_INT(play_pick(worker, 0, NULL).count, 0);
	CHECK_OK(strata_pool_set_user(pool, "a", NULL, 1, &any, &err));
	CHECK_INT(play_pick(worker, 0, NULL).count, 1);
	play_close();
}

TEST(a_quota_on_cost_holds_until_its_window_ends)
{
	struct strata_why why;
	char text[128];

	play_open("fair:max_cost=3s:window=60s", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 6; i++)
		play_add("a", 2, 0);
	CHECK(play_whole(worker, 10 * SECOND));
	CHECK(play_whole(worker, 11 * SECOND)); /* 2 s were used: not over it yet */
	CHECK_INT(play_pick(worker, 12 * SECOND, &why).count, 0);
	CHECK_INT(why.wait, STRATA_WAIT_COST);
	CHECK_INT(why.until_ns, 70 * SECOND);
	CHECK_INT(strata_pool_next_ns(pool) <= 70 * SECOND, 1);
	CHECK_OK(strata_pool_why(pool, strata_pool_schedule(pool), 12 * SECOND, &why, &err) ? 0
											    : 0);
	CHECK_TEXT(strata_why_print(&(struct strata_why){ .wait = STRATA_WAIT_COST,
							  .until_ns = 70 * SECOND },
				    12 * SECOND, text, sizeof(text)),
		   "its user has used what is allowed in this window, for 58 s more");
	CHECK(play_whole(worker, 70 * SECOND));
	play_close();
}

TEST(a_closed_list_of_users_lets_nobody_else_in)
{
	struct strata_task_request request = play_request("mallory", 1);
	uint64_t task;

	play_open("fair:users='alice,bob,charlie'", NULL);
	play_add("alice", 1, 0);
	play_add("charlie", 1, 0);
	CHECK_ERROR(strata_pool_add(pool, &request, 0, &task, &err), -EPERM,
		    "mallory is not among");
	CHECK_INT(strata_pool_pending_count(pool), 2);
	CHECK_INT(strata_pool_user_metrics(pool, "mallory", NULL,
					   &(struct strata_user_metrics){ 0 }, &err),
		  -ENOENT);
	play_close();
}

TEST(only_fair_keeps_weights)
{
	play_open("fifo", NULL);
	CHECK_ERROR(strata_pool_set_user(pool, "a", NULL, 2, NULL, &err), -ENOTSUP, "fair does");
	CHECK_ERROR(strata_pool_set_account(pool, "a", 2, &err), -ENOTSUP, "fair does");
	play_close();
}

TEST(a_user_far_ahead_gives_way_at_a_step_boundary)
{
	struct strata_pool_conf conf = { .preempt = true };

	play_open("fair:quantum=5s", &conf);
	uint64_t worker = play_worker(0, 0);
	uint64_t first = play_add("a", 20, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, SECOND);
	uint64_t second = play_add("b", 2, SECOND);

	batch = play_pick(worker, SECOND, NULL);
	CHECK(batch.tasks[0] == second); /* the first was charged 20 s when it began */
	CHECK_INT(batch.count, 1);
	CHECK_INT(play_status(first), STRATA_TASK_PENDING);
	CHECK_INT(play_metrics().preemptions, 1);
	play_done(&batch, STRATA_DONE_FINISHED, 0, 2 * SECOND, 3 * SECOND);
	struct strata_task_view view;

	batch = play_pick(worker, 3 * SECOND, NULL);
	CHECK(batch.tasks[0] == first);
	CHECK_OK(strata_pool_get(pool, first, &view, &err));
	CHECK_INT(view.steps_done, 1); /* its progress was kept */
	CHECK_INT(view.status, STRATA_TASK_DENOISING);
	CHECK_INT(view.started_ns, 0);
	play_close();
}

/* With costs as estimated, the place a task is told is where it comes, give or take what is said. */
TEST(a_place_is_within_its_error)
{
	enum { COUNT = 600 };
	static uint64_t tasks[COUNT];
	static struct strata_position said[COUNT];
	uint64_t seed = 21;
	char user[8];

	play_open("fair", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < COUNT; i++) {
		uint64_t number = random_below(&seed, 12);
		struct strata_task_request request;

		snprintf(user, sizeof(user), "u%d", (int)number);
		request = play_request(user, 4 + (int64_t)(number % 3));
		request.account = number < 6 ? "lab" : NULL;
		tasks[i] = play_add_request(&request, 0);
	}
	for (int i = 0; i < COUNT; i++) {
		CHECK_OK(strata_pool_position(pool, tasks[i], 0, &said[i], &err));
		CHECK(said[i].error < COUNT / 2); /* it says something */
	}
	for (uint64_t place = 0; place < COUNT; place++) {
		uint64_t task = play_whole(worker, 0);

		for (int i = 0; i < COUNT; i++)
			if (tasks[i] == task)
				CHECK(place <= said[i].ahead + said[i].error &&
				      said[i].ahead <= place + said[i].error);
	}
	play_close();
}

TEST(the_cost_of_a_window_is_an_amount)
{
	struct strata_quota quota = { .cost_ns_max = -1 };

	play_open("fair", NULL);
	CHECK_ERROR(strata_pool_set_user(pool, "a", NULL, 1, &quota, &err), -EINVAL,
		    "the cost of a window is -1 ns");
	quota.cost_ns_max = STRATA_DURATION_NS_MAX + 1;
	CHECK_ERROR(strata_pool_set_user(pool, "a", NULL, 1, &quota, &err), -EINVAL,
		    "expected 0 to 100 years");
	quota.cost_ns_max = STRATA_DURATION_NS_MAX;
	CHECK_OK(strata_pool_set_user(pool, "a", NULL, 1, &quota, &err));
	play_close();
}

TEST(what_was_used_elsewhere_counts)
{
	play_open("fair", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 3; i++) {
		play_add("a", 1, 0);
		play_add("b", 1, 0);
	}
	CHECK_OK(strata_pool_charge(pool, "a", NULL, 2 * SECOND + 1, 0, &err));
	for (int i = 0; i < 3; i++) { /* until they have had as much */
		struct strata_task_view view;

		CHECK_OK(strata_pool_get(pool, play_whole(worker, 0), &view, &err));
		CHECK_TEXT(view.user, "b");
	}
	CHECK_OK(strata_pool_charge(pool, "c", "lab", 0, 0, &err)); /* of whom nothing is known */
	CHECK_ERROR(strata_pool_charge(pool, "a", NULL, -1, 0, &err), -EINVAL, "the cost is -1 ns");
	play_open("fifo", NULL);
	CHECK_ERROR(strata_pool_charge(pool, "a", NULL, 1, 0, &err), -ENOTSUP, "fair does");
	play_close();
}
