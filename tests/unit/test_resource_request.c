#include "small_cluster.h"

#include <errno.h>

static int get(struct strata_job_request request, struct resource_request **ret_resources)
{
	return resources_get(small, &request, ret_resources, &err);
}

TEST(requests_alike_share_one_resources)
{
	struct resource_request *a, *b, *c;
	struct strata_job_request request = small_request(1, 2, 60),
				  other = small_request(2, 2, 999);

	small_open("fifo", "easy", 4, 8);
	other.user = "bob";
	CHECK_OK(get(request, &a));
	CHECK_OK(get(other, &b));
	CHECK(a == b);
	other.gpu_type = "a100";
	CHECK_OK(get(other, &c));
	CHECK(a != c);
	resources_put(small, a);
	resources_put(small, b);
	resources_put(small, c);
	CHECK_INT(small->resource_requests.count, 0);
	small_close();
}

static bool takes(struct strata_job_request request, uint32_t row)
{
	struct resource_request *resources;

	CHECK_OK(get(request, &resources));
	bool yes = resources_takes_node_type(resources, small->nodes[row].node_type) &&
		   resources_takes_node(resources, row);

	resources_put(small, resources);
	return yes;
}

TEST(constraints_say_which_nodes_will_do)
{
	struct strata_job_request request = small_request(1, 1, 60);

	small_open("fifo", "easy", 4, 8);
	CHECK(takes(request, 0) && takes(request, 3));
	request.features = "ib";
	CHECK(!takes(request, 0) && takes(request, 1) && takes(request, 3));
	request.features = "ib,odd";
	CHECK(takes(request, 1));
	request.features = "ib,even";
	CHECK(!takes(request, 0) && !takes(request, 1));
	request.features = NULL;
	request.partition = "debug";
	CHECK(takes(request, 1) && !takes(request, 2));
	request.partition = NULL;
	request.node_list = "n1,n3";
	CHECK(!takes(request, 0) && takes(request, 1) && takes(request, 3));
	request.node_exclude = "n3";
	CHECK(takes(request, 1) && !takes(request, 3));
	request.node_list = request.node_exclude = NULL;
	request.gpu_type = "h100|a100";
	CHECK(takes(request, 0));
	request.gpu_type = "h100";
	CHECK(!takes(request, 0));
	small_close();
}

static bool possible(struct strata_job_request request)
{
	struct resource_request *resources;

	CHECK_OK(get(request, &resources));
	bool yes = resources->possible;

	resources_put(small, resources);
	return yes;
}

TEST(what_no_node_could_ever_take_is_known_at_once)
{
	struct strata_job_request request = small_request(1, 8, 60);

	small_open("fifo", "easy", 4, 8);
	CHECK(possible(request));
	request.cpu_milli = 8001;
	CHECK(!possible(request));
	request.cpu_milli = 0;
	request.gpus = 9;
	CHECK(!possible(request)); /* one task never spans nodes */
	request.gpus = 1;
	request.tasks = 32;
	CHECK(possible(request)); /* 4 × 8 */
	request.tasks = 33;
	CHECK(!possible(request));
	request.tasks = 4;
	request.nodes = 4;
	CHECK(possible(request));
	request.partition = "debug"; /* two nodes */
	CHECK(!possible(request));
	small_close();
}

TEST(requests_that_contradict_themselves_are_refused)
{
	struct resource_request *resources;
	struct strata_job_request good = small_request(1, 1, 60), bad;

	small_open("fifo", "easy", 1, 8);
	bad = good, bad.id = 0;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "id is 0");
	bad = good, bad.user = "";
	CHECK_ERROR(get(bad, &resources), -EINVAL, "no user");
	bad = good, bad.tasks = 0;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "tasks is 0");
	bad = good, bad.nodes = 2;
	CHECK_ERROR(get(bad, &resources), -EINVAL,
		    "nodes is 2; expected at most as many as tasks (1)");
	bad = good, bad.gpu_milli = 1000;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "gpu_milli is 1000");
	bad = good, bad.gpu_milli = 500, bad.gpus = 1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "without whole GPUs");
	bad = good, bad.checkpoint_ns = -1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "checkpoints every less than no time");
	bad = good, bad.gpus_per_node = 1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "gpus_per_node goes with a number of nodes");
	bad = good, bad.gpus_per_node = 1, bad.nodes = 1, bad.gpus = 1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "gpus_per_node goes with a number of nodes");
	bad = good, bad.memory_per_node_bytes = 1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "memory_per_node goes with a number of nodes");
	bad = good, bad.memory_per_node_bytes = -1, bad.nodes = 1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "memory_per_node goes with a number of nodes");
	bad = good, bad.memory_per_node_bytes = 1, bad.nodes = 1, bad.memory_bytes = 1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "memory_per_node goes with a number of nodes");
	bad = good, bad.time_limit_ns = 0;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "time limit");
	bad = good, bad.cpu_milli = -1;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "below 0");
	bad = good, bad.band = (enum strata_band)7;
	CHECK_ERROR(get(bad, &resources), -EINVAL, "no such band");
	small_close();
}

TEST(tasks_that_fit_are_counted_in_every_dimension)
{
	struct strata_job_request request = small_request(1, 2, 60);
	struct resource_request *resources;

	small_open("fifo", "easy", 1, 8);
	request.tasks = 100;
	request.memory_bytes = INT64_C(20) << 30;
	CHECK_OK(get(request, &resources));
	CHECK_INT(resources_tasks_in(resources, &small->nodes[0].room, small->nodes[0].node_type),
		  3); /* memory: 64 / 20 */
	struct strata_room room = small->nodes[0].room;

	room.cpu_milli = 4000;
	CHECK_INT(resources_tasks_in(resources, &room, small->nodes[0].node_type), 2);
	resources_put(small, resources);
	small_close();
}
