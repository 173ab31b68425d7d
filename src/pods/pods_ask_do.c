/*
 * One order. An answer that did not come says nothing: the binding may have been made. So a binding
 * is asked for again, and one that exists already is looked at: if it is the one that was wanted,
 * it is done. Nothing can be bound twice, because the API server refuses to bind a bound pod.
 */
#include "pods/pods_ask_int.h"

#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024 };
#define CALL_NS (5 * STRATA_SECOND_NS)
#define PAUSE_FIRST_NS (100 * STRATA_MS_NS)
#define PAUSE_MAX_NS (5 * STRATA_SECOND_NS)

/* Names of Kubernetes need no escapes in a path. */
static void pod_path(const struct pods_order *order, const char *rest, char ret_path[PATH_BYTES])
{
	snprintf(ret_path, PATH_BYTES, "/api/v1/namespaces/%s/pods/%s%s", order->space, order->name,
		 rest);
}

static void now_text(const struct asker *asker, char ret_text[STRATA_FORM_BYTES])
{
	int64_t now_ns = env_now_ns(asker->ask->conf.env, ENV_REALTIME);

	strata_time_print(now_ns / STRATA_SECOND_NS * STRATA_SECOND_NS, ret_text);
}

static int call(struct asker *asker, enum kube_method method, const char *path, json_t *body,
		struct kube_answer *answer, struct strata_error *err)
{
	struct kube_request request = {
		.method = method, .path = path, .body = body, .timeout_ns = CALL_NS
	};

	*answer = (struct kube_answer){ 0 };
	int rc = kube_call(asker->client, &request, answer, err);

	asker->pause_ns = answer->retry_after_ns;
	return rc;
}

/* Done and forgotten. */
static int send(struct asker *asker, enum kube_method method, const char *path, json_t *body,
		struct strata_error *err)
{
	struct kube_answer answer;
	int rc = body ? call(asker, method, path, body, &answer, err) : strata_fail_memory(err);

	if (body)
		kube_answer_fini(&answer);
	json_decref(body);
	return rc;
}

/* ---- events ---- */

/* The same pod and reason is one event, whose count grows. */
static int say(struct asker *asker, const struct pods_order *order, struct strata_error *err)
{
	const char *scheduler = asker->ask->conf.name;
	char name[PODS_EVENT_NAME_BYTES], path[PATH_BYTES], now[STRATA_FORM_BYTES];
	int rc = -ENOENT;

	now_text(asker, now);
	pods_say_event_name(order, name);
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events/%s", order->space, name);
	if (order->count > 1)
		rc = send(asker, KUBE_PATCH_MERGE, path,
			  json_pack("{s:I,s:s,s:s}", "count", (json_int_t)order->count, "message",
				    order->sentence, "lastTimestamp", now),
			  err);
	if (rc != -ENOENT)
		return rc;
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events", order->space);
	return send(asker, KUBE_POST, path, pods_say_event(order, name, scheduler, now), err);
}

static void say_about(struct asker *asker, const struct pods_order *order, const char *reason,
		      const char *sentence, bool warning)
{
	struct pods_order event = *order;

	event.kind = PODS_ORDER_EVENT;
	event.reason = reason;
	event.sentence = sentence;
	event.warning = warning;
	event.node = event.gpus = NULL;
	event.count = 1;
	(void)pods_ask_order(asker->ask, &event, NULL); /* what is too much is left out */
}

/* ---- bindings ---- */

/* A pod that could not be bound because of how it is: what has become of it? -EAGAIN: try again. */
static int look_again(struct asker *asker, struct asked *asked)
{
	const struct pods_order *order = &asked->order;
	struct kube_answer answer;
	char path[PATH_BYTES];

	pod_path(order, "", path);
	int rc = call(asker, KUBE_GET, path, NULL, &answer, &asked->err);
	const char *node = kube_text(answer.body, "spec", "nodeName", NULL);

	if (rc == -ENOENT ||
	    (rc == 0 && (strcmp(kube_text(answer.body, "metadata", "uid", NULL), order->uid) != 0 ||
			 *kube_text(answer.body, "metadata", "deletionTimestamp", NULL))))
		asked->outcome = PODS_GONE, rc = 0;
	else if (rc == 0 && *node)
		asked->outcome = strcmp(node, order->node) == 0 ? PODS_DONE : PODS_ELSEWHERE;
	else if (rc == 0)
		rc = -EAGAIN;
	kube_answer_fini(&answer);
	return rc;
}

static int bind(struct asker *asker, struct asked *asked)
{
	const struct pods_order *order = &asked->order;
	char path[PATH_BYTES], sentence[2 * PATH_BYTES];

	pod_path(order, "/binding", path);
	int rc = send(asker, KUBE_POST, path, pods_say_binding(order), &asked->err);

	if (rc == -EBUSY || rc == -EEXIST)
		rc = look_again(asker, asked);
	if (rc == -ENOENT)
		asked->outcome = PODS_GONE, rc = 0;
	if (rc || asked->outcome != PODS_DONE)
		return rc;
	snprintf(sentence, sizeof(sentence), "bound to node %s%s%s", order->node,
		 order->gpus ? ", GPUs " : "", order->gpus ? order->gpus : "");
	say_about(asker, order, "Scheduled", sentence, false);
	return 0;
}

/* ---- others ---- */

static int evict(struct asker *asker, struct asked *asked)
{
	const struct pods_order *order = &asked->order;
	char path[PATH_BYTES];

	pod_path(order, "", path);
	int rc = send(asker, KUBE_DELETE, path,
		      json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
				"preconditions", "uid", order->uid),
		      &asked->err);

	if (rc == 0)
		say_about(asker, order, order->reason, order->sentence, true);
	if (rc == -ENOENT || rc == -EBUSY) /* gone, or another pod of that name */
		asked->outcome = PODS_GONE, rc = 0;
	return rc;
}

static int save(struct asker *asker, struct asked *asked)
{
	const struct pods_order *order = &asked->order;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps/%s", order->space,
		 order->name);
	int rc = send(asker, KUBE_PATCH_MERGE, path,
		      json_pack("{s:{s:s}}", "data", "usage", order->sentence), &asked->err);

	if (rc != -ENOENT)
		return rc;
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps", order->space);
	return send(asker, KUBE_POST, path,
		    json_pack("{s:s,s:s,s:{s:s},s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
			      "metadata", "name", order->name, "data", "usage", order->sentence),
		    &asked->err);
}

static int tell(struct asker *asker, struct asked *asked)
{
	struct pods_order event = asked->order;
	char path[PATH_BYTES], now[STRATA_FORM_BYTES];

	now_text(asker, now);
	pod_path(&asked->order, "/status", path);
	int rc = send(asker, KUBE_PATCH_STRATEGIC, path, pods_say_condition(&asked->order, now),
		      &asked->err);

	event.reason = "FailedScheduling"; /* as kube-scheduler calls it */
	event.warning = true;
	return rc ? rc : say(asker, &event, &asked->err);
}

static int try(struct asker *asker, struct asked *asked)
{
	asked->outcome = PODS_DONE;
	switch (asked->order.kind) {
	case PODS_ORDER_BIND:
		return bind(asker, asked);
	case PODS_ORDER_EVICT:
		return evict(asker, asked);
	case PODS_ORDER_SAVE:
		return save(asker, asked);
	case PODS_ORDER_TELL:
		return tell(asker, asked);
	default:
		return say(asker, &asked->order, &asked->err);
	}
}

void pods_ask_do(struct asker *asker, struct asked *asked)
{
	bool insists = asked->order.kind == PODS_ORDER_BIND ||
		       asked->order.kind == PODS_ORDER_EVICT;
	int64_t pause_ns = PAUSE_FIRST_NS;
	int rc;

	while ((rc = try(asker, asked)) == -EAGAIN && insists) {
		if (asker->pause_ns > pause_ns) /* it has too much to do, and says how long */
			pause_ns = asker->pause_ns < PAUSE_MAX_NS ? asker->pause_ns : PAUSE_MAX_NS;
		if (!pods_ask_pause(asker->ask, pause_ns)) {
			asked->outcome = PODS_DROPPED;
			return;
		}
		pause_ns = 2 * pause_ns < PAUSE_MAX_NS ? 2 * pause_ns : PAUSE_MAX_NS;
	}
	if (rc)
		asked->outcome = PODS_REFUSED;
}
