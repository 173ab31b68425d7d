#include "cluster_sample.h"
#include "random.h"

#include <errno.h>

static uint32_t group_count(const struct strata_cluster *cluster)
{
	uint32_t count = 0;

	for (const struct node_group *group = cluster->newest; group; group = group->older)
		count++;
	return count;
}

TEST(nodes_that_look_alike_are_one_group)
{
	struct strata_cluster *cluster = sample_cluster((struct strata_spec){ 0 }, NULL);

	sample_nodes(cluster, 100, 8);
	CHECK_INT(group_count(cluster), 1);
	CHECK_INT(cluster->node_type_count, 1);
	sample_nodes(cluster, 100, 4);
	CHECK_INT(group_count(cluster), 2);
	struct strata_piece piece = sample_take(cluster, 7, (struct strata_need){ .cpu_milli = 1 });

	CHECK_INT(group_count(cluster), 3);
	struct strata_piece other = sample_take(cluster, 9, (struct strata_need){ .cpu_milli = 1 });

	CHECK_INT(group_count(cluster), 3);
	CHECK(cluster->nodes[7].group == cluster->nodes[9].group);
	sample_give(cluster, &piece);
	sample_give(cluster, &other);
	CHECK_INT(group_count(cluster), 2);
	CHECK(cluster->nodes[7].group == cluster->nodes[99].group);
	CHECK_INT(tree_count(&cluster->nodes[7].group->nodes), 100);
	sample_free(cluster);
}

TEST(groups_are_chained_by_when_they_last_gained_a_node)
{
	struct strata_cluster *cluster = sample_cluster((struct strata_spec){ 0 }, NULL);
	uint64_t seed = 3, version;
	struct strata_piece pieces[50] = { 0 };

	sample_nodes(cluster, 50, 8);
	for (int step = 0; step < 3000; step++) {
		uint32_t row = (uint32_t)random_below(&seed, 50);

		version = cluster->version;
		if (pieces[row].cpu_milli) {
			sample_give(cluster, &pieces[row]);
			pieces[row].cpu_milli = 0;
		} else {
			struct strata_need need = { 1 + (int64_t)random_below(&seed, 3), 0,
						    (uint32_t)random_below(&seed, 3), 0 };

			pieces[row] = sample_take(cluster, row, need);
		}
		CHECK(cluster->version > version);
		CHECK(cluster->nodes[row].group == cluster->newest);
		for (const struct node_group *group = cluster->newest; group;
		     group = group->older) {
			CHECK(!group->older || group->older->changed < group->changed);
			CHECK(tree_count(&group->nodes) > 0);
		}
	}
	sample_free(cluster);
}

TEST(bad_nodes_are_refused_and_change_nothing)
{
	struct strata_cluster *cluster = sample_cluster((struct strata_spec){ 0 }, NULL);
	struct strata_node_conf node = { .name = "a", .gpu_count = STRATA_NODE_GPUS_MAX };
	struct strata_job_request request = {
		.id = 1, .user = "u", .tasks = 1, .time_limit_ns = 1
	};
	uint32_t row = 77;

	CHECK_OK(strata_cluster_add_node(cluster, &node, &row, &err));
	CHECK_INT(row, 0);
	row = 77;
	node.gpu_count++;
	CHECK_ERROR(strata_cluster_add_node(cluster, &node, &row, &err), -ERANGE,
		    "node a has 17 GPUs; expected at most 16");
	node = (struct strata_node_conf){ .name = "a", .cpu_milli = -1 };
	CHECK_ERROR(strata_cluster_add_node(cluster, &node, &row, &err), -ERANGE,
		    "below 0");
	node = (struct strata_node_conf){ .name = "" };
	CHECK_ERROR(strata_cluster_add_node(cluster, &node, &row, &err), -EINVAL, "no name");
	CHECK_OK(strata_cluster_submit(cluster, &request, 0, &err));
	node.name = "late";
	CHECK_ERROR(strata_cluster_add_node(cluster, &node, &row, &err), -EBUSY,
		    "node late comes after the first job");
	CHECK_INT(row, 77);
	CHECK_INT(cluster->node_count, 1);
	sample_free(cluster);
}

static int add_forty(struct strata_memory *memory, void *context, struct strata_error *error)
{
	struct strata_cluster_conf conf = { 0 };
	struct strata_cluster *cluster = NULL;
	int rc = strata_cluster_new(&conf, memory, &cluster, error);

	(void)context;
	for (uint32_t i = 0; rc == 0 && i < 40; i++) {
		char name[16];
		struct strata_node_conf node = { .name = name, .cpu_milli = i % 20 };

		snprintf(name, sizeof(name), "n%u", i);
		rc = strata_cluster_add_node(cluster, &node, NULL, error);
		if (rc && cluster->node_count != i)
			test_fail(__FILE__, __LINE__, "half a node was added");
	}
	strata_cluster_free(cluster);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(add_forty, NULL);
}
