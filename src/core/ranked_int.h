/* The nodes of the counted B+-tree and how they are searched: what asking (ranked.c) and changing (ranked_change.c) share. */
#ifndef CORE_RANKED_INT_H
#define CORE_RANKED_INT_H

#include "core/ranked.h"

enum {
	LEAF_ROOM = 32,
	INNER_ROOM = 64,
	HEIGHT_MAX = 16, /* every level multiplies by more than ten */
};

/* What both sorts of node begin with. */
struct head {
	uint64_t handle; /* in its slab */
	uint32_t count;  /* entries or children */
};

struct ranked_leaf {
	struct head head;
	struct ranked_leaf *next, *prev;
	struct ranked_key keys[LEAF_ROOM];
	uint64_t weights[LEAF_ROOM]; /* not there without the column, as the next */
	int64_t limits[LEAF_ROOM];
};

struct ranked_inner {
	struct head head;
	uint32_t counts[INNER_ROOM];
	/* Separators, part by part, so that a search reads few lines; the first is not looked at. */
	uint64_t keys[INNER_ROOM];
	uint64_t serials[INNER_ROOM];
	uint32_t groups[INNER_ROOM];
	void *children[INNER_ROOM];
	uint64_t sums[INNER_ROOM];  /* not there without the column, as the next */
	int64_t slacks[INNER_ROOM]; /* least of "limit − weight before it in this child" */
};

/* The way from the root to a leaf: at[0] is the root's. */
struct path {
	struct ranked_inner *node[HEIGHT_MAX];
	uint32_t child[HEIGHT_MAX];
};

static inline bool before(const struct ranked_key *a, const struct ranked_key *b)
{
	if (a->group != b->group)
		return a->group < b->group;
	return a->key != b->key ? a->key < b->key : a->serial < b->serial;
}

/* The lines that a search of a node may read, on their way at once instead of one after the other
 * as it comes to them. */
static inline void fetch(const void *node, uint32_t level)
{
	const struct ranked_leaf *leaf = node;
	const struct ranked_inner *inner = node;
	const char *from = level == 0 ? (const char *)leaf : (const char *)inner->keys;
	const char *to = level == 0 ? (const char *)leaf->weights : (const char *)inner->serials;

	for (; from < to; from += 64)
		__builtin_prefetch(from);
}

/* How many of the sorted keys come before this one. */
static inline uint32_t lower(const struct ranked_key *keys, uint32_t count,
			     const struct ranked_key *key)
{
	uint32_t low = 0;

	while (count > 0) {
		uint32_t half = count / 2;

		if (before(&keys[low + half], key)) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

/* Is the key before the separator of a child? Groups are all equal in most sets, and serials matter
 * among equal keys only. */
static inline bool before_child(const struct ranked *set, const struct ranked_inner *inner,
				uint32_t at, const struct ranked_key *key)
{
	if ((set->grouped || key->group != 0) && key->group != inner->groups[at])
		return key->group < inner->groups[at];
	return key->key != inner->keys[at] ? key->key < inner->keys[at]
					   : key->serial < inner->serials[at];
}

/* The child in which a key is or belongs: the last whose separator is not behind it. */
static inline uint32_t child_of(const struct ranked *set, const struct ranked_inner *inner,
				const struct ranked_key *key)
{
	uint32_t low = 0, count = inner->head.count - 1;

	while (count > 0) {
		uint32_t half = (count + 1) / 2;

		if (before_child(set, inner, low + half, key)) {
			count = half - 1;
		} else {
			low += half;
			count -= half;
		}
	}
	return low;
}

#endif
