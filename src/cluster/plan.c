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
	size_t left = cluster->suspended_count;

	while (left > 0 && (entry = map_u64_next(&cluster->jobs, entry))) {
		const struct job *job = entry->value;

		left -= job->suspended;
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

int plans_hold_placed(struct plans *plans, struct strata_cluster *cluster)
{
	for (struct tree_node *at = tree_first(&cluster->running); at; at = tree_next(at)) {
		const struct job *job = container_of(at, struct job, by_end);
		int64_t end_ns = job->expected_end_ns > cluster->now_ns ? job->expected_end_ns
									: cluster->now_ns + 1;

		for (uint32_t i = 0; i < job->claim_count; i++) {
			struct timeline *line = &plans->lines[job->claims[i].node->row];

			if (timeline_reserve(line, cluster->memory))
				return -ENOMEM;
			timeline_take(line, cluster->now_ns, end_ns, &job->claims[i].piece);
		}
	}
	return 0;
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
	const struct job *job;
	const struct resource_request *resources;
	uint32_t nodes;
	int64_t length_ns;
};

/* Turns of reservations that are looked past for one place. */
enum { TURNS_MAX = 64 };

/* What is free on a node for the job all the time from then on; ret_until: when what is reserved
 * for others is first given back. */
static struct strata_room free_room(const struct search *search, const struct node *node,
				    int64_t from_ns, int64_t *ret_until_ns)
{
	int64_t to_ns = from_ns + search->length_ns;
	struct strata_room room = timeline_least(&search->plans->lines[node->row], from_ns, to_ns);

	*ret_until_ns = advance_room(node, search->job, from_ns, to_ns, &room);
	return room;
}

/* When something else is free on a node after a time; INT64_MAX: never. */
static int64_t next_step(const struct timeline *line, int64_t after_ns)
{
	for (size_t i = 0; i < line->count; i++)
		if (line->steps[i].time_ns > after_ns)
			return line->steps[i].time_ns;
	return INT64_MAX;
}

static int64_t node_earliest(const struct search *search, uint32_t row, int64_t from_ns)
{
	const struct node *node = &search->cluster->nodes[row];
	struct strata_need need = resources_need(search->resources, search->nodes, node->node_type);

	if (!fit_takes(search->resources, node))
		return INT64_MAX;
	for (int turns = 0; turns < TURNS_MAX;) {
		const struct strata_room *whole =
			search->resources->exclusive ? &node->node_type->whole : NULL;
		int64_t until_ns, at_ns = timeline_earliest(&search->plans->lines[row], from_ns,
							    search->length_ns, &need,
							    node->node_type->gpu_count, whole);

		if (at_ns == INT64_MAX || !node->bookings)
			return at_ns;
		struct strata_room room = free_room(search, node, at_ns, &until_ns);

		if (until_ns == INT64_MAX ||
		    (!whole && room_fits(&room, node->node_type->gpu_count, &need)))
			return at_ns;
		from_ns = next_step(&search->plans->lines[row], at_ns);
		if (until_ns <= from_ns) {
			from_ns = until_ns;
			turns++;
		}
	}
	return INT64_MAX;
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* When the last of what is planned ends. */
static int64_t last_step(const struct plans *plans)
{
	int64_t last_ns = INT64_MIN;

	for (uint32_t row = 0; row < plans->line_count; row++) {
		const struct timeline *line = &plans->lines[row];
		size_t last = line->count - 1;

		if (last && line->steps[last].time_ns == INT64_MAX) /* a frozen job's memory */
			last--;
		if (line->steps[last].time_ns > last_ns)
			last_ns = line->steps[last].time_ns;
	}
	return last_ns;
}

/* The first time from `from` on at which enough nodes are free together: the k-th smallest of
 * their own first times is a lower bound, and is the time itself once k of them are free exactly
 * then. */
static int64_t earliest_together(const struct search *search, int64_t from_ns, int64_t *times)
{
	int64_t last_ns = last_step(search->plans);

	/* once nothing but repeated reservations changes any more, it may come to no end */
	for (int turns = 0; turns<TURNS_MAX; turns += from_ns> last_ns) {
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
	return INT64_MAX;
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
		int64_t until_ns;
		struct strata_room least = free_room(search, node, plan->start_ns, &until_ns);
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
	int64_t next = advance_next_ns(cluster, after_ns);

	for (uint32_t row = 0; row < cluster->node_count; row++) {
		int64_t step_ns = next_step(&plans->lines[row], after_ns);

		next = step_ns < next ? step_ns : next;
	}
	return next;
}

static int64_t longest(const struct job *job)
{
	int64_t most_ns = job_gang(job) ? gang_longest_ns(job->gang)
					: job->expected_end_ns - job->frozen_ns;

	return most_ns > 0 ? most_ns : 1;
}

/* Finds the first time, from one on, at which a gang or a frozen job fits: whenever something
 * changes, does it? */
static bool find_whole(struct strata_cluster *cluster, const struct plans *plans,
		       const struct job *job, int64_t from_ns, struct strata_room *rooms,
		       uint32_t *counts, struct plan *plan)
{
	int64_t length_ns = longest(job), at_ns = from_ns;
	int turns = 0;

	/* times at which only a reservation changes come back for ever when it is repeated */
	while (at_ns != INT64_MAX && turns < 2 * TURNS_MAX) {
		for (uint32_t row = 0; row < cluster->node_count; row++) {
			rooms[row] = timeline_least(&plans->lines[row], at_ns, at_ns + length_ns);
			advance_room(&cluster->nodes[row], job, at_ns, at_ns + length_ns,
				     &rooms[row]);
		}
		plan->start_ns = at_ns;
		plan->end_ns = at_ns + length_ns;
		plan->count = fit_whole(cluster, job, rooms, plan->spots, counts);
		if (plan->count)
			return true;
		turns += next_change(cluster, plans, at_ns) == advance_next_ns(cluster, at_ns);
		at_ns = next_change(cluster, plans, at_ns);
	}
	return false;
}

/* ---- either ---- */

static int plan_whole(const struct plans *plans, struct strata_cluster *cluster, struct job *job,
		      int64_t from_ns, struct strata_arena *arena, struct plan **ret_plan)
{
	struct gang *gang = job_gang(job);
	struct strata_room *rooms = strata_arena_array(arena, cluster->node_count, sizeof(*rooms));
	uint32_t *counts = strata_arena_array(arena, gang ? gang->size : 1, sizeof(*counts));
	struct plan *plan = strata_arena_get(arena, plan_bytes(fit_whole_max(cluster, job)));

	if (!rooms || !counts || !plan)
		return -ENOMEM;
	*ret_plan = NULL;
	if ((gang && !gang->possible) ||
	    !find_whole(cluster, plans, job, from_ns, rooms, counts, plan))
		return 0;
	plan->counts = counts;
	*ret_plan = plan;
	return 0;
}

int plan_find(const struct plans *plans, struct strata_cluster *cluster, struct job *job,
	      int64_t from_ns, int64_t length_ns, struct strata_arena *arena,
	      struct plan **ret_plan)
{
	if (fit_is_whole(job))
		return plan_whole(plans, cluster, job, from_ns, arena, ret_plan);
	struct search search = {
		cluster,  plans, job, job->resources, fit_node_count(cluster, job->resources),
		length_ns
	};

	*ret_plan = NULL;
	if (!job->resources->possible || search.nodes == 0 || search.nodes > cluster->node_count)
		return 0;
	int64_t *times = strata_arena_array(arena, cluster->node_count, sizeof(*times));
	struct plan *plan = strata_arena_get(arena, plan_bytes(search.nodes));

	if (!times || !plan)
		return -ENOMEM;
	plan->start_ns = earliest_together(&search, from_ns, times);
	if (plan->start_ns == INT64_MAX)
		return 0;
	plan->end_ns = plan->start_ns + length_ns;
	fill_plan(&search, plan);
	*ret_plan = plan;
	return 0;
}
