/*
 * A step of the job we are in: what each task is told in its environment, where it writes; and its
 * record in the service. All nodes are on this machine, so all tasks are started here, and each is
 * told which node it is on.
 */
#include "cli/slurm/srun.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { OURS_MAX = 40 };

/* ---- the record ---- */

static int64_t begin(struct srun *srun, const struct srun_layout *layout)
{
	json_t *nodes = json_array(), *command = json_array(), *answer;
	const char *name = srun->command[0], *slash = strrchr(name, '/');
	int64_t step = -1;
	struct buf path;

	for (size_t i = 0; i < layout->node_count; i++)
		json_array_append_new(nodes, json_string(layout->nodes[i].name));
	for (size_t i = 0; i < srun->command_count && i < 100; i++)
		json_array_append_new(command, json_string(srun->command[i]));
	service_path(srun->cli, &path, "jobs", srun->job_id, "/steps");
	json_t *body = json_pack("{s:s,s:o,s:o,s:I}", "name", slash && slash[1] ? slash + 1 : name,
				 "command", command, "nodes", nodes, "tasks",
				 (json_int_t)layout->task_count);

	if (service_ask(srun->cli, "POST", &path, body, &answer) == 0) {
		step = grid_int(answer, "number");
		json_decref(answer);
	} else {
		slurm_batch_note(&srun->batch, "the step is not recorded: %s", srun->cli->err.text);
	}
	return step;
}

static json_int_t milliseconds(const struct timeval *time)
{
	return (json_int_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

static void end(struct srun *srun, int64_t step, int code, int number)
{
	char rest[48];
	struct buf path;
	json_t *answer;

	if (step < 0)
		return;
	snprintf(rest, sizeof(rest), "/steps/%" PRId64, step);
	service_path(srun->cli, &path, "jobs", srun->job_id, rest);
	struct rusage used = { 0 };

	getrusage(RUSAGE_CHILDREN, &used);
	json_t *body = json_pack(
		"{s:i,s:i,s:b,s:I,s:I,s:I}", "exit_code", number ? 0 : code, "exit_signal", number,
		"cancelled", (int)(number == SIGTERM || number == SIGKILL), "cpu_user_ms",
		milliseconds(&used.ru_utime), "cpu_system_ms", milliseconds(&used.ru_stime),
		"memory_peak_bytes", (json_int_t)used.ru_maxrss * 1024);

	if (service_ask(srun->cli, "PATCH", &path, body, &answer) == 0)
		json_decref(answer);
}

/* ---- environments ---- */

/* Variables of one task, over those that --export leaves. */
struct maker {
	struct srun *srun;
	const char *ours[OURS_MAX];
	size_t count;
};

static __attribute__((format(printf, 2, 3))) void set(struct maker *maker, const char *format, ...)
{
	char text[4096];
	va_list list;

	va_start(list, format);
	int length = vsnprintf(text, sizeof(text), format, list);

	va_end(list);
	const char *kept =
		length < 0 || (size_t)length >= sizeof(text)
			? NULL
			: strata_arena_text(&maker->srun->cli->arena, text, (size_t)length);

	if (kept && maker->count < OURS_MAX)
		maker->ours[maker->count++] = kept;
}

static bool is_ours(const struct maker *maker, const char *variable)
{
	size_t length = strcspn(variable, "=");

	for (size_t i = 0; i < maker->count; i++)
		if (strncmp(maker->ours[i], variable, length + 1) == 0)
			return true;
	return false;
}

static bool is_exported(const struct strata_sbatch *job, const char *variable)
{
	size_t length = strcspn(variable, "=");

	if (job->export_mode == STRATA_SBATCH_EXPORT_ALL || strncmp(variable, "SLURM", 5) == 0 ||
	    strncmp(variable, "STRATA_", 7) == 0 || strncmp(variable, "CUDA_VIS", 8) == 0)
		return true;
	for (size_t i = 0; i < job->export_count; i++)
		if (strlen(job->export_items[i]) == length &&
		    strncmp(job->export_items[i], variable, length) == 0)
			return true;
	return false;
}

static void set_gpus(struct maker *maker, const struct srun_node *node, int64_t local)
{
	const struct strata_sbatch *job = &maker->srun->batch.job;
	struct strata_arena *arena = &maker->srun->cli->arena;

	if (!node->gpus)
		return;
	const char *bind = job->gpu_bind ? job->gpu_bind : getenv("SLURM_GPU_BIND");
	const char *list = bind ? srun_bound_gpus(node, bind, local, arena)
				: srun_task_gpus(node, local, job->gpus_per_task.count, arena);

	if (!list)
		return;
	set(maker, "CUDA_VISIBLE_DEVICES=%s", list);
	set(maker, "ROCR_VISIBLE_DEVICES=%s", list);
	set(maker, "GPU_DEVICE_ORDINAL=%s", list);
	set(maker, "ZE_AFFINITY_MASK=%s", list);
	set(maker, "SLURM_STEP_GPUS=%s", srun_task_gpus(node, 0, 0, arena));
	set(maker, "SLURM_GPUS_ON_NODE=%zu", node->gpu_count);
}

static const char *const *make_environment(struct srun *srun, const struct srun_layout *layout,
					   size_t node, int64_t local, int64_t rank, int64_t step)
{
	const struct strata_sbatch *job = &srun->batch.job;
	struct maker maker = { .srun = srun };
	size_t count = 0, used = 0;

	set(&maker, "SLURM_PROCID=%" PRId64, rank);
	set(&maker, "SLURM_LOCALID=%" PRId64, local);
	set(&maker, "SLURM_NODEID=%zu", node);
	set(&maker, "SLURM_STEPID=%" PRId64, step < 0 ? 0 : step);
	set(&maker, "SLURM_STEP_ID=%" PRId64, step < 0 ? 0 : step);
	set(&maker, "SLURM_STEP_NODELIST=%s", layout->node_list);
	set(&maker, "SLURM_STEP_NUM_NODES=%zu", layout->node_count);
	set(&maker, "SLURM_STEP_NUM_TASKS=%" PRId64, layout->task_count);
	set(&maker, "SLURM_STEP_TASKS_PER_NODE=%s", layout->tasks_per_node);
	set(&maker, "SLURM_TASKS_PER_NODE=%s", layout->tasks_per_node);
	if (!job->preserve_env) {
		set(&maker, "SLURM_NTASKS=%" PRId64, layout->task_count);
		set(&maker, "SLURM_NPROCS=%" PRId64, layout->task_count);
		set(&maker, "SLURM_NNODES=%zu", layout->node_count);
	}
	set(&maker, "SLURMD_NODENAME=%s", layout->nodes[node].name);
	set(&maker, "SLURM_TOPOLOGY_ADDR=%s", layout->nodes[node].name);
	set(&maker, "SLURM_LAUNCH_NODE_IPADDR=127.0.0.1");
	set(&maker, "SLURM_SRUN_COMM_HOST=127.0.0.1");
	if (job->cpus_per_task_given)
		set(&maker, "SLURM_CPUS_PER_TASK=%" PRId64, job->cpus_per_task);
	set_gpus(&maker, &layout->nodes[node], local);
	for (size_t i = 0; i < job->export_count; i++)
		if (strchr(job->export_items[i], '='))
			set(&maker, "%s", job->export_items[i]);
	while (environ[count])
		count++;
	const char **all =
		strata_arena_array(&srun->cli->arena, count + maker.count + 1, sizeof(*all));

	for (size_t i = 0; all && i < count; i++)
		if (!is_ours(&maker, environ[i]) && is_exported(job, environ[i]))
			all[used++] = environ[i];
	if (all)
		memcpy(all + used, maker.ours, maker.count * sizeof(*all));
	return all;
}

/* ---- files ---- */

/* −1: cannot be opened, and that is said. */
static int open_file(struct srun *srun, const struct strata_output_values *values,
		     const char *pattern, int usual, bool truncate)
{
	const char *path;

	if (!pattern)
		return usual;
	if (strcmp(pattern, "none") == 0)
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	if (strata_output_expand(pattern, values, &srun->cli->arena, &path, NULL))
		return -1;
	int flags = usual == STDIN_FILENO
			    ? O_RDONLY
			    : O_WRONLY | O_CREAT | O_APPEND | (truncate ? O_TRUNC : 0);
	int fd = open(path, flags | O_CLOEXEC, 0666);

	if (fd < 0)
		slurm_error(srun->cli, "srun", "Could not open %s file %s: %s",
			    usual == STDIN_FILENO ? "stdin" : "stdout", path, strerror(errno));
	return fd;
}

/* Our own where nothing is said. Of several tasks only the first one reads what we could. */
static bool open_files(struct srun *srun, struct srun_task *task, int64_t node, int64_t step)
{
	const struct strata_sbatch *job = &srun->batch.job;
	const char *array = getenv("SLURM_ARRAY_TASK_ID"), *parent = getenv("SLURM_ARRAY_JOB_ID");
	const struct strata_output_values values = {
		.job = strtoll(srun->job_id, NULL, 10),
		.array_job = parent ? strtoll(parent, NULL, 10) : -1,
		.task = array ? strtoll(array, NULL, 10) : STRATA_TASK_NONE,
		.step = step < 0 ? 0 : step,
		.node = node,
		.rank = task->rank,
		.host = task->node,
		.user = getenv("SLURM_JOB_USER"),
		.name = getenv("SLURM_JOB_NAME"),
	};
	if (job->pty && task->rank == 0 && isatty(STDIN_FILENO)) {
		task->terminal = true; /* ours, which a console or a person gave us */
		for (int i = 0; i < 3; i++)
			task->fds[i] = i;
		return true;
	}
	bool usual = strncmp(job->output, "slurm-%", 7) == 0;
	bool append = job->open_mode == STRATA_SBATCH_OPEN_APPEND;
	bool first = task->rank == 0 || (job->output && strstr(job->output, "%t"));

	task->fds[0] = !job->input && task->rank
			       ? -1
			       : open_file(srun, &values, job->input, STDIN_FILENO, false);
	task->fds[1] = open_file(srun, &values, usual ? NULL : job->output, STDOUT_FILENO,
				 first && !append);
	task->fds[2] = job->error_given ? open_file(srun, &values, job->error, STDERR_FILENO,
						    first && !append)
		       : usual          ? STDERR_FILENO
					: task->fds[1];
	return task->fds[1] >= 0 && task->fds[2] >= 0 && (task->fds[0] >= 0 || !job->input);
}

/* ---- together ---- */

/* Every task of the layout, in the order of ranks. */
static bool fill_tasks(struct srun *srun, const struct srun_layout *layout, int64_t step,
		       struct srun_task *tasks)
{
	const char *distribution = srun->batch.job.distribution;
	int64_t plane = srun_plane(distribution ? distribution : getenv("SLURM_DISTRIBUTION"));

	for (size_t node = 0; node < layout->node_count; node++)
		for (int64_t local = 0; local < layout->nodes[node].tasks; local++) {
			int64_t rank = srun_rank(layout, node, local, plane);
			struct srun_task *task = &tasks[rank];

			*task = (struct srun_task){
				.node = layout->nodes[node].name,
				.rank = rank,
				.local = local,
				.environment =
					make_environment(srun, layout, node, local, rank, step),
			};
			if (!task->environment || !open_files(srun, task, (int64_t)node, step))
				return false;
		}
	return srun_set_programs(srun, tasks, (size_t)layout->task_count, step);
}

int srun_step(struct srun *srun)
{
	const struct strata_sbatch *job = &srun->batch.job;
	struct srun_layout layout = { 0 };
	int code = srun_place(srun, &layout), number = 0;
	struct srun_task *tasks;

	if (code)
		return code;
	slurm_batch_warn_options(&srun->batch);
	tasks = strata_arena_array(&srun->cli->arena, (size_t)layout.task_count, sizeof(*tasks));
	int64_t step = begin(srun, &layout);

	if (!tasks || !fill_tasks(srun, &layout, step, tasks)) {
		end(srun, step, 1, 0);
		return 1;
	}
	srun_around(srun, job->prolog);
	for (int64_t i = 0; i < layout.task_count; i++)
		srun_task_prolog(srun, &tasks[i]);
	code = srun_run(srun, tasks, (size_t)layout.task_count, step, &number);
	srun_around(srun, job->epilog);
	end(srun, step, code, number);
	return code;
}
