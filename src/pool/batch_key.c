/* What goes together: pairs of a model and a shape, how many of each a batch may hold, and what a
 * step of them has cost. */
#include "pool/pool_int.h"

#include <errno.h>
#include <string.h>

/* A model's number is its first shape's. */
static int number_model(struct strata_pool *pool, struct batch_key *shape)
{
	const struct batch_key *known = map_u64_get(&pool->models, shape->model);

	shape->model_number = known ? known->model_number : shape->number;
	return known ? 0 : map_u64_put(&pool->models, shape->model, shape, NULL);
}

int batch_key_get(struct strata_pool *pool, uint64_t model, uint64_t shape,
		  struct batch_key **ret_shape, struct strata_error *err)
{
	uint64_t key[2] = { model, shape }, handle;
	struct batch_key *found = map_text_get(&pool->pairs, (const char *)key, sizeof(key));

	if (found) {
		*ret_shape = found;
		return 0;
	}
	if (pool->shapes.count == STRATA_POOL_SHAPES_MAX)
		return strata_fail(err, -ENOSPC,
				   "the pool has seen %d pairs of model and shape, "
				   "as many as it may",
				   STRATA_POOL_SHAPES_MAX);
	found = slab_get(&pool->shapes, &handle);
	if (!found)
		return strata_fail_memory(err);
	found->model = model;
	found->shape = shape;
	found->number = slab_index(handle);
	found->cap = 1;
	if (map_text_put(&pool->pairs, (const char *)key, sizeof(key), found, NULL)) {
		slab_put(&pool->shapes, handle);
		return strata_fail_memory(err);
	}
	if (number_model(pool, found)) {
		map_text_remove(&pool->pairs, (const char *)key, sizeof(key));
		slab_put(&pool->shapes, handle);
		return strata_fail_memory(err);
	}
	*ret_shape = found;
	return 0;
}

uint32_t shape_model_number(const struct strata_pool *pool, uint64_t model)
{
	const struct batch_key *known = map_u64_get(&pool->models, model);

	return known ? known->model_number : UINT32_MAX;
}

int64_t shape_expect(const struct batch_key *shape, uint32_t steps)
{
	uint64_t parts = steps ? steps : 1;
	uint128 cost_ns;

	if (shape->steps == 0)
		return 0;
	cost_ns = (uint128)shape->used_ns * parts / shape->steps;
	return cost_ns > STRATA_TASK_COST_NS_MAX ? STRATA_TASK_COST_NS_MAX : (int64_t)cost_ns;
}

void shape_measure(struct batch_key *shape, uint32_t steps, int64_t cost_ns)
{
	enum { STEPS_KEPT = 4096 }; /* older ones count for half */

	if (shape->steps >= STEPS_KEPT) {
		shape->steps /= 2;
		shape->used_ns /= 2;
	}
	shape->steps += steps ? steps : 1;
	shape->used_ns += cost_ns;
}

uint32_t shape_cap(const struct strata_pool *pool, const struct batch_key *shape)
{
	return shape->cap < pool->conf.batch_max ? shape->cap : pool->conf.batch_max;
}

int strata_pool_set_cap(struct strata_pool *pool, uint64_t model, uint64_t shape, uint32_t cap,
			struct strata_error *err)
{
	struct batch_key *found;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_CAP,
						    .model = model,
						    .shape = shape,
						    .cap = cap });
	if (cap < 1 || cap > STRATA_BATCH_MAX)
		return strata_fail(err, -EINVAL, "the cap is %u; expected 1 to %d", cap,
				   STRATA_BATCH_MAX);
	int rc = batch_key_get(pool, model, shape, &found, err);

	if (rc == 0)
		found->cap = cap;
	return rc;
}
