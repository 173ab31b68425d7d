#include "test.h"

#include "core/container.h"
#include "core/tree.h"
#include "random.h"

#include <string.h>

struct thing {
	int key;
	uint64_t weight;
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

static int key_first(const void *key, const struct tree_node *node, void *context)
{
	int x = *(const int *)key, y = thing_of(node)->key;

	(void)context;
	return (x > y) - (x < y);
}

/* Counts, sums, links and the balance at every node, by looking; returns the depth. */
static int check_shape(const struct tree *tree)
{
	const struct tree_node *from = NULL;
	int depth = 0, deepest = 0;

	CHECK(!tree->root || !tree->root->parent);
	for (const struct tree_node *node = tree->root; node;) {
		const struct tree_node *left = node->child[0], *right = node->child[1], *to;

		if (from == node->parent) {
			size_t a = left ? left->count : 0, b = right ? right->count : 0;
			uint64_t sums = (left ? left->sum : 0) + (right ? right->sum : 0);

			depth++;
			deepest = depth > deepest ? depth : deepest;
			CHECK_INT(node->count, a + b + 1);
			CHECK_INT(node->sum, sums + thing_of(node)->weight);
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

/* Everything a tree answers about its nodes, against the same things in a sorted array. */
static void check_answers(const struct tree *tree, struct thing **sorted, size_t count)
{
	uint64_t before = 0;

	CHECK_INT(tree_count(tree), count);
	CHECK(thing_of(tree_first(tree)) == (count ? sorted[0] : NULL));
	CHECK(thing_of(tree_last(tree)) == (count ? sorted[count - 1] : NULL));
	for (size_t i = 0; i < count; i++) {
		const struct tree_node *node = &sorted[i]->node;

		CHECK_INT(tree_rank(node), i);
		CHECK(tree_select(tree, i) == node);
		CHECK_INT(tree_weight(node), sorted[i]->weight);
		CHECK_INT(tree_weight_before(node), before);
		if (sorted[i]->weight > 0) {
			CHECK(tree_select_weight(tree, before) == node);
			CHECK(tree_select_weight(tree, before + sorted[i]->weight - 1) == node);
		}
		CHECK(thing_of(tree_next(node)) == (i + 1 < count ? sorted[i + 1] : NULL));
		CHECK(thing_of(tree_prev(node)) == (i > 0 ? sorted[i - 1] : NULL));
		before += sorted[i]->weight;
	}
	CHECK_INT(tree_sum(tree), before);
	CHECK(!tree_select(tree, count));
	CHECK(!tree_select(tree, SIZE_MAX));
	CHECK(!tree_select_weight(tree, before));
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

TEST(a_node_is_forty_bytes)
{
	CHECK(sizeof(struct tree_node) <= 40);
}

TEST(an_empty_tree_answers_with_nothing)
{
	struct tree tree;
	int key = 0;

	tree_init(&tree, by_key, NULL);
	check_answers(&tree, NULL, 0);
	CHECK(!tree_lower_bound(&tree, key_first, &key));
}

TEST(equal_nodes_stay_in_the_order_of_insertion)
{
	struct thing things[50] = { 0 };
	struct tree tree;

	tree_init(&tree, by_key, NULL);
	for (int i = 0; i < 50; i++) {
		things[i].key = i % 2;
		tree_insert(&tree, &things[i].node, 0);
	}
	for (size_t i = 0; i < 50; i++)
		CHECK(thing_of(tree_select(&tree, i)) == &things[i < 25 ? i * 2 : i * 2 - 49]);
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
			thing->weight = random_below(&seed, 3) ? random_below(&seed, 1000) : 0;
			tree_insert(&tree, &thing->node, thing->weight);
			model_insert(sorted, &count, thing);
		} else if (tree_node_in(&thing->node) && (!grow || random_below(&seed, 4) == 0)) {
			tree_remove(&tree, &thing->node);
			CHECK(!tree_node_in(&thing->node));
			model_remove(sorted, &count, thing);
		} else if (tree_node_in(&thing->node)) {
			thing->weight = random_below(&seed, 1000);
			tree_set_weight(&tree, &thing->node, thing->weight);
		}
		check_shape(&tree);
		if (step % 7 == 0)
			check_answers(&tree, sorted, count);
		int key = (int)random_below(&seed, 62) - 1;
		size_t at = model_position(sorted, count, key - 1);

		CHECK(thing_of(tree_lower_bound(&tree, key_first, &key)) ==
		      (at < count ? sorted[at] : NULL));
	}
}

TEST(a_changed_key_moves_the_node_only_when_it_must)
{
	enum { THINGS = 60 };
	struct thing things[THINGS] = { 0 }, *sorted[THINGS];
	uint64_t seed = 4;
	size_t count = 0;
	int asked = 0;
	struct tree tree;

	tree_init(&tree, by_key, &asked);
	for (int i = 0; i < THINGS; i++) {
		things[i].key = i * 10;
		things[i].weight = (uint64_t)i;
		tree_insert(&tree, &things[i].node, things[i].weight);
		model_insert(sorted, &count, &things[i]);
	}
	asked = 0;
	things[30].key = 305;
	tree_update(&tree, &things[30].node);
	CHECK_INT(asked, 2);
	check_answers(&tree, sorted, count);
	for (int step = 0; step < 2000; step++) {
		int i = (int)random_below(&seed, THINGS);
		struct thing *thing = &things[i];

		model_remove(sorted, &count, thing);
		thing->key = (int)random_below(&seed, 1000) * THINGS + i; /* unique */
		model_insert(sorted, &count, thing);
		tree_update(&tree, &thing->node);
		check_shape(&tree);
		if (step % 50 == 0)
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
			tree_insert(&tree, &things[i].node, 0);
		}
		CHECK(check_shape(&tree) <= 24); /* a perfect tree has 16 levels */
		/* Take from one end, as a queue does. */
		for (int i = 0; i < THINGS * 9 / 10; i++)
			tree_remove(&tree, tree_first(&tree));
		CHECK(check_shape(&tree) <= 20);
		CHECK_INT(tree_count(&tree), THINGS / 10);
	}
}

TEST(cost_ahead_of_me_and_whose_turn_it_is)
{
	struct thing things[4] = {
		{ .key = 1, .weight = 10 },
		{ .key = 2, .weight = 0 },
		{ .key = 3, .weight = 5 },
		{ .key = 4, .weight = 1 },
	};
	struct tree tree;

	tree_init(&tree, by_key, NULL);
	for (int i = 3; i >= 0; i--)
		tree_insert(&tree, &things[i].node, things[i].weight);
	CHECK_INT(tree_weight_before(&things[0].node), 0);
	CHECK_INT(tree_weight_before(&things[2].node), 10);
	CHECK_INT(tree_weight_before(&things[3].node), 15);
	CHECK(tree_select_weight(&tree, 9) == &things[0].node);
	CHECK(tree_select_weight(&tree, 10) == &things[2].node); /* weight 0 is nobody's turn */
	CHECK(tree_select_weight(&tree, 15) == &things[3].node);
	CHECK(!tree_select_weight(&tree, 16));
	tree_set_weight(&tree, &things[0].node, 1);
	CHECK_INT(tree_weight_before(&things[3].node), 6);
	CHECK_INT(tree_sum(&tree), 7);
}
