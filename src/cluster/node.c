/*
 * Nodes and the groups of those that look alike. A node that is up belongs to the group of its node
 * type and its room; whenever its room changes it moves. Groups with nodes are also chained by when
 * they last gained one: what did not fit any group at some version can fit only a group that
 * changed since, so a job that waits is looked at again only where something happened.
 *
 * There are never more groups with nodes than nodes, and room for so many is made when a node is
 * added: moving a node cannot fail.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
	return hash ^ hash >> 29;
}

static uint64_t group_hash(const struct node_type *node_type, const struct strata_room *room)
{
	uint64_t hash = mix(node_type->index, (uint64_t)room->cpu_milli);
	uint64_t words[sizeof(room->gpu_milli) / (sizeof(uint64_t))];

	hash = mix(hash, (uint64_t)room->memory_bytes);
	memcpy(words, room->gpu_milli, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = mix(hash, words[i]);
	return hash;
}

static int compare_rows(const struct tree_node *a, const struct tree_node *b, void *context)
{
	const struct node *left = container_of(a, struct node, in_group),
			  *right = container_of(b, struct node, in_group);

	(void)context;
	return left->row < right->row ? -1 : left->row > right->row;
}

static void unlink_group(struct strata_cluster *cluster, struct node_group *group)
{
	if (group->newer)
		group->newer->older = group->older;
	else if (cluster->newest == group)
		cluster->newest = group->older;
	if (group->older)
		group->older->newer = group->newer;
	group->newer = group->older = NULL;
}

static struct node_group *find_group(struct strata_cluster *cluster,
				     const struct node_type *node_type,
				     const struct strata_room *room, uint64_t hash)
{
	struct node_group *group = cluster->group_table[hash & (cluster->group_buckets - 1)];

	while (group && (group->hash != hash || group->node_type != node_type ||
			 memcmp(&group->room, room, sizeof(*room)) != 0))
		group = group->next;
	return group;
}

static struct node_group *make_group(struct strata_cluster *cluster, struct node *node,
				     uint64_t hash)
{
	struct node_group **bucket = &cluster->group_table[hash & (cluster->group_buckets - 1)];
	uint64_t handle;
	struct node_group *group = slab_get(&cluster->group_slab, &handle);

	assert(group); /* reserved when the node was added */
	group->handle = handle;
	group->node_type = node->node_type;
	group->room = node->room;
	group->hash = hash;
	tree_init(&group->nodes, compare_rows, NULL);
	group->next = *bucket;
	*bucket = group;
	group_index_enter(cluster, group);
	return group;
}

void node_attach(struct strata_cluster *cluster, struct node *node)
{
	uint64_t hash = group_hash(node->node_type, &node->room);
	struct node_group *group = find_group(cluster, node->node_type, &node->room, hash);

	assert(!node->group);
	if (group)
		unlink_group(cluster, group);
	else
		group = make_group(cluster, node, hash);
	group->changed = ++cluster->version;
	group->older = cluster->newest;
	if (group->older)
		group->older->newer = group;
	cluster->newest = group;
	node->group = group;
	tree_insert(&group->nodes, &node->in_group);
	group_index_note(cluster, group);
}

void node_detach(struct strata_cluster *cluster, struct node *node)
{
	struct node_group *group = node->group, **at;

	if (!group)
		return;
	tree_remove(&group->nodes, &node->in_group);
	node->group = NULL;
	if (tree_count(&group->nodes)) {
		group_index_note(cluster, group);
		return;
	}
	group_index_leave(cluster, group);
	unlink_group(cluster, group);
	at = &cluster->group_table[group->hash & (cluster->group_buckets - 1)];
	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	slab_put(&cluster->group_slab, group->handle);
}

/* The node type of a node, known or new. */
static struct node_type *find_node_type(struct strata_cluster *cluster,
					const struct node_type *wanted)
{
	for (uint32_t i = 0; i < cluster->node_type_count; i++) {
		struct node_type *node_type = cluster->node_types[i];

		if (memcmp(&node_type->whole, &wanted->whole, sizeof(node_type->whole)) == 0 &&
		    node_type->gpu_count == wanted->gpu_count &&
		    node_type->gpu_type == wanted->gpu_type &&
		    node_type->features == wanted->features &&
		    node_type->partitions == wanted->partitions &&
		    memcmp(node_type->numa, wanted->numa, sizeof(node_type->numa)) == 0)
			return node_type;
	}
	return NULL;
}

static int get_node_type(struct strata_cluster *cluster, const struct strata_node_conf *conf,
			 struct node_type **ret_node_type, struct strata_error *err)
{
	struct node_type wanted = { .gpu_count = conf->gpu_count }, *node_type;
	uint64_t handle;

	wanted.whole.cpu_milli = conf->cpu_milli;
	wanted.whole.memory_bytes = conf->memory_bytes;
	for (uint32_t i = 0; i < conf->gpu_count; i++) {
		wanted.whole.gpu_milli[i] = 1000;
		wanted.numa[i] = conf->numa[i];
	}
	wanted.gpu_type = cluster_text(cluster, conf->gpu_type);
	wanted.features = cluster_text(cluster, conf->features);
	wanted.partitions = cluster_text(cluster, conf->partitions);
	if (!wanted.gpu_type || !wanted.features || !wanted.partitions)
		return strata_fail_memory(err);
	*ret_node_type = find_node_type(cluster, &wanted);
	if (*ret_node_type)
		return 0;
	if (cluster->node_type_count == cluster->node_type_room) {
		uint32_t room = cluster->node_type_room ? cluster->node_type_room * 2 : 8;
		struct node_type **node_types = strata_memory_resize(
			cluster->memory, cluster->node_types,
			cluster->node_type_room * sizeof(*node_types), room * sizeof(*node_types));

		if (!node_types)
			return strata_fail_memory(err);
		cluster->node_types = node_types;
		cluster->node_type_room = room;
	}
	node_type = slab_get(&cluster->node_type_slab, &handle);
	if (!node_type)
		return strata_fail_memory(err);
	wanted.index = cluster->node_type_count;
	*node_type = wanted;
	cluster->node_types[cluster->node_type_count++] = node_type;
	*ret_node_type = node_type;
	return 0;
}

static int check_node(const struct strata_node_conf *conf, struct strata_error *err)
{
	if (!conf->name || !*conf->name)
		return strata_fail_at(err, -EINVAL, "name", "a node has no name");
	if (conf->gpu_count > STRATA_NODE_GPUS_MAX)
		return strata_fail_at(err, -ERANGE, "gpu_count",
				      "node %s has %u GPUs; expected at most %d", conf->name,
				      conf->gpu_count, STRATA_NODE_GPUS_MAX);
	if (conf->cpu_milli < 0 || conf->memory_bytes < 0)
		return strata_fail(err, -ERANGE,
				   "node %s has a number of CPUs or bytes of memory below 0",
				   conf->name);
	return 0;
}

/* Moves everything that is as large as there are nodes into larger tables. Nodes are added
 * before the first job, so nothing else points into these. */
static int grow_to(struct strata_cluster *cluster, uint32_t room)
{
	struct strata_memory *memory = cluster->memory;
	struct node *nodes = strata_memory_get(memory, room * sizeof(*nodes));
	struct node_group **table = strata_memory_get(memory, 4 * room * sizeof(*table));
	struct group_index group_index = { 0 };

	if (!nodes || !table || group_index_init(&group_index, memory, room) ||
	    heap_reserve(&cluster->picks, room)) {
		strata_memory_put(memory, nodes, room * sizeof(*nodes));
		strata_memory_put(memory, table, 4 * room * sizeof(*table));
		group_index_fini(&group_index, memory);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cluster->node_count; i++)
		node_detach(cluster, &cluster->nodes[i]);
	if (cluster->node_count)
		memcpy(nodes, cluster->nodes, cluster->node_count * sizeof(*nodes));
	strata_memory_put(memory, cluster->nodes, cluster->node_room * sizeof(*nodes));
	strata_memory_put(memory, cluster->group_table, cluster->group_buckets * sizeof(*table));
	group_index_fini(&cluster->group_index, memory);
	cluster->nodes = nodes;
	cluster->node_room = room;
	cluster->group_table = table;
	cluster->group_buckets = 4 * (size_t)room;
	cluster->group_index = group_index;
	for (uint32_t i = 0; i < cluster->node_count; i++)
		node_attach(cluster, &cluster->nodes[i]);
	return 0;
}

static int grow_tables(struct strata_cluster *cluster, struct strata_error *err)
{
	if (cluster->node_count == cluster->node_room &&
	    grow_to(cluster, cluster->node_room ? cluster->node_room * 2 : 16))
		return strata_fail_memory(err);
	return slab_reserve(&cluster->group_slab,
			    cluster->node_count + 1 - cluster->group_slab.count)
		       ? strata_fail_memory(err)
		       : 0;
}

int strata_cluster_add_node(struct strata_cluster *cluster, const struct strata_node_conf *conf,
			    uint32_t *ret_row, struct strata_error *err)
{
	struct node_type *node_type;
	int rc = check_node(conf, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_ADD_NODE, .conf = conf);
	if (rc)
		return rc;
	if (cluster->sequence)
		return strata_fail(
			err, -EBUSY,
			"node %s comes after the first job; expected all nodes before it",
			conf->name);
	rc = grow_tables(cluster, err);
	if (rc == 0)
		rc = get_node_type(cluster, conf, &node_type, err);
	if (rc)
		return rc;
	struct node *node = &cluster->nodes[cluster->node_count];

	*node = (struct node){ .row = cluster->node_count,
			       .node_type = node_type,
			       .room = node_type->whole };
	node->name = cluster_text(cluster, conf->name);
	if (!node->name)
		return strata_fail_memory(err);
	node_attach(cluster, node);
	cluster->node_count++;
	cluster->metrics.node_count++;
	cluster->metrics.nodes_up++;
	cluster->metrics.cpu_milli += conf->cpu_milli;
	cluster->metrics.cpu_milli_free += conf->cpu_milli;
	cluster->metrics.gpu_milli += 1000 * (int64_t)conf->gpu_count;
	cluster->metrics.gpu_milli_free += 1000 * (int64_t)conf->gpu_count;
	if (cluster->usual_billing && conf->gpu_count)
		cluster->billing.cpu = 1.0 /
				       16; /* where there are GPUs, cores are not what is scarce */
	cluster->size = cluster->metrics.gpu_milli ? (double)cluster->metrics.gpu_milli / 1000
						   : (double)cluster->metrics.cpu_milli / 1000;
	if (ret_row)
		*ret_row = node->row;
	return 0;
}
