/*
 * One pass: bring the clock and the order up to date, let the backfill class start what may start, and say why the rest waits.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static int make_room(struct pass *pass, uint32_t spot_count)
{
	if (pass->spot_room < spot_count) {
		struct spot *spots = strata_arena_array(pass->arena, spot_count, sizeof(*spots));

		if (!spots)
			return strata_fail_memory(pass->err);
		pass->spots = spots;
		pass->spot_room = spot_count;
	}
	if (pass->effect_count == pass->effect_room) {
		size_t room = pass->effect_room ? pass->effect_room * 2 : 8;
		struct strata_effect *effects =
			strata_arena_array(pass->arena, room, sizeof(*effects));

		if (!effects)
			return strata_fail_memory(pass->err);
		if (pass->effect_count)
			memcpy(effects, pass->effects, pass->effect_count * sizeof(*effects));
		pass->effects = effects;
		pass->effect_room = room;
	}
	return 0;
}

/* Takes the room of every spot; nothing can fail any more once the claims are there. */
int pass_start(struct pass *pass, struct job *job, const struct spot *spots, uint32_t spot_count)
{
	struct strata_cluster *cluster = pass->cluster;
	int rc = make_room(pass, 0);

	if (rc)
		return rc;
	struct claim *claims = strata_memory_get(cluster->memory, spot_count * sizeof(*claims));
	struct strata_piece *pieces = strata_arena_array(pass->arena, spot_count, sizeof(*pieces));

	if (!claims || !pieces) {
		strata_memory_put(cluster->memory, claims, spot_count * sizeof(*claims));
		return strata_fail_memory(pass->err);
	}
	int64_t length_ns = cluster->prediction->correct ? queue_predict(cluster, job)
							 : job->limit_ns;

	queue_remove(cluster, job);
	for (uint32_t i = 0; i < spot_count; i++) {
		struct node *node = spots[i].node;

		claims[i] = (struct claim){ .job = job, .node = node, .piece = spots[i].piece };
		pieces[i] = claims[i].piece;
		node_detach(cluster, node);
		room_take(&node->room, &claims[i].piece);
		node_attach(cluster, node);
		cluster_count_room(cluster, &claims[i].piece, -1);
	}
	job->claims = claims;
	job->claim_count = spot_count;
	job->attempt++;
	job->corrections = 0;
	job->start_ns = pass->now_ns;
	job->expected_end_ns = pass->now_ns + length_ns;
	job_set_state(cluster, job, STRATA_JOB_SCHEDULED, STRATA_REASON_NONE);
	tree_insert(&cluster->running, &job->by_end, 0);
	user_accrue(cluster, job->user, pass->now_ns);
	job->user->rate += job_size(job->ask);
	pass->effects[pass->effect_count++] = (struct strata_effect){
		.kind = STRATA_EFFECT_START,
		.job = job->id,
		.state = job->state,
		.attempt = job->attempt,
		.pieces = pieces,
		.piece_count = spot_count,
	};
	return 0;
}

/* When a waiting job will have ended, started now: by prediction, or, once the reserved job has been patient enough, at its limit. */
static int64_t ends_ns(const struct pass *pass, const struct job *job,
		       const struct reservation *reservation)
{
	return pass->now_ns + (pass->now_ns < reservation->firm_ns
				       ? queue_predict(pass->cluster, job)
				       : job->limit_ns);
}

enum pass_result pass_try(struct pass *pass, struct lot *lot, struct reservation *reservation)
{
	struct strata_cluster *cluster = pass->cluster;
	struct ask *ask = lot->ask;
	struct job *job = lot->first;

	/* what was turned down is turned down for everybody who asks the same, until something changes */
	if (ask->failed == cluster->version || !ask->possible)
		return PASS_NO_ROOM;
	bool stays = reservation && ends_ns(pass, job, reservation) > reservation->start_ns;

	if (stays && ask->refused == cluster->version && ask->refused_look == cluster->look)
		return PASS_NO_ROOM;
	if (make_room(pass, placing_spot_max(cluster, ask)))
		return PASS_FAILED;
	uint32_t count = placing_find(cluster, ask, ask->failed, stays ? reserve_allows : NULL,
				      reservation, pass->spots);

	if (count == 0 && !stays)
		ask->failed = cluster->version;
	if (count == 0 ||
	    (stays && !reserve_allows_all(cluster, reservation, pass->spots, count))) {
		ask->refused = cluster->version;
		ask->refused_look = cluster->look;
		return PASS_NO_ROOM;
	}
	if (pass_start(pass, job, pass->spots, count))
		return PASS_FAILED;
	pass->started = job;
	if (reservation)
		reserve_note(cluster, reservation, job, stays);
	return PASS_STARTED;
}

int pass_start_head(struct pass *pass, struct lot **ret_blocked)
{
	struct lot *lot = queue_lot(tree_first(&pass->cluster->queue));

	*ret_blocked = NULL;
	while (lot) {
		enum pass_result result = pass_try(pass, lot, NULL);

		if (result == PASS_FAILED)
			return -ENOMEM;
		if (result == PASS_STARTED) {
			lot = queue_lot(tree_first(&pass->cluster->queue));
			continue;
		}
		if (lot->ask->possible)
			break;
		lot->first->reason =
			STRATA_REASON_IMPOSSIBLE; /* must not stand in the way of all others */
		lot = queue_lot(tree_next(&lot->in_order));
	}
	*ret_blocked = lot;
	return 0;
}

struct lot *pass_next(struct lot *lot, struct lot *next, bool still_there)
{
	if (still_there && next && queue_compare(&lot->in_order, &next->in_order, NULL) < 0)
		return lot;
	return next ? next : still_there ? lot : NULL;
}

/* Jobs whose begin time has come join the queue. */
static int admit(struct strata_cluster *cluster, struct strata_error *err)
{
	struct heap_node *top;

	while ((top = heap_top(&cluster->begins))) {
		struct job *job = container_of(top, struct job, by_begin);

		if (job->begin_ns > cluster->now_ns)
			break;
		if (queue_add(cluster, job))
			return strata_fail_memory(err);
		heap_pop(&cluster->begins);
		job->reason = job->ask->possible ? STRATA_REASON_PRIORITY
						 : STRATA_REASON_IMPOSSIBLE;
	}
	return 0;
}

/* Placed jobs that are past their expected end get a new one. */
static void correct(struct strata_cluster *cluster)
{
	struct tree_node *first;

	while ((first = tree_first(&cluster->running))) {
		struct job *job = container_of(first, struct job, by_end);
		int64_t elapsed = cluster->now_ns - job->start_ns, total = job->limit_ns;
		struct strata_run run = { job->user->number, job->name, job_size(job->ask),
					  job->submit_ns, job->limit_ns };

		if (job->expected_end_ns > cluster->now_ns)
			break;
		if (elapsed < job->limit_ns && cluster->prediction->correct)
			total = cluster->prediction->correct(cluster->conf.prediction.conf,
							     cluster->prediction_state, &run,
							     elapsed, job->corrections++);
		if (total > job->limit_ns)
			total = job->limit_ns;
		if (total <= elapsed) {
			/* past its limit and still there: it will be gone in a moment */
			total = elapsed + CLUSTER_OVERRUN_NS;
			cluster->disturbed = true;
		}
		tree_remove(&cluster->running, &job->by_end);
		job->expected_end_ns = job->start_ns + total;
		tree_insert(&cluster->running, &job->by_end, 0);
		cluster->changed = true;
	}
}

static int tell_lost(struct pass *pass)
{
	struct strata_cluster *cluster = pass->cluster;

	while (cluster->lost) {
		struct job *job = cluster->lost;

		if (make_room(pass, 0))
			return -ENOMEM;
		pass->effects[pass->effect_count++] =
			(struct strata_effect){ .kind = STRATA_EFFECT_LOST,
						.job = job->id,
						.state = job->state,
						.attempt = job->attempt };
		cluster->lost = job->next_lost;
		job->next_lost = NULL;
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
	cluster->stats.passes++;
	rc = admit(cluster, err);
	if (rc == 0)
		rc = tell_lost(&pass);
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
	}
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
	struct heap_node *begin = heap_top(&cluster->begins);
	struct tree_node *end = cluster->prediction->correct ? tree_first(&cluster->running) : NULL;

	if (begin && container_of(begin, struct job, by_begin)->begin_ns < next)
		next = container_of(begin, struct job, by_begin)->begin_ns;
	if (end && container_of(end, struct job, by_end)->expected_end_ns < next)
		next = container_of(end, struct job, by_end)->expected_end_ns;
	return next;
}
