/* Learning: see learning.h. Nodes of one device are timed by its thread, each in a place of its own; the sum is drawn afterwards, by the caller's. */
#include "engine/learning.h"

#include <errno.h>

enum { ALWAYS = 16, EVERY = 16 };

int engine_learning_init(struct engine_learning *learning, const struct engine_model *model,
			 struct strata_arena *arena, struct strata_error *err)
{
	size_t count = model->onnx.graph.node_count;

	*learning = (struct engine_learning){ .arena = arena, .graph = &model->onnx.graph };
	learning->took_ns = strata_arena_array(arena, count, sizeof(int64_t));
	learning->device = strata_arena_array(arena, count, sizeof(uint32_t));
	return learning->took_ns && learning->device ? 0 : strata_fail_memory(err);
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
	learning->took_ns[index] = end_ns - begin_ns;
	learning->device[index] = device;
}

void engine_learning_begin(struct engine_learning *learning, struct engine_instance *instance)
{
	for (size_t i = 0; i < learning->graph->node_count; i++)
		learning->took_ns[i] = -1;
	instance->watch = note;
	instance->watch_context = learning;
}

int engine_learning_end(struct engine_learning *learning, struct engine_instance *instance,
			const double *prices_ns, struct strata_corrections *corrections,
			struct strata_error *err)
{
	int rc = 0;

	instance->watch = NULL;
	/* The first call packs weights and makes primitives: it says nothing of later ones. */
	for (size_t i = 0; learning->calls > 0 && rc == 0 && i < learning->graph->node_count; i++)
		if (learning->took_ns[i] > 0 && prices_ns && prices_ns[i] > 0)
			rc = strata_corrections_observe(corrections, learning->graph->nodes[i].kind,
							learning->device[i], prices_ns[i],
							(double)learning->took_ns[i], err);
	return rc == -E2BIG ? 0 : rc; /* more kinds than are kept: those that are known go on */
}
