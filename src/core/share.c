/* The account tree of share.h: adding, removing and finding nodes. */
#include "core/share_int.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { PARENT_BYTES = sizeof(uint64_t), KEY_BYTES_MAX = PARENT_BYTES + STRATA_NAME_BYTES_MAX };

struct share_node *share_must(const struct share *share, uint64_t node)
{
	struct share_node *found = share_at(share, node);

	assert(found);
	return found;
}

struct share_node *share_look(const struct share *share, uint64_t node, struct strata_error *err)
{
	struct share_node *found = share_at(share, node);

	if (!found)
		strata_fail(err, -ESTALE, "there is no share %#llx",
			    (unsigned long long)node);
	return found;
}

/* The key of a name below a parent; 0 for a name that cannot be one. */
static size_t make_key(char key[KEY_BYTES_MAX], uint64_t parent, const char *name)
{
	size_t length = strnlen(name, STRATA_NAME_BYTES_MAX + 1);

	if (length == 0 || length > STRATA_NAME_BYTES_MAX)
		return 0;
	memcpy(key, &parent, PARENT_BYTES);
	memcpy(key + PARENT_BYTES, name, length);
	return PARENT_BYTES + length;
}

static struct share_node *new_node(struct share *share, struct share_node *parent, double weight)
{
	uint64_t handle;
	struct share_node *node = slab_get(&share->nodes, &handle);

	if (!node)
		return NULL;
	node->parent = parent;
	node->weight = weight;
	node->depth = parent ? (uint16_t)(parent->depth + 1) : 0;
	node->handle = handle;
	node->serial = share->serial++;
	node->name = "";
	return node;
}

int share_new(struct strata_memory *memory, int64_t half_life_ns, struct share **ret_share,
	      struct strata_error *err)
{
	if (half_life_ns < 0)
		return strata_fail(err, -EINVAL, "the half-life is %lld ns; expected 0 or more",
				   (long long)half_life_ns);
	struct share *share = strata_memory_get(memory, sizeof(*share));

	if (!share)
		return strata_fail_memory(err);
	share->memory = memory;
	share->half_life_ns = half_life_ns;
	share->clock = (struct share_clock){ .now_ns = INT64_MIN, .scale = 1 };
	slab_init(&share->nodes, memory, sizeof(struct share_node), 0);
	map_text_init(&share->names, memory);
	share->root = new_node(share, NULL, 1);
	if (!share->root) {
		share_free(share);
		return strata_fail_memory(err);
	}
	*ret_share = share;
	return 0;
}

static void free_group(struct share *share, struct share_node *node)
{
	if (!node->group)
		return;
	heap_fini(&node->group->ready);
	strata_memory_put(share->memory, node->group, sizeof(*node->group));
	node->group = NULL;
}

void share_free(struct share *share)
{
	struct share_node *node;

	if (!share)
		return;
	for (uint64_t at = 0; (node = slab_next(&share->nodes, at, &at));)
		free_group(share, node);
	map_text_fini(&share->names);
	slab_fini(&share->nodes);
	strata_memory_put(share->memory, share, sizeof(*share));
}

static int check_weight(double weight, struct strata_error *err)
{
	if (weight >= STRATA_SHARE_WEIGHT_MIN && weight <= STRATA_SHARE_WEIGHT_MAX)
		return 0;
	return strata_fail(err, -EINVAL, "the weight is %g; expected %g to %g", weight,
			   STRATA_SHARE_WEIGHT_MIN, STRATA_SHARE_WEIGHT_MAX);
}

/* Whether a node may be added; key and bytes as make_key gave them. */
static int check_add(const struct share *share, uint64_t parent, const char *name, double weight,
		     const char *key, size_t bytes, struct strata_error *err)
{
	const struct share_node *above = share_look(share, parent, err);

	if (!above)
		return -ESTALE;
	if (bytes == 0)
		return strata_fail(err, -EINVAL, "the name has %zu bytes; expected 1 to %d",
				   strlen(name), STRATA_NAME_BYTES_MAX);
	int rc = check_weight(weight, err);

	if (rc < 0)
		return rc;
	if (above->depth == STRATA_SHARE_DEPTH_MAX)
		return strata_fail(err, -ERANGE, "%s would be more than %d accounts deep", name,
				   STRATA_SHARE_DEPTH_MAX);
	if (map_text_get(&share->names, key, bytes))
		return strata_fail(err, -EEXIST, "%s exists already", name);
	if (above->state != SHARE_IDLE && (!above->group || above->group->child_count == 0))
		return strata_fail(err, -EBUSY,
				   "%s has work of its own and cannot become an account",
				   above->name);
	return 0;
}

/* A group with room in its heap for one child more. */
static bool reserve_child(struct share *share, struct share_node *parent)
{
	if (!parent->group) {
		parent->group = strata_memory_get(share->memory, sizeof(*parent->group));
		if (!parent->group)
			return false;
		heap_init(&parent->group->ready, share->memory, share_turn_compare, NULL);
	}
	return heap_reserve(&parent->group->ready, (size_t)parent->group->child_count + 1) == 0;
}

int share_add(struct share *share, uint64_t parent, const char *name, double weight,
	      uint64_t *ret_node, struct strata_error *err)
{
	char key[KEY_BYTES_MAX];
	size_t bytes = make_key(key, parent, name);
	int rc = check_add(share, parent, name, weight, key, bytes, err);

	if (rc < 0)
		return rc;
	struct share_node *above = share_at(share, parent);

	if (!reserve_child(share, above))
		return strata_fail_memory(err);
	struct share_node *node = new_node(share, above, weight);

	if (!node)
		return strata_fail_memory(err);
	if (map_text_put(&share->names, key, bytes, node, NULL) < 0) {
		slab_put(&share->nodes, node->handle);
		return strata_fail_memory(err);
	}
	node->name = map_text_find(&share->names, key, bytes)->key + PARENT_BYTES;
	above->group->child_count++;
	real_sum_add(&above->group->weights, weight);
	*ret_node = node->handle;
	return 0;
}

int share_remove(struct share *share, uint64_t node, struct strata_error *err)
{
	struct share_node *gone = share_look(share, node, err);
	char key[KEY_BYTES_MAX];

	if (!gone)
		return -ESTALE;
	if (gone == share->root)
		return strata_fail(err, -EINVAL, "the root cannot be removed");
	if (gone->group && gone->group->child_count > 0)
		return strata_fail(err, -EBUSY, "%s is an account with %u members", gone->name,
				   gone->group->child_count);
	if (gone->state != SHARE_IDLE)
		return strata_fail(err, -EBUSY, "%s has work", gone->name);
	struct share_group *group = gone->parent->group;
	size_t bytes = make_key(key, gone->parent->handle, gone->name);

	group->child_count--;
	real_sum_add(&group->weights, -gone->weight);
	if (group->child_count == 0)
		group->weights = (struct real_sum){ 0 }; /* whatever the last digits say */
	free_group(share, gone);
	map_text_remove(&share->names, key, bytes);
	slab_put(&share->nodes, node);
	return 0;
}

int share_set_weight(struct share *share, uint64_t node, double weight, struct strata_error *err)
{
	struct share_node *found = share_look(share, node, err);

	if (!found)
		return -ESTALE;
	int rc = check_weight(weight, err);

	if (rc < 0)
		return rc;
	if (found == share->root)
		return strata_fail(err, -EINVAL, "the root has no weight of its own");
	real_sum_add(&found->parent->group->weights, weight);
	real_sum_add(&found->parent->group->weights, -found->weight);
	found->weight = weight;
	return 0;
}

uint64_t share_root(const struct share *share)
{
	return share->root->handle;
}

uint64_t share_find(const struct share *share, uint64_t parent, const char *name)
{
	char key[KEY_BYTES_MAX];
	size_t bytes = make_key(key, parent, name);
	const struct share_node *node = bytes ? map_text_get(&share->names, key, bytes) : NULL;

	return node ? node->handle : 0;
}

uint64_t share_next(const struct share *share, uint64_t after)
{
	uint64_t next;

	return slab_next(&share->nodes, after, &next) ? next : 0;
}

size_t share_count(const struct share *share)
{
	return share->nodes.count;
}

bool share_live(const struct share *share, uint64_t node)
{
	return share_at(share, node) != NULL;
}

uint64_t share_parent(const struct share *share, uint64_t node)
{
	const struct share_node *parent = share_must(share, node)->parent;

	return parent ? parent->handle : 0;
}

const char *share_name(const struct share *share, uint64_t node)
{
	return share_must(share, node)->name;
}

double share_weight(const struct share *share, uint64_t node)
{
	return share_must(share, node)->weight;
}

void share_set_owner(struct share *share, uint64_t node, void *owner)
{
	share_must(share, node)->owner = owner;
}

void *share_owner(const struct share *share, uint64_t node)
{
	return share_must(share, node)->owner;
}
