#include "small_cluster.h"

static const struct strata_forecast *apart_list;
static size_t apart_count;

/* "3@150 4@200+" in the order of the list; +: apart, ?: where is not known. */
static const char *apart_text(size_t most)
{
	static char text[256];
	size_t length = 0;

	CHECK_OK(strata_cluster_forecast(small, most, &small_arena, &apart_list, &apart_count,
					 &err));
	text[0] = '\0';
	for (size_t i = 0; i < apart_count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%llu@%lld%s%s",
					   i ? " " : "", (unsigned long long)apart_list[i].job,
					   (long long)(apart_list[i].start_ns / SECOND),
					   apart_list[i].apart ? "+" : "",
					   apart_list[i].node_count ? "" : "?");
	return text;
}

static void submit_after(uint64_t id, enum strata_dependency_kind kind, uint64_t target)
{
	struct strata_dependency dependency = { kind, target, false, 0 };
	struct strata_job_request request = small_request(id, 8, 50);

	request.dependencies = &dependency;
	request.dependency_count = 1;
	small_submit(request, 0);
}

TEST(a_begin_time_is_the_earliest_that_is_foreseen)
{
	struct strata_job_request request = small_request(2, 8, 50);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 8, 100), 0);
	request.begin_ns = 30 * SECOND;
	small_submit(request, 0);
	request.id = 3;
	request.begin_ns = 500 * SECOND;
	small_submit(request, 0);
	request.id = 4;
	request.cpu_milli = 9000; /* nowhere */
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(apart_text(100), "2@100+ 3@500+");
	CHECK_TEXT(apart_text(1), "2@100+"); /* the one that is looked at */
	small_close();
}

TEST(who_waits_for_others_is_foreseen_behind_them)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 8, 100), 0);
	small_submit(small_request(2, 8, 70), 0);
	submit_after(3, STRATA_AFTER_OK, 1); /* behind 2, which is in the queue */
	submit_after(4, STRATA_AFTER_ANY, 3);
	submit_after(5, STRATA_AFTER, 2);
	submit_after(6, STRATA_AFTER_NOT_OK, 1); /* who knows */
	submit_after(7, STRATA_AFTER_OK, 6);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(apart_text(100), "2@100 3@170+ 4@220+ 5@270+");
	/* one is planned, the others start at the earliest that they may: 2's start is 5's time */
	CHECK_TEXT(apart_text(1), "2@100 3@100+?");
	small_close();
}

TEST(all_or_any_of_several_are_waited_for)
{
	struct strata_dependency two[] = { { STRATA_AFTER_ANY, 1, false, 0 },
					   { STRATA_AFTER, 2, false, 20 * SECOND } };
	struct strata_job_request request = small_request(3, 1, 50);

	small_open("fifo", "easy", 3, 0);
	small_submit(small_request(1, 8, 100), 0);
	small_submit(small_request(2, 8, 300), 0);
	request.dependencies = two;
	request.dependency_count = 2;
	two[1].kind = STRATA_AFTER_OK;
	small_submit(request, 0);
	request.id = 4;
	request.any_dependency = true;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_TEXT(apart_text(100), "3@320+ 4@100+");
	small_close();
}

TEST(a_whole_array_and_a_series_are_waited_for)
{
	struct strata_dependency all = { STRATA_AFTER_OK, 1, true, 0 };
	struct strata_dependency alone = { .kind = STRATA_SINGLETON };
	struct strata_job_request request = small_request(1, 8, 100);

	small_open("fifo", "easy", 1, 0);
	request.array = 1;
	request.name = "one";
	small_submit(request, 0);
	request.id = 2;
	request.array_index = 1;
	small_submit(request, 0);
	request = small_request(3, 8, 50);
	request.dependencies = &all;
	request.dependency_count = 1;
	small_submit(request, 0);
	request.id = 4;
	request.name = "one";
	request.dependencies = &alone;
	small_submit(request, 0);
	request.id = 5;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(apart_text(100), "2@100 3@200+ 4@250+ 5@300+");
	small_close();
}
