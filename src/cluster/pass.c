/*
 * One pass: bring the clock and the order up to date, let the backfill class start what may start,
 * and say why the rest waits.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int pass_reserve(struct pass *pass, size_t effect_count)
{
	size_t wanted = pass->effect_count + effect_count;

	/* a job that starts may be one that is asked for checkpoints */
	if (heap_reserve(&pass->cluster->checkpoints,
			 pass->cluster->checkpoints.count + effect_count))
		return strata_fail_memory(pass->err);
	if (wanted <= pass->effect_room)
		return 0;
	size_t room = wanted > 2 * pass->effect_room ? wanted + 8 : 2 * pass->effect_room;
	struct strata_effect *effects = strata_arena_array(pass->arena, room, sizeof(*effects));

	if (!effects)
		return strata_fail_memory(pass->err);
	if (pass->effect_count)
		memcpy(effects, pass->effects, pass->effect_count * sizeof(*effects));
	pass->effects = effects;
	pass->effect_room = room;
	return 0;
}

struct strata_effect *pass_effect(struct pass *pass)
{
	if (pass_reserve(pass, 1))
		return NULL;
	return &pass->effects[pass->effect_count++];
}

static int make_room(struct pass *pass, uint32_t spot_count)
{
	if (pass->spot_room < spot_count) {
		struct spot *spots = strata_arena_array(pass->arena, spot_count, sizeof(*spots));

		if (!spots)
			return strata_fail_memory(pass->err);
		pass->spots = spots;
		pass->spot_room = spot_count;
	}
	return pass_reserve(pass, 1);
}

/* Fills the effect of a start or a resumption, for which there is room. */
static void tell(struct pass *pass, enum strata_effect_kind kind, const struct job *job,
		 struct strata_piece *pieces)
{
	for (uint32_t i = 0; i < job->claim_count; i++)
		pieces[i] = job->claims[i].piece;
	pass->effects[pass->effect_count++] = (struct strata_effect){
		.kind = kind,
		.job = job->id,
		.state = job->state,
		.attempt = job->attempt,
		.pieces = pieces,
		.piece_count = job->claim_count,
	};
}

void pass_commit(struct pass *pass, struct job *job, struct strata_piece *pieces)
{
	struct strata_cluster *cluster = pass->cluster;

	job->attempt++;
	job->corrections = 0;
	job->start_ns = pass->now_ns;
	job->expected_end_ns = pass->now_ns + queue_hold_ns(cluster, job);
	job_set_state(cluster, job, STRATA_JOB_SCHEDULED, STRATA_REASON_NONE);
	tree_insert(&cluster->running, &job->by_end);
	checkpoint_watch(cluster, job);
	tell(pass, STRATA_EFFECT_START, job, pieces);
}

/* Nothing can fail any more once the claims are there. */
int pass_start(struct pass *pass, struct job *job, const struct spot *spots, uint32_t spot_count)
{
	struct strata_cluster *cluster = pass->cluster;
	struct strata_piece *pieces = strata_arena_array(pass->arena, spot_count, sizeof(*pieces));

	if (!pieces || pass_reserve(pass, 1) || (job->elements > 1 && range_cut(cluster, job, 1)) ||
	    claim_take(cluster, job, spots, spot_count))
		return strata_fail_memory(pass->err);
	queue_remove(cluster, job);
	pass_commit(pass, job, pieces);
	return 0;
}

int pass_resume(struct pass *pass, struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;
	struct strata_piece *pieces =
		strata_arena_array(pass->arena, job->claim_count, sizeof(*pieces));

	if (!pieces || pass_reserve(pass, 1))
		return strata_fail_memory(pass->err);
	queue_remove(cluster, job);
	claim_thaw(cluster, job);
	job_set_state(cluster, job, STRATA_JOB_SCHEDULED, STRATA_REASON_NONE);
	checkpoint_watch(cluster, job);
	tell(pass, STRATA_EFFECT_RESUME, job, pieces);
	return 0;
}

/* A frozen job goes on where it is, or not at all. */
static enum pass_result try_frozen(struct pass *pass, struct job *job, struct shadow *shadow)
{
	struct strata_cluster *cluster = pass->cluster;
	int64_t left_ns = job->expected_end_ns - job->frozen_ns;
	bool stays = shadow && pass->now_ns + left_ns > shadow->start_ns;

	if (!claim_thaws(job))
		return PASS_NO_ROOM;
	for (uint32_t i = 0; i < job->claim_count; i++)
		if (advance_keeps(job->claims[i].node, job, pass->now_ns, pass->now_ns + left_ns))
			return PASS_NO_ROOM;
	if (make_room(pass, job->claim_count))
		return PASS_FAILED;
	for (uint32_t i = 0; i < job->claim_count; i++)
		pass->spots[i] =
			(struct spot){ job->claims[i].node, claim_active(job->claims[i].piece) };
	if (stays && !shadow_allows_all(cluster, shadow, pass->spots, job->claim_count))
		return PASS_NO_ROOM;
	if (pass_resume(pass, job))
		return PASS_FAILED;
	if (shadow)
		shadow_note(cluster, shadow, pass->spots, job->claim_count, stays);
	return PASS_STARTED;
}

static bool is_limit(enum strata_reason reason)
{
	return reason >= STRATA_REASON_USER_LIMIT && reason <= STRATA_REASON_ARRAY_LIMIT;
}

bool pass_obstructed(struct strata_cluster *cluster, struct job *job)
{
	enum strata_reason reason;

	uint32_t needed = job_gang(job) ? job->gang->size : 1;

	if (cluster->jobs_max && !job->suspended && cluster->placed + needed > cluster->jobs_max)
		reason = STRATA_REASON_SERVICE_LIMIT;
	else if (job->array && job->array->limit && job->array->placed >= job->array->limit)
		reason = STRATA_REASON_ARRAY_LIMIT;
	else if (job_gang(job))
		reason = gang_limit(cluster, job->gang);
	else
		reason = entity_limit(cluster, job->association, job->resources);
	if (reason != STRATA_REASON_NONE)
		job->reason = reason;
	else if (is_limit(job->reason))
		job->reason = job->suspended ? STRATA_REASON_SUSPENDED : STRATA_REASON_PRIORITY;
	return reason != STRATA_REASON_NONE;
}

/* When a waiting job will have ended, started now: by prediction, or, once the reserved job has
 * been patient enough, at its limit. */
static int64_t ends_ns(const struct pass *pass, const struct job *job, const struct shadow *shadow)
{
	return pass->now_ns +
	       (pass->now_ns < shadow->firm_ns ? queue_predict(pass->cluster, job) : job->limit_ns);
}

static enum pass_result try_plain(struct pass *pass, struct job_group *job_group,
				  struct shadow *shadow)
{
	struct strata_cluster *cluster = pass->cluster;
	struct resource_request *resources = job_group->resources;
	struct job *job = job_group->first;

	/* what was turned down is turned down for everybody who asks the same, until something
	 * changes */
	if (resources->failed == cluster->version)
		return PASS_NO_ROOM;
	bool stays = shadow && ends_ns(pass, job, shadow) > shadow->start_ns;

	if (stays && resources->refused == cluster->version &&
	    resources->refused_look == cluster->look)
		return PASS_NO_ROOM;
	if (make_room(pass, placing_spot_max(cluster, resources)))
		return PASS_FAILED;
	struct placing_rules rules = { job, stays ? shadow_allows : NULL, shadow };
	uint32_t count = placing_find(cluster, resources, resources->failed, &rules, pass->spots);
	/* what is reserved is kept from one and not from another */
	bool for_all = !cluster->advances;

	if (count == 0 && !stays && for_all)
		resources->failed = cluster->version;
	if (count == 0 || (stays && !shadow_allows_all(cluster, shadow, pass->spots, count))) {
		resources->refused = for_all ? cluster->version : 0;
		resources->refused_look = cluster->look;
		return PASS_NO_ROOM;
	}
	if (pass_start(pass, job, pass->spots, count))
		return PASS_FAILED;
	if (shadow)
		shadow_note(cluster, shadow, pass->spots, count, stays);
	return PASS_STARTED;
}

bool pass_reserved(struct pass *pass, const struct job *job)
{
	struct strata_cluster *cluster = pass->cluster;

	if (!cluster->advances || fit_is_whole(job) ||
	    make_room(pass, placing_spot_max(cluster, job->resources)))
		return false;
	return placing_find(cluster, job->resources, 0, NULL, pass->spots) > 0;
}

enum pass_result pass_try(struct pass *pass, struct job_group *job_group, struct shadow *shadow)
{
	struct strata_cluster *cluster = pass->cluster;
	struct job *job = job_group->first;

	if (job_gang(job) ? !job->gang->possible
			  : !job->suspended && !job_group->resources->possible)
		return PASS_SKIP;
	if (pass_obstructed(cluster, job))
		return PASS_SKIP;
	if (job_gang(job))
		return gang_try(pass, job->gang, shadow ? shadow->start_ns : INT64_MAX);
	if (job->suspended)
		return try_frozen(pass, job, shadow);
	return try_plain(pass, job_group, shadow);
}

int pass_start_head(struct pass *pass, struct job_group **ret_blocked)
{
	struct job_group *job_group = queue_job_group(tree_first(&pass->cluster->queue));

	*ret_blocked = NULL;
	while (job_group) {
		enum pass_result result = pass_try(pass, job_group, NULL);

		if (result == PASS_FAILED)
			return -ENOMEM;
		if (result == PASS_STARTED) {
			job_group = queue_job_group(tree_first(&pass->cluster->queue));
			continue;
		}
		if (result == PASS_NO_ROOM)
			break;
		job_group = queue_job_group(tree_next(
			&job_group->in_order)); /* must not stand in the way of all others */
	}
	*ret_blocked = job_group;
	return 0;
}

struct job_group *pass_next(struct pass *pass, struct job_group *job_group, struct job_group *next,
			    bool still_there)
{
	if (still_there && next &&
	    queue_compare(&job_group->in_order, &next->in_order, &pass->cluster->conf.mixed_bands) <
		    0)
		return job_group;
	return next ? next : still_there ? job_group : NULL;
}

/* Placed jobs that are past their expected end get a new one. */
static void correct(struct strata_cluster *cluster)
{
	struct tree_node *first;

	while ((first = tree_first(&cluster->running))) {
		struct job *job = container_of(first, struct job, by_end);
		int64_t elapsed = cluster->now_ns - job->start_ns, total = job->limit_ns;
		struct strata_run run = job_run(job);

		if (job->expected_end_ns > cluster->now_ns)
			break;
		if (elapsed < job->limit_ns && cluster->prediction->correct && !job->stopping)
			total = cluster->prediction->correct(cluster->conf.prediction.conf,
							     cluster->prediction_state, &run,
							     elapsed, job->corrections++);
		if (total > job->limit_ns)
			total = job->limit_ns;
		if (total <= elapsed || job->stopping) {
			/* past its limit or its grace and still there: it will be gone in a
			 * moment */
			total = elapsed + CLUSTER_OVERRUN_NS;
			cluster->disturbed = true;
		}
		tree_remove(&cluster->running, &job->by_end);
		job->expected_end_ns = job->start_ns + total;
		tree_insert(&cluster->running, &job->by_end);
		cluster->changed = true;
	}
}

static int tell_lost(struct pass *pass)
{
	struct strata_cluster *cluster = pass->cluster;

	while (cluster->lost) {
		struct job *job = cluster->lost;

		struct strata_effect *effect = pass_effect(pass);

		if (!effect)
			return -ENOMEM;
		*effect = (struct strata_effect){ .kind = job->state == STRATA_JOB_CANCELLED
								  ? STRATA_EFFECT_ENDED
								  : STRATA_EFFECT_LOST,
						  .job = job->id,
						  .state = job->state,
						  .reason = job->reason,
						  .attempt = job->attempt };
		cluster->lost = job->next_lost;
		job->next_lost = NULL;
		job->is_lost = false;
	}
	return 0;
}

int strata_cluster_pass(struct strata_cluster *cluster, int64_t now_ns, struct strata_arena *arena,
			const struct strata_effect **ret_effects, size_t *ret_count,
			struct strata_error *err)
{
	struct pass pass = { .cluster = cluster, .arena = arena, .err = err };
	int rc;

	cluster_clock(cluster, now_ns);
	pass.now_ns = cluster->now_ns;
	cluster->metrics.passes++;
	advances_pass(cluster);
	if (cluster->limit_wake_ns <= pass.now_ns)
		cluster->changed = true; /* somebody's usage has faded below its limit */
	if (cluster->changed)
		cluster->limit_wake_ns = INT64_MAX;
	rc = tell_lost(&pass);
	if (rc == 0)
		rc = enqueue_pass(&pass);
	if (rc == 0)
		rc = stop_pass(&pass);
	if (rc == 0)
		rc = checkpoint_pass(&pass);
	if (rc == 0 && cluster->order->changes_with_time)
		rc = queue_refresh(cluster, arena, err);
	if (rc == 0) {
		correct(cluster);
		rc = cluster->backfill->pass(&pass, cluster->conf.backfill.conf,
					     cluster->backfill_state);
	}
	if (rc == 0) {
		cluster->changed = false;
		queue_forget_new(cluster);
		rc = preempt_pass(&pass);
	}
	cluster_tell(cluster, .kind = STRATA_EVENT_PASS, .now_ns = now_ns, .effects = pass.effects,
		     .effect_count = pass.effect_count);
	if (rc && pass.effect_count == 0)
		return rc;
	*ret_effects =
		pass.effects; /* what was decided stands, also when memory ran out behind it */
	*ret_count = pass.effect_count;
	return 0;
}

int64_t strata_cluster_next_ns(const struct strata_cluster *cluster)
{
	int64_t next = cluster->wake_ns;
	int64_t checkpoint_ns = checkpoint_next_ns(cluster);
	struct heap_node *begin = heap_top(&cluster->begins);
	struct tree_node *end = cluster->prediction->correct ? tree_first(&cluster->running) : NULL;

	if (begin && container_of(begin, struct job, by_begin)->begin_ns < next)
		next = container_of(begin, struct job, by_begin)->begin_ns;
	if (end && container_of(end, struct job, by_end)->expected_end_ns < next)
		next = container_of(end, struct job, by_end)->expected_end_ns;
	if (checkpoint_ns < next)
		next = checkpoint_ns;
	if (cluster->advance_wake_ns < next)
		next = cluster->advance_wake_ns;
	if (cluster->protect_wake_ns < next)
		next = cluster->protect_wake_ns;
	return cluster->limit_wake_ns < next ? cluster->limit_wake_ns : next;
}
