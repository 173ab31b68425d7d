/* A pool as a whole: made, counted, and the loop that users of generation queues know. */
#include "pool_play.h"

#include <errno.h>

TEST(a_pool_begins_with_nothing)
{
	play_open("fifo", NULL);
	CHECK_INT(strata_pool_pending_count(pool), 0);
	CHECK(strata_pool_all_finished(pool));
	CHECK_INT(strata_pool_schedule(pool), 0);
	CHECK_INT(strata_pool_next_ns(pool), INT64_MAX);
	CHECK_TEXT(play_metrics().policy, "fifo");
	play_close();
}

TEST(fifo_is_the_policy_nobody_asked_for)
{
	struct strata_pool_conf conf = { 0 };
	struct strata_memory memory = { 0 };
	struct strata_pool *made;
	struct strata_pool_metrics metrics;

	CHECK_OK(strata_pool_new(&conf, &memory, &made, &err));
	strata_pool_metrics(made, &metrics);
	CHECK_TEXT(metrics.policy, "fifo");
	strata_pool_free(made);
	strata_pool_free(NULL);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_conf_that_is_out_of_range_is_refused)
{
	struct strata_pool *made = NULL;
	struct strata_pool_conf conf = { .batch_max = STRATA_BATCH_MAX };

	CHECK_OK(strata_pool_new(&conf, &play_memory, &made, &err));
	strata_pool_free(made);
	made = NULL;
	conf.batch_max++;
	CHECK_ERROR(strata_pool_new(&conf, &play_memory, &made, &err), -EINVAL, "batch_max is 33");
	conf = (struct strata_pool_conf){ .look_max = STRATA_POOL_LOOK_MAX };
	CHECK_OK(strata_pool_new(&conf, &play_memory, &made, &err));
	strata_pool_free(made);
	made = NULL;
	conf.look_max++;
	CHECK_ERROR(strata_pool_new(&conf, &play_memory, &made, &err), -EINVAL, "look_max");
	conf = (struct strata_pool_conf){ .lease_ns = -1 };
	CHECK_ERROR(strata_pool_new(&conf, &play_memory, &made, &err), -EINVAL, "lease");
	conf = (struct strata_pool_conf){ .priority_min = 5, .priority_max = 4 };
	CHECK_ERROR(strata_pool_new(&conf, &play_memory, &made, &err), -EINVAL, "from 5 to 4");
	CHECK(!made);
	CHECK_INT(play_memory.used_bytes, 0);
}

/* while not all finished: schedule, do a step, tell. */
TEST(the_usual_loop_does_everything)
{
	int64_t now = 0;

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 5; i++)
		play_add("alice", 3, now);
	while (!strata_pool_all_finished(pool)) {
		uint64_t next = strata_pool_schedule(pool);
		struct strata_batch batch = play_pick(worker, now, NULL);
		struct strata_task_view view;

		CHECK_INT(batch.count, 1);
		CHECK_INT(batch.steps, 1);
		CHECK_OK(strata_pool_get(pool, batch.tasks[0], &view, &err));
		CHECK(view.steps_done > 0 || batch.tasks[0] == next);
		now += SECOND;
		play_done(&batch, view.steps_done == 2 ? STRATA_DONE_FINISHED : STRATA_DONE_STEPS,
			  1, SECOND, now);
	}
	CHECK_INT(now, 15 * SECOND);
	struct strata_pool_metrics metrics = play_metrics();

	CHECK_INT(metrics.tasks[STRATA_TASK_FINISHED], 5);
	CHECK_INT(metrics.ended[STRATA_TASK_FINISHED], 5);
	CHECK_INT(metrics.decisions, 15);
	CHECK_INT(metrics.used_ns, 15 * SECOND);
	CHECK_INT(metrics.stalls, 0);
	CHECK_INT(play_pick(worker, now, NULL).count, 0);
	CHECK_INT(play_metrics().idle, 1);
	play_close();
}

TEST(time_does_not_go_back)
{
	struct strata_task_view view;

	play_open("fifo", NULL);
	play_add("a", 1, 100);
	uint64_t later = play_add("a", 1, 50);

	CHECK_OK(strata_pool_get(pool, later, &view, &err));
	CHECK_INT(view.added_ns, 100);
	play_close();
}

TEST(a_million_tasks_take_less_than_200_bytes_each)
{
	enum { COUNT = 200000 };
	static const char *const policies[] = { "fifo",        "priority", "shortest",      "fair",
						"round_robin", "deadline", "resource_aware" };

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		play_open(policies[i], NULL);
		play_add("a", 1, 0);
		size_t before = play_memory.used_bytes;

		for (int64_t task = 0; task < COUNT; task++) {
			struct strata_task_request request =
				play_request("a", 1 + task * 7919 % 100);

			request.priority = task % 11;
			request.model = (uint64_t)task % 10;
			request.deadline_ns = 100000000 * SECOND + task * 7919 % 1000;
			play_add_request(&request, task);
		}
		size_t bytes = (play_memory.used_bytes - before) / COUNT;

		if (bytes > 200)
			test_fail(__FILE__, __LINE__, "%s takes %zu bytes", policies[i], bytes);
	}
	play_close();
}

static int build_once(struct strata_memory *memory, void *context, struct strata_error *error)
{
	struct strata_pool_metrics metrics;
	struct strata_pool *built = NULL;
	int rc = strata_pool_build(context, memory, &built, error);

	if (rc == 0) {
		strata_pool_metrics(built, &metrics);
		CHECK_TEXT(metrics.policy, "fair");
	}
	strata_pool_free(built);
	return rc;
}

/* The settings are the pool's own: what they were read into is gone by then. */
TEST(a_pool_is_built_from_a_policy_written_as_text)
{
	struct strata_memory memory = { 0 };
	struct strata_pool *built = NULL;

	CHECK(test_every_allocation(build_once, (void *)"fair") > 1);
	CHECK_ERROR(strata_pool_build("fiar", &memory, &built, &err), -ENOENT, "fair");
	CHECK(!built);
	CHECK_INT(memory.used_bytes, 0);
}
