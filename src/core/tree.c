/*
 * The tree of tree.h, balanced by weight: counts keep it in shape, so a node needs no colour or height. With "size" meaning count + 1, no child
 * is more than BALANCE times the size of its sibling; a rotation is single when the inner
 * grandchild is less than ROTATE times the outer one. These two numbers keep the rule after any one
 * insertion or removal (Hirai and Yamamoto, "Balancing weight-balanced trees", 2011). The depth is
 * at most log(n + 1) / log(4/3), in practice little above log2(n).
 *
 * Walks towards the root read only the nodes on the path: the other side's count is the difference.
 */
#include "core/tree.h"

#include <assert.h>

enum { BALANCE = 3, ROTATE = 2 };
enum { BEFORE, AFTER };

static size_t count_of(const struct tree_node *node)
{
	return node ? node->count : 0;
}

/* Which child of its parent a node is. */
static int side_of(const struct tree_node *node)
{
	return node->parent->child[AFTER] == node;
}

void tree_init(struct tree *tree, tree_compare *compare, void *context)
{
	*tree = (struct tree){ .compare = compare, .context = context };
}

/* Hangs `with` where `node` is. */
static void replace(struct tree *tree, struct tree_node *node, struct tree_node *with)
{
	if (!node->parent)
		tree->root = with;
	else
		node->parent->child[side_of(node)] = with;
	if (with)
		with->parent = node->parent;
}

/* Lifts the child on one side above its parent. */
static void rotate(struct tree *tree, struct tree_node *node, int side)
{
	struct tree_node *child = node->child[side], *moved = child->child[!side];

	replace(tree, node, child);
	child->child[!side] = node;
	node->parent = child;
	node->child[side] = moved;
	if (moved)
		moved->parent = node;
	size_t count = node->count;

	node->count = count - child->count + count_of(moved);
	child->count = count;
}

/* Restores the rule at a node whose child on `side` may have become too large for its sibling;
 * `heavy` and `light` are their sizes. Returns what stands in the node's place. */
static struct tree_node *balance(struct tree *tree, struct tree_node *node, int side, size_t heavy,
				 size_t light)
{
	if (heavy <= BALANCE * light)
		return node;
	struct tree_node *child = node->child[side];
	size_t inner = count_of(child->child[!side]) + 1, outer = child->count + 1 - inner;

	if (inner >= ROTATE * outer)
		rotate(tree, child, !side);
	rotate(tree, node, side);
	return node->parent;
}

/* Walks up from a node that was just hung in; the counts above it are right already. */
static void balance_after_insert(struct tree *tree, struct tree_node *node)
{
	for (struct tree_node *parent; (parent = node->parent);)
		node = balance(tree, parent, side_of(node), node->count + 1,
			       parent->count - node->count);
}

void tree_insert(struct tree *tree, struct tree_node *node)
{
	assert(node->count == 0);
	struct tree_node *parent = NULL, *at = tree->root;
	bool turned[2] = { false, false };
	int side = BEFORE;

	while (at) {
		parent = at;
		at->count++;
		side = tree->compare(node, at, tree->context) >= 0;
		turned[side] = true;
		at = at->child[side];
	}
	*node = (struct tree_node){ .parent = parent, .count = 1 };
	if (!parent)
		tree->root = node;
	else
		parent->child[side] = node;
	for (int end = BEFORE; end <= AFTER; end++)
		if (!turned[!end])
			tree->ends[end] = node;
	balance_after_insert(tree, node);
}

/* Walks up from the parent of a place that has become empty, on `side`: every node has lost one. */
static void shrink(struct tree *tree, struct tree_node *node, int side)
{
	while (node) {
		struct tree_node *parent = node->parent;
		int parent_side = parent ? side_of(node) : BEFORE;

		node->count--;
		size_t light = count_of(node->child[side]) + 1;

		balance(tree, node, !side, node->count + 1 - light, light);
		node = parent;
		side = parent_side;
	}
}

/* Takes out a node with two children: its successor, which has at most one, takes its place. */
static void remove_inner(struct tree *tree, struct tree_node *node)
{
	struct tree_node *next = node->child[AFTER];

	while (next->child[BEFORE])
		next = next->child[BEFORE];
	bool direct = next->parent == node;
	struct tree_node *hole = direct ? next : next->parent;

	replace(tree, next, next->child[AFTER]);
	replace(tree, node, next);
	for (int side = BEFORE; side <= AFTER; side++) {
		next->child[side] = node->child[side];
		if (next->child[side])
			next->child[side]->parent = next;
	}
	next->count = node->count;
	shrink(tree, hole, direct ? AFTER : BEFORE);
}

void tree_remove(struct tree *tree, struct tree_node *node)
{
	assert(node->count > 0);
	if (tree->ends[BEFORE] == node)
		tree->ends[BEFORE] = tree_next(node);
	if (tree->ends[AFTER] == node)
		tree->ends[AFTER] = tree_prev(node);
	if (node->child[BEFORE] && node->child[AFTER]) {
		remove_inner(tree, node);
	} else {
		int side = node->parent ? side_of(node) : BEFORE;

		replace(tree, node, node->child[node->child[BEFORE] == NULL]);
		shrink(tree, node->parent, side);
	}
	*node = (struct tree_node){ 0 };
}

static struct tree_node *neighbour(const struct tree_node *node, int side)
{
	const struct tree_node *at = node->child[side];

	if (at) {
		while (at->child[!side])
			at = at->child[!side];
		return (struct tree_node *)at;
	}
	while (node->parent && side_of(node) == side)
		node = node->parent;
	return node->parent;
}

struct tree_node *tree_next(const struct tree_node *node)
{
	return neighbour(node, AFTER);
}

struct tree_node *tree_prev(const struct tree_node *node)
{
	return neighbour(node, BEFORE);
}

struct tree_node *tree_search(const struct tree *tree, tree_before *before, const void *key)
{
	struct tree_node *at = tree->root, *found = NULL;

	while (at) {
		bool is_before = before(at, key);

		if (!is_before)
			found = at;
		at = at->child[is_before ? AFTER : BEFORE];
	}
	return found;
}
