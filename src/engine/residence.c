/* Weights in memory and on their way: see residence.h. */
#include "engine/residence.h"

#include "engine/captures.h"
#include "formats/onnx/onnx_graph.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SMALL_BYTES = 4096,    /* what may stay although there is a budget: a block of the disk or less */
	SMALL_BYTES_MIN = 64,  /* what always stays: fetching it would cost more than it weighs */
	SMALL_SHARE = 8,       /* of a budget one part may be taken by what stays */
	LAYERS_AT_ONCE = 4,    /* that a budget should hold, so that some come while one computes */
	PAGES_AT_ONCE = 64,    /* likewise, of pages */
	PAGE_BYTES_MIN = 4096,
	PAGE_BYTES_MAX = 2 << 20,
};

static bool is_half(int dtype)
{
	return dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16;
}

/* In memory, sixteen-bit floats widened. */
static int64_t resident_bytes(const struct onnx_tensor *tensor)
{
	return tensor->bytes * (is_half(tensor->dtype) ? 2 : 1);
}

static bool has_extent(const struct onnx_tensor *tensor)
{
	return (tensor->raw.at || tensor->location) && tensor->dtype != ONNX_STRING &&
	       !tensor->sparse && engine_dtype_bytes(tensor->dtype) > 0;
}

/* Which initializers are only ever the table of a Gather along their first axis. */
static int find_tables(struct residence *residence, struct strata_arena *arena,
		       struct strata_error *err)
{
	const struct engine_model *model = residence->model;
	const struct onnx_graph *graph = &model->onnx.graph;
	struct map_text others; /* names that are read in another way */
	int rc = 0;

	residence->looked_up = strata_arena_array(arena, graph->initializer_count, sizeof(bool));
	if (!residence->looked_up)
		return strata_fail_memory(err);
	map_text_init(&others, arena->memory);
	for (size_t i = 0; rc == 0 && i < graph->node_count; i++) {
		const struct onnx_node *node = &graph->nodes[i];
		const struct onnx_attribute *axis = onnx_attribute_find(node, "axis");
		struct onnx_node rest = *node;
		bool gathers = strcmp(node->kind, "Gather") == 0 && !node->domain[0] &&
			       node->input_count == 2 && (!axis || axis->integer == 0);

		rest.inputs += gathers; /* its table is not among them */
		rest.input_count -= gathers;
		rc = engine_captures_of_node(&rest, &others, arena->memory, err);
	}
	for (size_t i = 0; i < graph->output_count && rc == 0; i++)
		if (map_text_put(&others, graph->outputs[i].name, strlen(graph->outputs[i].name),
				 residence, NULL))
			rc = strata_fail_memory(err);
	for (size_t i = 0; i < graph->initializer_count && rc == 0; i++)
		residence->looked_up[i] =
			has_extent(&graph->initializers[i]) &&
			!is_half(graph->initializers[i].dtype) &&
			graph->initializers[i].bytes > SMALL_BYTES &&
			!map_text_get(&others, graph->initializers[i].name,
				      strlen(graph->initializers[i].name));
	map_text_fini(&others);
	return rc;
}

static bool is_small(const struct onnx_tensor *tensor, int64_t small_bytes)
{
	bool number = tensor->dtype == ONNX_FLOAT || is_half(tensor->dtype);

	/* Whole numbers are shapes and indexes, which decide what is computed: they are wanted early. */
	return tensor->bytes <= (number ? small_bytes : SMALL_BYTES);
}

/* Shares the weights out among those that are looked up, fetched and kept. */
static void sort_weights(struct residence *residence, bool fetch, int64_t small_bytes)
{
	const struct onnx_graph *graph = &residence->model->onnx.graph;

	residence->looked_up_bytes = residence->fetched_bytes = residence->kept_bytes = 0;
	for (size_t i = 0; i < graph->initializer_count; i++) {
		const struct onnx_tensor *tensor = &graph->initializers[i];

		residence->weighs[i] = 0;
		if (residence->looked_up && residence->looked_up[i])
			residence->looked_up_bytes += tensor->bytes;
		else if (fetch && has_extent(tensor) && !is_small(tensor, small_bytes))
			residence->weighs[i] = tensor->bytes;
		else
			residence->kept_bytes += resident_bytes(tensor);
		residence->fetched_bytes += residence->weighs[i];
	}
}

int residence_plan(struct residence *residence, const struct engine_model *model,
		   struct engine_heap *heap, int64_t budget_bytes, struct strata_arena *arena,
		   struct strata_error *err)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	int64_t all = 0, small_bytes = SMALL_BYTES;

	*residence = (struct residence){ .model = model, .heap = heap, .budget_bytes = budget_bytes };
	residence->weighs = strata_arena_array(arena, graph->initializer_count, sizeof(int64_t));
	residence->kept =
		strata_arena_array(arena, graph->initializer_count, sizeof(*residence->kept));
	if (!residence->weighs || !residence->kept)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->initializer_count; i++)
		all += resident_bytes(&graph->initializers[i]);
	residence->may_pack = budget_bytes == 0 || all <= budget_bytes / 2;
	bool fetch = budget_bytes > 0 && all > budget_bytes;
	int rc = fetch ? find_tables(residence, arena, err) : 0;

	if (rc)
		return rc;
	sort_weights(residence, fetch, small_bytes);
	while (fetch && residence->kept_bytes > budget_bytes / SMALL_SHARE &&
	       small_bytes > SMALL_BYTES_MIN)
		sort_weights(residence, fetch, small_bytes /= 2);
	if (fetch && residence->kept_bytes >= budget_bytes)
		return strata_fail(err, -E2BIG,
				   "a budget of %lld bytes does not hold the %lld bytes of weights that stay",
				   (long long)budget_bytes, (long long)residence->kept_bytes);
	return 0;
}

int64_t residence_layer_bytes(const struct residence *residence)
{
	int64_t room = residence->budget_bytes - residence->kept_bytes;

	return residence->fetched_bytes == 0 ? 0 : room > LAYERS_AT_ONCE ? room / LAYERS_AT_ONCE : 1;
}

/* ---- opening ---- */

/* A mapped file of external data. */
struct residence_file {
	const char *location;
	void *bytes;
	size_t length;
	struct residence_file *next;
};

static int map_location(struct residence *residence, const char *location,
			struct strata_arena *arena, const struct residence_file **ret_file,
			struct strata_error *err)
{
	const struct engine_model *model = residence->model;
	struct residence_file *file = residence->files;

	while (file && strcmp(file->location, location) != 0)
		file = file->next;
	if (!file) {
		int rc = onnx_check_location(location, err);
		const char *path = strata_arena_printf(arena, "%s%s%s", model->directory,
						       model->directory[0] ? "/" : "", location);

		file = strata_arena_get(arena, sizeof(*file));
		if (rc == 0 && (!path || !file))
			rc = strata_fail_memory(err);
		if (rc == 0)
			rc = onnx_file_map(path, &file->bytes, &file->length, err);
		if (rc)
			return rc;
		file->location = location;
		file->next = residence->files;
		residence->files = file;
	}
	*ret_file = file;
	return 0;
}

/* A table stays in its file, which is mapped: what is looked up is read, and the system may forget it again. */
static int map_table(struct residence *residence, const struct onnx_tensor *tensor,
		     struct strata_arena *arena, struct engine_value *ret_value,
		     struct strata_error *err)
{
	struct engine_value value = { .kind = ONNX_TENSOR,
				      .dtype = tensor->dtype,
				      .rank = (uint32_t)tensor->rank,
				      .data = (void *)tensor->raw.at };
	const struct residence_file *file;

	memcpy(value.dims, tensor->dims, tensor->rank * sizeof(value.dims[0]));
	if (tensor->location) {
		int rc = map_location(residence, tensor->location, arena, &file, err);

		if (rc)
			return rc;
		if (tensor->offset_bytes > (int64_t)file->length ||
		    tensor->bytes > (int64_t)file->length - tensor->offset_bytes)
			return strata_fail(err, -ENODATA, "%s ends before its weights do",
					   tensor->location);
		value.data = (char *)file->bytes + tensor->offset_bytes;
	}
	*ret_value = value;
	return 0;
}

static int load_kept(struct residence *residence, struct strata_arena *arena,
		     struct strata_error *err)
{
	const struct onnx_graph *graph = &residence->model->onnx.graph;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++)
		if (residence->looked_up && residence->looked_up[i])
			rc = map_table(residence, &graph->initializers[i], arena,
				       &residence->kept[i], err);
		else if (!residence->weighs[i])
			rc = engine_value_of_tensor(residence->heap, &graph->initializers[i],
						    residence->model->directory, true,
						    &residence->kept[i], err);
	return rc;
}

/* The files that weights are in: the model's own first. */
struct files {
	const char **paths;
	const char **locations; /* as tensors have them; NULL: the model's own */
	size_t count;
};

static int find_file(struct files *files, const struct engine_model *model, const char *location,
		     struct strata_arena *arena, uint32_t *ret_file, struct strata_error *err)
{
	int rc = location ? onnx_check_location(location, err) : 0;

	if (rc)
		return rc;
	for (size_t i = 0; i < files->count; i++)
		if (location ? files->locations[i] && strcmp(files->locations[i], location) == 0
			     : !files->locations[i]) {
			*ret_file = (uint32_t)i;
			return 0;
		}
	const char *path = location ? strata_arena_printf(arena, "%s%s%s", model->directory,
							  model->directory[0] ? "/" : "", location)
				    : model->path;

	if (!path)
		return strata_fail_memory(err);
	files->locations[files->count] = location;
	files->paths[files->count] = path;
	*ret_file = (uint32_t)files->count++;
	return 0;
}

/* A layer of the stream: what of a subgraph's weights is fetched. */
static int describe_layer(struct residence *residence, const struct engine_subgraph *subgraph,
			  size_t index, struct files *files, struct strata_stream_layer *layer,
			  struct strata_arena *arena, struct strata_error *err)
{
	const struct onnx_graph *graph = &residence->model->onnx.graph;
	struct residence_layer *own = &residence->layers[index];
	struct strata_extent *extents =
		strata_arena_array(arena, subgraph->weight_count, sizeof(*extents));
	size_t count = 0;
	int rc = extents ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < subgraph->weight_count; i++) {
		const struct onnx_tensor *tensor =
			&graph->initializers[subgraph->weight_indexes[i]];

		own->extents[i] = UINT32_MAX;
		if (!residence->weighs[subgraph->weight_indexes[i]])
			continue;
		struct strata_extent *extent = &extents[count];

		rc = find_file(files, residence->model, tensor->location, arena, &extent->file, err);
		extent->offset = tensor->location
					 ? tensor->offset_bytes
					 : tensor->raw.at - residence->model->onnx.file.at;
		extent->bytes = tensor->bytes;
		own->extents[i] = (uint32_t)count++;
	}
	*layer = (struct strata_stream_layer){
		.name = subgraph->nodes[0]->name, .extents = extents, .extent_count = count
	};
	return rc;
}

static int64_t page_bytes(int64_t budget)
{
	int64_t page = PAGE_BYTES_MIN;

	while (page < PAGE_BYTES_MAX && page * 2 * PAGES_AT_ONCE <= budget)
		page *= 2;
	return page;
}

/* The stream of one device, if any of its subgraphs has weights to fetch. Devices share the budget by what they fetch. */
static int open_stream(struct residence *residence, const struct engine_cuts *cuts, uint32_t device,
		       struct strata_arena *arena, struct strata_error *err)
{
	const struct onnx_graph *graph = &residence->model->onnx.graph;
	struct strata_stream_layer *layers =
		strata_arena_array(arena, cuts->subgraph_count, sizeof(*layers));
	struct files files = {
		.paths = strata_arena_array(arena, graph->initializer_count + 1, sizeof(char *)),
		.locations = strata_arena_array(arena, graph->initializer_count + 1, sizeof(char *)),
	};
	size_t count = 0, last = 0;
	int64_t bytes = 0, all = 0;
	int rc = layers && files.paths && files.locations ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < cuts->subgraph_count; i++) {
		const struct engine_subgraph *subgraph = &cuts->subgraphs[i];
		struct residence_layer *own = &residence->layers[i];
		int64_t weighs = 0;

		for (size_t k = 0; k < subgraph->weight_count; k++)
			weighs += residence->weighs[subgraph->weight_indexes[k]];
		all += weighs;
		if (subgraph->device != device || weighs == 0)
			continue;
		rc = describe_layer(residence, subgraph, i, &files, &layers[count], arena, err);
		own->layer = (uint32_t)count;
		own->first = count++ == 0;
		bytes += weighs;
		last = i;
	}
	if (rc || count == 0)
		return rc;
	residence->layers[last].last = true;
	int64_t room = residence->budget_bytes - residence->kept_bytes;
	uint32_t *order = strata_arena_array(arena, count, sizeof(*order));

	if (!order)
		return strata_fail_memory(err);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	const struct strata_stream_conf conf = {
		.order = order,
		.visit_count = count,
		.paths = files.paths,
		.path_count = files.count,
		.layers = layers,
		.layer_count = count,
		.budget_bytes = (int64_t)((double)room * (double)bytes / (double)all),
		.page_bytes = page_bytes(room),
		.bytes_per_s = INT64_C(1000000000),
	};

	return strata_stream_open(&conf, &residence->memories[device], &residence->streams[device],
				  err);
}

int residence_open(struct residence *residence, const struct engine_cuts *cuts, size_t device_count,
		   struct strata_arena *arena, struct strata_error *err)
{
	residence->layers =
		strata_arena_array(arena, cuts->subgraph_count, sizeof(*residence->layers));
	residence->streams = strata_arena_array(arena, device_count, sizeof(void *));
	residence->memories = strata_arena_array(arena, device_count, sizeof(*residence->memories));
	residence->in_step = strata_arena_array(arena, device_count, sizeof(bool));
	if (!residence->layers || !residence->streams || !residence->memories || !residence->in_step)
		return strata_fail_memory(err);
	residence->device_count = device_count;
	int rc = load_kept(residence, arena, err);

	for (size_t i = 0; rc == 0 && i < cuts->subgraph_count; i++) {
		struct residence_layer *layer = &residence->layers[i];

		layer->device = cuts->subgraphs[i].device;
		layer->extents = strata_arena_array(arena, cuts->subgraphs[i].weight_count,
						    sizeof(uint32_t));
		if (!layer->extents)
			rc = strata_fail_memory(err);
		for (size_t k = 0; rc == 0 && k < cuts->subgraphs[i].weight_count; k++)
			layer->extents[k] = UINT32_MAX;
	}
	for (uint32_t i = 0; rc == 0 && residence->fetched_bytes && i < device_count; i++)
		rc = open_stream(residence, cuts, i, arena, err);
	for (size_t i = 0; rc == 0 && i < cuts->subgraph_count; i++)
		for (size_t k = 0; k < cuts->subgraphs[i].weight_count; k++)
			if (residence->layers[i].extents[k] != UINT32_MAX)
				residence->layers[i].stream =
					residence->streams[cuts->subgraphs[i].device];
	return rc;
}

void residence_close(struct residence *residence)
{
	if (!residence->model)
		return;
	for (size_t i = 0; residence->streams && i < residence->device_count; i++)
		strata_stream_close(residence->streams[i]);
	for (size_t i = 0; residence->kept && i < residence->model->onnx.graph.initializer_count; i++)
		engine_value_drop(&residence->kept[i]);
	for (struct residence_file *file = residence->files; file; file = file->next)
		munmap(file->bytes, file->length);
	*residence = (struct residence){ 0 };
}

/* ---- around a subgraph ---- */

/* A fetched weight as a value: where it is, or a copy when it is not aligned to its elements or is to be widened. */
static int fetched_value(struct residence *residence, const struct onnx_tensor *tensor, void *at,
			 struct engine_value *ret_value, struct strata_error *err)
{
	struct engine_value there = { .kind = ONNX_TENSOR,
				      .dtype = tensor->dtype,
				      .rank = (uint32_t)tensor->rank,
				      .data = at };
	struct engine_value copy = { 0 };

	memcpy(there.dims, tensor->dims, tensor->rank * sizeof(there.dims[0]));
	if ((uintptr_t)at % engine_dtype_bytes(tensor->dtype)) {
		int rc = engine_value_make(residence->heap, tensor->dtype, tensor->rank, tensor->dims,
					   &copy, err);

		if (rc)
			return rc;
		memcpy(copy.data, at, (size_t)tensor->bytes);
		there = copy;
	}
	if (!is_half(tensor->dtype)) {
		*ret_value = there;
		return 0;
	}
	int rc = engine_value_cast(residence->heap, &there, ONNX_FLOAT, ret_value, err);

	engine_value_drop(&copy);
	return rc;
}

/* A step that a failed run left open is ended before the next begins. */
static int begin_step(struct residence *residence, const struct residence_layer *layer,
		      struct strata_error *err)
{
	bool *in_step = &residence->in_step[layer->device];
	int rc = *in_step ? strata_stream_step_end(layer->stream, err) : 0;

	*in_step = false;
	if (rc == 0)
		rc = strata_stream_step_start(layer->stream, err);
	*in_step = rc == 0;
	return rc;
}

int residence_begin(struct residence *residence, const struct engine_subgraph *subgraph,
		    size_t index, struct engine_value *ret_weights, struct strata_error *err)
{
	const struct residence_layer *layer = &residence->layers[index];
	const struct onnx_graph *graph = &residence->model->onnx.graph;
	int rc = 0;

	memset(ret_weights, 0, subgraph->weight_count * sizeof(*ret_weights));
	if (layer->stream && layer->first)
		rc = begin_step(residence, layer, err);
	if (rc == 0 && layer->stream)
		rc = strata_stream_pre_forward(layer->stream, layer->layer, err);
	for (size_t i = 0; rc == 0 && i < subgraph->weight_count; i++) {
		uint32_t weight = subgraph->weight_indexes[i];

		if (layer->extents[i] == UINT32_MAX)
			ret_weights[i] = engine_value_share(&residence->kept[weight]);
		else
			rc = fetched_value(residence, &graph->initializers[weight],
					   strata_stream_at(layer->stream, layer->layer,
							    layer->extents[i]),
					   &ret_weights[i], err);
	}
	return rc;
}

int residence_end(struct residence *residence, const struct engine_subgraph *subgraph, size_t index,
		  struct engine_value *weights, struct strata_error *err)
{
	const struct residence_layer *layer = &residence->layers[index];

	for (size_t i = 0; i < subgraph->weight_count; i++)
		engine_value_drop(&weights[i]);
	if (!layer->stream)
		return 0;
	int rc = strata_stream_post_forward(layer->stream, layer->layer, err);

	if (rc == 0 && layer->last) {
		rc = strata_stream_step_end(layer->stream, err);
		residence->in_step[layer->device] = false;
	}
	return rc;
}
