/*
 * Ranges: the elements of an array as one job, for as long as nothing tells them apart. They were
 * asked for in one request, so they have consecutive ids and places in the line, indexes that are
 * equally far apart, and everything else in common. A range waits like a job; whoever means one of
 * its elements (a start, a cancellation, a dependency) cuts it, and what is cut off is a job as any
 * other. So an array of 100,000 costs what one job costs until its elements start.
 *
 * What is decided is the same as of jobs that were submitted one by one:
 * tests/contract/contract_range.c compares the two.
 */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>

int range_compare(const struct tree_node *a, const struct tree_node *b, void *context)
{
	uint64_t left = container_of(a, struct job, by_id)->id,
		 right = container_of(b, struct job, by_id)->id;

	(void)context;
	return left < right ? -1 : left > right;
}

bool range_allows(const struct strata_job_request *request)
{
	if (request->gang)
		return false;
	for (size_t i = 0; i < request->dependency_count; i++)
		if (request->dependencies[i].kind == STRATA_AFTER_CORR ||
		    request->dependencies[i].kind == STRATA_SINGLETON)
			return false;
	return true;
}

void range_enter(struct strata_cluster *cluster, struct job *job)
{
	if (job->elements < 2)
		return;
	tree_insert(&cluster->ranges, &job->by_id);
	job->array->ranges++;
}

void range_leave(struct strata_cluster *cluster, struct job *job)
{
	if (!tree_node_in(&job->by_id))
		return;
	tree_remove(&cluster->ranges, &job->by_id);
	job->array->ranges--;
}

static bool ends_before(const struct tree_node *node, const void *id)
{
	const struct job *job = container_of(node, const struct job, by_id);

	return job->id + job->elements - 1 < *(const uint64_t *)id;
}

struct job *range_get(const struct strata_cluster *cluster, uint64_t id)
{
	struct job *job = map_u64_get(&cluster->jobs, id);

	if (job || tree_count(&cluster->ranges) == 0)
		return job;
	struct tree_node *node = tree_search(&cluster->ranges, ends_before, &id);

	job = node ? container_of(node, struct job, by_id) : NULL;
	return job && job->id <= id ? job : NULL;
}

/* The part behind the first few, not known to anybody yet. */
static void fill_rest(const struct job *job, uint32_t keep, uint64_t handle, struct job *rest)
{
	*rest = *job;
	rest->handle = handle;
	rest->id += keep;
	rest->sequence += keep;
	rest->array_index += keep * job->index_step;
	rest->elements -= keep;
	rest->by_id = (struct tree_node){ 0 };
	rest->by_begin = (struct heap_node){ 0 };
	rest->reason = job->job_group ? job->others : job->reason;
	rest->promised_ns = rest->first_promised_ns = 0; /* which are the first one's */
	rest->is_ready = false;
	rest->next_ready = NULL;
	rest->links = NULL;
	rest->before = rest->after = rest->next_new = NULL;
	rest->series_before = NULL;
}

/* Where it can be found by number. 0, or -ENOMEM and it is not. */
static int register_rest(struct strata_cluster *cluster, struct job *rest)
{
	if (map_u64_put(&cluster->jobs, rest->id, rest, NULL))
		return -ENOMEM;
	if (map_u64_put(&rest->array->by_index, (uint64_t)rest->array_index + 1, rest, NULL)) {
		map_u64_remove(&cluster->jobs, rest->id);
		return -ENOMEM;
	}
	return 0;
}

static void unregister_rest(struct strata_cluster *cluster, struct job *rest)
{
	map_u64_remove(&rest->array->by_index, (uint64_t)rest->array_index + 1);
	map_u64_remove(&cluster->jobs, rest->id);
}

int range_cut(struct strata_cluster *cluster, struct job *job, uint32_t keep)
{
	bool begins = heap_node_in(&job->by_begin);
	uint64_t handle;

	assert(keep > 0 && keep < job->elements);
	assert(!job->claims && !job->plan && !job->waiters && !job->gang && !job->checkpoints);
	if (begins && heap_reserve(&cluster->begins, cluster->begins.count + 1))
		return -ENOMEM;
	struct job *rest = slab_get(&cluster->job_slab, &handle);

	if (!rest)
		return -ENOMEM;
	fill_rest(job, keep, handle, rest);
	if (register_rest(cluster, rest)) {
		slab_put(&cluster->job_slab, handle);
		return -ENOMEM;
	}
	if (depend_cut(cluster, job, rest)) {
		unregister_rest(cluster, rest);
		slab_put(&cluster->job_slab, handle);
		return -ENOMEM;
	}
	if (begins)
		heap_push(&cluster->begins, &rest->by_begin, heap_key_time(rest->begin_ns));
	rest->resources->users++;
	cluster->apart_count += rest->stood_apart;
	range_leave(cluster, job);
	job->elements = keep;
	range_enter(cluster, job);
	range_enter(cluster, rest);
	queue_add_rest(cluster, job, rest);
	enqueue_rest(cluster, job, rest);
	return 0;
}

/* Are all of them there? */
static int check_present(const struct strata_cluster *cluster, uint64_t id, uint32_t count,
			 struct strata_error *err)
{
	if (count < 1)
		return strata_fail_at(err, -EINVAL, "count", "count is 0; expected at least 1");
	for (uint64_t at = id; at - id < count;) {
		const struct job *job = range_get(cluster, at);

		if (!job)
			return strata_fail_at(err, -ESRCH, "id", "there is no job %llu",
					      (unsigned long long)at);
		at = job->id + job->elements;
	}
	return 0;
}

int range_take_all(struct strata_cluster *cluster, uint64_t id, uint32_t count,
		   struct strata_error *err)
{
	int rc = check_present(cluster, id, count, err);

	if (rc)
		return rc;
	struct job *job = range_get(cluster, id);

	if (job->id < id && range_cut(cluster, job, (uint32_t)(id - job->id)))
		return strata_fail_memory(err);
	job = range_get(cluster, id + count - 1);
	if (job->id + job->elements > id + count &&
	    range_cut(cluster, job, (uint32_t)(id + count - job->id)))
		return strata_fail_memory(err);
	return 0;
}

struct job *range_next(const struct strata_cluster *cluster, uint64_t *at, uint64_t end)
{
	struct job *job = *at < end ? map_u64_get(&cluster->jobs, *at) : NULL;

	if (job)
		*at += job->elements;
	return job;
}

int range_take(struct strata_cluster *cluster, uint64_t id, struct job **ret_job,
	       struct strata_error *err)
{
	int rc = range_take_all(cluster, id, 1, err);

	if (rc == 0)
		*ret_job = map_u64_get(&cluster->jobs, id);
	return rc;
}

int range_cut_queue(struct strata_cluster *cluster)
{
	struct tree_node *at = tree_first(&cluster->ranges);

	while (at) {
		struct job *job = container_of(at, struct job, by_id);

		at = tree_next(at);
		while (job->job_group && job->elements > 1) {
			if (range_cut(cluster, job, 1))
				return -ENOMEM;
			job = job->after;
		}
	}
	return 0;
}
