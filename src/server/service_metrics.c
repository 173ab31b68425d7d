/* Figures of the service: see service_metrics.h. */
#include "server/service_metrics.h"

#include <strata/text.h>

/* Each histogram has the buckets that tell its good from its bad days. */
static const struct {
	const char *name, *help;
	int64_t buckets_ns[METRIC_BUCKET_COUNT];
} times[METRIC_TIME_COUNT] = {
#define US INT64_C(1000)
#define MS STRATA_MS_NS
#define S STRATA_SECOND_NS
	[METRIC_PASS] = { "pass_seconds",
			  "how long the scheduler thought about who is next",
			  { 10 * US, 30 * US, 100 * US, 300 * US, MS, 3 * MS, 10 * MS, 30 * MS,
			    100 * MS, 300 * MS, S, 3 * S } },
	[METRIC_STORE] = { "store_seconds",
			   "how long transactions took",
			   { 100 * US, 300 * US, MS, 3 * MS, 10 * MS, 30 * MS, 100 * MS, 300 * MS,
			     S, 3 * S, 10 * S, 30 * S } },
	[METRIC_WAIT] = { "wait_seconds",
			  "how long jobs waited from their submission to a place",
			  { 100 * MS, S, 10 * S, 60 * S, 300 * S, 900 * S, 3600 * S, 10800 * S,
			    43200 * S, 86400 * S, 259200 * S, 604800 * S } },
	[METRIC_RUN] = { "run_seconds",
			 "how long jobs ran",
			 { 100 * MS, S, 10 * S, 60 * S, 300 * S, 900 * S, 3600 * S, 10800 * S,
			   43200 * S, 86400 * S, 259200 * S, 604800 * S } },
	[METRIC_HTTP] = { "http_seconds",
			  "from the head of a request to the end of its answer",
			  { 300 * US, MS, 3 * MS, 10 * MS, 30 * MS, 100 * MS, 300 * MS, S, 3 * S,
			    10 * S, 30 * S, 100 * S } },
	[METRIC_TASK_WAIT] = { "task_wait_seconds",
			       "how long generation tasks waited for their first step",
			       { 10 * MS, 100 * MS, S, 3 * S, 10 * S, 30 * S, 60 * S, 300 * S,
				 900 * S, 3600 * S, 10800 * S, 86400 * S } },
#undef US
#undef MS
#undef S
};

void metrics_time(struct metrics *metrics, enum metric_time which, int64_t ns)
{
	size_t at = 0;

	ns = ns < 0 ? 0 : ns;
	while (at < METRIC_BUCKET_COUNT && ns > times[which].buckets_ns[at])
		at++;
	atomic_fetch_add(&metrics->times[which].buckets[at], 1);
	atomic_fetch_add(&metrics->times[which].sum_ns, (uint64_t)ns);
}

void metrics_answer(struct metrics *metrics, int status)
{
	if (status >= 100 && status < 600)
		atomic_fetch_add(&metrics->answers[status / 100], 1);
}

static void print_head(struct buf *buf, const char *name, const char *type, const char *help)
{
	buf_printf(buf, "# HELP strata_%s %s\n# TYPE strata_%s %s\n", name, help, name, type);
}

void metrics_print_one(struct buf *buf, const char *name, const char *type, const char *help,
		       double value)
{
	print_head(buf, name, type, help);
	buf_printf(buf, "strata_%s %.17g\n", name, value);
}

static void print_time(const struct metrics *metrics, enum metric_time which, struct buf *buf)
{
	const char *name = times[which].name;
	uint64_t count = 0;

	print_head(buf, name, "histogram", times[which].help);
	for (size_t i = 0; i < METRIC_BUCKET_COUNT; i++) {
		count += atomic_load(&metrics->times[which].buckets[i]);
		buf_printf(buf, "strata_%s_bucket{le=\"%g\"} %llu\n", name,
			   (double)times[which].buckets_ns[i] / 1e9, (unsigned long long)count);
	}
	count += atomic_load(&metrics->times[which].buckets[METRIC_BUCKET_COUNT]);
	buf_printf(buf,
		   "strata_%s_bucket{le=\"+Inf\"} %llu\nstrata_%s_sum %.9f\nstrata_%s_count %llu\n",
		   name, (unsigned long long)count, name,
		   (double)atomic_load(&metrics->times[which].sum_ns) / 1e9, name,
		   (unsigned long long)count);
}

void metrics_print(const struct metrics *metrics, struct buf *buf)
{
	for (int i = 0; i < METRIC_TIME_COUNT; i++)
		print_time(metrics, (enum metric_time)i, buf);
	print_head(buf, "http_requests_total", "counter", "answers by the class of their status");
	for (int i = 2; i < 6; i++)
		buf_printf(buf, "strata_http_requests_total{code=\"%dxx\"} %llu\n", i,
			   (unsigned long long)atomic_load(&metrics->answers[i]));
}
