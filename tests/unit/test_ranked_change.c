#include "test.h"

#include "core/ranked.h"
#include "random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;

TEST(a_queue_that_is_appended_to_stays_packed)
{
	struct ranked set;
	size_t slots;

	ranked_init(&set, &memory, RANKED_WEIGHTS);
	for (uint64_t i = 0; i < 100000; i++)
		CHECK_INT(ranked_insert(&set, &(struct ranked_key){ .key = i, .serial = i }, 1, 0),
			  0);
	slots = (size_t)set.leaves.count * 32;
	CHECK(slots < 105000);
	/* As a queue goes: the first leaves, one comes behind the last. */
	for (uint64_t i = 0; i < 100000; i++) {
		struct ranked_key first = *ranked_first(&set);

		CHECK_INT(first.key, i);
		ranked_remove(&set, &first);
		CHECK_INT(ranked_insert(&set,
					&(struct ranked_key){ .key = 100000 + i, .serial = i }, 1,
					0),
			  0);
	}
	CHECK((size_t)set.leaves.count * 32 < 105000);
	CHECK_INT(set.sum, 100000);
	ranked_fini(&set);
}

TEST(what_is_taken_out_at_random_leaves_no_hollow_tree)
{
	static uint64_t order[100000];
	uint64_t seed = 5;
	struct ranked set;

	ranked_init(&set, &memory, RANKED_KEYS);
	for (uint64_t i = 0; i < 100000; i++) {
		order[i] = i;
		CHECK_INT(ranked_insert(&set, &(struct ranked_key){ .key = i }, 0, 0), 0);
	}
	for (uint64_t i = 99999; i > 0; i--) {
		uint64_t other = random_below(&seed, i + 1), swapped = order[i];

		order[i] = order[other];
		order[other] = swapped;
	}
	for (uint64_t i = 0; i < 90000; i++)
		ranked_remove(&set, &(struct ranked_key){ .key = order[i] });
	CHECK_INT(set.count, 10000);
	CHECK((size_t)set.leaves.count * 32 < 4 * set.count);
	ranked_fini(&set);
}

static int fill(struct strata_memory *from, void *context, struct strata_error *ret_err)
{
	struct ranked set;
	int rc = 0;

	(void)context;
	ranked_init(&set, from, RANKED_LIMITS);
	for (uint64_t i = 0; rc == 0 && i < 3000; i++) {
		size_t count = set.count;

		rc = ranked_insert(&set, &(struct ranked_key){ .key = i * 7919 % 3000 }, 1, 5);
		if (rc)
			CHECK_INT(set.count, count);
	}
	for (uint64_t i = 0; rc == 0 && i < 3000; i++)
		CHECK_INT(ranked_rank(&set, &(struct ranked_key){ .key = i }, NULL), i);
	ranked_fini(&set);
	return rc ? strata_fail_memory(ret_err) : 0;
}

TEST(fails_cleanly_without_memory)
{
	test_every_allocation(fill, NULL);
}
