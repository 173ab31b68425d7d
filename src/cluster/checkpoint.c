/*
 * Checkpoints as records: the latest of a job and the one before it, which is kept in case the
 * latest turns out to be broken. Files are the caller's: what is not wanted any more is condemned,
 * and an effect of the next pass asks for its deletion.
 *
 * Running jobs that asked for it are told to write one every so often, counted from the last they
 * reported.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- records ---- */

static void free_path(struct strata_cluster *cluster, struct checkpoint *checkpoint)
{
	if (checkpoint->path)
		strata_memory_put(cluster->memory, checkpoint->path, strlen(checkpoint->path) + 1);
	*checkpoint = (struct checkpoint){ 0 };
}

void checkpoint_free(struct strata_cluster *cluster, struct job *job)
{
	if (!job->checkpoints)
		return;
	free_path(cluster, &job->checkpoints[0]);
	free_path(cluster, &job->checkpoints[1]);
	strata_memory_put(cluster->memory, job->checkpoints, 2 * sizeof(*job->checkpoints));
	job->checkpoints = NULL;
}

static struct condemned *make_condemned(struct strata_cluster *cluster, const struct job *job,
					const char *path)
{
	size_t length = strlen(path) + 1, bytes = sizeof(struct condemned) + length;
	struct condemned *condemned = strata_memory_get(cluster->memory, bytes);

	if (condemned) {
		condemned->job = job->id;
		condemned->bytes = bytes;
		memcpy(condemned->path, path, length);
	}
	return condemned;
}

static void condemn(struct strata_cluster *cluster, struct condemned *condemned)
{
	condemned->next = cluster->condemned;
	cluster->condemned = condemned;
}

static int check(const struct strata_cluster *cluster, const struct job *job,
		 const struct strata_checkpoint *checkpoint, struct strata_error *err)
{
	const struct checkpoint *last = job->checkpoints;
	int64_t most = cluster->conf.checkpoint_bytes_max;
	size_t length = checkpoint->path ? strlen(checkpoint->path) : 0;

	if (length == 0 || length > STRATA_PATH_BYTES_MAX)
		return strata_fail_at(err, -EINVAL, "path",
				      "the path of the checkpoint has %zu bytes; expected 1 to %d",
				      length, STRATA_PATH_BYTES_MAX);
	if (checkpoint->size_bytes < 0 || (most && checkpoint->size_bytes > most))
		return strata_fail_at(err, -EFBIG, "size_bytes",
				      "the checkpoint has %lld bytes; expected 0 to %lld",
				      (long long)checkpoint->size_bytes,
				      (long long)(most ? most : INT64_MAX));
	if (checkpoint->step >= 0 && last && checkpoint->step < last->step)
		return strata_fail_at(err, -EINVAL, "step",
				      "the checkpoint is of step %lld; there is one of step %lld",
				      (long long)checkpoint->step, (long long)last->step);
	return 0;
}

void strata_cluster_set_checkpoint_max(struct strata_cluster *cluster, int64_t bytes_max)
{
	cluster_tell(cluster, .kind = STRATA_EVENT_CHECKPOINT_MAX, .bytes_max = bytes_max);
	cluster->conf.checkpoint_bytes_max = bytes_max;
}

int strata_cluster_checkpoint(struct strata_cluster *cluster, uint64_t id,
			      const struct strata_checkpoint *checkpoint, int64_t now_ns,
			      struct strata_error *err)
{
	struct job *job;
	int found = range_take(cluster, id, &job, err);
	struct condemned *oldest = NULL;

	cluster_tell(cluster, .kind = STRATA_EVENT_CHECKPOINT, .now_ns = now_ns, .job = id,
		     .checkpoint = *checkpoint);
	cluster_clock(cluster, now_ns);
	if (found)
		return found;
	if (!job->started || strata_job_ended(job->state))
		return strata_fail(err, -ESTALE, "job %llu is %s; expected one that has run",
				   (unsigned long long)id, strata_job_state_name(job->state));
	int rc = check(cluster, job, checkpoint, err);

	if (rc)
		return rc;
	if (!job->checkpoints)
		job->checkpoints =
			strata_memory_get(cluster->memory, 2 * sizeof(*job->checkpoints));
	size_t bytes = strlen(checkpoint->path) + 1;
	char *path = job->checkpoints ? strata_memory_get(cluster->memory, bytes) : NULL;

	if (!path)
		goto no_memory;
	memcpy(path, checkpoint->path, bytes);
	struct checkpoint *last = &job->checkpoints[0], *before = &job->checkpoints[1];
	/* written over the last one, or over the one before: no file is left over */
	bool over_last = last->path && strcmp(last->path, path) == 0;
	bool over_before = before->path && strcmp(before->path, path) == 0;

	if (!over_last && !over_before && before->path) {
		oldest = make_condemned(cluster, job, before->path);
		if (!oldest)
			goto no_memory;
		condemn(cluster, oldest);
	}
	if (over_last) {
		free_path(cluster, last);
	} else {
		free_path(cluster, before);
		*before = *last;
	}
	*last = (struct checkpoint){ path, checkpoint->size_bytes, checkpoint->time_ns,
				     checkpoint->step };
	if (heap_node_in(&job->by_checkpoint))
		heap_update(&cluster->checkpoints, &job->by_checkpoint,
			    heap_key_time(cluster->now_ns + job->checkpoint_every_ns));
	return 0;
no_memory:
	if (path)
		strata_memory_put(cluster->memory, path, bytes);
	if (job->checkpoints && !job->checkpoints[0].path)
		checkpoint_free(cluster, job);
	return strata_fail_memory(err);
}

size_t strata_cluster_checkpoints(const struct strata_cluster *cluster, uint64_t id,
				  struct strata_checkpoint ret_checkpoints[2])
{
	const struct job *job = range_get(cluster, id);
	size_t count = 0;

	for (; job && job->checkpoints && count < 2 && job->checkpoints[count].path; count++) {
		const struct checkpoint *from = &job->checkpoints[count];

		ret_checkpoints[count] = (struct strata_checkpoint){ from->path, from->size_bytes,
								     from->time_ns, from->step };
	}
	return count;
}

int strata_cluster_drop_checkpoints(struct strata_cluster *cluster, uint64_t id, int64_t now_ns,
				    struct strata_error *err)
{
	struct job *job;
	int found = range_take(cluster, id, &job, err);
	struct condemned *condemned[2] = { NULL, NULL };

	cluster_tell(cluster, .kind = STRATA_EVENT_DROP_CHECKPOINTS, .now_ns = now_ns, .job = id);
	cluster_clock(cluster, now_ns);
	if (found)
		return found;
	for (int i = 0; job->checkpoints && i < 2; i++) {
		const char *path = job->checkpoints[i].path;

		if (path && !(condemned[i] = make_condemned(cluster, job, path))) {
			if (condemned[0])
				strata_memory_put(cluster->memory, condemned[0],
						  condemned[0]->bytes);
			return strata_fail_memory(err);
		}
	}
	for (int i = 0; i < 2; i++)
		if (condemned[i])
			condemn(cluster, condemned[i]);
	checkpoint_free(cluster, job);
	return 0;
}

/* ---- when they are due ---- */

void checkpoint_watch(struct strata_cluster *cluster, struct job *job)
{
	if (job->checkpoint_every_ns > 0)
		heap_push(&cluster->checkpoints, &job->by_checkpoint,
			  heap_key_time(cluster->now_ns + job->checkpoint_every_ns));
}

void checkpoint_unwatch(struct strata_cluster *cluster, struct job *job)
{
	if (heap_node_in(&job->by_checkpoint))
		heap_remove(&cluster->checkpoints, &job->by_checkpoint);
}

int64_t checkpoint_next_ns(const struct strata_cluster *cluster)
{
	struct heap_node *top = heap_top(&cluster->checkpoints);

	return top ? (int64_t)(heap_key(&cluster->checkpoints, top) ^ 1ull << 63) : INT64_MAX;
}

static int tell_condemned(struct pass *pass)
{
	struct strata_cluster *cluster = pass->cluster;

	while (cluster->condemned) {
		struct condemned *condemned = cluster->condemned;
		size_t length = strlen(condemned->path) + 1;
		char *path = strata_arena_get(pass->arena, length);
		struct strata_effect *effect = path ? pass_effect(pass) : NULL;

		if (!effect)
			return strata_fail_memory(pass->err);
		memcpy(path, condemned->path, length);
		*effect = (struct strata_effect){ .kind = STRATA_EFFECT_DELETE,
						  .job = condemned->job,
						  .path = path };
		cluster->condemned = condemned->next;
		strata_memory_put(cluster->memory, condemned, condemned->bytes);
	}
	return 0;
}

int checkpoint_pass(struct pass *pass)
{
	struct strata_cluster *cluster = pass->cluster;
	int rc = tell_condemned(pass);

	while (rc == 0 && checkpoint_next_ns(cluster) <= pass->now_ns) {
		struct job *job =
			container_of(heap_top(&cluster->checkpoints), struct job, by_checkpoint);
		struct strata_effect *effect = job->state == STRATA_JOB_RUNNING ? pass_effect(pass)
										: NULL;

		if (job->state == STRATA_JOB_RUNNING && !effect)
			return -ENOMEM;
		if (effect)
			*effect = (struct strata_effect){ .kind = STRATA_EFFECT_CHECKPOINT,
							  .job = job->id,
							  .state = job->state,
							  .attempt = job->attempt };
		heap_update(&cluster->checkpoints, &job->by_checkpoint,
			    heap_key_time(pass->now_ns + job->checkpoint_every_ns));
	}
	return rc;
}
