#include "small_cluster.h"

#include <errno.h>

static struct strata_kept kept[4];

static struct strata_advance from_to(const char *name, uint32_t node_count, int64_t from_s,
				     int64_t to_s)
{
	for (uint32_t row = 0; row < node_count; row++)
		kept[row] = (struct strata_kept){ row, 0 };
	return (struct strata_advance){ .name = name,
					.begin_ns = from_s * SECOND,
					.end_ns = to_s * SECOND,
					.kept = kept,
					.kept_count = node_count };
}

static void reserve(struct strata_advance advance)
{
	CHECK_OK(strata_cluster_reserve(small, &advance, &err));
}

static enum strata_reason reason_of(uint64_t id)
{
	struct strata_job_view view;

	CHECK_OK(strata_cluster_job(small, id, &view, &err));
	return view.reason;
}

static int64_t promised_s(uint64_t id)
{
	struct strata_job_view view;

	CHECK_OK(strata_cluster_job(small, id, &view, &err));
	return view.promised_ns / SECOND;
}

TEST(a_job_that_would_still_run_waits_until_the_reservation_is_over)
{
	small_open("fifo", "easy", 1, 0);
	reserve(from_to("maintenance", 1, 100, 200));
	small_submit(small_request(1, 1, 101), 0);
	small_submit(small_request(2, 1, 100), 0);
	CHECK_TEXT(small_pass(0), "2"); /* it has ended when that begins */
	CHECK_INT(reason_of(1), STRATA_REASON_RESERVED);
	CHECK_INT(promised_s(1), 200);
	CHECK_INT(strata_cluster_next_ns(small), 100 * SECOND);
	CHECK_TEXT(small_pass(199), "");
	CHECK_TEXT(small_pass(200), "1");
	small_close();
}

TEST(other_nodes_go_on_as_ever)
{
	small_open("fifo", "easy", 2, 0);
	reserve(from_to("maintenance", 1, 100, 200));
	small_submit(small_request(1, 1, 1000), 0);
	CHECK_TEXT(small_pass(0), "1");
	struct strata_job_view view;

	CHECK_OK(strata_cluster_job(small, 1, &view, &err));
	CHECK_INT(view.pieces[0].node, 1);
	small_close();
}

TEST(those_whom_it_is_for_may_start_at_any_time)
{
	struct strata_advance advance = from_to("course", 1, 100, 200);

	small_open("fifo", "easy", 1, 0);
	advance.users = "eve,ann";
	reserve(advance);
	small_submit(small_request(1, 1, 1000), 0); /* ann's */
	struct strata_job_request other = small_request(2, 1, 1000);

	other.user = "bob";
	small_submit(other, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(reason_of(2), STRATA_REASON_RESERVED);
	advance = from_to("course", 1, 100, 200);
	advance.accounts = "lab";
	reserve(advance); /* for others now */
	CHECK_OK(strata_cluster_set_account(small, "lab", NULL, 1, NULL, &err));
	CHECK_OK(strata_cluster_set_account(small, "vision", "lab", 1, NULL, &err));
	other.id = 3;
	other.account = "vision"; /* below it */
	small_submit(other, 0);
	CHECK_TEXT(small_pass(1), "3");
	small_close();
}

TEST(some_gpus_are_reserved_and_the_others_are_used)
{
	struct strata_job_request request = small_request(1, 1, 1000);

	small_open("fifo", "easy", 1, 4);
	kept[0] = (struct strata_kept){ 0, 3 };
	struct strata_advance advance = { .name = "course",
					  .begin_ns = 100 * SECOND,
					  .end_ns = 200 * SECOND,
					  .kept = kept,
					  .kept_count = 1 };

	reserve(advance);
	request.gpus = 3;
	small_submit(request, 0);
	request.id = 2;
	request.gpus = 2;
	small_submit(request, 0);
	request.id = 3;
	request.gpus = 0;
	request.gpu_milli = 500;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), ""); /* who is behind does not delay the first */
	CHECK_OK(strata_cluster_cancel(small, 1, 0, &err));
	CHECK_TEXT(small_pass(0), "2");
	struct strata_job_view view;

	CHECK_OK(strata_cluster_job(small, 2, &view, &err));
	CHECK_INT(view.pieces[0].gpu_mask, 12);
	CHECK_TEXT(small_pass(200), "3");
	small_close();
}

TEST(whole_nodes_are_not_given_where_a_part_is_reserved)
{
	struct strata_job_request request = small_request(1, 1, 1000);

	small_open("fifo", "easy", 1, 4);
	kept[0] = (struct strata_kept){ 0, 1 };
	reserve((struct strata_advance){ .name = "one",
					 .begin_ns = 10 * SECOND,
					 .end_ns = 20 * SECOND,
					 .kept = kept,
					 .kept_count = 1 });
	request.exclusive = true;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_INT(promised_s(1), 20);
	CHECK_TEXT(small_pass(20), "1");
	small_close();
}

TEST(repeated_ones_come_again)
{
	struct strata_advance advance = from_to("nightly", 1, 100, 110);

	small_open("fifo", "easy", 1, 0);
	advance.every_ns = 100 * SECOND;
	reserve(advance);
	small_submit(small_request(1, 8, 60), 50);
	CHECK_TEXT(small_pass(50), "");
	CHECK_INT(promised_s(1), 110);
	CHECK_TEXT(small_pass(110), "1");
	CHECK_OK(strata_cluster_ended(small, 1, STRATA_OUTCOME_COMPLETED, 170 * SECOND, &err));
	small_submit(small_request(2, 8, 31), 170);
	CHECK_TEXT(small_pass(170), "");
	CHECK_INT(promised_s(2), 210);
	small_submit(small_request(3, 8, 30), 170);
	CHECK_TEXT(small_pass(170), "3");
	small_submit(small_request(4, 8, 91), 170); /* longer than there is between two */
	CHECK_OK(strata_cluster_cancel(small, 2, 171 * SECOND, &err));
	CHECK_OK(strata_cluster_ended(small, 3, STRATA_OUTCOME_COMPLETED, 172 * SECOND, &err));
	CHECK_TEXT(small_pass(172), "");
	CHECK_INT(reason_of(4), STRATA_REASON_RESERVED);
	small_close();
}

TEST(what_waits_for_several_nodes_is_planned_around_it)
{
	struct strata_job_request request = small_request(1, 8, 50);

	for (int i = 0; i < 2; i++) {
		small_open("fifo", i ? "conservative" : "easy", 3, 0);
		reserve(from_to("maintenance", 1, 40, 60));
		request.id = 1;
		request.tasks = request.nodes = 3;
		small_submit(request, 0);
		request.id = 2;
		request.tasks = request.nodes = 2;
		small_submit(request, 0);
		CHECK_TEXT(small_pass(0), "2"); /* gone before the first may have all three */
		CHECK_INT(promised_s(1), 60);
		CHECK_OK(strata_cluster_ended(small, 2, STRATA_OUTCOME_COMPLETED, 50 * SECOND,
					      &err));
		CHECK_TEXT(small_pass(50), "");
		CHECK_TEXT(small_pass(60), "1");
		small_close();
	}
}

TEST(nobody_is_stopped_for_a_node_that_is_reserved)
{
	struct strata_job_request request = small_request(1, 8, 1000);

	small_victims = "lowest:grace=1:protect=0";
	small_open("fifo", "easy", 1, 0);
	small_victims = NULL;
	request.band = STRATA_BAND_LOW;
	request.preemptible = request.requeue = true;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	reserve(from_to("maintenance", 1, 100, 200));
	request.id = 2;
	request.band = STRATA_BAND_HIGH;
	small_submit(request, 1);
	CHECK_TEXT(small_pass(1), "");
	CHECK_OK(strata_cluster_unreserve(small, "maintenance", &err));
	CHECK_TEXT(small_pass(2), "stop:1");
	small_close();
}

TEST(a_gang_starts_beside_it_or_after_it)
{
	struct strata_job_request request = small_request(1, 8, 50);

	small_open("fifo", "easy", 2, 0);
	reserve(from_to("maintenance", 1, 40, 60));
	request.gang = 1;
	request.gang_size = 2;
	small_submit(request, 0);
	request.id = 2;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_TEXT(small_pass(60), "1 2");
	small_close();
}

TEST(a_frozen_job_goes_on_after_it)
{
	struct strata_job_request request = small_request(1, 8, 100);

	small_open("fifo", "easy", 1, 0);
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_stop(small, 1, STRATA_STOP_SUSPEND, 10 * SECOND, &err));
	CHECK_TEXT(small_pass(10), "stop:1");
	CHECK_OK(strata_cluster_ended(small, 1, STRATA_OUTCOME_STOPPED, 10 * SECOND, &err));
	reserve(from_to("maintenance", 1, 50, 60));
	CHECK_TEXT(small_pass(11), "");
	CHECK_OK(strata_cluster_hold(small, 1, false, 12 * SECOND, &err));
	CHECK_TEXT(small_pass(12), "");
	CHECK_TEXT(small_pass(60), "resume:1");
	small_close();
}

TEST(a_search_among_repeated_ones_ends_also_beside_a_frozen_job)
{
	struct strata_job_request request = small_request(1, 1, 100);

	small_open("fifo", "conservative", 2, 0);
	request.memory_bytes = INT64_C(1) << 30;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_stop(small, 1, STRATA_STOP_SUSPEND, 1 * SECOND, &err));
	CHECK_TEXT(small_pass(1), "stop:1");
	CHECK_OK(strata_cluster_ended(small, 1, STRATA_OUTCOME_STOPPED, 1 * SECOND, &err));
	CHECK_OK(strata_cluster_hold(small, 1, true, 1 * SECOND, &err));
	for (uint32_t row = 0; row < 2; row++) { /* never both at a time */
		struct strata_advance advance =
			from_to(row ? "odd" : "even", 1, 100 + 50 * row, 150 + 50 * row);

		advance.every_ns = 100 * SECOND;
		kept[0].node = row;
		reserve(advance);
	}
	request = small_request(2, 8, 10);
	request.tasks = request.nodes = 2;
	small_submit(request, 100);
	CHECK_TEXT(small_pass(100), "");
	struct strata_job_view view;

	CHECK_OK(strata_cluster_job(small, 2, &view, &err));
	CHECK_INT(view.promised_ns, STRATA_TIME_NONE);
	small_close();
}

TEST(what_makes_no_sense_is_refused)
{
	small_open("fifo", "easy", 1, 2);
	struct strata_advance advance = from_to("", 1, 100, 200);

	CHECK_INT(strata_cluster_reserve(small, &advance, &err), -EINVAL);
	advance = from_to("a", 1, 100, 100);
	CHECK_INT(strata_cluster_reserve(small, &advance, &err), -EINVAL);
	CHECK_TEXT(err.text, "reservation a does not end after its beginning");
	advance = from_to("a", 0, 100, 200);
	CHECK_INT(strata_cluster_reserve(small, &advance, &err), -EINVAL);
	advance = from_to("a", 1, 100, 200);
	advance.every_ns = 99 * SECOND;
	CHECK_INT(strata_cluster_reserve(small, &advance, &err), -EINVAL);
	advance.every_ns = 100 * SECOND;
	CHECK_INT(strata_cluster_reserve(small, &advance, &err), 0);
	advance.every_ns = 0;
	kept[0].node = 1;
	CHECK_INT(strata_cluster_reserve(small, &advance, &err), -ENOENT);
	kept[0] = (struct strata_kept){ 0, 7 };
	CHECK_INT(strata_cluster_reserve(small, &advance, &err), -ERANGE);
	kept[0].gpu_mask = 3;
	CHECK_INT(strata_cluster_reserve(small, &advance, &err), 0);
	CHECK_INT(strata_cluster_unreserve(small, "b", &err), -ENOENT);
	CHECK_INT(strata_cluster_unreserve(small, "a", &err), 0);
	small_close();
}

static void with_failing_memory(void *context)
{
	struct strata_advance advance = from_to("a", 1, 100, 200);
	uint64_t before = strata_cluster_digest(small);

	(void)context;
	if (strata_cluster_reserve(small, &advance, &err) != 0)
		CHECK(strata_cluster_digest(small) == before);
	else
		CHECK_INT(strata_cluster_unreserve(small, "a", &err), 0);
}

TEST(without_memory_nothing_is_reserved)
{
	small_open("fifo", "easy", 1, 0);
	small_memory.fail_at = small_memory.calls + 1;
	with_failing_memory(NULL);
	small_memory.fail_at = 0;
	with_failing_memory(NULL);
	small_close();
}
