/*
 * What a model has needed: seconds of a step by the size of the pictures, as its workers reported
 * them. It is what tasks of it are expected to cost before the pool has measured any, and what
 * `strata models show` shows. Kept with the model's row, so that a restart does not begin anew. One
 * owner; the decider's.
 */
#ifndef SERVER_MODEL_MEASURE_H
#define SERVER_MODEL_MEASURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_SHAPES_MAX = 32 }; /* the one that was used least recently goes */

/* The size of a task as a number: tasks of the same one may share a batch. */
struct model_shape {
	int64_t width, height, n; /* pixels; 0: the model's own */
};
uint64_t model_shape_key(const struct model_shape *shape);

struct model_measure {
	struct model_shape shape;
	int64_t steps, cost_ns; /* of which the mean is taken; older ones count for less */
	int64_t images;         /* ever */
	uint64_t used;          /* larger: later */
};
struct model_measures {
	struct model_measure rows[MODEL_SHAPES_MAX];
	size_t count;
	uint64_t used;
	bool changed; /* since it was last written */
};

/* A step of one task, its part of the batch, has cost so much. */
void model_measure_steps(struct model_measures *measures, const struct model_shape *shape,
			 int64_t steps, int64_t cost_ns);
void model_measure_images(struct model_measures *measures, const struct model_shape *shape,
			  int64_t count);
/* Has a step of this size been measured? Else what is expected is no more than a guess. */
bool model_measure_knows(const struct model_measures *measures, const struct model_shape *shape);
/* What so many steps are expected to cost: by this size, else by all, else by a guess. Above 0. */
int64_t model_measure_expect(const struct model_measures *measures, const struct model_shape *shape,
			     int64_t steps);

/* [{"width": 512, …, "seconds_per_step": 0.25}, …], the latest first; NULL: no memory. */
json_t *model_measure_view(const struct model_measures *measures);
/* As it is kept, and back: what is not of that form is left out. NULL: no memory. */
json_t *model_measure_keep(const struct model_measures *measures);
void model_measure_restore(struct model_measures *measures, const json_t *kept);

#endif
