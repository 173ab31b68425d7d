#include "small_cluster.h"

#include <errno.h>

TEST(waiting_jobs_are_told_when_and_where)
{
	const struct strata_forecast *forecasts;
	struct strata_job_request request = small_request(3, 8, 50);
	size_t count;

	small_open("fifo", "easy", 2, 0);
	small_submit(small_request(1, 8, 100), 0);
	small_submit(small_request(2, 8, 200), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_submit(request, 10);
	request.id = 4;
	small_submit(request, 10);
	request.id = 5;
	request.cpu_milli = 9000; /* nowhere */
	small_submit(request, 10);
	CHECK_TEXT(small_pass(10), "");
	CHECK_OK(strata_cluster_forecast(small, 100, &small_arena, &forecasts, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(forecasts[0].job, 3);
	CHECK_INT(forecasts[0].start_ns, 100 * SECOND);
	CHECK_INT(forecasts[0].node, 0);
	CHECK(forecasts[0].promised); /* it is at the head */
	CHECK_INT(forecasts[1].job, 4);
	CHECK_INT(forecasts[1].start_ns, 150 * SECOND);
	CHECK(!forecasts[1].promised);
	CHECK_OK(strata_cluster_forecast(small, 1, &small_arena, &forecasts, &count, &err));
	CHECK_INT(count, 1);
	small_close();
}

/* Jobs of three kinds, submitted in turns, stand at one place of the order fifo. */
TEST(the_first_of_a_queue_are_foreseen_in_its_order)
{
	enum { JOBS = 30 };
	const struct strata_forecast *forecasts;
	size_t count;

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(100, 8, 1000), 0);
	CHECK_TEXT(small_pass(0), "100");
	for (uint64_t id = 1; id <= JOBS; id++)
		small_submit(small_request(id, 5 + (int)(id * 7 % 3), 50), (int)id);
	CHECK_TEXT(small_pass(JOBS), "");
	for (size_t most = 1; most <= JOBS + 1; most++) {
		CHECK_OK(strata_cluster_forecast(small, most, &small_arena, &forecasts, &count,
						 &err));
		CHECK_INT(count, most < JOBS ? most : JOBS);
		for (size_t i = 0; i < count; i++)
			CHECK_INT(forecasts[i].job, i + 1);
	}
	small_close();
}

TEST(who_is_at_a_limit_is_not_foreseen)
{
	const struct strata_forecast *forecasts;
	struct strata_job_request request = small_request(1, 1, 50);
	size_t count;

	small_open("fifo", "easy", 1, 0);
	request.array = 7;
	request.array_limit = 1;
	for (; request.id <= 3; request.id++, request.array_index++)
		small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_forecast(small, 100, &small_arena, &forecasts, &count, &err));
	CHECK_INT(count, 0);
	small_close();
}

TEST(another_may_have_a_jobs_place_in_the_queue)
{
	struct strata_job_request request = small_request(3, 8, 50);
	struct strata_forecast forecasts[3];
	const uint64_t others[] = { 6, 7, 99 };

	small_open("fifo", "easy", 2, 0);
	small_submit(small_request(1, 8, 100), 0);
	small_submit(small_request(2, 6, 200), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_submit(request, 10); /* gets the first node at 100 */
	request.id = 4;
	small_submit(request, 10); /* and this one at 150 */
	request.id = 5;
	small_submit(request, 10);
	request.id = 6; /* as 4, but for less */
	request.cpu_milli = 2000;
	small_submit(request, 10);
	request.id = 7;
	request.cpu_milli = 8000;
	small_submit(request, 10);
	CHECK_OK(strata_cluster_foresee(small, 4, others, 3, 100, &small_arena, forecasts, &err));
	CHECK_INT(forecasts[0].job, 6);
	CHECK_INT(forecasts[0].start_ns, 10 * SECOND); /* beside 2, at once */
	CHECK_INT(forecasts[0].node, 1);
	CHECK_INT(forecasts[1].start_ns, 150 * SECOND); /* in 4's place, whoever else waits */
	CHECK_INT(forecasts[2].start_ns, 0);            /* there is no such job */
	CHECK_OK(strata_cluster_foresee(small, 3, others, 2, 100, &small_arena, forecasts, &err));
	CHECK_INT(forecasts[1].start_ns, 100 * SECOND);
	const uint64_t itself = 5;

	CHECK_OK(strata_cluster_foresee(small, 5, &itself, 1, 3, &small_arena, forecasts, &err));
	CHECK_INT(forecasts[0].start_ns, 200 * SECOND);
	CHECK_ERROR(strata_cluster_foresee(small, 5, others, 2, 1, &small_arena, forecasts, &err),
		    -ESRCH, "job 5 cannot be foreseen");
	CHECK_ERROR(strata_cluster_foresee(small, 1, others, 2, 9, &small_arena, forecasts, &err),
		    -ESRCH, "job 1 cannot be foreseen");
	small_close();
}
