/*
 * The group index: what a search must know of every group, side by side in one array, so that
 * looking for a place reads memory in order and touches no group that cannot take the job. Beside
 * it a log of the groups that changed, by which score caches catch up. A group's number is its
 * index in the slab; there are never more groups than nodes.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <string.h>

static size_t group_index_bytes(uint32_t room)
{
	return room * (sizeof(struct group_index_entry) + sizeof(uint32_t));
}

int group_index_init(struct group_index *group_index, struct strata_memory *memory, uint32_t room)
{
	char *block = strata_memory_get(memory, group_index_bytes(room));

	if (!block)
		return -ENOMEM;
	*group_index = (struct group_index){
		.entries = (struct group_index_entry *)block,
		.log = (uint32_t *)(block + room * sizeof(struct group_index_entry)),
		.room = room,
	};
	return 0;
}

void group_index_fini(struct group_index *group_index, struct strata_memory *memory)
{
	strata_memory_put(memory, group_index->entries, group_index_bytes(group_index->room));
	*group_index = (struct group_index){ 0 };
}

static void log_change(struct group_index *group_index, uint32_t index)
{
	group_index->log[group_index->changes++ & (group_index->room - 1)] = index;
	if (index >= group_index->end)
		group_index->end = index + 1;
}

void group_index_enter(struct strata_cluster *cluster, const struct node_group *group)
{
	uint32_t index = slab_index(group->handle);
	struct strata_need nothing = { 0 };

	cluster->group_index.entries[index] = (struct group_index_entry){
		.score = cluster->placement->ignores_need
				 ? placing_score(cluster, group, &nothing, NULL)
				 : 0,
		.cpu_milli = group->room.cpu_milli,
		.memory_bytes = group->room.memory_bytes,
		.node_type = group->node_type->index,
		.fullest = (uint16_t)room_fullest(&group->room, group->node_type->gpu_count),
		.whole_gpus = (uint8_t)room_whole_gpus(&group->room, group->node_type->gpu_count),
		.untouched = memcmp(&group->room, &group->node_type->whole, sizeof(group->room)) ==
			     0,
	};
}

void group_index_note(struct strata_cluster *cluster, const struct node_group *group)
{
	uint32_t index = slab_index(group->handle);

	cluster->group_index.entries[index].row =
		container_of(tree_first(&group->nodes), struct node, in_group)->row;
	log_change(&cluster->group_index, index);
}

void group_index_leave(struct strata_cluster *cluster, const struct node_group *group)
{
	uint32_t index = slab_index(group->handle);

	cluster->group_index.entries[index] = (struct group_index_entry){ .cpu_milli = -1 };
	log_change(&cluster->group_index, index);
}
