/*
 * Finding the place, and cutting there: see features.h. A place is an input of a Concat, because that is where exporters of UNets bring the ways up and down
 * together. With its value given, nodes that no output needs any more are what a call leaves out.
 */
#include "engine/features.h"

#include "core/map.h"
#include "engine/captures.h"

#include <errno.h>
#include <string.h>

struct search {
	struct engine_model *model;
	struct strata_memory *memory;
	struct strata_arena *arena;
	const char *sample;
	struct map_text makers; /* node in the model's order + 1, by what it makes */
	struct map_text *reads; /* of each node in the model's order */
	size_t reads_made;
	bool *needed; /* of each node, by the last walk */
	size_t *stack;
};

static size_t node_count(const struct search *search)
{
	return search->model->onnx.graph.node_count;
}

static int note_nodes(struct search *search, struct strata_error *err)
{
	size_t count = node_count(search);
	int rc = 0;

	search->reads = strata_arena_array(search->arena, count, sizeof(*search->reads));
	search->needed = strata_arena_array(search->arena, count, sizeof(*search->needed));
	search->stack = strata_arena_array(search->arena, count, sizeof(*search->stack));
	if (!search->reads || !search->needed || !search->stack)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct onnx_node *node = search->model->nodes[i];

		map_text_init(&search->reads[i], search->memory);
		search->reads_made++;
		rc = engine_captures_of_node(node, &search->reads[i], search->memory, err);
		for (size_t k = 0; rc == 0 && k < node->output_count; k++)
			if (node->outputs[k][0] && map_text_put(&search->makers, node->outputs[k],
								strlen(node->outputs[k]),
								(void *)(uintptr_t)(i + 1), NULL))
				rc = strata_fail_memory(err);
	}
	return rc;
}

/* The node that makes a value, unless it is given. */
static void want(struct search *search, const char *name, const char *given, size_t *depth,
		 bool *ret_sample)
{
	uintptr_t maker = 0;

	if (given && strcmp(name, given) == 0)
		return;
	*ret_sample |= strcmp(name, search->sample) == 0;
	maker = (uintptr_t)map_text_get(&search->makers, name, strlen(name));
	if (maker && !search->needed[maker - 1]) {
		search->needed[maker - 1] = true;
		search->stack[(*depth)++] = maker - 1;
	}
}

/* Marks what the outputs need when a value is given (NULL: none), and returns how many nodes that are; ret_sample: they read the sample. */
static size_t walk(struct search *search, const char *given, bool *ret_sample)
{
	const struct onnx_graph *graph = &search->model->onnx.graph;
	size_t depth = 0, count = 0;

	memset(search->needed, 0, graph->node_count * sizeof(*search->needed));
	*ret_sample = false;
	for (size_t i = 0; i < graph->output_count; i++)
		want(search, graph->outputs[i].name, given, &depth, ret_sample);
	while (depth > 0) {
		const struct map_text *reads = &search->reads[search->stack[--depth]];

		count++;
		for (const struct map_text_entry *entry = map_text_next(reads, NULL); entry;
		     entry = map_text_next(reads, entry))
			want(search, entry->key, given, &depth, ret_sample);
	}
	return count;
}

/* What is left out has to be worth it: at least half of the nodes. */
static const char *find_place(struct search *search)
{
	bool reads_sample;
	size_t all = walk(search, NULL, &reads_sample), least = all / 2 + 1;
	const char *found = NULL;

	for (size_t i = 0; reads_sample && i < node_count(search); i++) {
		const struct onnx_node *node = search->model->nodes[i];

		if (strcmp(node->kind, "Concat") != 0)
			continue;
		for (size_t k = 0; k < node->input_count; k++) {
			bool still = false;
			size_t left = walk(search, node->inputs[k], &still);

			if (still && left < least) {
				least = left;
				found = node->inputs[k];
			}
		}
	}
	return found;
}

/* ---- the model ---- */

/* What is declared of a value between, as far as it holds for any input. */
static struct onnx_value_info info_of(const struct onnx_graph *graph, const char *name)
{
	struct onnx_value_info info = { name, { .kind = ONNX_TENSOR, .dtype = ONNX_FLOAT } };

	for (size_t i = 0; i < graph->value_count; i++)
		if (strcmp(graph->values[i].name, name) == 0 && graph->values[i].type.ranked) {
			info.type.ranked = true;
			info.type.rank = graph->values[i].type.rank;
		}
	for (size_t i = 0; i < info.type.rank; i++)
		info.type.dims[i] = -1;
	return info;
}

/* A list with one more. */
static const struct onnx_value_info *append(struct strata_arena *arena,
					    const struct onnx_value_info *list, size_t count,
					    const struct onnx_value_info *one)
{
	struct onnx_value_info *more = strata_arena_array(arena, count + 1, sizeof(*more));

	if (!more)
		return NULL;
	if (count)
		memcpy(more, list, count * sizeof(*more));
	more[count] = *one;
	return more;
}

static int give(struct engine_model *model, const struct onnx_value_info *info,
		struct strata_error *err)
{
	struct onnx_graph *graph = &model->onnx.graph;

	graph->outputs = append(&model->arena, graph->outputs, graph->output_count, info);
	if (!graph->outputs)
		return strata_fail_memory(err);
	graph->output_count++;
	return 0;
}

/* Initializers that no node that is left reads would be loaded for nothing. */
static int keep_weights(struct search *search, struct strata_error *err)
{
	struct onnx_graph *graph = &search->model->onnx.graph;
	struct onnx_tensor *kept =
		strata_arena_array(&search->model->arena, graph->initializer_count, sizeof(*kept));
	struct map_text read;
	size_t count = 0;
	bool full = !kept;

	map_text_init(&read, search->memory);
	for (size_t i = 0; i < graph->node_count && !full; i++)
		for (const struct map_text_entry *entry = map_text_next(&search->reads[i], NULL);
		     search->needed[i] && entry && !full;
		     entry = map_text_next(&search->reads[i], entry))
			full = map_text_put(&read, entry->key, entry->key_bytes, search, NULL);
	for (size_t i = 0; i < graph->initializer_count && !full; i++) {
		const char *name = graph->initializers[i].name;
		bool out = map_text_get(&read, name, strlen(name)) != NULL;

		for (size_t k = 0; k < graph->output_count && !out; k++)
			out = strcmp(graph->outputs[k].name, name) == 0;
		if (out)
			kept[count++] = graph->initializers[i];
	}
	map_text_fini(&read);
	if (full)
		return strata_fail_memory(err);
	graph->initializers = kept;
	graph->initializer_count = count;
	return 0;
}

/* The nodes that are left, in the order in which they are computed. */
static int keep_nodes(struct search *search, size_t count, struct strata_error *err)
{
	struct engine_model *model = search->model;
	struct onnx_node *kept = strata_arena_array(&model->arena, count, sizeof(*kept));
	const struct onnx_node **nodes = strata_arena_array(&model->arena, count, sizeof(*nodes));
	size_t made = 0;

	if (!kept || !nodes)
		return strata_fail_memory(err);
	for (size_t i = 0; i < node_count(search); i++)
		if (search->needed[i]) {
			kept[made] = *model->nodes[i];
			nodes[made] = &kept[made];
			made++;
		}
	model->onnx.graph.nodes = kept;
	model->onnx.graph.node_count = made;
	model->nodes = nodes;
	return 0;
}

static int add_input(struct engine_model *model, const struct onnx_value_info *info,
		     struct strata_error *err)
{
	struct onnx_graph *graph = &model->onnx.graph;
	size_t count = model->input_count;
	const char **names = strata_arena_array(&model->arena, count + 1, sizeof(*names));
	const struct onnx_value_info **infos =
		strata_arena_array(&model->arena, count + 1, sizeof(void *));

	graph->inputs = append(&model->arena, graph->inputs, graph->input_count, info);
	if (!names || !infos || !graph->inputs)
		return strata_fail_memory(err);
	memcpy(names, model->inputs, count * sizeof(*names));
	memcpy(infos, model->input_infos, count * sizeof(*infos));
	names[count] = info->name;
	infos[count] = &graph->inputs[graph->input_count++];
	model->inputs = names;
	model->input_infos = infos;
	model->input_count++;
	return 0;
}

static int take(struct search *search, const struct onnx_value_info *info, struct strata_error *err)
{
	bool reads_sample;
	size_t left = walk(search, info->name, &reads_sample);
	int rc = keep_weights(search, err);

	if (rc == 0)
		rc = keep_nodes(search, left, err);
	return rc ? rc : add_input(search->model, info, err);
}

int engine_features_edit(struct engine_model *model, const char *sample, enum engine_features which,
			 struct strata_error *err)
{
	struct strata_arena arena;
	struct search search = {
		.model = model, .memory = model->memory, .arena = &arena, .sample = sample
	};

	strata_arena_init(&arena, model->memory, 0);
	map_text_init(&search.makers, model->memory);
	int rc = note_nodes(&search, err);
	const char *place = rc == 0 ? find_place(&search) : NULL;

	if (rc == 0 && !place)
		rc = strata_fail(err, -ENOTSUP,
				 "%.200s has no connection past its inner part, as UNets have, so "
				 "no features of it can be used again",
				 model->path);
	if (rc == 0) {
		const struct onnx_value_info info = info_of(&model->onnx.graph, place);

		rc = which == ENGINE_FEATURES_GIVEN ? give(model, &info, err)
						    : take(&search, &info, err);
	}
	for (size_t i = 0; i < search.reads_made; i++)
		map_text_fini(&search.reads[i]);
	map_text_fini(&search.makers);
	strata_arena_fini(&arena);
	return rc;
}
