/*
 * An ordered set that counts, made for queues of millions: a B+-tree whose inner nodes know how
 * many entries, how much weight and how little slack stand below each child. Which position an
 * entry has, which one is at a position, how much weight is before it, which is the first of a
 * group: each costs a handful of cache lines. Unlike tree.h it is not intrusive: an entry is a key
 * and a 32-bit item of the caller's, and to remove it is to know its key.
 *
 * Keys order by group, then key, then serial, and no two are equal. So one set holds many queues,
 * one group each. Weights and limits are columns that a set may do without. Nodes come from slabs:
 * memory grows in large steps and is kept, and only ranked_insert can fail.
 */
#ifndef CORE_RANKED_H
#define CORE_RANKED_H

#include "core/slab.h"

struct ranked_key {
	uint64_t key;
	uint64_t serial;
	uint32_t group;
	uint32_t item; /* the caller's; does not count in the order */
};

/* Which columns a set has. */
enum ranked_columns {
	RANKED_KEYS,    /* none besides the keys */
	RANKED_WEIGHTS, /* ranked_rank knows the weight too */
	RANKED_LIMITS,  /* and ranked_slack too */
};

struct ranked {
	struct slab leaves, inners;
	void *root;                /* a leaf when height is 0; NULL: empty */
	struct ranked_leaf *first; /* the leftmost leaf */
	uint32_t height;
	enum ranked_columns columns;
	bool grouped; /* some entry has, or had, a group other than 0 */
	size_t count;
	uint64_t sum; /* of all weights */
};

/* A place in the set; valid until it changes. */
struct ranked_place {
	const struct ranked_leaf *leaf; /* NULL: past the end */
	uint32_t index;
};

/* Allocates nothing; memory is borrowed until ranked_fini. */
void ranked_init(struct ranked *set, struct strata_memory *memory, enum ranked_columns columns);
void ranked_fini(struct ranked *set);

/* The key must not be in the set. weight and limit count where there are such columns. 0, or
 * -ENOMEM and nothing changed. */
int ranked_insert(struct ranked *set, const struct ranked_key *key, uint64_t weight, int64_t limit);
/* Room for so many more, so that the next `more` calls of ranked_insert cannot fail, whatever is
 * removed between them. */
int ranked_reserve(struct ranked *set, size_t more);
/* The key must be in the set. */
void ranked_remove(struct ranked *set, const struct ranked_key *key);

/* How many entries, and how much weight (ret_weight NULL: not asked for), come before the key,
 * which need not be in the set. */
size_t ranked_rank(const struct ranked *set, const struct ranked_key *key, uint64_t *ret_weight);

/* The least of "limit − weight of all entries before it" over the entries at or after the key;
 * INT64_MAX when there are none. With limits that are latest starts and weights that are lengths of
 * work: how much more work can be let in at that place before one of those behind it is late. */
int64_t ranked_slack(const struct ranked *set, const struct ranked_key *key);

/* The first entry that does not come before the key; the one at a position; the next one. */
struct ranked_place ranked_from(const struct ranked *set, const struct ranked_key *key);
struct ranked_place ranked_select(const struct ranked *set, size_t position);
struct ranked_place ranked_next(struct ranked_place place);
/* What is at a place; NULL past the end. */
const struct ranked_key *ranked_at(struct ranked_place place);

/* The first entry, or NULL. */
const struct ranked_key *ranked_first(const struct ranked *set);

#endif
