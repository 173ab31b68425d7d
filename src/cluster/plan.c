/* The search of plan.h: for one job at a time, among what is planned already. */
#include "cluster/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- timelines ---- */

static int hold_memory(struct plans *plans, struct strata_cluster *cluster)
{
	const struct map_u64_entry *entry = NULL;

	while ((entry = map_u64_next(&cluster->jobs, entry))) {
		const struct job *job = entry->value;

		for (uint32_t i = 0; job->suspended && i < job->claim_count; i++) {
			const struct claim *claim = &job->claims[i];
			struct timeline *line = &plans->lines[claim->node->row];
			struct strata_piece piece = { .memory_bytes = claim->piece.memory_bytes };

			if (timeline_reserve(line, cluster->memory))
				return -ENOMEM;
			timeline_take(line, cluster->now_ns, INT64_MAX, &piece);
		}
	}
	return 0;
}

int plans_init(struct plans *plans, struct strata_cluster *cluster)
{
	int rc = 0;

	*plans = (struct plans){ 0 };
	plans->lines =
		strata_memory_get(cluster->memory, cluster->node_count * sizeof(*plans->lines));
	if (!plans->lines && cluster->node_count)
		return -ENOMEM;
	plans->line_count = cluster->node_count;
	for (uint32_t row = 0; rc == 0 && row < cluster->node_count; row++)
		rc = timeline_init(&plans->lines[row], cluster->memory,
				   &cluster->nodes[row].node_type->whole);
	if (rc == 0)
		rc = hold_memory(plans, cluster);
	if (rc)
		plans_fini(plans, cluster);
	return rc;
}

void plans_fini(struct plans *plans, struct strata_cluster *cluster)
{
	for (uint32_t i = 0; i < plans->line_count; i++)
		timeline_fini(&plans->lines[i], cluster->memory);
	strata_memory_put(cluster->memory, plans->lines, plans->line_count * sizeof(*plans->lines));
	*plans = (struct plans){ 0 };
}

int plan_take(struct plans *plans, struct strata_cluster *cluster, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		struct timeline *line = &plans->lines[plan->spots[i].node->row];

		if (timeline_reserve(line, cluster->memory)) {
			while (i-- > 0)
				timeline_give(&plans->lines[plan->spots[i].node->row],
					      plan->start_ns, plan->end_ns, &plan->spots[i].piece);
			return -ENOMEM;
		}
		timeline_take(line, plan->start_ns, plan->end_ns, &plan->spots[i].piece);
	}
	return 0;
}

void plan_give(struct plans *plans, const struct strata_cluster *cluster, const struct plan *plan)
{
	/* what is past of it was forgotten already */
	int64_t from_ns = cluster->now_ns > plan->start_ns ? cluster->now_ns : plan->start_ns;

	for (uint32_t i = 0; i < plan->count; i++)
		timeline_give(&plans->lines[plan->spots[i].node->row], from_ns, plan->end_ns,
			      &plan->spots[i].piece);
}

/* ---- one job, on nodes that are alike to it ---- */

struct search {
	struct strata_cluster *cluster;
	const struct plans *plans;
	const struct resource_request *resources;
	uint32_t nodes;
	int64_t length_ns;
};

static int64_t node_earliest(const struct search *search, uint32_t row, int64_t from_ns)
{
	const struct node *node = &search->cluster->nodes[row];
	struct strata_need need = resources_need(search->resources, search->nodes, node->node_type);

	if (!fit_takes(search->resources, node))
		return INT64_MAX;
	return timeline_earliest(&search->plans->lines[row], from_ns, search->length_ns, &need,
				 node->node_type->gpu_count,
				 search->resources->exclusive ? &node->node_type->whole : NULL);
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* The first time from `from` on at which enough nodes are free together: the k-th smallest of
 * their own first times is a lower bound, and is the time itself once k of them are free exactly
 * then. */
static int64_t earliest_together(const struct search *search, int64_t from_ns, int64_t *times)
{
	for (;;) {
		uint32_t count = 0, free = 0;

		for (uint32_t row = 0; row < search->cluster->node_count; row++) {
			times[count] = node_earliest(search, row, from_ns);
			free += times[count] == from_ns;
			count += times[count] != INT64_MAX;
		}
		if (free >= search->nodes)
			return from_ns;
		if (count < search->nodes)
			return INT64_MAX;
		qsort(times, count, sizeof(*times), compare_times);
		from_ns = times[search->nodes - 1] > from_ns ? times[search->nodes - 1]
							     : from_ns + 1;
	}
}

/* The spots at that time, lowest rows first. */
static void fill_plan(const struct search *search, struct plan *plan)
{
	uint32_t tasks = search->resources->tasks;

	for (uint32_t row = 0; plan->count < search->nodes; row++) {
		struct node *node = &search->cluster->nodes[row];

		assert(row < search->cluster->node_count);
		if (node_earliest(search, row, plan->start_ns) != plan->start_ns)
			continue;
		/* every part as large as the largest, so that it can always be planned where it
		 * was */
		struct strata_need need =
			resources_need(search->resources, search->nodes, node->node_type);
		struct strata_room least =
			timeline_least(&search->plans->lines[row], plan->start_ns, plan->end_ns);
		uint32_t gpu = need.gpu_milli ? room_shared_gpu(&least, node->node_type->gpu_count,
								need.gpu_milli)
					      : 0;
		struct spot *spot = &plan->spots[plan->count];

		spot->node = node;
		spot->piece = room_pick(&least, node->node_type->gpu_count, node->node_type->numa,
					&need, gpu);
		spot->piece.node = row;
		spot->piece.tasks = tasks / search->nodes + (plan->count < tasks % search->nodes);
		plan->count++;
	}
}

/* ---- a gang, or a frozen job ---- */

/* The next time after this at which something changes on a node that is up; INT64_MAX: never. */
static int64_t next_change(const struct strata_cluster *cluster, const struct plans *plans,
			   int64_t after_ns)
{
	int64_t next = INT64_MAX;

	for (uint32_t row = 0; row < cluster->node_count; row++) {
		const struct timeline *line = &plans->lines[row];

		for (size_t i = 0; i < line->count; i++)
			if (line->steps[i].time_ns > after_ns) {
				next = line->steps[i].time_ns < next ? line->steps[i].time_ns
								     : next;
				break;
			}
	}
	return next;
}

static int64_t longest(const struct job *job)
{
	int64_t most_ns = job->suspended ? job->expected_end_ns - job->frozen_ns : 0;

	for (const struct job *at = job_gang(job) ? job->gang->first : NULL; at; at = at->gang_next)
		most_ns = at->limit_ns > most_ns ? at->limit_ns : most_ns;
	return most_ns > 0 ? most_ns : 1;
}

/* Finds the first time at which a gang or a frozen job fits: whenever something changes, does
 * it? */
static bool find_whole(struct strata_cluster *cluster, const struct plans *plans,
		       const struct job *job, struct strata_room *rooms, uint32_t *counts,
		       struct plan *plan)
{
	int64_t length_ns = longest(job);

	for (int64_t at_ns = cluster->now_ns; at_ns != INT64_MAX;
	     at_ns = next_change(cluster, plans, at_ns)) {
		for (uint32_t row = 0; row < cluster->node_count; row++)
			rooms[row] = timeline_least(&plans->lines[row], at_ns, at_ns + length_ns);
		plan->start_ns = at_ns;
		plan->end_ns = at_ns + length_ns;
		plan->count = fit_whole(cluster, job, rooms, plan->spots, counts);
		if (plan->count)
			return true;
	}
	return false;
}

/* ---- either ---- */

static int plan_whole(const struct plans *plans, struct strata_cluster *cluster, struct job *job,
		      struct strata_arena *arena, struct plan **ret_plan)
{
	struct gang *gang = job_gang(job);
	struct strata_room *rooms = strata_arena_array(arena, cluster->node_count, sizeof(*rooms));
	uint32_t *counts = strata_arena_array(arena, gang ? gang->size : 1, sizeof(*counts));
	struct plan *plan = strata_arena_get(arena, plan_bytes(fit_whole_max(cluster, job)));

	if (!rooms || !counts || !plan)
		return -ENOMEM;
	*ret_plan = NULL;
	if ((gang && !gang->possible) || !find_whole(cluster, plans, job, rooms, counts, plan))
		return 0;
	plan->counts = counts;
	*ret_plan = plan;
	return 0;
}

int plan_find(const struct plans *plans, struct strata_cluster *cluster, struct job *job,
	      int64_t length_ns, struct strata_arena *arena, struct plan **ret_plan)
{
	if (fit_is_whole(job))
		return plan_whole(plans, cluster, job, arena, ret_plan);
	struct search search = { cluster, plans, job->resources,
				 fit_node_count(cluster, job->resources), length_ns };

	*ret_plan = NULL;
	if (!job->resources->possible || search.nodes == 0 || search.nodes > cluster->node_count)
		return 0;
	int64_t *times = strata_arena_array(arena, cluster->node_count, sizeof(*times));
	struct plan *plan = strata_arena_get(arena, plan_bytes(search.nodes));

	if (!times || !plan)
		return -ENOMEM;
	plan->start_ns = earliest_together(&search, cluster->now_ns, times);
	if (plan->start_ns == INT64_MAX)
		return 0;
	plan->end_ns = plan->start_ns + length_ns;
	fill_plan(&search, plan);
	*ret_plan = plan;
	return 0;
}
