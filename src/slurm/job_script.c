/*
 * Batch scripts as bodies of POST /api/v1/jobs. strata_sbatch_parse has read and checked the #SBATCH lines; here each thing
 * asked for becomes the field of the same meaning, and what has none is named. The command line and the service's route for
 * scripts both go through here, so that they cannot differ.
 */
#include "slurm/job_script.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A body being filled. The first failure sticks, so that the rows below read as a list. */
struct filling {
	json_t *body;
	struct buf *notes;
	int rc;
	struct strata_error *err;
};

static void put(struct filling *filling, const char *key, json_t *value)
{
	if (filling->rc) {
		json_decref(value);
		return;
	}
	if (json_object_set_new(filling->body, key, value))
		filling->rc = strata_fail_memory(filling->err);
}

static bool check_text(struct filling *filling, const char *key, const char *text)
{
	if (filling->rc == 0 && !text_valid(text, strlen(text)))
		filling->rc = strata_fail_at(filling->err, -EINVAL, key,
					     "%s of the script is not valid UTF-8", key);
	return filling->rc == 0;
}

static void put_text(struct filling *filling, const char *key, const char *text)
{
	if (text && check_text(filling, key, text))
		put(filling, key, json_string(text));
}

static void put_count(struct filling *filling, const char *key, int64_t count, bool asked)
{
	if (asked)
		put(filling, key, json_integer(count));
}

static void put_time(struct filling *filling, const char *key, int64_t ns)
{
	char text[STRATA_FORM_BYTES];

	if (ns)
		put(filling, key, json_string(strata_time_print(ns, text)));
}

static void note(struct filling *filling, bool asked, const char *name)
{
	if (asked)
		buf_printf(filling->notes, "--%s of the script has no effect here\n", name);
}

static void add_gpus(struct filling *filling, const struct strata_sbatch *job)
{
	const struct strata_sbatch_gpus *gpus = job->gpus_per_task.text   ? &job->gpus_per_task
						: job->gpus_per_node.text ? &job->gpus_per_node
									  : &job->gpus;
	const char *key = gpus == &job->gpus_per_task   ? "gpus_per_task"
			  : gpus == &job->gpus_per_node ? "gpus_per_node"
							: "gpus";

	if (!gpus->text && job->gpus_per_socket.text) { /* as many on every node */
		put_count(filling, "gpus_per_node",
			  job->gpus_per_socket.count * job->sockets_per_node, true);
		gpus = &job->gpus_per_socket;
	} else {
		put_count(filling, key, gpus->count, gpus->text && gpus->count);
	}
	put_text(filling, "gpu_type", gpus->type);
}

static void add_memory(struct filling *filling, const struct strata_sbatch *job)
{
	int64_t per_task = -1;
	bool too_much = false;

	if (job->mem_per_cpu_bytes > 0)
		too_much = __builtin_mul_overflow(job->mem_per_cpu_bytes, job->cpus_per_task,
						  &per_task);
	if (job->mem_per_gpu_bytes > 0 && job->tasks > 0 && job->gpus_total >= job->tasks)
		too_much = __builtin_mul_overflow(job->mem_per_gpu_bytes,
						  job->gpus_total / job->tasks, &per_task);
	else
		note(filling, job->mem_per_gpu_bytes > 0, "mem-per-gpu");
	if (too_much)
		filling->rc = strata_fail_at(filling->err, -ERANGE, "memory",
					     "the memory asked for is more than any node has");
	put_count(filling, "memory_per_task", per_task, per_task > 0);
	put_count(filling, "memory", job->mem_bytes, job->mem_bytes > 0);
	note(filling, job->mem_bytes == 0, "mem=0");
}

/* CPUs of a task that --overcommit and --mincpus make of what was asked for: one for all tasks of a
 * node, and so many at least on each. */
static double cpus_of_task(const struct strata_sbatch *job)
{
	int64_t nodes = job->nodes > 0 ? job->nodes : 1;
	double most = (double)((job->tasks + nodes - 1) / nodes),
	       least = (double)(job->tasks / nodes);
	double cpus = job->overcommit ? 1 / most : (double)job->cpus_per_task;

	if (least >= 1 && (double)job->mincpus > cpus * least)
		cpus = (double)job->mincpus / least;
	return cpus;
}

static void add_size(struct filling *filling, const struct strata_sbatch *job)
{
	double share = job->tasks ? (double)job->gpus_total / (double)job->tasks : 0;
	double cpus = cpus_of_task(job);
	bool apart = cpus != (double)job->cpus_per_task;

	put_count(filling, "nodes", job->nodes, job->nodes_max > 0 || job->nodes > 1 || apart);
	note(filling, job->nodes_max > job->nodes, "nodes=MIN-MAX (MIN is taken)");
	put_count(filling, "tasks", job->tasks, job->tasks_given || job->tasks > 1);
	put_count(filling, "cpus_per_task", job->cpus_per_task, job->cpus_per_task_given);
	if (apart)
		put(filling, "cpus_per_task", json_real(cpus));
	if (job->cpus_per_gpu && job->gpus_total && !job->cpus_per_task_given)
		put(filling, "cpus_per_task", json_real((double)job->cpus_per_gpu * share));
	add_gpus(filling, job);
	add_memory(filling, job);
	if (job->time_limit_ns == STRATA_DURATION_UNLIMITED)
		put_text(filling, "time_limit", "unlimited");
	else
		put_count(filling, "time_limit", job->time_limit_ns / STRATA_SECOND_NS,
			  job->time_limit_ns >= 0);
}

/* The name that sbatch would give is left to the service, whose own is the one people look for. */
static void add_files(struct filling *filling, const struct strata_sbatch *job)
{
	bool usual = strcmp(job->output, "slurm-%j.out") == 0 ||
		     strcmp(job->output, "slurm-%A_%a.out") == 0;

	put_text(filling, "output", usual ? NULL : job->output);
	put_text(filling, "error", job->error_given ? job->error : NULL);
	put_text(filling, "input", job->input);
	if (job->open_mode == STRATA_SBATCH_OPEN_APPEND)
		put(filling, "append", json_true());
}

static void add_signal(struct filling *filling, const struct strata_sbatch_signal *signal)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%d@%lld", signal->batch_only ? "B:" : "", signal->number,
		 (long long)(signal->before_ns / STRATA_SECOND_NS));
	put_text(filling, "signal", signal->number ? text : NULL);
}

/* Slurm takes "a,b" for the one that would start it first. */
static void add_partition(struct filling *filling, const char *list)
{
	size_t span = list ? strcspn(list, ",") : 0;

	if (!list || !check_text(filling, "partition", list))
		return;
	put(filling, "partition", json_stringn(list, span));
	if (list[span])
		buf_printf(filling->notes, "of the partitions %s the first is taken\n", list);
}

/* What mail is asked for; an address alone asks for none. */
static void add_mail(struct filling *filling, const struct strata_sbatch *job)
{
	static const struct {
		unsigned bit;
		const char *word;
	} events[] = { { STRATA_MAIL_BEGIN, "begin" },
		       { STRATA_MAIL_END, "end" },
		       { STRATA_MAIL_FAIL, "fail" },
		       { STRATA_MAIL_REQUEUE, "requeue" } };
	static const unsigned others = STRATA_MAIL_TIME_LIMIT | STRATA_MAIL_TIME_LIMIT_90 |
				       STRATA_MAIL_TIME_LIMIT_80 | STRATA_MAIL_TIME_LIMIT_50 |
				       STRATA_MAIL_ARRAY_TASKS;
	char notify[64] = "";

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (job->mail_types & events[i].bit)
			snprintf(notify + strlen(notify), sizeof(notify) - strlen(notify), "%s%s",
				 *notify ? "," : "", events[i].word);
	put_text(filling, "notify", *notify ? notify : NULL);
	put_text(filling, "mail", *notify ? job->mail_user : NULL);
	note(filling, job->mail_types & others, "mail-type");
}

static void add_texts(struct filling *filling, const struct strata_sbatch *job)
{
	put_text(filling, "name", job->name);
	put_text(filling, "account", job->account);
	add_partition(filling, job->partition);
	put_text(filling, "qos", job->qos);
	put_text(filling, "comment", job->comment);
	put_text(filling, "features", job->constraint);
	put_text(filling, "node_list", job->nodelist);
	put_text(filling, "node_exclude", job->exclude);
	put_count(filling, "nice", job->nice, job->nice_given);
	put_count(filling, "fine_priority", job->priority, job->priority >= 0);
	put_time(filling, "begin", job->begin_ns);
	if (job->share >= STRATA_SBATCH_EXCLUSIVE)
		put(filling, "exclusive", json_true());
	if (job->hold)
		put(filling, "hold", json_true());
	if (job->requeue >= 0)
		put(filling, "requeue", json_boolean(job->requeue));
	if (job->kill_on_invalid_dep_given)
		put(filling, "cancel_if_never", json_boolean(job->kill_on_invalid_dep));
	put_time(filling, "deadline", job->deadline_ns);
	add_mail(filling, job);
	add_signal(filling, &job->signal);
	/* what only who is there can do; Slurm's commands have done it by now */
	note(filling, job->export_file, "export-file");
	note(filling, job->nodefile, "nodefile");
	note(filling, job->get_user_env, "get-user-env");
	note(filling, job->propagate, "propagate");
	note(filling, job->uid, "uid");
	note(filling, job->gid, "gid");
	/* what they settle beside the nodes there are, and tell the job's steps */
	note(filling, job->hint, "hint");
	note(filling, job->distribution, "distribution");
	note(filling, job->gpu_bind, "gpu-bind");
	note(filling, job->cores_per_socket, "cores-per-socket");
	note(filling, job->threads_per_core, "threads-per-core");
	note(filling, job->ntasks_per_core, "ntasks-per-core");
	note(filling, job->ntasks_per_socket, "ntasks-per-socket");
	note(filling, job->spread_job, "spread-job");
	note(filling, job->tmp_bytes > 0, "tmp");
}

/* ---- what Slurm's commands show of it ---- */

static void keep(struct filling *filling, json_t *map, const char *name, const char *text)
{
	if (filling->rc == 0 && text && strlen(text) <= STRATA_SLURM_NOTE_BYTES_MAX &&
	    check_text(filling, name, text) && json_object_set_new(map, name, json_string(text)))
		filling->rc = strata_fail_memory(filling->err);
}

static void keep_count(struct filling *filling, json_t *map, const char *name, int64_t count)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)count);
	keep(filling, map, name, count > 0 ? text : NULL);
}

/* Options that decide nothing here, and what became something else: squeue and scontrol know them by
 * their names. */
static void add_shown(struct filling *filling, const struct strata_sbatch *job)
{
	json_t *map = json_object();

	for (size_t i = 0; map && i < job->ignored_count; i++)
		keep(filling, map, job->ignored[i].name,
		     job->ignored[i].value ? job->ignored[i].value : "1");
	keep(filling, map, "wckey", job->wckey);
	keep(filling, map, "gpus-per-socket", job->gpus_per_socket.text);
	keep(filling, map, "gpu-bind", job->gpu_bind);
	keep(filling, map, "overcommit", job->overcommit ? "1" : NULL);
	keep_count(filling, map, "tmp", job->tmp_bytes >> 20);
	keep_count(filling, map, "mincpus", job->mincpus);
	keep_count(filling, map, "sockets-per-node", job->sockets_per_node);
	keep_count(filling, map, "cores-per-socket", job->cores_per_socket);
	keep_count(filling, map, "threads-per-core", job->threads_per_core);
	keep_count(filling, map, "ntasks-per-node", job->ntasks_per_node);
	keep_count(filling, map, "ntasks-per-core", job->ntasks_per_core);
	keep_count(filling, map, "ntasks-per-socket", job->ntasks_per_socket);
	keep_count(filling, map, "cpus-per-gpu", job->cpus_per_gpu);
	keep_count(filling, map, "mem-per-gpu", job->mem_per_gpu_bytes >> 20);
	keep_count(filling, map, "nodes-max", job->nodes_max > job->nodes ? job->nodes_max : 0);
	if (json_object_size(map) > STRATA_SLURM_NOTE_COUNT_MAX)
		json_object_clear(map);
	if (json_object_size(map))
		put(filling, "slurm", map);
	else
		json_decref(map);
}

/* A relative directory is one from here. */
static void add_dir(struct filling *filling, const char *chdir, const struct job_caller *caller)
{
	if (chdir && check_text(filling, "chdir", chdir))
		put(filling, "working_dir", job_spec_dir(caller, chdir));
}

static const char *find_variable(const struct job_caller *caller, const char *name)
{
	size_t length = strlen(name);

	for (const char *const *at = caller->env; at && *at; at++)
		if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

/* --export=NONE,A,B=2: only what is named. With ALL it is on top of all the caller has; ALL alone is what the caller adds anyway. */
static void add_export(struct filling *filling, const struct strata_sbatch *job,
		       const struct job_caller *caller, struct strata_arena *arena)
{
	bool all = job->export_mode == STRATA_SBATCH_EXPORT_ALL;
	size_t skipped;

	if (all && !job->export_count)
		return;
	json_t *map = json_object();

	if (all && map && job_caller_add_environment(caller, map, &skipped))
		filling->rc = strata_fail_memory(filling->err);
	for (size_t i = 0; map && i < job->export_count; i++) {
		const char *item = job->export_items[i];
		size_t length = strcspn(item, "=");
		const char *name = strata_arena_text(arena, item, length);
		const char *value = !name          ? NULL
				    : item[length] ? item + length + 1
						   : find_variable(caller, name);

		if (!name || (value && check_text(filling, "export", item) &&
			      json_object_set_new(map, name, json_string(value))))
			filling->rc = strata_fail_memory(filling->err);
	}
	put(filling, "environment", map);
}

int job_script_add(const struct strata_sbatch *job, const struct job_caller *caller,
		   struct strata_arena *arena, json_t *body, struct buf *ret_notes,
		   struct strata_error *err)
{
	struct filling filling = { .body = body, .notes = ret_notes, .err = err };
	const char *text;

	add_texts(&filling, job);
	add_shown(&filling, job);
	add_size(&filling, job);
	add_files(&filling, job);
	add_dir(&filling, job->chdir, caller);
	add_export(&filling, job, caller, arena);
	if (filling.rc == 0 && job->array.task_count) {
		filling.rc = strata_array_print(&job->array, arena, &text, err);
		if (filling.rc == 0)
			put_text(&filling, "array", text);
	}
	if (filling.rc == 0 && job->dependencies.count) {
		filling.rc = strata_slurm_dependencies_print(&job->dependencies, arena, &text, err);
		if (filling.rc == 0)
			put_text(&filling, "dependencies", text);
	}
	return filling.rc ? filling.rc : buf_check(ret_notes, err);
}

int job_script_add_text(const char *script, size_t length, const char *name,
			const char *const *arguments, size_t argument_count, json_t *body,
			struct strata_error *err)
{
	struct filling filling = { .body = body, .err = err };
	json_t *list = argument_count ? json_array() : NULL;

	if (!text_valid(script, length))
		filling.rc =
			strata_fail_at(err, -EINVAL, "script", "the script is not valid UTF-8");
	if (memchr(script, '\0', length))
		filling.rc = strata_fail_at(err, -EINVAL, "script", "the script has a NUL in it");
	if (filling.rc == 0)
		put(&filling, "script", json_stringn(script, length));
	put_text(&filling, "script_name", name);
	for (size_t i = 0; i < argument_count; i++)
		if (check_text(&filling, "arguments", arguments[i]) &&
		    json_array_append_new(list, json_string(arguments[i])))
			filling.rc = strata_fail_memory(err);
	if (list)
		put(&filling, "arguments", list);
	return filling.rc;
}
