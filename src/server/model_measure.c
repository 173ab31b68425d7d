/* The figures of model_measure.h: sums by size, halved now and then so that a model that was moved
 * to a faster GPU is soon known as such. */
#include "server/model_measure.h"

#include <strata/limits.h>

#include <string.h>

enum { STEPS_KEPT = 4096 }; /* older ones count for half */

#define GUESS_NS INT64_C(100000000) /* a step of a model that nobody has seen yet */

uint64_t model_shape_key(const struct model_shape *shape)
{
	return (uint64_t)shape->width << 40 | (uint64_t)shape->height << 16 | (uint64_t)shape->n;
}

static bool is_same(const struct model_shape *a, const struct model_shape *b)
{
	return a->width == b->width && a->height == b->height && a->n == b->n;
}

static const struct model_measure *find(const struct model_measures *measures,
					const struct model_shape *shape)
{
	for (size_t i = 0; i < measures->count; i++)
		if (is_same(&measures->rows[i].shape, shape))
			return &measures->rows[i];
	return NULL;
}

static struct model_measure *get(struct model_measures *measures, const struct model_shape *shape)
{
	struct model_measure *row = (struct model_measure *)find(measures, shape);

	if (!row && measures->count < MODEL_SHAPES_MAX) {
		row = &measures->rows[measures->count++];
		*row = (struct model_measure){ .shape = *shape };
	}
	if (!row) {
		row = &measures->rows[0];
		for (size_t i = 1; i < measures->count; i++)
			if (measures->rows[i].used < row->used)
				row = &measures->rows[i];
		*row = (struct model_measure){ .shape = *shape };
	}
	row->used = ++measures->used;
	measures->changed = true;
	return row;
}

void model_measure_steps(struct model_measures *measures, const struct model_shape *shape,
			 int64_t steps, int64_t cost_ns)
{
	if (steps < 1 || cost_ns < 1)
		return;
	struct model_measure *row = get(measures, shape);

	if (row->steps >= STEPS_KEPT) {
		row->steps /= 2;
		row->cost_ns /= 2;
	}
	row->steps += steps;
	row->cost_ns += cost_ns < STRATA_TASK_COST_NS_MAX ? cost_ns : STRATA_TASK_COST_NS_MAX;
	if (row->cost_ns > STRATA_TASK_COST_NS_MAX) { /* far beyond what anybody waits for */
		row->steps = (row->steps + 1) / 2;
		row->cost_ns /= 2;
	}
}

void model_measure_images(struct model_measures *measures, const struct model_shape *shape,
			  int64_t count)
{
	get(measures, shape)->images += count;
}

bool model_measure_knows(const struct model_measures *measures, const struct model_shape *shape)
{
	const struct model_measure *row = find(measures, shape);

	return row && row->steps > 0;
}

int64_t model_measure_expect(const struct model_measures *measures, const struct model_shape *shape,
			     int64_t steps)
{
	const struct model_measure *row = find(measures, shape);
	double cost_ns = 0, count = 0;

	if (row && row->steps) {
		cost_ns = (double)row->cost_ns;
		count = (double)row->steps;
	}
	for (size_t i = 0; count == 0 && i < measures->count; i++) {
		cost_ns += (double)measures->rows[i].cost_ns;
		count += (double)measures->rows[i].steps;
	}
	double step_ns = count > 0 && cost_ns > 0 ? cost_ns / count : (double)GUESS_NS;
	double all_ns = step_ns * (double)(steps > 0 ? steps : 1);

	return all_ns < 1			    ? 1
	       : all_ns > STRATA_TASK_COST_NS_MAX ? STRATA_TASK_COST_NS_MAX
						  : (int64_t)all_ns;
}

/* ---- as JSON ---- */

json_t *model_measure_view(const struct model_measures *measures)
{
	json_t *list = json_array();
	uint64_t before = UINT64_MAX;

	for (size_t i = 0; i < measures->count; i++) {
		const struct model_measure *next = NULL;

		for (size_t j = 0; j < measures->count; j++)
			if (measures->rows[j].used < before &&
			    (!next || measures->rows[j].used > next->used))
				next = &measures->rows[j];
		before = next->used;
		json_array_append_new(
			list,
			json_pack("{s:I,s:I,s:I,s:I,s:o}", "width", (json_int_t)next->shape.width,
				  "height", (json_int_t)next->shape.height, "n",
				  (json_int_t)next->shape.n, "images", (json_int_t)next->images,
				  "seconds_per_step",
				  next->steps ? json_real((double)next->cost_ns / 1e9 /
							  (double)next->steps)
					      : json_null()));
	}
	return list;
}

json_t *model_measure_keep(const struct model_measures *measures)
{
	json_t *list = json_array();

	for (size_t i = 0; i < measures->count; i++) {
		const struct model_measure *row = &measures->rows[i];

		json_array_append_new(list, json_pack("[I,I,I,I,I,I,I]", (json_int_t)row->shape.width,
						      (json_int_t)row->shape.height,
						      (json_int_t)row->shape.n,
						      (json_int_t)row->steps,
						      (json_int_t)row->cost_ns,
						      (json_int_t)row->images,
						      (json_int_t)row->used));
	}
	return list;
}

void model_measure_restore(struct model_measures *measures, const json_t *kept)
{
	memset(measures, 0, sizeof(*measures));
	for (size_t i = 0; i < json_array_size(kept) && measures->count < MODEL_SHAPES_MAX; i++) {
		json_int_t field[7];

		if (json_unpack(json_array_get(kept, i), "[I,I,I,I,I,I,I!]", &field[0], &field[1],
				&field[2], &field[3], &field[4], &field[5], &field[6]))
			continue;
		struct model_measure row = { .shape = { field[0], field[1], field[2] },
					     .steps = field[3],
					     .cost_ns = field[4],
					     .images = field[5],
					     .used = (uint64_t)field[6] };

		if (row.steps < 0 || row.steps > 2 * STEPS_KEPT + STRATA_TASK_STEPS_MAX ||
		    row.cost_ns < 0 || row.cost_ns > STRATA_TASK_COST_NS_MAX || row.images < 0 ||
		    field[6] < 0 || find(measures, &row.shape))
			continue;
		measures->rows[measures->count++] = row;
		if (row.used > measures->used)
			measures->used = row.used;
	}
}
