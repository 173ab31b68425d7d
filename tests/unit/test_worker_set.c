#include "test.h"

#include "server/worker_set.h"

TEST(who_was_put_in_is_there_until_he_is_taken_out)
{
	struct worker_set set;

	worker_set_init(&set);
	CHECK(!worker_set_has(&set, 7));
	for (int64_t job = 1; job <= 1000; job++)
		CHECK_INT(worker_set_put(&set, job), 0);
	CHECK_INT(worker_set_put(&set, 7), 0);
	worker_set_remove(&set, 7);
	worker_set_remove(&set, 5000);
	CHECK(!worker_set_has(&set, 7) && !worker_set_has(&set, 1001));
	CHECK(worker_set_has(&set, 6) && worker_set_has(&set, 1000));
	worker_set_fini(&set);
}

static int fill(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct worker_set set;
	int rc = 0;

	(void)context;
	worker_set_init(&set);
	map_u64_init(&set.jobs, memory);
	for (int64_t job = 1; rc == 0 && job <= 100; job++) {
		rc = worker_set_put(&set, job);
		CHECK_INT(worker_set_has(&set, job), rc == 0);
	}
	worker_set_fini(&set);
	return rc ? strata_fail_memory(err) : 0;
}

TEST(without_memory_nobody_gets_in_by_half)
{
	CHECK(test_every_allocation(fill, NULL) >= 2);
}
