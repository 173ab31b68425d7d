/*
 * conservative: every job gets a place in time when it comes, the earliest at which it delays
 * nobody that came before, and starts then or sooner. When a job ends early or is taken out, each
 * waiting job, in the order of the queue, is moved to the earliest place that is now free while all
 * others stay where they are, so no promise ever moves later.
 *
 * Places are planned on requested times, whatever the prediction: a promise made on less could be
 * broken. Only what nobody promised breaks them: a job that runs past its limit, a node that goes.
 * Then everything is planned anew.
 */
#include "cluster/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct conservative {
	struct plans plans;
	bool freed;  /* a stretch was given back since the last pass */
	bool broken; /* what nobody promised has happened: plan anew */
};

static void drop_plan(struct strata_cluster *cluster, struct conservative *state, struct job *job)
{
	struct plan *plan = job->plan;

	if (!plan)
		return;
	plan_give(&state->plans, cluster, plan);
	strata_memory_put(cluster->memory, plan, plan_bytes(plan->count));
	job->plan = NULL;
	state->freed = true;
}

/* A plan becomes the job's: a copy of it, in the timelines already or to be entered there. */
static int keep_plan(struct pass *pass, struct conservative *state, struct job *job,
		     const struct plan *plan, bool enter)
{
	struct strata_memory *memory = pass->cluster->memory;
	size_t bytes = plan_bytes(plan->count);
	struct plan *copy = strata_memory_get(memory, bytes);

	if (!copy || (enter && plan_take(&state->plans, pass->cluster, plan))) {
		strata_memory_put(memory, copy, bytes);
		return strata_fail_memory(pass->err);
	}
	memcpy(copy, plan, bytes);
	copy->counts = NULL;
	job->plan = copy;
	return 0;
}

static int promise(struct pass *pass, struct conservative *state, struct job *job,
		   const struct plan *plan)
{
	int rc = keep_plan(pass, state, job, plan, true);

	if (rc)
		return rc;
	job->promised_ns = plan->start_ns;
	if (!job->suspended)
		job->reason = STRATA_REASON_PRIORITY;
	return 0;
}

/* Plans a waiting job at its earliest place. One that has none stays without. */
static int make_plan(struct pass *pass, struct conservative *state, struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;
	bool possible = job_gang(job) ? job->gang->possible : job->resources->possible;
	struct plan *plan;

	job->promised_ns = 0;
	if ((!possible && !job->suspended) || pass_obstructed(cluster, job))
		return 0;
	if (plan_find(&state->plans, cluster, job, cluster->now_ns, job->limit_ns, pass->arena,
		      &plan))
		return strata_fail_memory(pass->err);
	if (plan) {
		uint32_t at = 0;

		for (struct job *member = job_gang(job) ? job->gang->first : NULL; member;
		     member = member->gang_next)
			member->planned = plan->counts[at++];
		return promise(pass, state, job, plan);
	}
	if (fit_is_whole(job) ? !job->suspended : fit_node_count(cluster, job->resources) != 0)
		job->reason = STRATA_REASON_NODE_DOWN;
	return 0;
}

/* What a placed job will hold from now on. */
static int hold(struct pass *pass, struct conservative *state, struct job *job)
{
	struct plan *plan = strata_arena_get(pass->arena, plan_bytes(job->claim_count));

	if (!plan)
		return strata_fail_memory(pass->err);
	plan->start_ns = pass->now_ns;
	plan->end_ns = job->start_ns + job->limit_ns;
	if (job->expected_end_ns > plan->end_ns || job->stopping)
		plan->end_ns = job->expected_end_ns;
	for (; plan->count < job->claim_count; plan->count++)
		plan->spots[plan->count] = (struct spot){ job->claims[plan->count].node,
							  job->claims[plan->count].piece };
	return keep_plan(pass, state, job, plan, true);
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

static int open_plans(struct pass *pass, struct conservative *state)
{
	struct strata_cluster *cluster = pass->cluster;
	struct tree_node *at;
	int rc = 0;

	forget_plans(cluster);
	plans_fini(&state->plans, cluster);
	if (plans_init(&state->plans, cluster))
		return strata_fail_memory(pass->err);
	for (at = tree_first(&cluster->running); rc == 0 && at; at = tree_next(at))
		rc = hold(pass, state, container_of(at, struct job, by_end));
	return rc;
}

/* Everything from scratch. */
static int plan_anew(struct pass *pass, struct conservative *state)
{
	struct job **jobs;
	size_t count;
	int rc = open_plans(pass, state);

	queue_forget_new(pass->cluster);
	if (rc == 0)
		rc = queue_list(pass, SIZE_MAX, &jobs, &count);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = make_plan(pass, state, jobs[i]);
	state->broken = rc != 0;
	state->freed = false;
	return rc;
}

/* Where a gang fits first is not always found again: then it stays where it was. */
static int replan_gang(struct pass *pass, struct conservative *state, struct job *job)
{
	struct gang *gang = job->gang;
	size_t bytes = plan_bytes(((struct plan *)job->plan)->count);
	struct plan *old = strata_arena_get(pass->arena, bytes);
	uint32_t *planned = strata_arena_array(pass->arena, gang->size, sizeof(*planned)), at = 0;

	if (!old || !planned)
		return strata_fail_memory(pass->err);
	memcpy(old, job->plan, bytes);
	for (const struct job *member = gang->first; member; member = member->gang_next)
		planned[at++] = member->planned;
	drop_plan(pass->cluster, state, job);
	int rc = make_plan(pass, state, job);

	if (rc || (job->plan && job->promised_ns <= old->start_ns))
		return rc;
	drop_plan(pass->cluster, state, job);
	at = 0;
	for (struct job *member = gang->first; member; member = member->gang_next)
		member->planned = planned[at++];
	return promise(pass, state, job, old);
}

/* Each waiting job to its earliest place, the others staying where they are. */
static int compress(struct pass *pass, struct conservative *state)
{
	struct job **jobs;
	size_t count;
	int rc = queue_list(pass, SIZE_MAX, &jobs, &count);

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

/* Is what was planned really free? It is, unless somebody overran, or so late that a reservation of
 * others begins before the job would end. */
static bool spots_free(const struct strata_cluster *cluster, const struct job *job)
{
	const struct plan *plan = job->plan;
	int64_t now_ns = cluster->now_ns, length_ns = plan->end_ns - plan->start_ns;

	for (uint32_t i = 0; i < plan->count; i++) {
		struct strata_room room = plan->spots[i].node->room;

		advance_room(plan->spots[i].node, job, now_ns, now_ns + length_ns, &room);
		if (!room_has(&room, &plan->spots[i].piece))
			return false;
	}
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
			*plan = (struct plan){ whole->start_ns, whole->end_ns, NULL, job->planned };
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
	int rc = queue_list(pass, SIZE_MAX, &jobs, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct plan *plan = jobs[i]->plan;

		if (!plan || plan->start_ns > pass->now_ns)
			continue;
		if (pass_obstructed(pass->cluster, jobs[i])) {
			drop_plan(pass->cluster, state, jobs[i]);
			jobs[i]->promised_ns = 0;
		} else if (jobs[i]->suspended ? !claim_thaws(jobs[i])
					      : !spots_free(pass->cluster, jobs[i])) {
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

struct stretch {
	const struct plans *plans;
	int64_t length_ns;
};

/* A job whose tasks cannot be spread evenly has no promise: it starts when it delays nobody. */
static bool delays_nobody(struct strata_cluster *cluster, struct node *node,
			  const struct strata_need *need, void *context)
{
	const struct stretch *stretch = context;
	struct strata_room least = timeline_least(&stretch->plans->lines[node->row],
						  cluster->now_ns,
						  cluster->now_ns + stretch->length_ns);

	(void)need;
	return memcmp(&least, &node->room, sizeof(least)) ==
	       0; /* nobody else will come here meanwhile */
}

static int start_unplanned(struct pass *pass, struct conservative *state)
{
	struct strata_cluster *cluster = pass->cluster;
	struct job **jobs;
	size_t count;
	int rc = queue_list(pass, SIZE_MAX, &jobs, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct resource_request *resources = jobs[i]->resources;
		struct stretch stretch = { &state->plans, jobs[i]->limit_ns };

		if (jobs[i]->plan || fit_is_whole(jobs[i]) || !resources->possible ||
		    fit_node_count(cluster, resources) != 0 || pass_obstructed(cluster, jobs[i]))
			continue;
		struct spot *spots = strata_arena_array(
			pass->arena, placing_spot_max(cluster, resources), sizeof(*spots));

		if (!spots)
			return strata_fail_memory(pass->err);
		struct placing_rules rules = { jobs[i], delays_nobody, &stretch };
		uint32_t found = placing_find(cluster, resources, 0, &rules, spots);

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
	int rc = range_cut_queue(cluster); /* each has a plan of its own */

	(void)conf;
	if (rc)
		return strata_fail_memory(pass->err);
	if (state->plans.line_count != cluster->node_count || cluster->disturbed ||
	    cluster->order->changes_with_time)
		state->broken = true;
	if (cluster->limited && cluster->changed)
		state->freed = true; /* somebody may be below its limit again */
	cluster->disturbed = false;
	for (uint32_t i = 0; !state->broken && i < state->plans.line_count; i++)
		timeline_trim(&state->plans.lines[i], pass->now_ns);
	/* who is due goes first: a pass always comes a little late, and a plan that has begun
	 * cannot be moved */
	if (!state->broken)
		rc = start_due(pass, state);
	if (rc == 0 && state->broken)
		rc = plan_anew(pass, state);
	else if (rc == 0 && state->freed)
		rc = compress(pass, state);
	while (rc == 0 && (job = queue_take_new(cluster)))
		if (job->job_group && !job->plan)
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
	else if ((rc = queue_list(pass, SIZE_MAX, &jobs, &count)) == 0)
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
	plans_fini(&((struct conservative *)state)->plans, cluster);
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
