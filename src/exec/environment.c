/*
 * The environment of a job; environment.h says what it is. Names and forms are those that Slurm
 * gives a batch script. Ours win over the user's, so that a job submitted from within another does
 * not believe it is that one.
 */
#include "exec/environment.h"

#include <strata/text.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { OURS_MAX = 80 };

struct maker {
	const struct environment *from;
	struct strata_arena *arena;
	const char *ours[OURS_MAX];
	size_t count;
	bool failed;
};

/* ---- one variable ---- */

static __attribute__((format(printf, 2, 3))) void set(struct maker *maker, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	char *text = length < 0 || maker->count == OURS_MAX
			     ? NULL
			     : strata_arena_get(maker->arena, (size_t)length + 1);

	if (text)
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(args);
	if (text)
		maker->ours[maker->count++] = text;
	else
		maker->failed = true;
}

static void set_text(struct maker *maker, const char *name, const char *value)
{
	if (value)
		set(maker, "%s=%s", name, value);
}

static void set_count(struct maker *maker, const char *name, uint64_t value)
{
	if (value)
		set(maker, "%s=%" PRIu64, name, value);
}

/* ---- parts ---- */

/* Did whoever submitted the job say it? sbatch knows best how it was asked for. */
static bool was_told(const struct environment *from, const char *name)
{
	return from->user_environment && environment_find(from->user_environment, name);
}

static void set_job(struct maker *maker)
{
	const struct environment *from = maker->from;

	set_count(maker, "SLURM_JOB_ID", from->job);
	set_count(maker, "SLURM_JOBID", from->job);
	set_text(maker, "SLURM_JOB_NAME", from->name);
	set_text(maker, "SLURM_JOB_USER", from->user);
	set(maker, "SLURM_JOB_UID=%" PRId64, from->uid);
	set(maker, "SLURM_JOB_GID=%" PRId64, from->gid);
	set_text(maker, "SLURM_JOB_ACCOUNT", from->account);
	set_text(maker, "SLURM_JOB_PARTITION", from->partition);
	set_text(maker, "SLURM_JOB_QOS", from->qos);
	set_text(maker, "SLURM_CLUSTER_NAME", from->cluster);
	if (!was_told(from, "SLURM_SUBMIT_DIR"))
		set_text(maker, "SLURM_SUBMIT_DIR", from->submit_dir);
	set_text(maker, "SLURM_SUBMIT_HOST", from->submit_host);
	set_count(maker, "SLURM_RESTART_COUNT", from->restart_count);
	if (from->start_ns)
		set(maker, "SLURM_JOB_START_TIME=%" PRId64, from->start_ns / STRATA_SECOND_NS);
	if (from->start_ns && from->time_limit_ns &&
	    from->time_limit_ns != STRATA_DURATION_UNLIMITED)
		set(maker, "SLURM_JOB_END_TIME=%" PRId64,
		    (from->start_ns + from->time_limit_ns) / STRATA_SECOND_NS);
	set_text(maker, "USER", from->user);
	set_text(maker, "LOGNAME", from->user);
	set_text(maker, "HOME", from->home);
	set_text(maker, "SHELL", from->shell);
}

static void set_array(struct maker *maker)
{
	const struct environment *from = maker->from;

	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{ "JOB_ID", from->array_job },       { "TASK_ID", from->array_task },
		{ "TASK_COUNT", from->array_count }, { "TASK_MIN", from->array_min },
		{ "TASK_MAX", from->array_max },     { "TASK_STEP", from->array_step },
	};

	for (size_t i = 0; from->array_job && i < sizeof(all) / sizeof(all[0]); i++) {
		set(maker, "SLURM_ARRAY_%s=%" PRIu64, all[i].name, all[i].value);
		set(maker, "STRATA_ARRAY_%s=%" PRIu64, all[i].name, all[i].value);
	}
}

/* A number of every node, equal neighbours together: "8(x2),4". NULL for lack of memory. */
static const char *per_node(const struct maker *maker, size_t offset)
{
	const struct environment *from = maker->from;
	size_t room = 24 * (size_t)from->node_count + 1, used = 0;
	char *text = strata_arena_get(maker->arena, room);

	for (uint32_t i = 0, run; text && i < from->node_count; i += run) {
		uint32_t value, other;

		memcpy(&value, (const char *)&from->nodes[i] + offset, sizeof(value));
		for (run = 1; i + run < from->node_count; run++) {
			memcpy(&other, (const char *)&from->nodes[i + run] + offset, sizeof(other));
			if (other != value)
				break;
		}
		used += (size_t)snprintf(text + used, room - used, "%s%" PRIu32, i ? "," : "",
					 value);
		if (run > 1)
			used += (size_t)snprintf(text + used, room - used, "(x%" PRIu32 ")", run);
	}
	return text;
}

static void set_place(struct maker *maker)
{
	const struct environment *from = maker->from;
	const char *tasks = per_node(maker, offsetof(struct environment_node, tasks));
	const char *cpus = per_node(maker, offsetof(struct environment_node, cpus));

	maker->failed |= !tasks || !cpus;
	set_text(maker, "SLURMD_NODENAME", from->nodes[0].name);
	set_text(maker, "SLURM_TOPOLOGY_ADDR", from->nodes[0].name);
	set(maker, "SLURM_TOPOLOGY_ADDR_PATTERN=node");
	set_count(maker, "SLURM_JOB_NUM_NODES", from->node_count);
	set_count(maker, "SLURM_NNODES", from->node_count);
	set_text(maker, "SLURM_JOB_NODELIST", from->node_list);
	set_text(maker, "SLURM_NODELIST", from->node_list);
	set_text(maker, "SLURM_TASKS_PER_NODE", tasks);
	set_text(maker, "SLURM_JOB_CPUS_PER_NODE", cpus);
	set_count(maker, "SLURM_CPUS_ON_NODE", from->nodes[0].cpus);
	set_count(maker, "SLURM_NTASKS", from->tasks);
	set_count(maker, "SLURM_NPROCS", from->tasks);
	set_count(maker, "SLURM_NTASKS_PER_NODE", from->tasks_per_node);
	set_count(maker, "SLURM_CPUS_PER_TASK", from->cpus_per_task);
	set_count(maker, "SLURM_MEM_PER_NODE", (uint64_t)from->memory_per_node_bytes >> 20);
	set_count(maker, "SLURM_MEM_PER_CPU", (uint64_t)from->memory_per_cpu_bytes >> 20);
	set(maker, "SLURM_NODE_ALIASES=(null)");
	set(maker, "SLURM_PRIO_PROCESS=0");
	set(maker, "SLURM_NODEID=0"); /* the script is the first process on the first node */
	set(maker, "SLURM_PROCID=0");
	set(maker, "SLURM_LOCALID=0");
	set(maker, "SLURM_GTIDS=0");
}

/* "2,3": the bits of a mask, counted from `first`, or their positions among each other when
 * `ranks`. */
static void print_mask(uint16_t mask, uint32_t first, bool ranks, char *text, size_t room)
{
	size_t used = 0;
	uint32_t rank = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < 16; i++)
		if (mask >> i & 1)
			used += (size_t)snprintf(text + used, room - used, "%s%" PRIu32,
						 used ? "," : "", ranks ? rank++ : first + i);
}

/*
 * A job without GPUs sees none: an empty list hides them from CUDA, ROCm and HIP. HIP counts among
 * those that ROCR leaves it, so its list is 0, 1, … (and without it HIP would take CUDA's).
 */
static void set_gpus(struct maker *maker)
{
	const struct environment *from = maker->from;
	char list[200], ranks[200];

	print_mask(from->nodes[0].gpu_mask, from->nodes[0].gpu_first, false, list, sizeof(list));
	print_mask(from->nodes[0].gpu_mask, 0, true, ranks, sizeof(ranks));
	set_text(maker, "CUDA_VISIBLE_DEVICES", list);
	set_text(maker, "ROCR_VISIBLE_DEVICES", list);
	set_text(maker, "HIP_VISIBLE_DEVICES", ranks);
	if (!from->nodes[0].gpu_mask)
		return;
	set(maker, "CUDA_DEVICE_ORDER=PCI_BUS_ID"); /* the order that NVML counts in */
	set_text(maker, "GPU_DEVICE_ORDINAL", list);
	set_text(maker, "ZE_AFFINITY_MASK", list);
	set_text(maker, "SLURM_JOB_GPUS", list);
	set_count(maker, "SLURM_GPUS_ON_NODE",
		  (uint64_t)__builtin_popcount(from->nodes[0].gpu_mask));
	if (!was_told(from, "SLURM_GPUS"))
		set_count(maker, "SLURM_GPUS", from->gpus);
	if (!was_told(from, "SLURM_GPUS_PER_NODE"))
		set_text(maker, "SLURM_GPUS_PER_NODE", from->gpus_per_node);
	if (!was_told(from, "SLURM_GPUS_PER_TASK"))
		set_count(maker, "SLURM_GPUS_PER_TASK", from->gpus_per_task);
}

static void set_own(struct maker *maker)
{
	const struct environment *from = maker->from;

	set_count(maker, "STRATA_JOB_ID", from->job);
	set_count(maker, "STRATA_ATTEMPT", from->attempt);
	set_text(maker, "STRATA_JOB_FILE", from->job_file);
	set_text(maker, "STRATA_CHECKPOINT_DIR", from->checkpoint_dir);
	set_text(maker, "STRATA_CHECKPOINT", from->checkpoint);
	set_text(maker, "STRATA_SOCKET", from->socket);
	set_text(maker, "STRATA_TOKEN_FILE", from->token_file);
}

/* ---- together ---- */

static bool same_name(const char *a, const char *b)
{
	size_t length = strcspn(a, "=");

	return strncmp(a, b, length) == 0 && b[length] == '=';
}

/* Is it one of those by which sbatch tells a script what was asked for? */
static bool is_request(const char *variable)
{
	static const char *const names[] = {
		"SLURM_CPUS_PER_GPU=",
		"SLURM_DISTRIBUTION=",
		"SLURM_DIST_PLANESIZE=",
		"SLURM_GPUS=",
		"SLURM_GPUS_PER_NODE=",
		"SLURM_GPUS_PER_SOCKET=",
		"SLURM_GPUS_PER_TASK=",
		"SLURM_GPU_BIND=",
		"SLURM_HINT=",
		"SLURM_MEM_PER_CPU=",
		"SLURM_MEM_PER_GPU=",
		"SLURM_NTASKS_PER_CORE=",
		"SLURM_NTASKS_PER_NODE=",
		"SLURM_NTASKS_PER_SOCKET=",
		"SLURM_OVERCOMMIT=",
		"SLURM_SUBMIT_DIR=",
		"SLURM_THREADS_PER_CORE=",
	};

	if (strncmp(variable, ENVIRONMENT_LIMIT, strlen(ENVIRONMENT_LIMIT)) == 0)
		return true;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (same_name(names[i], variable))
			return true;
	return false;
}

/* Is it one that says which job this is, or one that we set? */
static bool is_replaced(const struct maker *maker, const char *variable)
{
	static const char *const always[] = { "STRATA_JOB_ID=",         "STRATA_ATTEMPT=",
					      "STRATA_JOB_FILE=",       "STRATA_CHECKPOINT=",
					      "STRATA_CHECKPOINT_DIR=", "STRATA_TOKEN_FILE=",
					      "GPU_DEVICE_ORDINAL=",    "ZE_AFFINITY_MASK=" };

	if (!strchr(variable, '='))
		return true;
	if ((strncmp(variable, "SLURM_", 6) == 0 || strncmp(variable, "SLURMD_", 7) == 0) &&
	    !is_request(variable))
		return true;
	if (strncmp(variable, "STRATA_ARRAY_", 13) == 0)
		return true;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (same_name(always[i], variable))
			return true;
	for (size_t i = 0; i < maker->count; i++)
		if (same_name(maker->ours[i], variable))
			return true;
	return false;
}

int environment_make(const struct environment *from, struct strata_arena *arena,
		     const char *const **ret_environment, struct strata_error *err)
{
	struct maker maker = { .from = from, .arena = arena };
	size_t count = 0, used = 0;

	set_job(&maker);
	set_array(&maker);
	set_place(&maker);
	set_gpus(&maker);
	set_own(&maker);
	while (from->user_environment && from->user_environment[count])
		count++;
	const char **all = strata_arena_array(arena, count + maker.count + 1, sizeof(*all));

	if (maker.failed || !all)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const char *variable = from->user_environment[i];

		if (is_replaced(&maker, variable))
			continue;
		all[used] = strata_arena_text(arena, variable, strlen(variable));
		if (!all[used++])
			return strata_fail_memory(err);
	}
	memcpy(all + used, maker.ours, maker.count * sizeof(*all));
	*ret_environment = all;
	return 0;
}

const char *environment_find(const char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}
