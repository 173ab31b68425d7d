/* What a store or an executor still knew of a job when the service came back: where it runs, how
 * often it had been started. */
#include "cluster/cluster_int.h"

#include <errno.h>

int strata_cluster_adopt(struct strata_cluster *cluster, uint64_t id, uint32_t attempt,
			 int64_t start_ns, const struct strata_piece *pieces, uint32_t piece_count,
			 struct strata_error *err)
{
	struct job *job;
	int found = range_take(cluster, id, &job, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_ADOPT, .now_ns = start_ns, .job = id,
		     .attempt = attempt, .pieces = pieces, .piece_count = piece_count);
	if (found)
		return found;
	if (!job_waits(job) || job->suspended || attempt == 0 || piece_count == 0)
		return life_wrong_state(job, "waiting, with an attempt and a place", err);
	for (uint32_t i = 0; i < piece_count; i++)
		if (pieces[i].node >= cluster->node_count ||
		    !room_has(&cluster->nodes[pieces[i].node].room, &pieces[i]))
			return strata_fail(err, -EBUSY,
					   "the place of job %llu on node %u is not free",
					   (unsigned long long)id, pieces[i].node);
	struct spot *spots = strata_memory_get(cluster->memory, piece_count * sizeof(*spots));

	if (!spots)
		return strata_fail_memory(err);
	for (uint32_t i = 0; i < piece_count; i++)
		spots[i] = (struct spot){ &cluster->nodes[pieces[i].node], pieces[i] };
	int rc = heap_reserve(&cluster->checkpoints, cluster->checkpoints.count + 1);

	if (rc == 0)
		rc = claim_take(cluster, job, spots, piece_count);
	if (rc == 0)
		claim_charge_since(cluster, job, start_ns);
	strata_memory_put(cluster->memory, spots, piece_count * sizeof(*spots));
	if (rc)
		return strata_fail_memory(err);
	enqueue_undo(cluster, job);
	job->attempt = attempt;
	job->start_ns = start_ns;
	job->expected_end_ns = start_ns + queue_hold_ns(cluster, job);
	job_set_state(cluster, job, STRATA_JOB_SCHEDULED, STRATA_REASON_NONE);
	life_note_started(cluster, job);
	tree_insert(&cluster->running, &job->by_end);
	checkpoint_watch(cluster, job);
	cluster->changed = cluster->disturbed = true;
	return 0;
}

int strata_cluster_remember(struct strata_cluster *cluster, uint64_t id,
			    const struct strata_job_past *past, struct strata_error *err)
{
	struct job *job;
	int found = range_take(cluster, id, &job, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_REMEMBER, .job = id, .attempt = past->attempt,
		     .preempted = past->preempted, .started = past->started);
	if (found)
		return found;
	if (!job_waits(job))
		return life_wrong_state(job, "waiting", err);
	job->attempt = past->attempt;
	job->preempted = past->preempted;
	if (past->started)
		life_note_first_start(cluster, job);
	return 0;
}
