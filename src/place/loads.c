/*
 * Loads of devices, kept up to date while ops move: for each value the number of its readers on each device, so that a move touches the values
 * that the op makes or reads and nothing else. simulate.c says what a load is; the two agree, which is tested.
 */
#include "place/place_int.h"

#include <string.h>

int loads_init(struct loads *loads, const struct strata_place_problem *problem,
	       struct strata_arena *arena, struct strata_error *err)
{
	size_t n = problem->op_count, d = problem->device_count;

	*loads = (struct loads){
		.problem = problem,
		.device = strata_arena_array(arena, n, sizeof(uint32_t)),
		.readers = strata_arena_array(arena, problem->value_count, d * sizeof(uint32_t)),
		.load = strata_arena_array(arena, d, sizeof(double)),
		.out_first = strata_arena_array(arena, n + 1, sizeof(uint32_t)),
	};
	if (!loads->device || !loads->readers || !loads->load || !loads->out_first)
		return strata_fail_memory(err);
	for (size_t v = 0; v < problem->value_count; v++) /* values are by maker */
		loads->out_first[problem->value_from[v] + 1]++;
	for (size_t i = 0; i < n; i++)
		loads->out_first[i + 1] += loads->out_first[i];
	return 0;
}

/* What a value adds to the loads as things are, times sign. */
static void count_value(struct loads *loads, size_t value, double sign)
{
	const struct strata_place_problem *problem = loads->problem;
	const struct strata_device *devices = problem->machine->devices;
	size_t d = problem->device_count, own = loads->device[problem->value_from[value]];
	const uint32_t *readers = loads->readers + value * d;
	double out = 0;

	for (size_t j = 0; j < d; j++) {
		if (j == own || !readers[j])
			continue;
		double way = place_way_ns(problem, value, own, j);

		if (!devices[j].transfers_free)
			loads->load[j] += sign * way;
		out = fmax(out, way);
	}
	if (!devices[own].transfers_free)
		loads->load[own] += sign * out;
}

static void count_op(struct loads *loads, size_t op, double sign)
{
	const struct strata_place_problem *problem = loads->problem;
	size_t device = loads->device[op], at = op * problem->device_count + device;

	loads->load[device] += sign * problem->times[at];
	if (problem->kv_move_ns)
		loads->load[device] += sign * problem->kv_move_ns[at];
}

void loads_set(struct loads *loads, const uint32_t *device)
{
	const struct strata_place_problem *problem = loads->problem;
	size_t d = problem->device_count;

	memcpy(loads->device, device, problem->op_count * sizeof(*device));
	memset(loads->readers, 0, problem->value_count * d * sizeof(*loads->readers));
	memset(loads->load, 0, d * sizeof(*loads->load));
	for (size_t i = 0; i < problem->op_count; i++)
		count_op(loads, i, 1);
	for (size_t v = 0; v < problem->value_count; v++) {
		for (uint32_t r = problem->value_first[v]; r < problem->value_first[v + 1]; r++)
			loads->readers[v * d + device[problem->value_readers[r]]]++;
		count_value(loads, v, 1);
	}
}

/* Reading the same value twice is one after the other: each step leaves the counts right. */
size_t loads_move(struct loads *loads, size_t op, size_t device)
{
	const struct strata_place_problem *problem = loads->problem;
	size_t d = problem->device_count, old = loads->device[op], touched = 1;

	for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++, touched++) {
		size_t value = problem->in_value[e];

		count_value(loads, value, -1);
		loads->readers[value * d + old]--;
		loads->readers[value * d + device]++;
		count_value(loads, value, 1);
	}
	count_op(loads, op, -1);
	for (uint32_t v = loads->out_first[op]; v < loads->out_first[op + 1]; v++, touched++)
		count_value(loads, v, -1);
	loads->device[op] = (uint32_t)device;
	for (uint32_t v = loads->out_first[op]; v < loads->out_first[op + 1]; v++)
		count_value(loads, v, 1);
	count_op(loads, op, 1);
	return touched;
}

double loads_most(const struct loads *loads)
{
	double most = 0;

	for (size_t j = 0; j < loads->problem->device_count; j++)
		most = fmax(most, loads->load[j]);
	return most;
}
