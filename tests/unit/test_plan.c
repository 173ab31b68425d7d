#include "small_cluster.h"

#include "cluster/plan.h"

TEST(the_earliest_place_is_found_and_taken)
{
	struct plans plans;
	struct plan *plan;
	struct job *job;

	small_open("fifo", "none", 2, 0);
	small_submit(small_request(1, 6, 100), 0);
	job = map_u64_get(&small->jobs, 1);
	CHECK_INT(plans_init(&plans, small), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(plan_find(&plans, small, job, small->now_ns, 100 * SECOND, &small_arena,
				    &plan),
			  0);
		CHECK_INT(plan->start_ns, i < 2 ? 0 : 100 * SECOND); /* two nodes, then later */
		CHECK_INT(plan->spots[0].node->row, i % 2);
		CHECK_INT(plan_take(&plans, small, plan), 0);
	}
	plan_give(&plans, small, plan);
	CHECK_INT(plan_find(&plans, small, job, small->now_ns, 50 * SECOND, &small_arena, &plan),
		  0);
	CHECK_INT(plan->start_ns, 100 * SECOND);
	plans_fini(&plans, small);
	small_close();
}

TEST(what_fits_nowhere_has_no_plan)
{
	struct plans plans;
	struct plan *plan;

	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 6, 100), 0);
	CHECK_OK(strata_cluster_set_node(small, 0, STRATA_NODE_DOWN, 0, &err));
	CHECK_INT(plans_init(&plans, small), 0);
	CHECK_INT(plan_find(&plans, small, map_u64_get(&small->jobs, 1), small->now_ns, 1,
			    &small_arena, &plan),
		  0);
	CHECK(plan == NULL);
	plans_fini(&plans, small);
	small_close();
}
