/* What is counted of users. */
#include "pool_play.h"

#include <errno.h>

TEST(users_are_counted_by_name_and_account)
{
	struct strata_user_metrics metrics;
	struct strata_task_request request = play_request("ann", 4);

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0);

	play_add("ann", 4, 0);
	request.account = "lab";
	uint64_t lab = play_add_request(&request, 0);

	play_add_request(&request, 10);
	CHECK(play_whole(worker, 30));
	CHECK_OK(strata_pool_user_metrics(pool, "ann", NULL, &metrics, &err));
	CHECK_INT(metrics.pending, 0);
	CHECK_INT(metrics.finished, 1);
	CHECK_INT(metrics.used_ns, 4 * SECOND);
	CHECK_INT(metrics.started, 1);
	CHECK_INT(metrics.wait_ns_sum, 30);
	CHECK_OK(strata_pool_user_metrics(pool, "ann", "lab", &metrics, &err));
	CHECK_INT(metrics.pending, 2);
	CHECK_INT(metrics.pending_cost_ns, 8 * SECOND);
	CHECK_INT(metrics.running, 0);
	CHECK_OK(strata_pool_cancel(pool, lab, 40, &err));
	struct strata_batch batch = play_pick(worker, 50, NULL);

	CHECK_OK(strata_pool_user_metrics(pool, "ann", "lab", &metrics, &err));
	CHECK_INT(metrics.cancelled, 1);
	CHECK_INT(metrics.running, 1);
	play_done(&batch, STRATA_DONE_FAILED, 0, SECOND, 60);
	CHECK_OK(strata_pool_user_metrics(pool, "ann", "lab", &metrics, &err));
	CHECK_INT(metrics.failed, 1);
	CHECK_INT(metrics.running, 0);
	CHECK_ERROR(strata_pool_user_metrics(pool, "bob", NULL, &metrics, &err), -ENOENT, "bob");
	CHECK_INT(strata_pool_user_metrics(pool, "ann", "other", &metrics, &err), -ENOENT);
	play_close();
}

/* "ab" of account "c" is not "a" of account "bc". */
TEST(names_do_not_run_into_each_other)
{
	struct strata_task_request request = play_request("ab", 1);
	struct strata_user_metrics metrics;

	play_open("fair", NULL);
	request.account = "c";
	play_add_request(&request, 0);
	request.user = "a";
	request.account = "bc";
	play_add_request(&request, 0);
	request.user = "c"; /* as the account is called */
	request.account = NULL;
	play_add_request(&request, 0);
	CHECK_OK(strata_pool_user_metrics(pool, "ab", "c", &metrics, &err));
	CHECK_INT(metrics.pending, 1);
	CHECK_OK(strata_pool_user_metrics(pool, "c", NULL, &metrics, &err));
	CHECK_INT(metrics.pending, 1);
	play_close();
}
