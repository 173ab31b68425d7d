/*
 * Memory: what fits on a device. Weights and KV state stay and are added up; activations come and go, so they are counted along the order: a
 * value is on its maker's device until it has been read for the last time anywhere, and on a reader's device from when it is made until it
 * has been read there for the last time.
 */
#include "place/place_int.h"

#include <errno.h>
#include <string.h>

bool stock_holds(const struct strata_place_problem *problem, const struct stock *room,
		 size_t device)
{
	const struct strata_device *limits = &problem->machine->devices[device];

	return room->weights <= stock_limit(limits->weight_bytes_max) &&
	       room->kv <= stock_limit(limits->kv_bytes_max) &&
	       room->weights <= stock_limit(limits->capacity_bytes) - room->kv;
}

bool stock_fits(const struct strata_place_problem *problem, const struct stock *stocks,
		size_t group, size_t device)
{
	struct stock with = stocks[device];

	with.weights += problem->weight_bytes[group];
	with.kv += problem->kv_bytes[group];
	return problem->allowed[group] >> device & 1 && stock_holds(problem, &with, device);
}

bool stock_limits_activations(const struct strata_place_problem *problem)
{
	for (size_t d = 0; d < problem->device_count; d++) {
		const struct strata_device *limits = &problem->machine->devices[d];

		if (!problem->machine->activations_apart && limits->capacity_bytes > 0)
			return true;
		for (size_t p = 0; p < STRATA_PHASE_COUNT; p++)
			if (limits->activation_bytes_max[p] > 0)
				return true;
	}
	return false;
}

bool stock_holds_activations(const struct strata_place_problem *problem, const struct stock *stocks,
			     const int64_t *peaks, size_t *ret_device, size_t *ret_phase)
{
	for (size_t d = 0; d < problem->device_count; d++) {
		const struct strata_device *limits = &problem->machine->devices[d];
		int64_t left = stock_limit(limits->capacity_bytes) - stocks[d].weights -
			       stocks[d].kv;

		for (size_t p = 0; p < STRATA_PHASE_COUNT; p++) {
			int64_t peak = peaks[d * STRATA_PHASE_COUNT + p];

			if (peak <= stock_limit(limits->activation_bytes_max[p]) &&
			    (problem->machine->activations_apart || peak <= left))
				continue;
			if (ret_device)
				*ret_device = d;
			if (ret_phase)
				*ret_phase = p;
			return false;
		}
	}
	return true;
}

/* ---- activations along the order ---- */

struct release { /* bytes that go when the op at a position has run */
	uint32_t device, next;
	int64_t bytes;
};

struct counter {
	const struct strata_place_problem *problem;
	const struct strata_place_draft *draft;
	uint32_t *position; /* of each op */
	uint32_t *head;     /* of each position: first of its releases, + 1 */
	struct release *releases;
	size_t release_count;
	int64_t *live;      /* of each device */
	uint32_t *value_at; /* of each op: the first of the values that it makes */
};

static void release_at(struct counter *counter, uint32_t position, uint32_t device, int64_t bytes)
{
	counter->releases[counter->release_count] =
		(struct release){ device, counter->head[position], bytes };
	counter->head[position] = (uint32_t)++counter->release_count;
}

/* Until when some readers' devices need it: one release for each device but `own`. Returns the last of all. */
static uint32_t release_readers(struct counter *counter, const uint32_t *readers, size_t count,
				uint32_t own, int64_t bytes, uint32_t first, int64_t *ret_start)
{
	uint32_t last[STRATA_PLACE_DEVICES_MAX] = { 0 }, last_any = first;
	uint64_t seen = 0;

	for (size_t r = 0; r < count; r++) {
		uint32_t at = counter->position[readers[r]];
		uint32_t device = counter->draft->device[readers[r]];

		seen |= UINT64_C(1) << device;
		if (at > last[device])
			last[device] = at;
		if (at > last_any)
			last_any = at;
	}
	for (; seen; seen &= seen - 1) {
		uint32_t device = (uint32_t)__builtin_ctzll(seen);

		if (device == own)
			continue;
		release_at(counter, last[device], device, bytes);
		ret_start[device] += bytes;
	}
	return last_any;
}

/* Inputs of the model are wherever they are read, from the beginning. */
static void begin_inputs(struct counter *counter)
{
	const struct strata_graph *graph = counter->problem->graph;

	for (size_t t = 0; t < graph->tensor_count; t++) {
		const struct strata_tensor *tensor = &graph->tensors[t];

		if (tensor->role == STRATA_ROLE_INPUT && tensor->bytes &&
		    tensor->producer == STRATA_NONE)
			release_readers(counter, graph->readers + graph->reader_first[t],
					graph->reader_first[t + 1] - graph->reader_first[t],
					STRATA_NONE, tensor->bytes, 0, counter->live);
	}
}

/* What an op makes takes room before it runs. */
static void begin_value(struct counter *counter, size_t value, uint32_t at)
{
	const struct strata_place_problem *problem = counter->problem;
	uint32_t own = counter->draft->device[problem->value_from[value]];
	int64_t bytes = problem->value_bytes[value];
	uint32_t last =
		release_readers(counter, problem->value_readers + problem->value_first[value],
				problem->value_first[value + 1] - problem->value_first[value], own,
				bytes, at, counter->live);

	counter->live[own] += bytes;
	release_at(counter, last, own, bytes);
}

static void walk(struct counter *counter, int64_t *ret_peaks)
{
	const struct strata_place_problem *problem = counter->problem;

	for (uint32_t i = 0; i < problem->op_count; i++) {
		uint32_t op = counter->draft->order[i], device = counter->draft->device[op];
		const struct strata_op *what = &problem->graph->ops[op];

		for (uint32_t v = counter->value_at[op]; v < counter->value_at[op + 1]; v++)
			begin_value(counter, v, i);
		int64_t *peak = &ret_peaks[device * STRATA_PHASE_COUNT + what->phase];
		int64_t now = counter->live[device] + what->activation_bytes;

		if (now > *peak)
			*peak = now;
		for (uint32_t r = counter->head[i]; r; r = counter->releases[r - 1].next)
			counter->live[counter->releases[r - 1].device] -=
				counter->releases[r - 1].bytes;
	}
}

struct counter *stock_counter_new(const struct strata_place_problem *problem,
				  struct strata_arena *arena)
{
	size_t n = problem->op_count, d = problem->device_count;
	size_t releases = problem->value_count + problem->in_first[n];

	for (size_t t = 0; t < problem->graph->tensor_count; t++)
		releases += problem->graph->tensors[t].role == STRATA_ROLE_INPUT ? d : 0;
	struct counter *counter = strata_arena_get(arena, sizeof(*counter));

	if (!counter)
		return NULL;
	*counter = (struct counter){
		.problem = problem,
		.position = strata_arena_array(arena, n, sizeof(*counter->position)),
		.head = strata_arena_array(arena, n, sizeof(*counter->head)),
		.releases = strata_arena_array(arena, releases, sizeof(*counter->releases)),
		.live = strata_arena_array(arena, d, sizeof(*counter->live)),
		.value_at = strata_arena_array(arena, n + 1, sizeof(*counter->value_at)),
	};
	if (!counter->position || !counter->head || !counter->releases || !counter->live ||
	    !counter->value_at)
		return NULL;
	for (size_t v = 0; v < problem->value_count; v++) /* values are by maker */
		counter->value_at[problem->value_from[v] + 1]++;
	for (size_t i = 0; i < n; i++)
		counter->value_at[i + 1] += counter->value_at[i];
	return counter;
}

void stock_count(struct counter *counter, const struct strata_place_draft *draft,
		 int64_t *ret_peaks)
{
	size_t n = counter->problem->op_count, d = counter->problem->device_count;

	counter->draft = draft;
	counter->release_count = 0;
	memset(counter->head, 0, n * sizeof(*counter->head));
	memset(counter->live, 0, d * sizeof(*counter->live));
	memset(ret_peaks, 0, d * STRATA_PHASE_COUNT * sizeof(*ret_peaks));
	for (uint32_t i = 0; i < n; i++)
		counter->position[draft->order[i]] = i;
	begin_inputs(counter);
	walk(counter, ret_peaks);
}

int stock_activations(const struct strata_place_problem *problem,
		      const struct strata_place_draft *draft, struct strata_arena *arena,
		      int64_t *ret_peaks)
{
	struct strata_arena scratch;

	strata_arena_init(&scratch, arena->memory, 0);
	struct counter *counter = stock_counter_new(problem, &scratch);

	if (counter)
		stock_count(counter, draft, ret_peaks);
	strata_arena_fini(&scratch);
	return counter ? 0 : -ENOMEM;
}
