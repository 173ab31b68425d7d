#include "small_cluster.h"

static struct strata_blamed blamed[STRATA_PART_KINDS];
static size_t blamed_count;
static bool all_of_them;

/* Of four nodes with eight GPUs each, of which only the odd ones have the feature "odd". */
static unsigned blame(struct strata_job_request request)
{
	unsigned parts = 0;

	small_open("fifo", "easy", 4, 8);
	CHECK_OK(strata_cluster_submit(small, &request, 0, &err));
	blamed_count = strata_cluster_blame(small, request.id, blamed, &all_of_them);
	for (size_t i = 0; i < blamed_count; i++)
		parts |= blamed[i].part;
	small_close();
	return parts;
}

TEST(the_part_that_cannot_be_is_to_blame)
{
	struct strata_job_request request = small_request(1, 1, 60);

	CHECK_INT(blame(request), 0);
	request.gpus = 9;
	CHECK_INT(blame(request), STRATA_PART_GPUS);
	request = small_request(1, 1, 60);
	request.features = "nothing";
	CHECK_INT(blame(request), STRATA_PART_FEATURES);
	request.node_list = "n1";
	CHECK_INT(blame(request), STRATA_PART_FEATURES);
	CHECK(!all_of_them);
	request = small_request(1, 1, 60);
	request.node_list = "n0";
	request.features = "odd"; /* either would do without the other */
	CHECK_INT(blame(request), STRATA_PART_FEATURES | STRATA_PART_NODE_LIST);
	CHECK(!all_of_them);
	request = small_request(1, 1, 60);
	request.gpu_type = "z9";
	CHECK_INT(blame(request), STRATA_PART_GPU_TYPE);
	request = small_request(1, 1, 60);
	request.tasks = request.nodes = 5;
	CHECK_INT(blame(request), STRATA_PART_COUNT);
	request = small_request(1, 1, 60);
	request.memory_bytes = INT64_C(1) << 60;
	CHECK_INT(blame(request), STRATA_PART_MEMORY);
}

TEST(parts_that_must_change_together_are_blamed_together)
{
	struct strata_job_request request = small_request(1, 1, 60);

	request.memory_bytes = INT64_C(1) << 60;
	request.features = "nothing";
	request.gpus = 3; /* which is possible */
	CHECK_INT(blame(request), STRATA_PART_MEMORY | STRATA_PART_FEATURES);
	CHECK(all_of_them);
	CHECK_INT(blamed_count, 2);
	CHECK_INT(blamed[0].part, STRATA_PART_FEATURES);
	CHECK_INT(blamed[1].asked, INT64_C(1) << 60);
	CHECK(blamed[1].most > 0);
}

TEST(the_most_that_would_be_possible_is_told)
{
	struct strata_job_request request = small_request(1, 1, 60);

	request.gpus = 9;
	blame(request);
	CHECK_INT(blamed[0].asked, 9);
	CHECK_INT(blamed[0].most, 8);
	CHECK(blamed[0].of_task);
	request = small_request(1, 0, 60);
	request.gpus_per_node = 20;
	request.nodes = 2;
	request.tasks = 2;
	blame(request);
	CHECK_INT(blamed[0].asked, 20);
	CHECK_INT(blamed[0].most, 8);
	CHECK(!blamed[0].of_task);
	request = small_request(1, 1, 60);
	request.tasks = 10;
	request.nodes = 5; /* two tasks on each */
	blame(request);
	CHECK_INT(blamed[0].asked, 5);
	CHECK_INT(blamed[0].most, 4);
	CHECK(!blamed[0].of_task);
	request.nodes = 0;
	request.tasks = 40; /* of one core each */
	request.features = "odd";
	CHECK_INT(blame(request), STRATA_PART_COUNT | STRATA_PART_CPUS);
	CHECK_INT(blamed[1].part, STRATA_PART_COUNT);
	CHECK_INT(blamed[1].asked, 40);
	CHECK_INT(blamed[1].most, 16);
	CHECK_INT(blamed[0].most, 0);
}

TEST(a_job_that_is_not_there_has_nothing_to_blame)
{
	small_open("fifo", "easy", 1, 1);
	CHECK_INT(strata_cluster_blame(small, 17, blamed, &all_of_them), 0);
	small_close();
}
