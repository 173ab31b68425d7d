/* GET /api/v1/jobs/…/script: what a job runs, and the variables it was submitted with, from the
 * blobs that the store keeps of it. Variables may hold secrets, so both are its owner's and
 * operators'. */
#include "server/api_jobs.h"
#include "server/front.h"
#include "server/route.h"

#include <microhttpd.h>
#include <string.h>

static json_t *variables_json(const struct store_blob *blob)
{
	json_t *map = json_object();
	const char *at = blob->bytes ? blob->bytes : "", *end = at + blob->size_bytes;

	for (; map && at < end; at += strlen(at) + 1) {
		const char *value = strchr(at, '=');

		if (value)
			json_object_setn_new(map, at, (size_t)(value - at), json_string(value + 1));
	}
	return map;
}

static void get_script(struct request *request)
{
	struct strata_error err = { 0 };
	struct store_blob script = { 0 }, environment = { 0 };
	struct store *store;
	struct job job;

	if (!api_job_read(request, &job) || !api_job_may(request, &job))
		return;
	int rc = store_readers_take(request->front->readers, INT64_C(5000000000), &store, &err);

	if (rc == 0) {
		if (job.script)
			rc = store_blob_get(store, job.script, &request->arena, &script, &err);
		if (rc == 0 && job.environment)
			rc = store_blob_get(store, job.environment, &request->arena, &environment,
					    &err);
		store_readers_give(request->front->readers, store);
	}
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:o,s:o}", "script",
				 script.bytes ? json_stringn(script.bytes, script.size_bytes)
					      : json_null(),
				 "environment", variables_json(&environment)));
}

const struct route api_script_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs/*/script",
	  .summary = "what it runs, and its variables",
	  .role = ROLE_USER,
	  .parse = get_script,
	  .answer = "script environment" },
	{ 0 },
};
