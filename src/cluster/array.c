/*
 * Arrays: jobs that were asked for as one, each an element with an index. They are ordinary jobs,
 * or one job for as long as nothing tells them apart (range.c); the array counts how many are
 * placed, for the limit that was asked for, and how all of them have fared, for those who wait for
 * the whole.
 */
#include "cluster/cluster_int.h"

#include <errno.h>

static struct array *make_array(struct strata_cluster *cluster, uint64_t id, uint32_t limit)
{
	uint64_t handle;
	struct array *array = slab_get(&cluster->array_slab, &handle);

	if (!array)
		return NULL;
	*array = (struct array){ .id = id, .handle = handle, .limit = limit };
	map_u64_init(&array->by_index, cluster->memory);
	if (map_u64_put(&cluster->arrays, id, array, NULL)) {
		map_u64_fini(&array->by_index);
		slab_put(&cluster->array_slab, handle);
		return NULL;
	}
	return array;
}

static void free_array(struct strata_cluster *cluster, struct array *array)
{
	map_u64_remove(&cluster->arrays, array->id);
	map_u64_fini(&array->by_index);
	slab_put(&cluster->array_slab, array->handle);
}

struct job *array_get(const struct strata_cluster *cluster, const struct array *array,
		      uint32_t index)
{
	struct job *job = map_u64_get(&array->by_index, (uint64_t)index + 1);

	for (struct tree_node *at = array->ranges && !job ? tree_first(&cluster->ranges) : NULL;
	     at && !job; at = tree_next(at)) {
		struct job *range = container_of(at, struct job, by_id);
		uint32_t beyond = index - range->array_index;

		if (range->array == array && index >= range->array_index &&
		    beyond % range->index_step == 0 && beyond / range->index_step < range->elements)
			job = range;
	}
	return job;
}

/* Most indexes are above all that were there before. */
static int check_indexes(const struct strata_cluster *cluster, const struct array *array,
			 const struct job *job, uint32_t first, struct strata_error *err)
{
	for (uint32_t i = 0; first < array->index_end && i < job->elements; i++) {
		uint32_t index = first + i * job->index_step;

		if (array_get(cluster, array, index))
			return strata_fail_at(err, -EEXIST, "array_index",
					      "array %llu has an element %u already",
					      (unsigned long long)array->id, index);
	}
	return 0;
}

static void count_elements(struct array *array, const struct job *job)
{
	uint64_t end = job->array_index + (uint64_t)(job->elements - 1) * job->index_step + 1;

	array->count += job->elements;
	array->unstarted += job->elements;
	array->open += job->elements;
	array->index_end = end > array->index_end ? end : array->index_end;
}

int array_join(struct strata_cluster *cluster, struct job *job,
	       const struct strata_job_request *request, struct strata_error *err)
{
	struct array *array;

	if (!request->array)
		return 0;
	array = map_u64_get(&cluster->arrays, request->array);
	if (array && array->limit != request->array_limit)
		return strata_fail_at(err, -EINVAL, "array_limit",
				      "array_limit is %u; in other elements of array %llu it is %u",
				      request->array_limit, (unsigned long long)array->id,
				      array->limit);
	int rc = array ? check_indexes(cluster, array, job, request->array_index, err) : 0;

	if (rc)
		return rc;
	if (!array)
		array = make_array(cluster, request->array, request->array_limit);
	if (!array)
		return strata_fail_memory(err);
	if (map_u64_put(&array->by_index, (uint64_t)request->array_index + 1, job, NULL)) {
		if (array->count == 0)
			free_array(cluster, array);
		return strata_fail_memory(err);
	}
	job->array = array;
	job->array_index = request->array_index;
	count_elements(array, job);
	return 0;
}

void array_leave(struct strata_cluster *cluster, struct job *job)
{
	struct array *array = job->array;

	if (!array)
		return;
	if (!strata_job_ended(job->state)) { /* it was never quite there */
		array->open -= job->elements;
		array->unstarted -= job->elements;
	}
	map_u64_remove(&array->by_index, (uint64_t)job->array_index + 1);
	job->array = NULL;
	array->count -= job->elements;
	if (array->count == 0)
		free_array(cluster, array); /* all have ended: nobody waits for it any more */
}

void array_started(struct strata_cluster *cluster, struct job *job)
{
	if (!job->array)
		return;
	job->array->unstarted--;
	depend_array(cluster, job->array);
}

void array_ended(struct strata_cluster *cluster, struct job *job)
{
	if (!job->array)
		return;
	job->array->unstarted -= job->started ? 0 : job->elements;
	job->array->open -= job->elements;
	job->array->bad += job->state != STRATA_JOB_COMPLETED ? job->elements : 0;
	depend_array(cluster, job->array);
}

static int no_array(uint64_t id, struct strata_error *err)
{
	return strata_fail(err, -ESRCH, "there is no array %llu", (unsigned long long)id);
}

int strata_cluster_array(const struct strata_cluster *cluster, uint64_t id,
			 struct strata_array_view *ret_view, struct strata_error *err)
{
	const struct array *array = map_u64_get(&cluster->arrays, id);

	if (!array)
		return no_array(id, err);
	*ret_view = (struct strata_array_view){ array->count, array->unstarted, array->open,
						array->bad };
	return 0;
}

int strata_cluster_limit_array(struct strata_cluster *cluster, uint64_t id, uint32_t limit,
			       struct strata_error *err)
{
	struct array *array = map_u64_get(&cluster->arrays, id);

	cluster_tell(cluster, .kind = STRATA_EVENT_LIMIT_ARRAY, .job = id, .jobs_max = limit);
	if (!array)
		return no_array(id, err);
	array->limit = limit;
	cluster->changed = true;
	return 0;
}
