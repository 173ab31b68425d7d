/*
 * The reservation of the job at the head of the queue: the earliest time at which enough placed jobs will have ended for it to fit,
 * on the nodes as they are. It is found by walking the placed jobs in the order of their expected ends and giving back their
 * room on a copy of the nodes they hold; nodes that nobody leaves before that time are not touched.
 *
 * A job may then be started ahead of it if it ends by that time, or if, with that job where it is, enough nodes can still take the
 * reserved one at that time.
 */
#include "cluster/cluster_int.h"

/* What a node, with this room, counts for: whole parts of the job when it asked for so many nodes, else tasks. */
static uint32_t worth(const struct reservation *reservation, const struct node *node,
		      const struct strata_room *room)
{
	const struct ask *ask = reservation->job->ask;

	if (node->state != STRATA_NODE_UP || !ask_takes_shape(ask, node->shape) ||
	    !ask_takes_node(ask, node->row))
		return 0;
	uint32_t tasks = ask_tasks_in(ask, room, node->shape);

	return ask->nodes ? tasks >= reservation->tasks_per_node : tasks;
}

/* The node as it will be at the reserved time; as it is now until somebody leaves it. */
static void look_at(struct strata_cluster *cluster, const struct reservation *reservation,
		    struct node *node)
{
	if (node->seen == cluster->look)
		return;
	node->seen = cluster->look;
	node->later = node->room;
	node->worth = worth(reservation, node, &node->room);
}

/* What all nodes count for now, group by group. */
static uint64_t worth_now(struct strata_cluster *cluster, const struct reservation *reservation)
{
	const struct ask *ask = reservation->job->ask;
	uint64_t total = 0;

	for (struct group *group = cluster->newest; group; group = group->older) {
		struct node *node = container_of(tree_first(&group->nodes), struct node, in_group);

		if (!ask->nodes_ok) {
			total += tree_count(&group->nodes) *
				 (uint64_t)worth(reservation, node, &group->room);
			continue;
		}
		for (struct tree_node *at = &node->in_group; at; at = tree_next(at))
			total += worth(reservation, container_of(at, struct node, in_group),
				       &group->room);
	}
	return total;
}

void reserve_find(struct strata_cluster *cluster, struct job *job,
		  struct reservation *ret_reservation)
{
	struct reservation *reservation = ret_reservation;
	const struct ask *ask = job->ask;

	*reservation =
		(struct reservation){ .job = job, .start_ns = INT64_MAX, .firm_ns = INT64_MAX };
	reservation->wanted = ask->nodes ? ask->nodes : ask->tasks;
	reservation->tasks_per_node = ask->nodes ? (ask->tasks + ask->nodes - 1) / ask->nodes : 0;
	cluster->look++;
	uint64_t total = worth_now(cluster, reservation);

	if (total >= reservation->wanted)
		reservation->start_ns = cluster->now_ns;
	struct tree_node *at;

	for (at = tree_first(&cluster->running); at; at = tree_next(at)) {
		struct job *ending = container_of(at, struct job, by_end);

		if (total >= reservation->wanted && ending->expected_end_ns > reservation->start_ns)
			break;
		for (uint32_t i = 0; i < ending->claim_count; i++) {
			struct node *node = ending->claims[i].node;

			look_at(cluster, reservation, node);
			room_give(&node->later, &ending->claims[i].piece);
			total -= node->worth;
			node->worth = worth(reservation, node, &node->later);
			total += node->worth;
		}
		if (total >= reservation->wanted && reservation->start_ns == INT64_MAX)
			reservation->start_ns = ending->expected_end_ns;
	}
	reservation->spare = total > reservation->wanted ? total - reservation->wanted : 0;
}

bool reserve_allows(struct strata_cluster *cluster, struct node *node,
		    const struct strata_need *need, void *context)
{
	struct reservation *reservation = context;
	struct strata_room later;

	look_at(cluster, reservation, node);
	if (node->worth == 0)
		return true;
	later = node->later;
	struct strata_piece piece = room_pick(&node->room, node->shape->gpu_count,
					      node->shape->numa, need, node->group->gpu);

	room_take(&later, &piece);
	return node->worth - worth(reservation, node, &later) <= reservation->spare;
}

void reserve_note(struct strata_cluster *cluster, struct reservation *reservation,
		  const struct job *job, bool stays)
{
	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct node *node = job->claims[i].node;

		if (node->seen != cluster->look) {
			node->seen = cluster->look;
			node->later = node->room;
			room_give(&node->later, &job->claims[i].piece);
			node->worth = worth(reservation, node, &node->later);
		}
		if (!stays)
			continue;
		room_take(&node->later, &job->claims[i].piece);
		uint32_t now = worth(reservation, node, &node->later);

		reservation->spare -= node->worth - now < reservation->spare ? node->worth - now
									     : reservation->spare;
		node->worth = now;
	}
}

bool reserve_allows_all(struct strata_cluster *cluster, const struct reservation *reservation,
			const struct spot *spots, uint32_t count)
{
	uint64_t loss = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct node *node = spots[i].node;

		look_at(cluster, reservation, node);
		struct strata_room later = node->later;

		room_take(&later, &spots[i].piece);
		loss += node->worth - worth(reservation, node, &later);
	}
	return loss <= reservation->spare;
}
