/*
 * What a placed job holds: its pieces are taken from the rooms of their nodes, its owner's rate
 * goes up, and its end is expected. A frozen job holds only its memory.
 */
#include "cluster/cluster_int.h"

#include <errno.h>

/* Nodes that are not up have a room too, but no group. */
static void change_room(struct strata_cluster *cluster, struct node *node,
			const struct strata_piece *piece, int sign)
{
	if (node->group)
		node_detach(cluster, node);
	if (sign < 0)
		room_take(&node->room, piece);
	else
		room_give(&node->room, piece);
	if (node->state == STRATA_NODE_UP)
		node_attach(cluster, node);
	cluster_count_room(cluster, piece, sign);
}

static int64_t gpu_milli_held(const struct job *job)
{
	int64_t held = 0;

	for (uint32_t i = 0; i < job->claim_count; i++)
		held += __builtin_popcount(job->claims[i].piece.gpu_mask) *
			(int64_t)job->claims[i].piece.gpu_milli;
	return held;
}

/* It uses, or no longer uses, what it holds. */
static void count_use(struct strata_cluster *cluster, struct job *job, int sign)
{
	struct association *association = job->association;

	entity_accrue(cluster, association);
	association->placed += (uint32_t)sign;
	association->rate = association->placed ? association->rate + sign * job->resources->bill
						: 0;
	entity_count_placed(association, gpu_milli_held(job), sign);
	if (job->array)
		job->array->placed += (uint32_t)sign;
	if (sign < 0)
		job->used_ns += cluster->now_ns - job->used_since_ns;
	job->used_since_ns = cluster->now_ns;
}

static void charge_ns(struct strata_cluster *cluster, struct job *job, int64_t ns)
{
	const struct resource_request *resources = job->own_resources ? job->own_resources
								      : job->resources;

	entity_charge(cluster, job->association, resources->bill * (double)ns / 3.6e12);
}

void claim_charge_since(struct strata_cluster *cluster, struct job *job, int64_t start_ns)
{
	int64_t stored_ns = entity_stored_ns(cluster, job->association);
	int64_t from_ns = start_ns > stored_ns ? start_ns : stored_ns;

	if (start_ns < cluster->now_ns)
		job->used_ns = cluster->now_ns - start_ns;
	if (from_ns < cluster->now_ns)
		charge_ns(cluster, job, cluster->now_ns - from_ns);
}

void claim_charge_measured(struct strata_cluster *cluster, struct job *job, int64_t ran_ns)
{
	int64_t used_ns = job->used_ns;

	entity_accrue(cluster, job->association);
	if (!job->suspended)
		used_ns += cluster->now_ns - job->used_since_ns;
	charge_ns(cluster, job, ran_ns - used_ns);
}

void strata_cluster_set_jobs_max(struct strata_cluster *cluster, uint32_t jobs_max)
{
	cluster_tell(cluster, .kind = STRATA_EVENT_JOBS_MAX, .jobs_max = jobs_max);
	cluster->jobs_max = jobs_max;
	cluster->changed = true;
}

int claim_take(struct strata_cluster *cluster, struct job *job, const struct spot *spots,
	       uint32_t spot_count)
{
	struct claim *claims = strata_memory_get(cluster->memory, claim_bytes(spot_count));

	if (!claims)
		return -ENOMEM;
	struct strata_piece *pieces = (struct strata_piece *)(claims + spot_count);

	for (uint32_t i = 0; i < spot_count; i++) {
		claims[i] = (struct claim){ job, spots[i].node, spots[i].piece };
		pieces[i] = spots[i].piece;
		change_room(cluster, claims[i].node, &claims[i].piece, -1);
	}
	job->claims = claims;
	job->claim_count = spot_count;
	cluster->placed++;
	job->used_ns = 0;
	count_use(cluster, job, 1);
	return 0;
}

static void drop_claims(struct strata_cluster *cluster, struct job *job)
{
	strata_memory_put(cluster->memory, job->claims, claim_bytes(job->claim_count));
	job->claims = NULL;
	job->claim_count = 0;
	cluster->placed--;
}

void claim_release(struct strata_cluster *cluster, struct job *job)
{
	cluster_gone(cluster, job);
	if (!job->suspended)
		count_use(cluster, job, -1);
	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct strata_piece piece = job->claims[i].piece;

		if (job->suspended) {
			piece.cpu_milli = 0;
			piece.gpu_mask = 0;
		}
		change_room(cluster, job->claims[i].node, &piece, 1);
	}
	if (tree_node_in(&job->by_end))
		tree_remove(&cluster->running, &job->by_end);
	checkpoint_unwatch(cluster, job);
	drop_claims(cluster, job);
	cluster->disturbed |= job->suspended;
	cluster->suspended_count -= job->suspended;
	job->suspended = job->stopping = job->stop_told = false;
	cluster->changed = true;
}

void claim_freeze(struct strata_cluster *cluster, struct job *job)
{
	cluster_gone(cluster, job);
	count_use(cluster, job, -1);
	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct strata_piece piece = claim_active(job->claims[i].piece);

		change_room(cluster, job->claims[i].node, &piece, 1);
	}
	tree_remove(&cluster->running, &job->by_end);
	checkpoint_unwatch(cluster, job);
	assert(!job->suspended);
	cluster->suspended_count++;
	job->suspended = true;
	job->stopping = job->stop_told = false;
	job->frozen_ns = cluster->now_ns;
	cluster->changed = cluster->disturbed = true;
}

bool claim_thaws(const struct job *job)
{
	for (uint32_t i = 0; i < job->claim_count; i++) {
		const struct node *node = job->claims[i].node;
		struct strata_piece piece = claim_active(job->claims[i].piece);

		if (node->state != STRATA_NODE_UP || !room_has(&node->room, &piece))
			return false;
	}
	return true;
}

void claim_thaw(struct strata_cluster *cluster, struct job *job)
{
	int64_t frozen_ns = cluster->now_ns - job->frozen_ns;

	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct strata_piece piece = claim_active(job->claims[i].piece);

		change_room(cluster, job->claims[i].node, &piece, -1);
	}
	assert(job->suspended && cluster->suspended_count > 0);
	cluster->suspended_count--;
	job->suspended = false;
	job->start_ns += frozen_ns; /* the clock of its limit stood still */
	job->expected_end_ns += frozen_ns;
	count_use(cluster, job, 1);
	tree_insert(&cluster->running, &job->by_end);
	cluster->changed = cluster->disturbed = true;
}
