/*
 * Submissions: from a JSON object to rows, requests to the cluster and live jobs. What a client sends is kept as it was (but for its script and
 * environment, which are stored once by content), so that a restart makes the same request again.
 */
#include "server/depend.h"
#include "server/people.h"

#include "core/option.h"
#include "store/uuid.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading (HTTP threads) ---- */

/* {"A": "1", …} as "A=1\0…"; taken out of the object. */
static int take_environment(json_t *json, struct strata_arena *arena, struct submission *submission,
			    struct strata_error *err)
{
	json_t *map = json_object_get(json, "environment"), *value;
	const char *name;
	size_t bytes = 0;

	if (!map || json_is_null(map))
		return 0;
	if (!json_is_object(map))
		return strata_fail_at(err, -EINVAL, "environment",
				      "environment is not a map of texts");
	if (json_object_size(map) > STRATA_ENVIRONMENT_COUNT_MAX)
		return strata_fail_at(err, -EINVAL, "environment",
				      "environment has %zu variables; expected at most %d",
				      json_object_size(map), STRATA_ENVIRONMENT_COUNT_MAX);
	json_object_foreach(map, name, value)
	{
		if (!*name || strchr(name, '='))
			return strata_fail_at(err, -EINVAL, "environment",
					      "environment: '%.40s' is not the name of a variable",
					      name);
		if (!json_is_string(value))
			return strata_fail_at(err, -EINVAL, "environment",
					      "environment: the value of %.40s is not a text",
					      name);
		bytes += strlen(name) + strlen(json_string_value(value)) + 2;
	}
	char *text = strata_arena_get(arena, bytes + 1), *to = text;

	if (!text)
		return strata_fail_memory(err);
	json_object_foreach(map, name, value)
	{
		to = stpcpy(to, name);
		*to++ = '=';
		to = stpcpy(to, json_string_value(value)) + 1;
	}
	submission->environment = text;
	submission->environment_length = bytes;
	json_object_del(json, "environment");
	return 0;
}

int submission_read(json_t *json, struct strata_arena *arena, struct submission *ret_submission,
		    struct strata_error *err)
{
	struct submission submission = { .json = json };
	int rc = take_environment(json, arena, &submission, err);

	if (rc == 0)
		rc = strata_schema_defaults(&job_spec_schema, arena, &submission.spec, err);
	if (rc == 0)
		rc = option_read_json(&job_spec_schema, json, 0, arena, &submission.spec, err);
	if (rc)
		return rc;
	if (submission.spec.script) {
		submission.script = submission.spec.script;
		submission.script_length = strlen(submission.script);
		json_object_del(json, "script");
	}
	*ret_submission = submission;
	return 0;
}

/* ---- taking in (the decider) ---- */

static int fill_gang(struct server *server, const struct job_spec *spec, const char *user,
		     int64_t id, struct strata_job_request *request, struct strata_error *err)
{
	char key[2 * STRATA_NAME_BYTES_MAX + 2];
	uintptr_t number;

	if (!spec->gang)
		return 0;
	snprintf(key, sizeof(key), "%s/%s", user, spec->gang);
	number = (uintptr_t)map_text_get(&server->gangs, key, strlen(key));
	if (!number) {
		number = (uintptr_t)id;
		if (map_text_put(&server->gangs, key, strlen(key), (void *)number, NULL))
			return strata_fail_memory(err);
	}
	request->gang = number;
	request->gang_size = (uint32_t)spec->gang_size;
	return 0;
}

static char *command_json(const struct job_spec *spec)
{
	json_t *list = json_array();
	const char *const *words = spec->command.items;
	char *text;

	for (size_t i = 0; list && i < spec->command.count; i++)
		json_array_append_new(list, json_string(words[i]));
	text = list ? json_dumps(list, JSON_COMPACT) : NULL;
	json_decref(list);
	return text;
}

static void fill_row(const struct job_spec *spec, const struct strata_job_request *request,
		     const struct identity *who, struct store_job *row)
{
	uint32_t nodes = request->nodes ? request->nodes : 1;

	row->user = who->user;
	row->uid = who->uid;
	row->gid = who->gid;
	row->account = spec->account;
	row->partition = spec->partition;
	row->qos = spec->qos;
	row->name = request->name;
	row->state = "queued";
	row->reason = "none";
	row->band = request->band;
	row->priority = request->priority;
	row->gpu_count = (int64_t)request->gpus * request->tasks +
			 (int64_t)request->gpus_per_node * nodes + (request->gpu_milli > 0);
	row->gpu_type = spec->gpu_type;
	row->cpu_cores = (request->cpu_milli * request->tasks + 999) / 1000;
	row->memory_bytes = request->memory_bytes * request->tasks +
			    request->memory_per_node_bytes * nodes;
	row->working_dir = spec->working_dir;
	row->eligible_ns = request->begin_ns;
	row->time_limit_ns = request->time_limit_ns;
	row->comment = spec->comment;
}

/* Memory of all tasks or nodes together is a number that can be stored; what an earlier version took in is not asked. */
static int check_memory(const struct strata_job_request *request, struct strata_error *err)
{
	int64_t nodes = request->nodes ? request->nodes : 1, sum;

	if (__builtin_mul_overflow(request->memory_bytes, (int64_t)request->tasks, &sum))
		return strata_fail_at(err, -EINVAL, "memory_per_task",
				      "memory_per_task is %lld bytes, too much for %u tasks",
				      (long long)request->memory_bytes, request->tasks);
	if (__builtin_mul_overflow(request->memory_per_node_bytes, nodes, &sum))
		return strata_fail_at(err, -EINVAL, "memory",
				      "memory is %lld bytes, too much for %lld nodes",
				      (long long)request->memory_per_node_bytes, (long long)nodes);
	return 0;
}

/* Contents of the submission that are stored by their hash. */
static void put_blob(struct server *server, const void *bytes, size_t length,
		     char hash[STORE_HASH_BYTES])
{
	struct store_blob blob = { .hash = hash, .bytes = bytes, .size_bytes = length };

	store_blob_hash(bytes, length, hash);
	if (strcmp(server->batch.last_blob, hash) == 0)
		return; /* many jobs of one script come together */
	memcpy(server->batch.last_blob, hash, STORE_HASH_BYTES);
	batch_put(server, STORE_PUT(&blob));
}

/* One job: to the cluster, then into the batch. */
static int take_one(struct server *server, const struct store_job *row,
		    struct strata_job_request *request, struct strata_error *err)
{
	request->id = (uint64_t)row->id;
	request->user = row->user;
	int rc = strata_cluster_submit(server->cluster, request, row->created_ns, err);

	if (rc)
		return rc;
	struct live *live = live_new(server, row);

	if (!live) {
		strata_cluster_withdraw(server->cluster, request->id, NULL);
		return strata_fail_memory(err);
	}
	live_update(server, live);
	return 0;
}

/* The last first: an earlier one may be what a later one waits for. */
void submission_undo(struct server *server, const int64_t *ids, size_t count)
{
	while (count--) {
		struct live *live = map_u64_get(&server->jobs, (uint64_t)ids[count]);
		int rc = strata_cluster_withdraw(server->cluster, (uint64_t)ids[count], NULL);

		assert(live &&
		       rc == 0); /* it was taken in this round, and nothing was decided since */
		batch_leave(server, live);
		live_free(server, live);
	}
}

struct intake {
	struct server *server;
	const struct submission *submission;
	struct strata_job_request request;
	struct store_job row;
	struct strata_array array;
	int64_t *ids;
	size_t count;
};

static int take_all(struct intake *intake, struct strata_error *err)
{
	struct server *server = intake->server;
	int64_t index = strata_array_next(&intake->array, -1), first = server->next_id;
	int rc = 0;

	do {
		char uuid[UUID_TEXT_BYTES];

		rc = uuid_make(server->env, uuid, err);
		intake->row.id = server->next_id++;
		intake->row.uuid = uuid;
		if (intake->array.task_count) {
			intake->request.array = (uint64_t)first;
			intake->request.array_index = (uint32_t)index;
			intake->request.array_limit = (uint32_t)intake->array.limit;
			intake->row.array_id = first;
			intake->row.array_index = index;
		}
		if (rc == 0)
			rc = take_one(server, &intake->row, &intake->request, err);
		if (rc == 0)
			intake->ids[intake->count++] = intake->row.id;
		index = index < 0 ? -1 : strata_array_next(&intake->array, index);
	} while (rc == 0 && index >= 0);
	intake->row.uuid = NULL; /* each job has its own */
	if (rc)
		submission_undo(server, intake->ids, intake->count);
	return rc;
}

int submission_take(struct server *server, const struct submission *submission,
		    const struct identity *who, struct strata_arena *arena, int64_t **ret_ids,
		    size_t *ret_count, struct strata_error *err)
{
	struct job_spec own = submission->spec;
	const struct job_spec *spec = &own;
	struct intake intake = { .server = server, .submission = submission };
	struct spec_rules rules = server->rules;
	char script[STORE_HASH_BYTES], environment[STORE_HASH_BYTES];

	int rc = admit_submission(server, who, &own, arena, err);

	if (rc)
		return rc;
	people_partition_rules(server, own.partition, &rules);
	rc = spec_request(spec, &rules, server_now_ns(server), &intake.request, err);
	if (rc == 0)
		rc = check_memory(&intake.request, err);
	if (rc == 0 && spec->array && *spec->array) {
		rc = strata_array_parse(spec->array, STRATA_TEXT_NUL, arena, &intake.array, err);
		if (rc)
			strata_fail_under(err, rc, "array");
	}
	if (rc == 0)
		rc = depend_fill(server, spec, false, arena, &intake.request, err);
	if (rc == 0)
		rc = fill_gang(server, spec, who->user, server->next_id, &intake.request, err);
	if (rc)
		return rc;
	fill_row(spec, &intake.request, who, &intake.row);
	intake.row.created_ns = server_now_ns(server);
	intake.row.gang_id = (int64_t)intake.request.gang;
	intake.row.command = command_json(spec);
	if (own.node_exclude != submission->spec.node_exclude) /* nodes that are closed to it */
		json_object_set_new(submission->json, "node_exclude",
				    json_string(own.node_exclude));
	intake.row.spec = json_dumps(submission->json, JSON_COMPACT);
	intake.ids = strata_arena_array(
		arena, intake.array.task_count ? (size_t)intake.array.task_count : 1,
		sizeof(*intake.ids));
	if (!intake.row.command || !intake.row.spec || !intake.ids) {
		rc = strata_fail_memory(err);
	} else if (strlen(intake.row.command) > STRATA_STORE_TEXT_BYTES_MAX ||
		   strlen(intake.row.spec) > STRATA_STORE_TEXT_BYTES_MAX) {
		rc = strata_fail_at(
			err, -E2BIG, "command",
			"the job has %zu bytes without script and environment; expected up to %d",
			strlen(intake.row.spec), STRATA_STORE_TEXT_BYTES_MAX);
	} else {
		struct batch_mark mark = batch_mark(server);

		if (submission->script) {
			put_blob(server, submission->script, submission->script_length, script);
			intake.row.script = script;
		}
		if (submission->environment) {
			put_blob(server, submission->environment, submission->environment_length,
				 environment);
			intake.row.environment = environment;
		}
		rc = take_all(&intake, err);
		if (rc)
			batch_undo(server, &mark);
	}
	free((char *)intake.row.command);
	free((char *)intake.row.spec);
	if (rc)
		return rc;
	*ret_ids = intake.ids;
	*ret_count = intake.count;
	return 0;
}

int submission_restore(struct server *server, const struct store_job *row,
		       struct strata_arena *arena, struct job_spec *ret_spec,
		       struct strata_job_request *ret_request, struct strata_error *err)
{
	int rc = job_spec_restore(row->spec, arena, ret_spec, err);

	if (rc)
		return rc;
	if (row->script)
		ret_spec->script = "#!"; /* it is among the blobs */
	/* rules may have changed since it was taken in; it stays what it was */
	struct spec_rules rules = server->rules;

	rules.time_limit_ns_max = INT64_MAX;
	ret_spec->account = row->account;
	ret_spec->partition = row->partition;
	ret_spec->qos = row->qos;
	rc = spec_request(ret_spec, &rules, row->created_ns, ret_request, err);
	if (rc)
		return rc;
	ret_request->id = (uint64_t)row->id;
	ret_request->user = row->user;
	/* what has changed since */
	ret_request->band = (enum strata_band)row->band;
	ret_request->priority = row->priority;
	ret_request->time_limit_ns = row->time_limit_ns;
	ret_request->begin_ns = row->eligible_ns;
	if (row->array_id) {
		struct strata_array array;

		rc = strata_array_parse(ret_spec->array, STRATA_TEXT_NUL, arena, &array, err);
		ret_request->array = (uint64_t)row->array_id;
		ret_request->array_index = (uint32_t)row->array_index;
		ret_request->array_limit = rc ? 0 : (uint32_t)array.limit;
	}
	if (row->gang_id) {
		ret_request->gang = (uint64_t)row->gang_id;
		ret_request->gang_size = (uint32_t)ret_spec->gang_size;
	}
	return depend_fill(server, ret_spec, true, arena, ret_request, err);
}
