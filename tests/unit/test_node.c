#include "small_cluster.h"

static size_t groups(void)
{
	size_t count = 0;

	for (struct group *group = small->newest; group; group = group->older)
		count++;
	return count;
}

TEST(nodes_that_look_alike_are_one_group)
{
	small_open("fifo", "easy", 100, 8);
	CHECK_INT(groups(), 4); /* odd and even; the first two are in another partition */
	small_submit(small_request(1, 1, 60), 0);
	small_pass(0);
	CHECK_INT(groups(), 4); /* n0 was alone in its group: it moved, and the old one is gone */
	struct strata_job_request request = small_request(2, 1, 60);

	request.node_list = "n50";
	small_submit(request, 0);
	small_pass(0);
	CHECK_INT(groups(), 5);
	small_end(2, 1);
	CHECK_INT(groups(), 4);
	small_close();
}

TEST(groups_are_chained_by_when_they_changed)
{
	small_open("fifo", "easy", 10, 0);
	small_submit(small_request(1, 1, 60), 0);
	small_pass(0);
	CHECK(small->newest == small->nodes[0].group);
	for (struct group *group = small->newest; group && group->older; group = group->older) {
		CHECK(group->changed > group->older->changed);
		CHECK(group->older->newer == group);
	}
	small_close();
}

TEST(a_node_that_is_not_up_is_in_no_group)
{
	small_open("fifo", "easy", 3, 0);
	CHECK_OK(strata_cluster_set_node(small, 2, STRATA_NODE_DRAINED, 0, &err));
	CHECK(!small->nodes[2].group);
	CHECK_OK(strata_cluster_set_node(small, 2, STRATA_NODE_UP, 0, &err));
	CHECK(small->nodes[2].group);
	small_close();
}
