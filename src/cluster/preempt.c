/*
 * Preemption: a waiting job may have running ones of a lower band stopped that allow it. Looked at
 * is how things will be once all that is ending has ended: a job that fits then needs nobody
 * stopped, so nobody is stopped twice for the same need. For the others the victims are chosen node
 * by node, the cheapest first by the victim chooser, and whoever turns out not to be needed is let
 * go.
 *
 * Gangs and frozen jobs wait; they do not have others stopped.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Waiting jobs looked at in one pass. */
enum { PREEMPTORS_MAX = 64 };

struct candidate {
	struct job *job;
	double cost;
	bool chosen;
};

/* A candidate on a node; the cheapest come first. */
struct entry {
	struct entry *next;
	struct candidate *candidate;
	const struct strata_piece *piece;
};

struct search {
	struct pass *pass;
	struct strata_cluster *cluster;
	const struct strata_victims_conf *conf;
	struct candidate *candidates;
	size_t count;
	struct entry **entries;    /* by row */
	struct strata_room *rooms; /* by row: once all that is ending has ended */
	struct strata_room *trial; /* the same with the victims of one job gone */
	bool *used;                /* by row: the job being looked at has a part there */
	struct spot *spots;
	struct entry **picks; /* of the node being weighed */
	int64_t wake_ns;      /* somebody's protection ends then */
};

/* ---- who might be stopped ---- */

static struct strata_piece freed_piece(const struct strata_piece *piece, enum strata_stop mode)
{
	return mode == STRATA_STOP_SUSPEND ? claim_active(*piece) : *piece;
}

static void free_job(struct strata_room *rooms, const struct job *job, enum strata_stop mode)
{
	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct strata_piece piece = freed_piece(&job->claims[i].piece, mode);

		room_give(&rooms[job->claims[i].node->row], &piece);
	}
}

static bool may_be_stopped(struct search *search, const struct job *job)
{
	int64_t protected_ns = job->start_ns + search->conf->protect_ns;

	if (!job->preemptible || job->state != STRATA_JOB_RUNNING || job->gang ||
	    job->preempted >= search->conf->times_max)
		return false;
	if (protected_ns <= search->cluster->now_ns)
		return true;
	if (protected_ns < search->wake_ns)
		search->wake_ns = protected_ns;
	return false;
}

static double cost_of(const struct search *search, const struct job *job)
{
	int64_t now_ns = search->cluster->now_ns, saved_ns = checkpoint_last_ns(job);
	struct strata_victim victim = {
		.band = job->band,
		.priority = job->priority,
		.size = job->resources->size,
		.ran_ns = now_ns - job->start_ns,
		.unsaved_ns = now_ns - (saved_ns > job->start_ns ? saved_ns : job->start_ns),
		.left_ns = job->expected_end_ns - now_ns,
		.preempted = job->preempted,
	};
	double cost = search->cluster->victims->cost(search->conf, &victim);

	return cost >= 0 ? cost
			 : INFINITY; /* a class that fails to say is not asked to lose anybody */
}

static int compare_candidates(const void *a_any, const void *b_any)
{
	const struct candidate *a = a_any, *b = b_any;

	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->job->band != b->job->band)
		return a->job->band < b->job->band ? -1 : 1;
	if (a->job->priority != b->job->priority)
		return a->job->priority < b->job->priority ? -1 : 1;
	if (a->job->start_ns != b->job->start_ns)
		return a->job->start_ns > b->job->start_ns ? -1 : 1;
	return a->job->sequence > b->job->sequence ? -1 : 1;
}

static int list_entries(struct search *search)
{
	/* from the dearest on, so that the cheapest ends up first */
	for (size_t i = search->count; i-- > 0;) {
		struct candidate *candidate = &search->candidates[i];
		const struct job *job = candidate->job;

		for (uint32_t k = 0; k < job->claim_count; k++) {
			struct entry *entry = strata_arena_get(search->pass->arena, sizeof(*entry));
			uint32_t row = job->claims[k].node->row;

			if (!entry)
				return strata_fail_memory(search->pass->err);
			*entry = (struct entry){ search->entries[row], candidate,
						 &job->claims[k].piece };
			search->entries[row] = entry;
		}
	}
	return 0;
}

static int open_search(struct search *search)
{
	struct strata_cluster *cluster = search->cluster;
	struct strata_arena *arena = search->pass->arena;
	int64_t soon_ns = cluster->now_ns + search->conf->grace_ns;

	search->candidates = strata_arena_array(arena, tree_count(&cluster->running),
						sizeof(*search->candidates));
	search->entries = strata_arena_array(arena, cluster->node_count, sizeof(*search->entries));
	search->rooms = strata_arena_array(arena, cluster->node_count, sizeof(*search->rooms));
	search->trial = strata_arena_array(arena, cluster->node_count, sizeof(*search->trial));
	search->used = strata_arena_array(arena, cluster->node_count, sizeof(*search->used));
	search->spots = strata_arena_array(arena, cluster->node_count, sizeof(*search->spots));
	search->picks =
		strata_arena_array(arena, tree_count(&cluster->running), sizeof(*search->picks));
	if (!search->picks || !search->candidates || !search->entries || !search->rooms ||
	    !search->trial || !search->used || !search->spots)
		return strata_fail_memory(search->pass->err);
	for (uint32_t row = 0; row < cluster->node_count; row++)
		search->rooms[row] = cluster->nodes[row].room;
	for (struct tree_node *at = tree_first(&cluster->running); at; at = tree_next(at)) {
		struct job *job = container_of(at, struct job, by_end);

		if (job->stopping || job->expected_end_ns <= soon_ns)
			free_job(search->rooms, job,
				 job->stopping ? job->stop_mode : STRATA_STOP_REQUEUE);
		else if (may_be_stopped(search, job))
			search->candidates[search->count++] =
				(struct candidate){ job, cost_of(search, job), false };
	}
	if (search->count)
		qsort(search->candidates, search->count, sizeof(*search->candidates),
		      compare_candidates);
	return list_entries(search);
}

/* ---- whom to stop for one job ---- */

/* A waiting job, and what is being found for it. */
struct want {
	const struct job *job;
	const struct resource_request *resources;
	uint32_t node_count;
	size_t pick_count; /* of search->picks, after weigh_node */
};

static bool takes(const struct want *want, const struct strata_room *room, const struct node *node)
{
	struct strata_need need =
		resources_need(want->resources, want->node_count, node->node_type);

	if (want->resources->exclusive)
		return resources_tasks_in(want->resources, room, node->node_type) > 0;
	return room_fits(room, node->node_type->gpu_count, &need);
}

/* Drops whoever is not needed after all, the dearest first. The last one is. */
static void drop_unneeded(struct search *search, struct want *want, const struct node *node,
			  struct strata_room *room)
{
	for (size_t i = want->pick_count; i-- > 1;) {
		struct strata_room less = *room;
		struct strata_piece piece =
			freed_piece(search->picks[i - 1]->piece, search->conf->mode);

		room_take(&less, &piece);
		if (!takes(want, &less, node))
			continue;
		*room = less;
		want->pick_count--;
		memmove(&search->picks[i - 1], &search->picks[i],
			(want->pick_count - (i - 1)) * sizeof(*search->picks));
	}
}

/* The cheapest few on a node whose end makes room for a part of the job, in search->picks. Their
 * cost; infinite: there are none. */
static double weigh_node(struct search *search, struct want *want, const struct node *node)
{
	struct strata_room room = search->trial[node->row];
	struct entry *at = search->entries[node->row];
	double cost = 0;

	want->pick_count = 0;
	while (at && !takes(want, &room, node)) {
		const struct candidate *candidate = at->candidate;

		if (!candidate->chosen && candidate->job->band < want->job->band &&
		    candidate->cost < INFINITY) {
			struct strata_piece piece = freed_piece(at->piece, search->conf->mode);

			room_give(&room, &piece);
			search->picks[want->pick_count++] = at;
		}
		at = at->next;
	}
	if (!takes(want, &room, node))
		return INFINITY;
	drop_unneeded(search, want, node, &room);
	for (size_t i = 0; i < want->pick_count; i++)
		cost += search->picks[i]->candidate->cost;
	return cost;
}

/* The node where a part of the job costs least; of those where fewest are stopped; then where the
 * first of them goes first. NULL: none. */
static struct node *cheapest_node(struct search *search, struct want *want)
{
	struct strata_cluster *cluster = search->cluster;
	const struct candidate *best_first = NULL;
	struct node *best = NULL;
	double best_cost = INFINITY;
	size_t best_count = 0;

	for (uint32_t row = 0; row < cluster->node_count; row++) {
		struct node *node = &cluster->nodes[row];

		if (search->used[row] || !fit_takes(want->resources, node) ||
		    advance_keeps(node, want->job, cluster->now_ns,
				  cluster->now_ns + want->job->limit_ns))
			continue;
		double cost = weigh_node(search, want, node);
		const struct candidate *first = want->pick_count ? search->picks[0]->candidate
								 : NULL;

		if (cost == INFINITY || (best && cost > best_cost))
			continue;
		if (best && cost == best_cost &&
		    (want->pick_count > best_count ||
		     (want->pick_count == best_count && first >= best_first)))
			continue;
		best = node;
		best_cost = cost;
		best_count = want->pick_count;
		best_first = first;
	}
	return best;
}

/* Puts a part of the job on a node, in the trial, with those gone that are in its way. */
static void settle(struct search *search, struct want *want, struct node *node)
{
	struct strata_need need =
		resources_need(want->resources, want->node_count, node->node_type);
	struct strata_room *room = &search->trial[node->row];

	weigh_node(search, want, node);
	for (size_t i = 0; i < want->pick_count; i++) {
		search->picks[i]->candidate->chosen = true;
		free_job(search->trial, search->picks[i]->candidate->job, search->conf->mode);
	}
	uint32_t gpu = need.gpu_milli
			       ? room_shared_gpu(room, node->node_type->gpu_count, need.gpu_milli)
			       : 0;
	struct strata_piece piece =
		room_pick(room, node->node_type->gpu_count, node->node_type->numa, &need, gpu);

	room_take(room, &piece);
	search->used[node->row] = true;
}

/* Chooses the victims of one job: false when there are none that would do. */
static bool choose(struct search *search, const struct job *job)
{
	struct strata_cluster *cluster = search->cluster;
	struct want want = { job, job->resources, fit_node_count(cluster, job->resources), 0 };
	uint32_t settled = 0;

	memcpy(search->trial, search->rooms, cluster->node_count * sizeof(*search->trial));
	memset(search->used, 0, cluster->node_count * sizeof(*search->used));
	for (; settled < want.node_count; settled++) {
		struct node *node = cheapest_node(search, &want);

		if (!node)
			break;
		settle(search, &want, node);
	}
	if (want.node_count && settled == want.node_count)
		return true;
	for (size_t i = 0; i < search->count; i++)
		if (!search->candidates[i].job->stopping)
			search->candidates[i].chosen = false;
	return false;
}

/* A job that must not run a second time is not sent back to the queue. */
static enum strata_stop stop_mode_of(const struct search *search, const struct job *victim)
{
	enum strata_stop mode = (enum strata_stop)search->conf->mode;

	return mode == STRATA_STOP_REQUEUE && !victim->requeue ? STRATA_STOP_CANCEL : mode;
}

static int stop_chosen(struct search *search, uint64_t preemptor)
{
	struct strata_cluster *cluster = search->cluster;
	size_t count = 0;

	for (size_t i = 0; i < search->count; i++)
		count += search->candidates[i].chosen && !search->candidates[i].job->stopping;
	if (pass_reserve(search->pass, count))
		return -ENOMEM;
	for (size_t i = 0; i < search->count; i++) {
		struct job *victim = search->candidates[i].job;

		if (!search->candidates[i].chosen || victim->stopping)
			continue;
		stop_job(cluster, victim, stop_mode_of(search, victim), search->conf->grace_ns,
			 preemptor);
		victim->stop_told = true;
		victim->preempted++;
		cluster->metrics.preemptions++;
		*pass_effect(search->pass) =
			(struct strata_effect){ .kind = STRATA_EFFECT_STOP,
						.job = victim->id,
						.state = victim->state,
						.attempt = victim->attempt,
						.mode = victim->stop_mode,
						.grace_ns = search->conf->grace_ns,
						.preemptor = preemptor };
	}
	memcpy(search->rooms, search->trial, cluster->node_count * sizeof(*search->rooms));
	return 0;
}

/* ---- the pass ---- */

static bool may_preempt(struct strata_cluster *cluster, const struct job *job)
{
	return !job->gang && !job->suspended && job->resources->possible &&
	       (!job->array || !job->array->limit || job->array->placed < job->array->limit) &&
	       entity_limit(cluster, job->association, job->resources) == STRATA_REASON_NONE;
}

/* Does it fit once all that is ending has ended, beside what is reserved? Then it takes that. */
static bool fits_soon(struct search *search, const struct job *job)
{
	struct strata_cluster *cluster = search->cluster;
	int64_t now_ns = cluster->now_ns;

	memcpy(search->trial, search->rooms, cluster->node_count * sizeof(*search->trial));
	for (uint32_t row = 0; cluster->advances && row < cluster->node_count; row++)
		advance_room(&cluster->nodes[row], job, now_ns, now_ns + job->limit_ns,
			     &search->trial[row]);
	uint32_t count = fit_first(cluster, job->resources, search->trial, false, search->spots);

	for (uint32_t i = 0; i < count; i++)
		room_take(&search->rooms[search->spots[i].node->row], &search->spots[i].piece);
	return count > 0;
}

/* Looks at the jobs of a group one after the other, as long as somebody can be stopped for them. */
static int preempt_for(struct search *search, const struct job_group *job_group, int *left)
{
	const struct job *job = job_group->first;
	uint32_t element = 0; /* of the job, if it is a range */

	while (job && *left > 0) {
		--*left;
		if (!may_preempt(search->cluster, job))
			return 0;
		if (!fits_soon(search, job)) {
			if (!choose(search, job)) {
				search->cluster->protect_wake_ns = search->wake_ns;
				return 0; /* nor would there be any for the others */
			}
			int rc = stop_chosen(search, job->id + element);

			if (rc)
				return rc;
		}
		if (++element == job->elements) {
			job = job->after;
			element = 0;
		}
	}
	return 0;
}

int preempt_pass(struct pass *pass)
{
	struct strata_cluster *cluster = pass->cluster;
	struct search search = { .pass = pass,
				 .cluster = cluster,
				 .conf = cluster->conf.victims.conf,
				 .wake_ns = INT64_MAX };
	struct job_group *job_group = queue_job_group(tree_first(&cluster->queue));
	int rc = 0, left = PREEMPTORS_MAX;

	cluster->protect_wake_ns = INT64_MAX;
	if (!cluster->victims || !job_group || job_group->band == STRATA_BAND_LOW)
		return 0;
	rc = open_search(&search);
	for (; rc == 0 && job_group && left;
	     job_group = queue_job_group(tree_next(&job_group->in_order)))
		if (job_group->band > STRATA_BAND_LOW)
			rc = preempt_for(&search, job_group, &left);
	return rc;
}
