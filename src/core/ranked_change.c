/*
 * Changing the counted B+-tree of ranked.h. Full nodes are split on the way down, so that a parent always
 * has room; a node that shrinks below a quarter joins a neighbour when both together leave room for
 * more. An entry that goes to the end of a full leaf gets a leaf nearly of its own: queues are
 * mostly appended to, and their leaves stay full behind them.
 *
 * A separator is at or before every key of its child and behind all of the child before; it need
 * not be a key that is in the set, so removing touches none.
 */
#include "core/ranked_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { SHARE_MAX = LEAF_ROOM * 3 / 4 }; /* entries of a leaf that takes some of its neighbour's */

static void set_separator(struct ranked_inner *inner, uint32_t at, const struct ranked_key *key)
{
	inner->keys[at] = key->key;
	inner->serials[at] = key->serial;
	inner->groups[at] = key->group;
}

/* ---- what an inner node knows of a child ---- */

static void look_at_leaf(const struct ranked *set, struct ranked_inner *inner, uint32_t at)
{
	const struct ranked_leaf *leaf = inner->children[at];
	int64_t ahead = 0, least = INT64_MAX;

	inner->counts[at] = leaf->head.count;
	if (set->columns == RANKED_KEYS)
		return;
	for (uint32_t i = 0; i < leaf->head.count; i++) {
		if (set->columns == RANKED_LIMITS && leaf->limits[i] - ahead < least)
			least = leaf->limits[i] - ahead;
		ahead += (int64_t)leaf->weights[i];
	}
	inner->sums[at] = (uint64_t)ahead;
	if (set->columns == RANKED_LIMITS)
		inner->slacks[at] = least;
}

static void look_at_inner(const struct ranked *set, struct ranked_inner *inner, uint32_t at)
{
	const struct ranked_inner *child = inner->children[at];
	uint32_t count = 0;
	int64_t ahead = 0, least = INT64_MAX;

	for (uint32_t i = 0; i < child->head.count; i++) {
		count += child->counts[i];
		if (set->columns == RANKED_LIMITS && child->slacks[i] - ahead < least)
			least = child->slacks[i] - ahead;
		if (set->columns != RANKED_KEYS)
			ahead += (int64_t)child->sums[i];
	}
	inner->counts[at] = count;
	if (set->columns != RANKED_KEYS)
		inner->sums[at] = (uint64_t)ahead;
	if (set->columns == RANKED_LIMITS)
		inner->slacks[at] = least;
}

/* Counts a child anew; level is that of the node itself, 1 for one above leaves. */
static void look_at(const struct ranked *set, struct ranked_inner *inner, uint32_t at,
		    uint32_t level)
{
	if (level == 1)
		look_at_leaf(set, inner, at);
	else
		look_at_inner(set, inner, at);
}

/* After a change by one entry of this weight: the counts follow, and only slacks are looked up again. */
static void update_path(const struct ranked *set, const struct path *path, int change,
			uint64_t weight)
{
	for (uint32_t i = set->height; i-- > 0;) {
		struct ranked_inner *inner = path->node[i];
		uint32_t at = path->child[i];

		if (set->columns == RANKED_LIMITS) {
			look_at(set, inner, at, set->height - i);
			continue;
		}
		inner->counts[at] += (uint32_t)change;
		if (set->columns == RANKED_WEIGHTS)
			inner->sums[at] += change > 0 ? weight : -weight;
	}
}

/* ---- moving entries ---- */

/* Moves `count` entries from one place to another; ranges of one leaf may overlap. */
static void move_entries(const struct ranked *set, struct ranked_leaf *to, uint32_t to_at,
			 struct ranked_leaf *from, uint32_t from_at, uint32_t count)
{
	memmove(&to->keys[to_at], &from->keys[from_at], count * sizeof(to->keys[0]));
	if (set->columns >= RANKED_WEIGHTS)
		memmove(&to->weights[to_at], &from->weights[from_at],
			count * sizeof(to->weights[0]));
	if (set->columns == RANKED_LIMITS)
		memmove(&to->limits[to_at], &from->limits[from_at], count * sizeof(to->limits[0]));
}

/* The same of children. */
static void move_children(const struct ranked *set, struct ranked_inner *to, uint32_t to_at,
			  struct ranked_inner *from, uint32_t from_at, uint32_t count)
{
	memmove(&to->counts[to_at], &from->counts[from_at], count * sizeof(to->counts[0]));
	memmove(&to->keys[to_at], &from->keys[from_at], count * sizeof(to->keys[0]));
	memmove(&to->serials[to_at], &from->serials[from_at], count * sizeof(to->serials[0]));
	memmove(&to->groups[to_at], &from->groups[from_at], count * sizeof(to->groups[0]));
	memmove(&to->children[to_at], &from->children[from_at], count * sizeof(to->children[0]));
	if (set->columns >= RANKED_WEIGHTS)
		memmove(&to->sums[to_at], &from->sums[from_at], count * sizeof(to->sums[0]));
	if (set->columns == RANKED_LIMITS)
		memmove(&to->slacks[to_at], &from->slacks[from_at], count * sizeof(to->slacks[0]));
}

/* ---- growing ---- */

static void *new_node(struct slab *slab)
{
	uint64_t handle;
	struct head *head = slab_get(slab, &handle);

	assert(head); /* ranked_reserve has seen to it */
	head->handle = handle;
	return head;
}

/*
 * How many entries of a full leaf stay when it is split for this key. All but one where the key
 * goes to the end, and those before it where it ends a run of its group, or of its group and key:
 * runs are queues in the queue, and are appended to as well. Otherwise half of them.
 */
static uint32_t kept_of(const struct ranked_leaf *leaf, const struct ranked_key *key)
{
	uint32_t at = lower(leaf->keys, LEAF_ROOM, key);

	if (at == LEAF_ROOM)
		return LEAF_ROOM - 1;
	if (at < LEAF_ROOM / 4 || at > LEAF_ROOM - LEAF_ROOM / 8 ||
	    leaf->keys[at - 1].group != key->group)
		return LEAF_ROOM / 2;
	bool ends_group = leaf->keys[at].group != key->group;
	bool ends_key = leaf->keys[at - 1].key == key->key && leaf->keys[at].key != key->key;

	return ends_group || ends_key ? at : LEAF_ROOM / 2;
}

static struct ranked_leaf *split_leaf(struct ranked *set, struct ranked_leaf *leaf,
				      const struct ranked_key *key)
{
	struct ranked_leaf *right = new_node(&set->leaves);
	uint32_t kept = kept_of(leaf, key);

	right->head.count = leaf->head.count - kept;
	move_entries(set, right, 0, leaf, kept, right->head.count);
	leaf->head.count = kept;
	right->prev = leaf;
	right->next = leaf->next;
	if (leaf->next)
		leaf->next->prev = right;
	leaf->next = right;
	return right;
}

static struct ranked_inner *split_inner(struct ranked *set, struct ranked_inner *inner,
					const struct ranked_key *key)
{
	struct ranked_inner *right = new_node(&set->inners);
	bool appended = !before_child(set, inner, inner->head.count - 1, key);
	uint32_t kept = appended ? inner->head.count - 2 : inner->head.count / 2;

	right->head.count = inner->head.count - kept;
	move_children(set, right, 0, inner, kept, right->head.count);
	inner->head.count = kept;
	return right;
}

static uint32_t child_count(const struct ranked_inner *parent, uint32_t at)
{
	return ((const struct head *)parent->children[at])->count;
}

/* Evens out two neighbours, the left of which is full, or the right. */
static void even_out(struct ranked *set, struct ranked_inner *parent, uint32_t at)
{
	struct ranked_leaf *left = parent->children[at], *right = parent->children[at + 1];
	uint32_t half = (left->head.count + right->head.count) / 2;

	if (left->head.count > half) {
		uint32_t part = left->head.count - half;

		move_entries(set, right, part, right, 0, right->head.count);
		move_entries(set, right, 0, left, half, part);
	} else {
		uint32_t part = half - left->head.count;

		move_entries(set, left, left->head.count, right, 0, part);
		move_entries(set, right, 0, right, part, right->head.count - part);
	}
	right->head.count += left->head.count - half;
	left->head.count = half;
	set_separator(parent, at + 1, &right->keys[0]);
	look_at(set, parent, at, 1);
	look_at(set, parent, at + 1, 1);
}

/* A full leaf that would be split in half gives to a neighbour that has room: so leaves are fuller. */
static bool share_leaf(struct ranked *set, struct ranked_inner *parent, uint32_t at,
		       const struct ranked_key *key)
{
	if (kept_of(parent->children[at], key) != LEAF_ROOM / 2)
		return false;
	if (at + 1 < parent->head.count && child_count(parent, at + 1) <= SHARE_MAX)
		even_out(set, parent, at);
	else if (at > 0 && child_count(parent, at - 1) <= SHARE_MAX)
		even_out(set, parent, at - 1);
	else
		return false;
	return true;
}

/* Splits a full child in two; level is that of the parent, which has room. */
static void split_child(struct ranked *set, struct ranked_inner *parent, uint32_t at,
			uint32_t level, const struct ranked_key *key)
{
	void *child = parent->children[at];

	move_children(set, parent, at + 2, parent, at + 1, parent->head.count - at - 1);
	parent->head.count++;
	if (level == 1) {
		struct ranked_leaf *right = split_leaf(set, child, key);

		parent->children[at + 1] = right;
		set_separator(parent, at + 1, &right->keys[0]);
	} else {
		struct ranked_inner *right = split_inner(set, child, key);

		parent->children[at + 1] = right;
		parent->keys[at + 1] = right->keys[0];
		parent->serials[at + 1] = right->serials[0];
		parent->groups[at + 1] = right->groups[0];
	}
	look_at(set, parent, at, level);
	look_at(set, parent, at + 1, level);
}

static bool full(const void *node, uint32_t level)
{
	return ((const struct head *)node)->count == (level == 0 ? LEAF_ROOM : INNER_ROOM);
}

/*
 * An insertion splits at most one node of each level and raises the root at most once. Of many
 * insertions not all can do so: what was split has room for one more at least before it is split
 * again, so that a level splits as often as it has nodes now, and for every second insertion.
 */
int ranked_reserve(struct ranked *set, size_t more)
{
	size_t leaves = set->leaves.count + more / 2 + 1;
	size_t inners = 2 * (size_t)set->inners.count + more + set->height + 2;
	size_t each = set->height + (more > 1 ? 2 : 1);

	if (slab_reserve(&set->leaves, more < leaves ? more : leaves) ||
	    slab_reserve(&set->inners, more * each < inners ? more * each : inners))
		return -ENOMEM;
	return 0;
}

/* A root that can be split below: one level more, with the old root as its only child. */
static void raise_root(struct ranked *set)
{
	struct ranked_inner *root = new_node(&set->inners);

	assert(set->height + 1 < HEIGHT_MAX);
	root->head.count = 1;
	root->children[0] = set->root;
	set->root = root;
	set->height++;
	look_at(set, root, 0, set->height);
}

int ranked_insert(struct ranked *set, const struct ranked_key *key, uint64_t weight, int64_t limit)
{
	struct path path;

	if (ranked_reserve(set, 1))
		return -ENOMEM;
	set->grouped |= key->group != 0;
	if (!set->root)
		set->root = set->first = new_node(&set->leaves);
	if (full(set->root, set->height))
		raise_root(set);
	void *node = set->root;

	for (uint32_t level = set->height; level > 0; level--) {
		struct ranked_inner *inner = node;
		uint32_t at = child_of(set, inner, key);

		fetch(inner->children[at], level - 1);
		if (full(inner->children[at], level - 1)) {
			if (level > 1 || !share_leaf(set, inner, at, key))
				split_child(set, inner, at, level, key);
			at = child_of(set, inner, key);
		}
		path.node[set->height - level] = inner;
		path.child[set->height - level] = at;
		node = inner->children[at];
	}
	struct ranked_leaf *leaf = node;
	uint32_t at = lower(leaf->keys, leaf->head.count, key);

	assert(at == leaf->head.count || before(key, &leaf->keys[at]));
	move_entries(set, leaf, at + 1, leaf, at, leaf->head.count - at);
	leaf->keys[at] = *key;
	if (set->columns >= RANKED_WEIGHTS)
		leaf->weights[at] = weight;
	if (set->columns == RANKED_LIMITS)
		leaf->limits[at] = limit;
	leaf->head.count++;
	update_path(set, &path, 1, weight);
	set->count++;
	set->sum += weight;
	return 0;
}

/* ---- shrinking ---- */

static void free_leaf(struct ranked *set, struct ranked_leaf *leaf)
{
	if (leaf->prev)
		leaf->prev->next = leaf->next;
	else
		set->first = leaf->next;
	if (leaf->next)
		leaf->next->prev = leaf->prev;
	slab_put(&set->leaves, leaf->head.handle);
}

static void drop_child(struct ranked *set, struct ranked_inner *parent, uint32_t at, uint32_t level)
{
	if (level == 1)
		free_leaf(set, parent->children[at]);
	else
		slab_put(&set->inners, ((struct head *)parent->children[at])->handle);
	move_children(set, parent, at, parent, at + 1, parent->head.count - at - 1);
	parent->head.count--;
}

/* Moves all of a child into the one on its left. */
static void join_children(struct ranked *set, struct ranked_inner *parent, uint32_t left,
			  uint32_t level)
{
	void *to = parent->children[left], *from = parent->children[left + 1];

	if (level == 1) {
		struct ranked_leaf *a = to, *b = from;

		move_entries(set, a, a->head.count, b, 0, b->head.count);
		a->head.count += b->head.count;
	} else {
		struct ranked_inner *a = to, *b = from;

		b->keys[0] = parent->keys[left + 1];
		b->serials[0] = parent->serials[left + 1];
		b->groups[0] = parent->groups[left + 1];
		move_children(set, a, a->head.count, b, 0, b->head.count);
		a->head.count += b->head.count;
	}
	drop_child(set, parent, left + 1, level);
	look_at(set, parent, left, level);
}

/* A child has lost something: it goes when nothing is left and joins a neighbour when little is. */
static void shrink_child(struct ranked *set, struct ranked_inner *parent, uint32_t at,
			 uint32_t level)
{
	uint32_t room = level == 1 ? LEAF_ROOM : INNER_ROOM;
	uint32_t count = child_count(parent, at);

	if (count == 0) {
		drop_child(set, parent, at, level);
		return;
	}
	if (count >= room / 4)
		return;
	if (at > 0 && child_count(parent, at - 1) + count <= room * 3 / 4)
		join_children(set, parent, at - 1, level);
	else if (at + 1 < parent->head.count && child_count(parent, at + 1) + count <= room * 3 / 4)
		join_children(set, parent, at, level);
}

static void lower_root(struct ranked *set)
{
	while (set->height > 0 && ((struct head *)set->root)->count <= 1) {
		struct ranked_inner *root = set->root;

		set->root = root->head.count ? root->children[0] : NULL;
		slab_put(&set->inners, root->head.handle);
		set->height = set->root ? set->height - 1 : 0;
	}
	struct ranked_leaf *leaf = set->root;

	if (set->height == 0 && leaf && leaf->head.count == 0) {
		free_leaf(set, leaf);
		set->root = NULL;
	}
}

void ranked_remove(struct ranked *set, const struct ranked_key *key)
{
	struct path path;
	void *node = set->root;

	assert(node);
	for (uint32_t i = 0; i < set->height; i++) {
		path.node[i] = node;
		path.child[i] = child_of(set, node, key);
		node = path.node[i]->children[path.child[i]];
		fetch(node, set->height - i - 1);
	}
	struct ranked_leaf *leaf = node;
	uint32_t at = lower(leaf->keys, leaf->head.count, key);

	assert(at < leaf->head.count && leaf->keys[at].serial == key->serial &&
	       leaf->keys[at].key == key->key && leaf->keys[at].group == key->group);
	uint64_t weight = set->columns >= RANKED_WEIGHTS ? leaf->weights[at] : 0;

	move_entries(set, leaf, at, leaf, at + 1, leaf->head.count - at - 1);
	leaf->head.count--;
	update_path(set, &path, -1, weight);
	set->count--;
	set->sum -= weight;
	for (uint32_t i = set->height; i-- > 0;)
		shrink_child(set, path.node[i], path.child[i], set->height - i);
	lower_root(set);
}
