/* Changed limits of arrays: see array_limits.h. A map has each limit plus one, as a pointer. */
#include "server/array_limits.h"

#include <errno.h>

uint32_t array_limit_of(const struct decider *decider, const struct live *live)
{
	const void *changed = live->job.array_id ? map_u64_get(&decider->array_limits,
							       (uint64_t)live->job.array_id)
						 : NULL;

	return changed ? (uint32_t)((uintptr_t)changed - 1) : live->spec->array.limit;
}

static int remember(struct decider *decider, int64_t array, uint32_t limit,
		    struct strata_error *err)
{
	void *value = (void *)((uintptr_t)limit + 1);

	return map_u64_put(&decider->array_limits, (uint64_t)array, value, NULL)
		       ? strata_fail_memory(err)
		       : 0;
}

int array_limit_set(struct decider *decider, const struct live *live, uint32_t limit,
		    struct strata_error *err)
{
	int64_t array = live->job.array_id;
	struct store_array row = { .id = array,
				   .user = live->job.user,
				   .running_max = limit,
				   .created_ns = live->job.created_ns };

	if (!array)
		return strata_fail_at(err, -EINVAL, "array_throttle", "job %lld is not of an array",
				      (long long)live->job.id);
	int rc = remember(decider, array, limit, err);

	if (rc == 0)
		rc = strata_cluster_limit_array(decider->cluster, (uint64_t)array, limit, err);
	if (rc)
		return rc;
	batch_put(decider, STORE_PUT(&row));
	return 0;
}

static int recover_one(void *context, const void *row_any, struct strata_error *err)
{
	const struct store_array *row = row_any;

	return remember(context, row->id, (uint32_t)row->running_max, err);
}

int array_limits_recover(struct decider *decider, struct strata_error *err)
{
	static const struct store_filter live = { .live = true };

	map_u64_fini(&decider->array_limits);
	map_u64_init(&decider->array_limits, &decider->memory);
	return store_load(decider->store, STORE_ARRAY, &live, recover_one, decider, err);
}
