/*
 * The queue: lots in the order of band, the order class's key, and the submission of their first job. Jobs inside a lot are in order
 * of submission, so a job that comes back (its start failed, its node died) takes its old place.
 *
 * Keys that do not change with time are computed when a lot's first job changes. For orders whose keys do, all are computed anew at
 * a pass and only the lots that are now out of order are moved.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lot_key {
	const struct ask *ask;
	const struct owner *owner;
	const struct array *array; /* its limit is theirs alone */
	int64_t priority, limit_ns;
	uint64_t name, band;
	uint64_t
		alone; /* the id of a job that is like no other: frozen, or standing for its gang */
};

static struct lot_key make_key(const struct strata_cluster *cluster, const struct job *job)
{
	struct lot_key key;

	memset(&key, 0, sizeof(key));
	key.ask = job->ask;
	key.owner = job->owner;
	key.array = job->array;
	key.alone = job->suspended || job->gang ? job->id : 0;
	key.priority = job->priority;
	key.limit_ns = job->limit_ns;
	key.band = job->band;
	key.name = cluster->prediction->exact ? 0
					      : job->name; /* names matter to predictions alone */
	return key;
}

int queue_compare(const struct tree_node *a, const struct tree_node *b, void *context)
{
	const struct lot *left = container_of(a, struct lot, in_order),
			 *right = container_of(b, struct lot, in_order);

	if (!*(const bool *)context && left->band != right->band)
		return left->band > right->band ? -1 : 1;
	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->first->sequence < right->first->sequence
		       ? -1
		       : left->first->sequence > right->first->sequence;
}

int64_t queue_predict(const struct strata_cluster *cluster, const struct job *job)
{
	struct strata_run run = job_run(job);
	int64_t predicted;

	if (cluster->prediction->exact)
		return job->limit_ns;
	predicted = cluster->prediction->predict(cluster->conf.prediction.conf,
						 cluster->prediction_state, &run);
	return predicted < 1 ? 1 : predicted > job->limit_ns ? job->limit_ns : predicted;
}

int64_t queue_hold_ns(const struct strata_cluster *cluster, const struct job *job)
{
	return cluster->prediction->correct ? queue_predict(cluster, job) : job->limit_ns;
}

static double lot_order_key(struct strata_cluster *cluster, const struct lot *lot)
{
	const struct job *job = lot->first;

	assert(job); /* an empty lot is gone */
	struct strata_order_job view = {
		.submit_ns = job->submit_ns,
		.now_ns = cluster->now_ns,
		.requested_ns = job->limit_ns,
		.predicted_ns = queue_predict(cluster, job),
		.size = job->ask->size,
		.priority = job->priority,
		.band = job->band,
		.boost = cluster->conf.boosts[job->band],
		.partition = job->ask->partition_party ? job->ask->partition_party->priority : 0,
		.qos = job->owner->qos ? job->owner->qos->priority : 0,
		.cluster_size = cluster->size,
	};

	if (cluster->order->wants_share) {
		party_accrue(cluster, job->owner);
		view.share = share_priority(cluster->share, job->owner->leaf, cluster->now_ns);
		view.share_factor = share_factor(cluster->share, job->owner->leaf, cluster->now_ns);
	}
	return cluster->order->key(cluster->conf.order.conf, &view);
}

static struct lot *get_lot(struct strata_cluster *cluster, const struct job *job)
{
	struct lot_key key = make_key(cluster, job);
	struct lot *lot = map_text_get(&cluster->lots, (const char *)&key, sizeof(key));
	uint64_t handle;

	if (lot)
		return lot;
	lot = slab_get(&cluster->lot_slab, &handle);
	if (!lot)
		return NULL;
	if (map_text_put(&cluster->lots, (const char *)&key, sizeof(key), lot, NULL)) {
		slab_put(&cluster->lot_slab, handle);
		return NULL;
	}
	lot->handle = handle;
	lot->ask = job->ask;
	lot->owner = job->owner;
	lot->band = job->band;
	cluster->stats.lots++;
	return lot;
}

/* Links the job by its sequence; most come last. */
static void link_job(struct lot *lot, struct job *job)
{
	struct job *before = lot->last;

	while (before && before->sequence > job->sequence)
		before = before->before;
	job->before = before;
	job->after = before ? before->after : lot->first;
	*(before ? &before->after : &lot->first) = job;
	*(job->after ? &job->after->before : &lot->last) = job;
	lot->count++;
	job->lot = lot;
}

int queue_add(struct strata_cluster *cluster, struct job *job)
{
	struct lot *lot = get_lot(cluster, job);

	if (!lot)
		return -ENOMEM;
	struct job *first = lot->first;

	if (!job->is_new) {
		*(cluster->new_last ? &cluster->new_last->next_new : &cluster->new_first) = job;
		cluster->new_last = job;
		job->is_new = true;
	}
	if (first && job->sequence < first->sequence)
		tree_remove(&cluster->queue, &lot->in_order);
	link_job(lot, job);
	if (lot->first != first) {
		lot->key = lot_order_key(cluster, lot);
		tree_insert(&cluster->queue, &lot->in_order, 0);
	}
	return 0;
}

struct job *queue_take_new(struct strata_cluster *cluster)
{
	struct job *job = cluster->new_first;

	if (!job)
		return NULL;
	cluster->new_first = job->next_new;
	if (!cluster->new_first)
		cluster->new_last = NULL;
	job->next_new = NULL;
	job->is_new = false;
	return job;
}

void queue_forget_new(struct strata_cluster *cluster)
{
	while (queue_take_new(cluster))
		continue;
}

void queue_remove(struct strata_cluster *cluster, struct job *job)
{
	struct lot *lot = job->lot;
	bool was_first = lot->first == job;

	if (was_first)
		tree_remove(&cluster->queue, &lot->in_order);
	*(job->before ? &job->before->after : &lot->first) = job->after;
	*(job->after ? &job->after->before : &lot->last) = job->before;
	job->before = job->after = NULL;
	job->lot = NULL;
	if (--lot->count == 0) {
		struct lot_key key = make_key(cluster, job);

		map_text_remove(&cluster->lots, (const char *)&key, sizeof(key));
		slab_put(&cluster->lot_slab, lot->handle);
		cluster->stats.lots--;
	} else if (was_first) {
		lot->key = lot_order_key(cluster, lot);
		tree_insert(&cluster->queue, &lot->in_order, 0);
	}
}

int queue_refresh(struct strata_cluster *cluster, struct strata_arena *arena,
		  struct strata_error *err)
{
	size_t count = tree_count(&cluster->queue), moved = 0;
	struct lot **out = strata_arena_array(arena, count, sizeof(*out)), *last = NULL, *lot,
		   *next;

	if (!out)
		return strata_fail_memory(err);
	for (lot = queue_lot(tree_first(&cluster->queue)); lot;
	     lot = queue_lot(tree_next(&lot->in_order)))
		lot->key = lot_order_key(cluster, lot);
	for (lot = queue_lot(tree_first(&cluster->queue)); lot; lot = next) {
		next = queue_lot(tree_next(&lot->in_order));
		if (last && queue_compare(&last->in_order, &lot->in_order,
					  &cluster->conf.mixed_bands) > 0) {
			tree_remove(&cluster->queue, &lot->in_order);
			out[moved++] = lot;
		} else {
			last = lot;
		}
	}
	for (size_t i = 0; i < moved; i++)
		tree_insert(&cluster->queue, &out[i]->in_order, 0);
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

int queue_list(struct pass *pass, struct job ***ret_jobs, size_t *ret_count)
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
