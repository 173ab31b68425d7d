#include "test.h"

#include "server/history_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)

static struct strata_memory memory;
static struct report report;
static struct strata_error err;

static struct store_job sample(const char *user, int64_t wait_s, int64_t hours)
{
	return (struct store_job){ .user = user,
				   .state = "completed",
				   .band = 1,
				   .gpu_count = 2,
				   .cpu_cores = 4,
				   .memory_bytes = INT64_C(8) << 30,
				   .created_ns = HOUR,
				   .started_ns = HOUR + wait_s * SECOND,
				   .completed_ns = HOUR + wait_s * SECOND + hours * HOUR,
				   .time_limit_ns = 10 * HOUR,
				   .user_ns = hours * HOUR,
				   .memory_peak_bytes = INT64_C(2) << 30 };
}

static double number(const json_t *json, const char *path)
{
	char key[40];

	for (; *path; path += strcspn(path, "."), path += *path == '.') {
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(path, "."), path);
		json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key))
					   : json_object_get(json, key);
	}
	return json_number_value(json);
}

TEST(waits_are_told_by_class)
{
	report_init(&report, &memory, 100 * HOUR);
	for (int i = 1; i <= 10; i++) {
		struct store_job job = sample("ann", i * 60, 1);

		CHECK_OK(report_add(&report, &job, &err));
		job.partition = "gpu";
		job.eligible_ns = job.started_ns - SECOND; /* it waited for others before */
		CHECK_OK(report_add(&report, &job, &err));
	}
	json_t *json = report_view(&report);

	CHECK_INT(number(json, "jobs"), 20);
	CHECK_TEXT(json_string_value(json_object_get(
			   json_array_get(json_object_get(json, "waits"), 1), "class")),
		   "partition gpu");
	CHECK_NEAR(number(json, "waits.0.median_s"), 300, 20);
	CHECK_NEAR(number(json, "waits.0.longest_s"), 600, 0);
	CHECK_NEAR(number(json, "waits.1.p90_s"), 1, 0.05);
	CHECK_NEAR(number(json, "all_waits.jobs"), 20, 0);
	json_decref(json);
	report_fini(&report);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_was_asked_for_is_compared_with_what_was_used)
{
	struct store_job ann = sample("ann", 0, 2), bob = sample("bob", 0, 1);

	report_init(&report, &memory, 100 * HOUR);
	bob.state = "failed"; /* its time limit says nothing about its run time */
	bob.user_ns = 0;      /* not measured */
	CHECK_OK(report_add(&report, &ann, &err));
	CHECK_OK(report_add(&report, &bob, &err));
	json_t *json = report_view(&report);

	CHECK_NEAR(number(json, "waste.cpu.asked_hours"), 8, 1e-9);
	CHECK_NEAR(number(json, "waste.cpu.used_hours"), 2, 1e-9);
	CHECK_NEAR(number(json, "waste.memory.asked_hours"), 24, 1e-9);
	CHECK_NEAR(number(json, "waste.memory.used_hours"), 6, 1e-9);
	CHECK_NEAR(number(json, "waste.time.asked_hours"), 10, 1e-9);
	CHECK_NEAR(number(json, "waste.time.used_hours"), 2, 1e-9);
	CHECK_NEAR(number(json, "users.1.memory.asked_hours"), 8, 1e-9);
	CHECK_INT(number(json, "failed"), 1);
	json_decref(json);
	report_fini(&report);
}

TEST(what_waits_is_summed_up)
{
	struct store_job job = sample("ann", 0, 1);

	report_init(&report, &memory, 100 * HOUR);
	report_add_waiting(&report, &job);
	report_add_waiting(&report, &job);
	json_t *json = report_view(&report);

	CHECK_INT(number(json, "waiting.jobs"), 2);
	CHECK_NEAR(number(json, "waiting.gpu_hours"), 40, 1e-9);
	CHECK_NEAR(number(json, "waiting.cpu_hours"), 80, 1e-9);
	json_decref(json);
	report_fini(&report);
}

TEST(lack_of_memory_is_told)
{
	struct store_job job = sample("ann", 5, 1);

	for (uint64_t at = 1; at < 20; at++) {
		report_init(&report, &memory, 100 * HOUR);
		memory.fail_at = memory.calls + at;
		int rc = report_add(&report, &job, &err);

		memory.fail_at = 0;
		CHECK(rc == 0 || rc == -12);
		report_fini(&report);
		CHECK_INT(memory.used_bytes, 0);
	}
}
