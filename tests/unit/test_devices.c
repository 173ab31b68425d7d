#include "test.h"

#include "machine/devices.h"

#include <strata/machine.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(gpus_are_known_by_their_type)
{
	CHECK(devices_find_gpu("a100")->half_flops_per_s == 312e12);
	CHECK_TEXT(devices_find_gpu("a100_pcie")->type, "a100");
	CHECK_TEXT(devices_find_gpu("a10")->type, "a10");
	CHECK_TEXT(devices_find_gpu("l40s")->type, "l40s");
	CHECK(!devices_find_gpu("a1000") && !devices_find_gpu("gpu") && !devices_find_gpu(""));
}

TEST(a_node_has_devices_and_ways_between_them)
{
	const struct inventory_gpu gpus[] = { { "a100", NULL, INT64_C(80) << 30, 0, 1 },
					      { "a100", NULL, INT64_C(80) << 30, 0, 1 },
					      { "odd", NULL, INT64_C(8) << 30, 1, 0 } };
	const struct inventory_node node = { .name = "n",
					     .cpus = 32,
					     .cores = 16,
					     .numa_count = 2,
					     .memory_bytes = INT64_C(64) << 30,
					     .gpus = gpus,
					     .gpu_count = 3 };
	struct strata_machine machine;
	struct strata_arena arena;
	size_t guessed;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(devices_of(&node, &arena, &machine, &guessed, &err));
	CHECK_INT(machine.device_count, 5);
	CHECK_INT(guessed, 1);
	CHECK_TEXT(machine.devices[0].name, "cpu0");
	CHECK_INT(machine.devices[1].capacity_bytes, INT64_C(32) << 30);
	CHECK_TEXT(machine.devices[2].name, "gpu0");
	CHECK_TEXT(machine.devices[2].kind, "gpu");
	CHECK(machine.devices[2].bytes_per_s > machine.devices[4].bytes_per_s);
	/* linked directly; on one side of the machine; across it */
	double direct = machine.bytes_per_s[2 * 5 + 3], side = machine.bytes_per_s[0 * 5 + 2];
	double across = machine.bytes_per_s[0 * 5 + 4];

	CHECK(direct > side && side > across && across > 0);
	CHECK(machine.bytes_per_s[0] == 0 && machine.latency_ns[1] > 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(this_machine_has_a_processor)
{
	struct strata_machine machine;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_machine_detect(&arena, &machine, NULL, NULL, &err));
	CHECK(machine.device_count >= 1);
	CHECK_TEXT(machine.devices[0].kind, "cpu");
	CHECK(machine.devices[0].flops_per_s > 1e9 && machine.devices[0].capacity_bytes > 1 << 28);
	strata_arena_fini(&arena);
}

TEST(too_many_devices_are_refused)
{
	static const struct inventory_gpu gpus[STRATA_PLACE_DEVICES_MAX] = { { .type = "a100" } };
	struct inventory_node node = { .name = "n",
				       .cpus = 1,
				       .cores = 1,
				       .numa_count = STRATA_PLACE_DEVICES_MAX + 1,
				       .memory_bytes = 1 << 30,
				       .gpus = gpus };
	struct strata_machine machine;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(devices_of(&node, &arena, &machine, NULL, &err), -E2BIG, "65 devices");
	node.numa_count--;
	CHECK_OK(devices_of(&node, &arena, &machine, NULL, &err));
	strata_arena_fini(&arena);
}

static int detect_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct strata_machine machine;
	struct strata_arena arena;

	(void)context;
	strata_arena_init(&arena, own, 0);
	int rc = strata_machine_detect(&arena, &machine, NULL, NULL, why);

	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(detect_once, NULL);
}
