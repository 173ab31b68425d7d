/*
 * Figures that the service keeps about itself, for Prometheus: counters and histograms that any
 * thread adds to, without a lock. What the cluster knows is asked of it when somebody looks
 * (api_health.c).
 */
#ifndef SERVER_SERVICE_METRICS_H
#define SERVER_SERVICE_METRICS_H

#include "core/buf.h"

#include <stdatomic.h>
#include <stdint.h>

enum metric_time { METRIC_PASS, METRIC_STORE, METRIC_WAIT, METRIC_RUN, METRIC_HTTP, METRIC_TASK_WAIT };
enum { METRIC_TIME_COUNT = METRIC_TASK_WAIT + 1, METRIC_BUCKET_COUNT = 12 };

struct metrics {
	struct {
		_Atomic uint64_t buckets[METRIC_BUCKET_COUNT + 1]; /* the last: longer than all */
		_Atomic uint64_t sum_ns;
	} times[METRIC_TIME_COUNT];
	_Atomic uint64_t answers[6]; /* by the first digit of the status */
};

void metrics_time(struct metrics *metrics, enum metric_time which, int64_t ns);
void metrics_answer(struct metrics *metrics, int status);

/* In the text form of Prometheus. */
void metrics_print(const struct metrics *metrics, struct buf *buf);
void metrics_print_one(struct buf *buf, const char *name, const char *type, const char *help,
		       double value);

#endif
