/* The set of worker_set.h. */
#include "server/worker_set.h"

void worker_set_init(struct worker_set *set)
{
	*set = (struct worker_set){ 0 };
	pthread_mutex_init(&set->lock, NULL);
	map_u64_init(&set->jobs, &set->memory);
}

void worker_set_fini(struct worker_set *set)
{
	map_u64_fini(&set->jobs);
	pthread_mutex_destroy(&set->lock);
}

int worker_set_put(struct worker_set *set, int64_t job)
{
	pthread_mutex_lock(&set->lock);
	int rc = map_u64_put(&set->jobs, (uint64_t)job, set, NULL);

	pthread_mutex_unlock(&set->lock);
	return rc;
}

void worker_set_remove(struct worker_set *set, int64_t job)
{
	pthread_mutex_lock(&set->lock);
	map_u64_remove(&set->jobs, (uint64_t)job);
	pthread_mutex_unlock(&set->lock);
}

bool worker_set_has(struct worker_set *set, int64_t job)
{
	pthread_mutex_lock(&set->lock);
	bool has = map_u64_get(&set->jobs, (uint64_t)job) != NULL;

	pthread_mutex_unlock(&set->lock);
	return has;
}
