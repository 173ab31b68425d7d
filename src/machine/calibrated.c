/* A machine with what was measured of it. Apart from the measuring, which needs libraries that this does not. */
#include <strata/machine.h>

#include <string.h>

static bool is_cpu(const struct strata_device *device)
{
	return strcmp(device->kind, "cpu") == 0;
}

int strata_machine_calibrate(const struct strata_machine *machine,
			     const struct strata_measured *result, struct strata_arena *arena,
			     struct strata_machine *ret_machine, struct strata_error *err)
{
	size_t count = machine->device_count;
	struct strata_device *devices = strata_arena_array(arena, count, sizeof(*devices));
	double *rates = strata_arena_array(arena, count * count, sizeof(*rates)), domains = 0;

	if (!devices || !rates)
		return strata_fail_memory(err);
	memcpy(devices, machine->devices, count * sizeof(*devices));
	memcpy(rates, machine->bytes_per_s, count * count * sizeof(*rates));
	for (size_t i = 0; i < count; i++)
		domains += is_cpu(&devices[i]);
	for (size_t i = 0; i < count; i++) {
		if (!is_cpu(&devices[i]))
			continue;
		devices[i].flops_per_s = result->flops_per_s / domains;
		devices[i].bytes_per_s = result->bytes_per_s / domains;
		devices[i].overhead_ns = result->overhead_ns;
		for (size_t k = 0; k < count; k++)
			if (k != i && is_cpu(&devices[k]) && result->cross_bytes_per_s > 0)
				rates[i * count + k] = result->cross_bytes_per_s;
	}
	*ret_machine = *machine;
	ret_machine->devices = devices;
	ret_machine->bytes_per_s = rates;
	return 0;
}
