/*
 * From an order to pods that run: claimed, made without a node, noted, bound. Pods run only once
 * they are bound, and they are bound only after it is noted that all of them are there; so what was
 * not noted has never run and may be made again, and what was noted is never made again. The
 * binding is the release: the API server takes one for each pod.
 */
#include "exec/exec_kubernetes.h"

#include "exec/launch.h"
#include "exec/leader.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_NS (2 * STRATA_SECOND_NS) /* until what failed is tried again */

/* Will it be otherwise in a while? Access may be given, quotas have room again. */
static bool passes(int rc)
{
	return rc == -EAGAIN || rc == -ENOMEM || rc == -ENOSPC || rc == -EDQUOT || rc == -EIO ||
	       rc == -EMFILE || rc == -ENFILE || rc == -ESTALE || rc == -EBUSY;
}

static int check_leader(struct kubernetes *kubernetes, struct strata_error *err)
{
	return leader_check(kubernetes->local.env, kubernetes->local.jobs, LEADER_FROM_JOBS,
			    kubernetes->local.epoch, &kubernetes->memory, err);
}

static int claim(struct kubernetes *kubernetes, struct kube_attempt *at, struct strata_error *err)
{
	const struct record_claim record = { getpid(), kubernetes->local.epoch,
					     env_now_ns(kubernetes->local.env, ENV_REALTIME) };

	pthread_mutex_lock(&kubernetes->claiming);
	int rc = check_leader(kubernetes, err);

	if (rc == 0)
		rc = kube_attempt_note(kubernetes, at, JOURNAL_CLAIMED, &record_claim_schema,
				       &record, err);
	pthread_mutex_unlock(&kubernetes->claiming);
	if (rc == 0)
		at->claimed = true;
	return rc;
}

/* ---- making ---- */

/* Is what is there under our name ours, and does it stay? */
static int check_twin(struct kubernetes *kubernetes, const char *path, const json_t *wanted,
		      struct strata_error *err)
{
	const char *name = kube_text(wanted, "metadata", "name", NULL);
	struct kube_request request = { .method = KUBE_GET };
	struct kube_answer answer;

	request.path = strata_arena_printf(&kubernetes->scratch, "%s/%s", path, name);
	if (!request.path)
		return strata_fail_memory(err);
	int rc = kube_call(kubernetes->client, &request, &answer, err);
	const json_t *there = kube_at(answer.body, "metadata", "labels", NULL);
	const json_t *labels = kube_at(wanted, "metadata", "labels", NULL);
	const char *label;
	json_t *value;

	if (rc == -ENOENT)
		rc = strata_fail(err, -EAGAIN, "%s was deleted while it was made", name);
	json_object_foreach((json_t *)labels, label, value)
	{
		if (rc == 0 && !json_equal(value, json_object_get(there, label)))
			rc = strata_fail(err, -EEXIST, "there is a %s that is not Strata's", name);
	}
	if (rc == 0 && kube_at(answer.body, "metadata", "deletionTimestamp", NULL))
		rc = strata_fail(err, -EAGAIN, "%s is being deleted", name);
	if (rc == 0 && strcmp(kube_text(answer.body, "kind", NULL), "Pod") == 0)
		rc = kubernetes_note_pod(kubernetes, answer.body);
	kube_answer_fini(&answer);
	return rc;
}

static int make(struct kubernetes *kubernetes, const char *kind, const json_t *object,
		struct strata_error *err)
{
	const char *path = strata_arena_printf(&kubernetes->scratch, "/api/v1/namespaces/%s/%s",
					       kubernetes->config.space, kind);
	const struct kube_request request = { .method = KUBE_POST, .path = path, .body = object };
	struct kube_answer answer;

	if (!path)
		return strata_fail_memory(err);
	int rc = kube_call(kubernetes->client, &request, &answer, err);

	if (rc == 0 && strcmp(kind, "pods") == 0)
		rc = kubernetes_note_pod(kubernetes, answer.body);
	/* a ResourceQuota of the namespace says 403 too, but has room again in a while */
	if (rc == -EACCES && strstr(err->text, "exceeded quota"))
		rc = err->code = -EDQUOT;
	/* ours, from before its making was known */
	if (rc == -EEXIST)
		rc = check_twin(kubernetes, path, object, err);
	kube_answer_fini(&answer);
	return rc;
}

static int make_all(struct kubernetes *kubernetes, const struct kube_objects *objects,
		    struct strata_error *err)
{
	int rc = make(kubernetes, "secrets", objects->secret, err);

	if (rc == 0 && objects->service)
		rc = make(kubernetes, "services", objects->service, err);
	for (size_t i = 0; rc == 0 && i < json_array_size(objects->pods); i++)
		if (exec_queue_is_stopping(&kubernetes->queue))
			rc = strata_fail(err, -EAGAIN, "the service ends"); /* the next goes on */
		else
			rc = make(kubernetes, "pods", json_array_get(objects->pods, i), err);
	return rc;
}

static int claim_and_make(struct kubernetes *kubernetes, struct kube_attempt *at,
			  struct strata_error *err)
{
	struct kube_objects objects = { 0 };
	struct exec_order order;
	const struct kube_log_from log = { .path = at->output, .user = at->user, .mode = at->mode };
	int rc = kube_attempt_order(kubernetes, at->name, &order, err);

	if (rc == 0 && at->output)
		rc = kube_log_check(&log, err);
	if (rc == 0)
		rc = kube_order_make(&kubernetes->conf, &order, &kubernetes->scratch, &objects,
				     err);
	if (rc == 0 && !at->claimed)
		rc = claim(kubernetes, at, err);
	if (rc == 0 && at->checkpoint_dir)
		rc = launch_make_checkpoint_dir(&order, &at->user, err);
	if (rc == 0)
		rc = make_all(kubernetes, &objects, err);
	kube_objects_fini(&objects);
	return rc;
}

/* ---- binding ---- */

/* An order that names no node goes to the first that is ready. */
static const char *any_node(const struct kubernetes *kubernetes)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&kubernetes->nodes, entry))) {
		const struct kube_seen_node *node = entry->value;

		if (node->ready && !node->unschedulable)
			return node->name;
	}
	return NULL;
}

static int bind_one(struct kubernetes *kubernetes, const struct kube_attempt *at, size_t index,
		    struct strata_error *err)
{
	const char *node = at->parts[index].node ? at->parts[index].node : any_node(kubernetes);
	char name[KUBE_NAME_BYTES];
	struct kube_request request = { .method = KUBE_POST };
	struct kube_answer answer;

	if (!node)
		return strata_fail(err, -EAGAIN, "no node of the cluster is ready");
	kube_object_name(&kubernetes->conf, at->key, (int)index, name);
	request.path = strata_arena_printf(&kubernetes->scratch,
					   "/api/v1/namespaces/%s/pods/%s/binding",
					   kubernetes->config.space, name);
	json_t *body = json_pack("{s:s,s:s,s:{s:s},s:{s:s,s:s,s:s}}", "apiVersion", "v1", "kind",
				 "Binding", "metadata", "name", name, "target", "apiVersion", "v1",
				 "kind", "Node", "name", node);

	request.body = body;
	if (!request.path || !body) {
		json_decref(body);
		return strata_fail_memory(err);
	}
	int rc = kube_call(kubernetes->client, &request, &answer, err);

	kube_answer_fini(&answer);
	json_decref(body);
	/* it is bound, is going or has gone: the watch tells which */
	return rc == -EBUSY || rc == -ENOENT ? 0 : rc;
}

static const struct kube_cached *cached_of(const struct kubernetes *kubernetes,
					   const struct kube_attempt *at, size_t index)
{
	char name[KUBE_NAME_BYTES], key[KUBE_NAME_BYTES + 256];

	kube_object_name(&kubernetes->conf, at->key, (int)index, name);
	snprintf(key, sizeof(key), "%s/%s", kubernetes->config.space, name);
	return map_text_get(&kubernetes->pods, key, strlen(key));
}

static int bind_all(struct kubernetes *kubernetes, struct kube_attempt *at,
		    struct strata_error *err)
{
	int rc = check_leader(kubernetes, err);

	for (size_t i = 0; rc == 0 && i < at->part_count; i++) {
		const struct kube_cached *cached = cached_of(kubernetes, at, i);

		if (!cached || !*cached->pod->node)
			rc = bind_one(kubernetes, at, i, err);
	}
	if (rc == 0) {
		at->bound = true;
		at->bound_ns = kubernetes_now_ns(kubernetes);
	}
	return rc;
}

/* ---- all of it ---- */

/* It never ran, and will not. What there is of it goes with it. */
static void end_unstarted(struct kubernetes *kubernetes, struct kube_attempt *at, int how,
			  const char *why)
{
	const struct exec_status status = { .how = how,
					    .error = why,
					    .error_code = how == EXEC_NOT_STARTED ? EREMOTEIO : 0 };

	kube_attempt_end(kubernetes, at, &status);
}

static int note_made(struct kubernetes *kubernetes, struct kube_attempt *at,
		     struct strata_error *err)
{
	const struct record_given given = { (int64_t)at->part_count };
	int rc =
		kube_attempt_note(kubernetes, at, JOURNAL_GIVEN, &record_given_schema, &given, err);

	at->noted = at->noted || rc == 0;
	return rc;
}

void kube_attempt_begin(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	struct strata_error err = { 0 };
	int rc = 0;

	if (kubernetes_now_ns(kubernetes) < at->again_ns || (at->noted && !kubernetes->pods_synced))
		return;
	at->again_ns = kubernetes_now_ns(kubernetes) + AGAIN_NS;
	if (!at->noted && at->control.stop) {
		end_unstarted(kubernetes, at, (int)at->control.stop - 1, NULL);
		return;
	}
	if (!at->noted) {
		if (kube_attempt_refresh(kubernetes, at, &err) == -ENOENT) {
			kube_attempt_drop(kubernetes,
					  at); /* forgotten before anything came of it */
			return;
		}
		rc = claim_and_make(kubernetes, at, &err);
		if (rc && !passes(rc)) {
			end_unstarted(kubernetes, at, EXEC_NOT_STARTED, err.text);
			return;
		}
		if (rc == 0)
			rc = note_made(kubernetes, at, &err);
	}
	/* it may have been cancelled meanwhile: then its pods go as they are */
	if (rc == 0 && kube_attempt_refresh(kubernetes, at, &err) == 0 && !at->control.stop)
		rc = bind_all(kubernetes, at, &err);
	if (rc == 0)
		at->again_ns = 0;
	if (rc && !passes(rc)) { /* bound or not, it does not stay so */
		at->why = EXEC_NOT_STARTED;
		snprintf(at->why_text, sizeof(at->why_text), "%s", err.text);
	}
	if (rc && !at->troubled && !(rc == -EAGAIN && kubernetes->away))
		exec_queue_tell_trouble(&kubernetes->queue, at->key, rc, err.text);
	at->troubled = rc != 0;
}
