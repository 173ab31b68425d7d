/* Asking the counted B+-tree of ranked.h: positions, places, weights. */
#include "core/ranked_int.h"

#include <assert.h>

void ranked_init(struct ranked *set, struct strata_memory *memory, enum ranked_columns columns)
{
	static const size_t leaf_bytes[] = {
		[RANKED_KEYS] = offsetof(struct ranked_leaf, weights),
		[RANKED_WEIGHTS] = offsetof(struct ranked_leaf, limits),
		[RANKED_LIMITS] = sizeof(struct ranked_leaf),
	};
	static const size_t inner_bytes[] = {
		[RANKED_KEYS] = offsetof(struct ranked_inner, sums),
		[RANKED_WEIGHTS] = offsetof(struct ranked_inner, slacks),
		[RANKED_LIMITS] = sizeof(struct ranked_inner),
	};

	*set = (struct ranked){ .columns = columns };
	slab_init(&set->leaves, memory, leaf_bytes[columns], 0);
	slab_init(&set->inners, memory, inner_bytes[columns], 0);
}

void ranked_fini(struct ranked *set)
{
	slab_fini(&set->leaves);
	slab_fini(&set->inners);
	set->root = set->first = NULL;
	set->height = 0;
	set->count = 0;
	set->sum = 0;
}

/* What the children before one hold. */
static void add_up(const struct ranked_inner *inner, uint32_t at, size_t *rank, uint64_t *weight)
{
	for (uint32_t i = 0; i < at; i++)
		*rank += inner->counts[i];
	for (uint32_t i = 0; weight && i < at; i++)
		*weight += inner->sums[i];
}

size_t ranked_rank(const struct ranked *set, const struct ranked_key *key, uint64_t *ret_weight)
{
	const void *node = set->root;
	size_t rank = 0;
	uint64_t weight = 0;

	assert(!ret_weight || set->columns >= RANKED_WEIGHTS);
	for (uint32_t level = set->height; level > 0; level--) {
		const struct ranked_inner *inner = node;
		uint32_t at = child_of(set, inner, key);

		fetch(inner->children[at], level - 1);
		add_up(inner, at, &rank, ret_weight ? &weight : NULL);
		node = inner->children[at];
	}
	const struct ranked_leaf *leaf = node;
	uint32_t count = leaf ? lower(leaf->keys, leaf->head.count, key) : 0;

	for (uint32_t i = 0; ret_weight && i < count; i++)
		weight += leaf->weights[i];
	if (ret_weight)
		*ret_weight = weight;
	return rank + count;
}

int64_t ranked_slack(const struct ranked *set, const struct ranked_key *key)
{
	const void *node = set->root;
	int64_t ahead = 0, least = INT64_MAX; /* ahead: weight before what is looked at */

	assert(set->columns == RANKED_LIMITS);
	if (!node)
		return INT64_MAX;
	for (uint32_t level = set->height; level > 0; level--) {
		const struct ranked_inner *inner = node;
		uint32_t at = child_of(set, inner, key);
		int64_t here = ahead;

		for (uint32_t i = 0; i < inner->head.count; i++) {
			if (i > at && inner->slacks[i] - here < least)
				least = inner->slacks[i] - here;
			if (i == at)
				ahead = here;
			here += (int64_t)inner->sums[i];
		}
		node = inner->children[at];
	}
	const struct ranked_leaf *leaf = node;
	uint32_t from = lower(leaf->keys, leaf->head.count, key);

	for (uint32_t i = 0; i < leaf->head.count; i++) {
		if (i >= from && leaf->limits[i] - ahead < least)
			least = leaf->limits[i] - ahead;
		ahead += (int64_t)leaf->weights[i];
	}
	return least;
}

/* A place, or the first of the next leaf when it is past the end of its own. */
static struct ranked_place settle(const struct ranked_leaf *leaf, uint32_t index)
{
	if (leaf && index == leaf->head.count) {
		leaf = leaf->next;
		index = 0;
	}
	return (struct ranked_place){ leaf, index };
}

struct ranked_place ranked_from(const struct ranked *set, const struct ranked_key *key)
{
	const void *node = set->root;

	if (!node)
		return (struct ranked_place){ 0 };
	for (uint32_t level = set->height; level > 0; level--) {
		const struct ranked_inner *inner = node;

		node = inner->children[child_of(set, inner, key)];
		fetch(node, level - 1);
	}
	const struct ranked_leaf *leaf = node;

	return settle(leaf, lower(leaf->keys, leaf->head.count, key));
}

struct ranked_place ranked_select(const struct ranked *set, size_t position)
{
	const void *node = set->root;

	if (position >= set->count)
		return (struct ranked_place){ 0 };
	for (uint32_t level = set->height; level > 0; level--) {
		const struct ranked_inner *inner = node;
		uint32_t at = 0;

		for (; position >= inner->counts[at]; at++)
			position -= inner->counts[at];
		node = inner->children[at];
	}
	return (struct ranked_place){ node, (uint32_t)position };
}

struct ranked_place ranked_next(struct ranked_place place)
{
	return settle(place.leaf, place.index + 1);
}

const struct ranked_key *ranked_at(struct ranked_place place)
{
	return place.leaf ? &place.leaf->keys[place.index] : NULL;
}

const struct ranked_key *ranked_first(const struct ranked *set)
{
	return set->first ? &set->first->keys[0] : NULL;
}
