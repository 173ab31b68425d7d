/* Figures: Prometheus reads what is printed, and the buckets add up. */
#include "server/service_metrics.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static double value_of(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	double value = -1;

	if (at)
		sscanf(at + strlen(line), "%lf", &value);
	return value;
}

TEST(buckets_are_of_all_that_is_no_longer)
{
	struct strata_memory memory = { 0 };
	struct metrics metrics = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	metrics_time(&metrics, METRIC_PASS, 10000); /* on the edge: within */
	metrics_time(&metrics, METRIC_PASS, 10001);
	metrics_time(&metrics, METRIC_PASS, -5); /* a clock that went back */
	metrics_time(&metrics, METRIC_PASS, INT64_C(1000000000000));
	metrics_print(&metrics, &buf);
	CHECK_NEAR(value_of(buf.text, "\nstrata_pass_seconds_bucket{le=\"1e-05\"} "), 2, 0);
	CHECK_NEAR(value_of(buf.text, "\nstrata_pass_seconds_bucket{le=\"3e-05\"} "), 3, 0);
	CHECK_NEAR(value_of(buf.text, "\nstrata_pass_seconds_bucket{le=\"3\"} "), 3, 0);
	CHECK_NEAR(value_of(buf.text, "\nstrata_pass_seconds_bucket{le=\"+Inf\"} "), 4, 0);
	CHECK_NEAR(value_of(buf.text, "\nstrata_pass_seconds_count "), 4, 0);
	CHECK_NEAR(value_of(buf.text, "\nstrata_pass_seconds_sum "), 1000.000020001, 1e-9);
	CHECK_NEAR(value_of(buf.text, "\nstrata_store_seconds_count "), 0, 0);
	buf_fini(&buf);
}

TEST(answers_are_counted_by_class)
{
	static const int statuses[] = { 200, 201, 404, 503, 599, 99, 600, -1 };
	struct strata_memory memory = { 0 };
	struct metrics metrics = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		metrics_answer(&metrics, statuses[i]);
	metrics_print(&metrics, &buf);
	CHECK_NEAR(value_of(buf.text, "strata_http_requests_total{code=\"2xx\"} "), 2, 0);
	CHECK_NEAR(value_of(buf.text, "strata_http_requests_total{code=\"4xx\"} "), 1, 0);
	CHECK_NEAR(value_of(buf.text, "strata_http_requests_total{code=\"5xx\"} "), 2, 0);
	buf_fini(&buf);
}
