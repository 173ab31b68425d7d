/*
 * Figures that the service keeps about itself, for Prometheus: counters and histograms that any thread adds to, without a lock. What the cluster knows is
 * asked of it when somebody looks (api_health.c).
 */
#ifndef SERVER_FIGURES_H
#define SERVER_FIGURES_H

#include "core/buf.h"

#include <stdatomic.h>
#include <stdint.h>

enum figure_time { FIGURE_PASS, FIGURE_STORE, FIGURE_WAIT, FIGURE_RUN, FIGURE_HTTP };
enum { FIGURE_TIME_COUNT = FIGURE_HTTP + 1, FIGURE_BUCKET_COUNT = 12 };

struct figures {
	struct {
		_Atomic uint64_t buckets[FIGURE_BUCKET_COUNT + 1]; /* the last: longer than all */
		_Atomic uint64_t sum_ns;
	} times[FIGURE_TIME_COUNT];
	_Atomic uint64_t answers[6]; /* by the first digit of the status */
};

void figures_time(struct figures *figures, enum figure_time which, int64_t ns);
void figures_answer(struct figures *figures, int status);

/* In the text form of Prometheus. */
void figures_print(const struct figures *figures, struct buf *buf);
void figures_print_one(struct buf *buf, const char *name, const char *type, const char *help,
		       double value);

#endif
