/*
 * How many tasks of a shape pay together, as a model's workers found out. What one has found
 * outlives it: a new worker knows nothing yet, and what it does not know takes nothing back for a
 * while. Kept with the model's row. One owner; the decider's.
 */
#ifndef SERVER_MODEL_CAPS_H
#define SERVER_MODEL_CAPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_CAPS_MAX = 64 }; /* shapes; the one that was told of least recently goes */

struct model_caps {
	struct model_cap {
		uint64_t shape; /* model_shape_key */
		uint32_t cap;   /* at least 1 */
		int64_t job;    /* of the worker that found it; 0: before this start */
		int64_t told_ns; /* it last said so; monotonic */
	} rows[MODEL_CAPS_MAX];
	size_t count;
	bool changed; /* since it was last written */
};

/* More do not pay; 0: nothing is known against any number. */
uint32_t model_caps_get(const struct model_caps *caps, uint64_t shape);
/* A worker says so; 0: it knows of nothing against any number. True: what holds has changed. */
bool model_caps_tell(struct model_caps *caps, uint64_t shape, uint32_t cap, int64_t job,
		     int64_t now_ns);

/* As it is kept, and back: what is not of that form is left out. NULL: no memory. */
json_t *model_caps_keep(const struct model_caps *caps);
void model_caps_restore(struct model_caps *caps, const json_t *kept, int64_t now_ns);

#endif
