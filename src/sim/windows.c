/* The windows of windows.h. */
#include "sim/windows.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

int windows_parse(const char *text, struct windows *ret_windows, struct strata_error *err)
{
	const char *at = text, *colon = strchr(text, ':');
	struct windows windows = { .count = 0 };
	int64_t number;

	if (!colon || strata_int_parse(colon + 1, STRATA_TEXT_NUL, 1, INT32_MAX, &number, NULL))
		return strata_fail(err, -EINVAL,
				   "--windows is '%.60s'; expected I,I,…:N, such as 0,5000:1024",
				   text);
	windows.length = (size_t)number;
	while (at < colon) {
		size_t span = strcspn(at, ",:");

		if (windows.count == WINDOWS_MAX ||
		    strata_int_parse(at, span, 0, INT32_MAX, &number, NULL))
			return strata_fail(err, -EINVAL,
					   "--windows is '%.60s'; expected up to %d indices", text,
					   WINDOWS_MAX);
		windows.starts[windows.count++] = (size_t)number;
		at += span + 1;
	}
	*ret_windows = windows;
	return 0;
}

int windows_fit(const struct windows *windows, size_t job_count, struct strata_error *err)
{
	for (size_t i = 0; i < windows->count; i++)
		if (windows->starts[i] + windows->length > job_count)
			return strata_fail(err, -EINVAL,
					   "the window from %zu ends past the trace's %zu jobs",
					   windows->starts[i], job_count);
	return 0;
}

void windows_add(const struct windows *windows, const struct metrics *one, struct metrics *total)
{
	double part = 1.0 / (double)windows->count;

	total->jobs += one->jobs;
	total->mean_wait_s += one->mean_wait_s * part;
	total->avg_bsld += one->avg_bsld * part;
	total->makespan_s += one->makespan_s * part;
	total->utilization += one->utilization * part;
	total->user_jain += one->user_jain * part;
	if (one->user_max_bsld > total->user_max_bsld) {
		total->user_max_bsld = one->user_max_bsld;
		total->worst_user = one->worst_user;
	}
	if (one->max_wait_s > total->max_wait_s)
		total->max_wait_s = one->max_wait_s;
}
