#include "test.h"

#include "worker/worker_caps.h"

static struct worker_caps caps;

static void note(uint64_t key, size_t together, int64_t ns, int times)
{
	for (int i = 0; i < times; i++)
		worker_caps_note(&caps, key, together, ns);
}

TEST(as_many_together_as_pay)
{
	caps = (struct worker_caps){ 0 };
	CHECK_INT(worker_caps_most(&caps, 7), 0);
	note(7, 1, 1000, 8);
	note(7, 4, 3000, 8);
	CHECK_INT(worker_caps_most(&caps, 7), 0); /* four are better than one: more may be, too */
	note(7, 8, 8000, 7);
	CHECK_INT(worker_caps_most(&caps, 7), 0); /* not yet sure */
	note(7, 8, 9000, 1);
	CHECK_INT(worker_caps_most(&caps, 7), 4);
	note(7, 6, 4700, 8); /* 783 each: within 5 % of 750 */
	CHECK_INT(worker_caps_most(&caps, 7), 6);
	CHECK_INT(worker_caps_most(&caps, 8), 0); /* of another shape nothing is known */
	note(8, 2, 3000, 8);
	note(8, 1, 1000, 8);
	CHECK_INT(worker_caps_most(&caps, 8), 1);
}

TEST(the_quickest_call_counts)
{
	caps = (struct worker_caps){ 0 };
	note(7, 1, 1000, 8);
	note(7, 2, 9000, 50); /* somebody else was busy */
	CHECK_INT(worker_caps_most(&caps, 7), 1);
	note(7, 2, 1500, 1);
	CHECK_INT(worker_caps_most(&caps, 7), 0);
}

TEST(what_does_not_fit_is_not_tried_again)
{
	caps = (struct worker_caps){ 0 };
	worker_caps_misfit(&caps, 7, 8);
	CHECK_INT(worker_caps_most(&caps, 7), 7);
	worker_caps_misfit(&caps, 7, 12);
	CHECK_INT(worker_caps_most(&caps, 7), 7);
	worker_caps_misfit(&caps, 7, 4);
	CHECK_INT(worker_caps_most(&caps, 7), 3);
	worker_caps_misfit(&caps, 7, 1); /* one has to */
	CHECK_INT(worker_caps_most(&caps, 7), 3);
	worker_caps_misfit(&caps, 8, 2);
	CHECK_INT(worker_caps_most(&caps, 8), 1);
	note(7, 1, 1000, 8);
	note(7, 2, 3000, 8);
	CHECK_INT(worker_caps_most(&caps, 7), 1);
}

TEST(it_is_learned_anew_after_a_while_and_has_an_end)
{
	caps = (struct worker_caps){ 0 };
	note(7, 1, 1000, 8);
	note(7, 2, 3000, WORKER_CAPS_CALLS_MAX - 8);
	CHECK_INT(worker_caps_most(&caps, 7), 1);
	note(7, 1, 1000, 1);
	CHECK_INT(worker_caps_most(&caps, 7), 0);
	for (uint64_t key = 100; key < 100 + 3 * WORKER_CAPS_SHAPES; key++) {
		note(key, 1, 1000, 8);
		note(key, 2, 3000, 8);
		CHECK_INT(worker_caps_most(&caps, key), 1);
	}
	CHECK_INT(caps.count, WORKER_CAPS_SHAPES);
	CHECK_INT(worker_caps_most(&caps, 7), 0);
	worker_caps_note(&caps, 7, 0, 5); /* nobody: nothing */
	worker_caps_note(&caps, 7, STRATA_BATCH_MAX + 1, 5);
	CHECK_INT(worker_caps_most(&caps, 7), 0);
}
