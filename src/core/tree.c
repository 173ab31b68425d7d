/*
 * The counted tree of tree.h, balanced by weight: the counts that give positions are also what
 * keeps it in shape, so a node needs no colour or height. With "size" meaning count + 1, no child
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

static uint64_t sum_of(const struct tree_node *node)
{
	return node ? node->sum : 0;
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

uint64_t tree_weight(const struct tree_node *node)
{
	if (node->sum == 0)
		return 0; /* without weights the children need not be looked at */
	return node->sum - sum_of(node->child[BEFORE]) - sum_of(node->child[AFTER]);
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
	uint64_t sum = node->sum;

	node->count = count - child->count + count_of(moved);
	node->sum = sum - child->sum + sum_of(moved);
	child->count = count;
	child->sum = sum;
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

void tree_insert(struct tree *tree, struct tree_node *node, uint64_t weight)
{
	assert(node->count == 0);
	struct tree_node *parent = NULL, *at = tree->root;
	bool turned[2] = { false, false };
	int side = BEFORE;

	while (at) {
		parent = at;
		at->count++;
		at->sum += weight;
		side = tree->compare(node, at, tree->context) >= 0;
		turned[side] = true;
		at = at->child[side];
	}
	*node = (struct tree_node){ .parent = parent, .count = 1, .sum = weight };
	if (!parent)
		tree->root = node;
	else
		parent->child[side] = node;
	for (int end = BEFORE; end <= AFTER; end++)
		if (!turned[!end])
			tree->ends[end] = node;
	balance_after_insert(tree, node);
}

/* Walks up from the parent of a place that has become empty, on `side`. Every node up to and
 * without `middle` has lost one of weight `below`, the others one of weight `above`. */
static void shrink(struct tree *tree, struct tree_node *node, int side,
		   const struct tree_node *middle, uint64_t below, uint64_t above)
{
	uint64_t weight = below;

	while (node) {
		struct tree_node *parent = node->parent;
		int parent_side = parent ? side_of(node) : BEFORE;

		if (node == middle)
			weight = above;
		node->count--;
		node->sum -= weight;
		size_t light = count_of(node->child[side]) + 1;

		balance(tree, node, !side, node->count + 1 - light, light);
		node = parent;
		side = parent_side;
	}
}

/* Takes out a node with two children: its successor, which has at most one, takes its place. */
static void remove_inner(struct tree *tree, struct tree_node *node, uint64_t weight)
{
	struct tree_node *next = node->child[AFTER];

	while (next->child[BEFORE])
		next = next->child[BEFORE];
	bool direct = next->parent == node;
	struct tree_node *hole = direct ? next : next->parent;
	uint64_t next_weight = tree_weight(next);

	replace(tree, next, next->child[AFTER]);
	replace(tree, node, next);
	for (int side = BEFORE; side <= AFTER; side++) {
		next->child[side] = node->child[side];
		if (next->child[side])
			next->child[side]->parent = next;
	}
	next->count = node->count;
	next->sum = node->sum;
	shrink(tree, hole, direct ? AFTER : BEFORE, next, next_weight, weight);
}

void tree_remove(struct tree *tree, struct tree_node *node)
{
	assert(node->count > 0);
	uint64_t weight = tree_weight(node);

	if (tree->ends[BEFORE] == node)
		tree->ends[BEFORE] = tree_next(node);
	if (tree->ends[AFTER] == node)
		tree->ends[AFTER] = tree_prev(node);
	if (node->child[BEFORE] && node->child[AFTER]) {
		remove_inner(tree, node, weight);
	} else {
		int side = node->parent ? side_of(node) : BEFORE;

		replace(tree, node, node->child[node->child[BEFORE] == NULL]);
		shrink(tree, node->parent, side, NULL, weight, weight);
	}
	*node = (struct tree_node){ 0 };
}

void tree_update(struct tree *tree, struct tree_node *node)
{
	const struct tree_node *prev = tree_prev(node), *next = tree_next(node);

	if ((!prev || tree->compare(prev, node, tree->context) <= 0) &&
	    (!next || tree->compare(node, next, tree->context) <= 0))
		return;
	uint64_t weight = tree_weight(node);

	tree_remove(tree, node);
	tree_insert(tree, node, weight);
}

void tree_set_weight(struct tree *tree, struct tree_node *node, uint64_t weight)
{
	uint64_t more = weight - tree_weight(node); /* below 0 it wraps, and back */

	assert(tree->root && node->count > 0);
	for (; node; node = node->parent)
		node->sum += more;
}

size_t tree_rank(const struct tree_node *node)
{
	assert(node->count > 0);
	size_t rank = count_of(node->child[BEFORE]);

	for (; node->parent; node = node->parent)
		if (side_of(node) == AFTER)
			rank += node->parent->count - node->count;
	return rank;
}

uint64_t tree_weight_before(const struct tree_node *node)
{
	assert(node->count > 0);
	uint64_t weight = sum_of(node->child[BEFORE]);

	for (; node->parent; node = node->parent)
		if (side_of(node) == AFTER)
			weight += node->parent->sum - node->sum;
	return weight;
}

struct tree_node *tree_select(const struct tree *tree, size_t position)
{
	struct tree_node *node = tree->root;

	while (node) {
		__builtin_prefetch(
			node->child[AFTER]); /* on its way while the other's count is read */
		size_t before = count_of(node->child[BEFORE]);

		if (position == before)
			break;
		int side = position > before ? AFTER : BEFORE;

		if (side == AFTER)
			position -= before + 1;
		node = node->child[side];
	}
	return node;
}

struct tree_node *tree_select_weight(const struct tree *tree, uint64_t weight)
{
	struct tree_node *node = tree->root;

	if (!node || node->sum <= weight)
		return NULL;
	for (;;) {
		uint64_t before = sum_of(node->child[BEFORE]);
		uint64_t here = node->sum - sum_of(node->child[AFTER]); /* with all before it */

		if (weight < before) {
			node = node->child[BEFORE];
		} else if (weight < here) {
			return node;
		} else {
			weight -= here;
			node = node->child[AFTER];
		}
	}
}

struct tree_node *tree_lower_bound(const struct tree *tree, tree_compare_key *compare,
				   const void *key)
{
	struct tree_node *node = tree->root, *found = NULL;

	while (node) {
		int after = compare(key, node, tree->context) > 0;

		if (!after)
			found = node;
		node = node->child[after];
	}
	return found;
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
