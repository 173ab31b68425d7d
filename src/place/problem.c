/*
 * The question in numbers: what every op costs on every device, what is moved between ops, who may be where. Strategies and the simulator see
 * nothing else, so a graph with tensors and one with bare edges are the same to them.
 */
#include "place/place_int.h"

#include <errno.h>
#include <string.h>

static int check_ask(const struct strata_place_request *ask, struct strata_error *err)
{
	const struct strata_machine *machine = ask->machine;
	size_t d = machine->device_count, lost = 0;

	if (d < 1 || d > STRATA_PLACE_DEVICES_MAX)
		return strata_fail_at(err, -EINVAL, "devices",
				      "there are %zu devices; expected 1 to %d", d,
				      STRATA_PLACE_DEVICES_MAX);
	if (ask->graph->device_count && ask->graph->device_count != d)
		return strata_fail_at(err, -EINVAL, "devices",
				      "the graph has times for %zu devices; there are %zu",
				      ask->graph->device_count, d);
	for (size_t i = 0; i < d; i++)
		lost += machine->devices[i].lost;
	if (lost == d)
		return strata_fail_at(err, -ENOSPC, "devices", "all %zu devices are lost", d);
	for (size_t i = 0; i < ask->rule_count; i++)
		if (ask->rules[i].device >= d)
			return strata_fail_at(err, -EINVAL, "rules",
					      "\"%.64s\" is to be on device %u; there are %zu",
					      ask->rules[i].ops, ask->rules[i].device, d);
	return 0;
}

/* ---- links ---- */

static int make_links(struct strata_place_problem *problem, struct strata_arena *arena,
		      struct strata_error *err)
{
	const struct strata_machine *machine = problem->machine;
	size_t d = problem->device_count;
	double *per_byte = strata_arena_array(arena, d * d, sizeof(*per_byte));
	double *latency = strata_arena_array(arena, d * d, sizeof(*latency));

	if (!per_byte || !latency)
		return strata_fail_memory(err);
	for (size_t i = 0; i < d * d; i++) {
		if (i / d == i % d)
			continue;
		double rate = machine->bytes_per_s ? machine->bytes_per_s[i] : 0;

		per_byte[i] = rate > 0 ? 1e9 / rate : 0;
		latency[i] = machine->latency_ns ? machine->latency_ns[i] : 0;
	}
	problem->ns_per_byte = per_byte;
	problem->latency_ns = latency;
	return 0;
}

/* ---- prices ---- */

static int price(const struct strata_place_request *ask, struct strata_arena *arena, double *times,
		 struct strata_error *err)
{
	struct strata_spec spec = ask->cost ? *ask->cost : (struct strata_spec){ 0 };
	int rc = 0;

	if (!spec.cls)
		rc = strata_spec_build(&strata_cost_kind, "roofline", arena, &spec, err);
	if (rc)
		return rc;
	const struct strata_cost_class *cls = (const struct strata_cost_class *)spec.cls;

	return cls->price(spec.conf, ask->graph, ask->machine, arena, times, err);
}

static int make_times(struct strata_place_problem *problem, const struct strata_place_request *ask,
		      struct strata_arena *arena, struct strata_error *err)
{
	size_t n = problem->op_count, d = problem->device_count;
	double *times = strata_arena_array(arena, n * d, sizeof(*times));
	int rc = times ? price(ask, arena, times, err) : strata_fail_memory(err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < d; j++) {
			double *time = &times[i * d + j];

			if (!(*time >= 0))
				return strata_fail(err, -EINVAL,
						   "the cost model gives op \"%.64s\" the time %g",
						   ask->graph->ops[i].name, *time);
			if (ask->corrections)
				*time *= strata_corrections_factor_op(
					ask->corrections, &ask->graph->ops[i], (uint32_t)j);
			if (ask->machine->devices[j].lost)
				*time = INFINITY;
		}
	problem->times = times;
	return 0;
}

static double move_kv(const struct strata_place_problem *problem, uint32_t from, size_t to,
		      int64_t bytes)
{
	return from >= problem->device_count ? 0 : place_move_ns(problem, from, to, bytes, -1);
}

static int make_kv(struct strata_place_problem *problem, struct strata_arena *arena,
		   struct strata_error *err)
{
	const struct strata_graph *graph = problem->graph;
	size_t n = problem->op_count, d = problem->device_count;
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= graph->ops[i].kv_bytes && graph->ops[i].kv_device != STRATA_NONE;
	for (size_t t = 0; t < graph->tensor_count; t++)
		any |= graph->tensors[t].role == STRATA_ROLE_KV &&
		       graph->tensors[t].device != STRATA_NONE;
	if (!any)
		return 0;
	double *moves = strata_arena_array(arena, n * d, sizeof(*moves));

	if (!moves)
		return strata_fail_memory(err);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < d; j++) {
			const struct strata_op *op = &graph->ops[i];
			double longest =
				op->kv_bytes ? move_kv(problem, op->kv_device, j, op->kv_bytes) : 0;

			for (size_t k = 0; k < op->input_count; k++) {
				if (op->inputs[k] == STRATA_NONE)
					continue;
				const struct strata_tensor *tensor = &graph->tensors[op->inputs[k]];

				if (tensor->role == STRATA_ROLE_KV)
					longest = fmax(longest, move_kv(problem, tensor->device, j,
									tensor->bytes));
			}
			moves[i * d + j] = longest;
		}
	problem->kv_move_ns = moves;
	return 0;
}

/* ---- what is moved ---- */

struct values {
	uint32_t *of_edge; /* value of each of the graph's edges */
	uint32_t *from, *first, *readers;
	int64_t *bytes;
	double *cost;
	size_t count;
};

/* An op's edges stand together: one value for each tensor among them, one for all without. */
static void number_values(const struct strata_graph *graph, uint32_t *of_tensor,
			  struct values *values)
{
	for (size_t op = 0; op < graph->op_count; op++) {
		uint32_t bare = STRATA_NONE;

		for (uint32_t e = graph->out_first[op]; e < graph->out_first[op + 1]; e++) {
			const struct strata_edge *edge = &graph->edges[e];
			uint32_t *slot = edge->tensor == STRATA_NONE ? &bare
								     : &of_tensor[edge->tensor];

			if (*slot == STRATA_NONE) {
				*slot = (uint32_t)values->count++;
				values->from[*slot] = (uint32_t)op;
				values->cost[*slot] = -1;
			}
			values->of_edge[e] = *slot;
			values->first[*slot + 1]++;
			if (edge->bytes > values->bytes[*slot])
				values->bytes[*slot] = edge->bytes;
			if (edge->cost_ns > values->cost[*slot])
				values->cost[*slot] = edge->cost_ns;
		}
	}
	for (size_t v = 0; v < values->count; v++)
		values->first[v + 1] += values->first[v];
}

static void take_values(struct strata_place_problem *problem, const struct values *values)
{
	problem->value_count = values->count;
	problem->value_from = values->from;
	problem->value_first = values->first;
	problem->value_readers = values->readers;
	problem->value_bytes = values->bytes;
	problem->value_cost_ns = values->cost;
}

static int make_values(struct strata_place_problem *problem, struct strata_arena *arena,
		       struct values *values, struct strata_error *err)
{
	const struct strata_graph *graph = problem->graph;
	size_t edges = graph->edge_count;
	uint32_t *of_tensor = strata_arena_array(arena, graph->tensor_count, sizeof(*of_tensor));
	uint32_t *at = strata_arena_array(arena, edges + 1, sizeof(*at));

	*values = (struct values){
		.of_edge = strata_arena_array(arena, edges, sizeof(uint32_t)),
		.from = strata_arena_array(arena, edges, sizeof(uint32_t)),
		.first = strata_arena_array(arena, edges + 1, sizeof(uint32_t)),
		.readers = strata_arena_array(arena, edges, sizeof(uint32_t)),
		.bytes = strata_arena_array(arena, edges, sizeof(int64_t)),
		.cost = strata_arena_array(arena, edges, sizeof(double)),
	};
	if (!of_tensor || !at || !values->of_edge || !values->from || !values->first ||
	    !values->readers || !values->bytes || !values->cost)
		return strata_fail_memory(err);
	memset(of_tensor, 0xff, graph->tensor_count * sizeof(*of_tensor));
	number_values(graph, of_tensor, values);
	memcpy(at, values->first, values->count * sizeof(*at));
	for (size_t e = 0; e < edges; e++)
		values->readers[at[values->of_edge[e]]++] = graph->edges[e].to;
	take_values(problem, values);
	return 0;
}

static int make_inputs(struct strata_place_problem *problem, const struct values *values,
		       struct strata_arena *arena, struct strata_error *err)
{
	const struct strata_graph *graph = problem->graph;
	size_t edges = graph->edge_count;
	uint32_t *from = strata_arena_array(arena, edges, sizeof(*from));
	uint32_t *value = strata_arena_array(arena, edges, sizeof(*value));
	int64_t *bytes = strata_arena_array(arena, edges, sizeof(*bytes));
	double *cost = strata_arena_array(arena, edges, sizeof(*cost));

	if (!from || !value || !bytes || !cost)
		return strata_fail_memory(err);
	for (size_t i = 0; i < edges; i++) {
		uint32_t e = graph->in_edges[i];

		from[i] = graph->edges[e].from;
		value[i] = values->of_edge[e];
		bytes[i] = graph->edges[e].bytes;
		cost[i] = graph->edges[e].cost_ns;
	}
	problem->in_first = graph->in_first;
	problem->in_from = from;
	problem->in_value = value;
	problem->in_bytes = bytes;
	problem->in_cost_ns = cost;
	return 0;
}

/* ---- who may be where ---- */

static bool is_meant(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (length && pattern[length - 1] == '*')
		return strncmp(pattern, name, length - 1) == 0;
	return strcmp(pattern, name) == 0;
}

static uint64_t mask_of(const struct strata_place_problem *problem,
			const struct strata_place_request *ask, size_t op)
{
	uint64_t mask = 0, pinned = 0;
	const char *name = problem->graph->ops[op].name;

	for (size_t d = 0; d < problem->device_count; d++)
		if (isfinite(problem->times[op * problem->device_count + d]))
			mask |= UINT64_C(1) << d;
	for (size_t i = 0; i < ask->rule_count; i++) {
		const struct strata_place_rule *rule = &ask->rules[i];

		if (!is_meant(rule->ops, name))
			continue;
		if (rule->forbid)
			mask &= ~(UINT64_C(1) << rule->device);
		else
			pinned |= UINT64_C(1) << rule->device;
	}
	return pinned ? mask & pinned : mask;
}

static int make_allowed(struct strata_place_problem *problem,
			const struct strata_place_request *ask, struct strata_arena *arena,
			struct strata_error *err)
{
	size_t d = problem->device_count;
	uint64_t *allowed = strata_arena_array(arena, problem->group_count, sizeof(*allowed));
	double *times = (double *)problem->times;

	if (!allowed)
		return strata_fail_memory(err);
	memset(allowed, 0xff, problem->group_count * sizeof(*allowed));
	for (size_t i = 0; i < problem->op_count; i++)
		allowed[problem->group[i]] &= mask_of(problem, ask, i);
	for (size_t i = 0; i < problem->op_count; i++) {
		uint64_t mask = allowed[problem->group[i]];

		if (!mask)
			return strata_fail_at(
				err, -ENOSPC, "rules",
				"op \"%.64s\" (%zu) has no device left that it may run on",
				problem->graph->ops[i].name, i);
		for (size_t j = 0; j < d; j++)
			if (!(mask >> j & 1))
				times[i * d + j] = INFINITY;
	}
	problem->allowed = allowed;
	return 0;
}

int problem_make(const struct strata_place_request *ask, struct strata_arena *arena,
		 struct strata_place_problem *ret_problem, struct strata_error *err)
{
	struct strata_place_problem problem = { .graph = ask->graph,
						.machine = ask->machine,
						.objective = ask->objective,
						.fixed_order = ask->fixed_order,
						.op_count = ask->graph->op_count,
						.device_count = ask->machine->device_count,
						.order = ask->graph->order,
						.seed = ask->seed };
	struct values values;
	int rc = check_ask(ask, err);

	if (rc == 0)
		rc = make_links(&problem, arena, err);
	if (rc == 0)
		rc = make_times(&problem, ask, arena, err);
	if (rc == 0)
		rc = make_kv(&problem, arena, err);
	if (rc == 0)
		rc = make_values(&problem, arena, &values, err);
	if (rc == 0)
		rc = make_inputs(&problem, &values, arena, err);
	if (rc == 0)
		rc = groups_make(&problem, arena, err);
	if (rc == 0)
		rc = make_allowed(&problem, ask, arena, err);
	if (rc == 0)
		*ret_problem = problem;
	return rc;
}
