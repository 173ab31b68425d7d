/*
 * POST /api/v1/jobs/…/resubmit: a job that has ended, submitted once more as it was: the same
 * request, script and environment, under a new number. What it waited for then counts no more; an
 * element of an array keeps its index.
 */
#include "server/api_jobs.h"
#include "server/api_submit.h"
#include "server/front.h"
#include "server/route.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <string.h>

/* One of its blobs, in the request's arena; nothing where it has none. */
static int read_blob(struct request *request, const char *hash, struct store_blob *ret_blob,
		     struct strata_error *err)
{
	struct store *store;

	*ret_blob = (struct store_blob){ 0 };
	if (!hash)
		return 0;
	int rc = store_readers_take(request->front->readers, INT64_C(5000000000), &store, err);

	if (rc)
		return rc;
	rc = store_blob_get(store, hash, &request->arena, ret_blob, err);
	store_readers_give(request->front->readers, store);
	return rc;
}

/* NAME=value, each with its NUL, as an object. */
static json_t *environment_json(const struct store_blob *blob)
{
	const char *at = blob->bytes, *end = at + blob->size_bytes;
	json_t *json = json_object();

	for (; at < end; at += strlen(at) + 1) {
		const char *equals = strchr(at, '=');

		if (equals)
			json_object_setn_new(json, at, (size_t)(equals - at),
					     json_string(equals + 1));
	}
	return json;
}

/* The request it was submitted with, whole again; a new reference. */
static int rebuild(struct request *request, const struct job *job, json_t **ret_json,
		   struct strata_error *err)
{
	static const char *const past[] = { "request_key", "dependencies", "begin",    "hold",
					    "held_by",     "gang",         "gang_size" };
	struct store_blob script, environment;
	int rc = read_blob(request, job->script, &script, err);

	if (rc == 0)
		rc = read_blob(request, job->environment, &environment, err);
	if (rc)
		return rc;
	json_t *json = json_loads(job->request ? job->request : "{}", 0, NULL);

	if (!json)
		return strata_fail_memory(err);
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++)
		json_object_del(json, past[i]);
	if (script.bytes)
		json_object_set_new(json, "script", json_stringn(script.bytes, script.size_bytes));
	if (environment.bytes)
		json_object_set_new(json, "environment", environment_json(&environment));
	if (job->array_id)
		json_object_set_new(json, "array", json_sprintf("%" PRId64, job->array_index));
	*ret_json = json;
	return 0;
}

static void parse_resubmit(struct request *request)
{
	struct strata_error err = { 0 };
	struct job job;
	json_t *json = NULL;

	if (!api_job_read(request, &job))
		return;
	if (strcmp(request->who.user, job.user) != 0) {
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "job %" PRId64 " is %s's; only its owner submits it again", job.id,
			       job.user);
		return;
	}
	int rc = job.completed_ns
			 ? rebuild(request, &job, &json, &err)
			 : strata_fail(&err, -ESTALE,
				       "job %" PRId64 " has not ended; `strata requeue %" PRId64
				       "` sends it back to the queue",
				       job.id, job.id);

	if (rc)
		request_fail(request, rc, &err);
	else
		api_submit_read(request, json, NULL);
}

const struct route api_resubmit_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/jobs/*/resubmit",
	  .summary = "submit one that has ended again",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_resubmit,
	  .decide = api_submit_decide,
	  .answer = "id ids",
	  .also = 201 },
	{ 0 },
};
