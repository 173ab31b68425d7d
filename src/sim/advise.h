/*
 * Which policy would have served a history best: combinations of classes that are worth trying, and
 * the choice among them.
 *
 * The choice is made on the first half of the history and shown on the second, which it has not
 * seen. It is the lowest mean slowdown among those whose longest wait is at most so many times that
 * of fifo with easy backfill; without the limit, mean slowdown would always be bought with the
 * waits of a few.
 */
#ifndef SIM_ADVISE_H
#define SIM_ADVISE_H

#include "sim/metrics.h"

struct advise_policy {
	const char *order, *backfill, *prediction; /* specs */
};

/* The first is what the others are measured by. */
extern const struct advise_policy advise_policies[];
extern const size_t advise_policy_count;

/* The index of the best; 0 if no other is better and within the limit. */
size_t advise_choose(const struct metrics *metrics, size_t count, double wait_limit);

/* The jobs of the first `half` arrivals, and the others: how many of `count` ascending indices of
 * arrivals are below `half`. */
size_t advise_split(const size_t *indices, size_t count, size_t half);

#endif
