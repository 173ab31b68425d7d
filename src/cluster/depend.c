/*
 * Dependencies: a job that waits for others has a link to each of them, chained there until it is
 * met or can never be. Nothing is looked at twice: the start or the end of a job resolves the links
 * chained at it, and a job none of whose links is open is looked at again by the next pass.
 *
 * A job of a series (the same user and name) that asked to be alone waits until it is the oldest of
 * it that has not ended.
 */
#include "cluster/cluster_int.h"

#include <errno.h>

const char *strata_dependency_name(enum strata_dependency_kind kind)
{
	static const char *const names[STRATA_DEPENDENCY_KIND_COUNT] = {
		[STRATA_AFTER] = "after",          [STRATA_AFTER_ANY] = "afterany",
		[STRATA_AFTER_OK] = "afterok",     [STRATA_AFTER_NOT_OK] = "afternotok",
		[STRATA_AFTER_CORR] = "aftercorr", [STRATA_SINGLETON] = "singleton",
	};

	return (unsigned)kind < STRATA_DEPENDENCY_KIND_COUNT ? names[kind] : "unknown";
}

/* ---- links ---- */

static void chain(struct link **waiters, struct link *link)
{
	link->next = *waiters;
	link->from = waiters;
	if (link->next)
		link->next->from = &link->next;
	*waiters = link;
}

static void unchain(struct link *link)
{
	if (!link->from)
		return;
	*link->from = link->next;
	if (link->next)
		link->next->from = link->from;
	link->from = NULL;
}

static void set_link(struct strata_cluster *cluster, struct link *link, enum link_state state)
{
	struct job *job = link->job;

	unchain(link);
	link->state = state;
	job->links_met += state == LINK_MET;
	job->links_never += state == LINK_NEVER;
	if (state == LINK_MET && link->delay_ns > 0 &&
	    cluster->now_ns + link->delay_ns > job->begin_ns)
		job->begin_ns = cluster->now_ns + link->delay_ns;
}

/* The newest are in front; who has waited longest is looked at first. */
void depend_resolve(struct strata_cluster *cluster, struct link **waiters,
		    const enum link_state states[STRATA_DEPENDENCY_KIND_COUNT])
{
	struct link *link = *waiters, *newer;

	while (link && link->next)
		link = link->next;
	for (; link; link = newer) {
		newer = link->from == waiters ? NULL : container_of(link->from, struct link, next);
		if (states[link->kind] == LINK_OPEN)
			continue;
		set_link(cluster, link, states[link->kind]);
		enqueue_later(cluster, link->job);
	}
}

/* What an ended job, or an array all of which has ended, means to those who wait for it. */
static void states_of_end(bool ok, enum link_state states[STRATA_DEPENDENCY_KIND_COUNT])
{
	states[STRATA_AFTER] = LINK_MET;
	states[STRATA_AFTER_ANY] = LINK_MET;
	states[STRATA_AFTER_OK] = states[STRATA_AFTER_CORR] = ok ? LINK_MET : LINK_NEVER;
	states[STRATA_AFTER_NOT_OK] = ok ? LINK_NEVER : LINK_MET;
	states[STRATA_SINGLETON] = LINK_OPEN;
}

/* The link of a dependency that is being submitted: chained, or resolved already. */
static void link_to_job(struct strata_cluster *cluster, struct link *link, struct job *target)
{
	enum link_state states[STRATA_DEPENDENCY_KIND_COUNT] = { LINK_OPEN };

	if (strata_job_ended(target->state))
		states_of_end(target->state == STRATA_JOB_COMPLETED, states);
	else if (target->started)
		states[STRATA_AFTER] = LINK_MET;
	if (states[link->kind] == LINK_OPEN)
		chain(&target->waiters, link);
	else
		set_link(cluster, link, states[link->kind]);
}

static void array_states(const struct array *array,
			 enum link_state states[STRATA_DEPENDENCY_KIND_COUNT])
{
	for (int i = 0; i < STRATA_DEPENDENCY_KIND_COUNT; i++)
		states[i] = LINK_OPEN;
	if (array->open == 0) {
		states_of_end(array->bad == 0, states);
		return;
	}
	if (array->unstarted == 0)
		states[STRATA_AFTER] = LINK_MET;
	if (array->bad) /* one is enough to know */
		states[STRATA_AFTER_OK] = states[STRATA_AFTER_CORR] = LINK_NEVER;
}

static void link_to_array(struct strata_cluster *cluster, struct link *link, struct array *array)
{
	enum link_state states[STRATA_DEPENDENCY_KIND_COUNT];

	array_states(array, states);
	if (states[link->kind] == LINK_OPEN)
		chain(&array->waiters, link);
	else
		set_link(cluster, link, states[link->kind]);
}

void depend_array(struct strata_cluster *cluster, struct array *array)
{
	enum link_state states[STRATA_DEPENDENCY_KIND_COUNT];

	array_states(array, states);
	depend_resolve(cluster, &array->waiters, states);
}

static int make_link(struct strata_cluster *cluster, struct job *job, struct link *link,
		     const struct strata_dependency *dependency,
		     const struct strata_job_request *request, struct strata_error *err)
{
	struct job *target = NULL;
	struct array *array = NULL;

	*link = (struct link){ .job = job,
			       .delay_ns = dependency->delay_ns,
			       .kind = dependency->kind };
	if (dependency->known != STRATA_KNOWN_NOT) {
		set_link(cluster, link,
			 dependency->known == STRATA_KNOWN_MET ? LINK_MET : LINK_NEVER);
		return 0;
	}
	if (dependency->array || dependency->kind == STRATA_AFTER_CORR)
		array = map_u64_get(&cluster->arrays, dependency->job);
	if (array && dependency->kind == STRATA_AFTER_CORR && request->array)
		target = array_get(cluster, array, request->array_index);
	if (!array && !dependency->array)
		target = range_get(cluster, dependency->job);
	if (!target && !array)
		return strata_fail_at(
			err, -ESRCH, "dependencies", "it depends on %s %llu, which is not known",
			dependency->array ? "array" : "job", (unsigned long long)dependency->job);
	if (target && target->elements > 1) { /* who is waited for is a job of its own */
		uint64_t id = array ? target->id + (request->array_index - target->array_index) /
							   target->index_step
				    : dependency->job;
		int rc = range_take(cluster, id, &target, err);

		if (rc)
			return rc;
	}
	if (array && dependency->array_bad && !array->bad)
		array->bad = 1;
	link->target = target;
	link->array = target ? NULL : array;
	if (target)
		link_to_job(cluster, link, target);
	else
		link_to_array(cluster, link, array);
	return 0;
}

/* Links of their own, each in the chain where the other's is. */
static int copy_links(struct strata_cluster *cluster, const struct job *job, struct job *rest)
{
	if (!job->link_count)
		return 0;
	rest->links = strata_memory_get(cluster->memory, job->link_count * sizeof(*rest->links));
	if (!rest->links)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->link_count; i++) {
		rest->links[i] = job->links[i];
		rest->links[i].job = rest;
		if (job->links[i].from)
			chain(job->links[i].from, &rest->links[i]);
	}
	return 0;
}

/* ---- series ---- */

/* A user's number and a name's are below 2^32 as long as there is memory for fewer of them. */
static uint64_t series_key(const struct job *job)
{
	return job->association->user->number << 32 | job->name;
}

/* The one of its user and name; a new one has nobody in it. */
static int get_series(struct strata_cluster *cluster, const struct job *job,
		      struct series **ret_series, struct strata_error *err)
{
	struct series *series = map_u64_get(&cluster->series, series_key(job));
	uint64_t handle;

	if (!series) {
		series = slab_get(&cluster->series_slab, &handle);
		if (!series)
			return strata_fail_memory(err);
		series->handle = handle;
		if (map_u64_put(&cluster->series, series_key(job), series, NULL)) {
			slab_put(&cluster->series_slab, handle);
			return strata_fail_memory(err);
		}
	}
	*ret_series = series;
	return 0;
}

static void enter_series(struct series *series, struct job *job)
{
	job->series = series;
	job->series_before = series->last;
	*(series->last ? &series->last->series_after : &series->first) = job;
	series->last = job;
}

static int join_series(struct strata_cluster *cluster, struct job *job, struct strata_error *err)
{
	struct series *series;

	if (!job->name)
		return 0;
	int rc = get_series(cluster, job, &series, err);

	if (rc == 0)
		enter_series(series, job);
	return rc;
}

static void follow_in_series(struct job *job, struct job *rest)
{
	if (!job->series)
		return;
	rest->series_before = job;
	*(job->series_after ? &job->series_after->series_before : &job->series->last) = rest;
	job->series_after = rest;
}

static void leave_series(struct strata_cluster *cluster, struct job *job)
{
	struct series *series = job->series;

	if (!series)
		return;
	bool was_first = series->first == job;

	*(job->series_before ? &job->series_before->series_after : &series->first) =
		job->series_after;
	*(job->series_after ? &job->series_after->series_before : &series->last) =
		job->series_before;
	job->series = NULL;
	job->series_before = job->series_after = NULL;
	if (!series->first) {
		map_u64_remove(&cluster->series, series_key(job));
		slab_put(&cluster->series_slab, series->handle);
	} else if (was_first && series->first->singleton && job_waits(series->first)) {
		enqueue_later(cluster, series->first);
	}
}

/* ---- the life of a job ---- */

static int check(const struct strata_job_request *request, struct strata_error *err)
{
	if (request->dependency_count > STRATA_DEPENDENCY_COUNT_MAX)
		return strata_fail_at(err, -ERANGE, "dependencies",
				      "%zu dependencies; expected at most %d",
				      request->dependency_count, STRATA_DEPENDENCY_COUNT_MAX);
	for (size_t i = 0; i < request->dependency_count; i++) {
		const struct strata_dependency *dependency = &request->dependencies[i];

		if ((unsigned)dependency->kind >= STRATA_DEPENDENCY_KIND_COUNT ||
		    (unsigned)dependency->known >= STRATA_KNOWN_COUNT || dependency->delay_ns < 0)
			return strata_fail_at(
				err, -EINVAL, "dependencies",
				"dependency %zu is of no known kind or waits for less "
				"than no time",
				i + 1);
	}
	return 0;
}

static void unlink_all(struct strata_cluster *cluster, struct job *job)
{
	for (uint32_t i = 0; i < job->link_count; i++)
		unchain(&job->links[i]);
	strata_memory_put(cluster->memory, job->links, job->link_count * sizeof(*job->links));
	job->links = NULL;
	job->link_count = job->links_met = job->links_never = 0;
}

/* Links for all it waits for; on a failure it has none. */
static int link_all(struct strata_cluster *cluster, struct job *job,
		    const struct strata_job_request *request, struct strata_error *err)
{
	size_t count = 0;
	int rc = check(request, err);

	for (size_t i = 0; rc == 0 && i < request->dependency_count; i++) {
		job->singleton |= request->dependencies[i].kind == STRATA_SINGLETON;
		count += request->dependencies[i].kind != STRATA_SINGLETON;
	}
	if (rc == 0 && count) {
		job->links = strata_memory_get(cluster->memory, count * sizeof(*job->links));
		if (!job->links)
			return strata_fail_memory(err);
		job->link_count = (uint32_t)count;
		count = 0;
		for (size_t i = 0; rc == 0 && i < request->dependency_count; i++)
			if (request->dependencies[i].kind != STRATA_SINGLETON)
				rc = make_link(cluster, job, &job->links[count++],
					       &request->dependencies[i], request, err);
	}
	if (rc)
		unlink_all(cluster, job);
	return rc;
}

int depend_init(struct strata_cluster *cluster, struct job *job,
		const struct strata_job_request *request, struct strata_error *err)
{
	int rc = link_all(cluster, job, request, err);

	if (rc == 0)
		rc = join_series(cluster, job, err);
	if (rc)
		depend_fini(cluster, job);
	return rc;
}

/* ---- another name, other dependencies ---- */

int depend_draft(struct strata_cluster *cluster, const struct job *job,
		 const struct strata_job_request *request, struct job *ret_draft,
		 struct strata_error *err)
{
	struct strata_job_request own = *request;

	own.array = job->array ? job->array->id : 0;
	own.array_index = job->array_index;
	if (job->elements > 1 && !range_allows(&own))
		return strata_fail_at(err, -EBUSY, "dependencies",
				      "elements of array %llu that wait alike cannot get aftercorr "
				      "or singleton; change them one by one",
				      (unsigned long long)own.array);
	for (size_t i = 0; i < request->dependency_count; i++) {
		const struct strata_dependency *dependency = &request->dependencies[i];

		/* or jobs could wait for each other for ever */
		if (dependency->kind != STRATA_SINGLETON &&
		    (dependency->job >= job->id || (own.array && dependency->job >= own.array)))
			return strata_fail_at(err, -EINVAL, "dependencies",
					      "job %llu can wait only for jobs that were submitted "
					      "before it, not for %llu",
					      (unsigned long long)job->id,
					      (unsigned long long)dependency->job);
	}
	*ret_draft = (struct job){ .begin_ns = job->begin_ns };
	return link_all(cluster, ret_draft, &own, err);
}

void depend_drop_draft(struct strata_cluster *cluster, struct job *draft)
{
	unlink_all(cluster, draft);
}

void depend_replace(struct strata_cluster *cluster, struct job *job, struct job *draft)
{
	unlink_all(cluster, job);
	job->links = draft->links;
	job->link_count = draft->link_count;
	job->links_met = draft->links_met;
	job->links_never = draft->links_never;
	job->singleton = draft->singleton;
	job->begin_ns = draft->begin_ns > job->begin_ns ? draft->begin_ns : job->begin_ns;
	for (uint32_t i = 0; i < job->link_count; i++)
		job->links[i].job = job;
	*draft = (struct job){ 0 };
}

int depend_reserve_series(struct strata_cluster *cluster, const struct job *job, uint64_t name,
			  struct series **ret_series, struct strata_error *err)
{
	struct job renamed = { .association = job->association, .name = name };
	int rc = name ? get_series(cluster, &renamed, ret_series, err) : 0;

	if (!name)
		*ret_series = NULL;
	return rc;
}

void depend_release_series(struct strata_cluster *cluster, const struct job *job, uint64_t name,
			   struct series *series)
{
	struct job renamed = { .association = job->association, .name = name };

	if (series && !series->first) {
		map_u64_remove(&cluster->series, series_key(&renamed));
		slab_put(&cluster->series_slab, series->handle);
	}
}

void depend_rename(struct strata_cluster *cluster, struct job *job, uint64_t name,
		   struct series *series)
{
	leave_series(cluster, job);
	job->name = name;
	if (series)
		enter_series(series, job);
}

int depend_cut(struct strata_cluster *cluster, struct job *job, struct job *rest)
{
	int rc = copy_links(cluster, job, rest);

	if (rc == 0)
		follow_in_series(job, rest);
	return rc;
}

void depend_fini(struct strata_cluster *cluster, struct job *job)
{
	unlink_all(cluster, job);
	leave_series(cluster, job);
}

void depend_started(struct strata_cluster *cluster, struct job *job)
{
	static const enum link_state states[STRATA_DEPENDENCY_KIND_COUNT] = { [STRATA_AFTER] =
										      LINK_MET };

	depend_resolve(cluster, &job->waiters, states);
}

void depend_ended(struct strata_cluster *cluster, struct job *job)
{
	enum link_state states[STRATA_DEPENDENCY_KIND_COUNT];

	states_of_end(job->state == STRATA_JOB_COMPLETED, states);
	depend_resolve(cluster, &job->waiters, states);
	depend_fini(cluster, job);
}

enum strata_reason depend_reason(const struct job *job)
{
	bool enough = job->any_dependency ? job->links_met > 0 : job->links_met == job->link_count;
	bool never = job->any_dependency ? job->links_never == job->link_count
					 : job->links_never > 0;

	if (job->link_count && !enough)
		return never ? STRATA_REASON_DEPENDENCY_NEVER : STRATA_REASON_DEPENDENCY;
	if (job->singleton && job->series && job->series->first != job)
		return STRATA_REASON_DEPENDENCY;
	return STRATA_REASON_NONE;
}
