/*
 * Building a graph: tensors, ops and edges are added call by call, checked as they come, and copied, so that a reader may throw its file
 * away. Finishing it is graph_finish.c.
 */
#include "place/graph_int.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int strata_graph_new(const char *name, struct strata_memory *memory,
		     struct strata_graph **ret_graph, struct strata_error *err)
{
	struct strata_graph *graph = strata_memory_get(memory, sizeof(*graph));
	struct strata_graph_int *inside = strata_memory_get(memory, sizeof(*inside));

	if (!graph || !inside) {
		strata_memory_put(memory, graph, sizeof(*graph));
		strata_memory_put(memory, inside, sizeof(*inside));
		return strata_fail_memory(err);
	}
	inside->memory = memory;
	strata_arena_init(&inside->arena, memory, 0);
	map_text_init(&inside->names, memory);
	graph->inside = inside;
	graph->name = strata_graph_text(graph, name, strlen(name));
	if (!graph->name) {
		strata_graph_free(graph);
		return strata_fail_memory(err);
	}
	*ret_graph = graph;
	return 0;
}

void strata_graph_free(struct strata_graph *graph)
{
	if (!graph)
		return;
	struct strata_graph_int *inside = graph->inside;
	struct strata_memory *memory = inside->memory;

	strata_memory_put(memory, graph->tensors, inside->tensor_room * sizeof(*graph->tensors));
	strata_memory_put(memory, graph->ops, inside->op_room * sizeof(*graph->ops));
	strata_memory_put(memory, (void *)graph->files, inside->file_room * sizeof(*graph->files));
	strata_memory_put(memory, inside->extra, inside->extra_room * sizeof(*inside->extra));
	map_text_fini(&inside->names);
	strata_arena_fini(&inside->arena);
	strata_memory_put(memory, inside, sizeof(*inside));
	strata_memory_put(memory, graph, sizeof(*graph));
}

const char *strata_graph_text(struct strata_graph *graph, const char *text, size_t length)
{
	return strata_arena_text(&graph->inside->arena, text, length);
}

/* Room for one more; the array as it is now, or NULL and nothing changed. */
static void *grow(struct strata_graph *graph, void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	size_t more = *room ? 2 * *room : 16;
	void *grown = strata_memory_resize(graph->inside->memory, array, *room * size, more * size);

	if (grown)
		*room = more;
	return grown;
}

static const char *copy_text(struct strata_graph *graph, const char *text)
{
	return text && *text ? strata_graph_text(graph, text, strlen(text)) : "";
}

/* ---- tensors ---- */

static int check_tensor(const struct strata_graph *graph, const struct strata_tensor *tensor,
			struct strata_error *err)
{
	const char *name = tensor->name ? tensor->name : "";

	if (graph->tensor_count >= STRATA_GRAPH_TENSORS_MAX)
		return strata_fail(err, -E2BIG, "the graph has more than %d tensors",
				   STRATA_GRAPH_TENSORS_MAX);
	if (strlen(name) > STRATA_TEXT_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the name of tensor %zu has more than %d bytes",
				   graph->tensor_count, STRATA_TEXT_BYTES_MAX);
	if (tensor->rank > STRATA_TENSOR_RANK_MAX)
		return strata_fail(err, -E2BIG, "tensor \"%.64s\" has %u dimensions; at most %d",
				   name, tensor->rank, STRATA_TENSOR_RANK_MAX);
	if (tensor->bytes < 0 || tensor->offset_bytes < 0 || tensor->extent_bytes < 0)
		return strata_fail(err, -EINVAL, "tensor \"%.64s\" has a size below 0", name);
	for (size_t i = 0; i < tensor->rank; i++)
		if (tensor->shape[i] < -1)
			return strata_fail(
				err, -EINVAL,
				"tensor \"%.64s\" has dimension %lld; expected 0 or more", name,
				(long long)tensor->shape[i]);
	if (*name && strata_graph_find_tensor(graph, name, strlen(name)) != STRATA_NONE)
		return strata_fail(err, -EEXIST, "two tensors are called \"%.64s\"", name);
	return 0;
}

int strata_graph_add_tensor(struct strata_graph *graph, const struct strata_tensor *tensor,
			    uint32_t *ret_index, struct strata_error *err)
{
	struct strata_graph_int *inside = graph->inside;
	int rc = check_tensor(graph, tensor, err);

	if (rc)
		return rc;
	struct strata_tensor *tensors = grow(graph, graph->tensors, graph->tensor_count,
					     &inside->tensor_room, sizeof(*tensors));
	if (!tensors)
		return strata_fail_memory(err);
	graph->tensors = tensors;
	const char *name = copy_text(graph, tensor->name);

	if (!name || (*name && map_text_put(&inside->names, name, strlen(name),
					    (void *)(graph->tensor_count + 1), NULL)))
		return strata_fail_memory(err);
	struct strata_tensor *added = &tensors[graph->tensor_count];

	*added = *tensor;
	added->name = name;
	added->sized = tensor->sized || tensor->bytes != 0;
	added->producer = STRATA_NONE;
	if (ret_index)
		*ret_index = (uint32_t)graph->tensor_count;
	graph->tensor_count++;
	return 0;
}

uint32_t strata_graph_find_tensor(const struct strata_graph *graph, const char *name, size_t length)
{
	size_t found = (size_t)map_text_get(&graph->inside->names, name, length);

	return found ? (uint32_t)(found - 1) : STRATA_NONE;
}

int64_t strata_tensor_elements(const struct strata_tensor *tensor)
{
	int64_t product = 1;

	if (!tensor->shaped)
		return -1;
	for (size_t i = 0; i < tensor->rank; i++)
		if (tensor->shape[i] < 0 ||
		    __builtin_mul_overflow(product, tensor->shape[i], &product))
			return -1;
	return product;
}

/* ---- ops ---- */

static bool is_amount(double value)
{
	return value >= 0 && isfinite(value);
}

static int check_tensors(const struct strata_graph *graph, const struct strata_op *op,
			 struct strata_error *err)
{
	const char *name = op->name ? op->name : "";

	for (size_t i = 0; i < op->input_count; i++)
		if (op->inputs[i] != STRATA_NONE && op->inputs[i] >= graph->tensor_count)
			return strata_fail(err, -EINVAL, "op \"%.64s\" reads tensor %u of %zu",
					   name, op->inputs[i], graph->tensor_count);
	for (size_t i = 0; i < op->output_count; i++) {
		uint32_t out = op->outputs[i];

		if (out == STRATA_NONE)
			continue;
		if (out >= graph->tensor_count)
			return strata_fail(err, -EINVAL, "op \"%.64s\" makes tensor %u of %zu",
					   name, out, graph->tensor_count);
		bool made = graph->tensors[out].producer != STRATA_NONE;

		for (size_t j = 0; j < i; j++)
			made |= op->outputs[j] == out;
		if (made)
			return strata_fail(err, -EINVAL, "tensor \"%.64s\" is made twice",
					   graph->tensors[out].name);
	}
	return 0;
}

static int check_op(const struct strata_graph *graph, const struct strata_op *op,
		    struct strata_error *err)
{
	const char *name = op->name ? op->name : "";

	if (graph->op_count >= STRATA_GRAPH_OPS_MAX)
		return strata_fail(err, -E2BIG, "the graph has more than %d ops",
				   STRATA_GRAPH_OPS_MAX);
	if (op->input_count > STRATA_GRAPH_TENSORS_MAX ||
	    op->output_count > STRATA_GRAPH_TENSORS_MAX)
		return strata_fail(err, -E2BIG, "op \"%.64s\" has more than %d tensors", name,
				   STRATA_GRAPH_TENSORS_MAX);
	if (!is_amount(op->flops) || !isfinite(op->bytes) || op->weight_bytes < 0 ||
	    op->kv_bytes < 0 || op->activation_bytes < 0)
		return strata_fail(err, -EINVAL,
				   "op \"%.64s\" has a cost below 0, or one that is no number",
				   name);
	for (size_t i = 0; op->times_ns && i < graph->device_count; i++)
		if (!(op->times_ns[i] >= 0))
			return strata_fail(err, -EINVAL, "op \"%.64s\" takes a time below 0", name);
	return check_tensors(graph, op, err);
}

static const void *copy(struct strata_graph *graph, const void *from, size_t count, size_t size)
{
	void *made = strata_arena_array(&graph->inside->arena, count, size);

	if (made && count)
		memcpy(made, from, count * size);
	return made;
}

static int copy_op(struct strata_graph *graph, struct strata_op *op)
{
	op->name = copy_text(graph, op->name);
	op->kind = copy_text(graph, op->kind);
	op->inputs = copy(graph, op->inputs, op->input_count, sizeof(*op->inputs));
	op->outputs = copy(graph, op->outputs, op->output_count, sizeof(*op->outputs));
	if (op->times_ns) {
		op->times_ns = copy(graph, op->times_ns, graph->device_count, sizeof(double));
		if (!op->times_ns)
			return -ENOMEM;
	}
	return op->name && op->kind && op->inputs && op->outputs ? 0 : -ENOMEM;
}

int strata_graph_add_op(struct strata_graph *graph, const struct strata_op *op, uint32_t *ret_index,
			struct strata_error *err)
{
	struct strata_graph_int *inside = graph->inside;
	int rc = check_op(graph, op, err);

	if (rc)
		return rc;
	struct strata_op *ops =
		grow(graph, graph->ops, graph->op_count, &inside->op_room, sizeof(*ops));
	struct strata_op added = *op;

	if (!ops)
		return strata_fail_memory(err);
	graph->ops = ops;
	if (copy_op(graph, &added))
		return strata_fail_memory(err);
	for (size_t i = 0; i < op->output_count; i++)
		if (op->outputs[i] != STRATA_NONE)
			graph->tensors[op->outputs[i]].producer = (uint32_t)graph->op_count;
	ops[graph->op_count] = added;
	if (ret_index)
		*ret_index = (uint32_t)graph->op_count;
	graph->op_count++;
	return 0;
}

/* ---- edges and files ---- */

int strata_graph_add_edge(struct strata_graph *graph, uint32_t from, uint32_t to, int64_t bytes,
			  double cost_ns, struct strata_error *err)
{
	struct strata_graph_int *inside = graph->inside;

	if (from >= graph->op_count || to >= graph->op_count)
		return strata_fail(err, -EINVAL, "an edge goes from op %u to op %u; there are %zu",
				   from, to, graph->op_count);
	if (bytes < 0 || !isfinite(cost_ns))
		return strata_fail(err, -EINVAL, "an edge has %lld bytes and cost %g",
				   (long long)bytes, cost_ns);
	if (inside->extra_count >= STRATA_GRAPH_EDGES_MAX)
		return strata_fail(err, -E2BIG, "the graph has more than %d edges",
				   STRATA_GRAPH_EDGES_MAX);
	struct strata_edge *extra = grow(graph, inside->extra, inside->extra_count,
					 &inside->extra_room, sizeof(*extra));
	if (!extra)
		return strata_fail_memory(err);
	inside->extra = extra;
	extra[inside->extra_count++] =
		(struct strata_edge){ from, to, STRATA_NONE, bytes, cost_ns };
	return 0;
}

int strata_graph_add_file(struct strata_graph *graph, const char *path, uint32_t *ret_index,
			  struct strata_error *err)
{
	const char **files = (const char **)graph->files;

	if (graph->file_count >= STRATA_GRAPH_FILES_MAX)
		return strata_fail(err, -E2BIG, "the weights are in more than %d files",
				   STRATA_GRAPH_FILES_MAX);
	files = grow(graph, files, graph->file_count, &graph->inside->file_room, sizeof(*files));
	if (!files)
		return strata_fail_memory(err);
	graph->files = files;
	files[graph->file_count] = copy_text(graph, path);
	if (!files[graph->file_count])
		return strata_fail_memory(err);
	if (ret_index)
		*ret_index = (uint32_t)graph->file_count;
	graph->file_count++;
	return 0;
}

/* ---- what an op touches ---- */

static int64_t sum_inputs(const struct strata_graph *graph, const struct strata_op *op,
			  enum strata_role role)
{
	int64_t sum = 0;

	for (size_t i = 0; i < op->input_count; i++) {
		uint32_t in = op->inputs[i];

		if (in != STRATA_NONE && graph->tensors[in].role == role &&
		    __builtin_add_overflow(sum, graph->tensors[in].bytes, &sum))
			return INT64_MAX;
	}
	return sum;
}

int64_t strata_op_weight_bytes(const struct strata_graph *graph, size_t op)
{
	int64_t sum = sum_inputs(graph, &graph->ops[op], STRATA_ROLE_WEIGHT);

	return __builtin_add_overflow(sum, graph->ops[op].weight_bytes, &sum) ? INT64_MAX : sum;
}

int64_t strata_op_kv_bytes(const struct strata_graph *graph, size_t op)
{
	int64_t sum = sum_inputs(graph, &graph->ops[op], STRATA_ROLE_KV);

	return __builtin_add_overflow(sum, graph->ops[op].kv_bytes, &sum) ? INT64_MAX : sum;
}

double strata_op_bytes(const struct strata_graph *graph, size_t index)
{
	const struct strata_op *op = &graph->ops[index];
	double sum = (double)op->weight_bytes + (double)op->kv_bytes;

	if (op->bytes >= 0)
		return op->bytes;
	for (size_t i = 0; i < op->input_count; i++)
		if (op->inputs[i] != STRATA_NONE)
			sum += (double)graph->tensors[op->inputs[i]].bytes;
	for (size_t i = 0; i < op->output_count; i++)
		if (op->outputs[i] != STRATA_NONE)
			sum += (double)graph->tensors[op->outputs[i]].bytes;
	return sum;
}
