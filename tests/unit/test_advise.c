#include "test.h"

#include "sim/advise.h"

static struct metrics measured(double slowdown, double max_wait_s)
{
	return (struct metrics){ .avg_bsld = slowdown, .max_wait_s = max_wait_s };
}

TEST(the_lowest_slowdown_within_the_limit_is_chosen)
{
	const struct metrics metrics[] = { measured(90, 100), measured(50, 125), measured(40, 126),
					   measured(60, 10) };

	CHECK_INT(advise_choose(metrics, 4, 1.25), 1); /* at the limit, not past it */
	CHECK_INT(advise_choose(metrics, 4, 1.26), 2);
	CHECK_INT(advise_choose(metrics, 4, 1), 3);
	CHECK_INT(advise_choose(metrics, 3, 1), 0); /* nobody */
}

TEST(equal_ones_are_the_first_of_them)
{
	const struct metrics metrics[] = { measured(90, 100), measured(50, 100), measured(50, 90) };

	CHECK_INT(advise_choose(metrics, 3, 1), 1);
	CHECK_INT(advise_choose(metrics, 1, 1), 0);
}

TEST(a_schedule_is_split_by_the_arrivals_of_its_jobs)
{
	const size_t indices[] = { 0, 1, 4, 5, 9 }; /* others were impossible */

	CHECK_INT(advise_split(indices, 5, 5), 3);
	CHECK_INT(advise_split(indices, 5, 0), 0);
	CHECK_INT(advise_split(indices, 5, 10), 5);
}

TEST(what_others_are_measured_by_is_fifo_with_easy)
{
	CHECK(advise_policy_count > 2);
	CHECK_TEXT(advise_policies[0].order, "fifo");
	CHECK_TEXT(advise_policies[0].backfill, "easy");
	CHECK_TEXT(advise_policies[0].prediction, "requested");
}
