#include "small_cluster.h"

TEST(the_lowest_rows_that_do_are_taken)
{
	struct strata_job_request request = small_request(1, 3, 100);
	struct strata_room rooms[3];
	struct spot spots[3];
	struct resource_request *resources;

	small_open("fifo", "none", 3, 0);
	request.tasks = 4;
	CHECK_OK(resources_get(small, &request, &resources, &err));
	for (int i = 0; i < 3; i++)
		rooms[i] = small->nodes[i].room;
	rooms[0].cpu_milli = 2000;
	CHECK_INT(fit_first(small, resources, rooms, false, spots), 2);
	CHECK_INT(spots[0].node->row, 1);
	CHECK_INT(spots[0].piece.tasks, 2);
	CHECK_INT(rooms[2].cpu_milli, 2000);
	CHECK_INT(fit_first(small, resources, rooms, false, spots), 0);
	CHECK_INT(rooms[1].cpu_milli, 2000); /* nothing is taken then */
	resources_put(small, resources);
	small_close();
}

TEST(nodes_that_are_down_count_only_when_asked)
{
	struct strata_job_request request = small_request(1, 3, 100);
	struct strata_room room;
	struct spot spot;
	struct resource_request *resources;

	small_open("fifo", "none", 1, 0);
	CHECK_OK(strata_cluster_set_node(small, 0, STRATA_NODE_DOWN, 0, &err));
	CHECK_OK(resources_get(small, &request, &resources, &err));
	room = small->nodes[0].node_type->whole;
	CHECK_INT(fit_first(small, resources, &room, false, &spot), 0);
	CHECK_INT(fit_first(small, resources, &room, true, &spot), 1);
	resources_put(small, resources);
	small_close();
}

TEST(tasks_are_spread_over_as_few_nodes_as_will_do)
{
	struct strata_job_request request = small_request(1, 3, 100);
	struct resource_request *resources;

	small_open("fifo", "none", 3, 0);
	request.tasks = 5; /* 2 on a node */
	CHECK_OK(resources_get(small, &request, &resources, &err));
	CHECK_INT(fit_node_count(small, resources), 3);
	resources_put(small, resources);
	request.tasks = 7;
	CHECK_OK(resources_get(small, &request, &resources, &err));
	CHECK_INT(fit_node_count(small, resources), 0);
	resources_put(small, resources);
	small_close();
}
