/*
 * The shadow of the job at the head of the queue: the earliest time at which enough placed jobs
 * will have ended for it to fit, on the nodes as they are. It is found by walking the placed jobs
 * in the order of their expected ends and giving back their room on a copy of the nodes they hold;
 * nodes that nobody leaves before that time are not touched.
 *
 * A gang, or a job that is frozen where it is, is given its places at that time, and what they
 * leave is what others may have. So is any job while something is reserved in advance: then the
 * time is that of a plan (plan.h), which knows what is kept from whom.
 *
 * A job may then be started ahead of it if it ends by that time, or if, with that job where it is,
 * enough nodes can still take the reserved one at that time.
 */
#include "cluster/plan.h"

/* What a node, with this room, counts for: whole parts of the job when it asked for so many nodes,
 * else tasks. */
static uint32_t worth(const struct shadow *shadow, const struct node *node,
		      const struct strata_room *room)
{
	const struct resource_request *resources = shadow->job->resources;

	if (node->state != STRATA_NODE_UP ||
	    !resources_takes_node_type(resources, node->node_type) ||
	    !resources_takes_node(resources, node->row))
		return 0;
	uint32_t tasks = resources_tasks_in(resources, room, node->node_type);

	return resources->nodes ? tasks >= shadow->tasks_per_node : tasks;
}

/* The node as it will be at the reserved time; as it is now until somebody leaves it. */
static void look_at(struct strata_cluster *cluster, const struct shadow *shadow, struct node *node)
{
	if (node->seen == cluster->look)
		return;
	node->seen = cluster->look;
	node->later = node->room;
	node->worth = worth(shadow, node, &node->room);
}

/* What all nodes count for now, group by group. */
static uint64_t worth_now(struct strata_cluster *cluster, const struct shadow *shadow)
{
	const struct resource_request *resources = shadow->job->resources;
	uint64_t total = 0;

	for (struct node_group *group = cluster->newest; group; group = group->older) {
		struct node *node = container_of(tree_first(&group->nodes), struct node, in_group);

		if (!resources->nodes_ok.words) {
			total += tree_count(&group->nodes) *
				 (uint64_t)worth(shadow, node, &group->room);
			continue;
		}
		for (struct tree_node *at = &node->in_group; at; at = tree_next(at))
			total += worth(shadow, container_of(at, struct node, in_group),
				       &group->room);
	}
	return total;
}

static void find_single(struct strata_cluster *cluster, struct shadow *shadow)
{
	const struct resource_request *resources = shadow->job->resources;

	shadow->wanted = resources->nodes ? resources->nodes : resources->tasks;
	shadow->tasks_per_node =
		resources->nodes ? (resources->tasks + resources->nodes - 1) / resources->nodes : 0;
	uint64_t total = worth_now(cluster, shadow);

	if (total >= shadow->wanted)
		shadow->start_ns = cluster->now_ns;
	struct tree_node *at;

	for (at = tree_first(&cluster->running); at; at = tree_next(at)) {
		struct job *ending = container_of(at, struct job, by_end);

		if (total >= shadow->wanted && ending->expected_end_ns > shadow->start_ns)
			break;
		for (uint32_t i = 0; i < ending->claim_count; i++) {
			struct node *node = ending->claims[i].node;

			look_at(cluster, shadow, node);
			room_give(&node->later, &ending->claims[i].piece);
			total -= node->worth;
			node->worth = worth(shadow, node, &node->later);
			total += node->worth;
		}
		if (total >= shadow->wanted && shadow->start_ns == INT64_MAX)
			shadow->start_ns = ending->expected_end_ns;
	}
	shadow->spare = total > shadow->wanted ? total - shadow->wanted : 0;
}

/* ---- wholes ---- */

struct whole_search {
	struct strata_cluster *cluster;
	const struct job *job;
	struct strata_room *rooms; /* what its pieces leave, by row */
	struct spot *spots;
	uint32_t *counts;
};

/* Does it fit once this many placed jobs, the first to end first, have ended? ret_time: when that
 * is. */
static bool fits_after(const struct whole_search *search, size_t ended, int64_t *ret_time_ns)
{
	struct strata_cluster *cluster = search->cluster;
	struct tree_node *at = tree_first(&cluster->running);

	*ret_time_ns = cluster->now_ns;
	for (uint32_t row = 0; row < cluster->node_count; row++)
		search->rooms[row] = cluster->nodes[row].room;
	for (size_t i = 0; i < ended; i++, at = tree_next(at)) {
		const struct job *job = container_of(at, struct job, by_end);

		*ret_time_ns = job->expected_end_ns;
		for (uint32_t k = 0; k < job->claim_count; k++)
			room_give(&search->rooms[job->claims[k].node->row], &job->claims[k].piece);
	}
	return fit_whole(cluster, search->job, search->rooms, search->spots, search->counts) > 0;
}

static int find_whole(struct pass *pass, struct shadow *shadow)
{
	struct strata_cluster *cluster = pass->cluster;
	const struct job *job = shadow->job;
	struct strata_arena *arena = pass->arena;
	struct whole_search search = {
		.cluster = cluster,
		.job = job,
		.rooms = strata_arena_array(arena, cluster->node_count, sizeof(*search.rooms)),
		.spots = strata_arena_array(arena, fit_whole_max(cluster, job),
					    sizeof(*search.spots)),
		.counts = strata_arena_array(arena, job_gang(job) ? job->gang->size : 1,
					     sizeof(*search.counts)),
	};
	size_t low = 0, high = tree_count(&cluster->running);
	int64_t time_ns;

	if (!search.rooms || !search.spots || !search.counts)
		return strata_fail_memory(pass->err);
	shadow->exact = true;
	bool fits = fits_after(&search, high, &time_ns);

	while (fits && low < high) {
		size_t middle = low + (high - low) / 2;

		if (fits_after(&search, middle, &time_ns))
			high = middle;
		else
			low = middle + 1;
	}
	if (fits && fits_after(&search, high, &time_ns))
		shadow->start_ns = time_ns;
	for (uint32_t row = 0; row < cluster->node_count; row++) {
		struct node *node = &cluster->nodes[row];

		node->seen = cluster->look;
		/* with nothing to wait for, nothing is kept free */
		node->later = fits ? search.rooms[row] : node->node_type->whole;
	}
	return 0;
}

/* ---- beside what is reserved ---- */

static int find_planned(struct pass *pass, struct shadow *shadow)
{
	struct strata_cluster *cluster = pass->cluster;
	struct plan *plan = NULL;
	struct plans plans;

	if (plans_init(&plans, cluster))
		return strata_fail_memory(pass->err);
	if (plans_hold_placed(&plans, cluster) ||
	    plan_find(&plans, cluster, shadow->job, cluster->now_ns, shadow->job->limit_ns,
		      pass->arena, &plan)) {
		plans_fini(&plans, cluster);
		return strata_fail_memory(pass->err);
	}
	shadow->exact = true;
	for (uint32_t row = 0; row < cluster->node_count; row++) {
		struct node *node = &cluster->nodes[row];

		node->seen = cluster->look;
		node->later =
			plan ? timeline_least(&plans.lines[row], plan->start_ns, plan->start_ns + 1)
			     : node->node_type->whole;
	}
	for (uint32_t i = 0; plan && i < plan->count; i++)
		room_take(&plan->spots[i].node->later, &plan->spots[i].piece);
	if (plan)
		shadow->start_ns = plan->start_ns;
	plans_fini(&plans, cluster);
	return 0;
}

int shadow_find(struct pass *pass, struct job *job, struct shadow *ret_shadow)
{
	*ret_shadow = (struct shadow){ .job = job, .start_ns = INT64_MAX, .firm_ns = INT64_MAX };
	pass->cluster->look++;
	/* tasks that cannot be spread evenly are not planned */
	if (pass->cluster->advances &&
	    (fit_is_whole(job) || fit_node_count(pass->cluster, job->resources)))
		return find_planned(pass, ret_shadow);
	if (fit_is_whole(job))
		return find_whole(pass, ret_shadow);
	find_single(pass->cluster, ret_shadow);
	return 0;
}

/* ---- going ahead of it ---- */

bool shadow_allows(struct strata_cluster *cluster, struct node *node,
		   const struct strata_need *need, void *context)
{
	struct shadow *shadow = context;
	struct strata_room later;

	look_at(cluster, shadow, node);
	if (!shadow->exact && node->worth == 0)
		return true;
	later = node->later;
	struct strata_piece piece = room_pick(&node->room, node->node_type->gpu_count,
					      node->node_type->numa, need, node->group->gpu);

	if (shadow->exact)
		return room_has(&later, &piece);
	room_take(&later, &piece);
	return node->worth - worth(shadow, node, &later) <= shadow->spare;
}

void shadow_note(struct strata_cluster *cluster, struct shadow *shadow, const struct spot *spots,
		 uint32_t count, bool stays)
{
	for (uint32_t i = 0; i < count; i++) {
		struct node *node = spots[i].node;

		if (node->seen != cluster->look) {
			node->seen = cluster->look;
			node->later = node->room;
			room_give(&node->later, &spots[i].piece);
			node->worth = worth(shadow, node, &node->later);
		}
		if (!stays)
			continue;
		room_take(&node->later, &spots[i].piece);
		if (shadow->exact)
			continue;
		uint32_t now = worth(shadow, node, &node->later);

		shadow->spare -= node->worth - now < shadow->spare ? node->worth - now
								   : shadow->spare;
		node->worth = now;
	}
}

bool shadow_allows_all(struct strata_cluster *cluster, const struct shadow *shadow,
		       const struct spot *spots, uint32_t count)
{
	uint64_t loss = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct node *node = spots[i].node;

		look_at(cluster, shadow, node);
		struct strata_room later = node->later;

		if (shadow->exact && !room_has(&later, &spots[i].piece))
			return false;
		if (shadow->exact)
			continue;
		room_take(&later, &spots[i].piece);
		loss += node->worth - worth(shadow, node, &later);
	}
	return loss <= shadow->spare;
}
