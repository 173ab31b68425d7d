/*
 * The thread of the executor: takes what the watches tell of pods and nodes, what the owner asks
 * for, and the time; and does for each attempt what is due. It is the only one that asks the API
 * server for changes, one after the other.
 *
 * Nothing is lost because the server cannot be asked: only what a watch tells counts, and a watch
 * that is away tells nothing.
 */
#include "exec/exec_kubernetes.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TICK_NS STRATA_SECOND_NS /* between two looks at all of them */
/* Between two surveys: each is of all pods. */
#define SURVEY_NS (200 * STRATA_MS_NS)
#define SURVEY_POD_NS (50 * STRATA_US_NS)

int64_t kubernetes_now_ns(const struct kubernetes *kubernetes)
{
	return env_now_ns(kubernetes->local.env, ENV_MONOTONIC);
}

/* ---- pods ---- */

static void free_cached(struct kube_cached *cached)
{
	if (!cached)
		return;
	free(cached->pod);
	free(cached);
}

/* Whose it is, if it is of ours: by its labels and by its name, which nobody else has. */
static void find_owner(const struct kubernetes *kubernetes, const json_t *object,
		       struct kube_cached *cached)
{
	const json_t *labels = kube_at(object, "metadata", "labels", NULL);
	int64_t job, attempt, index;
	char name[KUBE_NAME_BYTES];

	if (strcmp(kube_text(labels, KUBE_LABEL_CLUSTER, NULL), kubernetes->identity) != 0 ||
	    strata_int_parse(kube_text(labels, KUBE_LABEL_JOB, NULL), STRATA_TEXT_NUL, 1, INT64_MAX,
			     &job, NULL) ||
	    strata_int_parse(kube_text(labels, KUBE_LABEL_ATTEMPT, NULL), STRATA_TEXT_NUL, 1,
			     UINT32_MAX, &attempt, NULL) ||
	    strata_int_parse(kube_text(labels, KUBE_LABEL_INDEX, NULL), STRATA_TEXT_NUL, 0,
			     INT32_MAX, &index, NULL))
		return;
	cached->key = (struct exec_key){ (uint64_t)job, (uint32_t)attempt };
	cached->index = (size_t)index;
	kube_object_name(&kubernetes->conf, cached->key, (int)index, name);
	cached->ours = strcmp(name, cached->pod->name) == 0 &&
		       strcmp(kubernetes->config.space, cached->pod->space) == 0;
}

static struct kube_cached *new_cached(const struct kubernetes *kubernetes, const json_t *object)
{
	struct kube_cached *cached = calloc(1, sizeof(*cached));
	struct kube_pod pod;

	if (!cached)
		return NULL;
	kube_pod_read(object, kubernetes->conf.gpu, &pod);
	cached->pod = kube_pod_copy(&pod);
	if (!cached->pod) {
		free_cached(cached);
		return NULL;
	}
	find_owner(kubernetes, object, cached);
	return cached;
}

static int put_pod(struct kubernetes *kubernetes, struct kube_cached *cached)
{
	void *old = NULL;
	const char *key = strata_arena_printf(&kubernetes->scratch, "%s/%s", cached->pod->space,
					      cached->pod->name);
	int rc = key ? map_text_put(&kubernetes->pods, key, strlen(key), cached, &old) : -ENOMEM;

	free_cached(rc ? cached : old);
	return rc;
}

int kubernetes_note_pod(struct kubernetes *kubernetes, const json_t *object)
{
	struct kube_cached *cached = new_cached(kubernetes, object);

	return cached ? put_pod(kubernetes, cached) : -ENOMEM;
}

static void mark(struct kubernetes *kubernetes, const struct kube_cached *cached)
{
	struct kube_attempt *at = cached->ours ? kube_attempt_find(kubernetes, cached->key) : NULL;

	if (at)
		at->dirty = true;
}

/* What it was when it went is how it ended. */
static void take_last(struct kubernetes *kubernetes, const struct kube_cached *gone,
		      struct kube_pod **last)
{
	struct kube_attempt *at = gone->ours ? kube_attempt_find(kubernetes, gone->key) : NULL;

	if (!at || gone->index >= at->part_count)
		return;
	struct kube_part *part = &at->parts[gone->index];

	part->gone = true;
	at->dirty = true;
	free(part->pod);
	part->pod = *last;
	*last = NULL;
}

/* After a list only its name is told: then it is as it was known before. */
static void remove_pod(struct kubernetes *kubernetes, struct kube_cached *told)
{
	const char *key = strata_arena_printf(&kubernetes->scratch, "%s/%s", told->pod->space,
					      told->pod->name);
	struct kube_cached *gone = key ? map_text_remove(&kubernetes->pods, key, strlen(key))
				       : NULL;
	bool says_more = told->ours;

	if (gone)
		take_last(kubernetes, gone, says_more ? &told->pod : &gone->pod);
	free_cached(gone);
	free_cached(told);
}

/* After a list: of those that were made since the watch told anything, is each still there? */
static void check_untold(struct kubernetes *kubernetes)
{
	const struct map_text_entry *entry = map_text_next(&kubernetes->pods, NULL), *next;

	for (; entry; entry = next) {
		const struct kube_cached *cached = entry->value;
		struct kube_request request = { .method = KUBE_GET };
		struct kube_answer answer;

		next = map_text_next(&kubernetes->pods, entry);
		if (cached->told)
			continue;
		request.path = strata_arena_printf(&kubernetes->scratch,
						   "/api/v1/namespaces/%s/pods/%s",
						   cached->pod->space, cached->pod->name);
		if (!request.path)
			return;
		if (kube_call(kubernetes->client, &request, &answer, NULL) == -ENOENT) {
			mark(kubernetes, cached);
			free_cached(
				map_text_remove(&kubernetes->pods, entry->key, entry->key_bytes));
		}
		kube_answer_fini(&answer);
	}
}

static void take_pod(struct kubernetes *kubernetes, const struct kube_watch_event *event)
{
	struct kube_cached *cached = new_cached(kubernetes, event->object);

	if (!cached)
		return;
	cached->told = true;
	kubernetes->changed = true;
	if (event->type == KUBE_DELETED) {
		remove_pod(kubernetes, cached);
	} else {
		mark(kubernetes, cached);
		put_pod(kubernetes, cached);
	}
}

/* ---- nodes ---- */

static void take_node(struct kubernetes *kubernetes, const struct kube_watch_event *event)
{
	struct kube_node node;
	void *old = NULL;

	kube_node_read(event->object, kubernetes->conf.gpu, &node);
	kubernetes->changed = true;
	if (event->type == KUBE_DELETED) {
		free(map_text_remove(&kubernetes->nodes, node.name, strlen(node.name)));
		return;
	}
	const struct kube_seen_node *before =
		map_text_get(&kubernetes->nodes, node.name, strlen(node.name));
	struct kube_seen_node *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return;
	seen->ready = node.ready;
	seen->unschedulable = node.unschedulable;
	seen->silent_ns = before && !before->ready ? before->silent_ns
						   : kubernetes_now_ns(kubernetes);
	snprintf(seen->name, sizeof(seen->name), "%s", node.name);
	snprintf(seen->message, sizeof(seen->message), "%s", node.message);
	if (map_text_put(&kubernetes->nodes, node.name, strlen(node.name), seen, &old))
		free(seen);
	free(old);
}

/* ---- what the watches tell ---- */

static void take_event(struct kubernetes *kubernetes, struct kube_watch *watch,
		       const struct kube_watch_event *event)
{
	bool pods = watch == kubernetes->pods_watch;

	switch (event->type) {
	case KUBE_TROUBLE:
		kubernetes->away = true;
		exec_queue_tell_trouble(&kubernetes->queue, (struct exec_key){ 0 }, event->code,
					event->error);
		break;
	case KUBE_SYNCED:
		*(pods ? &kubernetes->pods_synced : &kubernetes->nodes_synced) = true;
		if (pods) {
			check_untold(kubernetes);
			kubernetes->sweep_ns = kubernetes_now_ns(kubernetes);
		}
		break;
	case KUBE_FINE:
		kubernetes->away = false;
		break;
	default:
		if (pods)
			take_pod(kubernetes, event);
		else
			take_node(kubernetes, event);
	}
	json_decref(event->object);
}

static void take_events(struct kubernetes *kubernetes, struct kube_watch *watch)
{
	struct kube_watch_event event;

	while (kube_watch_next(watch, &event)) {
		take_event(kubernetes, watch, &event);
		strata_arena_reset(&kubernetes->scratch);
	}
}

/* ---- the thread ---- */

static void do_work(struct kubernetes *kubernetes, const struct exec_work *work)
{
	struct kube_attempt *at = kube_attempt_find(kubernetes, work->key);

	if (work->type == EXEC_FOLLOW && !at)
		kube_attempt_add(kubernetes, work->key);
	at = kube_attempt_find(kubernetes, work->key);
	if (!at)
		return;
	if (work->type == EXEC_DROP || kube_attempt_refresh(kubernetes, at, NULL) == -ENOENT) {
		kube_attempt_drop(kubernetes, at);
		return;
	}
	if (work->type == EXEC_FOLLOW) /* also after trouble */
		at->again_ns = 0;
	at->dirty = true;
}

static void step(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	struct exec_key key = at->key;

	at->dirty = false;
	if (!at->noted || (!at->bound && at->why < 0 && !at->control.stop))
		kube_attempt_begin(kubernetes, at);
	at = kube_attempt_find(kubernetes, key); /* it may have ended there */
	if (at && at->noted)
		kube_attempt_look(kubernetes, at);
}

static void step_all(struct kubernetes *kubernetes, bool tick)
{
	const struct map_text_entry *entry = map_text_next(&kubernetes->attempts, NULL), *next;

	/* each may take as long as the server lets it wait */
	for (; entry && !exec_queue_is_stopping(&kubernetes->queue); entry = next) {
		struct kube_attempt *at = entry->value;

		next = map_text_next(&kubernetes->attempts, entry);
		if (tick || at->dirty)
			step(kubernetes, at);
		strata_arena_reset(&kubernetes->scratch);
	}
}

static bool await(struct kubernetes *kubernetes, int64_t until_ns)
{
	struct pollfd fds[] = {
		{ kubernetes->queue.to_thread, POLLIN, 0 },
		{ kube_watch_fd(kubernetes->pods_watch), POLLIN, 0 },
		{ kube_watch_fd(kubernetes->nodes_watch), POLLIN, 0 },
		{ kubernetes->log_wake, POLLIN, 0 },
	};
	int64_t wait_ns = until_ns - kubernetes_now_ns(kubernetes);
	eventfd_t count;

	poll(fds, sizeof(fds) / sizeof(fds[0]),
	     wait_ns > 0 ? (int)((wait_ns + STRATA_MS_NS - 1) / STRATA_MS_NS) : 0);
	return eventfd_read(kubernetes->log_wake, &count) == 0;
}

static bool is_synced(const struct kubernetes *kubernetes)
{
	return kubernetes->pods_synced && kubernetes->nodes_synced;
}

static void round_of(struct kubernetes *kubernetes, bool tick)
{
	int64_t now_ns = kubernetes_now_ns(kubernetes);
	struct strata_error err;

	take_events(kubernetes, kubernetes->pods_watch);
	take_events(kubernetes, kubernetes->nodes_watch);
	step_all(kubernetes, tick);
	if (kubernetes->sweep_ns && now_ns >= kubernetes->sweep_ns && kubernetes->pods_synced)
		kubernetes_sweep(kubernetes);
	if (kubernetes->changed && now_ns >= kubernetes->survey_ns && is_synced(kubernetes)) {
		kubernetes->survey_ns = now_ns + SURVEY_NS +
					SURVEY_POD_NS * (int64_t)kubernetes->pods.count;
		kubernetes->changed = kubernetes_survey(kubernetes, &err) != 0;
		exec_queue_set_ready(&kubernetes->queue);
	}
	strata_arena_reset(&kubernetes->scratch);
}

static void *watch(void *context)
{
	struct kubernetes *kubernetes = context;
	struct exec_work *work = NULL;
	int64_t tick_ns = 0;

	while (exec_queue_take_work(&kubernetes->queue, &work)) {
		for (const struct exec_work *at = work; at; at = at->next)
			do_work(kubernetes, at);
		exec_work_free(work);
		bool tick = kubernetes_now_ns(kubernetes) >= tick_ns;

		if (tick)
			tick_ns = kubernetes_now_ns(kubernetes) + TICK_NS;
		round_of(kubernetes, tick);
		bool soon = kubernetes->changed && is_synced(kubernetes) &&
			    kubernetes->survey_ns < tick_ns;

		if (await(kubernetes, soon ? kubernetes->survey_ns : tick_ns))
			tick_ns = 0; /* some output has come home */
	}
	exec_work_free(work);
	return NULL;
}

/* ---- its beginning and end ---- */

static int open_watch(struct kubernetes *kubernetes, const char *path,
		      struct kube_watch **ret_watch, struct strata_error *err)
{
	const struct kube_watch_conf conf = { .config = &kubernetes->config,
					      .env = kubernetes->local.env,
					      .path = path };

	return kube_watch_open(&conf, ret_watch, err);
}

int kubernetes_watch_start(struct kubernetes *kubernetes, struct strata_error *err)
{
	const struct local *local = &kubernetes->local;
	int rc;

	kubernetes->log_wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (kubernetes->log_wake < 0)
		return strata_fail(err, -errno, "no descriptor: %s", strerror(errno));
	const struct kube_logs_conf logs = { &kubernetes->config, local->env, local->jobs,
					     kubernetes->log_wake };

	rc = kube_client_open(&kubernetes->config, local->env, &kubernetes->memory,
			      &kubernetes->client, err);
	if (rc == 0)
		rc = kube_logs_open(&logs, &kubernetes->logs, err);
	if (rc == 0)
		rc = open_watch(kubernetes, "/api/v1/pods", &kubernetes->pods_watch, err);
	if (rc == 0)
		rc = open_watch(kubernetes, "/api/v1/nodes", &kubernetes->nodes_watch, err);
	int code = rc ? 0 : pthread_create(&kubernetes->thread, NULL, watch, kubernetes);

	if (code)
		rc = strata_fail(err, -code, "no thread: %s", strerror(code));
	kubernetes->runs = rc == 0;
	return rc;
}

static void free_maps(struct kubernetes *kubernetes)
{
	const struct map_text_entry *entry;

	while ((entry = map_text_next(&kubernetes->attempts, NULL)))
		kube_attempt_drop(kubernetes, entry->value);
	while ((entry = map_text_next(&kubernetes->pods, NULL)))
		free_cached(map_text_remove(&kubernetes->pods, entry->key, entry->key_bytes));
	while ((entry = map_text_next(&kubernetes->nodes, NULL)))
		free(map_text_remove(&kubernetes->nodes, entry->key, entry->key_bytes));
}

void kubernetes_watch_stop(struct kubernetes *kubernetes)
{
	exec_queue_stop(&kubernetes->queue);
	kube_client_stop(kubernetes->client);
	if (kubernetes->runs)
		pthread_join(kubernetes->thread, NULL);
	kubernetes->runs = false;
	kube_watch_close(kubernetes->pods_watch);
	kube_watch_close(kubernetes->nodes_watch);
	free_maps(kubernetes);
	kube_logs_close(kubernetes->logs);
	kube_client_close(kubernetes->client);
	if (kubernetes->log_wake >= 0)
		close(kubernetes->log_wake);
	kubernetes->log_wake = -1;
	free(kubernetes->told);
	kubernetes->told = NULL;
}
