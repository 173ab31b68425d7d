/* What can happen to a task: its statuses, what is refused at the door, cancelling, forgetting. */
#include "pool_play.h"

#include <errno.h>

TEST(statuses_follow_each_other_as_drawn)
{
	static const char *const allowed[STRATA_TASK_STATUS_COUNT] = {
		/* to: P E D C F X K */
		".EDC..K", /* pending */
		"P.DC.XK", /* encoding */
		"P..C.XK", /* denoising */
		"P...FXK", /* decoding */
		".......", ".......", ".......",
	};

	for (int from = 0; from < STRATA_TASK_STATUS_COUNT; from++)
		for (int to = 0; to < STRATA_TASK_STATUS_COUNT; to++)
			CHECK_INT(strata_task_may((enum strata_task_status)from,
						  (enum strata_task_status)to),
				  allowed[from][to] != '.');
	CHECK(!strata_task_may((enum strata_task_status)7, STRATA_TASK_PENDING));
	CHECK(!strata_task_may(STRATA_TASK_PENDING, (enum strata_task_status) - 1));
	CHECK(!strata_task_ended(STRATA_TASK_DECODING));
	CHECK(strata_task_ended(STRATA_TASK_FAILED));
	CHECK_TEXT(strata_task_status_name(STRATA_TASK_DENOISING), "denoising");
	CHECK_TEXT(strata_task_status_name((enum strata_task_status)99), "unknown");
}

TEST(a_task_goes_through_its_statuses_with_times)
{
	struct strata_task_view view;

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("alice", 2, 10);

	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK_INT(view.status, STRATA_TASK_PENDING);
	CHECK_INT(view.started_ns, INT64_MIN);
	CHECK_TEXT(view.user, "alice");
	CHECK(!view.account);
	CHECK_INT(view.priority, 5);
	struct strata_batch batch = play_pick(worker, 20, NULL);

	CHECK_INT(play_status(task), STRATA_TASK_ENCODING);
	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 30);
	CHECK_INT(play_status(task), STRATA_TASK_DENOISING);
	batch = play_pick(worker, 30, NULL);
	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 40);
	CHECK_INT(play_status(task), STRATA_TASK_DECODING);
	batch = play_pick(worker, 40, NULL);
	CHECK_INT(batch.count, 1); /* the decoding is still to be done */
	play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND / 2, 50);
	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK_INT(view.status, STRATA_TASK_FINISHED);
	CHECK_INT(view.added_ns, 10);
	CHECK_INT(view.started_ns, 20);
	CHECK_INT(view.changed_ns, 50);
	CHECK_INT(view.used_ns, 2 * SECOND + SECOND / 2);
	CHECK_INT(view.left_ns, 0);
	CHECK_INT(view.worker, 0);
	play_close();
}

TEST(what_is_left_follows_the_measure)
{
	struct strata_task_view view;

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("a", 10, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_STEPS, 1, 3 * SECOND, 3 * SECOND);
	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK_INT(view.left_ns, 27 * SECOND); /* three seconds a step, and not one */
	play_close();
}

/* One request that is refused, with words; nothing has changed. */
static void refuse(const struct strata_task_request *request, const char *field, const char *words)
{
	uint64_t task = 77;

	CHECK_ERROR(strata_pool_add(pool, request, 0, &task, &err), -EINVAL, words);
	CHECK_TEXT(err.field, field);
	CHECK_INT(task, 77);
	CHECK_INT(strata_pool_pending_count(pool), 0);
}

TEST(an_unsound_request_is_refused_and_named)
{
	char name[STRATA_NAME_BYTES_MAX + 2];

	play_open("fifo", NULL);
	struct strata_task_request good = play_request("a", 1), bad = good;

	bad.user = NULL;
	refuse(&bad, "user", "no user");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	bad.user = name;
	refuse(&bad, "user", "129 bytes");
	bad = good;
	bad.account = "";
	refuse(&bad, "account", "0 bytes");
	bad = good;
	bad.steps = STRATA_TASK_STEPS_MAX + 1;
	refuse(&bad, "steps", "expected up to 1048576");
	bad = good;
	bad.cost_ns = STRATA_TASK_COST_NS_MAX + 1;
	refuse(&bad, "cost", "a year");
	bad = good;
	bad.memory_bytes = STRATA_TASK_MEMORY_BYTES_MAX + 1;
	refuse(&bad, "memory", "1 PiB");
	bad = good;
	bad.weight = -1;
	refuse(&bad, "weight", "-1");
	bad = good;
	bad.deadline_ns = -5;
	refuse(&bad, "deadline", "-5");
	name[STRATA_NAME_BYTES_MAX] = '\0'; /* the limits themselves are fine */
	good.user = name;
	good.steps = STRATA_TASK_STEPS_MAX;
	good.cost_ns = STRATA_TASK_COST_NS_MAX;
	good.memory_bytes = STRATA_TASK_MEMORY_BYTES_MAX;
	good.deadline_ns = STRATA_TIME_NS_MAX;
	play_add_request(&good, 0);
	CHECK_INT(play_metrics().refused, 8);
	play_close();
}

TEST(a_full_pool_takes_no_more)
{
	struct strata_task_request request = play_request("a", 1);
	uint64_t task;

	play_open("fifo", &(struct strata_pool_conf){ .tasks_max = 2 });
	task = play_add("a", 1, 0);
	play_add("a", 1, 0);
	CHECK_ERROR(strata_pool_add(pool, &request, 0, &task, &err), -ENOSPC, "holds 2 tasks");
	CHECK_OK(strata_pool_cancel(pool, task, 0, &err));
	CHECK_OK(strata_pool_forget(pool, task, &err));
	play_add("a", 1, 0);
	play_close();
}

TEST(a_waiting_task_is_cancelled_at_once)
{
	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), first = play_add("a", 1, 0),
		 second = play_add("a", 1, 0);

	CHECK_OK(strata_pool_cancel(pool, first, 5, &err));
	CHECK_INT(play_status(first), STRATA_TASK_CANCELLED);
	CHECK_ERROR(strata_pool_cancel(pool, first, 5, &err), -EALREADY, "cancelled already");
	CHECK_ERROR(strata_pool_set_priority(pool, first, 1, 5, &err), -EALREADY, "cancelled");
	CHECK(play_whole(worker, 6) == second);
	CHECK_ERROR(strata_pool_cancel(pool, second, 7, &err), -EALREADY, "finished already");
	CHECK_OK(strata_pool_forget(pool, first, &err));
	CHECK_ERROR(strata_pool_cancel(pool, first, 8, &err), -ESTALE, "there is no task");
	CHECK_ERROR(strata_pool_forget(pool, first, &err), -ESTALE, "there is no task");
	CHECK_ERROR(strata_pool_get(pool, 0, &(struct strata_task_view){ 0 }, &err), -ESTALE, "");
	play_close();
}

TEST(a_running_task_is_cancelled_and_its_worker_hears_of_it_at_the_boundary)
{
	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("a", 5, 0), next = play_add("a", 1, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	CHECK_ERROR(strata_pool_forget(pool, task, &err), -EBUSY, "cancel it first");
	CHECK_OK(strata_pool_cancel(pool, task, 1, &err));
	CHECK_INT(play_status(task), STRATA_TASK_CANCELLED);
	CHECK_ERROR(strata_pool_forget(pool, task, &err), -EBUSY, "a worker still has");
	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, SECOND);
	batch = play_pick(worker, SECOND, NULL);
	CHECK(batch.tasks[0] == next);
	CHECK_INT(batch.count, 1);
	CHECK_INT(play_metrics().used_ns, SECOND); /* what it did still cost something */
	CHECK_OK(strata_pool_forget(pool, task, &err));
	play_close();
}

static bool frames(void *context, const void *payload, const char *name, double *ret_value)
{
	if (strcmp(name, "num_frames") != 0)
		return false;
	*ret_value = *(const int *)payload + *(int *)context;
	return true;
}

TEST(a_policy_reads_the_payload_through_the_pool)
{
	int payload = 7, more = 100;
	struct strata_policy_task task = { .payload = &payload,
					   .attribute = frames,
					   .attribute_context = &more };

	CHECK_NEAR(strata_policy_attribute(&task, "num_frames", 1), 107, 0);
	CHECK_NEAR(strata_policy_attribute(&task, "width", 1), 1, 0);
	task.attribute = NULL;
	CHECK_NEAR(strata_policy_attribute(&task, "num_frames", 3), 3, 0);
}
