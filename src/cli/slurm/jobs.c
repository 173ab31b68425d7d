/* Jobs from the service, as Slurm speaks of them: see jobs.h. */
#include "cli/slurm/jobs.h"

#include "cli/job_history.h"
#include "cli/service.h"

#include <strata/slurm.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_NS (300 * STRATA_SECOND_NS) /* an ended job is shown for so long: MinJobAge */

static int read_entities(struct cli *cli, struct slurm_jobs *jobs)
{
	json_t *json;
	int rc = service_list(cli, "users", &json);

	if (rc == 0) {
		jobs->users = json_incref(json_object_get(json, "users"));
		json_decref(json);
		rc = service_list(cli, "partitions", &json);
	}
	if (rc == 0) {
		jobs->partitions = json_incref(json_object_get(json, "partitions"));
		json_decref(json);
	}
	return rc;
}

/* All of jobs->json. */
static int read_all(struct cli *cli, struct slurm_jobs *jobs)
{
	size_t count = json_array_size(jobs->json), index;
	const json_t *row;
	int rc = 0;

	jobs->list = strata_arena_array(&cli->arena, count ? count : 1, sizeof(*jobs->list));
	if (!jobs->list)
		return strata_fail_memory(&cli->err);
	json_array_foreach(jobs->json, index, row)
	{
		if (rc == 0)
			rc = slurm_job_read(cli, jobs, row, &jobs->list[index]);
	}
	jobs->count = count;
	return rc;
}

/* Reads what jobs->json has; it is the caller's then. */
static int finish(struct cli *cli, struct slurm_jobs *jobs, struct slurm_jobs *ret_jobs)
{
	int rc = read_entities(cli, jobs);

	if (rc == 0)
		rc = read_all(cli, jobs);
	if (rc)
		slurm_jobs_fini(jobs);
	else
		*ret_jobs = *jobs;
	return rc;
}

int slurm_jobs_load(struct cli *cli, bool ended, struct slurm_jobs *ret_jobs)
{
	struct slurm_jobs jobs = { 0 };
	struct buf path;
	json_t *json;
	int rc;

	service_path(cli, &path, "queue", NULL, NULL);
	client_query(&path, "limit", "1000000");
	client_query(
		&path, "fields",
		"id,user,account,partition,qos,name,state,reason,reason_text,priority,nice,cpus,"
		"memory_bytes,gpus,gpu_type,working_dir,submitted_at,eligible_at,started_at,"
		"ended_at,time_limit_s,attempt,exit_code,exit_signal,array_id,array_index,"
		"array_throttle,"
		"dependencies,comment,output,error,expected_start_at,place,uid,gid,request,"
		"stopping,position,cancelled_by");
	client_query(&path, "ended", ended ? "1" : NULL);
	rc = service_get(cli, &path, &json);
	if (rc)
		return rc;
	jobs.json = json_incref(json_object_get(json, "jobs"));
	json_decref(json);
	return finish(cli, &jobs, ret_jobs);
}

struct keeping {
	json_t *list;
	const char *user;
};

static int keep(void *context, const json_t *job, struct strata_error *err)
{
	const struct keeping *keeping = context;

	if (keeping->user &&
	    !slurm_listed(keeping->user, grid_or(json_object_get(job, "user"), "")))
		return 0;
	return json_array_append(keeping->list, (json_t *)job) ? strata_fail_memory(err) : 0;
}

int slurm_jobs_history(struct cli *cli, const char *since, const char *user,
		       struct slurm_jobs *ret_jobs)
{
	struct slurm_jobs jobs = { .json = json_array() };
	struct keeping keeping = { jobs.json, user };
	int rc = history_walk(cli, since, keep, &keeping);

	if (rc)
		slurm_jobs_fini(&jobs);
	return rc ? rc : finish(cli, &jobs, ret_jobs);
}

/* One job; NULL: there is none, which is no failure. */
static int get_job(struct cli *cli, int64_t id, json_t **ret_json)
{
	struct buf path;
	char text[24];
	json_t *json = NULL;

	snprintf(text, sizeof(text), "%" PRId64, id);
	service_path(cli, &path, "jobs", text, NULL);
	int rc = service_get(cli, &path, &json);

	if (rc == 0 || rc == -ENOENT)
		*ret_json = json;
	return rc == -ENOENT ? 0 : rc;
}

int slurm_jobs_find(struct cli *cli, const char *name, struct slurm_jobs *ret_jobs)
{
	struct slurm_jobs jobs = { 0 };
	json_t *json;
	int64_t id;

	if (!name || strata_int_parse(name, STRATA_TEXT_NUL, 1, INT64_MAX, &id, NULL))
		return slurm_jobs_load(cli, true, ret_jobs);
	int rc = get_job(cli, id, &json);

	if (rc)
		return rc;
	if (grid_int(json, "array_id")) {
		json_decref(json);
		return slurm_jobs_load(cli, true, ret_jobs);
	}
	int64_t end_ns = when_json(json, "ended_at");

	jobs.json = json_array();
	if (json && (!end_ns || end_ns > when_now_ns() - KNOWN_NS))
		json_array_append(jobs.json, json);
	json_decref(json);
	return finish(cli, &jobs, ret_jobs);
}

/* All elements of an array, whose numbers follow each other, page by page. */
static int add_array(struct cli *cli, const json_t *job, json_t *list)
{
	const char *text = grid_string(json_object_get(job, "request"), "array");
	int64_t first = grid_int(job, "array_id"), after;
	struct strata_array array = { 0 };
	int rc = text ? strata_array_parse(text, STRATA_TEXT_NUL, &cli->arena, &array, &cli->err)
		      : 0;

	for (after = first + array.task_count; rc == 0 && after > first;) {
		char number[24];
		struct buf path;
		json_t *json, *page, *row;
		size_t index;

		snprintf(number, sizeof(number), "%" PRId64, after);
		service_path(cli, &path, "jobs", NULL, NULL);
		client_query(&path, "after", number);
		client_query(&path, "limit", "1000");
		rc = service_get(cli, &path, &json);
		if (rc)
			break;
		page = json_object_get(json, "jobs");
		after = json_array_size(page) ? after : first;
		json_array_foreach(page, index, row)
		{
			after = grid_int(row, "id");
			if (grid_int(row, "array_id") == first)
				json_array_append(list, row);
		}
		json_decref(json);
	}
	return rc;
}

int slurm_jobs_named(struct cli *cli, const char *list, struct slurm_jobs *ret_jobs)
{
	struct slurm_jobs jobs = { .json = json_array() };
	int rc = 0;

	for (const char *at = list; rc == 0 && *at;) {
		size_t span = strcspn(at, ","), digits = strspn(at, "0123456789");
		json_t *json = NULL;
		int64_t id;

		if (strata_int_parse(at, digits, 1, INT64_MAX, &id, NULL) == 0)
			rc = get_job(cli, id, &json);
		if (rc == 0 && grid_int(json, "array_id"))
			rc = add_array(cli, json, jobs.json);
		else if (json)
			json_array_append(jobs.json, json);
		json_decref(json);
		at += span + (at[span] == ',');
	}
	if (rc)
		slurm_jobs_fini(&jobs);
	return rc ? rc : finish(cli, &jobs, ret_jobs);
}

json_t *slurm_steps(struct cli *cli, const struct slurm_job *job)
{
	struct strata_error err = cli->err;
	json_t *json, *list;
	struct buf path;
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, grid_int(job->json, "id"));
	service_path(cli, &path, "jobs", id, "/steps");
	if (service_get(cli, &path, &json)) { /* a service that knows of none */
		cli->err = err;
		return json_array();
	}
	list = json_incref(json_object_get(json, "steps"));
	json_decref(json);
	return list ? list : json_array();
}

int slurm_job_script(struct cli *cli, const char *id, json_t **ret_json)
{
	struct client *client;
	struct buf path;
	int rc = service_open(cli, &client);

	if (rc)
		return rc;
	service_path(cli, &path, "jobs", id, "/script");
	rc = client_json(client,
			 &(const struct client_request){ .method = "GET", .path = path.text },
			 ret_json, &cli->err);
	buf_fini(&path);
	return rc;
}

void slurm_jobs_fini(struct slurm_jobs *jobs)
{
	json_decref(jobs->json);
	json_decref(jobs->users);
	json_decref(jobs->partitions);
	*jobs = (struct slurm_jobs){ 0 };
}

void slurm_tres(struct buf *buf, const struct slurm_job *job)
{
	buf_printf(buf, "cpu=%" PRId64, job->cpus);
	if (job->memory_bytes) {
		buf_add(buf, ",mem=");
		slurm_size_in(buf, job->memory_bytes, job->unit);
	}
	buf_printf(buf, ",node=%" PRId64 ",billing=%" PRId64, job->nodes, job->cpus);
	if (job->gpus)
		buf_printf(buf, ",gres/gpu=%" PRId64, job->gpus);
}

const char *slurm_hosts(struct cli *cli, const char *const *names, size_t count)
{
	const char *text = "";

	if (count && strata_hostlist_compress(names, count, &cli->arena, &text, &cli->err))
		return NULL;
	return text;
}

bool slurm_job_named(const struct slurm_job *job, const char *list)
{
	for (const char *at = list; *at;) {
		char *end;
		int64_t id = strtoll(at, &end, 10);
		size_t span = strcspn(at, ",");
		bool same = id == job->id || id == job->array_id;

		if (same && *end == '_' && end[1] != '[')
			same = id == job->array_id &&
			       strtoll(end + 1, &end, 10) == job->array_index;
		if (same)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}

bool slurm_job_on(struct cli *cli, const struct slurm_job *job, const char *hosts)
{
	const json_t *place = json_object_get(job->json, "place"), *piece;
	const char **names;
	size_t count, index;

	if (strata_hostlist_expand(hosts, STRATA_TEXT_NUL, &cli->arena, &names, &count, NULL))
		return false;
	json_array_foreach(place, index, piece)
	{
		for (size_t i = 0; i < count; i++)
			if (strcmp(names[i], grid_or(json_object_get(piece, "node"), "")) == 0)
				return true;
	}
	return false;
}

const char *slurm_job_note(const struct slurm_job *job, const char *option)
{
	return grid_string(json_object_get(job->request, "slurm"), option);
}

int slurm_job_compare(const void *left_any, const void *right_any)
{
	const struct slurm_job *left = left_any, *right = right_any;

	return (left->id > right->id) - (left->id < right->id);
}

/* ---- arrays ---- */

static bool foldable(const struct slurm_job *job)
{
	return job->array_id && job->pending && !grid_int(job->json, "attempt");
}

/* All that belong to the first of them, as one. */
static int fold_from(struct cli *cli, struct slurm_jobs *jobs, size_t first)
{
	struct slurm_job *job = &jobs->list[first];
	struct strata_array array;
	struct buf tasks;

	buf_init(&tasks, &cli->memory, 0);
	for (size_t i = first; i < jobs->count; i++) {
		struct slurm_job *other = &jobs->list[i];

		if (!other->json || other->array_id != job->array_id || !foldable(other) ||
		    (other->priority == 0) != (job->priority == 0))
			continue;
		buf_printf(&tasks, "%s%" PRId64, tasks.length ? "," : "", other->array_index);
		if (other != job)
			other->json = NULL; /* it is within the first now */
	}
	int rc = strata_array_parse(tasks.text, tasks.length, &cli->arena, &array, &cli->err);

	buf_fini(&tasks);
	array.limit = job->array_limit;
	if (rc == 0)
		rc = strata_array_print(&array, &cli->arena, &job->array_tasks, &cli->err);
	if (rc)
		return rc;
	job->id = job->array_id;
	job->id_text = strata_arena_printf(&cli->arena, "%" PRId64 "_[%s]", job->array_id,
					   job->array_tasks);
	return job->id_text ? 0 : strata_fail_memory(&cli->err);
}

int slurm_jobs_fold(struct cli *cli, struct slurm_jobs *jobs)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < jobs->count; i++)
		if (jobs->list[i].json && foldable(&jobs->list[i]))
			rc = fold_from(cli, jobs, i);
	for (size_t i = 0; rc == 0 && i < jobs->count; i++)
		if (jobs->list[i].json)
			jobs->list[kept++] = jobs->list[i];
	if (rc == 0)
		jobs->count = kept;
	return rc;
}
