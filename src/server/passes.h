/*
 * The latest passes of the scheduler, for timelines: a ring on the decider. Passes in which nothing
 * happened and that took no time are not kept: there is one for every request.
 */
#ifndef SERVER_PASSES_H
#define SERVER_PASSES_H

#include <stddef.h>
#include <stdint.h>

enum { PASSES_KEPT = 4096 };

struct passes {
	struct {
		int64_t at_ns, took_ns; /* since 1970 */
		uint32_t started, stopped, waiting;
	} rows[PASSES_KEPT];
	uint64_t count; /* of all that were ever kept */
};

struct decider;
struct strata_effect;
/* One is over that began at start_ns (monotonic), and decided these. */
void passes_note(struct decider *decider, int64_t start_ns, const struct strata_effect *effects,
		 size_t count);

#endif
