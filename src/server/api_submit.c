/* POST /api/v1/jobs: one job, an array, or many at once. Scripts for Slurm (api_slurm.c) are one of
 * them in the end. */
#include "server/api_submit.h"

#include "core/text.h"
#include "server/decider.h"
#include "server/impossible_text.h"
#include "server/json_text.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/route.h"
#include "server/submit.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

struct submissions {
	struct submission *list;
	size_t count;
	bool bulk;
	char hash[STORE_HASH_BYTES]; /* of the request, if it has a key */
	json_t *warnings;            /* for whoever submits; NULL: none */
	bool warned_impossible;
	bool warned_nodes;      /* one of them is enough to say it */
};

static void warn(struct submissions *all, json_t *text)
{
	if (!all->warnings)
		all->warnings = json_array();
	json_array_append_new(all->warnings, text);
}

static int read_list(struct request *request, json_t *jobs, struct submissions *all,
		     struct strata_error *err)
{
	size_t count = json_array_size(jobs), index;
	json_t *job;

	if (!json_is_array(jobs) || count == 0 || count > STRATA_BULK_COUNT_MAX)
		return strata_fail_at(err, -EINVAL, "jobs", "jobs is not a list of 1 to %d jobs",
				      STRATA_BULK_COUNT_MAX);
	all->list = strata_arena_array(&request->arena, count, sizeof(*all->list));
	if (!all->list)
		return strata_fail_memory(err);
	all->bulk = true;
	json_array_foreach(jobs, index, job)
	{
		int rc = json_is_object(job)
				 ? submission_read(job, &request->arena, &all->list[index], err)
				 : strata_fail(err, -EINVAL, "it is not an object");

		if (rc == 0 && index > 0 && all->list[index].spec.request_key)
			rc = strata_fail_at(
				err, -EINVAL, "request_key",
				"a list of jobs has one key: the header Idempotency-Key, or "
				"request_key of the first job");
		if (rc)
			return strata_fail_under(err, rc, "jobs[%zu]", index);
		json_incref(job);
		all->count++;
	}
	return 0;
}

/* A request that the decider turns away unread, because the store is away or the service ends, has
 * them too. */
static void release(struct request *request)
{
	struct submissions *all = request->parsed;

	for (size_t i = 0; i < all->count; i++)
		json_decref(all->list[i].json);
	json_decref(all->warnings);
}

/* Of the header, which stands for the first job's, or that. An empty one is a variable that was not
 * set, and would make all jobs one. */
static int read_key(struct request *request, struct submissions *all, struct strata_error *err)
{
	const char *shown = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
							"Idempotency-Key");
	const char *key = shown ? shown : all->list[0].spec.request_key;
	size_t length = key ? strlen(key) : 0;

	if (key &&
	    (length == 0 || length > STRATA_NAME_BYTES_MAX || text_printable(key, length) < length))
		return strata_fail_at(err, -EINVAL, "request_key",
				      "the idempotency key has %zu bytes; expected 1 to %d, all "
				      "of them printable",
				      length, STRATA_NAME_BYTES_MAX);
	all->list[0].spec.request_key = key;
	return 0;
}

/* Who does not operate gets no more than usual, as in Slurm; said once, however many jobs there
 * are. */
static void cap_priorities(const struct request *request, struct submissions *all)
{
	bool capped = false;

	for (size_t i = 0; request->who.role < ROLE_OPERATOR && i < all->count; i++) {
		struct job_spec *spec = &all->list[i].spec;

		if (spec->fine_priority < 0 || spec->fine_priority <= -spec->nice)
			continue;
		spec->fine_priority = -1;
		json_object_del(all->list[i].json, "fine_priority");
		capped = true;
	}
	if (capped)
		warn(all, json_string("--priority has no effect: only operators may raise a job's "
				      "priority; it keeps its usual one"));
}

void api_submit_read(struct request *request, json_t *json, json_t *warnings)
{
	struct submissions *all = strata_arena_get(&request->arena, sizeof(*all));
	struct strata_error err = { 0 };
	int rc;

	if (!all) {
		json_decref(json);
		json_decref(warnings);
		strata_fail_memory(&err);
		request_fail(request, err.code, &err);
		return;
	}
	all->warnings = warnings;
	request->parsed = all;
	request->release = release;
	if (json_object_get(json, "jobs")) {
		rc = read_list(request, json_object_get(json, "jobs"), all, &err);
		json_decref(json);
	} else {
		all->list = strata_arena_get(&request->arena, sizeof(*all->list));
		rc = all->list ? submission_read(json, &request->arena, all->list, &err)
			       : strata_fail_memory(&err);
		all->count = rc == 0;
		if (rc)
			json_decref(json);
	}
	if (rc == 0)
		rc = read_key(request, all, &err);
	if (rc == 0)
		cap_priorities(request, all);
	if (rc == 0 && all->list[0].spec.request_key)
		store_blob_hash(request->body ? request->body : "", request->body_length,
				all->hash);
	if (rc)
		request_fail(request, rc, &err);
}

static void parse_jobs(struct request *request)
{
	json_t *json = request_json(request);

	if (json)
		api_submit_read(request, json, NULL);
}

/* So many numbers from the first on. */
static json_t *ids_json(int64_t first, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, json_integer(first + (json_int_t)i));
	return list;
}

/* A job that version 0.1.0 took with this key, which kept no answers. */
static int answered_by_job(struct decider *decider, struct request *request, const char *key,
			   struct strata_error *err)
{
	struct store_job row;
	int rc = store_job_requested(decider->store, request->who.user, key, &request->arena, &row,
				     err);

	if (rc == 0)
		request_answer(request, MHD_HTTP_OK,
			       json_pack("{s:I,s:s,s:o}", "id", (json_int_t)row.id, "uuid",
					 row.uuid, "ids", ids_json(row.id, 1)));
	return rc;
}

/* The same key as before: the same answer as before. False: nobody has asked with it. */
static bool answered_before(struct decider *decider, struct request *request, const char *key,
			    const char *hash)
{
	struct strata_error err = { 0 };
	struct store_answer answer;

	if (!key)
		return false;
	int rc = batch_answered(decider, request->who.user, key, &request->arena, &answer, &err);

	if (rc == 0 && strcmp(answer.request, hash) != 0) {
		request_refuse(request, MHD_HTTP_CONFLICT, "conflict",
			       "the key %.128s was used for another request; take another key",
			       key);
	} else if (rc == 0) {
		request->durable = true; /* it may be of this very round */
		request_give_text(request, MHD_HTTP_OK, NULL,
				  strndup(answer.body, answer.body_bytes));
	} else if (rc == -ENOENT) {
		rc = answered_by_job(decider, request, key, &err);
	}
	if (rc && rc != -ENOENT) /* whether it was answered is not known now */
		request_fail(request, rc, &err);
	return rc != -ENOENT;
}

/* The last that was taken: one that no node could take is refused, unless it is to wait for such a
 * node. */
static int check_possible(struct decider *decider, struct request *request,
			  struct strata_error *err)
{
	struct submissions *all = request->parsed;
	int64_t id = decider->next_id - 1;
	const struct job_spec *spec = &live_get(decider, id)->spec->spec;

	if (!spec->queue_anyway)
		return impossible_refuse(decider, id, spec, &request->arena, err);
	if (all->warned_impossible || !impossible_now(decider, id))
		return 0;
	json_t *sentences = impossible_sentences(decider, id, spec);
	const char *why = sentences ? impossible_joined(sentences, &request->arena) : NULL;

	json_decref(sentences);
	if (!why)
		return strata_fail_memory(err);
	all->warned_impossible = true;
	warn(all,
	     json_sprintf("no node could take this job now, however empty; it waits. %s", why));
	return 0;
}

/* A name that no node has is likely a mistake, though others of the list may take the job. */
static void warn_unknown_nodes(struct decider *decider, struct request *request)
{
	struct submissions *all = request->parsed;
	const struct job_spec *spec = &live_get(decider, decider->next_id - 1)->spec->spec;
	const char **names;
	size_t count, unknown = 0;

	if (all->warned_nodes || !spec->node_list || !*spec->node_list ||
	    strata_hostlist_expand(spec->node_list, STRATA_TEXT_NUL, &request->arena, &names,
				   &count, NULL))
		return;
	for (size_t i = 0; i < count; i++)
		if (!nodes_find(decider, names[i]))
			names[unknown++] = names[i];
	all->warned_nodes = true;
	if (unknown)
		warn(all, json_sprintf("there is no node %.80s%s; the job may run on the others",
				       names[0], unknown > 1 ? ", nor are others of the list there"
							     : ""));
}

/* All jobs or none: the caller undoes what is begun. */
static int take_all(struct decider *decider, struct request *request,
		    const struct submit_mark *mark, struct strata_error *err)
{
	struct submissions *all = request->parsed;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < all->count; i++) {
		rc = submit_take(decider, &all->list[i], &request->who, &request->arena, err);
		if (rc == 0)
			rc = check_possible(decider, request, err);
		if (rc == 0)
			warn_unknown_nodes(decider, request);
		if (rc && all->bulk)
			strata_fail_under(err, rc, "jobs[%zu]", i);
		if (rc == 0 && submit_count(decider, mark) > STRATA_SUBMISSION_JOBS_MAX)
			rc = strata_fail_at(
				err, -E2BIG, "jobs",
				"the submission has more than %d jobs, elements of arrays "
				"counted",
				STRATA_SUBMISSION_JOBS_MAX);
	}
	return rc;
}

/* Written at once: a tree of 100,000 numbers would keep everybody waiting for as long as a hundred
 * submissions. NULL: no memory. */
static char *answer_text(const struct job *first, size_t count, const json_t *warnings)
{
	char *said = warnings ? json_dumps(warnings, JSON_COMPACT) : NULL;
	struct strata_memory memory = { 0 }; /* of plain blocks, so that the answer can have it */
	struct buf buf;

	buf_init(&buf, &memory, 0);
	buf_printf(&buf, "{\"id\":%" PRId64 ",\"uuid\":\"%s\",\"ids\":[", first->id, first->uuid);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_char(&buf, ',');
		json_text_add_number(&buf, first->id + (int64_t)i);
	}
	buf_add(&buf, "],\"array_id\":");
	if (first->array_id)
		json_text_add_number(&buf, first->array_id);
	else
		buf_add(&buf, "null");
	if (warnings)
		buf_printf(&buf, ",\"warnings\":%s", said ? said : "");
	buf_add_char(&buf, '}');
	if (buf.failed || (warnings && !said)) {
		buf_fini(&buf);
		buf.text = NULL;
	}
	free(said);
	return buf.text;
}

/* Takes them in, with the event and the answer that go with them; or nothing of it. */
static int take_and_answer(struct decider *decider, struct request *request, const char *key,
			   const char *hash, struct strata_error *err)
{
	struct submissions *all = request->parsed;
	struct submit_mark mark = submit_begin(decider);
	int rc = take_all(decider, request, &mark, err);
	size_t count = submit_count(decider, &mark);

	if (rc == 0) {
		const struct live *live = live_get(decider, mark.first_id);
		char uuid[UUID_TEXT_BYTES];
		struct job first = job_element(&live->job, mark.first_id, uuid);
		char *text = answer_text(&first, count, all->warnings);

		rc = text ? 0 : strata_fail_memory(err);
		if (text)
			request_give_text(request, MHD_HTTP_CREATED, NULL, text);
	}
	if (rc) {
		submit_undo(decider, &mark);
		return rc;
	}
	batch_event(decider, mark.first_id, "job.submitted",
		    json_pack("{s:s,s:I}", "user", request->who.user, "jobs", (json_int_t)count));
	if (key)
		batch_answer(decider, request->who.user, key, hash, request->text);
	request->durable = true;
	return 0;
}

void api_submit_decide(struct decider *decider, struct request *request)
{
	struct submissions *all = request->parsed;
	const char *key = all->list[0].spec.request_key;
	struct strata_error err = { 0 };

	if (!answered_before(decider, request, key, all->hash)) {
		int rc = take_and_answer(decider, request, key, all->hash, &err);

		if (rc)
			request_fail(request, rc, &err);
	}
}

/* ---- routes ---- */

const struct route api_submit_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/jobs",
	  .summary = "submit",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_SERVER_BODY_BYTES_MAX,
	  .parse = parse_jobs,
	  .decide = api_submit_decide,
	  .body = &job_spec_schema,
	  .answer = "id ids",
	  .also = 201 },
	{ 0 },
};
