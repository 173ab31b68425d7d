/* What is due for an attempt whose pods are there: it has started, it is to end, it has ended. */
#include "exec/exec_kubernetes.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AGAIN_NS (10 * STRATA_SECOND_NS) /* until one that does not go is deleted again */
#define LOG_WAIT_NS (20 * STRATA_SECOND_NS)  /* for the rest of the output */

/* ---- what is known of its pods ---- */

/* The pod as the watch told it last; one that it does not have has gone. */
static void look_at_part(struct kubernetes *kubernetes, struct kube_attempt *at, size_t index)
{
	struct kube_part *part = &at->parts[index];
	char name[KUBE_NAME_BYTES], key[KUBE_NAME_BYTES + 256];

	kube_object_name(&kubernetes->conf, at->key, (int)index, name);
	snprintf(key, sizeof(key), "%s/%s", kubernetes->config.space, name);
	const struct kube_cached *cached = map_text_get(&kubernetes->pods, key, strlen(key));
	struct kube_pod *copy = cached ? kube_pod_copy(cached->pod) : NULL;

	if (!cached)
		part->gone = true;
	if (!copy)
		return; /* what it was last stays */
	free(part->pod);
	part->pod = copy;
}

static bool all_over(const struct kube_attempt *at)
{
	bool over = true;

	for (size_t i = 0; i < at->part_count; i++)
		over = over && kube_part_over(&at->parts[i]);
	return over;
}

static bool any_failed(const struct kube_attempt *at)
{
	bool failed = false;

	for (size_t i = 0; i < at->part_count; i++)
		failed = failed || kube_part_failed(&at->parts[i]);
	return failed;
}

/* ---- its start ---- */

static void note_start(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	struct record_start start = { 0 };

	if (at->started)
		return;
	for (size_t i = 0; i < at->part_count; i++) {
		const struct kube_pod *pod = at->parts[i].pod;

		if (!pod || !pod->started)
			return;
		if (pod->started_ns > start.started_ns)
			start.started_ns = pod->started_ns;
	}
	at->started = kube_attempt_note(kubernetes, at, JOURNAL_STARTED, &record_start_schema,
					&start, NULL) == 0;
	at->started_ns = start.started_ns;
}

/* Bound long ago and not started: it says why, and goes. */
static void give_up(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	static const char *const never[] = { "InvalidImageName", "ErrImageNeverPull", NULL };
	bool late = at->bound_ns &&
		    kubernetes_now_ns(kubernetes) - at->bound_ns > kubernetes->conf.start_ns;

	for (size_t i = 0; !at->started && at->why < 0 && i < at->part_count; i++) {
		const struct kube_pod *pod = at->parts[i].pod;
		bool hopeless = false;

		if (!pod || pod->started || kube_part_over(&at->parts[i]))
			continue;
		for (size_t j = 0; never[j]; j++)
			hopeless = hopeless || strcmp(pod->reason, never[j]) == 0;
		if (!hopeless && !late)
			continue;
		at->why = EXEC_NOT_STARTED;
		snprintf(at->why_text, sizeof(at->why_text), "its pod does not start on %s: %s%s%s",
			 pod->node, *pod->reason ? pod->reason : "nothing is said",
			 *pod->message ? ": " : "", pod->message);
	}
}

/* ---- its end ---- */

static void look_at_limit(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	int64_t limit_ns = at->control.limit_ns ? at->control.limit_ns : at->time_limit_ns;
	int64_t now_ns = env_now_ns(kubernetes->local.env, ENV_REALTIME);

	if (at->control.stop && at->why < 0)
		at->why = (int)at->control.stop - 1;
	if (at->why < 0 && at->started_ns && limit_ns != STRATA_DURATION_UNLIMITED &&
	    now_ns - at->started_ns > limit_ns)
		at->why = EXEC_TIME_LIMIT;
}

/* A node that is silent for so long: its pods are taken for lost. */
static void look_at_node(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	int64_t now_ns = kubernetes_now_ns(kubernetes);

	for (size_t i = 0; i < at->part_count; i++) {
		struct kube_part *part = &at->parts[i];
		const char *name = part->pod ? part->pod->node : "";
		const struct kube_seen_node *node =
			map_text_get(&kubernetes->nodes, name, strlen(name));
		bool missing = *name && kubernetes->nodes_synced && !node;
		char pod[KUBE_NAME_BYTES];

		if (kube_part_over(part) || (!missing && (!node || node->ready)) ||
		    (!missing && now_ns - node->silent_ns < kubernetes->conf.lost_ns))
			continue;
		kube_object_name(&kubernetes->conf, at->key, (int)i, pod);
		/* without grace: there is no kubelet that would say that it has ended */
		if (kubernetes_delete(kubernetes, "pods", pod, 0, NULL))
			continue; /* tried again */
		part->gone = true;
		if (at->why < 0)
			at->why = EXEC_LOST;
		if (!*at->why_text)
			snprintf(at->why_text, sizeof(at->why_text), "its node %s %s", name,
				 missing ? "is not in the cluster any more" : "is silent");
	}
}

static int64_t grace_of(const struct kube_attempt *at)
{
	int64_t grace_ns = at->control.stop ? at->control.grace_ns : at->grace_ns;

	if (at->why == EXEC_NOT_STARTED || grace_ns < KUBE_GRACE_LEAST_NS)
		grace_ns = KUBE_GRACE_LEAST_NS;
	return grace_ns;
}

/* Told to end: by us, or because another of its pods has failed. */
static void stop_parts(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	int64_t now_ns = kubernetes_now_ns(kubernetes);

	if (at->why < 0 && !any_failed(at))
		return;
	for (size_t i = 0; i < at->part_count; i++) {
		struct kube_part *part = &at->parts[i];
		char name[KUBE_NAME_BYTES];

		if (kube_part_over(part) ||
		    (part->asked_ns && now_ns - part->asked_ns < ASK_AGAIN_NS))
			continue;
		kube_object_name(&kubernetes->conf, at->key, (int)i, name);
		if (kubernetes_delete(kubernetes, "pods", name, grace_of(at), NULL) == 0)
			part->asked_ns = now_ns;
	}
}

/* ---- its output and checkpoints ---- */

static void look_at_log(struct kubernetes *kubernetes, struct kube_attempt *at, size_t index)
{
	struct kube_part *part = &at->parts[index];
	char name[KUBE_NAME_BYTES], mark[RECORD_NAME_BYTES + 24], path[STRATA_PATH_BYTES_MAX];

	if (!at->output || !part->pod || !part->pod->started)
		return;
	if (!part->log && !part->gone) {
		kube_object_name(&kubernetes->conf, at->key, (int)index, name);
		snprintf(mark, sizeof(mark), "%s%s%zu", at->name, JOURNAL_LOG, index);
		if (index)
			snprintf(path, sizeof(path), "%s.%zu", at->output, index);
		else
			snprintf(path, sizeof(path), "%s", at->output);
		const struct kube_log_from from = { .space = kubernetes->config.space,
						    .pod = name,
						    .name = mark,
						    .path = path,
						    .user = at->user,
						    .mode = at->mode,
						    .append = at->append };

		part->log = kube_log_begin(kubernetes->logs, &from);
	}
	if (part->log && kube_part_over(part))
		kube_log_finish(part->log);
}

static void look_for_checkpoint(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	struct exec_order like = { .checkpoint_dir = at->checkpoint_dir, .checkpoint_place = true };
	char path[STRATA_PATH_BYTES_MAX];

	if (!at->checkpoint_dir || !saved_look(&at->user, at->checkpoint_dir, &at->saved))
		return;
	snprintf(path, sizeof(path), "%s/%s", at->checkpoint_dir, at->saved.name);
	struct record_checkpoint record = { .count = ++at->checkpoint_count,
					    .attempt = at->key.attempt,
					    .written_ns = at->saved.written_ns,
					    .path = path,
					    .step = -1,
					    .size_bytes = at->saved.size_bytes };

	saved_record(kubernetes->local.env, &at->user, &like, &record, &kubernetes->memory, NULL);
	kube_attempt_note(kubernetes, at, JOURNAL_CHECKPOINT, &record_checkpoint_schema, &record,
			  NULL);
}

/* The rest of its output is waited for, but not for ever: its node may be away. */
static bool is_quiet(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	int64_t now_ns = kubernetes_now_ns(kubernetes);
	bool quiet = true;

	if (!at->over_ns)
		at->over_ns = now_ns;
	for (size_t i = 0; i < at->part_count; i++)
		quiet = quiet && (!at->parts[i].log || kube_log_is_over(at->parts[i].log));
	return quiet || now_ns - at->over_ns > LOG_WAIT_NS;
}

void kube_attempt_look(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	struct exec_status status;

	if (!kubernetes->pods_synced)
		return; /* what is not seen yet has not gone */
	for (size_t i = 0; i < at->part_count; i++)
		look_at_part(kubernetes, at, i);
	note_start(kubernetes, at);
	look_at_limit(kubernetes, at);
	give_up(kubernetes, at);
	look_at_node(kubernetes, at);
	stop_parts(kubernetes, at);
	for (size_t i = 0; i < at->part_count; i++)
		look_at_log(kubernetes, at, i);
	look_for_checkpoint(kubernetes, at);
	if (!all_over(at) || !is_quiet(kubernetes, at))
		return;
	kube_status(at->parts, at->part_count, at->why, at->why_text, &status);
	kube_attempt_end(kubernetes, at, &status);
}
