#include "small_cluster.h"

static uint32_t find(struct strata_job_request request, placing_filter *filter, struct spot *spots)
{
	struct ask *ask;

	CHECK_OK(ask_get(small, &request, &ask, &err));
	uint32_t count = placing_find(small, ask, 0, filter, NULL, spots);

	ask_put(small, ask);
	return count;
}

static void occupy(uint64_t id, const char *node, int64_t cpus)
{
	struct strata_job_request request = small_request(id, cpus, 60);

	request.node_list = node;
	small_submit(request, 0);
	small_pass(0);
	CHECK_INT(small_job(id).state, STRATA_JOB_RUNNING);
}

TEST(the_fullest_node_that_has_room_is_taken)
{
	struct spot spots[8];

	small_open("fifo", "easy", 4, 0);
	occupy(1, "n2", 5);
	occupy(2, "n3", 7);
	CHECK_INT(find(small_request(10, 2, 60), NULL, spots), 1);
	CHECK_INT(spots[0].node->row, 2);
	CHECK_INT(find(small_request(11, 4, 60), NULL, spots), 1);
	CHECK_INT(spots[0].node->row, 0); /* equal ones: the lowest row */
	CHECK_INT(find(small_request(12, 9, 60), NULL, spots), 0);
	small_close();
}

TEST(tasks_are_spread_evenly_over_the_nodes_asked_for)
{
	struct strata_job_request request = small_request(1, 1, 60);
	struct spot spots[8];

	small_open("fifo", "easy", 4, 0);
	request.tasks = 7;
	request.nodes = 3;
	CHECK_INT(find(request, NULL, spots), 3);
	CHECK_INT(spots[0].piece.tasks, 3);
	CHECK_INT(spots[1].piece.tasks, 2);
	CHECK_INT(spots[2].piece.tasks, 2);
	CHECK_INT(spots[2].piece.cpu_milli, 2000);
	small_close();
}

static bool not_the_first(struct strata_cluster *cluster, struct node *node,
			  const struct strata_need *need, void *context)
{
	(void)cluster, (void)need, (void)context;
	return node->row != 0;
}

TEST(a_filter_rules_nodes_out)
{
	struct spot spots[8];

	small_open("fifo", "easy", 2, 0);
	CHECK_INT(find(small_request(1, 1, 60), not_the_first, spots), 1);
	CHECK_INT(spots[0].node->row, 1);
	small_close();
}

TEST(a_whole_node_means_an_empty_one)
{
	struct strata_job_request request = small_request(9, 1, 60);
	struct spot spots[8];

	small_open("fifo", "easy", 2, 8);
	occupy(1, "n0", 1);
	request.exclusive = true;
	CHECK_INT(find(request, NULL, spots), 1);
	CHECK_INT(spots[0].node->row, 1);
	CHECK_INT(spots[0].piece.cpu_milli, 8000);
	CHECK_INT(spots[0].piece.gpu_mask, 0xFF);
	occupy(2, "n1", 1);
	CHECK_INT(find(request, NULL, spots), 0);
	small_close();
}
