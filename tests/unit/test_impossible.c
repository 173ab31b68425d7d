#include "small_cluster.h"

/* Of four nodes with eight GPUs each, of which only the odd ones have the feature "odd". */
static unsigned blame(struct strata_job_request request)
{
	small_open("fifo", "easy", 4, 8);
	CHECK_OK(strata_cluster_submit(small, &request, 0, &err));
	unsigned parts = strata_cluster_blame(small, request.id);

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
	request = small_request(1, 1, 60);
	request.node_list = "n0";
	request.features = "odd"; /* either would do without the other */
	CHECK_INT(blame(request), STRATA_PART_FEATURES | STRATA_PART_NODE_LIST);
	request = small_request(1, 1, 60);
	request.gpu_type = "z9";
	CHECK_INT(blame(request), STRATA_PART_GPU_TYPE);
	request = small_request(1, 1, 60);
	request.tasks = request.nodes = 5;
	CHECK_INT(blame(request), STRATA_PART_COUNT);
	request = small_request(1, 1, 60);
	request.memory_bytes = INT64_C(1) << 60;
	CHECK_INT(blame(request), STRATA_PART_MEMORY);
	request.features = "nothing"; /* two at once */
	CHECK_INT(blame(request), 0);
}

TEST(a_job_that_is_not_there_has_nothing_to_blame)
{
	small_open("fifo", "easy", 1, 1);
	CHECK_INT(strata_cluster_blame(small, 17), 0);
	small_close();
}
