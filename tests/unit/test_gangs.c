#include "test.h"

#include "server/gangs.h"

static struct decider decider; /* of which only the table is used */

TEST(a_gang_has_the_number_of_its_first_job)
{
	struct strata_error err;
	uint64_t number;

	map_text_init(&decider.gangs, &decider.memory);
	CHECK_OK(gangs_find(&decider, "ada", "g", 7, &number, &err));
	CHECK_INT(number, 7);
	CHECK_OK(gangs_find(&decider, "ada", "g", 8, &number, &err));
	CHECK_INT(number, 7);
	CHECK_OK(gangs_find(&decider, "bob", "g", 9, &number, &err)); /* another's */
	CHECK_INT(number, 9);
	CHECK_OK(gangs_put(&decider, "cy", "h", 3, &err));
	CHECK_OK(gangs_find(&decider, "cy", "h", 10, &number, &err));
	CHECK_INT(number, 3);
	map_text_fini(&decider.gangs);
	CHECK_INT(decider.memory.used_bytes, 0);
}

static int find(struct strata_memory *memory, void *context, struct strata_error *err)
{
	uint64_t number = 0;

	(void)context;
	decider.memory = *memory;
	map_text_init(&decider.gangs, &decider.memory);
	int rc = gangs_find(&decider, "ada", "g", 7, &number, err);

	test_result_int((int64_t)number);
	map_text_fini(&decider.gangs);
	*memory = decider.memory;
	CHECK_INT(number, rc ? 0 : 7);
	return rc;
}

TEST(without_memory_there_is_no_gang)
{
	test_every_allocation(find, NULL);
}
