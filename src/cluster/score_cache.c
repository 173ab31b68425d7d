/*
 * Score caches: the scores of all groups for one resource request, remembered. A group never
 * changes what it is, only which nodes are in it, so a score is worked out once for as long as the
 * group lives, and a placement costs what changed since the last one for the same resource request.
 *
 * The best of each block of 64 groups is kept; a block whose best changed is gone through when it
 * is next needed. They are for placements whose score depends on the need. A resource request gets
 * one when it is looked for a second time; when all score caches together would be too large, only
 * if that was more recently than the oldest score cache was used, which then goes. Without a score
 * cache the groups are scored each time.
 */
#include "cluster/cluster_int.h"

#include <math.h>

enum { BLOCK = 64 };
#define BLOCK_UNKNOWN UINT32_MAX

static uint32_t block_count(uint32_t room)
{
	return (room + BLOCK - 1) / BLOCK;
}

static size_t score_cache_bytes(uint32_t room)
{
	return sizeof(struct score_cache) + room * sizeof(struct score_cache_entry) +
	       block_count(room) * sizeof(uint32_t);
}

/* ---- which there are ---- */

static void unlink_score_cache(struct strata_cluster *cluster, struct score_cache *score_cache)
{
	*(score_cache->newer ? &score_cache->newer->older : &cluster->score_cache_newest) =
		score_cache->older;
	*(score_cache->older ? &score_cache->older->newer : &cluster->score_cache_oldest) =
		score_cache->newer;
	score_cache->newer = score_cache->older = NULL;
}

static void link_newest(struct strata_cluster *cluster, struct score_cache *score_cache)
{
	score_cache->older = cluster->score_cache_newest;
	*(score_cache->older ? &score_cache->older->newer : &cluster->score_cache_oldest) =
		score_cache;
	cluster->score_cache_newest = score_cache;
}

void score_cache_free(struct strata_cluster *cluster, struct score_cache *score_cache)
{
	if (!score_cache)
		return;
	unlink_score_cache(cluster, score_cache);
	score_cache->resources->score_cache = NULL;
	cluster->score_cache_bytes -= score_cache_bytes(score_cache->room);
	strata_memory_put(cluster->memory, score_cache, score_cache_bytes(score_cache->room));
}

/* Makes room for a score cache of so many bytes, if those in the way have not been used since. */
static bool make_room(struct strata_cluster *cluster, size_t bytes, uint64_t since)
{
	while (cluster->score_cache_bytes + bytes > CLUSTER_SCORE_CACHES_BYTES_MAX) {
		struct score_cache *oldest = cluster->score_cache_oldest;

		if (!oldest || oldest->used >= since)
			return false;
		score_cache_free(cluster, oldest);
	}
	return true;
}

static struct score_cache *score_cache_new(struct strata_cluster *cluster,
					   struct resource_request *resources)
{
	uint32_t room = cluster->node_count; /* there are no more groups */
	size_t bytes = score_cache_bytes(room);
	struct score_cache *score_cache = make_room(cluster, bytes, resources->sought)
						  ? strata_memory_get(cluster->memory, bytes)
						  : NULL;

	if (!score_cache)
		return NULL;
	score_cache->resources = resources;
	score_cache->room = room;
	score_cache->entries = (struct score_cache_entry *)(score_cache + 1);
	score_cache->best = (uint32_t *)(score_cache->entries + room);
	resources->score_cache = score_cache;
	cluster->score_cache_bytes += bytes;
	link_newest(cluster, score_cache);
	return score_cache;
}

/* ---- keeping up ---- */

static bool before(const struct strata_cluster *cluster, const struct score_cache *score_cache,
		   uint32_t a, uint32_t b)
{
	const struct score_cache_entry *left = &score_cache->entries[a],
				       *right = &score_cache->entries[b];

	if (left->score != right->score)
		return left->score < right->score;
	if (left->apart != right->apart)
		return left->apart < right->apart;
	return cluster->group_index.entries[a].row < cluster->group_index.entries[b].row;
}

/* Scores the group at an index anew, unless it is the one whose score is known. */
static void refresh_entry(struct strata_cluster *cluster, struct score_cache *score_cache,
			  uint32_t index)
{
	const struct group_index_entry *source = &cluster->group_index.entries[index];
	struct score_cache_entry *entry = &score_cache->entries[index];
	uint32_t generation = (uint32_t)(slab_handle(&cluster->group_slab, index) >> 32), gpu;
	struct strata_need need;

	if (entry->generation == generation && generation)
		return;
	entry->generation = generation;
	entry->score = INFINITY;
	if (!generation || !placing_fits(source, score_cache->resources, 1,
					 cluster->node_types[source->node_type], &need))
		return;
	const struct node_group *group = slab_by_index(&cluster->group_slab, index);

	entry->score = placing_score(cluster, group, &need, &gpu);
	entry->gpu = (uint8_t)gpu;
	entry->apart = placing_apart(cluster, group, &need);
}

static void refresh_all(struct strata_cluster *cluster, struct score_cache *score_cache)
{
	for (uint32_t block = 0; block < block_count(score_cache->room); block++)
		score_cache->best[block] = BLOCK_UNKNOWN;
	for (uint32_t index = 0; index < cluster->group_index.end; index++)
		refresh_entry(cluster, score_cache, index);
}

/* First every change is entered, and blocks whose best is among them are given up; then the
 * others are compared with the best of their blocks, all of which are still what they were. */
static void refresh_changed(struct strata_cluster *cluster, struct score_cache *score_cache)
{
	const struct group_index *group_index = &cluster->group_index;

	for (uint64_t change = score_cache->seen; change < group_index->changes; change++) {
		uint32_t index = group_index_changed(group_index, change);

		refresh_entry(cluster, score_cache, index);
		if (score_cache->best[index / BLOCK] == index)
			score_cache->best[index / BLOCK] = BLOCK_UNKNOWN;
	}
	for (uint64_t change = score_cache->seen; change < group_index->changes; change++) {
		uint32_t index = group_index_changed(group_index, change);
		uint32_t *best = &score_cache->best[index / BLOCK];

		if (*best != BLOCK_UNKNOWN && before(cluster, score_cache, index, *best))
			*best = index;
	}
}

static void catch_up(struct strata_cluster *cluster, struct score_cache *score_cache)
{
	const struct group_index *group_index = &cluster->group_index;

	if (score_cache->seen == 0 || group_index->changes - score_cache->seen > group_index->end)
		refresh_all(cluster, score_cache);
	else
		refresh_changed(cluster, score_cache);
	score_cache->seen = group_index->changes;
}

struct score_cache *score_cache_get(struct strata_cluster *cluster,
				    struct resource_request *resources)
{
	struct score_cache *score_cache = resources->score_cache;

	cluster->score_cache_clock++;
	if (!score_cache) {
		score_cache = resources->sought ? score_cache_new(cluster, resources) : NULL;
		resources->sought = cluster->score_cache_clock;
		if (!score_cache)
			return NULL;
	} else if (score_cache != cluster->score_cache_newest) {
		unlink_score_cache(cluster, score_cache);
		link_newest(cluster, score_cache);
	}
	score_cache->used = cluster->score_cache_clock;
	catch_up(cluster, score_cache);
	return score_cache;
}

/* ---- the best ---- */

static uint32_t best_of_block(const struct strata_cluster *cluster,
			      const struct score_cache *score_cache, uint32_t block)
{
	uint32_t best = block * BLOCK, end = cluster->group_index.end;

	for (uint32_t i = best + 1; i < end && i < (block + 1) * BLOCK; i++)
		if (before(cluster, score_cache, i, best))
			best = i;
	return best;
}

uint32_t score_cache_best(const struct strata_cluster *cluster, struct score_cache *score_cache)
{
	uint32_t best = SCORE_CACHE_NONE;

	for (uint32_t block = 0; block < block_count(cluster->group_index.end); block++) {
		uint32_t *own = &score_cache->best[block];

		if (*own == BLOCK_UNKNOWN)
			*own = best_of_block(cluster, score_cache, block);
		if (score_cache->entries[*own].score < INFINITY &&
		    (best == SCORE_CACHE_NONE || before(cluster, score_cache, *own, best)))
			best = *own;
	}
	return best;
}
