/*
 * conservative: every job gets a place in time when it comes, the earliest at which it delays nobody that came before, and starts then or
 * sooner. When a job ends early or is taken out, each waiting job, in the order of the queue, is moved to the earliest place that is now
 * free while all others stay where they are, so no promise ever moves later.
 *
 * Places are planned on requested times, whatever the prediction: a promise made on less could be broken. Only what nobody promised breaks
 * them: a job that runs past its limit, a node that goes. Then everything is planned anew.
 */
#include "cluster/timeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where and when a job will be, or is. */
struct plan {
	int64_t start_ns, end_ns;
	uint32_t count;
	struct spot spots[];
};

struct conservative {
	struct timeline *lines; /* one per node */
	uint32_t line_count;
	bool freed;  /* a stretch was given back since the last pass */
	bool broken; /* what nobody promised has happened: plan anew */
};

static size_t plan_bytes(uint32_t count)
{
	return sizeof(struct plan) + count * sizeof(struct spot);
}

static void drop_plan(struct strata_cluster *cluster, struct conservative *state, struct job *job,
		      int64_t from_ns)
{
	struct plan *plan = job->plan;

	if (!plan)
		return;
	for (uint32_t i = 0; i < plan->count; i++)
		timeline_give(&state->lines[plan->spots[i].node->row],
			      from_ns > plan->start_ns ? from_ns : plan->start_ns, plan->end_ns,
			      &plan->spots[i].piece);
	strata_memory_put(cluster->memory, plan, plan_bytes(plan->count));
	job->plan = NULL;
	state->freed = true;
}

/* How many nodes to plan for when the job did not say: as few as could take it, evenly, if they were empty. 0: no number of nodes
 * can, though they can unevenly. */
static uint32_t nodes_wanted(const struct strata_cluster *cluster, const struct ask *ask)
{
	if (ask->nodes)
		return ask->nodes;
	for (uint32_t nodes = 1; nodes <= ask->tasks && nodes <= cluster->node_count; nodes++) {
		uint32_t found = 0;

		for (uint32_t row = 0; row < cluster->node_count && found < nodes; row++) {
			const struct shape *shape = cluster->nodes[row].shape;

			found += ask_takes_shape(ask, shape) && ask_takes_node(ask, row) &&
				 ask_tasks_in(ask, &shape->whole, shape) >=
					 (ask->tasks + nodes - 1) / nodes;
		}
		if (found == nodes)
			return nodes;
	}
	return 0;
}

struct search {
	struct strata_cluster *cluster;
	struct conservative *state;
	const struct ask *ask;
	uint32_t nodes;
	int64_t length_ns;
};

static int64_t node_earliest(const struct search *search, uint32_t row, int64_t from_ns)
{
	const struct node *node = &search->cluster->nodes[row];
	struct strata_need need = ask_need(search->ask, search->nodes, node->shape);

	if (node->state != STRATA_NODE_UP || !ask_takes_shape(search->ask, node->shape) ||
	    !ask_takes_node(search->ask, row))
		return INT64_MAX;
	return timeline_earliest(&search->state->lines[row], from_ns, search->length_ns, &need,
				 node->shape->gpu_count,
				 search->ask->exclusive ? &node->shape->whole : NULL);
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* The first time from `from` on at which enough nodes are free together: the k-th smallest of their own first times is a lower bound,
 * and is the time itself once k of them are free exactly then. */
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
	uint32_t tasks = search->ask->tasks;

	for (uint32_t row = 0; plan->count < search->nodes; row++) {
		struct node *node = &search->cluster->nodes[row];

		assert(row < search->cluster->node_count);
		if (node_earliest(search, row, plan->start_ns) != plan->start_ns)
			continue;
		/* every part as large as the largest, so that it can always be planned where it was */
		struct strata_need need = ask_need(search->ask, search->nodes, node->shape);
		struct strata_room least =
			timeline_least(&search->state->lines[row], plan->start_ns, plan->end_ns);
		uint32_t gpu = need.gpu_milli ? room_shared_gpu(&least, node->shape->gpu_count,
								need.gpu_milli)
					      : 0;
		struct spot *spot = &plan->spots[plan->count];

		spot->node = node;
		spot->piece =
			room_pick(&least, node->shape->gpu_count, node->shape->numa, &need, gpu);
		spot->piece.node = row;
		spot->piece.tasks = tasks / search->nodes + (plan->count < tasks % search->nodes);
		plan->count++;
	}
}

/* Plans a waiting job at its earliest place. One that has none stays without. */
static int make_plan(struct pass *pass, struct conservative *state, struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;
	struct search search = { cluster, state, job->ask, nodes_wanted(cluster, job->ask),
				 job->limit_ns };
	int64_t *times = strata_arena_array(pass->arena, cluster->node_count, sizeof(*times)),
		start_ns;

	job->promised_ns = 0;
	if (!job->ask->possible || search.nodes == 0 || search.nodes > cluster->node_count)
		return 0;
	if (!times)
		return strata_fail_memory(pass->err);
	start_ns = earliest_together(&search, pass->now_ns, times);
	if (start_ns == INT64_MAX) {
		job->reason = STRATA_REASON_NODE_DOWN;
		return 0;
	}
	struct plan *plan = strata_memory_get(cluster->memory, plan_bytes(search.nodes));

	if (!plan)
		return strata_fail_memory(pass->err);
	plan->start_ns = start_ns;
	plan->end_ns = start_ns + job->limit_ns;
	fill_plan(&search, plan);
	for (uint32_t i = 0; i < plan->count; i++)
		if (timeline_reserve(&state->lines[plan->spots[i].node->row], cluster->memory)) {
			strata_memory_put(cluster->memory, plan, plan_bytes(search.nodes));
			return strata_fail_memory(pass->err);
		}
	for (uint32_t i = 0; i < plan->count; i++)
		timeline_take(&state->lines[plan->spots[i].node->row], plan->start_ns, plan->end_ns,
			      &plan->spots[i].piece);
	job->plan = plan;
	job->promised_ns = start_ns;
	job->reason = STRATA_REASON_PRIORITY;
	return 0;
}

/* What a placed job will hold from now on. */
static int hold(struct pass *pass, struct conservative *state, struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;
	struct plan *plan = strata_memory_get(cluster->memory, plan_bytes(job->claim_count));

	if (!plan)
		return strata_fail_memory(pass->err);
	plan->start_ns = pass->now_ns;
	plan->end_ns = job->start_ns + job->limit_ns;
	if (job->expected_end_ns > plan->end_ns)
		plan->end_ns = job->expected_end_ns;
	for (uint32_t i = 0; i < job->claim_count; i++)
		if (timeline_reserve(&state->lines[job->claims[i].node->row], cluster->memory)) {
			strata_memory_put(cluster->memory, plan, plan_bytes(job->claim_count));
			return strata_fail_memory(pass->err);
		}
	for (; plan->count < job->claim_count; plan->count++) {
		const struct claim *claim = &job->claims[plan->count];

		plan->spots[plan->count] = (struct spot){ claim->node, claim->piece };
		timeline_take(&state->lines[claim->node->row], plan->start_ns, plan->end_ns,
			      &claim->piece);
	}
	job->plan = plan;
	return 0;
}

static int compare_jobs(const void *a, const void *b)
{
	const struct job *left = *(struct job *const *)a, *right = *(struct job *const *)b;

	if (left->lot->band != right->lot->band)
		return left->lot->band > right->lot->band ? -1 : 1;
	if (left->lot->key != right->lot->key)
		return left->lot->key < right->lot->key ? -1 : 1;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

/* All waiting jobs in the order of the queue, in the arena. */
static int list_waiting(struct pass *pass, struct job ***ret_jobs, size_t *ret_count)
{
	struct strata_cluster *cluster = pass->cluster;
	size_t count = 0;
	struct lot *lot;

	for (lot = queue_lot(tree_first(&cluster->queue)); lot;
	     lot = queue_lot(tree_next(&lot->in_order)))
		count += lot->count;
	struct job **jobs = strata_arena_array(pass->arena, count, sizeof(*jobs)), **to = jobs;

	if (!jobs)
		return strata_fail_memory(pass->err);
	for (lot = queue_lot(tree_first(&cluster->queue)); lot;
	     lot = queue_lot(tree_next(&lot->in_order)))
		for (struct job *job = lot->first; job; job = job->after)
			*to++ = job;
	qsort(jobs, count, sizeof(*jobs), compare_jobs);
	*ret_jobs = jobs;
	*ret_count = count;
	return 0;
}

static void close_lines(struct strata_cluster *cluster, struct conservative *state)
{
	for (uint32_t i = 0; i < state->line_count; i++)
		timeline_fini(&state->lines[i], cluster->memory);
	strata_memory_put(cluster->memory, state->lines, state->line_count * sizeof(*state->lines));
	state->lines = NULL;
	state->line_count = 0;
}

static void forget_plans(struct strata_cluster *cluster)
{
	const struct map_u64_entry *entry = NULL;

	while ((entry = map_u64_next(&cluster->jobs, entry))) {
		struct job *job = entry->value;

		if (job->plan)
			strata_memory_put(cluster->memory, job->plan,
					  plan_bytes(((struct plan *)job->plan)->count));
		job->plan = NULL;
	}
}

static int open_lines(struct pass *pass, struct conservative *state)
{
	struct strata_cluster *cluster = pass->cluster;
	struct tree_node *at;
	int rc = 0;

	forget_plans(cluster);
	close_lines(cluster, state);
	state->lines =
		strata_memory_get(cluster->memory, cluster->node_count * sizeof(*state->lines));
	if (!state->lines && cluster->node_count)
		return strata_fail_memory(pass->err);
	for (; state->line_count < cluster->node_count; state->line_count++)
		if (timeline_init(&state->lines[state->line_count], cluster->memory,
				  &cluster->nodes[state->line_count].shape->whole)) {
			uint32_t made = state->line_count;

			state->line_count =
				cluster->node_count; /* so that the array is given back whole */
			memset(&state->lines[made], 0,
			       (cluster->node_count - made) * sizeof(*state->lines));
			return strata_fail_memory(pass->err);
		}
	for (at = tree_first(&cluster->running); rc == 0 && at; at = tree_next(at))
		rc = hold(pass, state, container_of(at, struct job, by_end));
	return rc;
}

/* Everything from scratch. */
static int plan_anew(struct pass *pass, struct conservative *state)
{
	struct job **jobs;
	size_t count;
	int rc = open_lines(pass, state);

	queue_forget_new(pass->cluster);
	if (rc == 0)
		rc = list_waiting(pass, &jobs, &count);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = make_plan(pass, state, jobs[i]);
	state->broken = rc != 0;
	state->freed = false;
	return rc;
}

/* Each waiting job to its earliest place, the others staying where they are. */
static int compress(struct pass *pass, struct conservative *state)
{
	struct job **jobs;
	size_t count;
	int rc = list_waiting(pass, &jobs, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		int64_t promised_ns = jobs[i]->promised_ns;

		drop_plan(pass->cluster, state, jobs[i], INT64_MIN);
		rc = make_plan(pass, state, jobs[i]);
		if (promised_ns < pass->now_ns)
			promised_ns = promised_ns ? pass->now_ns : 0; /* this pass comes late */
		assert(rc || !promised_ns || jobs[i]->promised_ns <= promised_ns);
	}
	state->freed = false;
	state->broken = rc != 0;
	return rc;
}

/* Is what was planned really free? It is, unless somebody overran. */
static bool spots_free(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct strata_room *room = &plan->spots[i].node->room;
		const struct strata_piece *piece = &plan->spots[i].piece;

		if (room->cpu_milli < piece->cpu_milli || room->memory_bytes < piece->memory_bytes)
			return false;
		for (uint32_t mask = piece->gpu_mask; mask; mask &= mask - 1)
			if (room->gpu_milli[__builtin_ctz(mask)] < piece->gpu_milli)
				return false;
	}
	return true;
}

static int start_due(struct pass *pass, struct conservative *state)
{
	struct job **jobs;
	size_t count;
	int rc = list_waiting(pass, &jobs, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct plan *plan = jobs[i]->plan;

		if (!plan || plan->start_ns > pass->now_ns)
			continue;
		if (!spots_free(plan)) {
			state->broken = true;
			continue;
		}
		rc = pass_start(pass, jobs[i], plan->spots, plan->count);
	}
	return rc;
}

/* A job whose tasks cannot be spread evenly has no promise: it starts when it delays nobody. */
static bool delays_nobody(struct strata_cluster *cluster, struct node *node,
			  const struct strata_need *need, void *context)
{
	const struct search *search = context;
	struct strata_room least = timeline_least(&search->state->lines[node->row], cluster->now_ns,
						  cluster->now_ns + search->length_ns);

	(void)need;
	return memcmp(&least, &node->room, sizeof(least)) ==
	       0; /* nobody else will come here meanwhile */
}

static int start_unplanned(struct pass *pass, struct conservative *state)
{
	struct strata_cluster *cluster = pass->cluster;
	struct job **jobs;
	size_t count;
	int rc = list_waiting(pass, &jobs, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct ask *ask = jobs[i]->ask;
		struct search search = { cluster, state, ask, 0, jobs[i]->limit_ns };

		if (jobs[i]->plan || !ask->possible || nodes_wanted(cluster, ask) != 0)
			continue;
		struct spot *spots = strata_arena_array(pass->arena, placing_spot_max(cluster, ask),
							sizeof(*spots));

		if (!spots)
			return strata_fail_memory(pass->err);
		uint32_t found = placing_find(cluster, ask, 0, delays_nobody, &search, spots);

		if (found)
			rc = pass_start(pass, jobs[i], spots, found);
		if (found && rc == 0)
			rc = hold(pass, state, jobs[i]);
	}
	return rc;
}

/* The earliest promise, for strata_cluster_next_ns. */
static void note_next(struct pass *pass, struct job **jobs, size_t count)
{
	pass->cluster->wake_ns = INT64_MAX;
	for (size_t i = 0; i < count; i++)
		if (jobs[i]->state == STRATA_JOB_QUEUED && jobs[i]->promised_ns > pass->now_ns &&
		    jobs[i]->promised_ns < pass->cluster->wake_ns)
			pass->cluster->wake_ns = jobs[i]->promised_ns;
}

static int conservative_pass(struct pass *pass, const void *conf, void *state_any)
{
	struct conservative *state = state_any;
	struct strata_cluster *cluster = pass->cluster;
	struct job *job, **jobs;
	size_t count;
	int rc = 0;

	(void)conf;
	if (state->line_count != cluster->node_count || cluster->disturbed ||
	    cluster->order->changes_with_time)
		state->broken = true;
	cluster->disturbed = false;
	for (uint32_t i = 0; !state->broken && i < state->line_count; i++)
		timeline_trim(&state->lines[i], pass->now_ns);
	if (state->broken)
		rc = plan_anew(pass, state);
	if (rc == 0 && state->freed)
		rc = compress(pass, state);
	while (rc == 0 && (job = queue_take_new(cluster)))
		if (job->lot && !job->plan)
			rc = make_plan(pass, state, job);
	if (rc == 0)
		rc = start_due(pass, state);
	if (rc == 0 && state->broken) { /* somebody overran: once more, with what is really there */
		rc = plan_anew(pass, state);
		if (rc == 0)
			rc = start_due(pass, state);
	}
	if (rc == 0)
		rc = start_unplanned(pass, state);
	if (rc)
		state->broken = true;
	else if ((rc = list_waiting(pass, &jobs, &count)) == 0)
		note_next(pass, jobs, count);
	return rc;
}

static void conservative_gone(struct strata_cluster *cluster, void *state_any, struct job *job)
{
	struct conservative *state = state_any;

	drop_plan(cluster, state, job, cluster->now_ns);
	job->promised_ns = 0;
}

static void conservative_close(struct strata_cluster *cluster, void *state)
{
	forget_plans(cluster);
	close_lines(cluster, state);
}

const struct backfill_class backfill_conservative = {
	.base = {
		.name = "conservative",
		.aliases = "cons",
		.summary = "every job has a promised start that never moves later",
	},
	.state_size = sizeof(struct conservative),
	.pass = conservative_pass,
	.gone = conservative_gone,
	.close = conservative_close,
};
