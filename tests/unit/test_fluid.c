/* The estimate of who has done how much when all are served side by side, against adding it up one
 * by one. */
#include "test.h"

#include "pool/pool_int.h"
#include "random.h"

TEST(it_adds_up_to_what_it_says)
{
	enum { MEMBERS = 200 };
	static struct fluid fluid;
	static struct fluid_member members[MEMBERS];
	uint64_t seed = 1;

	for (int i = 0; i < 5000; i++) {
		struct fluid_member *member = &members[random_below(&seed, MEMBERS)];
		double tasks = (double)random_below(&seed, 30);

		fluid_change(&fluid, member,
			     (struct fluid_member){
				     tasks, tasks * (double)(1 + random_below(&seed, 100000)),
				     (double)(1 + random_below(&seed, 5)) });
	}
	for (double service = 1; service < 1e8; service *= 3) {
		double tasks = 0, work = 0;

		for (int i = 1; i < MEMBERS; i++) {
			double own = members[i].work / members[i].weight;
			double part = own > service ? service / own : 1;

			tasks += part * members[i].tasks;
			work += part * members[i].work;
		}
		struct fluid_sum sum = fluid_served(&fluid, service, &members[0]);

		CHECK_NEAR(sum.tasks, tasks, sum.error + 1e-6 * tasks);
		if (sum.error == 0)
			CHECK_NEAR(sum.work, work, 1e-6 * work);
	}
	for (int i = 0; i < MEMBERS; i++)
		fluid_change(&fluid, &members[i], (struct fluid_member){ 0, 0, 1 });
	CHECK_INT(fluid.members, 0);
	CHECK_NEAR(fluid_served(&fluid, 1e9, &members[0]).tasks, 0, 0); /* nothing is left over */
}

TEST(tasks_that_cost_nothing_are_done_at_once)
{
	struct fluid fluid = { 0 };
	struct fluid_member one = { 0 }, other = { 0 };

	fluid_change(&fluid, &one, (struct fluid_member){ 5, 0, 1 });
	fluid_change(&fluid, &other, (struct fluid_member){ 3, 1e30, 1 });
	CHECK_NEAR(fluid_served(&fluid, 100, &(struct fluid_member){ 0 }).tasks, 5, 1e-9);
	CHECK_NEAR(fluid_served(&fluid, 1e31, &(struct fluid_member){ 0 }).tasks, 8, 3);
}
