/* Jobs from the service, as Slurm speaks of them: see jobs.h. */
#include "cli/slurm/jobs.h"

#include "cli/history.h"
#include "cli/service.h"

#include <strata/slurm.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define KNOWN_NS (300 * STRATA_SECOND_NS) /* an ended job is shown for so long: MinJobAge */

static int64_t request_int(const struct slurm_job *job, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(job->request, key);

	return json_is_number(value) ? (int64_t)json_number_value(value) : otherwise;
}

/* "1G", or a number. */
static int64_t request_bytes(const struct slurm_job *job, const char *key)
{
	const char *text = grid_string(job->request, key);
	int64_t bytes = 0;

	if (!text)
		return request_int(job, key, 0);
	return strata_size_parse(text, STRATA_TEXT_NUL, 1, 0, &bytes, NULL) ? 0 : bytes;
}

static const char *named(const json_t *json, const char *key, const char *otherwise)
{
	const char *text = grid_string(json, key);

	return text ? text : otherwise;
}

static const json_t *find_named(const json_t *list, const char *name)
{
	const json_t *row;
	size_t index;

	json_array_foreach(list, index, row)
	{
		const char *other = grid_string(row, "name");

		if (other && strcmp(other, name) == 0)
			return row;
	}
	return NULL;
}

/* ---- one job ---- */

/* Nodes, CPUs, memory: of what it has or had, else of what it asks for. */
static bool read_place(struct cli *cli, struct slurm_job *job)
{
	const json_t *place = json_object_get(job->json, "place"), *piece;
	size_t index;
	size_t count = json_array_size(place);
	const char **names = strata_arena_array(&cli->arena, count ? count : 1, sizeof(*names));
	int64_t cpu_milli = 0;

	job->node_list = job->first_node = "";
	job->nodes = request_int(job, "nodes", 0) ? request_int(job, "nodes", 0) : 1;
	job->cpus = grid_int(job->json, "cpus");
	job->memory_bytes = grid_int(job->json, "memory_bytes");
	if (!names)
		return false;
	if (!count || job->pending)
		return true;
	job->memory_bytes = 0;
	json_array_foreach(place, index, piece)
	{
		names[index] = named(piece, "node", "?");
		cpu_milli += grid_int(piece, "cpu_milli");
		job->memory_bytes += grid_int(piece, "memory_bytes");
	}
	job->nodes = (int64_t)count;
	job->cpus = (cpu_milli + 999) / 1000;
	job->first_node = names[0];
	job->node_list = slurm_hosts(cli, names, count);
	return job->node_list;
}

static void read_times(struct slurm_job *job)
{
	const json_t *json = job->json;
	int64_t now_ns = when_now_ns(), begin_ns = when_json(json, "eligible_at");

	job->submit_ns = when_json(json, "submitted_at");
	job->eligible_ns = begin_ns > job->submit_ns ? begin_ns : job->submit_ns;
	job->limit_s = grid_int(json, "time_limit_s");
	job->start_ns = when_json(json, "started_at");
	job->end_ns = when_json(json, "ended_at");
	if (!job->start_ns && job->ended)
		job->start_ns = job->end_ns;
	if (job->pending) {
		job->start_ns = when_json(json, "expected_start_at");
		if (!job->start_ns && strcmp(job->reason, "BeginTime") == 0)
			job->start_ns = begin_ns;
	} else if (job->start_ns) {
		job->run_s = ((job->end_ns ? job->end_ns : now_ns) - job->start_ns) /
			     STRATA_SECOND_NS;
	}
	if (job->run_s < 0)
		job->run_s = 0;
	if (job->start_ns && !job->end_ns)
		job->end_ns = job->start_ns + job->limit_s * STRATA_SECOND_NS;
}

/* Slurm's number: 10000 for a user who has used nothing, less with use; a band above or below; 0 for what is held. */
static void read_priority(struct slurm_job *job, const json_t *users)
{
	const json_t *user = find_named(users, job->user),
		     *factor = json_object_get(user, "factor");
	int64_t share = (int64_t)(10000 * (json_is_number(factor) ? json_number_value(factor) : 1));
	const char *band = named(job->json, "priority", "normal");

	job->position = grid_int(job->json, "position");
	job->priority = share - grid_int(job->json, "nice");
	if (strcmp(band, "high") == 0)
		job->priority += 20000;
	else if (strcmp(band, "low") == 0)
		job->priority /= 10;
	if (job->priority < 1)
		job->priority = 1;
	if (strncmp(job->reason, "JobHeld", 7) == 0)
		job->priority = 0;
}

/* Only what is still waited for. */
static void read_dependency(struct cli *cli, struct slurm_job *job)
{
	struct strata_slurm_dependencies all;
	const char *text = grid_string(job->json, "dependencies"), *one;
	const char *how = strcmp(job->reason, "DependencyNeverSatisfied") == 0 || job->ended
				  ? "failed"
				  : "unfulfilled";

	if (strncmp(job->reason, "Dependency", 10) != 0 || !text ||
	    strata_slurm_dependencies_parse(text, STRATA_TEXT_NUL, &cli->arena, &all, NULL))
		return;
	for (size_t i = 0; i < all.count; i++) {
		struct strata_slurm_dependencies single = { &all.items[i], 1, all.any };

		if (strata_slurm_dependencies_print(&single, &cli->arena, &one, NULL) == 0)
			job->dependency = strata_arena_printf(
				&cli->arena, "%s%s%s(%s)", job->dependency ? job->dependency : "",
				!job->dependency ? ""
				: all.any        ? "?"
						 : ",",
				one, how);
	}
}

static void read_gres(struct cli *cli, struct slurm_job *job)
{
	int64_t count = request_int(job, "gpus_per_node", 0);
	const char *type = grid_string(job->request, "gpu_type");

	job->gpus = grid_int(job->json, "gpus");
	if (count)
		job->gres = strata_arena_printf(&cli->arena, "gres:gpu:%s%s%" PRId64,
						type ? type : "", type ? ":" : "", count);
}

static void read_limits(struct slurm_job *job, const json_t *partitions)
{
	const json_t *partition = find_named(partitions, job->partition);
	int64_t longest_s = grid_int(partition, "time_limit_max_s");
	bool waits = strcmp(job->reason, "Priority") == 0 || strcmp(job->reason, "Resources") == 0;

	if (job->pending && waits && longest_s && job->limit_s > longest_s)
		job->reason = "PartitionTimeLimit";
}

static int read_job(struct cli *cli, const struct slurm_jobs *jobs, const json_t *json,
		    struct slurm_job *job)
{
	struct strata_array array = { 0 };
	const char *text;

	*job = (struct slurm_job){ .arena = &cli->arena,
				   .json = json,
				   .request = json_object_get(json, "request") };
	job->id = grid_int(json, "id");
	job->array_id = grid_int(json, "array_id");
	job->array_index = grid_int(json, "array_index");
	job->exit_code = grid_int(json, "exit_code");
	job->exit_signal = grid_int(json, "exit_signal");
	slurm_state_read(job);
	job->user = named(json, "user", "?");
	job->account = named(json, "account",
			     named(find_named(jobs->users, job->user), "account", "(null)"));
	job->partition = named(json, "partition", "all");
	job->qos = named(json, "qos", SLURM_QOS);
	job->name = named(json, "name", "(null)");
	job->uid = grid_int(json, "uid");
	job->gid = grid_int(json, "gid");
	job->tasks = request_int(job, "tasks", 1);
	job->cpus_per_task = request_int(job, "cpus_per_task", 1);
	job->memory_node_bytes = request_bytes(job, "memory");
	job->restarts = grid_int(json, "attempt") - !job->pending;
	if (job->restarts < 0)
		job->restarts = 0;
	text = grid_string(job->request, "array");
	if (job->array_id && text)
		strata_array_parse(text, STRATA_TEXT_NUL, &cli->arena, &array, NULL);
	job->array_limit = array.limit;
	read_times(job);
	read_priority(job, jobs->users);
	read_limits(job, jobs->partitions);
	read_dependency(cli, job);
	read_gres(cli, job);
	job->id_text = job->array_id ? strata_arena_printf(&cli->arena, "%" PRId64 "_%" PRId64,
							   job->array_id, job->array_index)
				     : strata_arena_printf(&cli->arena, "%" PRId64, job->id);
	return read_place(cli, job) && job->id_text ? 0 : strata_fail_memory(&cli->err);
}

void slurm_job_command(struct buf *buf, const struct slurm_job *job)
{
	const char *script = grid_string(job->request, "script_name"),
		   *dir = grid_string(job->json, "working_dir");

	if (!script || strcmp(script, "wrap") == 0 || strcmp(script, "stdin") == 0)
		buf_add(buf, "(null)");
	else if (*script == '/' || !dir)
		buf_add(buf, script);
	else
		buf_printf(buf, "%s/%s", dir, script);
}

void slurm_job_output(struct buf *buf, const struct slurm_job *job, const char *which)
{
	struct strata_output_values values = { .job = job->id,
					       .array_job = job->array_id ? job->array_id : job->id,
					       .task = job->array_id ? job->array_index
								     : STRATA_TASK_NONE,
					       .step = -1,
					       .node = 0,
					       .rank = 0,
					       .host = *job->first_node ? job->first_node : NULL,
					       .user = job->user,
					       .name = job->name };
	const char *known = job->array_tasks ? NULL : grid_string(job->json, which);
	const char *pattern = grid_string(job->request, which),
		   *dir = grid_string(job->json, "working_dir");

	if (!pattern)
		pattern = grid_string(job->request, "output");
	if (!pattern)
		pattern = job->array_id ? "strata-%A_%a.out" : "strata-%j.out";
	if (!known && strata_output_expand(pattern, &values, job->arena, &known, NULL))
		known = pattern;
	if (*known != '/' && dir)
		buf_printf(buf, "%s/", dir);
	buf_add(buf, known);
}

/* ---- lists ---- */

static int read_people(struct cli *cli, struct slurm_jobs *jobs)
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
			rc = read_job(cli, jobs, row, &jobs->list[index]);
	}
	jobs->count = count;
	return rc;
}

/* Reads what jobs->json has; it is the caller's then. */
static int finish(struct cli *cli, struct slurm_jobs *jobs, struct slurm_jobs *ret_jobs)
{
	int rc = read_people(cli, jobs);

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

	if (keeping->user && !slurm_listed(keeping->user, named(job, "user", "")))
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

void slurm_jobs_fini(struct slurm_jobs *jobs)
{
	json_decref(jobs->json);
	json_decref(jobs->users);
	json_decref(jobs->partitions);
	*jobs = (struct slurm_jobs){ 0 };
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
