/*
 * Where a job would go now. Groups that can take it are scored by the placement class; the best
 * score wins, then (for classes that say so) one NUMA domain before several, then the lowest row. A
 * job of several nodes gets the best nodes one after the other, all or none; one that did not say
 * how many nodes gets as few as will do.
 *
 * A job on one node is looked for in its resource request's score cache where there is one, else in
 * the groups that changed since it last did not fit when these are few, else in the whole group
 * index.
 */
#include "cluster/cluster_int.h"

#include "core/real.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct search {
	struct strata_cluster *cluster;
	struct resource_request *resources;
	uint32_t node_count; /* that the tasks are spread over */
	const struct placing_rules *rules;
};

struct best {
	struct node *node; /* NULL: none yet */
	double score;
	bool apart;
	uint32_t gpu;
	struct strata_need need;
};

/* ---- one group ---- */

double placing_score(struct strata_cluster *cluster, const struct node_group *group,
		     const struct strata_need *need, uint32_t *ret_gpu)
{
	const struct node_type *node_type = group->node_type;
	struct strata_candidate candidate = {
		.room = &group->room,
		.whole = &node_type->whole,
		.gpu_count = node_type->gpu_count,
		.gpu_type = *node_type->gpu_type ? node_type->gpu_type : NULL,
		.numa = node_type->numa,
	};
	uint32_t usual = need->gpu_milli ? room_shared_gpu(&group->room, node_type->gpu_count,
							   need->gpu_milli)
					 : 0;
	uint32_t gpu = usual;
	double score = cluster->placement->score(cluster->conf.placement.conf,
						 cluster->placement_state, &candidate, need, &gpu);

	if (ret_gpu) /* a class that points at a GPU without room is not believed */
		*ret_gpu = need->gpu_milli && (gpu >= node_type->gpu_count ||
					       group->room.gpu_milli[gpu] < need->gpu_milli)
				   ? usual
				   : gpu;
	return isfinite(score) ? score : DBL_MAX;
}

bool placing_apart(const struct strata_cluster *cluster, const struct node_group *group,
		   const struct strata_need *need)
{
	return cluster->placement->keeps_together && need->gpus > 1 &&
	       !room_together(&group->room, group->node_type->gpu_count, group->node_type->numa,
			      need->gpus);
}

bool placing_fits(const struct group_index_entry *entry, const struct resource_request *resources,
		  uint32_t node_count, const struct node_type *node_type,
		  struct strata_need *ret_need)
{
	uint32_t tasks = (resources->tasks + node_count - 1) / node_count;

	if (resources->exclusive &&
	    (!entry->untouched ||
	     resources_tasks_in(resources, &node_type->whole, node_type) < tasks))
		return false;
	*ret_need = resources_need(resources, node_count, node_type);
	return group_index_has(entry, ret_need) && resources_takes_node_type(resources, node_type);
}

/* What is free on a node for as long as the job may run there. */
static struct strata_room free_room(const struct search *search, const struct node *node)
{
	const struct job *job = search->rules->job;
	int64_t now_ns = search->cluster->now_ns;
	struct strata_room room = node->room;

	if (job && node->bookings)
		advance_room(node, job, now_ns, now_ns + job->limit_ns, &room);
	return room;
}

/* Does the need fit beside what is reserved? */
static bool leaves_room(const struct search *search, const struct node *node,
			const struct strata_need *need)
{
	if (!search->rules->job || !node->bookings)
		return true;
	struct strata_room room = free_room(search, node);

	if (search->resources->exclusive)
		return memcmp(&room, &node->room, sizeof(room)) == 0;
	return room_fits(&room, node->node_type->gpu_count, need);
}

/* The first node from the cursor on that may be used. */
static struct node *next_node(const struct search *search, struct node_group *group,
			      const struct strata_need *need)
{
	while (group->cursor) {
		struct node *node = container_of(group->cursor, struct node, in_group);

		if (resources_takes_node(search->resources, node->row) &&
		    leaves_room(search, node, need) &&
		    (!search->rules->filter ||
		     search->rules->filter(search->cluster, node, need, search->rules->context)))
			return node;
		group->cursor = tree_next(group->cursor);
	}
	return NULL;
}

static void fill_spot(const struct search *search, struct spot *spot, struct node *node,
		      const struct strata_need *need, uint32_t gpu, uint32_t tasks)
{
	struct strata_room room = free_room(search, node);

	if (need->gpu_milli && room.gpu_milli[gpu] < need->gpu_milli) /* that one is reserved */
		gpu = room_shared_gpu(&room, node->node_type->gpu_count, need->gpu_milli);
	spot->node = node;
	spot->piece =
		room_pick(&room, node->node_type->gpu_count, node->node_type->numa, need, gpu);
	spot->piece.node = node->row;
	spot->piece.tasks = tasks;
}

/* ---- all tasks on one node ---- */

/* A group that the need fits into and that has a score: does it beat the best so far? */
static void consider(const struct search *search, struct node_group *group, double score,
		     bool apart, const struct strata_need *need, struct best *best)
{
	if (best->node && (score > best->score || (score == best->score && apart > best->apart)))
		return;
	group->cursor = tree_first(&group->nodes);
	struct node *node = next_node(search, group, need);

	if (!node || (best->node && score == best->score && apart == best->apart &&
		      node->row > best->node->row))
		return;
	*best = (struct best){ node, score, apart, group->gpu, *need };
}

static void look_at(const struct search *search, uint32_t index, const struct strata_need *need,
		    struct best *best)
{
	struct strata_cluster *cluster = search->cluster;
	struct node_group *group = slab_by_index(&cluster->group_slab, index);
	double score;

	if (cluster->placement->ignores_need) {
		score = cluster->group_index.entries[index].score;
		group->gpu = need->gpu_milli
				     ? room_shared_gpu(&group->room, group->node_type->gpu_count,
						       need->gpu_milli)
				     : 0;
	} else {
		score = placing_score(cluster, group, need, &group->gpu);
	}
	consider(search, group, score, placing_apart(cluster, group, need), need, best);
}

/* The next index from here on whose group has room for the need and, if its score is known, may
 * beat the best. One test without branches: which groups fit cannot be foretold. */
static uint32_t next_index(const struct group_index *group_index, uint32_t index,
			   const struct strata_need *need, bool known, const struct best *best)
{
	double limit = known && best->node ? best->score : INFINITY;
	uint32_t row = known && best->node && !best->apart ? best->node->row : UINT32_MAX;

	while (index < group_index->end) {
		const struct group_index_entry *entry = &group_index->entries[index];

		if (((entry->score < limit) | ((entry->score == limit) & (entry->row < row))) &
		    group_index_has(entry, need))
			break;
		index++;
	}
	return index;
}

/* Looks at every group. */
static void look_at_all(const struct search *search, struct best *best)
{
	struct strata_cluster *cluster = search->cluster;
	const struct group_index *group_index = &cluster->group_index;
	bool known = cluster->placement->ignores_need;
	struct strata_need wanted = { 0 }, need;

	if (!search->resources->exclusive)
		wanted = resources_need(search->resources, 1, NULL);
	for (uint32_t index = next_index(group_index, 0, &wanted, known, best);
	     index < group_index->end;
	     index = next_index(group_index, index + 1, &wanted, known, best)) {
		const struct group_index_entry *entry = &group_index->entries[index];

		if (placing_fits(entry, search->resources, 1, cluster->node_types[entry->node_type],
				 &need))
			look_at(search, index, &need, best);
	}
}

/* Looks at the groups that changed after a version, if they are few: false when not. */
static bool look_at_changed(const struct search *search, uint64_t since, struct best *best)
{
	struct strata_cluster *cluster = search->cluster;
	uint32_t left = cluster->group_index.end / 8;

	for (struct node_group *group = cluster->newest; group && group->changed > since;
	     group = group->older) {
		uint32_t index = slab_index(group->handle);
		struct strata_need need;

		if (left-- == 0)
			return false;
		if (placing_fits(&cluster->group_index.entries[index], search->resources, 1,
				 group->node_type, &need))
			look_at(search, index, &need, best);
	}
	return true;
}

static void look_at_entry(const struct search *search, const struct score_cache *score_cache,
			  uint32_t index, struct best *best)
{
	const struct score_cache_entry *entry = &score_cache->entries[index];

	if (entry->score == INFINITY || (best->node && entry->score > best->score))
		return;
	struct node_group *group = slab_by_index(&search->cluster->group_slab, index);
	struct strata_need need = resources_need(search->resources, 1, group->node_type);

	group->gpu = entry->gpu;
	consider(search, group, entry->score, entry->apart, &need, best);
}

/* The best of the score cache; when its first node may not be used, the best that may. */
static void look_at_score_cache(const struct search *search, struct score_cache *score_cache,
				struct best *best)
{
	struct strata_cluster *cluster = search->cluster;
	uint32_t first = score_cache_best(cluster, score_cache);

	if (first == SCORE_CACHE_NONE)
		return;
	look_at_entry(search, score_cache, first, best);
	if (best->node && best->node->row == cluster->group_index.entries[first].row)
		return;
	for (uint32_t index = 0; index < cluster->group_index.end; index++)
		look_at_entry(search, score_cache, index, best);
}

static bool find_one(const struct search *search, uint64_t since, struct spot *spot)
{
	struct strata_cluster *cluster = search->cluster;
	struct best best = { 0 };
	struct score_cache *score_cache = NULL;

	if (!cluster->placement->ignores_need)
		score_cache = score_cache_get(cluster, search->resources);
	if (score_cache) {
		look_at_score_cache(search, score_cache, &best);
	} else if (!since || !look_at_changed(search, since, &best)) {
		best.node = NULL;
		look_at_all(search, &best);
	}
	if (!best.node)
		return false;
	fill_spot(search, spot, best.node, &best.need, best.gpu, search->resources->tasks);
	return true;
}

/* ---- several nodes ---- */

int placing_compare(const struct heap_node *a, const struct heap_node *b, void *context)
{
	const struct node_group *left = container_of(a, struct node_group, in_picks),
				*right = container_of(b, struct node_group, in_picks);
	uint32_t left_row = container_of(left->cursor, struct node, in_group)->row,
		 right_row = container_of(right->cursor, struct node, in_group)->row;

	(void)context;
	if (left->apart != right->apart)
		return left->apart < right->apart ? -1 : 1;
	return left_row < right_row ? -1 : left_row > right_row;
}

/* Puts a group on the heap, if one of its nodes may be used. There is room for all. */
static void add_pick(const struct search *search, struct node_group *group,
		     const struct strata_need *need, uint64_t key)
{
	group->cursor = tree_first(&group->nodes);
	if (next_node(search, group, need))
		heap_push(&search->cluster->picks, &group->in_picks, key);
}

/* Takes the best node off the heap; its group stays there while it has others. */
static struct node *take_pick(const struct search *search, const struct strata_need *need)
{
	struct heap *picks = &search->cluster->picks;
	struct node_group *group = container_of(heap_top(picks), struct node_group, in_picks);
	struct node *node = container_of(group->cursor, struct node, in_group);
	uint64_t key = heap_key(picks, &group->in_picks);

	heap_pop(picks);
	group->cursor = tree_next(group->cursor);
	if (next_node(search, group, need))
		heap_push(picks, &group->in_picks, key);
	return node;
}

/* Exactly so many nodes, tasks spread evenly; the first ones get the odd tasks. */
static uint32_t find_fixed(const struct search *search, struct spot *spots)
{
	struct strata_cluster *cluster = search->cluster;
	const struct resource_request *resources = search->resources;
	struct strata_need need;
	uint32_t found = 0;

	for (uint32_t index = 0; index < cluster->group_index.end; index++) {
		const struct group_index_entry *entry = &cluster->group_index.entries[index];
		const struct node_type *node_type = cluster->node_types[entry->node_type];

		if (entry->cpu_milli < 0 ||
		    !placing_fits(entry, resources, search->node_count, node_type, &need))
			continue;
		struct node_group *group = slab_by_index(&cluster->group_slab, index);
		double score = cluster->placement->ignores_need
				       ? entry->score
				       : placing_score(cluster, group, &need, &group->gpu);

		group->apart = placing_apart(cluster, group, &need);
		add_pick(search, group, &need, real_key(score));
	}
	while (found < resources->nodes && heap_top(&cluster->picks)) {
		const struct node_group *group =
			container_of(heap_top(&cluster->picks), struct node_group, in_picks);
		struct resource_request part = *resources;

		need = resources_need(resources, search->node_count, group->node_type);
		struct node *node = take_pick(search, &need);

		part.tasks = resources->tasks / resources->nodes +
			     (found < resources->tasks % resources->nodes);
		need = resources_need(&part, 1, node->node_type);
		fill_spot(search, &spots[found++], node, &need, 0, part.tasks);
	}
	heap_clear(&cluster->picks);
	return found == resources->nodes ? found : 0;
}

/* As few nodes as will do: the emptiest first, each as many tasks as it takes. */
static uint32_t find_few(const struct search *search, struct spot *spots)
{
	struct strata_cluster *cluster = search->cluster;
	const struct resource_request *resources = search->resources;
	uint32_t left = resources->tasks, found = 0;

	for (struct node_group *group = cluster->newest; group; group = group->older) {
		uint32_t tasks =
			resources_takes_node_type(resources, group->node_type)
				? resources_tasks_in(resources, &group->room, group->node_type)
				: 0;

		group->apart = false;
		if (tasks)
			add_pick(search, group, &resources->need, UINT32_MAX - tasks);
	}
	while (left && heap_top(&cluster->picks)) {
		struct resource_request part = *resources;
		uint32_t most = UINT32_MAX -
				(uint32_t)heap_key(&cluster->picks, heap_top(&cluster->picks));
		struct node *node = take_pick(search, &resources->need);

		if (node->bookings) {
			struct strata_room room = free_room(search, node);

			most = resources_tasks_in(resources, &room, node->node_type);
		}
		part.tasks = most < left ? most : left;
		if (part.tasks == 0)
			continue;
		struct strata_need need = resources_need(&part, 1, node->node_type);

		fill_spot(search, &spots[found++], node, &need, 0, part.tasks);
		left -= part.tasks;
	}
	heap_clear(&cluster->picks);
	return left ? 0 : found;
}

uint32_t placing_spot_max(const struct strata_cluster *cluster,
			  const struct resource_request *resources)
{
	uint32_t most = resources->nodes ? resources->nodes : resources->tasks;

	return most < cluster->node_count ? most : cluster->node_count;
}

uint32_t placing_find(struct strata_cluster *cluster, struct resource_request *resources,
		      uint64_t since, const struct placing_rules *rules, struct spot *spots)
{
	static const struct placing_rules none;
	struct search search = { cluster, resources, resources->nodes ? resources->nodes : 1,
				 rules ? rules : &none };

	if (resources->nodes > 1)
		return resources->nodes <= cluster->node_count ? find_fixed(&search, spots) : 0;
	if (find_one(&search, since, spots))
		return 1;
	if (resources->tasks == 1 || resources->nodes == 1)
		return 0;
	return find_few(&search, spots);
}
