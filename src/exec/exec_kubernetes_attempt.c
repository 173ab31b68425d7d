/* Attempts that are pods: their files, their ends, and taking away what is left of them. */
#include "exec/exec_kubernetes.h"

#include "exec/leader.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SWEEP_AGAIN_NS (10 * STRATA_SECOND_NS)

enum { SWEEP_PAGE = 500, SWEEP_PAGES_MAX = 1000 };

struct kube_attempt *kube_attempt_find(struct kubernetes *kubernetes, struct exec_key key)
{
	char name[RECORD_NAME_BYTES];

	record_name(key, name);
	return map_text_get(&kubernetes->attempts, name, strlen(name));
}

/* ---- files ---- */

int kube_attempt_note(struct kubernetes *kubernetes, const struct kube_attempt *at,
		      const char *word, const struct strata_schema *schema, const void *record,
		      struct strata_error *err)
{
	const struct local *local = &kubernetes->local;
	int fd = journal_open(local->env, local->jobs, at->name, err);

	if (fd < 0)
		return fd;
	int rc = journal_add(local->env, fd, word, schema, record, true, &kubernetes->memory, err);

	close(fd);
	return rc;
}

int kube_attempt_order(struct kubernetes *kubernetes, const char *name,
		       struct exec_order *ret_order, struct strata_error *err)
{
	int fd = journal_open(kubernetes->local.env, kubernetes->local.jobs, name, err);

	if (fd < 0)
		return fd;
	int rc = journal_read_order(fd, &kubernetes->scratch, ret_order, err);

	close(fd);
	return rc;
}

int kube_attempt_refresh(struct kubernetes *kubernetes, struct kube_attempt *at,
			 struct strata_error *err)
{
	struct journal journal = { .lines_at = at->lines_at, .epoch = at->epoch };
	int fd = journal_open(kubernetes->local.env, kubernetes->local.jobs, at->name, err);
	int rc = fd < 0 ? fd : journal_read(fd, &kubernetes->scratch, &journal, err);

	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	if (!journal.lines_at || journal.ended)
		return strata_fail(err, -ENOENT, "attempt %s has ended", at->name);
	at->lines_at = journal.lines_at;
	at->epoch = journal.epoch;
	at->control = journal.control;
	at->claimed = journal.claimed;
	at->noted = at->noted || journal.given.id;
	at->started = journal.started;
	at->started_ns = journal.start.started_ns;
	if (journal.checkpoint.count > at->checkpoint_count)
		at->checkpoint_count = journal.checkpoint.count;
	return 0;
}

/* ---- beginning and ending to follow ---- */

/* Below what its pods see, which the service sees as well. */
static bool is_seen(const struct kubernetes *kubernetes, const char *path)
{
	const char *const *mounts = kubernetes->conf.mounts.items;

	for (size_t i = 0; i < kubernetes->conf.mounts.count; i++) {
		const char *where = strchr(mounts[i], '/');

		if (where && strncmp(path, where, strlen(where)) == 0 &&
		    (path[strlen(where)] == '/' || !path[strlen(where)]))
			return true;
	}
	return false;
}

static int copy_text(struct kube_attempt *at, const char *text, const char **ret_text,
		     struct strata_error *err)
{
	*ret_text = text ? strata_arena_text(&at->arena, text, strlen(text)) : NULL;
	return text && !*ret_text ? strata_fail_memory(err) : 0;
}

/* Relative to where the job is submitted from, as a job itself would open it. */
static int copy_output(struct kube_attempt *at, const struct exec_order *order,
		       struct strata_error *err)
{
	if (order->output && strcmp(order->output, "/dev/null") == 0)
		return 0; /* nobody wants it */
	if (!order->output || order->output[0] == '/')
		return copy_text(at, order->output, &at->output, err);
	at->output = strata_arena_printf(&at->arena, "%s/%s", order->directory, order->output);
	return at->output ? 0 : strata_fail_memory(err);
}

static int copy_order(struct kubernetes *kubernetes, struct kube_attempt *at,
		      const struct exec_order *order, struct strata_error *err)
{
	struct strata_list nodes = { 0 };
	int rc = kube_order_nodes(order, &kubernetes->scratch, &nodes, err);
	const char *const *names = nodes.items;

	at->parts = rc ? NULL : strata_arena_array(&at->arena, nodes.count, sizeof(*at->parts));
	if (rc == 0 && !at->parts)
		rc = strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < nodes.count; i++)
		rc = copy_text(at, names[i], &at->parts[i].node, err);
	at->part_count = rc ? 0 : nodes.count;
	at->time_limit_ns = order->time_limit_ns;
	at->grace_ns = order->grace_ns;
	at->append = order->append;
	at->mode = 0666 & ~(mode_t)order->umask;
	at->user = (struct launch_user){ .switches = geteuid() == 0,
					 .uid = (uid_t)order->uid,
					 .gid = (gid_t)order->gid };
	if (rc == 0)
		rc = copy_output(at, order, err);
	if (rc == 0 && order->checkpoint_dir && is_seen(kubernetes, order->checkpoint_dir))
		rc = copy_text(at, order->checkpoint_dir, &at->checkpoint_dir, err);
	return rc;
}

static void free_attempt(struct kube_attempt *at)
{
	for (size_t i = 0; i < at->part_count; i++) {
		kube_log_drop(at->parts[i].log);
		free(at->parts[i].pod);
	}
	strata_arena_fini(&at->arena);
	free(at);
}

void kube_attempt_drop(struct kubernetes *kubernetes, struct kube_attempt *at)
{
	map_text_remove(&kubernetes->attempts, at->name, strlen(at->name));
	free_attempt(at);
}

void kube_attempt_add(struct kubernetes *kubernetes, struct exec_key key)
{
	struct kube_attempt *at = calloc(1, sizeof(*at));
	struct exec_order order;
	struct strata_error err = { 0 };

	if (!at) {
		exec_queue_tell_trouble(&kubernetes->queue, key, -ENOMEM, "out of memory");
		return;
	}
	at->key = key;
	at->why = -1;
	record_name(key, at->name);
	strata_arena_init(&at->arena, &kubernetes->memory, 0);
	int rc = kube_attempt_order(kubernetes, at->name, &order, &err);

	if (rc == 0)
		rc = copy_order(kubernetes, at, &order, &err);
	if (rc == 0)
		rc = kube_attempt_refresh(kubernetes, at, &err);
	if (rc == 0)
		rc = map_text_put(&kubernetes->attempts, at->name, strlen(at->name), at, NULL);
	if (rc == 0)
		return;
	free_attempt(at);
	if (rc != -ENOENT)
		exec_queue_tell_trouble(&kubernetes->queue, key, rc, err.text);
}

/* ---- taking away ---- */

/* A grace of 0 would take the object away whether or not anything has ended: only what a kubelet
 * will never end is deleted like that. */
int kubernetes_delete(struct kubernetes *kubernetes, const char *kind, const char *name,
		      int64_t grace_ns, struct strata_error *err)
{
	json_t *body = json_pack(
		"{s:s,s:s,s:I}", "apiVersion", "v1", "kind", "DeleteOptions", "gracePeriodSeconds",
		(json_int_t)((grace_ns + STRATA_SECOND_NS - 1) / STRATA_SECOND_NS));
	struct kube_request request = { .method = KUBE_DELETE, .body = body };
	struct kube_answer answer;

	request.path = strata_arena_printf(&kubernetes->scratch, "/api/v1/namespaces/%s/%s/%s",
					   kubernetes->config.space, kind, name);
	if (!body || !request.path) {
		json_decref(body);
		return strata_fail_memory(err);
	}
	int rc = kube_call(kubernetes->client, &request, &answer, err);

	kube_answer_fini(&answer);
	json_decref(body);
	return rc == -ENOENT ? 0 : rc;
}

static void sweep_later(struct kubernetes *kubernetes)
{
	kubernetes->sweep_ns = kubernetes_now_ns(kubernetes) + SWEEP_AGAIN_NS;
}

/* After its end is written: what cannot be deleted now is left over, and swept up later. */
static void delete_objects(struct kubernetes *kubernetes, const struct kube_attempt *at)
{
	char name[KUBE_NAME_BYTES];
	int rc = 0;

	for (size_t i = 0; i < at->part_count; i++)
		if (at->claimed && !at->parts[i].gone)
			rc |= kubernetes_delete(
				kubernetes, "pods",
				kube_object_name(&kubernetes->conf, at->key, (int)i, name), 0,
				NULL);
	kube_object_name(&kubernetes->conf, at->key, -1, name);
	if (at->claimed)
		rc |= kubernetes_delete(kubernetes, "secrets", name, 0, NULL);
	if (at->claimed && at->part_count > 1)
		rc |= kubernetes_delete(kubernetes, "services", name, 0, NULL);
	if (rc)
		sweep_later(kubernetes);
}

static void remove_log_marks(struct kubernetes *kubernetes, const struct kube_attempt *at)
{
	char name[RECORD_NAME_BYTES + 24];

	for (size_t i = 0; i < at->part_count; i++) {
		snprintf(name, sizeof(name), "%s%s%zu", at->name, JOURNAL_LOG, i);
		unlinkat(kubernetes->local.jobs, name, 0);
	}
}

/* Written until that succeeds: it stays followed. */
void kube_attempt_end(struct kubernetes *kubernetes, struct kube_attempt *at,
		      const struct exec_status *status)
{
	char path[STRATA_PATH_BYTES_MAX];
	struct exec_status own = *status;

	own.job = (int64_t)at->key.job;
	own.attempt = at->key.attempt;
	own.epoch = at->epoch;
	if (!own.ended_ns)
		own.ended_ns = env_now_ns(kubernetes->local.env, ENV_REALTIME);
	if (at->saved.name[0] && at->checkpoint_dir) {
		snprintf(path, sizeof(path), "%s/%s", at->checkpoint_dir, at->saved.name);
		own.checkpoint = path;
		own.checkpoint_bytes = at->saved.size_bytes;
	}
	if (kube_attempt_note(kubernetes, at, JOURNAL_ENDED, &record_status_schema, &own, NULL))
		return;
	delete_objects(kubernetes, at);
	remove_log_marks(kubernetes, at);
	if (at->checkpoint_dir)
		rmdir(at->checkpoint_dir); /* if there is nothing in it */
	kube_attempt_drop(kubernetes, at);
}

/* ---- what is left over ---- */

/* No file, or one that says how it ended: whatever there is of it is not needed. What has been
 * ordered and is not followed yet has a file. */
static bool is_over(struct kubernetes *kubernetes, struct exec_key key)
{
	char name[RECORD_NAME_BYTES];
	struct journal journal = { 0 };
	struct strata_arena arena; /* of its own: there may be many, and large ones */
	int fd = journal_open(kubernetes->local.env, kubernetes->local.jobs, record_name(key, name),
			      NULL);

	if (fd < 0)
		return fd == -ENOENT;
	strata_arena_init(&arena, &kubernetes->memory, 0);
	int rc = journal_read(fd, &arena, &journal, NULL);

	strata_arena_fini(&arena);
	close(fd);
	return rc == 0 && (!journal.lines_at || journal.ended);
}

static void sweep_pods(struct kubernetes *kubernetes)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&kubernetes->pods, entry))) {
		const struct kube_cached *cached = entry->value;

		if (cached->ours && !cached->pod->deleting && is_over(kubernetes, cached->key) &&
		    kubernetes_delete(kubernetes, "pods", cached->pod->name, KUBE_GRACE_LEAST_NS,
				      NULL))
			sweep_later(kubernetes);
	}
}

static bool read_key(const json_t *object, struct exec_key *ret_key)
{
	const char *job = kube_text(object, "metadata", "labels", KUBE_LABEL_JOB, NULL);
	const char *attempt = kube_text(object, "metadata", "labels", KUBE_LABEL_ATTEMPT, NULL);
	int64_t one, other;

	if (strata_int_parse(job, STRATA_TEXT_NUL, 1, INT64_MAX, &one, NULL) ||
	    strata_int_parse(attempt, STRATA_TEXT_NUL, 1, UINT32_MAX, &other, NULL))
		return false;
	*ret_key = (struct exec_key){ (uint64_t)one, (uint32_t)other };
	return true;
}

static void sweep_page(struct kubernetes *kubernetes, const char *kind, const json_t *items)
{
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *object = json_array_get(items, i);
		struct exec_key key;

		if (read_key(object, &key) && is_over(kubernetes, key) &&
		    kubernetes_delete(kubernetes, kind, kube_text(object, "metadata", "name", NULL),
				      0, NULL))
			sweep_later(kubernetes);
	}
}

/* One page of a list; where the next begins, "" at its end. */
static int sweep_list(struct kubernetes *kubernetes, const char *kind, const char **where)
{
	struct strata_arena *arena = &kubernetes->scratch;
	struct kube_request request = { .method = KUBE_GET };
	struct kube_answer answer;
	const char *escaped = kube_escape(*where, arena);

	request.path = strata_arena_printf(arena, "/api/v1/namespaces/%s/%s",
					   kubernetes->config.space, kind);
	request.query = strata_arena_printf(arena,
					    "labelSelector=strata.io%%2Fcluster%%3D%s&limit=%d%s%s",
					    kubernetes->identity, SWEEP_PAGE,
					    **where ? "&continue=" : "", escaped ? escaped : "");
	if (!request.path || !request.query || !escaped)
		return -ENOMEM;
	int rc = kube_call(kubernetes->client, &request, &answer, NULL);

	if (rc == 0) {
		const char *next = kube_text(answer.body, "metadata", "continue", NULL);

		sweep_page(kubernetes, kind, json_object_get(answer.body, "items"));
		*where = strata_arena_text(arena, next, strlen(next));
		rc = *where ? 0 : -ENOMEM;
	}
	kube_answer_fini(&answer);
	return rc;
}

void kubernetes_sweep(struct kubernetes *kubernetes)
{
	static const char *const kinds[] = { "secrets", "services" };

	kubernetes->sweep_ns = 0;
	if (leader_check(kubernetes->local.env, kubernetes->local.jobs, LEADER_FROM_JOBS,
			 kubernetes->local.epoch, &kubernetes->memory, NULL))
		return;
	sweep_pods(kubernetes);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *where = "";
		int pages = 0;

		do
			if (sweep_list(kubernetes, kinds[i], &where)) {
				sweep_later(kubernetes);
				break;
			}
		while (*where && ++pages < SWEEP_PAGES_MAX);
	}
}
