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

/* What is past of it was forgotten already. */
static void drop_plan(struct strata_cluster *cluster, struct conservative *state, struct job *job)
{
	struct plan *plan = job->plan;

	if (!plan)
		return;
	for (uint32_t i = 0; i < plan->count; i++)
		timeline_give(&state->lines[plan->spots[i].node->row],
			      cluster->now_ns > plan->start_ns ? cluster->now_ns : plan->start_ns,
			      plan->end_ns, &plan->spots[i].piece);
	strata_memory_put(cluster->memory, plan, plan_bytes(plan->count));
	job->plan = NULL;
	state->freed = true;
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

/* The next time after this at which something changes on a node that is up; INT64_MAX: never. */
static int64_t next_change(const struct strata_cluster *cluster, const struct conservative *state,
			   int64_t after_ns)
{
	int64_t next = INT64_MAX;

	for (uint32_t row = 0; row < cluster->node_count; row++) {
		const struct timeline *line = &state->lines[row];

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

/* Finds the first time at which a gang or a frozen job fits: whenever something changes, does it? */
static bool find_whole(struct strata_cluster *cluster, const struct conservative *state,
		       const struct job *job, struct strata_room *rooms, uint32_t *counts,
		       struct plan *plan)
{
	int64_t length_ns = longest(job);

	for (int64_t at_ns = cluster->now_ns; at_ns != INT64_MAX;
	     at_ns = next_change(cluster, state, at_ns)) {
		for (uint32_t row = 0; row < cluster->node_count; row++)
			rooms[row] = timeline_least(&state->lines[row], at_ns, at_ns + length_ns);
		plan->start_ns = at_ns;
		plan->end_ns = at_ns + length_ns;
		plan->count = fit_whole(cluster, job, rooms, plan->spots, counts);
		if (plan->count)
			return true;
	}
	return false;
}

/* Enters a plan into the timelines; the block is the job's then. */
static int enter_plan(struct pass *pass, struct conservative *state, struct job *job,
		      struct plan *plan)
{
	struct strata_memory *memory = pass->cluster->memory;

	for (uint32_t i = 0; i < plan->count; i++) {
		struct timeline *line = &state->lines[plan->spots[i].node->row];

		if (timeline_reserve(line, memory)) {
			while (i-- > 0)
				timeline_give(&state->lines[plan->spots[i].node->row],
					      plan->start_ns, plan->end_ns, &plan->spots[i].piece);
			strata_memory_put(memory, plan, plan_bytes(plan->count));
			return strata_fail_memory(pass->err);
		}
		timeline_take(line, plan->start_ns, plan->end_ns, &plan->spots[i].piece);
	}
	job->plan = plan;
	job->promised_ns = plan->start_ns;
	if (!job->suspended)
		job->reason = STRATA_REASON_PRIORITY;
	return 0;
}

/* Plans a frozen job, or a gang in the plan of the one that stands for it. */
static int plan_whole(struct pass *pass, struct conservative *state, struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;
	struct gang *gang = job_gang(job);
	uint32_t room = fit_whole_max(cluster, job);
	struct strata_room *rooms =
		strata_arena_array(pass->arena, cluster->node_count, sizeof(*rooms));
	uint32_t *counts = strata_arena_array(pass->arena, gang ? gang->size : 1, sizeof(*counts));
	struct plan *scratch = strata_arena_get(pass->arena, plan_bytes(room));

	job->promised_ns = 0;
	if (!rooms || !counts || !scratch)
		return strata_fail_memory(pass->err);
	if ((gang && !gang->possible) || pass_obstructed(cluster, job))
		return 0;
	if (!find_whole(cluster, state, job, rooms, counts, scratch)) {
		if (gang)
			job->reason = STRATA_REASON_NODE_DOWN;
		return 0;
	}
	struct plan *plan = strata_memory_get(cluster->memory, plan_bytes(scratch->count));

	if (!plan)
		return strata_fail_memory(pass->err);
	memcpy(plan, scratch, plan_bytes(scratch->count));
	int rc = enter_plan(pass, state, job, plan);

	for (struct job *at = gang ? gang->first : NULL; rc == 0 && at; at = at->gang_next)
		at->planned = *counts++;
	return rc;
}

/* Plans a waiting job at its earliest place. One that has none stays without. */
static int make_plan(struct pass *pass, struct conservative *state, struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;
	struct search search = { cluster, state, job->ask, fit_node_count(cluster, job->ask),
				 job->limit_ns };
	int64_t *times = strata_arena_array(pass->arena, cluster->node_count, sizeof(*times)),
		start_ns;

	job->promised_ns = 0;
	if (fit_is_whole(job))
		return plan_whole(pass, state, job);
	if (!job->ask->possible || search.nodes == 0 || search.nodes > cluster->node_count ||
	    pass_obstructed(cluster, job))
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
	return enter_plan(pass, state, job, plan);
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
	if (job->expected_end_ns > plan->end_ns || job->stopping)
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

static int compare_jobs(const void *a, const void *b, void *mixed_bands)
{
	const struct job *left = *(struct job *const *)a, *right = *(struct job *const *)b;

	if (!*(const bool *)mixed_bands && left->lot->band != right->lot->band)
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
	qsort_r(jobs, count, sizeof(*jobs), compare_jobs, &cluster->conf.mixed_bands);
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

/* A frozen job keeps its memory, nobody knows for how long. */
static int hold_memory(struct pass *pass, struct conservative *state)
{
	struct strata_cluster *cluster = pass->cluster;
	const struct map_u64_entry *entry = NULL;

	while ((entry = map_u64_next(&cluster->jobs, entry))) {
		const struct job *job = entry->value;

		for (uint32_t i = 0; job->suspended && i < job->claim_count; i++) {
			const struct claim *claim = &job->claims[i];
			struct timeline *line = &state->lines[claim->node->row];
			struct strata_piece piece = { .memory_bytes = claim->piece.memory_bytes };

			if (timeline_reserve(line, cluster->memory))
				return strata_fail_memory(pass->err);
			timeline_take(line, pass->now_ns, INT64_MAX, &piece);
		}
	}
	return 0;
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
	return rc ? rc : hold_memory(pass, state);
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

/* Where a gang fits first is not always found again: then it stays where it was. */
static int replan_gang(struct pass *pass, struct conservative *state, struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;
	struct gang *gang = job->gang;
	size_t bytes = plan_bytes(((struct plan *)job->plan)->count);
	struct plan *old = strata_memory_get(cluster->memory, bytes);
	uint32_t *planned = strata_arena_array(pass->arena, gang->size, sizeof(*planned)), at = 0;

	if (!old || !planned) {
		strata_memory_put(cluster->memory, old, bytes);
		return strata_fail_memory(pass->err);
	}
	memcpy(old, job->plan, bytes);
	for (const struct job *member = gang->first; member; member = member->gang_next)
		planned[at++] = member->planned;
	drop_plan(cluster, state, job);
	int rc = plan_whole(pass, state, job);

	if (rc || (job->plan && job->promised_ns <= old->start_ns)) {
		strata_memory_put(cluster->memory, old, bytes);
		return rc;
	}
	drop_plan(cluster, state, job);
	at = 0;
	for (struct job *member = gang->first; member; member = member->gang_next)
		member->planned = planned[at++];
	return enter_plan(pass, state, job, old);
}

/* Each waiting job to its earliest place, the others staying where they are. */
static int compress(struct pass *pass, struct conservative *state)
{
	struct job **jobs;
	size_t count;
	int rc = list_waiting(pass, &jobs, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		int64_t promised_ns = jobs[i]->promised_ns;

		if (job_gang(jobs[i]) && jobs[i]->plan) {
			rc = replan_gang(pass, state, jobs[i]);
		} else {
			drop_plan(pass->cluster, state, jobs[i]);
			rc = make_plan(pass, state, jobs[i]);
		}
		assert(rc || !promised_ns || jobs[i]->promised_ns <= promised_ns);
	}
	state->freed = false;
	state->broken = rc != 0;
	return rc;
}

/* Is what was planned really free? It is, unless somebody overran. */
static bool spots_free(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (!room_has(&plan->spots[i].node->room, &plan->spots[i].piece))
			return false;
	return true;
}

/* The plan of a gang that starts becomes one for each of its jobs: nothing else changes. */
static int split_plan(struct pass *pass, struct gang *gang, struct plan *whole)
{
	struct strata_memory *memory = pass->cluster->memory;
	const struct spot *spots = whole->spots;
	int rc = 0;

	gang->first->plan = NULL;
	for (struct job *job = gang->first; job; job = job->gang_next) {
		struct plan *plan = strata_memory_get(memory, plan_bytes(job->planned));

		if (plan) {
			*plan = (struct plan){ whole->start_ns, whole->end_ns, job->planned };
			memcpy(plan->spots, spots, job->planned * sizeof(*spots));
			job->plan = plan;
		} else {
			rc = strata_fail_memory(pass->err); /* everything is planned anew then */
		}
		spots += job->planned;
	}
	strata_memory_put(memory, whole, plan_bytes(whole->count));
	return rc;
}

static int start_gang(struct pass *pass, struct job *job)
{
	struct gang *gang = job->gang;
	struct plan *plan = job->plan;
	enum pass_result result = gang_start(pass, gang, plan->spots);

	return result == PASS_STARTED ? split_plan(pass, gang, plan) : -ENOMEM;
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
		if (pass_obstructed(pass->cluster, jobs[i])) {
			drop_plan(pass->cluster, state, jobs[i]);
			jobs[i]->promised_ns = 0;
		} else if (jobs[i]->suspended ? !claim_thaws(jobs[i]) : !spots_free(plan)) {
			state->broken = true;
		} else if (jobs[i]->suspended) {
			rc = pass_resume(pass, jobs[i]);
		} else if (jobs[i]->gang) {
			rc = start_gang(pass, jobs[i]);
		} else {
			rc = pass_start(pass, jobs[i], plan->spots, plan->count);
		}
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

		if (jobs[i]->plan || fit_is_whole(jobs[i]) || !ask->possible ||
		    fit_node_count(cluster, ask) != 0 || pass_obstructed(cluster, jobs[i]))
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
		if (job_waits(jobs[i]) && jobs[i]->promised_ns > pass->now_ns &&
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
	if (cluster->limited && cluster->changed)
		state->freed = true; /* somebody may be below its limit again */
	cluster->disturbed = false;
	for (uint32_t i = 0; !state->broken && i < state->line_count; i++)
		timeline_trim(&state->lines[i], pass->now_ns);
	/* who is due goes first: a pass always comes a little late, and a plan that has begun cannot be moved */
	if (!state->broken)
		rc = start_due(pass, state);
	if (rc == 0 && state->broken)
		rc = plan_anew(pass, state);
	else if (rc == 0 && state->freed)
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

	drop_plan(cluster, state, job);
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
