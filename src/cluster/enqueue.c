/*
 * What stands between a waiting job and the queue: it is held, depends on others, has a begin time,
 * or its gang is not complete. When one of these may have changed, the job is put on a list that
 * needs no memory, and the next pass looks at it.
 */
#include "cluster/cluster_int.h"

#include <errno.h>

/* In the queue it has no reason of its own yet. */
static int join_queue(struct strata_cluster *cluster, struct job *job)
{
	bool possible = job_gang(job) ? job->gang->possible : job->resources->possible;
	int rc = queue_add(cluster, job);

	if (rc)
		return rc;
	if (job->suspended)
		job->reason = STRATA_REASON_SUSPENDED;
	else if (!possible)
		job->reason = STRATA_REASON_IMPOSSIBLE;
	else if (job->state == STRATA_JOB_QUEUED && job->reason != STRATA_REASON_NODE_FAILURE &&
		 job->reason != STRATA_REASON_REQUEUED)
		job->reason = STRATA_REASON_PRIORITY;
	job->others = job->reason;
	return 0;
}

int enqueue_job(struct strata_cluster *cluster, struct job *job)
{
	enum strata_reason reason = depend_reason(job);
	int rc;

	if (job->held)
		reason = job->suspended ? STRATA_REASON_SUSPENDED : STRATA_REASON_HELD;
	if (reason == STRATA_REASON_NONE && job->begin_ns > cluster->now_ns) {
		rc = heap_push(&cluster->begins, &job->by_begin, heap_key_time(job->begin_ns));
		if (rc)
			return rc;
		reason = STRATA_REASON_BEGIN_TIME;
	}
	if ((reason == STRATA_REASON_BEGIN_TIME || reason == STRATA_REASON_DEPENDENCY) &&
	    !job->stood_apart) {
		job->stood_apart = true;
		cluster->apart_count++;
	}
	if (reason != STRATA_REASON_NONE) {
		job->reason = reason;
		return 0;
	}
	if (!job_gang(job))
		return join_queue(cluster, job);
	job->gang_ready = true;
	job->reason = STRATA_REASON_GANG;
	struct job *first = gang_stand(job);

	if (!first)
		return 0;
	rc = join_queue(cluster, first);
	if (rc) /* it will be tried again with this one */
		gang_unready(cluster, job);
	return rc;
}

void enqueue_undo(struct strata_cluster *cluster, struct job *job)
{
	if (job->gang)
		gang_unready(cluster, job);
	cluster_gone(cluster, job);
	if (job->job_group)
		queue_remove(cluster, job);
	if (heap_node_in(&job->by_begin))
		heap_remove(&cluster->begins, &job->by_begin);
}

void enqueue_back(struct strata_cluster *cluster, struct job *job)
{
	if (enqueue_job(cluster, job))
		enqueue_later(cluster, job);
}

void enqueue_later(struct strata_cluster *cluster, struct job *job)
{
	if (job->is_ready)
		return;
	job->is_ready = true;
	job->next_ready = NULL;
	*(cluster->ready_last ? &cluster->ready_last->next_ready : &cluster->ready) = job;
	cluster->ready_last = job;
}

void enqueue_rest(struct strata_cluster *cluster, struct job *job, struct job *rest)
{
	if (!job->is_ready)
		return;
	rest->is_ready = true;
	rest->next_ready = job->next_ready;
	job->next_ready = rest;
	if (cluster->ready_last == job)
		cluster->ready_last = rest;
}

static bool waits_apart(const struct job *job)
{
	return job_waits(job) && !job->job_group && !job->gang_ready &&
	       !heap_node_in(&job->by_begin);
}

/* What it waits for cannot happen any more, and it asked to be cancelled then. */
static int give_up(struct pass *pass, struct job *job)
{
	struct strata_effect *effect = pass_effect(pass);

	if (!effect)
		return -ENOMEM;
	job->end_ns = pass->now_ns;
	job_set_state(pass->cluster, job, STRATA_JOB_CANCELLED, STRATA_REASON_DEPENDENCY_NEVER);
	*effect = (struct strata_effect){ .kind = STRATA_EFFECT_ENDED,
					  .job = job->id,
					  .state = job->state,
					  .reason = job->reason,
					  .attempt = job->attempt };
	return 0;
}

static int look_again(struct pass *pass, struct job *job)
{
	if (!waits_apart(job))
		return 0;
	if (job->cancel_if_never && depend_reason(job) == STRATA_REASON_DEPENDENCY_NEVER) {
		if (job->elements > 1 && range_cut(pass->cluster, job, 1))
			return strata_fail_memory(pass->err); /* the others follow in the list */
		return give_up(pass, job);
	}
	return enqueue_job(pass->cluster, job) ? strata_fail_memory(pass->err) : 0;
}

int enqueue_pass(struct pass *pass)
{
	struct strata_cluster *cluster = pass->cluster;
	struct heap_node *top;
	struct job *job;

	while ((top = heap_top(&cluster->begins))) {
		job = container_of(top, struct job, by_begin);
		if (job->begin_ns > cluster->now_ns)
			break;
		heap_pop(&cluster->begins);
		enqueue_later(cluster, job);
	}
	while ((job = cluster->ready)) {
		int rc = look_again(pass, job);

		if (rc)
			return rc;
		cluster->ready = job->next_ready;
		if (!cluster->ready)
			cluster->ready_last = NULL;
		job->is_ready = false;
	}
	return 0;
}
