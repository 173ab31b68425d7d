/*
 * easy: the job at the head of the queue is promised the earliest time at which it will fit; jobs
 * behind it may start now if that does not delay it (Lifka, 1995).
 *
 * What would be gone by then is told by predictions, and a wrong one delays the head. It is
 * patient: only when it has waited past its first promise for half as long as it may run (an
 * option) are the others taken by their limits. Not so with predictions of placed jobs' ends too,
 * on which promises cannot be kept anyway.
 *
 * When only new jobs have come since the last pass, what was turned down then would be turned down
 * again: the shadow stands, and only the new ones are looked at.
 */
#include "cluster/backfill_easy.h"

#include <errno.h>
#include <stdlib.h>

const struct strata_option backfill_easy_options[] = {
	{ "low", STRATA_BOOL, offsetof(struct easy_conf, bands[STRATA_BAND_LOW]), .boolean = true,
	  .help = "jobs of the low band may be started out of order" },
	{ "normal", STRATA_BOOL, offsetof(struct easy_conf, bands[STRATA_BAND_NORMAL]),
	  .boolean = true, .help = "jobs of the normal band may be started out of order" },
	{ "high", STRATA_BOOL, offsetof(struct easy_conf, bands[STRATA_BAND_HIGH]), .boolean = true,
	  .help = "jobs of the high band may be started out of order" },
	{ "patience", STRATA_REAL, offsetof(struct easy_conf, patience), .real = { 0.5, 0, 1000 },
	  .help = "how long past its promise the first may be kept waiting by predictions",
	  .unit = "times its limit" },
	{ 0 }
};

/* Looks at the job groups behind the head in the order of the queue. */
static int fill_in_order(struct pass *pass, const struct easy_conf *conf, struct shadow *shadow,
			 struct job_group *job_group)
{
	while (job_group) {
		struct job_group *next = queue_job_group(tree_next(&job_group->in_order));
		size_t left = job_group->count;

		if (!conf->bands[job_group->band]) {
			job_group = next;
			continue;
		}
		enum pass_result result = pass_try(pass, job_group, shadow);

		if (result == PASS_FAILED)
			return -ENOMEM;
		job_group = result == PASS_STARTED ? pass_next(pass, job_group, next, left > 1)
						   : next;
	}
	return 0;
}

/* Looks only at jobs that have come since the last pass. */
static int fill_new(struct pass *pass, const struct easy_conf *conf, struct shadow *shadow)
{
	struct strata_cluster *cluster = pass->cluster;

	struct job *job;

	while ((job = queue_take_new(cluster))) {
		struct job_group *job_group = job->job_group;
		enum pass_result result = PASS_STARTED;

		/* jobs before it in its job group were turned down, and so would it be */
		if (!job_group || job_group->first != job || !conf->bands[job_group->band])
			continue;
		for (uint32_t left = job->elements; left > 0 && result == PASS_STARTED; left--)
			result = pass_try(pass, job_group, shadow);
		if (result == PASS_FAILED)
			return -ENOMEM;
	}
	return 0;
}

struct candidate {
	struct job_group *job_group;
	struct job *job; /* the job group's first when it was looked up */
	int64_t predicted_ns;
	size_t position;
};

static int compare_candidates(const void *a_any, const void *b_any)
{
	const struct candidate *a = a_any, *b = b_any;

	if (a->predicted_ns != b->predicted_ns)
		return a->predicted_ns < b->predicted_ns ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

/* Looks at the job groups behind the head, shortest first; jobs of one job group are equally
 * long. */
static int fill_shortest(struct pass *pass, const struct easy_conf *conf, struct shadow *shadow,
			 struct job_group *job_group)
{
	size_t room = tree_count(&pass->cluster->queue), count = 0;
	struct candidate *candidates = strata_arena_array(pass->arena, room, sizeof(*candidates));

	if (!candidates)
		return strata_fail_memory(pass->err);
	for (; job_group; job_group = queue_job_group(tree_next(&job_group->in_order)))
		if (conf->bands[job_group->band] &&
		    job_group->resources->failed != pass->cluster->version &&
		    job_group->resources->possible) {
			candidates[count] = (struct candidate){ .job_group = job_group,
								.job = job_group->first,
								.position = count };
			candidates[count++].predicted_ns =
				queue_predict(pass->cluster, job_group->first);
		}
	qsort(candidates, count, sizeof(*candidates), compare_candidates);
	for (size_t i = 0; i < count; i++) {
		size_t left = candidates[i].job_group->count;
		enum pass_result result = PASS_STARTED;

		while (left > 0 && result == PASS_STARTED) {
			result = pass_try(pass, candidates[i].job_group, shadow);
			left -= result == PASS_STARTED;
		}
		if (result == PASS_FAILED)
			return -ENOMEM;
	}
	return 0;
}

/* Tells the head what it may count on, and when its patience ends. A promise that was itself
 * made on predicted ends is no measure for that: it is early by design. */
static void promise(const struct strata_cluster *cluster, const struct easy_conf *conf,
		    struct shadow *shadow, bool reserved)
{
	struct job *job = shadow->job;
	bool never = shadow->start_ns == INT64_MAX;

	if (!job->suspended)
		job->reason = reserved ? STRATA_REASON_RESERVED
			      : never  ? STRATA_REASON_NODE_DOWN
				       : STRATA_REASON_RESOURCES;
	job->promised_ns = never ? 0 : shadow->start_ns;
	if (never)
		return;
	if (job->first_promised_ns == 0)
		job->first_promised_ns = shadow->start_ns;
	double firm_ns = (double)job->first_promised_ns + conf->patience * (double)job->limit_ns;

	if (!cluster->prediction->correct && firm_ns < (double)STRATA_TIME_NS_MAX)
		shadow->firm_ns = (int64_t)firm_ns;
}

/* Is every job that has come since the last pass behind this one? */
static bool all_behind(const struct strata_cluster *cluster, const struct job *job)
{
	void *mixed = (void *)&cluster->conf.mixed_bands;

	for (const struct job *at = cluster->new_first; at; at = at->next_new)
		if (at->job_group && at->job_group != job->job_group &&
		    queue_compare(&at->job_group->in_order, &job->job_group->in_order, mixed) < 0)
			return false;
	return true;
}

int backfill_easy_pass(struct pass *pass, const struct easy_conf *conf, struct easy_state *state,
		       bool shortest)
{
	struct strata_cluster *cluster = pass->cluster;
	struct shadow *shadow = &state->shadow;
	struct job_group *blocked;

	if (!cluster->changed && !shortest && !cluster->order->changes_with_time && shadow->job &&
	    all_behind(cluster, shadow->job))
		return fill_new(pass, conf, shadow);
	int rc = pass_start_head(pass, &blocked);

	shadow->job = NULL;
	queue_forget_new(cluster);
	if (rc || !blocked)
		return rc;
	rc = shadow_find(pass, blocked->first, shadow);
	if (rc)
		return rc;
	promise(cluster, conf, shadow, pass_reserved(pass, blocked->first));
	struct job_group *behind = queue_job_group(tree_next(&blocked->in_order));

	if (shortest)
		return fill_shortest(pass, conf, shadow, behind);
	return fill_in_order(pass, conf, shadow, behind);
}

static int easy_pass(struct pass *pass, const void *conf, void *state)
{
	return backfill_easy_pass(pass, conf, state, false);
}

const struct backfill_class backfill_easy = {
	.base = {
		.name = "easy",
		.summary = "jobs behind the head start if they do not delay it",
		.conf_size = sizeof(struct easy_conf),
		.options = backfill_easy_options,
	},
	.state_size = sizeof(struct easy_state),
	.pass = easy_pass,
};
