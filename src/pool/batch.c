/*
 * Who joins a batch: tasks of the same model and shape, the oldest first, at most look_max of them
 * looked at. The policy has decided who is first; mates are company. What they may not do is keep
 * the first in line waiting: each mate that goes before it counts as overtaking it, and
 * overtake_max bounds that, whatever the batch.
 */
#include "pool/pool_int.h"

static bool chosen(const struct choice *choice, const struct task *task)
{
	for (uint32_t i = 0; i < choice->count; i++)
		if (choice->tasks[i] == task)
			return true;
	return false;
}

/* Whether one more may go before the front without passing over it too often. */
static bool front_allows(const struct strata_pool *pool, const struct choice *choice)
{
	uint32_t others = choice->count - choice->kept;

	if (!choice->guard || chosen(choice, choice->guard))
		return true; /* the first in line is part of it, or can be none of this worker's */
	return pool->conf.overtake_max == UINT32_MAX ||
	       choice->guard->passed + others < pool->conf.overtake_max;
}

static bool may_join(const struct strata_pool *pool, const struct fit *fit,
		     const struct choice *choice, const struct task *mate, int64_t used_mib)
{
	const struct task *first = choice->front ? choice->front : choice->tasks[0];
	struct fit rest = *fit;

	if (rest.free_mib != INT64_MAX)
		rest.free_mib -= used_mib;
	if (!pick_fits(&rest, mate))
		return false;
	if (pool->hooks && pool->hooks->blocked) {
		int64_t until_ns;

		if (pool->hooks->blocked(pool, mate, &until_ns) != STRATA_WAIT_NONE)
			return false;
	}
	return !pool->hooks || !pool->hooks->joins || pool->hooks->joins(pool, first, mate);
}

void batch_fill(const struct strata_pool *pool, const struct fit *fit, struct choice *choice)
{
	const struct batch_key *shape = shape_of(pool, choice->tasks[0]);
	uint32_t cap = shape_cap(pool, shape);
	int64_t used_mib = 0;

	if (choice->count >= cap || shape->pending == 0)
		return;
	for (uint32_t i = choice->kept; i < choice->count; i++)
		used_mib += choice->tasks[i]->memory_mib;
	struct ranked_place place =
		ranked_from(&pool->mates, &(struct ranked_key){ .group = shape->number });

	for (uint32_t looked = 0; looked < pool->conf.look_max && choice->count < cap; looked++) {
		const struct ranked_key *key = ranked_at(place);

		if (!key || key->group != shape->number)
			return;
		struct task *mate = task_by_index(pool, key->item);

		place = ranked_next(place);
		if (chosen(choice, mate) || !may_join(pool, fit, choice, mate, used_mib))
			continue;
		if (mate != choice->guard && !front_allows(pool, choice))
			continue;
		choice->passes |= choice->guard && mate != choice->guard &&
				  !chosen(choice, choice->guard);
		choice->tasks[choice->count++] = mate;
		used_mib += mate->memory_mib;
	}
}

int64_t batch_wait_until(const struct strata_pool *pool, const struct choice *choice)
{
	const struct task *first = choice->tasks[0];

	if (pool->conf.batch_wait_ns == 0 || choice->kept > 0 ||
	    choice->count >= shape_cap(pool, shape_of(pool, first)))
		return INT64_MIN;
	return first->added_ns + pool->conf.batch_wait_ns;
}
