/* POST /api/v1/jobs: one job, an array, or many at once. Scripts for Slurm (api_slurm.c) are one of them in the end. */
#include "server/route.h"

#include "core/text.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <string.h>

struct submissions {
	struct submission *list;
	size_t count;
	bool bulk;
	const char *key;  /* of all of them; NULL: none */
	json_t *warnings; /* for whoever submits; NULL: none. Ends with the answer */
};

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

		if (rc)
			return strata_fail_under(err, rc, "jobs[%zu]", index);
		json_incref(job);
		all->count++;
	}
	return 0;
}

static void drop(struct submissions *all)
{
	for (size_t i = 0; i < all->count; i++)
		json_decref(all->list[i].json);
	json_decref(all->warnings);
	all->warnings = NULL;
}

/* Of the header; it stands for the first job's. */
static int read_key(struct request *request, struct submissions *all, struct strata_error *err)
{
	all->key = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
					       "Idempotency-Key");
	if (!all->key)
		return 0;
	if (strlen(all->key) > STRATA_NAME_BYTES_MAX || !text_valid(all->key, strlen(all->key)))
		return strata_fail_at(err, -EINVAL, "request_key",
				      "the Idempotency-Key is not a text of up to %d bytes",
				      STRATA_NAME_BYTES_MAX);
	all->list[0].spec.request_key = all->key;
	return 0;
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
	request->parsed = all;
	if (rc) {
		drop(all);
		request_fail(request, rc, &err);
	}
}

void api_jobs_submit_parse(struct request *request)
{
	json_t *json = request_json(request);

	if (json)
		api_submit_read(request, json, NULL);
}

static json_t *ids_json(const int64_t *ids, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, json_integer(ids[i]));
	return list;
}

/* The same key as before: the same answer as before. */
static bool answered_before(struct server *server, struct request *request, const char *key)
{
	const struct live *live = key ? live_requested(server, request->who.user, key) : NULL;
	struct store_job row;
	json_t *ids;

	if (live) {
		row = live->row;
		request->durable = true; /* it may be of this very round */
	} else if (!key || store_job_requested(server->store, request->who.user, key,
					       &request->arena, &row, NULL)) {
		return false;
	}
	ids = json_array();
	json_array_append_new(ids, json_integer(row.id));
	request_answer(
		request, MHD_HTTP_OK,
		json_pack("{s:I,s:s,s:o}", "id", (json_int_t)row.id, "uuid", row.uuid, "ids", ids));
	return true;
}

void api_jobs_submit(struct server *server, struct request *request)
{
	struct submissions *all = request->parsed;
	const char *key = all->list[0].spec.request_key;
	struct strata_error err = { 0 };
	json_t *ids = json_array();
	const struct live *first = NULL;
	int rc = 0;

	if (answered_before(server, request, key)) {
		json_decref(ids);
		ids = NULL;
	}
	for (size_t i = 0; ids && rc == 0 && i < all->count; i++) {
		int64_t *taken;
		size_t count;

		rc = submission_take(server, &all->list[i], &request->who, &request->arena, &taken,
				     &count, &err);
		if (rc && all->bulk)
			strata_fail_under(&err, rc, "jobs[%zu]", i);
		if (rc == 0) {
			json_t *some = ids_json(taken, count);

			json_array_extend(ids, some);
			json_decref(some);
			if (!first)
				first = map_u64_get(&server->jobs, (uint64_t)taken[0]);
		}
	}
	json_t *warnings = json_incref(all->warnings);

	drop(all);
	if (!ids || rc)
		json_decref(warnings);
	if (!ids)
		return;
	if (rc) {
		/* those before it are taken back: a bulk is one submission */
		size_t index;
		json_t *id;

		json_array_foreach(ids, index, id)
		{
			struct live *live =
				map_u64_get(&server->jobs, (uint64_t)json_integer_value(id));

			strata_cluster_cancel(server->cluster, (uint64_t)live->row.id,
					      server_now_ns(server), NULL);
			live_update(server, live);
			live_ended(server, live, 0);
		}
		json_decref(ids);
		request_fail(request, rc, &err);
		return;
	}
	assert(first); /* a submission has at least one job */
	batch_event(server, first->row.id, "job.submitted",
		    json_pack("{s:s,s:I}", "user", request->who.user, "jobs",
			      (json_int_t)json_array_size(ids)));
	request->durable = true;
	json_t *answer =
		json_pack("{s:I,s:s,s:o,s:o}", "id", (json_int_t)first->row.id, "uuid",
			  first->row.uuid, "ids", ids, "array_id",
			  first->row.array_id ? json_integer(first->row.array_id) : json_null());

	if (warnings)
		json_object_set_new(answer, "warnings", warnings);
	request_answer(request, MHD_HTTP_CREATED, answer);
}
