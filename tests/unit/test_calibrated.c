#include "test.h"

#include <strata/machine.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(what_was_measured_replaces_what_was_assumed_of_processors)
{
	const struct strata_device devices[] = {
		{ .name = "cpu0", .kind = "cpu", .flops_per_s = 1 },
		{ .name = "cpu1", .kind = "cpu" },
		{ .name = "gpu0", .kind = "gpu", .flops_per_s = 7 }
	};
	const double rates[9] = { 0, 1, 2, 3, 0, 4, 5, 6, 0 };
	const struct strata_machine machine = { .devices = devices,
						.device_count = 3,
						.bytes_per_s = rates };
	const struct strata_measured result = { 1e12, 4e10, 300, 8e9, 0, 0 };
	struct strata_machine measured;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_machine_calibrate(&machine, &result, &arena, &measured, &err));
	CHECK(measured.devices[1].flops_per_s == 5e11 && measured.devices[1].bytes_per_s == 2e10);
	CHECK(measured.devices[0].overhead_ns == 300);
	CHECK(measured.devices[2].flops_per_s == 7);
	CHECK(measured.bytes_per_s[1] == 8e9 && measured.bytes_per_s[2] == 2);
	CHECK(rates[1] == 1);
	strata_arena_fini(&arena);
}
