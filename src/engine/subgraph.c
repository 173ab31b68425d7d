/*
 * Cutting: nodes are put in an order in which each is behind what it needs and devices change as seldom as possible; then the order is cut. See subgraph.h.
 */
#include "engine/subgraph.h"

#include "core/map.h"
#include "engine/captures.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Names: of initializers, and of values by who makes them. */
struct cutter {
	const struct engine_model *model;
	const struct engine_cut_conf *conf;
	struct strata_arena *arena;
	struct strata_memory *memory;
	struct map_text weights;  /* initializer + 1 */
	struct map_text makers;   /* node of the file + 1 */
	struct map_text *reads;   /* of each node in the model's order: names, captures included */
	size_t reads_made;
	uint32_t *order;          /* of nodes, by index in the model's order */
	uint32_t *subgraph;       /* of each node in the model's order */
	struct map_text values;   /* number + 1, of what crosses */
	struct engine_cuts cuts;
};

static const struct onnx_graph *graph_of(const struct cutter *cutter)
{
	return &cutter->model->onnx.graph;
}

static uint32_t device_of(const struct cutter *cutter, size_t node)
{
	const struct onnx_node *first = graph_of(cutter)->nodes;

	return cutter->conf->device ? cutter->conf->device[cutter->model->nodes[node] - first] : 0;
}

static void *number(size_t index)
{
	return (void *)(uintptr_t)(index + 1);
}

/* ---- names ---- */

static int note_names(struct cutter *cutter, struct strata_error *err)
{
	const struct onnx_graph *graph = graph_of(cutter);
	bool full = false;

	for (size_t i = 0; i < graph->initializer_count && !full; i++)
		full = map_text_put(&cutter->weights, graph->initializers[i].name,
				    strlen(graph->initializers[i].name), number(i), NULL);
	for (size_t i = 0; i < graph->node_count && !full; i++)
		for (size_t k = 0; k < cutter->model->nodes[i]->output_count && !full; k++) {
			const char *name = cutter->model->nodes[i]->outputs[k];

			full = name[0] && map_text_put(&cutter->makers, name, strlen(name),
						       number(i), NULL);
		}
	return full ? strata_fail_memory(err) : 0;
}

static int note_reads(struct cutter *cutter, struct strata_error *err)
{
	size_t count = graph_of(cutter)->node_count;
	int rc = 0;

	cutter->reads = strata_arena_array(cutter->arena, count, sizeof(*cutter->reads));
	cutter->order = strata_arena_array(cutter->arena, count, sizeof(uint32_t));
	cutter->subgraph = strata_arena_array(cutter->arena, count, sizeof(uint32_t));
	if (!cutter->reads || !cutter->order || !cutter->subgraph)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		map_text_init(&cutter->reads[i], cutter->memory);
		cutter->reads_made++;
		rc = engine_captures_of_node(cutter->model->nodes[i], &cutter->reads[i],
					     cutter->memory, err);
	}
	return rc;
}

/* The node that makes a name, or its count: none does. */
static size_t maker_of(const struct cutter *cutter, const char *name)
{
	uintptr_t found = (uintptr_t)map_text_get(&cutter->makers, name, strlen(name));

	return found ? found - 1 : graph_of(cutter)->node_count;
}

/* ---- the order ---- */

/* Nodes in the model's order as long as it stays on one device; of those that could come next, the first on the device that we are on. A pass over all
 * nodes for each change of device: there are few. */
static int order_nodes(struct cutter *cutter, struct strata_error *err)
{
	size_t count = graph_of(cutter)->node_count, done = 0;
	bool *taken = strata_arena_array(cutter->arena, count, sizeof(*taken));
	uint32_t device = count ? device_of(cutter, 0) : 0;

	if (!taken)
		return strata_fail_memory(err);
	while (done < count) {
		size_t before = done;
		uint32_t other = UINT32_MAX;

		for (size_t i = 0; i < count; i++) {
			bool ready = !taken[i];

			for (const struct map_text_entry *entry =
				     ready ? map_text_next(&cutter->reads[i], NULL) : NULL;
			     entry && ready; entry = map_text_next(&cutter->reads[i], entry)) {
				size_t maker = maker_of(cutter, entry->key);

				ready = maker == count || taken[maker];
			}
			if (!ready)
				continue;
			if (device_of(cutter, i) != device) {
				other = other == UINT32_MAX ? device_of(cutter, i) : other;
				continue;
			}
			taken[i] = true;
			cutter->order[done++] = (uint32_t)i;
		}
		if (done == before && other == UINT32_MAX)
			return strata_fail(err, -EINVAL, "the graph has a cycle");
		if (done == before)
			device = other;
	}
	return 0;
}

/* ---- cutting ---- */

/* Bytes of a node's weights that are fetched and not in the layer yet. */
static int64_t new_bytes(const struct cutter *cutter, size_t node, const uint32_t *in_layer,
			 uint32_t layer)
{
	int64_t bytes = 0;

	for (const struct map_text_entry *entry = map_text_next(&cutter->reads[node], NULL); entry;
	     entry = map_text_next(&cutter->reads[node], entry)) {
		uintptr_t weight =
			(uintptr_t)map_text_get(&cutter->weights, entry->key, entry->key_bytes);

		if (weight && in_layer[weight - 1] != layer + 1)
			bytes += cutter->conf->weighs[weight - 1];
	}
	return bytes;
}

static void put_in_layer(const struct cutter *cutter, size_t node, uint32_t *in_layer,
			 uint32_t layer)
{
	for (const struct map_text_entry *entry = map_text_next(&cutter->reads[node], NULL); entry;
	     entry = map_text_next(&cutter->reads[node], entry)) {
		uintptr_t weight =
			(uintptr_t)map_text_get(&cutter->weights, entry->key, entry->key_bytes);

		if (weight)
			in_layer[weight - 1] = layer + 1;
	}
}

static int cut_order(struct cutter *cutter, struct strata_error *err)
{
	size_t count = graph_of(cutter)->node_count;
	int64_t most = cutter->conf->layer_bytes, bytes = 0;
	struct engine_subgraph *subgraphs =
		strata_arena_array(cutter->arena, count, sizeof(*subgraphs));
	uint32_t *in_layer = strata_arena_array(
		cutter->arena, graph_of(cutter)->initializer_count, sizeof(uint32_t));
	uint32_t layer = 0;
	size_t made = 0;

	if (!subgraphs || !in_layer)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		size_t node = cutter->order[i];
		uint32_t device = device_of(cutter, node);
		bool moves = made == 0 || subgraphs[made - 1].device != device;
		int64_t more = most ? new_bytes(cutter, node, in_layer, layer) : 0;

		if (moves || (most && bytes > 0 && bytes + more > most)) {
			layer += made > 0;
			subgraphs[made++] =
				(struct engine_subgraph){ .device = device, .layer = layer };
			bytes = 0;
			more = most ? new_bytes(cutter, node, in_layer, layer) : 0;
		}
		bytes += more;
		if (most)
			put_in_layer(cutter, node, in_layer, layer);
		cutter->subgraph[node] = (uint32_t)(made - 1);
		subgraphs[made - 1].node_count++;
	}
	cutter->cuts.subgraphs = subgraphs;
	cutter->cuts.subgraph_count = made;
	return 0;
}

/* ---- what goes in and out ---- */

static int number_value(struct cutter *cutter, const char *name, uint32_t *ret_number,
			struct strata_error *err)
{
	uintptr_t found = (uintptr_t)map_text_get(&cutter->values, name, strlen(name));

	if (!found) {
		found = ++cutter->cuts.value_count;
		if (map_text_put(&cutter->values, name, strlen(name), (void *)found, NULL))
			return strata_fail_memory(err);
	}
	*ret_number = (uint32_t)(found - 1);
	return 0;
}

/* One name of a subgraph's: an input from outside, a weight, or made inside. */
static int add_read(struct cutter *cutter, size_t index, const char *name, struct map_text *seen,
		    struct strata_error *err)
{
	struct engine_subgraph *subgraph = &cutter->cuts.subgraphs[index];
	size_t maker = maker_of(cutter, name);
	uintptr_t weight = (uintptr_t)map_text_get(&cutter->weights, name, strlen(name));

	if ((maker < graph_of(cutter)->node_count && cutter->subgraph[maker] == index) ||
	    map_text_get(seen, name, strlen(name)))
		return 0;
	if (map_text_put(seen, name, strlen(name), cutter, NULL))
		return strata_fail_memory(err);
	if (maker == graph_of(cutter)->node_count && weight) {
		subgraph->weight_indexes[subgraph->weight_count] = (uint32_t)(weight - 1);
		subgraph->weights[subgraph->weight_count++] = name;
		return 0;
	}
	subgraph->inputs[subgraph->input_count] = name;
	return number_value(cutter, name, &subgraph->input_values[subgraph->input_count++], err);
}

static int make_room(struct cutter *cutter, struct engine_subgraph *subgraph, size_t reads,
		     size_t makes, struct strata_error *err)
{
	struct strata_arena *arena = cutter->arena;

	subgraph->nodes = strata_arena_array(arena, subgraph->node_count, sizeof(void *));
	subgraph->inputs = strata_arena_array(arena, reads, sizeof(char *));
	subgraph->input_values = strata_arena_array(arena, reads, sizeof(uint32_t));
	subgraph->weights = strata_arena_array(arena, reads, sizeof(char *));
	subgraph->weight_indexes = strata_arena_array(arena, reads, sizeof(uint32_t));
	subgraph->outputs = strata_arena_array(arena, makes, sizeof(char *));
	subgraph->output_values = strata_arena_array(arena, makes, sizeof(uint32_t));
	subgraph->drops = strata_arena_array(arena, reads + makes, sizeof(uint32_t));
	bool got = subgraph->nodes && subgraph->inputs && subgraph->input_values &&
		   subgraph->weights && subgraph->weight_indexes && subgraph->outputs &&
		   subgraph->output_values && subgraph->drops;

	return got ? 0 : strata_fail_memory(err);
}

static int fill_subgraph(struct cutter *cutter, size_t index, size_t first, struct strata_error *err)
{
	struct engine_subgraph *subgraph = &cutter->cuts.subgraphs[index];
	size_t reads = 0, makes = 0;
	struct map_text seen;

	for (size_t i = 0; i < subgraph->node_count; i++) {
		size_t node = cutter->order[first + i];

		reads += cutter->reads[node].count;
		makes += cutter->model->nodes[node]->output_count;
	}
	int rc = make_room(cutter, subgraph, reads, makes, err);

	map_text_init(&seen, cutter->memory);
	for (size_t i = 0; rc == 0 && i < subgraph->node_count; i++) {
		size_t node = cutter->order[first + i];

		subgraph->nodes[i] = cutter->model->nodes[node];
		for (const struct map_text_entry *entry = map_text_next(&cutter->reads[node], NULL);
		     rc == 0 && entry; entry = map_text_next(&cutter->reads[node], entry)) {
			const char *name =
				strata_arena_text(cutter->arena, entry->key, entry->key_bytes);

			rc = name ? add_read(cutter, index, name, &seen, err)
				  : strata_fail_memory(err);
		}
	}
	map_text_fini(&seen);
	return rc;
}

/* A value that got a number because somebody else reads it, or because the model gives it out, is an output of who makes it. */
static void find_outputs(struct cutter *cutter)
{
	size_t count = graph_of(cutter)->node_count;

	for (size_t i = 0; i < count; i++) {
		const struct onnx_node *node = cutter->model->nodes[i];
		struct engine_subgraph *subgraph = &cutter->cuts.subgraphs[cutter->subgraph[i]];

		for (size_t k = 0; k < node->output_count; k++) {
			const char *name = node->outputs[k];
			uintptr_t found =
				name[0] ? (uintptr_t)map_text_get(&cutter->values, name, strlen(name))
					: 0;

			if (!found)
				continue;
			subgraph->output_values[subgraph->output_count] = (uint32_t)(found - 1);
			subgraph->outputs[subgraph->output_count++] = name;
		}
	}
}

static int number_model(struct cutter *cutter, struct strata_error *err)
{
	const struct onnx_graph *graph = graph_of(cutter);
	uint32_t unused;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < cutter->model->input_count; i++)
		rc = number_value(cutter, cutter->model->inputs[i], &unused, err);
	cutter->cuts.output_values =
		strata_arena_array(cutter->arena, graph->output_count, sizeof(uint32_t));
	if (rc == 0 && !cutter->cuts.output_values)
		rc = strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < graph->output_count; i++) {
		const char *name = graph->outputs[i].name;
		uintptr_t weight = (uintptr_t)map_text_get(&cutter->weights, name, strlen(name));
		bool made = maker_of(cutter, name) < graph->node_count;

		if (weight && !made)
			cutter->cuts.output_values[i] = ENGINE_WEIGHT + (uint32_t)(weight - 1);
		else if (made || map_text_get(&cutter->values, name, strlen(name)))
			rc = number_value(cutter, name, &cutter->cuts.output_values[i], err);
		else
			rc = strata_fail(err, -EINVAL, "nothing makes the output '%.64s'", name);
	}
	return rc;
}

/* Values go after the last subgraph that reads them, unless the model gives them out. */
static int plan_drops(struct cutter *cutter, struct strata_error *err)
{
	struct engine_cuts *cuts = &cutter->cuts;
	uint32_t *last = strata_arena_array(cutter->arena, cuts->value_count, sizeof(*last));

	if (!last)
		return strata_fail_memory(err);
	for (size_t s = 0; s < cuts->subgraph_count; s++) {
		for (size_t i = 0; i < cuts->subgraphs[s].output_count; i++)
			last[cuts->subgraphs[s].output_values[i]] = (uint32_t)s + 1;
		for (size_t i = 0; i < cuts->subgraphs[s].input_count; i++)
			last[cuts->subgraphs[s].input_values[i]] = (uint32_t)s + 1;
	}
	for (size_t i = 0; i < graph_of(cutter)->output_count; i++)
		if (cuts->output_values[i] < ENGINE_WEIGHT)
			last[cuts->output_values[i]] = 0;
	for (size_t i = 0; i < cuts->value_count; i++)
		if (last[i]) {
			struct engine_subgraph *subgraph = &cuts->subgraphs[last[i] - 1];

			subgraph->drops[subgraph->drop_count++] = (uint32_t)i;
		}
	return 0;
}

static int cut(struct cutter *cutter, struct strata_error *err)
{
	size_t first = 0;
	int rc = note_names(cutter, err);

	if (rc == 0)
		rc = note_reads(cutter, err);
	if (rc == 0)
		rc = order_nodes(cutter, err);
	if (rc == 0)
		rc = cut_order(cutter, err);
	if (rc == 0)
		rc = number_model(cutter, err);
	for (size_t i = 0; rc == 0 && i < cutter->cuts.subgraph_count; i++) {
		rc = fill_subgraph(cutter, i, first, err);
		first += cutter->cuts.subgraphs[i].node_count;
	}
	if (rc == 0) {
		find_outputs(cutter);
		rc = plan_drops(cutter, err);
	}
	return rc;
}

int engine_cut(const struct engine_model *model, const struct engine_cut_conf *conf,
	       struct strata_arena *arena, struct engine_cuts *ret_cuts, struct strata_error *err)
{
	struct cutter cutter = {
		.model = model, .conf = conf, .arena = arena, .memory = arena->memory
	};

	map_text_init(&cutter.weights, cutter.memory);
	map_text_init(&cutter.makers, cutter.memory);
	map_text_init(&cutter.values, cutter.memory);
	int rc = cut(&cutter, err);

	for (size_t i = 0; i < cutter.reads_made; i++)
		map_text_fini(&cutter.reads[i]);
	map_text_fini(&cutter.weights);
	map_text_fini(&cutter.makers);
	map_text_fini(&cutter.values);
	if (rc == 0)
		*ret_cuts = cutter.cuts;
	return rc;
}
