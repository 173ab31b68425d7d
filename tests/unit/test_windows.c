#include "test.h"

#include "sim/windows.h"

#include <errno.h>
#include <stdio.h>

static struct strata_error err;

TEST(windows_are_read)
{
	struct windows windows = { .length = 9 };

	CHECK_OK(windows_parse("0,5000:1024", &windows, &err));
	CHECK_INT(windows.count, 2);
	CHECK_INT(windows.starts[1], 5000);
	CHECK_INT(windows.length, 1024);
	CHECK_OK(windows_fit(&windows, 6024, &err));
	CHECK_ERROR(windows_fit(&windows, 6023, &err), -EINVAL, "from 5000");
	CHECK_ERROR(windows_parse("0,5000", &windows, &err), -EINVAL, "'0,5000'");
	CHECK_ERROR(windows_parse("0,x:7", &windows, &err), -EINVAL, "indices");
	CHECK_ERROR(windows_parse("0:0", &windows, &err), -EINVAL, "expected I,I,…:N");
	CHECK_INT(windows.length, 1024); /* untouched */
}

TEST(there_are_so_many_at_most)
{
	for (int more = 0; more < 2; more++) {
		char text[1000];
		size_t length = 0;
		struct windows windows;

		for (int i = 0; i < WINDOWS_MAX + more; i++)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%d",
						   i ? "," : "", i);
		snprintf(text + length, sizeof(text) - length, ":5");
		CHECK_INT(windows_parse(text, &windows, &err), more ? -EINVAL : 0);
	}
}

TEST(means_are_meant_and_the_largest_are_kept)
{
	struct windows windows = { .count = 2 };
	struct metrics total = { 0 };
	struct metrics one = { .jobs = 10,
			       .mean_wait_s = 4,
			       .max_wait_s = 9,
			       .avg_bsld = 3,
			       .utilization = 0.5,
			       .user_max_bsld = 7,
			       .worst_user = 1 };
	struct metrics two = { .jobs = 20,
			       .mean_wait_s = 8,
			       .max_wait_s = 5,
			       .avg_bsld = 1,
			       .utilization = 1,
			       .user_max_bsld = 6,
			       .worst_user = 2 };

	windows_add(&windows, &one, &total);
	windows_add(&windows, &two, &total);
	CHECK_INT(total.jobs, 30);
	CHECK_NEAR(total.mean_wait_s, 6, 0);
	CHECK_NEAR(total.avg_bsld, 2, 0);
	CHECK_NEAR(total.max_wait_s, 9, 0);
	CHECK_NEAR(total.utilization, 0.75, 0);
	CHECK_INT(total.worst_user, 1);
}
