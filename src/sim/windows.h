/* Windows of a trace: stretches of jobs that are replayed on an empty machine each, as papers do it. "0,5000:1024" is two windows of 1024 jobs. */
#ifndef SIM_WINDOWS_H
#define SIM_WINDOWS_H

#include "sim/metrics.h"

enum { WINDOWS_MAX = 64 };

struct windows {
	size_t starts[WINDOWS_MAX]; /* index of each one's first job */
	size_t count;               /* 0: the whole trace is one stretch */
	size_t length;              /* jobs of each */
};

int windows_parse(const char *text, struct windows *ret_windows, struct strata_error *err);
/* -EINVAL when one of them ends past the trace. */
int windows_fit(const struct windows *windows, size_t job_count, struct strata_error *err);
/* Adds one window's measures to those of all, which begin as zero: means of what are means, the largest of what are largest, and the number of jobs.
 * Percentiles are not added: they have none. */
void windows_add(const struct windows *windows, const struct metrics *one, struct metrics *total);

#endif
