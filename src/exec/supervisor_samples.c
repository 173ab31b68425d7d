/*
 * A supervisor looks at what its job uses: CPU time and memory of its processes, and of its GPUs
 * what NVIDIA's library tells. Looks become rarer the longer the job runs (samples.h). What is
 * known stands beside the attempt's file while it runs, and in its last word.
 */
#include "exec/environment.h"
#include "exec/resident.h"
#include "exec/supervisor_actions.h"

#include <strata/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITE_NS (5 * STRATA_SECOND_NS) /* not more often than this */

/* Its GPUs are those that it is told of: "2,3". */
static uint64_t gpus_of(const struct exec_order *order)
{
	const char *list = environment_find(order->environment, "CUDA_VISIBLE_DEVICES");
	uint64_t mask = 0;

	while (list && *list) {
		char *end;
		unsigned long number = strtoul(list, &end, 10);

		if (end == list)
			return 0;
		if (number < 64)
			mask |= UINT64_C(1) << number;
		list = end + (*end == ',');
	}
	return mask;
}

void supervisor_samples_begin(struct supervisor *sup)
{
	uint64_t mask = gpus_of(&sup->order);
	uint32_t gpus = 0;

	if (mask && inventory_meter_open(INVENTORY_NVML, mask, &sup->meter, NULL) == 0)
		gpus = inventory_meter_gpus(sup->meter);
	samples_init(&sup->samples, gpus);
	sup->measure_at_ns = sup->start_ns + sup->samples.interval_ms * STRATA_MS_NS;
	sup->samples_write_at_ns = sup->measure_at_ns;
}

static void write_samples(struct supervisor *sup)
{
	struct strata_arena arena;
	struct strata_error err;
	char name[RECORD_NAME_BYTES + 16];
	const char *json;

	snprintf(name, sizeof(name), "%s%s", sup->name, JOURNAL_SAMPLES);
	strata_arena_init(&arena, &sup->memory, 0);
	if (samples_print(&sup->samples, &arena, &json, &err) < 0 ||
	    samples_write(sup->env, sup->jobs, name, json, &err) < 0)
		if (!sup->samples_troubled) {
			supervisor_warn(sup, "what it uses cannot be shown: %s", err.text);
			sup->samples_troubled = true;
		}
	strata_arena_fini(&arena);
}

void supervisor_measure(struct supervisor *sup)
{
	int64_t now_ns = supervisor_now_ns(sup), memory = sup->memory_now_bytes;
	struct samples_look look = {
		.at_ms = (now_ns - sup->start_ns) / STRATA_MS_NS,
		.cpu_ms = resident_cpu_ns(&sup->cgroup) / STRATA_MS_NS,
	};

	if (sup->cgroup.memory_kept) /* else it was looked at anyway */
		memory = resident_bytes(&sup->cgroup, 0);
	look.memory_bytes = memory;
	if (sup->meter &&
	    !inventory_meter_read(sup->meter, &look.gpu_milli, &look.gpu_memory_bytes))
		look.gpu_milli = look.gpu_memory_bytes = 0;
	samples_add(&sup->samples, &look);
	sup->memory_now_bytes = 0;
	sup->measure_at_ns = now_ns + sup->samples.interval_ms * STRATA_MS_NS;
	if (now_ns < sup->samples_write_at_ns)
		return;
	write_samples(sup);
	sup->samples_write_at_ns = now_ns + WRITE_NS;
}

/* On the arena; NULL when there are none. */
const char *supervisor_samples_end(struct supervisor *sup, struct strata_arena *arena)
{
	const char *json = NULL;

	inventory_meter_close(sup->meter);
	sup->meter = NULL;
	if (sup->samples.count && samples_print(&sup->samples, arena, &json, NULL) < 0)
		json = NULL;
	return json;
}

const char *supervisor_samples_lost(struct supervisor *sup, struct strata_arena *arena)
{
	char name[RECORD_NAME_BYTES + 16], *json;
	struct record_samples record;
	size_t length;

	snprintf(name, sizeof(name), "%s%s", sup->name, JOURNAL_SAMPLES);
	if (env_read_file(sup->env, sup->jobs, name, SAMPLES_BYTES_MAX, arena, &json, &length,
			  NULL) < 0 ||
	    samples_read(json, length, arena, &record, NULL) < 0)
		return NULL;
	return json;
}
