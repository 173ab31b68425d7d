/*
 * Stopping placed jobs, for another job or because somebody asked: the job is told to, has a grace
 * to save what it has, and keeps its place until its end is reported.
 */
#include "cluster/cluster_int.h"

#include <errno.h>

enum { USUAL_GRACE_S = 60 };

int64_t stop_grace_ns(const struct strata_cluster *cluster)
{
	const struct strata_victims_conf *conf = cluster->victims ? cluster->conf.victims.conf
								  : NULL;

	return conf ? conf->grace_ns : USUAL_GRACE_S * INT64_C(1000000000);
}

void stop_job(struct strata_cluster *cluster, struct job *job, enum strata_stop mode,
	      int64_t grace_ns, uint64_t preemptor)
{
	job->stopping = true;
	job->stop_mode = mode;
	job->preemptor = preemptor;
	if (tree_node_in(&job->by_end) && job->expected_end_ns > cluster->now_ns + grace_ns) {
		tree_remove(&cluster->running, &job->by_end);
		job->expected_end_ns = cluster->now_ns + grace_ns;
		tree_insert(&cluster->running, &job->by_end);
	}
	checkpoint_unwatch(cluster, job);
	cluster->changed = cluster->disturbed = true;
}

int strata_cluster_stop(struct strata_cluster *cluster, uint64_t id, enum strata_stop mode,
			int64_t now_ns, struct strata_error *err)
{
	struct job *job;
	int found = range_take(cluster, id, &job, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_STOP, .now_ns = now_ns, .job = id, .mode = mode);
	cluster_clock(cluster, now_ns);
	if (found)
		return found;
	if (!job_placed(job) && !job->suspended)
		return strata_fail(err, -ESTALE, "job %llu is %s; expected one that is running",
				   (unsigned long long)id, strata_job_state_name(job->state));
	if (job->suspended && mode == STRATA_STOP_SUSPEND)
		return 0;
	/* what was asked for before counts less than an end for good */
	if (job->stopping && (job->stop_mode == STRATA_STOP_CANCEL || mode != STRATA_STOP_CANCEL))
		return 0;
	if (job->suspended)
		enqueue_undo(cluster, job);
	stop_job(cluster, job, mode, stop_grace_ns(cluster), 0);
	job->stop_told = false;
	if (!job->is_stop) {
		job->is_stop = true;
		job->next_stop = cluster->stops;
		cluster->stops = job;
	}
	return 0;
}

void stop_forget(struct strata_cluster *cluster, struct job *job)
{
	struct job **at = &cluster->stops;

	if (!job->is_stop)
		return;
	while (*at != job)
		at = &(*at)->next_stop;
	*at = job->next_stop;
	job->is_stop = false;
}

int stop_pass(struct pass *pass)
{
	struct strata_cluster *cluster = pass->cluster;

	while (cluster->stops) {
		struct job *job = cluster->stops;

		if (job->stopping && !job->stop_told) {
			struct strata_effect *effect = pass_effect(pass);

			if (!effect)
				return -ENOMEM;
			*effect = (struct strata_effect){ .kind = STRATA_EFFECT_STOP,
							  .job = job->id,
							  .state = job->state,
							  .attempt = job->attempt,
							  .mode = job->stop_mode,
							  .grace_ns = stop_grace_ns(cluster),
							  .preemptor = job->preemptor };
			job->stop_told = true;
		}
		stop_forget(cluster, job);
	}
	return 0;
}
