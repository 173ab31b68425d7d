/* Fusions: see fuse.h. Who makes a value and how many read it is counted once; each node is asked, from the last one on, whether it is the last of a fusion. */
#include "engine/native/fuse.h"

#include "core/map.h"
#include "engine/captures.h"

#include <errno.h>
#include <string.h>

#define FUSION(name) extern const struct native_fusion native_fusion_##name;
#include "engine/native/fusions.def"
#undef FUSION

static const struct native_fusion *const fusions[] = {
#define FUSION(name) &native_fusion_##name,
#include "engine/native/fusions.def"
#undef FUSION
};

const struct native_fusion *native_fusion_at(size_t index)
{
	return index < sizeof(fusions) / sizeof(fusions[0]) ? fusions[index] : NULL;
}

static const char fused_domain[] = "strata.fused"; /* known by its address */

/* ---- who makes and reads what ---- */

#define NO_NODE UINT32_MAX

struct fuse_value {
	uint32_t maker;   /* NO_NODE: it comes from outside */
	uint32_t readers; /* how often nodes read it */
	bool kept;        /* others want it: an output, or what a graph inside a node reads */
};

struct fuse {
	const struct native_source *source;
	const struct onnx_node **nodes; /* NULL: part of a fused one */
	struct fuse_value *values;
	size_t value_count, value_room;
	struct map_text numbers; /* value + 1 by name */
	struct map_text weights; /* tensor by name */
	struct strata_arena *arena;
	struct strata_memory *memory;
};

static struct fuse_value *find(const struct fuse *fuse, const char *name)
{
	uintptr_t number = (uintptr_t)map_text_get(&fuse->numbers, name, strlen(name));

	return number ? &fuse->values[number - 1] : NULL;
}

static int note_made(struct fuse *fuse, const char *name, uint32_t maker, struct strata_error *err)
{
	struct fuse_value *value = &fuse->values[fuse->value_count];

	if (!name[0] || find(fuse, name)) /* made twice: the program refuses it */
		return 0;
	*value = (struct fuse_value){ .maker = maker };
	fuse->value_count++;
	return map_text_put(&fuse->numbers, name, strlen(name), (void *)fuse->value_count, NULL)
		       ? strata_fail_memory(err)
		       : 0;
}

/* Values that graphs inside a node read stay: the node is not asked how often. */
static int note_captures(struct fuse *fuse, const struct onnx_node *node, struct strata_error *err)
{
	struct map_text captured;
	int rc = 0;

	map_text_init(&captured, fuse->memory);
	for (size_t i = 0; rc == 0 && i < node->attribute_count; i++)
		if (node->attributes[i].graph)
			rc = engine_captures_of_graph(node->attributes[i].graph, &captured,
						      fuse->memory, err);
	for (const struct map_text_entry *entry = map_text_next(&captured, NULL); rc == 0 && entry;
	     entry = map_text_next(&captured, entry)) {
		uintptr_t number =
			(uintptr_t)map_text_get(&fuse->numbers, entry->key, entry->key_bytes);

		if (number)
			fuse->values[number - 1].kept = true;
	}
	map_text_fini(&captured);
	return rc;
}

static int count_all(struct fuse *fuse, struct strata_error *err)
{
	const struct native_source *source = fuse->source;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < source->node_count; i++) {
		const struct onnx_node *node = source->nodes[i];

		for (size_t k = 0; k < node->input_count; k++) {
			struct fuse_value *value = find(fuse, node->inputs[k]);

			if (value)
				value->readers++;
		}
		rc = note_captures(fuse, node, err);
		for (size_t k = 0; rc == 0 && k < node->output_count; k++)
			rc = note_made(fuse, node->outputs[k], (uint32_t)i, err);
	}
	for (size_t i = 0; i < source->output_count; i++) {
		struct fuse_value *value = find(fuse, source->outputs[i]);

		if (value)
			value->kept = true;
	}
	return rc;
}

/* ---- for fusions ---- */

const struct onnx_node *fuse_maker(const struct fuse *fuse, const char *name, const char *kind)
{
	const struct fuse_value *value = find(fuse, name);
	const struct onnx_node *node =
		value && value->maker != NO_NODE ? fuse->nodes[value->maker] : NULL;

	return node && node->output_count == 1 && !node->domain[0] && strcmp(node->kind, kind) == 0
		       ? node
		       : NULL;
}

const struct onnx_tensor *fuse_weight(const struct fuse *fuse, const char *name)
{
	return map_text_get(&fuse->weights, name, strlen(name));
}

/* ---- making a step of them ---- */

static bool makes(const struct native_fused *fused, const char *name)
{
	for (size_t i = 0; i < fused->part_count; i++)
		if (strcmp(fused->parts[i]->outputs[0], name) == 0)
			return true;
	return false;
}

static uint32_t readers_within(const struct native_fused *fused, const char *name)
{
	uint32_t count = 0;

	for (size_t i = 0; i < fused->part_count; i++)
		for (size_t k = 0; k < fused->parts[i]->input_count; k++)
			count += strcmp(fused->parts[i]->inputs[k], name) == 0;
	return count;
}

/* Nobody else reads what is made on the way, and no node is there twice. */
static bool is_whole(const struct fuse *fuse, const struct native_fused *fused)
{
	for (size_t i = 0; i < fused->part_count; i++) {
		const char *name = fused->parts[i]->outputs[0];
		const struct fuse_value *value = find(fuse, name);

		for (size_t k = 0; k < i; k++)
			if (fused->parts[k] == fused->parts[i])
				return false;
		if (i + 1 < fused->part_count &&
		    (!value || value->kept || value->readers != readers_within(fused, name)))
			return false;
	}
	return true;
}

/* What is read from others, each once. */
static int list_inputs(const struct fuse *fuse, struct native_fused *fused, struct strata_error *err)
{
	const char **names =
		strata_arena_array(fuse->arena, FUSED_INPUTS_MAX, sizeof(*names));

	if (!names)
		return strata_fail_memory(err);
	fused->node.inputs = names;
	for (size_t i = 0; i < fused->part_count; i++)
		for (size_t k = 0; k < fused->parts[i]->input_count; k++) {
			const char *name = fused->parts[i]->inputs[k];
			bool there = !name[0] || makes(fused, name);

			for (size_t n = 0; !there && n < fused->node.input_count; n++)
				there = strcmp(names[n], name) == 0;
			if (there)
				continue;
			if (fused->node.input_count == FUSED_INPUTS_MAX)
				return -E2BIG;
			names[fused->node.input_count++] = name;
		}
	return 0;
}

static void put_in_order(const struct fuse *fuse, struct native_fused *fused)
{
	uint32_t places[FUSED_PARTS_MAX];

	for (size_t i = 0; i < fused->part_count; i++) {
		uint32_t place = find(fuse, fused->parts[i]->outputs[0])->maker;
		size_t at = i;

		for (; at > 0 && places[at - 1] > place; at--) {
			places[at] = places[at - 1];
			fused->in_order[at] = fused->in_order[at - 1];
		}
		places[at] = place;
		fused->in_order[at] = fused->parts[i];
	}
}

static int try_fusion(struct fuse *fuse, size_t index, const struct native_fusion *fusion,
		      struct strata_error *err)
{
	const struct onnx_node *node = fuse->nodes[index];
	struct native_fused draft = { .fusion = fusion };

	draft.part_count = fusion->match(fuse, node, draft.parts);
	if (draft.part_count < 2 || !is_whole(fuse, &draft))
		return 0;
	int rc = list_inputs(fuse, &draft, err);
	struct native_fused *fused = rc ? NULL : strata_arena_get(fuse->arena, sizeof(*fused));

	if (rc == -E2BIG) /* more than a step takes: the nodes stay as they are */
		return 0;
	if (!fused)
		return strata_fail_memory(err);
	put_in_order(fuse, &draft);
	draft.node.name = node->name;
	draft.node.kind = fusion->name;
	draft.node.domain = fused_domain;
	draft.node.outputs = node->outputs;
	draft.node.output_count = node->output_count;
	*fused = draft;
	for (size_t i = 0; i < draft.part_count; i++)
		fuse->nodes[find(fuse, draft.parts[i]->outputs[0])->maker] = NULL;
	fuse->nodes[index] = &fused->node;
	return 0;
}

static int note_weights(struct fuse *fuse, struct strata_error *err)
{
	const struct onnx_graph *graph = fuse->source->model ? &fuse->source->model->graph : NULL;

	for (size_t i = 0; graph && i < graph->initializer_count; i++) {
		const struct onnx_tensor *tensor = &graph->initializers[i];

		if (map_text_put(&fuse->weights, tensor->name, strlen(tensor->name),
				 (void *)tensor, NULL))
			return strata_fail_memory(err);
	}
	return 0;
}

static int fuse_all(struct fuse *fuse, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = fuse->source->node_count; rc == 0 && i-- > 0;)
		for (size_t f = 0; rc == 0 && f < sizeof(fusions) / sizeof(fusions[0]); f++)
			if (fuse->nodes[i] && fuse->nodes[i]->domain != fused_domain &&
			    !fuse->nodes[i]->domain[0] && fuse->nodes[i]->output_count == 1)
				rc = try_fusion(fuse, i, fusions[f], err);
	return rc;
}

int native_fuse(const struct native_source *source, struct strata_arena *arena,
		struct strata_memory *memory, const struct onnx_node ***ret_nodes,
		size_t *ret_count, struct strata_error *err)
{
	struct fuse fuse = { .source = source, .arena = arena, .memory = memory };
	size_t room = 0, count = 0;

	for (size_t i = 0; i < source->node_count; i++)
		room += source->nodes[i]->output_count;
	fuse.nodes = strata_arena_array(arena, source->node_count, sizeof(*fuse.nodes));
	fuse.values = strata_arena_array(arena, room, sizeof(*fuse.values));
	if (!fuse.nodes || !fuse.values)
		return strata_fail_memory(err);
	if (source->node_count)
		memcpy(fuse.nodes, source->nodes, source->node_count * sizeof(*fuse.nodes));
	map_text_init(&fuse.numbers, memory);
	map_text_init(&fuse.weights, memory);
	int rc = count_all(&fuse, err);

	if (rc == 0)
		rc = note_weights(&fuse, err);
	if (rc == 0)
		rc = fuse_all(&fuse, err);
	map_text_fini(&fuse.weights);
	map_text_fini(&fuse.numbers);
	if (rc)
		return rc;
	for (size_t i = 0; i < source->node_count; i++)
		if (fuse.nodes[i])
			fuse.nodes[count++] = fuse.nodes[i];
	*ret_nodes = fuse.nodes;
	*ret_count = count;
	return 0;
}

/* ---- running ---- */

const struct native_fused *native_fused_of(const struct onnx_node *node)
{
	return node->domain == fused_domain ? (const struct native_fused *)node : NULL;
}

static const struct engine_value *by_name(const struct native_call *call, const char *name)
{
	for (size_t i = 0; i < call->input_count; i++)
		if (strcmp(call->node->inputs[i], name) == 0)
			return call->inputs[i];
	return NULL;
}

const struct engine_value *fused_input(const struct native_call *call, size_t part, size_t input)
{
	const struct onnx_node *node = native_fused_of(call->node)->parts[part];

	return input < node->input_count && node->inputs[input][0]
		       ? by_name(call, node->inputs[input])
		       : NULL;
}

bool fused_number(const struct native_call *call, size_t part, size_t input, float *ret_number)
{
	const struct engine_value *value = fused_input(call, part, input);

	if (!value || value->kind != ONNX_TENSOR || value->dtype != ONNX_FLOAT || value->rank > 1 ||
	    engine_value_elements(value) != 1)
		return false;
	*ret_number = *(const float *)value->data;
	return true;
}

static int run_part(struct native_call *call, const struct onnx_node *node,
		    const struct native_fused *fused, struct engine_value *made,
		    struct engine_value *ret_output, struct strata_error *err)
{
	const struct engine_value *inputs[FUSED_INPUTS_MAX] = { 0 };
	const struct native_op *op = native_op_find(node->domain, node->kind);
	struct native_state *state = NULL;
	struct native_call inner = *call;

	for (size_t i = 0; i < node->input_count && i < FUSED_INPUTS_MAX; i++) {
		inputs[i] = by_name(call, node->inputs[i]);
		for (size_t k = 0; k < fused->part_count && node->inputs[i][0]; k++)
			if (strcmp(fused->in_order[k]->outputs[0], node->inputs[i]) == 0)
				inputs[i] = &made[k];
	}
	inner.node = node;
	inner.inputs = inputs;
	inner.input_count = node->input_count;
	inner.outputs = ret_output;
	inner.output_count = 1;
	inner.last_use = inner.constant = NULL;
	inner.state = &state;
	int rc = op ? op->run(&inner, err) : native_refuse(&inner, err, "it is not known");

	if (rc == 0 && ret_output->kind == ONNX_UNKNOWN)
		rc = native_refuse(&inner, err, "it has no output 1");
	if (state)
		state->free(state);
	return rc;
}

int native_fused_apart(struct native_call *call, struct strata_error *err)
{
	const struct native_fused *fused = native_fused_of(call->node);
	struct engine_value made[FUSED_PARTS_MAX] = { 0 };
	size_t last = fused->part_count - 1;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < fused->part_count; i++)
		rc = run_part(call, fused->in_order[i], fused, made, &made[i], err);
	if (rc == 0) {
		call->outputs[0] = made[last];
		made[last] = (struct engine_value){ 0 };
	}
	for (size_t i = 0; i < fused->part_count; i++)
		engine_value_drop(&made[i]);
	return rc;
}
