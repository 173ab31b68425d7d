#include "small_cluster.h"

#include <errno.h>
#include <math.h>

static struct strata_job_request in(uint64_t id, const char *partition)
{
	struct strata_job_request request = small_request(id, 1, 100);

	request.partition = partition;
	return request;
}

static void set_state(const char *name, enum strata_partition_state state)
{
	CHECK_OK(strata_cluster_set_partition(small, name, 0, state, &err));
}

static void check_states(const char *backfill)
{
	small_open("fifo", backfill, 2, 0);
	set_state("debug", STRATA_PARTITION_DOWN);
	small_submit(in(1, "debug"), 0); /* before and after the state is known it waits */
	small_submit(in(2, "main"), 0);
	small_submit(in(3, NULL), 0);
	CHECK_TEXT(small_pass(0), "2 3");
	CHECK_TEXT(small_state(1), "queued, partition_down");
	set_state("debug", STRATA_PARTITION_DRAIN); /* what waits is started */
	CHECK_TEXT(small_pass(1), "1");
	small_submit(in(4, "main"), 2);
	set_state("main", STRATA_PARTITION_INACTIVE);
	CHECK_TEXT(small_pass(2), "");
	CHECK_TEXT(small_state(4), "queued, partition_down");
	CHECK_TEXT(small_state(2), "running, none");
	set_state("main", STRATA_PARTITION_UP);
	CHECK_TEXT(small_pass(3), "4");
	small_close();
}

TEST(a_partition_that_is_down_or_inactive_starts_nothing)
{
	check_states("none");
	check_states("easy");
	check_states("conservative");
}

TEST(who_is_removed_is_as_one_that_nobody_has_spoken_of)
{
	struct strata_limits one = { .jobs = 1 };
	struct strata_job_request request = small_request(1, 1, 100);
	struct strata_usage_view view;

	small_open("fifo", "easy", 1, 0);
	CHECK_OK(strata_cluster_set_account(small, "lab", NULL, 2, &one, &err));
	CHECK_OK(strata_cluster_set_account(small, "team", "lab", 2, &one, &err));
	CHECK_OK(strata_cluster_set_user(small, "ann", "team", 3, &one, &err));
	CHECK_OK(strata_cluster_set_qos(small, "slow", 0, 1, &one, &err));
	request.qos = "slow";
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	static const char *const names[] = { "ann", "team", "slow" };

	for (int i = STRATA_ENTITY_USER; i <= STRATA_ENTITY_QOS; i++)
		CHECK_ERROR(strata_cluster_remove_entity(small, (enum strata_entity_type)i,
							 names[i], &err),
			    -EBUSY, "has 1 jobs that have not ended");
	CHECK_ERROR(strata_cluster_remove_entity(small, STRATA_ENTITY_ACCOUNT, "lab", &err), -EBUSY,
		    "1 jobs");
	small_end(1, 1);
	CHECK_ERROR(strata_cluster_remove_entity(small, STRATA_ENTITY_ACCOUNT, "lab", &err), -EBUSY,
		    "there are accounts below lab");
	for (int i = STRATA_ENTITY_USER; i <= STRATA_ENTITY_QOS; i++)
		CHECK_OK(strata_cluster_remove_entity(small, (enum strata_entity_type)i, names[i],
						      &err));
	CHECK_OK(strata_cluster_remove_entity(small, STRATA_ENTITY_ACCOUNT, "lab", &err));
	CHECK_OK(strata_cluster_remove_entity(small, STRATA_ENTITY_QOS, "unheard-of", &err));
	strata_cluster_user(small, "ann", &view);
	CHECK(view.weight == 1);
	for (uint64_t id = 2; id < 4; id++) {
		request.id = id;
		small_submit(request, 2);
	}
	CHECK_TEXT(small_pass(2), "2 3"); /* no limit holds any more */
	small_close();
}

TEST(a_partition_is_removed_when_no_job_is_in_it)
{
	small_open("fifo", "easy", 1, 0);
	set_state("debug", STRATA_PARTITION_DOWN);
	small_submit(in(1, "debug"), 0);
	CHECK_ERROR(strata_cluster_remove_entity(small, STRATA_ENTITY_PARTITION, "debug", &err),
		    -EBUSY, "jobs in partition debug");
	CHECK_OK(strata_cluster_cancel(small, 1, 0, &err));
	CHECK_OK(strata_cluster_remove_entity(small, STRATA_ENTITY_PARTITION, "debug", &err));
	small_submit(in(2, "debug"), 0);
	CHECK_TEXT(small_pass(0), "2");
	small_close();
}

static double used_by(const char *account)
{
	struct strata_usage_view view;

	strata_cluster_account(small, account, &view);
	return view.gpu_hours;
}

TEST(an_account_without_jobs_moves_with_what_it_used)
{
	struct strata_job_request request = small_request(1, 1, 100);

	small_conf.half_life_ns = INT64_C(1000000) * 3600 * SECOND;
	small_open("fair_share:tree", "easy", 1, 0);
	CHECK_OK(strata_cluster_set_account(small, "a", NULL, 1, NULL, &err));
	CHECK_OK(strata_cluster_add_usage(small, "ann", "b", 100, SECOND, &err));
	CHECK_OK(strata_cluster_add_usage(small, "bob", "b", 50, SECOND, &err));
	CHECK_OK(strata_cluster_set_account(small, "b", "a", 1, NULL, &err));
	CHECK(used_by("b") > 149.9 && used_by("b") < 150.1);
	CHECK(used_by("a") > 149.9 && used_by("a") < 150.1);
	CHECK_ERROR(strata_cluster_set_account(small, "a", "b", 1, NULL, &err), -EBUSY,
		    "there are accounts below a");
	CHECK_ERROR(strata_cluster_set_account(small, "b", "b", 1, NULL, &err), -EINVAL,
		    "account b cannot be below itself");
	request.account = "b";
	small_submit(request, 2);
	CHECK_ERROR(strata_cluster_remove_entity(small, STRATA_ENTITY_ACCOUNT, "b", &err), -EBUSY,
		    "b has 1 jobs");
	CHECK_TEXT(small_pass(2), "1");
	small_end(1, 3);
	CHECK_OK(strata_cluster_remove_entity(small, STRATA_ENTITY_ACCOUNT, "b", &err));
	CHECK(used_by("b") > 149.9);
	small_conf.half_life_ns = 0;
	small_close();
}

static int move(struct strata_memory *failing, void *context, struct strata_error *error)
{
	struct strata_cluster_conf conf = { 0 };
	struct strata_cluster *cluster;
	int rc = strata_cluster_new(&conf, failing, &cluster, error);

	(void)context;
	if (rc)
		return rc;
	rc = strata_cluster_set_account(cluster, "a", NULL, 1, NULL, error);
	if (rc == 0)
		rc = strata_cluster_add_usage(cluster, "ann", "b", 100, SECOND, error);
	if (rc == 0)
		rc = strata_cluster_set_account(cluster, "b", "a", 1, NULL, error);
	if (rc == 0)
		rc = strata_cluster_remove_entity(cluster, STRATA_ENTITY_ACCOUNT, "b", error);
	strata_cluster_free(cluster);
	return rc;
}

TEST(a_move_survives_every_failed_allocation)
{
	CHECK(test_every_allocation(move, NULL) > 10);
}

TEST(weights_and_limits_have_their_ranges)
{
	static const double weights[] = { 1e-6, 1, 1e9 }, bad[] = { 0.99e-6, 1.01e9, -1, NAN };
	struct strata_limits limits = { .gpu_hours = 0 };

	small_open("fair_share", "easy", 1, 0);
	for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		CHECK_OK(strata_cluster_set_account(small, "lab", NULL, weights[i], NULL, &err));
		CHECK_OK(strata_cluster_set_user(small, "ann", "lab", weights[i], NULL, &err));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_ERROR(strata_cluster_set_account(small, "lab", NULL, bad[i], NULL, &err),
			    -EINVAL, "expected 1e-06 to 1e+09");
		CHECK_ERROR(strata_cluster_set_user(small, "ann", "lab", bad[i], NULL, &err),
			    -EINVAL, "expected 1e-06 to 1e+09");
	}
	CHECK_OK(strata_cluster_set_account(small, "lab", NULL, 1, &limits, &err));
	limits.gpu_hours = -1e-9;
	CHECK_ERROR(strata_cluster_set_account(small, "lab", NULL, 1, &limits, &err), -EINVAL,
		    "below 0");
	limits = (struct strata_limits){ .gpu_milli = -1 };
	CHECK_ERROR(strata_cluster_set_account(small, "lab", NULL, 1, &limits, &err), -EINVAL,
		    "below 0");
	small_close();
}
