/* Devices from an inventory. Figures of GPUs are peaks without sparsity, as published; f16 is that of the matrix units with f32 sums. */
#include "machine/devices.h"

#include <strata/machine.h>
#include <strata/solver.h>

#include <errno.h>
#include <string.h>

#define TERA 1e12
#define GIGA 1e9

/* clang-format off */
static const struct devices_gpu known[] = { /* a longer name before what it begins with */
	{ "a100", 19.5 * TERA, 312 * TERA, 1935 * GIGA },
	{ "a10", 31.2 * TERA, 125 * TERA, 600 * GIGA },
	{ "a30", 10.3 * TERA, 165 * TERA, 933 * GIGA },
	{ "a40", 37.4 * TERA, 150 * TERA, 696 * GIGA },
	{ "b200", 80 * TERA, 2250 * TERA, 8000 * GIGA },
	{ "h100", 67 * TERA, 989 * TERA, 3350 * GIGA },
	{ "h200", 67 * TERA, 989 * TERA, 4800 * GIGA },
	{ "l40s", 91.6 * TERA, 362 * TERA, 864 * GIGA },
	{ "l40", 90.5 * TERA, 181 * TERA, 864 * GIGA },
	{ "l4", 30.3 * TERA, 121 * TERA, 300 * GIGA },
	{ "p100", 9.3 * TERA, 18.7 * TERA, 732 * GIGA },
	{ "rtx_3080", 29.8 * TERA, 59.5 * TERA, 760 * GIGA },
	{ "rtx_3090", 35.6 * TERA, 71 * TERA, 936 * GIGA },
	{ "rtx_4080", 48.7 * TERA, 97.5 * TERA, 717 * GIGA },
	{ "rtx_4090", 82.6 * TERA, 165 * TERA, 1008 * GIGA },
	{ "rtx_5090", 105 * TERA, 210 * TERA, 1792 * GIGA },
	{ "rtx_a6000", 38.7 * TERA, 155 * TERA, 768 * GIGA },
	{ "t4", 8.1 * TERA, 65 * TERA, 320 * GIGA },
	{ "v100", 15.7 * TERA, 125 * TERA, 900 * GIGA },
};
/* clang-format on */

/* A GPU nobody knows counts as a slow one: plans that are too careful still run. */
static const struct devices_gpu slow = { "", 8 * TERA, 16 * TERA, 300 * GIGA };

static const double cpu_hz = 2.5 * GIGA;             /* of one core under load */
static const double cpu_bytes_per_s = 20 * GIGA;     /* of one NUMA domain's memory, or less */
static const double direct_bytes_per_s = 300 * GIGA; /* NVLink and its like */
static const double bus_bytes_per_s = 22 * GIGA;     /* PCIe 4.0 x16, what is left of it */
static const double cross_bytes_per_s = 15 * GIGA;   /* from one NUMA domain to another */
static const double gpu_overhead_ns = 5000, cpu_overhead_ns = 500, link_latency_ns = 10000;

const struct devices_gpu *devices_find_gpu(const char *type)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].type);

		if (strncmp(type, known[i].type, length) == 0 &&
		    (!type[length] || strchr("_-", type[length])))
			return &known[i];
	}
	return NULL;
}

/* Two multiply-adds of a vector in each cycle of each core. */
static double cpu_flops(uint32_t cores)
{
	static const double per_cycle[] = {
		[STRATA_ISA_SCALAR] = 8, [STRATA_ISA_AVX2] = 32, [STRATA_ISA_AVX512] = 64
	};

	return per_cycle[strata_isa_best()] * cpu_hz * cores;
}

static const char *name_of(const char *word, uint32_t index, bool only, struct strata_arena *arena)
{
	return only ? word : strata_arena_printf(arena, "%s%u", word, index);
}

static bool fill_devices(const struct inventory_node *node, struct strata_arena *arena,
			 struct strata_device *devices, size_t *ret_guessed)
{
	uint32_t domains = node->numa_count;

	for (uint32_t i = 0; i < domains; i++)
		devices[i] = (struct strata_device){
			.name = name_of("cpu", i, domains == 1, arena),
			.kind = "cpu",
			.flops_per_s = cpu_flops(node->cores) / domains,
			.bytes_per_s = cpu_bytes_per_s,
			.overhead_ns = cpu_overhead_ns,
			.capacity_bytes = node->memory_bytes / domains,
		};
	for (uint32_t i = 0; i < node->gpu_count; i++) {
		const struct devices_gpu *gpu = devices_find_gpu(node->gpus[i].type);

		*ret_guessed += !gpu;
		gpu = gpu ? gpu : &slow;
		devices[domains + i] = (struct strata_device){
			.name = name_of("gpu", i, false, arena),
			.kind = "gpu",
			.flops_per_s = gpu->flops_per_s,
			.half_flops_per_s = gpu->half_flops_per_s,
			.bytes_per_s = gpu->bytes_per_s,
			.overhead_ns = gpu_overhead_ns,
			.capacity_bytes = node->gpus[i].memory_bytes,
		};
	}
	for (uint32_t i = 0; i < domains + node->gpu_count; i++)
		if (!devices[i].name)
			return false;
	return true;
}

/* Where a device is, and the group of direct links it is in; 0: none. */
static void place_of(const struct inventory_node *node, size_t device, uint32_t *ret_numa,
		     uint32_t *ret_group)
{
	bool gpu = device >= node->numa_count;
	const struct inventory_gpu *about = gpu ? &node->gpus[device - node->numa_count] : NULL;

	*ret_numa = gpu ? about->numa : (uint32_t)device;
	*ret_group = gpu ? about->group : 0;
}

static double link_rate(const struct inventory_node *node, size_t from, size_t to)
{
	uint32_t numa_from, numa_to, group_from, group_to;

	place_of(node, from, &numa_from, &group_from);
	place_of(node, to, &numa_to, &group_to);
	if (group_from && group_from == group_to)
		return direct_bytes_per_s;
	return numa_from == numa_to ? bus_bytes_per_s : cross_bytes_per_s;
}

int devices_of(const struct inventory_node *node, struct strata_arena *arena,
	       struct strata_machine *ret_machine, size_t *ret_guessed, struct strata_error *err)
{
	size_t count = (size_t)node->numa_count + node->gpu_count, guessed = 0;
	struct strata_device *devices = strata_arena_array(arena, count, sizeof(*devices));
	double *rates = strata_arena_array(arena, count * count, sizeof(*rates));
	double *latencies = strata_arena_array(arena, count * count, sizeof(*latencies));

	if (count > STRATA_PLACE_DEVICES_MAX)
		return strata_fail(err, -E2BIG, "%zu devices; expected at most %d", count,
				   STRATA_PLACE_DEVICES_MAX);
	if (!devices || !rates || !latencies || !fill_devices(node, arena, devices, &guessed))
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (i != k) {
				rates[i * count + k] = link_rate(node, i, k);
				latencies[i * count + k] = link_latency_ns;
			}
	*ret_machine = (struct strata_machine){ .devices = devices,
						.device_count = count,
						.bytes_per_s = rates,
						.latency_ns = latencies };
	if (ret_guessed)
		*ret_guessed = guessed;
	return 0;
}

int strata_machine_detect(struct strata_arena *arena, struct strata_machine *ret_machine,
			  struct strata_error *ret_note, size_t *ret_guessed,
			  struct strata_error *err)
{
	struct inventory inventory;
	int rc = inventory_detect(arena, &inventory, ret_note, err);

	return rc ? rc : devices_of(&inventory.nodes[0], arena, ret_machine, ret_guessed, err);
}
