/*
 * Sending a job that Slurm's options describe. What the service and Slurm see differently is
 * settled here: dependencies on jobs that are not known (Slurm: met), or that can never be met
 * (Slurm: waits for ever), time limits above the largest (Slurm: waits for ever), a nice below 0
 * without the right to it (Slurm: 0). The user gets what Slurm would do, and a line that says so.
 */
#include "cli/slurm/slurm_batch.h"

#include "core/env.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS (200 * STRATA_MS_NS) /* between two looks of --wait */

int slurm_batch_init(struct batch *batch, struct cli *cli, const char *program)
{
	int64_t now_ns = when_now_ns();
	char *here = getcwd(NULL, 0);

	if (!here) {
		slurm_error(cli, program, "getcwd failed: %s", strerror(errno));
		return 1;
	}
	*batch = (struct batch){
		.cli = cli,
		.program = program,
		.caller = { .env = (const char *const *)environ,
			    .working_dir = strata_arena_text(&cli->arena, here, strlen(here)),
			    .umask = service_own_umask(cli),
			    .now_ns = now_ns,
			    .zone_seconds = when_zone(now_ns) },
	};
	free(here);
	return 0;
}

/* ---- what is said ---- */

void slurm_batch_note(const struct batch *batch, const char *format, ...)
{
	va_list list;

	if (batch->job.quiet)
		return;
	cli_flush(batch->cli);
	fputs("strata: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}

int slurm_batch_complain(struct batch *batch)
{
	struct cli *cli = batch->cli;
	int code = 1;
	const char *text = strata_sbatch_complaint(&cli->err, batch->program, &cli->arena, &code);

	cli_flush(cli);
	fputs(text ? text : "out of memory\n", stderr);
	return code;
}

int slurm_batch_talk(struct batch *batch, const struct slurm_command *command)
{
	return slurm_talk(batch->cli, command,
			  batch->job.version ? "version"
			  : batch->job.help  ? "help"
					     : "usage");
}

int slurm_batch_refuse(struct batch *batch, const char *why)
{
	const char *what = strcmp(batch->program, "sbatch") == 0   ? "Batch job submission failed"
			   : strcmp(batch->program, "salloc") == 0 ? "Job submit/allocate failed"
								   : "Unable to allocate resources";

	slurm_error(batch->cli, batch->program, "%s: %s", what, why);
	return 1;
}

int slurm_batch_unreachable(struct batch *batch)
{
	if (!service_away(batch->cli->err.code))
		return slurm_batch_refuse(batch, batch->cli->err.text);
	slurm_batch_refuse(batch, "Unable to contact slurm controller (connect failure)");
	slurm_say(batch->cli, "strata: %s", batch->cli->err.text);
	return 1;
}

/* A file in a directory that is not there is the end of the job, and nobody will see why. */
static void warn_file(const struct batch *batch, const char *option, const char *pattern)
{
	const char *slash = pattern ? strrchr(pattern, '/') : NULL;
	const char *base = batch->job.chdir && *batch->job.chdir == '/' ? batch->job.chdir
									: batch->caller.working_dir;
	struct stat status;

	if (!slash || slash == pattern || memchr(pattern, '%', (size_t)(slash - pattern)))
		return;
	const char *path =
		*pattern == '/'
			? strata_arena_text(&batch->cli->arena, pattern, (size_t)(slash - pattern))
			: strata_arena_printf(&batch->cli->arena, "%s/%.*s", base,
					      (int)(slash - pattern), pattern);

	if (path && stat(path, &status) != 0)
		slurm_batch_note(
			batch,
			"--%s: the directory %s does not exist; unless it is made, the job "
			"will fail and leave no output",
			option, path);
}

void slurm_batch_warn_options(const struct batch *batch)
{
	for (size_t i = 0; i < batch->job.warning_count; i++)
		slurm_say(batch->cli, "%s: warning: %s", batch->program, batch->job.warnings[i]);
}

void slurm_batch_warn(struct batch *batch)
{
	const struct strata_sbatch *job = &batch->job;
	struct stat status;

	slurm_batch_warn_options(batch);
	if (job->chdir && stat(job->chdir, &status) != 0) {
		slurm_batch_note(
			batch,
			"--chdir: %s does not exist; unless it is made, the job will fail and "
			"leave no output",
			job->chdir);
		return;
	}
	warn_file(batch, "output", job->output);
	if (job->error_given)
		warn_file(batch, "error", job->error);
}

/* ---- what it waits for ---- */

int slurm_batch_job(struct cli *cli, int64_t id, json_t **ret_job)
{
	char text[24];
	struct buf path;

	snprintf(text, sizeof(text), "%" PRId64, id);
	service_path(cli, &path, "jobs", text, NULL);
	return service_get(cli, &path, ret_job);
}

/* Has it ended in a way that settles the dependency for good? */
static bool never(const struct strata_slurm_dependency *item, const json_t *job)
{
	bool ok = strcmp(grid_or(json_object_get(job, "state"), ""), "completed") == 0;

	if (!job_ended(job) || !json_is_null(json_object_get(job, "array_id")))
		return false;
	return item->kind == STRATA_SLURM_AFTEROK || item->kind == STRATA_SLURM_AFTERCORR ? !ok
	       : item->kind == STRATA_SLURM_AFTERNOTOK                                    ? ok
											  : false;
}

static int settle_dependencies(struct batch *batch)
{
	struct strata_slurm_dependencies *list = &batch->job.dependencies;
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct strata_slurm_dependency *item = &list->items[i];
		json_t *job = NULL;
		bool hopeless = false;

		if (item->kind != STRATA_SLURM_SINGLETON) {
			int rc = slurm_batch_job(batch->cli, item->job, &job);

			if (rc == -ENOENT) {
				slurm_batch_note(
					batch,
					"job %" PRId64 " is not known; as in Slurm, that counts as "
					"%s having happened",
					item->job, strata_slurm_dependency_name(item->kind));
				continue;
			}
			if (rc)
				return slurm_batch_unreachable(batch);
			hopeless = never(item, job);
		}
		if (hopeless) {
			slurm_batch_note(
				batch, "job %" PRId64 " has %s, so %s can never be met; %s",
				item->job, grid_or(json_object_get(job, "state"), "ended"),
				strata_slurm_dependency_name(item->kind),
				batch->job.kill_on_invalid_dep ? "the job is cancelled"
							       : "the job waits until released");
			batch->job.hold = true;
		} else {
			list->items[kept++] = *item;
		}
		json_decref(job);
	}
	list->count = kept;
	return 0;
}

/* ---- the body ---- */

static bool set_variable(json_t *map, const char *name, const char *text)
{
	return !text || json_object_set_new(map, name, json_string(text)) == 0;
}

static bool set_number(json_t *map, const char *name, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	return number <= 0 || set_variable(map, name, text);
}

/* The variables that tell a script how it was asked for; sbatch itself sets these. */
static bool add_request(const struct batch *batch, json_t *map)
{
	const struct strata_sbatch *job = &batch->job;

	return set_variable(map, "SLURM_SUBMIT_DIR", batch->caller.working_dir) &&
	       set_number(map, "SLURM_NTASKS_PER_NODE", job->ntasks_per_node) &&
	       set_number(map, "SLURM_NTASKS_PER_CORE", job->ntasks_per_core) &&
	       set_number(map, "SLURM_NTASKS_PER_SOCKET", job->ntasks_per_socket) &&
	       set_number(map, "SLURM_THREADS_PER_CORE", job->threads_per_core) &&
	       set_number(map, "SLURM_OVERCOMMIT", job->overcommit) &&
	       set_variable(map, "SLURM_HINT", job->hint) &&
	       set_variable(map, "SLURM_DISTRIBUTION", job->distribution) &&
	       set_variable(map, "SLURM_GPU_BIND", job->gpu_bind) &&
	       set_variable(map, "SLURM_GPUS_PER_SOCKET", job->gpus_per_socket.text) &&
	       slurm_batch_add_limits(batch, map) &&
	       set_number(map, "SLURM_CPUS_PER_GPU", job->cpus_per_gpu) &&
	       set_number(map, "SLURM_MEM_PER_CPU", job->mem_per_cpu_bytes >> 20) &&
	       set_number(map, "SLURM_MEM_PER_GPU", job->mem_per_gpu_bytes >> 20) &&
	       set_variable(map, "SLURM_GPUS", job->gpus.text) &&
	       set_variable(map, "SLURM_GPUS_PER_NODE",
			    job->gres ? NULL : job->gpus_per_node.text) &&
	       set_variable(map, "SLURM_GPUS_PER_TASK", job->gpus_per_task.text);
}

/* Is it of an option that was settled here (shape.c), or that the job's steps are told? */
static bool is_settled(const char *note)
{
	static const char *const names[] = {
		"cores-per-socket",  "distribution", "gpu-bind",         "hint", "ntasks-per-core",
		"ntasks-per-socket", "spread-job",   "threads-per-core", "tmp"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (strncmp(note, "--", 2) == 0 && strncmp(note + 2, names[i], length) == 0 &&
		    note[2 + length] == ' ')
			return true;
	}
	return false;
}

int slurm_batch_fill(struct batch *batch)
{
	struct cli *cli = batch->cli;
	struct buf notes;
	size_t skipped = 0;
	int code = settle_dependencies(batch);

	if (code)
		return code;
	batch->body = json_object();
	buf_init(&notes, &cli->memory, 0);
	int rc = job_script_add(&batch->job, &batch->caller, &cli->arena, batch->body, &notes,
				&cli->err);

	if (rc == 0)
		rc = job_fields_add_caller(NULL, &batch->caller, batch->body, &skipped, &cli->err);
	if (rc == 0 && !add_request(batch, json_object_get(batch->body, "environment")))
		rc = strata_fail_memory(&cli->err);
	if (rc == 0 && !json_object_get(batch->body, "output") &&
	    json_object_set_new(batch->body, "output", json_string(batch->job.output)))
		rc = strata_fail_memory(&cli->err);
	if (rc == 0 && /* Slurm's way; the answer says if it cannot start */
	    json_object_set_new(batch->body, "queue_anyway", json_true()))
		rc = strata_fail_memory(&cli->err);
	for (const char *line = notes.text; rc == 0 && *line;) {
		size_t length = strcspn(line, "\n");

		if (!is_settled(line))
			slurm_batch_note(batch, "%.*s", (int)length, line);
		line += length + (line[length] == '\n');
	}
	if (rc == 0 && skipped)
		slurm_batch_note(batch,
				 "%zu variable%s of the environment left out: not UTF-8", skipped,
				 cli_plural(skipped));
	buf_fini(&notes);
	return rc ? slurm_batch_complain(batch) : 0;
}

/* ---- sending ---- */

const char *slurm_sentence(const char *field, int code)
{
	static const struct {
		const char *field, *text;
		int code; /* 0: any */
	} rows[] = {
		{ "account", "Invalid account or account/partition combination specified" },
		{ "array", "Invalid job array specification" },
		{ "dependencies", "Job dependency problem" },
		{ "features", "Invalid feature specification" },
		{ "gpu_type", "Requested node configuration is not available" },
		{ "gpus", "Requested node configuration is not available" },
		{ "gpus_per_node", "Requested node configuration is not available" },
		{ "gpus_per_task", "Requested node configuration is not available" },
		{ "memory", "Requested node configuration is not available" },
		{ "node_list", "Invalid node name specified" },
		{ "nodes", "Node count specification invalid" },
		{ "partition", "Required partition not available (inactive or drain)", -EBUSY },
		{ "partition", "User's group not permitted to use this partition", -EACCES },
		{ "partition", "Invalid partition name specified" },
		{ "priority", "Access/permission denied" },
		{ "qos", "Invalid qos specification" },
		{ "deadline", "Requested time limit is invalid (missing or exceeds some limit)" },
		{ "time_limit", "Requested time limit is invalid (missing or exceeds some limit)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(field, rows[i].field) == 0 && (!rows[i].code || rows[i].code == code))
			return rows[i].text;
	return NULL;
}

int slurm_batch_refuse_name(struct batch *batch, const char *field, const char *name)
{
	if (strcmp(field, "partition") == 0)
		slurm_error(batch->cli, batch->program, "invalid partition specified: %s", name);
	return slurm_batch_refuse(batch, slurm_sentence(field, -ENOENT));
}

static int refuse_answer(struct batch *batch)
{
	const struct strata_error *err = &batch->cli->err;
	const char *sentence = slurm_sentence(err->field, err->code);

	if (!sentence)
		return slurm_batch_unreachable(batch);
	if (strcmp(err->field, "partition") == 0 && err->code == -ENOENT)
		slurm_batch_refuse_name(batch, "partition", batch->job.partition);
	else
		slurm_batch_refuse(batch, sentence);
	slurm_batch_note(batch, "%s", err->text);
	return 1;
}

static int post(struct batch *batch, json_t **ret_answer)
{
	struct buf path;

	service_path(batch->cli, &path, "jobs", NULL, NULL);
	return service_ask(batch->cli, "POST", &path, json_incref(batch->body), ret_answer);
}

/* Slurm takes a job that wants more time than there is and never starts it. Here it is held, so
 * that it can be changed and released. */
static int post_too_long(struct batch *batch, json_t **ret_answer)
{
	slurm_batch_note(batch, "%s: the job is held; change its time limit and release it",
			 batch->cli->err.text);
	json_object_set_new(batch->body, "time_limit", json_string("unlimited"));
	json_object_set_new(batch->body, "hold", json_true());
	return post(batch, ret_answer);
}

/* Slurm's controller leaves out a nice below 0 that the user may not have. */
static int post_without_nice(struct batch *batch, json_t **ret_answer)
{
	slurm_batch_note(batch, "--nice: %s; as in Slurm, it counts as 0", batch->cli->err.text);
	json_object_del(batch->body, "nice");
	return post(batch, ret_answer);
}

void slurm_batch_cancel(const struct batch *batch, int64_t id)
{
	char text[24];
	struct buf path;
	json_t *answer;

	snprintf(text, sizeof(text), "%" PRId64, id);
	service_path(batch->cli, &path, "jobs", text, NULL);
	if (service_ask(batch->cli, "DELETE", &path, NULL, &answer) == 0)
		json_decref(answer);
}

int slurm_batch_send(struct batch *batch, int64_t **ret_ids, size_t *ret_count)
{
	struct cli *cli = batch->cli;
	json_t *answer;
	bool held = batch->job.hold;
	int rc = post(batch, &answer);

	if (rc && strcmp(cli->err.field, "nice") == 0)
		rc = post_without_nice(batch, &answer);
	if (rc && strcmp(cli->err.field, "time_limit") == 0)
		rc = post_too_long(batch, &answer);
	json_decref(batch->body);
	batch->body = NULL;
	if (rc)
		return refuse_answer(batch);
	const json_t *list = json_object_get(answer, "ids");
	size_t count = json_array_size(list), index;
	json_t *warning;

	json_array_foreach(json_object_get(answer, "warnings"), index, warning)
		slurm_batch_note(batch, "%s", grid_or(warning, ""));
	int64_t *ids = strata_arena_array(&cli->arena, count + 1, sizeof(*ids));

	if (!ids || !count) {
		json_decref(answer);
		return slurm_batch_refuse(batch, "Unexpected message received");
	}
	for (size_t i = 0; i < count; i++)
		ids[i] = json_integer_value(json_array_get(list, i));
	json_decref(answer);
	if (held && batch->job.kill_on_invalid_dep)
		slurm_batch_cancel(batch, ids[0]);
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}

int slurm_batch_wait(struct batch *batch, const int64_t *ids, size_t count)
{
	int highest = 0;

	for (size_t i = 0; i < count;) {
		json_t *job;
		int rc = slurm_batch_job(batch->cli, ids[i], &job);

		if (rc && !service_away(rc))
			return slurm_batch_unreachable(batch);
		if (rc == 0 && job_ended(job)) {
			int code = job_exit_code(job);

			highest = code > highest ? code : highest;
			i++;
		} else {
			follow_sleep(LOOK_NS);
		}
		if (rc == 0)
			json_decref(job);
	}
	return highest;
}

int slurm_batch_immediate(struct batch *batch, int64_t id)
{
	int64_t until_ns = when_now_ns() + batch->job.immediate_s * STRATA_SECOND_NS;

	if (batch->job.immediate_s < 0)
		return 0;
	for (;;) {
		json_t *job;

		if (slurm_batch_job(batch->cli, id, &job) == 0) {
			bool waits = strcmp(grid_or(json_object_get(job, "state"), ""), "queued") ==
				     0;

			json_decref(job);
			if (!waits)
				return 0;
		}
		if (when_now_ns() >= until_ns)
			break;
		follow_sleep(LOOK_NS / 4);
	}
	slurm_batch_cancel(batch, id);
	return slurm_batch_refuse(batch, "Requested nodes are busy");
}
