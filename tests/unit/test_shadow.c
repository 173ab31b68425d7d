#include "small_cluster.h"

static struct shadow reserve(uint64_t id)
{
	struct shadow shadow;
	struct pass pass = { .cluster = small, .arena = &small_arena, .err = &err };

	CHECK_INT(shadow_find(&pass, map_u64_get(&small->jobs, id), &shadow), 0);
	return shadow;
}

TEST(the_reserved_time_is_when_enough_has_ended)
{
	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 3, 100), 0);
	small_submit(small_request(2, 3, 200), 0);
	small_submit(small_request(3, 2, 300), 0);
	CHECK_TEXT(small_pass(0), "1 2 3");
	small_submit(small_request(4, 6, 60), 0);
	struct shadow shadow = reserve(4);

	CHECK_INT(shadow.start_ns, 200 * SECOND); /* 3 + 3 */
	CHECK_INT(shadow.spare, 0);
	small_submit(small_request(5, 8, 60), 0);
	CHECK_INT(reserve(5).start_ns, 300 * SECOND);
	small_close();
}

TEST(nodes_are_counted_not_cores)
{
	struct strata_job_request request = small_request(10, 8, 60);

	small_open("fifo", "none", 3, 0);
	for (uint64_t id = 1; id <= 3; id++)
		small_submit(small_request(id, 8, 100 * (int64_t)id), 0);
	CHECK_TEXT(small_pass(0), "1 2 3");
	request.tasks = request.nodes = 2;
	small_submit(request, 0);
	CHECK_INT(reserve(10).start_ns, 200 * SECOND);
	small_close();
}

TEST(what_never_frees_up_has_no_time)
{
	small_open("fifo", "none", 2, 0);
	small_submit(small_request(1, 8, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_set_node(small, 1, STRATA_NODE_DRAINED, 0, &err));
	struct strata_job_request request = small_request(2, 1, 60);

	request.node_list = "n1";
	small_submit(request, 0);
	CHECK_INT(reserve(2).start_ns, INT64_MAX);
	small_close();
}

TEST(a_longer_job_may_use_what_the_reserved_one_leaves)
{
	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 5, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	small_submit(small_request(2, 6, 60), 0); /* at 100, leaving 2 of 8 */
	struct shadow shadow = reserve(2);
	struct strata_need two = { .cpu_milli = 2000 }, three = { .cpu_milli = 3000 };

	CHECK(shadow_allows(small, &small->nodes[0], &two, &shadow));
	CHECK(!shadow_allows(small, &small->nodes[0], &three, &shadow));
	small_close();
}

TEST(a_spare_node_may_be_used_once)
{
	struct strata_job_request request = small_request(10, 8, 60);
	struct strata_need all = { .cpu_milli = 8000 };

	small_open("fifo", "none", 3, 0);
	small_submit(small_request(1, 8, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	request.tasks = request.nodes = 3; /* needs all three: none to spare */
	small_submit(request, 0);
	struct shadow shadow = reserve(10);

	CHECK_INT(shadow.start_ns, 100 * SECOND);
	CHECK(!shadow_allows(small, &small->nodes[1], &all, &shadow));
	request.id = 11, request.tasks = request.nodes = 2;
	small_submit(request, 0);
	shadow = reserve(11); /* fits now already, on the two that are free */
	CHECK_INT(shadow.start_ns, 0);
	CHECK_INT(shadow.spare, 0);
	small_close();
}
