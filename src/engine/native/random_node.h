/*
 * Random numbers of nodes: Philox, so that element i of draw d has a number of its own, whoever computes it. A node with a seed begins with it in each
 * program; one without has the seed of its name. Each run draws anew.
 */
#ifndef ENGINE_NATIVE_RANDOM_NODE_H
#define ENGINE_NATIVE_RANDOM_NODE_H

#include "engine/native/native.h"

struct random {
	uint64_t seed, draw;
};
/* The next draw of this node; counts in call->state. */
int random_next(struct native_call *call, struct random *ret_random, struct strata_error *err);

/* Numbers 0 ≤ x < 1 with 32 bits each, for elements first … first + count − 1. */
void random_uniform(const struct random *random, int64_t first, int64_t count, double *ret_values);

#endif
