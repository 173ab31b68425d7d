#include "small_cluster.h"

TEST(the_same_history_gives_the_same_number)
{
	uint64_t digests[3];

	for (int i = 0; i < 3; i++) {
		small_open("fair_share", "easy", 2, 4);
		small_submit(small_request(1, 4, 100), 0);
		small_submit(small_request(2, 4, i == 2 ? 101 : 100), 0);
		CHECK_TEXT(small_pass(0), "1 2");
		small_end(1, 10);
		digests[i] = strata_cluster_digest(small);
		small_close();
	}
	CHECK(digests[0] == digests[1]);
	CHECK(digests[0] != digests[2]);
}
