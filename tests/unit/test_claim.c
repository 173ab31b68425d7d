#include "small_cluster.h"

static struct job *find(uint64_t id)
{
	return map_u64_get(&small->jobs, id);
}

TEST(what_is_taken_is_given_back)
{
	struct spot spots[2];

	small_open("fifo", "none", 2, 8);
	small_submit(small_request(1, 2, 100), 0);
	for (uint32_t i = 0; i < 2; i++)
		spots[i] = (struct spot){ &small->nodes[i],
					  { .node = i,
					    .cpu_milli = 3000,
					    .memory_bytes = 1 << 30,
					    .gpu_mask = 0x3,
					    .gpu_milli = 1000 } };
	CHECK_INT(claim_take(small, find(1), spots, 2), 0);
	CHECK_INT(small->nodes[1].room.cpu_milli, 5000);
	CHECK_INT(small->metrics.gpu_milli_free, 12000);
	CHECK_INT(find(1)->association->user->gpu_milli, 4000);
	CHECK_INT(claim_pieces(find(1))[1].node, 1);
	claim_release(small, find(1));
	CHECK_INT(small->nodes[1].room.cpu_milli, 8000);
	CHECK_INT(small->metrics.gpu_milli_free, 16000);
	CHECK_INT(find(1)->association->user->gpu_milli, 0);
	CHECK(find(1)->association->rate == 0);
	small_close();
}

TEST(a_frozen_job_holds_its_memory_alone)
{
	struct strata_job_request request = small_request(1, 8, 100);

	small_open("fifo", "none", 1, 0);
	request.memory_bytes = INT64_C(60) << 30;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	claim_freeze(small, find(1));
	CHECK_INT(small->nodes[0].room.cpu_milli, 8000);
	CHECK_INT(small->nodes[0].room.memory_bytes, INT64_C(4) << 30);
	CHECK(claim_thaws(find(1)));
	small_submit(small_request(2, 1, 100), 1);
	CHECK_TEXT(small_pass(1), "2");
	CHECK(!claim_thaws(find(1)));
	claim_release(small, find(1));
	CHECK_INT(small->nodes[0].room.memory_bytes, INT64_C(64) << 30);
	/* it is in no state to be looked at further */
	find(1)->state = STRATA_JOB_CANCELLED;
	small_close();
}
