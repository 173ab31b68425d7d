#include "small_cluster.h"

#include <errno.h>

static struct strata_job_request of(uint64_t id, const char *user, const char *account)
{
	struct strata_job_request request = small_request(id, 1, 1000);

	request.user = user;
	request.account = account;
	return request;
}

TEST(limits_on_jobs_hold_for_users_accounts_and_qualities)
{
	struct strata_limits one = { .jobs = 1 }, two = { .jobs = 2 };
	struct strata_job_request request;

	small_open("fifo", "easy", 1, 0);
	CHECK_OK(strata_cluster_set_user(small, "ann", NULL, 1, &one, &err));
	CHECK_OK(strata_cluster_set_account(small, "lab", NULL, 1, &two, &err));
	CHECK_OK(strata_cluster_set_account(small, "team", "lab", 1, NULL, &err));
	CHECK_OK(strata_cluster_set_qos(small, "scavenger", 0, 1, &one, &err));
	small_submit(of(1, "ann", NULL), 0);
	small_submit(of(2, "ann", NULL), 0);
	small_submit(of(3, "bob", "team"), 0);
	small_submit(of(4, "cleo", "lab"), 0);
	small_submit(of(5, "dan", "team"), 0); /* counts for the account above, too */
	request = of(6, "eve", NULL);
	request.qos = "scavenger";
	small_submit(request, 0);
	request.id = 7;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 3 4 6");
	CHECK_TEXT(small_state(2), "queued, user_limit");
	CHECK_TEXT(small_state(5), "queued, account_limit");
	CHECK_TEXT(small_state(7), "queued, qos_limit");
	small_end(1, 1);
	small_end(4, 1);
	small_end(6, 1);
	CHECK_TEXT(small_pass(1), "2 5 7");
	small_close();
}

TEST(limits_on_gpus_hold)
{
	struct strata_limits limits = { .gpu_milli = 3000 };
	struct strata_job_request request = small_request(1, 0, 100);

	small_open("fifo", "easy", 1, 8);
	CHECK_OK(strata_cluster_set_user(small, "ann", NULL, 1, &limits, &err));
	request.gpus = 2;
	small_submit(request, 0);
	request.id = 2;
	small_submit(request, 0);
	request.id = 3;
	request.gpus = 1;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 3");
	CHECK_TEXT(small_state(2), "queued, user_limit");
	struct strata_usage_view view;

	strata_cluster_user(small, "ann", &view);
	CHECK_INT(view.gpu_milli, 3000);
	CHECK_INT(view.jobs, 2);
	CHECK_INT(view.waiting, 1);
	small_close();
}

TEST(gpu_hours_above_the_limit_have_to_fade)
{
	struct strata_limits limits = { .gpu_hours = 1 };
	struct strata_job_request request = small_request(1, 0, 100000);

	small_conf.half_life_ns = 3600 * SECOND;
	small_open("fifo", "easy", 1, 8);
	CHECK_OK(strata_cluster_set_user(small, "ann", NULL, 1, &limits, &err));
	request.gpus = 2;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	small_end(1, 3600); /* 2 GPU-hours, some of them faded while it ran */
	request.id = 2;
	small_submit(request, 3600);
	CHECK_TEXT(small_pass(3600), "");
	CHECK_TEXT(small_state(2), "queued, user_limit");
	int64_t due_ns = strata_cluster_next_ns(small);

	CHECK(due_ns > 3600 * SECOND && due_ns <= 7201 * SECOND);
	CHECK_TEXT(small_pass(due_ns / SECOND + 1), "2");
	small_conf.half_life_ns = 0;
	small_close();
}

/* Also while they run, and by whomever of the account. */
TEST(gpu_hours_that_others_use_now_count_for_the_account)
{
	struct strata_limits limits = { .gpu_hours = 1 };
	struct strata_job_request request = small_request(1, 0, 100000);

	small_open("fifo", "easy", 1, 8);
	CHECK_OK(strata_cluster_set_account(small, "lab", NULL, 1, &limits, &err));
	request.account = "lab";
	request.gpus = 2;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	request.id = 2;
	request.user = "ben";
	small_submit(request, 3600);
	CHECK_TEXT(small_pass(3600), "");
	CHECK_TEXT(small_state(2), "queued, account_limit");
	small_close();
}

TEST(waiting_jobs_beyond_their_limit_are_refused)
{
	struct strata_limits limits = { .waiting = 1 };
	struct strata_job_request request = of(2, "ann", NULL);

	small_open("fifo", "easy", 1, 0);
	CHECK_OK(strata_cluster_set_user(small, "ann", NULL, 1, &limits, &err));
	small_submit(of(1, "ann", NULL), 0);
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EDQUOT,
		    "user ann has 1 waiting jobs; the limit is 1");
	CHECK_TEXT(small_pass(0), "1");
	small_submit(request, 0);
	small_close();
}

TEST(usage_is_billed_by_the_dearest_of_what_is_held)
{
	struct strata_usage_view view;
	struct strata_job_request request = small_request(1, 8, 100000);

	small_conf.half_life_ns = INT64_C(1000000) * 3600 * SECOND;
	small_open("fifo", "easy", 1, 8);
	CHECK_OK(strata_cluster_set_qos(small, "half", 0, 0.5, NULL, &err));
	small_submit(request, 0); /* 8 cores where there are GPUs: half a GPU */
	CHECK_TEXT(small_pass(0), "1");
	small_end(1, 3600);
	strata_cluster_user(small, "ann", &view);
	CHECK_NEAR(view.gpu_hours, 0.5, 1e-3);
	CHECK_NEAR(view.share, view.weight / (view.gpu_hours + 1), 1e-12);
	strata_cluster_user(small, "nobody", &view);
	CHECK(view.weight == 1 && view.share == 1 && view.gpu_hours == 0);
	request.id = 2;
	request.user = "bob";
	request.gpus = 2;
	request.account = "lab";
	request.qos = "half";
	small_submit(request, 3600);
	CHECK_TEXT(small_pass(3600), "2");
	small_end(2, 7200);
	strata_cluster_account(small, "lab", &view);
	CHECK_NEAR(view.gpu_hours, 1, 1e-3); /* 2 GPUs for an hour at half price */
	CHECK_NEAR(view.share, 0.5, 1e-3);
	small_conf.half_life_ns = 0;
	small_close();
}

TEST(accounts_share_before_their_users)
{
	small_conf.half_life_ns = INT64_C(1000000) * 3600 * SECOND;
	small_open("fair_share:tree", "none", 1, 0);
	CHECK_OK(strata_cluster_set_account(small, "big", NULL, 1, NULL, &err));
	CHECK_OK(strata_cluster_set_account(small, "tiny", NULL, 1, NULL, &err));
	CHECK_OK(strata_cluster_add_usage(small, "ann", "big", 100, SECOND, &err));
	CHECK_OK(strata_cluster_add_usage(small, "bob", "tiny", 50, SECOND, &err));
	small_submit(of(1, "cleo", "big"), 2); /* has used nothing, but her account has */
	small_submit(of(2, "bob", "tiny"), 2);
	CHECK_TEXT(small_pass(2), "2 1");
	small_conf.half_life_ns = 0;
	small_close();
}

TEST(names_weights_and_parents_are_checked)
{
	small_open("fifo", "easy", 1, 0);
	CHECK_ERROR(strata_cluster_set_account(small, "a", "none", 1, NULL, &err), -ENOENT,
		    "there is no account none");
	CHECK_ERROR(strata_cluster_set_user(small, "a", NULL, 0, NULL, &err), -EINVAL,
		    "weight is 0; expected 1e-06 to 1e+09");
	CHECK_OK(strata_cluster_set_account(small, "a", NULL, 1, NULL, &err));
	CHECK_OK(strata_cluster_set_account(small, "b", NULL, 1, NULL, &err));
	CHECK_ERROR(strata_cluster_set_qos(small, "q", 0, -1, NULL, &err), -EINVAL,
		    "priority is 0 and usage_factor -1; expected a number and 0 to 1e6");
	small_close();
}

TEST(qualities_and_partitions_have_priorities)
{
	struct strata_job_request request = small_request(1, 8, 100);

	small_open("multifactor:age=0:fair_share=0:size=0", "none", 2, 0);
	CHECK_OK(strata_cluster_set_qos(small, "urgent", 1, 1, NULL, &err));
	CHECK_OK(strata_cluster_set_partition(small, "debug", 0.5, STRATA_PARTITION_UP, &err));
	small_submit(request, 0);
	request.id = 2;
	request.partition = "debug";
	small_submit(request, 0);
	request.id = 3;
	request.partition = NULL;
	request.qos = "urgent";
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "3 2");
	small_close();
}

TEST(nobody_is_charged_for_what_works_for_others)
{
	struct strata_job_request request = of(1, "ann", NULL);
	struct strata_usage_view view;

	small_open("fifo", "none", 1, 2);
	request.gpus = 1;
	request.uncharged = true;
	small_submit(request, 0);
	request.id = 2;
	request.user = "ben";
	request.uncharged = false; /* alike in all else */
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_end(1, 3600);
	small_end(2, 3600);
	strata_cluster_user(small, "ann", &view);
	CHECK(view.gpu_hours == 0);
	strata_cluster_user(small, "ben", &view);
	CHECK(view.gpu_hours > 0.9);
	CHECK(strata_cluster_bill(small, 2, 0, 0) == 2);
	CHECK(strata_cluster_bill(small, 0, 0.5, 0) > 0 &&
	      strata_cluster_bill(small, 0, 0.5, 0) < 1);
	small_close();
}

static void list_name(void *context, const char *name)
{
	strcat(strcat(context, name), " ");
}

TEST(users_are_known_by_their_jobs_and_by_what_they_have_used)
{
	char names[64] = "";

	small_open("fifo", "none", 1, 2);
	small_submit(of(1, "ann", NULL), 0);
	CHECK_OK(strata_cluster_add_usage(small, "ben", NULL, 3, 0, &err));
	strata_cluster_each_user(small, list_name, names);
	CHECK(strstr(names, "ann ") && strstr(names, "ben ") && strlen(names) == 8);
	small_close();
}
