/*
 * What a watch asks, and what the answers mean. What was told of each object (its uid and version)
 * is kept, so that a second list becomes differences: an object that is not in it was deleted, one
 * with another uid was deleted and made again.
 */
#include "kubernetes/kube_watch_int.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is known ---- */

static const char *make_key(const json_t *object, struct strata_arena *arena)
{
	return strata_arena_printf(arena, "%s/%s", kube_text(object, "metadata", "namespace", NULL),
				   kube_text(object, "metadata", "name", NULL));
}

static struct kube_known *new_known(const json_t *object, uint64_t list)
{
	const char *uid = kube_text(object, "metadata", "uid", NULL);
	const char *version = kube_text(object, "metadata", "resourceVersion", NULL);
	size_t length = strlen(uid) + 1;
	struct kube_known *known = malloc(sizeof(*known) + length + strlen(version) + 1);

	if (known) {
		known->uid = strcpy((char *)(known + 1), uid);
		known->version = strcpy(known->uid + length, version);
		known->list = list;
	}
	return known;
}

static int set_version(struct kube_watch *watch, const char *version)
{
	char *own = *version ? strdup(version) : NULL;

	if (!own)
		return *version ? -ENOMEM : 0;
	free(watch->version);
	watch->version = own;
	return 0;
}

void kube_watch_forget(struct kube_watch *watch)
{
	const struct map_text_entry *entry;

	while ((entry = map_text_next(&watch->known, NULL)))
		free(map_text_remove(&watch->known, entry->key, entry->key_bytes));
}

/* ---- telling ---- */

/* All there is left of an object that a list does not have any more. */
static json_t *make_remains(const struct map_text_entry *entry, const struct kube_known *known)
{
	const char *slash = strchr(entry->key, '/');

	return json_pack("{s:{s:s#,s:s,s:s}}", "metadata", "namespace", entry->key,
			 (int)(slash - entry->key), "name", slash + 1, "uid", known->uid);
}

static int tell_gone(struct kube_watch *watch, const char *key)
{
	const struct map_text_entry *entry = map_text_find(&watch->known, key, strlen(key));
	json_t *remains = make_remains(entry, entry->value);
	int rc = remains ? kube_watch_push(watch, KUBE_DELETED, remains, NULL) : -ENOMEM;

	if (rc)
		json_decref(remains);
	else
		free(map_text_remove(&watch->known, key, strlen(key)));
	return rc;
}

/* Gives it to the owner, whose it is alone from then on: no two threads hold one value. */
static int give(struct kube_watch *watch, enum kube_watch_type type, json_t **object)
{
	int rc = kube_watch_push(watch, type, *object, NULL);

	if (rc == 0)
		*object = NULL;
	return rc;
}

/* It is there: told unless it is as it was told before. */
static int tell_there(struct kube_watch *watch, const char *key, json_t **object)
{
	struct kube_known *old = map_text_get(&watch->known, key, strlen(key));
	struct kube_known *new = new_known(*object, watch->lists);
	int rc = new ? 0 : -ENOMEM;

	if (rc == 0 && old && strcmp(old->uid, new->uid) != 0) {
		rc = tell_gone(watch, key);
		old = NULL;
	}
	if (rc == 0 && old && strcmp(old->version, new->version) == 0) {
		old->list = watch->lists;
		free(new);
		return 0;
	}
	/* a place in the table first, so that what was told is known */
	if (rc == 0 && !old)
		rc = map_text_put(&watch->known, key, strlen(key), new, NULL);
	if (rc) {
		free(new);
		return rc;
	}
	rc = give(watch, old ? KUBE_MODIFIED : KUBE_ADDED, object);
	if (rc) {
		if (!old)
			map_text_remove(&watch->known, key, strlen(key));
		free(new);
		return rc;
	}
	if (old) {
		map_text_put(&watch->known, key, strlen(key), new, NULL);
		free(old);
	}
	return 0;
}

static int tell_deleted(struct kube_watch *watch, const char *key, json_t **object)
{
	if (!map_text_get(&watch->known, key, strlen(key)))
		return 0;
	int rc = give(watch, KUBE_DELETED, object);

	if (rc == 0)
		free(map_text_remove(&watch->known, key, strlen(key)));
	return rc;
}

/* Takes the object, whatever comes of it. */
static int tell(struct kube_watch *watch, json_t *object, bool deleted)
{
	struct strata_arena arena;
	int rc = -ENOMEM;

	json_object_del(kube_at(object, "metadata", NULL), "managedFields"); /* half of its size */
	strata_arena_init(&arena, &watch->memory, 0);
	const char *key = make_key(object, &arena);

	if (key)
		rc = deleted ? tell_deleted(watch, key, &object) : tell_there(watch, key, &object);
	strata_arena_fini(&arena);
	json_decref(object);
	return rc;
}

static int fail_code(int rc, struct strata_error *err)
{
	return rc == -ENOMEM ? strata_fail_memory(err) : strata_fail(err, rc, "%s", strerror(-rc));
}

/* ---- lists ---- */

static int take_page(struct kube_watch *watch, const json_t *page, struct strata_error *err)
{
	json_t *items = json_object_get(page, "items");
	int rc = 0;

	if (items && !json_is_array(items) && !json_is_null(items))
		return strata_fail(err, -EBADMSG, "the answer to %s is no list", watch->path);
	while (rc == 0 && json_array_size(items)) {
		json_t *object = json_incref(json_array_get(items, 0));

		json_array_remove(items, 0);
		rc = tell(watch, object, false);
	}
	return rc ? fail_code(rc, err) : 0;
}

static int tell_vanished(struct kube_watch *watch)
{
	const struct map_text_entry *entry = map_text_next(&watch->known, NULL), *next;
	int rc = 0;

	for (; rc == 0 && entry; entry = next) {
		const struct kube_known *known = entry->value;

		next = map_text_next(&watch->known, entry);
		if (known->list != watch->lists)
			rc = tell_gone(watch, entry->key);
	}
	return rc;
}

/* One request; a second one when the token has been renewed meanwhile. */
static int ask(struct kube_watch *watch, const struct kube_request *request, kube_sink *sink,
	       struct kube_answer *answer, struct strata_error *err)
{
	for (int tries = 0;; tries++) {
		struct kube_transfer transfer;

		*answer = (struct kube_answer){ 0 };
		int rc = kube_transfer_init(&transfer, watch->client, watch->curl, request, err);

		transfer.sink = sink;
		transfer.sink_context = watch;
		if (rc == 0)
			rc = kube_watch_perform(watch, &transfer, answer, err);
		kube_transfer_fini(&transfer);
		if (rc == 0 || answer->status != 401 || tries || !kube_client_renew(watch->client))
			return rc;
		kube_answer_fini(answer);
	}
}

/* The last page has been told: what was not in any of them has gone. */
static int end_list(struct kube_watch *watch, const json_t *page, struct strata_error *err)
{
	const char *version = kube_text(page, "metadata", "resourceVersion", NULL);
	int rc = tell_vanished(watch);

	if (rc == 0 && !*version)
		return strata_fail(err, -EBADMSG, "the list of %s has no resourceVersion",
				   watch->path);
	if (rc == 0)
		rc = set_version(watch, version);
	return rc ? fail_code(rc, err) : 0;
}

/* ret_next is the continue token of the next page, "" at the end; malloc's. */
static int list_page(struct kube_watch *watch, const char *where, char **ret_next,
		     struct strata_error *err)
{
	struct kube_request request = { .method = KUBE_GET,
					.path = watch->path,
					.timeout_ns = STRATA_MINUTE_NS };
	struct kube_answer answer = { 0 };
	struct strata_arena arena;
	int rc;

	strata_arena_init(&arena, &watch->memory, 0);
	const char *escaped = kube_escape(where, &arena);

	request.query = !escaped ? NULL
				 : strata_arena_printf(&arena, "limit=%" PRId64 "%s%s%s%s",
						       watch->conf.page, *where ? "&continue=" : "",
						       escaped, *watch->query ? "&" : "",
						       watch->query);
	rc = request.query ? ask(watch, &request, NULL, &answer, err) : strata_fail_memory(err);
	if (rc == 0)
		rc = take_page(watch, answer.body, err);
	const char *next = kube_text(answer.body, "metadata", "continue", NULL);

	if (rc == 0 && !*next)
		rc = end_list(watch, answer.body, err);
	if (rc == 0 && !(*ret_next = strdup(next)))
		rc = strata_fail_memory(err);
	kube_answer_fini(&answer);
	strata_arena_fini(&arena);
	return rc;
}

int kube_watch_list(struct kube_watch *watch, struct strata_error *err)
{
	char *where = strdup(""), *next = NULL;
	int rc = where ? 0 : strata_fail_memory(err);
	bool more = true;

	watch->lists++;
	while (rc == 0 && more) {
		rc = list_page(watch, where, &next, err);
		if (rc == 0) {
			free(where);
			where = next;
			more = *where;
		}
	}
	free(where);
	return rc ? rc : kube_watch_push(watch, KUBE_SYNCED, NULL, NULL);
}

/* ---- the stream ---- */

static int fail_event(struct kube_watch *watch, const json_t *object)
{
	int rc = json_integer_value(json_object_get(object, "code")) == 410 ? -ESTALE : -EAGAIN;

	return strata_fail(watch->err, rc, "the watch of %s was ended: %s", watch->path,
			   kube_text(object, "message", NULL));
}

/* Takes the object, whatever comes of it. */
static int take_event(struct kube_watch *watch, const char *type, json_t *object)
{
	const char *said = kube_text(object, "metadata", "resourceVersion", NULL);
	char *version = *said ? strdup(said) : NULL;
	bool deleted = strcmp(type, "DELETED") == 0;
	bool there = strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0;
	int rc = 0;

	if (strcmp(type, "ERROR") == 0)
		rc = fail_event(watch, object);
	else if (!*said)
		rc = strata_fail(watch->err, -EBADMSG, "an event of %s has no resourceVersion",
				 watch->path);
	else if (!version)
		rc = strata_fail_memory(watch->err);
	if (rc == 0 && (deleted || there)) {
		rc = tell(watch, object, deleted);
		object = NULL;
		if (rc)
			fail_code(rc, watch->err);
	}
	if (rc == 0 && set_version(watch, version)) /* bookmarks have nothing else */
		rc = strata_fail_memory(watch->err);
	free(version);
	json_decref(object);
	return rc;
}

static int take_line(struct kube_watch *watch)
{
	json_error_t where;
	json_t *event = json_loadb(watch->line.text, watch->line.length, 0, &where);
	json_t *object = json_incref(json_object_get(event, "object"));
	int rc;

	json_object_del(event, "object");
	if (!event && json_error_code(&where) == json_error_out_of_memory) {
		rc = strata_fail_memory(watch->err);
	} else if (!json_is_object(object)) {
		rc = strata_fail(watch->err, -EBADMSG, "a line of the watch of %s is no event",
				 watch->path);
	} else {
		rc = take_event(watch, kube_text(event, "type", NULL), object);
		object = NULL;
	}
	json_decref(object);
	watch->took = watch->took || rc == 0;
	json_decref(event);
	buf_reset(&watch->line);
	return rc;
}

static int take_bytes(void *context, const char *bytes, size_t count)
{
	struct kube_watch *watch = context;
	int rc = 0;

	kube_watch_look(watch); /* before anything that it says */
	while (rc == 0 && count) {
		const char *end = memchr(bytes, '\n', count);
		size_t span = end ? (size_t)(end - bytes) : count;

		if (span > STRATA_KUBE_LINE_BYTES_MAX - watch->line.length)
			return strata_fail(watch->err, -E2BIG, "an event of %s is too large",
					   watch->path);
		buf_add_bytes(&watch->line, bytes, span);
		if (watch->line.failed)
			return strata_fail_memory(watch->err);
		span += end != NULL;
		bytes += span;
		count -= span;
		if (end && watch->line.length)
			rc = take_line(watch);
	}
	return rc;
}

int kube_watch_follow(struct kube_watch *watch, struct strata_error *err)
{
	int64_t seconds = watch->conf.follow_ns / STRATA_SECOND_NS;
	struct kube_request request = {
		.method = KUBE_GET,
		.path = watch->path,
		/* the server ends it first */
		.timeout_ns = watch->conf.follow_ns + 30 * STRATA_SECOND_NS,
	};
	struct strata_error sink_err = { 0 };
	struct kube_answer answer = { 0 };
	struct strata_arena arena;
	int rc;

	strata_arena_init(&arena, &watch->memory, 0);
	const char *version = kube_escape(watch->version, &arena);

	request.query = !version ? NULL
				 : strata_arena_printf(&arena,
						       "watch=1&allowWatchBookmarks=true&"
						       "resourceVersion=%s&timeoutSeconds=%" PRId64
						       "%s%s",
						       version, seconds ? seconds : 1,
						       *watch->query ? "&" : "", watch->query);
	buf_reset(&watch->line);
	watch->took = false;
	watch->err = &sink_err;
	rc = request.query ? ask(watch, &request, take_bytes, &answer, err)
			   : strata_fail_memory(err);
	if (rc && sink_err.code)
		*err = sink_err;
	kube_answer_fini(&answer);
	strata_arena_fini(&arena);
	return rc && sink_err.code ? sink_err.code : rc;
}
