/* Learning: see learning.h. Nodes of one device are timed by its thread, each in a place of its own; the sum is drawn afterwards, by the caller's. */
#include "engine/learning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALWAYS = 16,
	EVERY = 16,
	GAP_NS_MAX = 10000, /* between two nodes: more is waiting for weights or for others, and not the cost of starting one */
};

int engine_learning_init(struct engine_learning *learning, const struct engine_model *model,
			 struct strata_arena *arena, struct strata_error *err)
{
	size_t count = model->onnx.graph.node_count;

	*learning = (struct engine_learning){ .arena = arena, .graph = &model->onnx.graph };
	learning->took_ns = strata_arena_array(arena, count, sizeof(int64_t));
	learning->device = strata_arena_array(arena, count, sizeof(uint32_t));
	learning->sums = strata_arena_array(arena, count, sizeof(*learning->sums));
	learning->sum_of = strata_arena_array(arena, count, sizeof(uint32_t));
	return learning->took_ns && learning->device && learning->sums && learning->sum_of
		       ? 0
		       : strata_fail_memory(err);
}

bool engine_learning_wants(const struct engine_learning *learning)
{
	return learning->calls < ALWAYS || learning->calls % EVERY == 0;
}

static void note(void *context, uint32_t device, const struct onnx_node *node, int64_t begin_ns,
		 int64_t end_ns)
{
	struct engine_learning *learning = context;
	size_t index = (size_t)(node - learning->graph->nodes);

	if (index >= learning->graph->node_count)
		return; /* of a graph inside a node: part of that node's time */
	int64_t *last_ns = &learning->last_ns[device];
	int64_t gap_ns = begin_ns - *last_ns;

	learning->took_ns[index] = end_ns - begin_ns + (gap_ns < GAP_NS_MAX ? gap_ns : 0);
	learning->device[index] = device;
	*last_ns = end_ns;
}

void engine_learning_begin(struct engine_learning *learning, struct engine_instance *instance)
{
	for (size_t i = 0; i < learning->graph->node_count; i++)
		learning->took_ns[i] = -1;
	instance->watch = note;
	instance->watch_context = learning;
}

static struct strata_op op_of(const struct engine_learning *learning,
			      const struct engine_placing *placing, size_t node)
{
	return (struct strata_op){ .kind = learning->graph->nodes[node].kind,
				   .phase = placing->phase[node] };
}

/* Nodes of one kind, phase and device are one sum: what they take together is what a prediction has to meet. */
static void group_nodes(struct engine_learning *learning, const struct engine_placing *placing)
{
	for (size_t i = 0; i < learning->graph->node_count; i++) {
		const struct strata_op op = op_of(learning, placing, i);
		size_t k = 0;

		while (k < learning->sum_count && (learning->sums[k].op.phase != op.phase ||
						   learning->sums[k].device != placing->device[i] ||
						   strcmp(learning->sums[k].op.kind, op.kind) != 0))
			k++;
		if (k == learning->sum_count)
			learning->sums[learning->sum_count++] =
				(struct learning_sum){ .op = op, .device = placing->device[i] };
		learning->sum_of[i] = (uint32_t)k;
	}
}

/* A backend that does not tell of nodes tells of subgraphs: each of its nodes has a share by its price. */
static void share_out(struct engine_learning *learning, const struct engine_placing *placing,
		      const struct engine_instance *instance, size_t index)
{
	const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[index];
	double prices_ns = 0;

	for (size_t i = 0; i < subgraph->node_count; i++) {
		size_t node = (size_t)(subgraph->nodes[i] - learning->graph->nodes);

		if (learning->took_ns[node] >= 0)
			return;
		prices_ns += placing->prices_ns[node];
	}
	for (size_t i = 0; prices_ns > 0 && i < subgraph->node_count; i++) {
		size_t node = (size_t)(subgraph->nodes[i] - learning->graph->nodes);

		learning->took_ns[node] = (int64_t)((double)instance->observed[index].last_ns *
						    placing->prices_ns[node] / prices_ns);
		learning->device[node] = subgraph->device;
	}
}

static void sum_up(struct engine_learning *learning, const struct engine_placing *placing)
{
	if (learning->sum_count == 0)
		group_nodes(learning, placing);
	for (size_t i = 0; i < learning->sum_count; i++)
		learning->sums[i].predicted_ns = learning->sums[i].observed_ns = 0;
	for (size_t i = 0; i < learning->graph->node_count; i++)
		if (learning->took_ns[i] > 0 && placing->prices_ns[i] > 0) {
			struct learning_sum *sum = &learning->sums[learning->sum_of[i]];

			sum->predicted_ns += placing->prices_ns[i];
			sum->observed_ns += (double)learning->took_ns[i];
		}
}

int engine_learning_end(struct engine_learning *learning, struct engine_instance *instance,
			const struct engine_placing *placing, int64_t took_ns,
			struct strata_corrections *corrections, struct strata_error *err)
{
	int rc = 0;

	instance->watch = NULL;
	/* The first call packs weights and makes primitives: it says nothing of later ones. */
	if (learning->calls == 0 || !placing->prices_ns)
		return 0;
	if (learning->call_count < LEARNING_CALLS)
		learning->call_ns[learning->call_count++] = took_ns;
	for (size_t i = 0; i < instance->cuts.subgraph_count; i++)
		share_out(learning, placing, instance, i);
	sum_up(learning, placing);
	for (size_t i = 0; rc == 0 && i < learning->sum_count; i++) {
		const struct learning_sum *sum = &learning->sums[i];

		if (sum->predicted_ns > 0)
			rc = strata_corrections_observe_op(corrections, &sum->op, sum->device,
							   sum->predicted_ns, sum->observed_ns, err);
	}
	return rc == -E2BIG ? 0 : rc; /* more kinds than are kept: those that are known go on */
}

bool engine_learning_is_full(const struct engine_learning *learning)
{
	return learning->call_count == LEARNING_CALLS;
}

static int by_time(const void *one, const void *two)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;

	return a < b ? -1 : a > b;
}

int engine_learning_report(struct engine_learning *learning, const struct engine_placing *placing,
			   struct strata_adaptive *adaptive, struct strata_error *err)
{
	size_t count = learning->call_count;

	if (count == 0)
		return 0;
	qsort(learning->call_ns, count, sizeof(learning->call_ns[0]), by_time);
	learning->call_count = 0;
	const struct strata_adaptive_outcome outcome = {
		.features = placing->features,
		.success = true,
		.fallback = placing->fallback,
		.predicted_ns = placing->latency_ns,
		.observed_ns = (double)learning->call_ns[count / 2],
		.single_ns = placing->single_ns,
	};

	return strata_adaptive_report(adaptive, &outcome, err);
}

void engine_learning_failed(const struct engine_placing *placing, struct strata_adaptive *adaptive)
{
	const struct strata_adaptive_outcome outcome = { .features = placing->features };

	strata_adaptive_report(adaptive, &outcome, NULL);
}

double engine_learning_price(const struct engine_learning *learning,
			     const struct engine_placing *placing, size_t node, uint32_t device,
			     const struct strata_corrections *corrections)
{
	if (!placing->prices_ns || (learning->calls > 1 && learning->took_ns[node] < 0))
		return 0;
	const struct strata_op op = op_of(learning, placing, node);

	return placing->prices_ns[node] * strata_corrections_factor_op(corrections, &op, device);
}
