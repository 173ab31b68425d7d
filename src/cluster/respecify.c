/*
 * What a waiting job asks for becomes another: resources, account, quality of service, name, what
 * it waits for. Its place in the line, its number and its past stay. Everything that may fail comes
 * before anything is changed.
 */
#include "cluster/cluster_int.h"

#include <errno.h>

int respecify_check(const struct job *job, struct strata_error *err)
{
	if (!job_waits(job) || job->suspended)
		return life_wrong_state(job, "one that waits, to change what it asks for", err);
	if (job->gang)
		return strata_fail(err, -EBUSY,
				   "job %llu is of a gang, whose jobs cannot change what they ask for",
				   (unsigned long long)job->id);
	return 0;
}

/* Those that already wait are not counted twice. */
static int check_limits(struct strata_cluster *cluster, uint64_t id, uint32_t count,
			struct association *to, struct strata_error *err)
{
	struct job *job;
	int rc = 0;

	for (uint64_t at = id; rc == 0 && (job = range_next(cluster, &at, id + count));) {
		if (job->association == to)
			continue;
		entity_count_waiting(job->association, -(int64_t)job->elements);
		rc = entity_admits(to, job->elements, err);
		entity_count_waiting(job->association, job->elements);
	}
	return rc;
}

static int prepare_request(struct strata_cluster *cluster, uint64_t id, uint32_t count,
			   const struct strata_job_request *request, struct renewal *renewal,
			   struct strata_error *err)
{
	const struct job *first = range_get(cluster, id);
	struct strata_job_request own = *request;
	int rc;

	own.uncharged = first->resources->uncharged;
	own.user = first->association->user->name;
	rc = entity_association(cluster, &own, &renewal->association, err);
	if (rc == 0)
		rc = check_limits(cluster, id, count, renewal->association, err);
	if (rc == 0)
		rc = life_name(cluster, own.name, &renewal->name, err);
	if (rc == 0)
		rc = resources_get(cluster, &own, &renewal->resources, err);
	if (rc == 0)
		rc = depend_reserve_series(cluster, first, renewal->name, &renewal->series, err);
	return rc;
}

static int prepare_dependencies(struct strata_cluster *cluster, uint64_t id, uint32_t count,
				const struct strata_job_request *request, struct renewal *renewal,
				struct strata_error *err)
{
	const struct job *job;
	size_t jobs = 0;
	int rc = 0;

	for (uint64_t at = id; range_next(cluster, &at, id + count);)
		jobs++;
	renewal->drafts = strata_memory_get(cluster->memory, jobs * sizeof(*renewal->drafts));
	if (!renewal->drafts)
		return strata_fail_memory(err);
	renewal->draft_count = jobs;
	for (size_t i = 0; i < jobs; i++)
		renewal->drafts[i] = (struct job){ 0 };
	jobs = 0;
	for (uint64_t at = id; rc == 0 && (job = range_next(cluster, &at, id + count));)
		rc = depend_draft(cluster, job, request, &renewal->drafts[jobs++], err);
	return rc;
}

int respecify_prepare(struct strata_cluster *cluster, uint64_t id, uint32_t count,
		      const struct strata_job_change *change, struct renewal *ret_renewal,
		      struct strata_error *err)
{
	struct renewal renewal = { .change = change };
	int rc = 0;

	if (change->what & STRATA_CHANGE_REQUEST)
		rc = prepare_request(cluster, id, count, change->request, &renewal, err);
	if (rc == 0 && (change->what & STRATA_CHANGE_DEPENDENCIES))
		rc = prepare_dependencies(cluster, id, count, change->request, &renewal, err);
	if (rc)
		respecify_finish(cluster, range_get(cluster, id), &renewal);
	else
		*ret_renewal = renewal;
	return rc;
}

static void renew(struct strata_cluster *cluster, struct job *job, const struct renewal *renewal)
{
	const struct strata_job_request *request = renewal->change->request;
	struct resource_request *before = job->resources;

	entity_count_waiting(job->association, -(int64_t)job->elements);
	job->association = renewal->association;
	entity_count_waiting(job->association, job->elements);
	renewal->resources->users++;
	job->resources = renewal->resources;
	resources_put(cluster, before);
	if (job->name != renewal->name)
		depend_rename(cluster, job, renewal->name, renewal->series);
	job->requeue = request->requeue;
	job->preemptible = request->preemptible;
	job->checkpoint_every_ns = request->checkpoint_ns;
	job->cancel_if_never = request->cancel_if_never;
	if (job->cancel_if_never)
		enqueue_later(cluster, job); /* its dependencies may be past hope already */
}

void respecify_job(struct strata_cluster *cluster, struct job *job, struct renewal *renewal)
{
	if (renewal->resources)
		renew(cluster, job, renewal);
	if (!renewal->drafts)
		return;
	job->any_dependency = renewal->change->request->any_dependency;
	depend_replace(cluster, job, &renewal->drafts[renewal->draft_next++]);
}

void respecify_finish(struct strata_cluster *cluster, const struct job *any,
		      struct renewal *renewal)
{
	if (renewal->resources)
		resources_put(cluster, renewal->resources);
	depend_release_series(cluster, any, renewal->name, renewal->series);
	for (size_t i = 0; i < renewal->draft_count; i++)
		depend_drop_draft(cluster, &renewal->drafts[i]);
	strata_memory_put(cluster->memory, renewal->drafts,
			  renewal->draft_count * sizeof(*renewal->drafts));
}
