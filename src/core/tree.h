/*
 * An ordered tree. Insert and remove cost O(log n), the first, the last and how many there are O(1). Nodes live inside the caller's
 * objects; nothing is allocated and nothing fails. Equal nodes stay in the order in which they were inserted. For positions in a long
 * queue there is ranked.h.
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
};

/* Negative when a comes before b, 0 when they are equal. */
typedef int tree_compare(const struct tree_node *a, const struct tree_node *b, void *context);

struct tree {
	struct tree_node *root;    /* nodes are borrowed while in the tree */
	struct tree_node *ends[2]; /* the first and the last; NULL when empty */
	tree_compare *compare;
	void *context; /* of the callbacks; borrowed */
};

/* There is no _fini: forget the tree and the nodes together, or remove them one by one. */
void tree_init(struct tree *tree, tree_compare *compare, void *context);

/* The node must be in no tree. What the callback looks at must not change while it is in one. */
void tree_insert(struct tree *tree, struct tree_node *node);
/* The node must be in this tree. It is zeroed. */
void tree_remove(struct tree *tree, struct tree_node *node);

/* The neighbour, or NULL at the end. A whole walk costs O(n). */
struct tree_node *tree_next(const struct tree_node *node);
struct tree_node *tree_prev(const struct tree_node *node);

/* Does the node come before what is looked for? Of the nodes of a tree it does for the first few, and for none behind them. */
typedef bool tree_before(const struct tree_node *node, const void *key);
/* The first node that does not come before the key, or NULL. O(log n). */
struct tree_node *tree_search(const struct tree *tree, tree_before *before, const void *key);

static inline struct tree_node *tree_first(const struct tree *tree)
{
	return tree->ends[0];
}

static inline size_t tree_count(const struct tree *tree)
{
	return tree->root ? tree->root->count : 0;
}

static inline bool tree_node_in(const struct tree_node *node)
{
	return node->count != 0;
}

#endif
