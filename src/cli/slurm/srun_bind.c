/*
 * Which GPUs a task sees (--gpu-bind) and which CPUs it runs on (--cpu-bind). What cannot be done
 * is left as it is: a task that asks for CPUs that its job does not have runs on the job's.
 */
#include "cli/slurm/srun.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The item of "a,b,c" for the n-th task: they are gone through again and again. */
static const char *item_at(const char *list, int64_t n)
{
	int64_t count = 1;

	for (const char *at = list; *at; at++)
		count += *at == ',';
	for (n %= count; n > 0; n--)
		list = strchr(list, ',') + 1;
	return list;
}

/* ---- GPUs ---- */

/* GPUs of the node as bits, those that a task sees. */
static uint64_t gpu_mask(const char *bind, size_t count, int64_t local)
{
	uint64_t all = count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
	const char *value = strchr(bind, ':') ? strchr(bind, ':') + 1 : "";
	int64_t number = strtoll(value, NULL, 10);
	uint64_t mask = 0;

	if (strncmp(bind, "map", 3) == 0)
		mask = UINT64_C(1) << (strtoull(item_at(value, local), NULL, 0) & 63);
	else if (strncmp(bind, "mask", 4) == 0)
		mask = strtoull(item_at(value, local), NULL, 16);
	else if (strncmp(bind, "single", 6) == 0 && number > 0)
		mask = UINT64_C(1) << (((uint64_t)(local / number) % (count ? count : 1)) & 63);
	else if (strncmp(bind, "per_task", 8) == 0 && number > 0)
		for (int64_t i = 0; i < number && i < (int64_t)count; i++)
			mask |= UINT64_C(1)
				<< (((uint64_t)(local * number + i) % (count ? count : 1)) & 63);
	return mask & all ? mask & all : all;
}

const char *srun_bound_gpus(const struct srun_node *node, const char *bind, int64_t local,
			    struct strata_arena *arena)
{
	uint64_t mask = gpu_mask(bind, node->gpu_count, local);
	struct srun_node seen = *node;
	int64_t *gpus = strata_arena_array(arena, node->gpu_count + 1, sizeof(*gpus));

	if (!gpus)
		return NULL;
	seen.gpu_count = 0;
	for (size_t i = 0; i < node->gpu_count && i < 64; i++)
		if (mask >> i & 1)
			gpus[seen.gpu_count++] = node->gpus[i];
	seen.gpus = gpus;
	return srun_task_gpus(&seen, 0, 0, arena);
}

/* ---- CPUs ---- */

/* The n-th CPU that we may use ourselves, going round. */
static int nth_cpu(const cpu_set_t *own, int64_t n)
{
	int count = CPU_COUNT(own);

	for (int cpu = 0, seen = 0; count && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, own) && seen++ == (int)(n % count))
			return cpu;
	return 0;
}

static void add_mask(const char *text, cpu_set_t *ret_set)
{
	size_t length = strcspn(text, ",");

	if (strncasecmp(text, "0x", 2) == 0) {
		text += 2;
		length -= 2;
	}
	for (size_t i = 0; i < length; i++) {
		char digit[2] = { text[length - 1 - i], '\0' };
		unsigned long bits = strtoul(digit, NULL, 16);

		for (int bit = 0; bit < 4; bit++)
			if ((bits >> bit & 1) && 4 * i + (size_t)bit < CPU_SETSIZE)
				CPU_SET(4 * i + (size_t)bit, ret_set);
	}
}

/* False: it is not to be bound. */
static bool choose_cpus(const struct srun *srun, const char *bind, int64_t local,
			const cpu_set_t *own, cpu_set_t *ret_set)
{
	int64_t each = srun->batch.job.cpus_per_task;

	CPU_ZERO(ret_set);
	if (strncmp(bind, "map_cpu:", 8) == 0)
		CPU_SET(strtoul(item_at(bind + 8, local), NULL, 0) % CPU_SETSIZE, ret_set);
	else if (strncmp(bind, "mask_cpu:", 9) == 0)
		add_mask(item_at(bind + 9, local), ret_set);
	else if (strcmp(bind, "rank") == 0 || strcmp(bind, "cores") == 0 ||
		 strcmp(bind, "threads") == 0)
		for (int64_t i = 0; i < each; i++)
			CPU_SET((size_t)nth_cpu(own, local * each + i), ret_set);
	else
		return false;
	return true;
}

bool srun_bind_begin(const struct srun *srun, const struct srun_task *task, cpu_set_t *ret_before)
{
	const char *bind = srun->batch.job.cpu_bind;
	bool tell = false;
	cpu_set_t set;

	while (bind && (strncmp(bind, "verbose,", 8) == 0 || strncmp(bind, "v,", 2) == 0 ||
			strncmp(bind, "quiet,", 6) == 0 || strncmp(bind, "q,", 2) == 0)) {
		tell = *bind == 'v';
		bind = strchr(bind, ',') + 1;
	}
	if (!bind || sched_getaffinity(0, sizeof(*ret_before), ret_before) ||
	    !choose_cpus(srun, bind, task->local, ret_before, &set) ||
	    sched_setaffinity(0, sizeof(set), &set))
		return false;
	if (tell) {
		uint64_t low = 0;

		for (size_t cpu = 0; cpu < 64; cpu++)
			low |= (uint64_t)(CPU_ISSET(cpu, &set) != 0) << cpu;
		dprintf(2, "cpu-bind=MASK - %s, task %2lld %2lld: mask 0x%llx set\n", task->node,
			(long long)task->rank, (long long)task->local, (unsigned long long)low);
	}
	return true;
}

void srun_bind_end(const cpu_set_t *before)
{
	sched_setaffinity(0, sizeof(*before), before);
}
