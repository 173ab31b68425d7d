/*
 * An ordered tree that counts: besides insert and remove it answers "which position does this
 * have", "which is at position n" and "how much weight stands before this", each in O(log n), so a
 * page of a long queue costs its own length. Nodes live inside the caller's objects (40 bytes);
 * nothing is allocated and nothing fails.
 *
 * Weights are any unsigned amount of the caller's (cost, bytes, 0 when unused) whose sum fits in 64
 * bits. Equal nodes stay in the order in which they were inserted.
 */
#ifndef CORE_TREE_H
#define CORE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inside the object; zeroed: in no tree. Read and written by tree.c only. */
struct tree_node {
	struct tree_node *parent;   /* NULL: the root */
	struct tree_node *child[2]; /* what comes before, what comes after */
	size_t count;               /* nodes from here down; 0: in no tree */
	uint64_t sum;               /* weights from here down */
};

/* Negative when a comes before b, 0 when they are equal. */
typedef int tree_compare(const struct tree_node *a, const struct tree_node *b, void *context);
/* The same for a key that is not a node. */
typedef int tree_compare_key(const void *key, const struct tree_node *node, void *context);

struct tree {
	struct tree_node *root;    /* nodes are borrowed while in the tree */
	struct tree_node *ends[2]; /* the first and the last; NULL when empty */
	tree_compare *compare;
	void *context; /* of the callbacks; borrowed */
};

/* There is no _fini: forget the tree and the nodes together, or remove them one by one. */
void tree_init(struct tree *tree, tree_compare *compare, void *context);

/* The node must be in no tree. What the callback looks at must not change while it is in one,
 * except directly before tree_update. */
void tree_insert(struct tree *tree, struct tree_node *node, uint64_t weight);
/* The node must be in this tree. It is zeroed. */
void tree_remove(struct tree *tree, struct tree_node *node);
/* Moves a node to where it belongs after what the callback looks at has changed. It stays in front
 * of or behind its equals when that is where it was, else it goes behind them. */
void tree_update(struct tree *tree, struct tree_node *node);
void tree_set_weight(struct tree *tree, struct tree_node *node, uint64_t weight);

uint64_t tree_weight(const struct tree_node *node);
/* How many nodes come before this one; how much weight they have. */
size_t tree_rank(const struct tree_node *node);
uint64_t tree_weight_before(const struct tree_node *node);

/* The node at a position from 0, or NULL past the end. */
struct tree_node *tree_select(const struct tree *tree, size_t position);
/* The first node whose weight, added to that of all before it, exceeds `weight`: whose turn it is
 * after so much. NULL when the sum of all does not. */
struct tree_node *tree_select_weight(const struct tree *tree, uint64_t weight);
/* The first node that does not come before the key, or NULL. */
struct tree_node *tree_lower_bound(const struct tree *tree, tree_compare_key *compare,
				   const void *key);

/* The neighbour, or NULL at the end. A whole walk costs O(n). */
struct tree_node *tree_next(const struct tree_node *node);
struct tree_node *tree_prev(const struct tree_node *node);

static inline struct tree_node *tree_first(const struct tree *tree)
{
	return tree->ends[0];
}

static inline struct tree_node *tree_last(const struct tree *tree)
{
	return tree->ends[1];
}

static inline size_t tree_count(const struct tree *tree)
{
	return tree->root ? tree->root->count : 0;
}

static inline uint64_t tree_sum(const struct tree *tree)
{
	return tree->root ? tree->root->sum : 0;
}

static inline bool tree_node_in(const struct tree_node *node)
{
	return node->count != 0;
}

#endif
