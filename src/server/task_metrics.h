/* What generation does, for Prometheus: each model's line, workers, batches and pictures. The
 * counters begin anew with the service, as Prometheus expects of them. The decider's. */
#ifndef SERVER_TASK_METRICS_H
#define SERVER_TASK_METRICS_H

#include "core/buf.h"

#include <stdint.h>

struct decider;

/* Of a model, since the service began. */
struct task_metrics {
	uint64_t steps;        /* done, of all tasks */
	uint64_t batches;      /* that workers were given … */
	uint64_t members;      /* … and tasks in them */
	uint64_t images;       /* drawn … */
	int64_t image_cost_ns; /* … and what their tasks cost in all */
	/* of those drawn whose cost was expected from what was measured before: in all so much,
	 * they cost, and differed by */
	int64_t expected_ns, expected_cost_ns, expected_error_ns;
	uint64_t leases_lost; /* workers that fell silent or went away with tasks */
};

void task_metrics_print(const struct decider *decider, struct buf *buf);

#endif
