/* One job of the service's JSON, as Slurm speaks of it. */
#include "cli/slurm/jobs.h"

#include "cli/service.h"

#include <strata/slurm.h>

#include <inttypes.h>
#include <string.h>

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

/* How a failed job ended, where the service has one word for it. */
static void read_failure(struct slurm_job *job)
{
	if (!when_json(job->json, "started_at")) {
		job->reason = "JobLaunchFailure";
		job->exit_signal = 53; /* as Slurm reports what could not be started */
	} else if (job->exit_signal) {
		job->reason = "RaisedSignal";
	}
}

static void read_state(struct slurm_job *job)
{
	struct slurm_status status;

	slurm_status_find(grid_string(job->json, "state"), grid_string(job->json, "reason"),
			  &status);
	job->state = status.state;
	job->reason = status.reason;
	job->pending = strcmp(job->state->code, "PD") == 0;
	job->ended = job_ended(job->json);
	if (strcmp(job->reason, "JobHeldUser") == 0 &&
	    strcmp(grid_or(json_object_get(job->request, "held_by"), ""), "operator") == 0)
		job->reason = "JobHeldAdmin";
	if (strcmp(job->state->code, "F") == 0)
		read_failure(job);
	if (json_is_true(json_object_get(job->json, "stopping")) && !job->ended)
		job->state = slurm_state_find("CG", 2);
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

/* Slurm's number: 10000 for a user who has used nothing, less with use; a band above or below; 0
 * for what is held. */
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

int slurm_job_read(struct cli *cli, const struct slurm_jobs *jobs, const json_t *json,
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
	read_state(job);
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
	if (job->cpus_per_task < 1 || slurm_job_note(job, "mincpus"))
		job->cpus_per_task = 1;
	job->memory_node_bytes = request_bytes(job, "memory");
	job->restarts = grid_int(json, "attempt") - !job->pending;
	if (job->restarts < 0)
		job->restarts = 0;
	text = grid_string(job->request, "array");
	if (job->array_id && text)
		strata_array_parse(text, STRATA_TEXT_NUL, &cli->arena, &array, NULL);
	job->array_limit = json_object_get(json, "array_throttle")
				   ? grid_int(json, "array_throttle")
				   : array.limit;
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
