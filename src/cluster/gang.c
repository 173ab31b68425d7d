/*
 * Gangs: jobs that start together or not at all. Once all of a gang are there and none has another
 * reason to wait, the first of them stands for all in the queue. They are placed one after the
 * other, each by the placement class; when one does not fit, what the others were given is given
 * back. If that fails, they are tried once more each where it fits first, as its shadow was worked
 * out.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <string.h>

void gang_leave(struct strata_cluster *cluster, struct job *job)
{
	struct gang *gang = job->gang;
	struct job **at;

	if (!gang)
		return;
	gang_unready(cluster, job);
	for (at = &gang->first; *at != job; at = &(*at)->gang_next)
		continue;
	*at = job->gang_next;
	job->gang_next = NULL;
	job->gang = NULL;
	if (--gang->count == 0) {
		map_u64_remove(&cluster->gangs, gang->id);
		slab_put(&cluster->gang_slab, gang->handle);
	}
}

struct job *gang_stand(struct job *job)
{
	const struct gang *gang = job->gang;
	const struct job *member;

	if (!gang->whole)
		return NULL;
	for (member = gang->first; member; member = member->gang_next)
		if (!member->gang_ready)
			return NULL;
	return gang->first;
}

void gang_unready(struct strata_cluster *cluster, struct job *job)
{
	struct job *first = job->gang->first;

	job->gang_ready = false;
	if (first->job_group && !first->suspended) {
		cluster_gone(cluster, first);
		queue_remove(cluster, first);
		first->reason = STRATA_REASON_GANG;
	}
}

uint32_t gang_spot_max(const struct strata_cluster *cluster, const struct gang *gang)
{
	uint32_t most = 0;

	for (const struct job *job = gang->first; job; job = job->gang_next)
		most += placing_spot_max(cluster, job->resources);
	return most;
}

/* ---- each where it fits first ---- */

uint32_t gang_fit(struct strata_cluster *cluster, const struct gang *gang,
		  struct strata_room *rooms, bool down_too, struct spot *spots, uint32_t *counts)
{
	uint32_t found = 0, at = 0;

	for (const struct job *job = gang->first; job; job = job->gang_next) {
		counts[at] = fit_first(cluster, job->resources, rooms, down_too, spots + found);
		if (counts[at] == 0)
			return 0;
		found += counts[at++];
	}
	return found;
}

/* Could all of them run at a time on this cluster? 0 or -ENOMEM. */
static int find_possible(struct strata_cluster *cluster, struct gang *gang)
{
	size_t room_bytes = cluster->node_count * sizeof(struct strata_room);
	size_t spot_bytes = gang_spot_max(cluster, gang) * sizeof(struct spot);
	size_t count_bytes = gang->size * sizeof(uint32_t);
	struct strata_room *rooms = strata_memory_get(cluster->memory, room_bytes);
	struct spot *spots = strata_memory_get(cluster->memory, spot_bytes);
	uint32_t *counts = strata_memory_get(cluster->memory, count_bytes);
	bool there = (rooms || !room_bytes) && (spots || !spot_bytes) && counts;

	for (uint32_t row = 0; there && rooms && row < cluster->node_count; row++)
		rooms[row] = cluster->nodes[row].node_type->whole;
	if (there)
		gang->possible = gang_fit(cluster, gang, rooms, true, spots, counts) > 0;
	strata_memory_put(cluster->memory, rooms, room_bytes);
	strata_memory_put(cluster->memory, spots, spot_bytes);
	strata_memory_put(cluster->memory, counts, count_bytes);
	return there ? 0 : -ENOMEM;
}

int gang_join(struct strata_cluster *cluster, struct job *job,
	      const struct strata_job_request *request, struct strata_error *err)
{
	struct gang *gang;
	uint64_t handle;

	if (!request->gang)
		return 0;
	if (request->gang_size == 0 || request->gang_size > STRATA_GANG_SIZE_MAX)
		return strata_fail_at(err, -EINVAL, "gang_size",
				      "gang_size is %u; expected 1 to %d", request->gang_size,
				      STRATA_GANG_SIZE_MAX);
	gang = map_u64_get(&cluster->gangs, request->gang);
	if (gang && gang->whole)
		return strata_fail_at(err, -EINVAL, "gang",
				      "gang %llu has all of its %u jobs; begin another gang",
				      (unsigned long long)gang->id, gang->size);
	if (gang && gang->size != request->gang_size)
		return strata_fail_at(err, -EINVAL, "gang",
				      "gang_size is %u; gang %llu was begun with %u",
				      request->gang_size, (unsigned long long)gang->id, gang->size);
	if (!gang) {
		gang = slab_get(&cluster->gang_slab, &handle);
		if (!gang)
			return strata_fail_memory(err);
		*gang = (struct gang){ .id = request->gang,
				       .handle = handle,
				       .size = request->gang_size };
		if (map_u64_put(&cluster->gangs, gang->id, gang, NULL)) {
			slab_put(&cluster->gang_slab, handle);
			return strata_fail_memory(err);
		}
	}
	struct job **end = &gang->first;

	while (*end)
		end = &(*end)->gang_next;
	*end = job;
	job->gang = gang;
	gang->count++;
	if (gang->count == gang->size && find_possible(cluster, gang)) {
		gang_leave(cluster, job);
		return strata_fail_memory(err);
	}
	gang->whole = gang->count == gang->size;
	return 0;
}

enum strata_reason gang_limit(struct strata_cluster *cluster, const struct gang *gang)
{
	enum strata_reason reason = STRATA_REASON_NONE;
	const struct job *at = gang->first;

	/* as if they were placed one after the other */
	for (; at; at = at->gang_next) {
		reason = entity_limit(cluster, at->association, at->resources);
		if (reason != STRATA_REASON_NONE)
			break;
		entity_count_placed(at->association, at->resources->gpu_milli, 1);
	}
	for (const struct job *job = gang->first; job != at; job = job->gang_next)
		entity_count_placed(job->association, job->resources->gpu_milli, -1);
	return reason;
}

/* ---- starting ---- */

static void undo(struct strata_cluster *cluster, const struct gang *gang)
{
	for (struct job *job = gang->first; job; job = job->gang_next)
		if (job->claims)
			claim_release(cluster, job);
}

/* Each by the placement class, seeing what those before it took. */
static int take_best(struct strata_cluster *cluster, const struct gang *gang, struct spot *spots)
{
	int rc = 0;

	for (struct job *job = gang->first; rc == 0 && job; job = job->gang_next) {
		struct placing_rules rules = { .job = job };
		uint32_t count = placing_find(cluster, job->resources, 0, &rules, spots);

		rc = count ? claim_take(cluster, job, spots, count) : -EAGAIN;
	}
	return rc;
}

static int take_first(struct strata_cluster *cluster, const struct gang *gang,
		      const struct spot *spots, const uint32_t *counts)
{
	int rc = 0;

	for (struct job *job = gang->first; rc == 0 && job; job = job->gang_next) {
		rc = claim_take(cluster, job, spots, *counts);
		spots += *counts++;
	}
	return rc;
}

int64_t gang_longest_ns(const struct gang *gang)
{
	int64_t most_ns = 0;

	for (const struct job *at = gang->first; at; at = at->gang_next)
		most_ns = at->limit_ns > most_ns ? at->limit_ns : most_ns;
	return most_ns;
}

static bool ends_by(const struct strata_cluster *cluster, const struct gang *gang,
		    int64_t before_ns)
{
	for (const struct job *job = gang->first; job; job = job->gang_next)
		if (before_ns - cluster->now_ns < job->limit_ns)
			return false;
	return true;
}

/* What one attempt needs, in the arena: everything that can fail comes before anything is
 * placed. */
struct attempt {
	struct strata_room *rooms;   /* by row */
	struct spot *first, *best;   /* of all, each where it fits first; of one, by the class */
	uint32_t *counts;            /* of `first`, by job */
	struct strata_piece *pieces; /* for the effects */
};

static int prepare(struct pass *pass, const struct gang *gang, struct attempt *attempt)
{
	struct strata_cluster *cluster = pass->cluster;
	uint32_t spots = gang_spot_max(cluster, gang);

	attempt->rooms =
		strata_arena_array(pass->arena, cluster->node_count, sizeof(*attempt->rooms));
	attempt->first = strata_arena_array(pass->arena, spots, sizeof(*attempt->first));
	attempt->best = strata_arena_array(pass->arena, spots, sizeof(*attempt->best));
	attempt->counts = strata_arena_array(pass->arena, gang->size, sizeof(*attempt->counts));
	attempt->pieces = strata_arena_array(pass->arena, spots, sizeof(*attempt->pieces));
	if (!attempt->rooms || !attempt->first || !attempt->best || !attempt->counts ||
	    !attempt->pieces || pass_reserve(pass, gang->size))
		return strata_fail_memory(pass->err);
	for (uint32_t row = 0; row < cluster->node_count; row++) {
		const struct node *node = &cluster->nodes[row];

		attempt->rooms[row] = node->room;
		advance_room(node, gang->first, cluster->now_ns,
			     cluster->now_ns + gang_longest_ns(gang), &attempt->rooms[row]);
	}
	return 0;
}

static void commit(struct pass *pass, struct gang *gang, struct strata_piece *pieces)
{
	queue_remove(pass->cluster, gang->first);
	for (struct job *job = gang->first; job; job = job->gang_next) {
		job->gang_ready = false;
		pass_commit(pass, job, pieces);
		pieces += job->claim_count;
	}
}

/* The result of an attempt that came so far. */
static enum pass_result conclude(struct pass *pass, struct gang *gang, int rc,
				 struct strata_piece *pieces)
{
	if (rc == 0) {
		commit(pass, gang, pieces);
		return PASS_STARTED;
	}
	undo(pass->cluster, gang);
	strata_fail_memory(pass->err);
	return PASS_FAILED;
}

enum pass_result gang_start(struct pass *pass, struct gang *gang, const struct spot *spots)
{
	struct attempt attempt;
	uint32_t at = 0;

	if (prepare(pass, gang, &attempt))
		return PASS_FAILED;
	for (const struct job *job = gang->first; job; job = job->gang_next)
		attempt.counts[at++] = job->planned;
	return conclude(pass, gang, take_first(pass->cluster, gang, spots, attempt.counts),
			attempt.pieces);
}

enum pass_result gang_try(struct pass *pass, struct gang *gang, int64_t before_ns)
{
	struct strata_cluster *cluster = pass->cluster;
	struct attempt attempt;

	if (gang->failed == cluster->version || !ends_by(cluster, gang, before_ns))
		return PASS_NO_ROOM;
	if (prepare(pass, gang, &attempt))
		return PASS_FAILED;
	if (gang_fit(cluster, gang, attempt.rooms, false, attempt.first, attempt.counts) == 0) {
		gang->failed = cluster->advances ? 0 : cluster->version;
		return PASS_NO_ROOM;
	}
	int rc = take_best(cluster, gang, attempt.best);

	if (rc == -EAGAIN) {
		undo(cluster, gang);
		rc = take_first(cluster, gang, attempt.first, attempt.counts);
	}
	return conclude(pass, gang, rc, attempt.pieces);
}
