/*
 * The roster: what a search must know of every group, side by side in one array, so that looking for a place reads memory in
 * order and touches no group that cannot take the job. Beside it a log of the groups that changed, by which boards catch up.
 * A group's number is its index in the slab; there are never more groups than nodes.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <string.h>

static size_t roster_bytes(uint32_t room)
{
	return room * (sizeof(struct roster_entry) + sizeof(uint32_t));
}

int roster_init(struct roster *roster, struct strata_memory *memory, uint32_t room)
{
	char *block = strata_memory_get(memory, roster_bytes(room));

	if (!block)
		return -ENOMEM;
	*roster = (struct roster){
		.entries = (struct roster_entry *)block,
		.log = (uint32_t *)(block + room * sizeof(struct roster_entry)),
		.room = room,
	};
	return 0;
}

void roster_fini(struct roster *roster, struct strata_memory *memory)
{
	strata_memory_put(memory, roster->entries, roster_bytes(roster->room));
	*roster = (struct roster){ 0 };
}

static void log_change(struct roster *roster, uint32_t index)
{
	roster->log[roster->changes++ & (roster->room - 1)] = index;
	if (index >= roster->end)
		roster->end = index + 1;
}

void roster_enter(struct strata_cluster *cluster, const struct group *group)
{
	uint32_t index = slab_index(group->handle);
	struct strata_need nothing = { 0 };

	cluster->roster.entries[index] = (struct roster_entry){
		.score = cluster->placement->ignores_need
				 ? placing_score(cluster, group, &nothing, NULL)
				 : 0,
		.cpu_milli = group->room.cpu_milli,
		.memory_bytes = group->room.memory_bytes,
		.shape = group->shape->index,
		.fullest = (uint16_t)room_fullest(&group->room, group->shape->gpu_count),
		.whole_gpus = (uint8_t)room_whole_gpus(&group->room, group->shape->gpu_count),
		.untouched = memcmp(&group->room, &group->shape->whole, sizeof(group->room)) == 0,
	};
}

void roster_note(struct strata_cluster *cluster, const struct group *group)
{
	uint32_t index = slab_index(group->handle);

	cluster->roster.entries[index].row =
		container_of(tree_first(&group->nodes), struct node, in_group)->row;
	log_change(&cluster->roster, index);
}

void roster_leave(struct strata_cluster *cluster, const struct group *group)
{
	uint32_t index = slab_index(group->handle);

	cluster->roster.entries[index] = (struct roster_entry){ .cpu_milli = -1 };
	log_change(&cluster->roster, index);
}
