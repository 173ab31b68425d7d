/*
 * The queue: job groups in the order of band, the order class's key, and the submission of their
 * first job. Jobs inside a job group are in order of submission, so a job that comes back (its
 * start failed, its node died) takes its old place.
 *
 * Keys that do not change with time are computed when a job group's first job changes. For orders
 * whose keys do, all are computed anew at a pass and only the job groups that are now out of order
 * are moved.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct job_group_key {
	const struct resource_request *resources;
	const struct association *association;
	const struct array *array; /* its limit is theirs alone */
	int64_t priority, limit_ns;
	uint64_t name, band;
	/* the id of a job that is like no other: frozen, or standing for its gang */
	uint64_t alone;
};

static struct job_group_key make_key(const struct strata_cluster *cluster, const struct job *job)
{
	struct job_group_key key;

	memset(&key, 0, sizeof(key));
	key.resources = job->resources;
	key.association = job->association;
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
	const struct job_group *left = container_of(a, struct job_group, in_order),
			       *right = container_of(b, struct job_group, in_order);

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

int64_t strata_cluster_predicted(const struct strata_cluster *cluster, uint64_t id)
{
	const struct job *job = range_get(cluster, id);

	return job && !strata_job_ended(job->state) ? queue_predict(cluster, job) : 0;
}

int64_t queue_hold_ns(const struct strata_cluster *cluster, const struct job *job)
{
	return cluster->prediction->correct ? queue_predict(cluster, job) : job->limit_ns;
}

static double job_group_order_key(struct strata_cluster *cluster, const struct job_group *job_group)
{
	const struct job *job = job_group->first;

	assert(job); /* an empty job group is gone */
	struct strata_order_job view = {
		.submit_ns = job->submit_ns,
		.now_ns = cluster->now_ns,
		.requested_ns = job->limit_ns,
		.predicted_ns = queue_predict(cluster, job),
		.size = job->resources->size,
		.priority = job->priority,
		.band = job->band,
		.boost = cluster->conf.boosts[job->band],
		.partition = job->resources->partition_entity
				     ? job->resources->partition_entity->priority
				     : 0,
		.qos = job->association->qos ? job->association->qos->priority : 0,
		.cluster_size = cluster->size,
	};

	if (cluster->order->wants_share) {
		entity_accrue(cluster, job->association);
		view.share =
			share_priority(cluster->share, job->association->leaf, cluster->now_ns);
		view.share_factor =
			share_factor(cluster->share, job->association->leaf, cluster->now_ns);
	}
	return cluster->order->key(cluster->conf.order.conf, &view);
}

static struct job_group *get_job_group(struct strata_cluster *cluster, const struct job *job)
{
	struct job_group_key key = make_key(cluster, job);
	struct job_group *job_group =
		map_text_get(&cluster->job_groups, (const char *)&key, sizeof(key));
	uint64_t handle;

	if (job_group)
		return job_group;
	job_group = slab_get(&cluster->job_group_slab, &handle);
	if (!job_group)
		return NULL;
	if (map_text_put(&cluster->job_groups, (const char *)&key, sizeof(key), job_group, NULL)) {
		slab_put(&cluster->job_group_slab, handle);
		return NULL;
	}
	job_group->handle = handle;
	job_group->resources = job->resources;
	job_group->association = job->association;
	job_group->band = job->band;
	cluster->metrics.job_groups++;
	return job_group;
}

/* Links the job by its sequence; most come last. */
static void link_job(struct job_group *job_group, struct job *job)
{
	struct job *before = job_group->last;

	while (before && before->sequence > job->sequence)
		before = before->before;
	job->before = before;
	job->after = before ? before->after : job_group->first;
	*(before ? &before->after : &job_group->first) = job;
	*(job->after ? &job->after->before : &job_group->last) = job;
	job_group->count += job->elements;
	job->job_group = job_group;
}

void queue_add_rest(struct strata_cluster *cluster, struct job *job, struct job *rest)
{
	if (job->job_group) {
		rest->before = job;
		rest->after = job->after;
		*(job->after ? &job->after->before : &job->job_group->last) = rest;
		job->after = rest;
	}
	if (job->is_new) {
		rest->next_new = job->next_new;
		job->next_new = rest;
		if (cluster->new_last == job)
			cluster->new_last = rest;
	}
}

int queue_add(struct strata_cluster *cluster, struct job *job)
{
	struct job_group *job_group = get_job_group(cluster, job);

	if (!job_group)
		return -ENOMEM;
	struct job *first = job_group->first;

	if (!job->is_new) {
		*(cluster->new_last ? &cluster->new_last->next_new : &cluster->new_first) = job;
		cluster->new_last = job;
		job->is_new = true;
	}
	if (first && job->sequence < first->sequence)
		tree_remove(&cluster->queue, &job_group->in_order);
	link_job(job_group, job);
	if (job_group->first != first) {
		job_group->key = job_group_order_key(cluster, job_group);
		tree_insert(&cluster->queue, &job_group->in_order);
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
	struct job_group *job_group = job->job_group;
	bool was_first = job_group->first == job;

	if (was_first)
		tree_remove(&cluster->queue, &job_group->in_order);
	*(job->before ? &job->before->after : &job_group->first) = job->after;
	*(job->after ? &job->after->before : &job_group->last) = job->before;
	job->before = job->after = NULL;
	job->job_group = NULL;
	job_group->count -= job->elements;
	if (job_group->count == 0) {
		struct job_group_key key = make_key(cluster, job);

		map_text_remove(&cluster->job_groups, (const char *)&key, sizeof(key));
		slab_put(&cluster->job_group_slab, job_group->handle);
		cluster->metrics.job_groups--;
	} else if (was_first) {
		job_group->key = job_group_order_key(cluster, job_group);
		tree_insert(&cluster->queue, &job_group->in_order);
	}
}

int queue_refresh(struct strata_cluster *cluster, struct strata_arena *arena,
		  struct strata_error *err)
{
	size_t count = tree_count(&cluster->queue), moved = 0;
	struct job_group **out = strata_arena_array(arena, count, sizeof(*out)), *last = NULL,
			 *job_group, *next;

	if (!out)
		return strata_fail_memory(err);
	for (job_group = queue_job_group(tree_first(&cluster->queue)); job_group;
	     job_group = queue_job_group(tree_next(&job_group->in_order)))
		job_group->key = job_group_order_key(cluster, job_group);
	for (job_group = queue_job_group(tree_first(&cluster->queue)); job_group;
	     job_group = next) {
		next = queue_job_group(tree_next(&job_group->in_order));
		if (last && queue_compare(&last->in_order, &job_group->in_order,
					  &cluster->conf.mixed_bands) > 0) {
			tree_remove(&cluster->queue, &job_group->in_order);
			out[moved++] = job_group;
		} else {
			last = job_group;
		}
	}
	for (size_t i = 0; i < moved; i++)
		tree_insert(&cluster->queue, &out[i]->in_order);
	return 0;
}

/* ---- the queue as a list ---- */

/* The next job of a group that is taken from. */
struct cursor {
	struct heap_node by_sequence;
	struct job *job;
};

struct listing {
	struct pass *pass;
	struct heap heap; /* of cursors */
	struct job **jobs;
	size_t count, elements, most;
};

static bool same_place(const struct strata_cluster *cluster, const struct job_group *a,
		       const struct job_group *b)
{
	return a->key == b->key && (cluster->conf.mixed_bands || a->band == b->band);
}

/* Groups that stand at one place of the order are taken from in turns, by their jobs' sequence. The
 * first of them; ret_past: the first behind them. */
static int list_place(struct listing *listing, struct job_group *first, struct job_group **ret_past)
{
	struct strata_cluster *cluster = listing->pass->cluster;
	struct job_group *past = first;
	size_t groups = 0;
	int rc = 0;

	for (; past && same_place(cluster, first, past); groups++)
		past = queue_job_group(tree_next(&past->in_order));
	struct cursor *cursors = strata_arena_array(listing->pass->arena, groups, sizeof(*cursors)),
		      *cursor;

	*ret_past = past;
	if (!cursors || heap_reserve(&listing->heap, groups))
		return strata_fail_memory(listing->pass->err);
	for (size_t i = 0; i < groups; i++) {
		cursors[i].job = first->first;
		rc |= heap_push(&listing->heap, &cursors[i].by_sequence, cursors[i].job->sequence);
		first = queue_job_group(tree_next(&first->in_order));
	}
	assert(rc == 0); /* there is room */
	while (listing->elements < listing->most && listing->heap.count > 0) {
		cursor = container_of(heap_top(&listing->heap), struct cursor, by_sequence);
		listing->jobs[listing->count++] = cursor->job;
		listing->elements += cursor->job->elements;
		cursor->job = cursor->job->after;
		if (cursor->job)
			heap_update(&listing->heap, &cursor->by_sequence, cursor->job->sequence);
		else
			heap_pop(&listing->heap);
	}
	heap_clear(&listing->heap);
	return 0;
}

/* How many jobs a list can have; those of a long queue are not counted. */
static size_t list_room(struct strata_cluster *cluster, size_t most)
{
	size_t jobs = 0;

	for (struct job_group *group = queue_job_group(tree_first(&cluster->queue)); group;
	     group = queue_job_group(tree_next(&group->in_order)))
		for (struct job *job = group->first; job; job = job->after)
			if (++jobs == most)
				return most;
	return jobs;
}

int queue_list(struct pass *pass, size_t most, struct job ***ret_jobs, size_t *ret_count)
{
	struct strata_cluster *cluster = pass->cluster;
	struct listing listing = { .pass = pass, .most = most };
	struct job_group *group = queue_job_group(tree_first(&cluster->queue));
	int rc = 0;

	listing.jobs =
		strata_arena_array(pass->arena, list_room(cluster, most), sizeof(*listing.jobs));
	if (!listing.jobs)
		return strata_fail_memory(pass->err);
	heap_init(&listing.heap, cluster->memory, NULL, NULL);
	while (rc == 0 && group && listing.elements < most)
		rc = list_place(&listing, group, &group);
	heap_fini(&listing.heap);
	*ret_jobs = listing.jobs;
	*ret_count = listing.count;
	return rc;
}
