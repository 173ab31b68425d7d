/*
 * Where a job would go now. Groups that can take it are scored by the placement class, once each; the best score wins, then the
 * lowest row. A job of several nodes gets the best nodes one after the other, all or none; one that did not say how many nodes
 * gets as few as will do.
 */
#include "cluster/cluster_int.h"

#include <string.h>

struct search {
	struct strata_cluster *cluster;
	const struct ask *ask;
	placing_filter *filter;
	void *context;
	uint64_t since; /* only groups that changed after this version */
};

static bool group_takes(const struct group *group, const struct ask *ask,
			const struct strata_need *need)
{
	if (need->cpu_milli > group->room.cpu_milli ||
	    need->memory_bytes > group->room.memory_bytes || need->gpus > group->whole_gpus ||
	    need->gpu_milli > group->fullest)
		return false;
	if (!ask_takes_shape(ask, group->shape))
		return false;
	return !ask->exclusive ||
	       memcmp(&group->room, &group->shape->whole, sizeof(group->room)) == 0;
}

static void score_group(const struct search *search, struct group *group,
			const struct strata_need *need)
{
	const struct strata_cluster *cluster = search->cluster;
	struct strata_candidate candidate = {
		.room = &group->room,
		.whole = &group->shape->whole,
		.gpu_count = group->shape->gpu_count,
		.gpu_type = *group->shape->gpu_type ? group->shape->gpu_type : NULL,
		.numa = group->shape->numa,
	};

	group->gpu = need->gpu_milli ? room_shared_gpu(&group->room, group->shape->gpu_count,
						       need->gpu_milli)
				     : 0;
	group->score = cluster->placement->score(cluster->conf.placement.conf, cluster->conf.mix,
						 &candidate, need, &group->gpu);
}

/* The first node from the cursor on that may be used. */
static struct node *next_node(const struct search *search, struct group *group,
			      const struct strata_need *need)
{
	while (group->cursor) {
		struct node *node = container_of(group->cursor, struct node, in_group);

		if (ask_takes_node(search->ask, node->row) &&
		    (!search->filter ||
		     search->filter(search->cluster, node, need, search->context)))
			return node;
		group->cursor = tree_next(group->cursor);
	}
	return NULL;
}

static void fill_spot(struct spot *spot, struct node *node, const struct strata_need *need,
		      uint32_t gpu, uint32_t tasks)
{
	spot->node = node;
	spot->piece = room_pick(&node->room, node->shape->gpu_count, node->shape->numa, need, gpu);
	spot->piece.node = node->row;
	spot->piece.tasks = tasks;
}

/* All tasks on one node: one walk over the groups. */
static bool find_one(const struct search *search, struct spot *spot)
{
	struct node *best = NULL;
	double best_score = 0;
	uint32_t best_gpu = 0;
	struct strata_need best_need = { 0 };

	for (struct group *group = search->cluster->newest; group && group->changed > search->since;
	     group = group->older) {
		struct strata_need need = ask_need(search->ask, 1, group->shape);

		if (!group_takes(group, search->ask, &need))
			continue;
		score_group(search, group, &need);
		if (best && group->score > best_score)
			continue;
		group->cursor = tree_first(&group->nodes);
		struct node *node = next_node(search, group, &need);

		if (!node || (best && group->score == best_score && node->row > best->row))
			continue;
		best = node;
		best_score = group->score;
		best_gpu = group->gpu;
		best_need = need;
	}
	if (!best)
		return false;
	fill_spot(spot, best, &best_need, best_gpu, search->ask->tasks);
	return true;
}

/* Exactly ask->nodes nodes, tasks spread evenly; the first ones get the odd tasks. */
static uint32_t find_fixed(const struct search *search, struct spot *spots)
{
	const struct ask *ask = search->ask;
	uint32_t found = 0;

	for (struct group *group = search->cluster->newest; group; group = group->older) {
		struct strata_need need = ask_need(ask, ask->nodes, group->shape);

		group->cursor = NULL;
		if (!group_takes(group, ask, &need))
			continue;
		score_group(search, group, &need);
		group->cursor = tree_first(&group->nodes);
	}
	while (found < ask->nodes) {
		struct group *best = NULL;
		struct node *best_node = NULL;

		for (struct group *group = search->cluster->newest; group; group = group->older) {
			struct strata_need need = ask_need(ask, ask->nodes, group->shape);
			struct node *node = next_node(search, group, &need);

			if (node && (!best || group->score < best->score ||
				     (group->score == best->score && node->row < best_node->row))) {
				best = group;
				best_node = node;
			}
		}
		if (!best)
			return 0;
		uint32_t tasks = ask->tasks / ask->nodes + (found < ask->tasks % ask->nodes);
		struct ask part = *ask;

		part.tasks = tasks;
		struct strata_need need = ask_need(&part, 1, best->shape);

		fill_spot(&spots[found++], best_node, &need, best->gpu, tasks);
		best->cursor = tree_next(best->cursor);
	}
	return found;
}

/* As few nodes as will do: the emptiest first, each as many tasks as it takes. */
static uint32_t find_few(const struct search *search, struct spot *spots)
{
	const struct ask *ask = search->ask;
	uint32_t left = ask->tasks, found = 0;

	for (struct group *group = search->cluster->newest; group; group = group->older) {
		group->gpu = ask_takes_shape(ask, group->shape)
				     ? ask_tasks_in(ask, &group->room, group->shape)
				     : 0;
		group->cursor = group->gpu ? tree_first(&group->nodes) : NULL;
	}
	while (left) {
		struct group *best = NULL;
		struct node *best_node = NULL;

		for (struct group *group = search->cluster->newest; group; group = group->older) {
			struct node *node = next_node(search, group, &ask->need);

			if (node && (!best || group->gpu > best->gpu ||
				     (group->gpu == best->gpu && node->row < best_node->row))) {
				best = group;
				best_node = node;
			}
		}
		if (!best)
			return 0;
		struct ask part = *ask;

		part.tasks = best->gpu < left ? best->gpu : left;
		struct strata_need need = ask_need(&part, 1, best->shape);

		fill_spot(&spots[found++], best_node, &need, 0, part.tasks);
		left -= part.tasks;
		best->cursor = tree_next(best->cursor);
	}
	return found;
}

uint32_t placing_spot_max(const struct strata_cluster *cluster, const struct ask *ask)
{
	uint32_t most = ask->nodes ? ask->nodes : ask->tasks;

	return most < cluster->node_count ? most : cluster->node_count;
}

uint32_t placing_find(struct strata_cluster *cluster, const struct ask *ask, uint64_t since,
		      placing_filter *filter, void *context, struct spot *spots)
{
	struct search search = { cluster, ask, filter, context, since };

	if (ask->nodes > 1)
		return ask->nodes <= cluster->node_count ? find_fixed(&search, spots) : 0;
	if (find_one(&search, spots))
		return 1;
	if (ask->tasks == 1 || ask->nodes == 1)
		return 0;
	return find_few(&search, spots);
}
