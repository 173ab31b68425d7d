/*
 * What a choice comes to. Latency: ops are taken in the draft's order; each starts when its device is free and all it needs has arrived; links
 * have no contention and KV state sets out at time 0. Load: what a device computes for one request, and its part of what is moved: each value
 * that it reads from elsewhere once, each value of its own that others read once.
 */
#include "place/place_int.h"

#include <string.h>

double simulate_latency(const struct strata_place_problem *problem,
			const struct strata_place_draft *draft, double cutoff, double *ret_start,
			double *ret_finish, double *free_ns)
{
	size_t d = problem->device_count;
	double last = 0;

	memset(free_ns, 0, d * sizeof(*free_ns));
	for (size_t i = 0; i < problem->op_count; i++) {
		uint32_t op = draft->order[i], device = draft->device[op];
		double start = free_ns[device];

		for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++) {
			uint32_t from = problem->in_from[e];
			double there = ret_finish[from];

			if (draft->device[from] != device)
				there += place_move_ns(problem, draft->device[from], device,
						       problem->in_bytes[e],
						       problem->in_cost_ns[e]);
			if (there > start)
				start = there;
		}
		if (problem->kv_move_ns && problem->kv_move_ns[op * d + device] > start)
			start = problem->kv_move_ns[op * d + device];
		double finish = start + problem->times[op * d + device];

		if (ret_start)
			ret_start[op] = start;
		ret_finish[op] = finish;
		free_ns[device] = finish;
		if (finish > last) {
			last = finish;
			if (last >= cutoff)
				return last;
		}
	}
	return last;
}

/* A value's part of the loads: its maker's device pays once for the dearest way out, each other reader's device for its own way in. */
static void add_value(const struct strata_place_problem *problem,
		      const struct strata_place_draft *draft, size_t value, double *loads)
{
	uint32_t own = draft->device[problem->value_from[value]];
	uint64_t seen = 0;
	double out = 0;

	for (uint32_t r = problem->value_first[value]; r < problem->value_first[value + 1]; r++) {
		uint32_t device = draft->device[problem->value_readers[r]];

		if (device == own || seen >> device & 1)
			continue;
		seen |= UINT64_C(1) << device;
		double way = place_way_ns(problem, value, own, device);

		if (!problem->machine->devices[device].transfers_free)
			loads[device] += way;
		out = fmax(out, way);
	}
	if (!problem->machine->devices[own].transfers_free)
		loads[own] += out;
}

double simulate_loads(const struct strata_place_problem *problem,
		      const struct strata_place_draft *draft, double *ret_loads)
{
	size_t d = problem->device_count;
	double most = 0;

	memset(ret_loads, 0, d * sizeof(*ret_loads));
	for (size_t i = 0; i < problem->op_count; i++) {
		size_t device = draft->device[i];

		ret_loads[device] += problem->times[i * d + device];
		if (problem->kv_move_ns)
			ret_loads[device] += problem->kv_move_ns[i * d + device];
	}
	for (size_t v = 0; v < problem->value_count; v++)
		add_value(problem, draft, v, ret_loads);
	for (size_t j = 0; j < d; j++)
		most = fmax(most, ret_loads[j]);
	return most;
}
