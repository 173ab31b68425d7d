#include "test.h"

#include "core/container.h"
#include "core/tree.h"
#include "random.h"

#include <string.h>

struct thing {
	int key;
	struct tree_node node;
};

static struct thing *thing_of(const struct tree_node *node)
{
	return node ? container_of((struct tree_node *)node, struct thing, node) : NULL;
}

static int by_key(const struct tree_node *a, const struct tree_node *b, void *context)
{
	int x = thing_of(a)->key, y = thing_of(b)->key;

	if (context)
		++*(int *)context;
	return (x > y) - (x < y);
}

/* Counts, links and the balance at every node, by looking; returns the depth. */
static int check_shape(const struct tree *tree)
{
	const struct tree_node *from = NULL;
	int depth = 0, deepest = 0;

	CHECK(!tree->root || !tree->root->parent);
	for (const struct tree_node *node = tree->root; node;) {
		const struct tree_node *left = node->child[0], *right = node->child[1], *to;

		if (from == node->parent) {
			size_t a = left ? left->count : 0, b = right ? right->count : 0;

			depth++;
			deepest = depth > deepest ? depth : deepest;
			CHECK_INT(node->count, a + b + 1);
			CHECK(a + 1 <= 3 * (b + 1) && b + 1 <= 3 * (a + 1));
			CHECK(!left || left->parent == node);
			CHECK(!right || right->parent == node);
		}
		if (from == node->parent && left)
			to = left;
		else if (from != right && right)
			to = right;
		else
			to = node->parent, depth--;
		from = node;
		node = to;
	}
	return deepest;
}

static bool is_below(const struct tree_node *node, const void *key)
{
	return thing_of(node)->key < *(const int *)key;
}

/* Everything a tree answers about its nodes, against the same things in a sorted array. */
static void check_answers(const struct tree *tree, struct thing **sorted, size_t count)
{
	CHECK_INT(tree_count(tree), count);
	CHECK(thing_of(tree_first(tree)) == (count ? sorted[0] : NULL));
	for (size_t i = 0; i < count; i++) {
		const struct tree_node *node = &sorted[i]->node;

		CHECK(thing_of(tree_next(node)) == (i + 1 < count ? sorted[i + 1] : NULL));
		CHECK(thing_of(tree_prev(node)) == (i > 0 ? sorted[i - 1] : NULL));
	}
	for (int key = -1; key <= 60; key += 7) {
		size_t at = 0;

		while (at < count && sorted[at]->key < key)
			at++;
		CHECK(thing_of(tree_search(tree, is_below, &key)) ==
		      (at < count ? sorted[at] : NULL));
	}
}

/* The naive model: an array kept in order. */
static size_t model_position(struct thing **sorted, size_t count, int key)
{
	size_t i = 0;

	while (i < count && sorted[i]->key <= key)
		i++;
	return i;
}

static void model_insert(struct thing **sorted, size_t *count, struct thing *thing)
{
	size_t i = model_position(sorted, *count, thing->key);

	memmove(sorted + i + 1, sorted + i, (*count - i) * sizeof(*sorted));
	sorted[i] = thing;
	++*count;
}

static void model_remove(struct thing **sorted, size_t *count, struct thing *thing)
{
	size_t i = 0;

	while (sorted[i] != thing)
		i++;
	memmove(sorted + i, sorted + i + 1, (*count - i - 1) * sizeof(*sorted));
	--*count;
}

TEST(a_node_is_thirty_two_bytes)
{
	CHECK(sizeof(struct tree_node) <= 32);
}

TEST(an_empty_tree_answers_with_nothing)
{
	struct tree tree;

	tree_init(&tree, by_key, NULL);
	check_answers(&tree, NULL, 0);
}

TEST(equal_nodes_stay_in_the_order_of_insertion)
{
	struct thing things[50] = { 0 };
	struct tree tree;

	tree_init(&tree, by_key, NULL);
	for (int i = 0; i < 50; i++) {
		things[i].key = i % 2;
		tree_insert(&tree, &things[i].node);
	}
	struct tree_node *node = tree_first(&tree);

	for (size_t i = 0; i < 50; i++, node = tree_next(node))
		CHECK(thing_of(node) == &things[i < 25 ? i * 2 : i * 2 - 49]);
}

TEST(random_use_agrees_with_a_sorted_array)
{
	enum { THINGS = 120, STEPS = 6000 };
	static struct thing things[THINGS], *sorted[THINGS];
	uint64_t seed = 3;
	size_t count = 0;
	struct tree tree;

	memset(things, 0, sizeof(things));
	tree_init(&tree, by_key, NULL);
	for (int step = 0; step < STEPS; step++) {
		struct thing *thing = &things[random_below(&seed, THINGS)];
		bool grow = step % 1000 < 500; /* swings between empty and full */

		if (!tree_node_in(&thing->node) && (grow || random_below(&seed, 4) == 0)) {
			thing->key = (int)random_below(&seed, 60);
			tree_insert(&tree, &thing->node);
			model_insert(sorted, &count, thing);
		} else if (tree_node_in(&thing->node) && (!grow || random_below(&seed, 4) == 0)) {
			tree_remove(&tree, &thing->node);
			CHECK(!tree_node_in(&thing->node));
			model_remove(sorted, &count, thing);
		}
		check_shape(&tree);
		if (step % 7 == 0)
			check_answers(&tree, sorted, count);
	}
}

TEST(the_depth_stays_logarithmic_whatever_the_order)
{
	enum { THINGS = 50000 };
	static struct thing things[THINGS];
	uint64_t seed = 5;

	for (int order = 0; order < 3; order++) {
		struct tree tree;

		memset(things, 0, sizeof(things));
		tree_init(&tree, by_key, NULL);
		for (int i = 0; i < THINGS; i++) {
			things[i].key = order == 0   ? i
					: order == 1 ? -i
						     : (int)random_below(&seed, 1 << 30);
			tree_insert(&tree, &things[i].node);
		}
		CHECK(check_shape(&tree) <= 24); /* a perfect tree has 16 levels */
		/* Take from one end, as a queue does. */
		for (int i = 0; i < THINGS * 9 / 10; i++)
			tree_remove(&tree, tree_first(&tree));
		CHECK(check_shape(&tree) <= 20);
		CHECK_INT(tree_count(&tree), THINGS / 10);
	}
}
