/* Building graphs: what is added is there, what contradicts itself is refused, limits hold. */
#include "test.h"

#include <strata/place.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static const struct strata_tensor plain = { .file = STRATA_NONE, .device = STRATA_NONE };
static const struct strata_op nothing = { .bytes = -1, .kv_device = STRATA_NONE };

static struct strata_graph *empty(void)
{
	struct strata_graph *graph = NULL;

	CHECK_OK(strata_graph_new("g", &memory, &graph, &err));
	return graph;
}

static uint32_t tensor(struct strata_graph *graph, const char *name, enum strata_role role,
		       int64_t bytes)
{
	struct strata_tensor t = plain;
	uint32_t index;

	t.name = name;
	t.role = role;
	t.bytes = bytes;
	CHECK_OK(strata_graph_add_tensor(graph, &t, &index, &err));
	return index;
}

TEST(a_tensor_of_0_bytes_is_not_one_of_unknown_size)
{
	struct strata_graph *graph = empty();
	struct strata_tensor none = plain;
	uint32_t known = tensor(graph, "x", STRATA_ROLE_INPUT, 4),
		 unknown = tensor(graph, "u", STRATA_ROLE_INPUT, 0), index;

	none.name = "none";
	none.sized = true;
	CHECK_OK(strata_graph_add_tensor(graph, &none, &index, &err));
	CHECK(graph->tensors[known].sized && !graph->tensors[unknown].sized);
	CHECK(graph->tensors[index].sized && graph->tensors[index].bytes == 0);
	strata_graph_free(graph);
}

TEST(a_graph_has_what_was_added)
{
	struct strata_graph *graph = empty();
	uint32_t x = tensor(graph, "x", STRATA_ROLE_INPUT, 4);
	uint32_t w = tensor(graph, "w", STRATA_ROLE_WEIGHT, 400);
	uint32_t kv = tensor(graph, "kv", STRATA_ROLE_KV, 50);
	uint32_t y = tensor(graph, "y", STRATA_ROLE_ACTIVATION, 8);
	struct strata_op a = nothing, b = nothing;

	a.name = "first";
	a.kind = "MatMul";
	a.inputs = (uint32_t[]){ x, w, STRATA_NONE };
	a.input_count = 3;
	a.outputs = &y;
	a.output_count = 1;
	a.flops = 100;
	CHECK_OK(strata_graph_add_op(graph, &a, NULL, &err));
	b.inputs = (uint32_t[]){ y, kv };
	b.input_count = 2;
	CHECK_OK(strata_graph_add_op(graph, &b, NULL, &err));
	CHECK_OK(strata_graph_finish(graph, &err));
	CHECK_INT(graph->edge_count, 1);
	CHECK_INT(graph->edges[0].from, 0);
	CHECK_INT(graph->edges[0].to, 1);
	CHECK_INT(graph->edges[0].bytes, 8);
	CHECK_INT(graph->edges[0].tensor, y);
	CHECK_TEXT(graph->ops[0].kind, "MatMul");
	CHECK_INT(strata_op_weight_bytes(graph, 0), 400);
	CHECK_INT(strata_op_kv_bytes(graph, 1), 50);
	CHECK_NEAR(strata_op_bytes(graph, 0), 412, 0);
	CHECK_INT(graph->reader_first[y + 1] - graph->reader_first[y], 1);
	CHECK_INT(graph->readers[graph->reader_first[y]], 1);
	CHECK_INT(strata_graph_find_tensor(graph, "kv", 2), kv);
	CHECK_INT(strata_graph_find_tensor(graph, "k", 1), STRATA_NONE);
	strata_graph_free(graph);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_contradicts_itself_is_refused)
{
	struct strata_graph *graph = empty();
	uint32_t x = tensor(graph, "x", STRATA_ROLE_INPUT, 4), missing = 7;
	struct strata_tensor t = plain;
	struct strata_op op = nothing;

	t.name = "x";
	CHECK_ERROR(strata_graph_add_tensor(graph, &t, NULL, &err), -EEXIST, "called \"x\"");
	t.name = "r";
	t.rank = STRATA_TENSOR_RANK_MAX + 1;
	CHECK_ERROR(strata_graph_add_tensor(graph, &t, NULL, &err), -E2BIG, "dimensions");
	t.rank = STRATA_TENSOR_RANK_MAX;
	CHECK_OK(strata_graph_add_tensor(graph, &t, NULL, &err));
	op.inputs = &missing;
	op.input_count = 1;
	CHECK_ERROR(strata_graph_add_op(graph, &op, NULL, &err), -EINVAL, "tensor 7");
	for (uint32_t at = 0; at < 4; at++) { /* there are two */
		int want = at < 2 ? 0 : -EINVAL;

		op = nothing;
		op.inputs = &at;
		op.input_count = 1;
		CHECK_INT(strata_graph_add_op(graph, &op, NULL, &err), want);
		op = nothing;
		op.outputs = &at;
		op.output_count = 1;
		CHECK_INT(at == x ? 0 : strata_graph_add_op(graph, &op, NULL, &err), want);
		if (want)
			CHECK(strstr(err.text, "makes tensor") && strstr(err.text, "of 2"));
	}
	op = nothing;
	op.outputs = (uint32_t[]){ x, x };
	op.output_count = 2;
	CHECK_ERROR(strata_graph_add_op(graph, &op, NULL, &err), -EINVAL, "twice");
	op = nothing;
	op.flops = NAN;
	CHECK_ERROR(strata_graph_add_op(graph, &op, NULL, &err), -EINVAL, "no number");
	CHECK_OK(strata_graph_add_edge(graph, 0, 2, 0, -1, &err)); /* three were added */
	CHECK_ERROR(strata_graph_add_edge(graph, 0, 3, 0, -1, &err), -EINVAL, "there are 3");
	CHECK_ERROR(strata_graph_add_edge(graph, 3, 0, 0, -1, &err), -EINVAL, "there are 3");
	strata_graph_free(graph);
	graph = empty();
	CHECK_ERROR(strata_graph_add_edge(graph, 0, 1, 0, -1, &err), -EINVAL, "there are 0");
	CHECK_ERROR(strata_graph_finish(graph, &err), -EINVAL, "no ops");
	strata_graph_free(graph);
}

TEST(sizes_and_costs_are_amounts)
{
	struct strata_graph *graph = empty();
	const double times[] = { 1, -1 }, fine_times[] = { 1, 0 };
	char *name = malloc(STRATA_TEXT_BYTES_MAX + 2);
	struct strata_tensor t = plain;
	struct strata_op op = nothing;
	uint32_t index = 77;

	memset(name, 'n', STRATA_TEXT_BYTES_MAX + 1);
	name[STRATA_TEXT_BYTES_MAX + 1] = '\0';
	t.name = name;
	CHECK_ERROR(strata_graph_add_tensor(graph, &t, &index, &err), -E2BIG, "the name of tensor 0");
	t.name = name + 1;
	CHECK_OK(strata_graph_add_tensor(graph, &t, NULL, &err));
	free(name);
	t = plain;
	t.bytes = -1;
	CHECK_ERROR(strata_graph_add_tensor(graph, &t, &index, &err), -EINVAL, "a size below 0");
	t = plain;
	t.offset_bytes = -1;
	CHECK_ERROR(strata_graph_add_tensor(graph, &t, &index, &err), -EINVAL, "a size below 0");
	t = plain;
	t.extent_bytes = -1;
	CHECK_ERROR(strata_graph_add_tensor(graph, &t, &index, &err), -EINVAL, "a size below 0");
	t = plain;
	t.rank = 2;
	t.shape[1] = -2;
	CHECK_ERROR(strata_graph_add_tensor(graph, &t, &index, &err), -EINVAL, "dimension -2");
	t.shape[1] = -1; /* not known */
	t.shape[0] = 0;
	CHECK_OK(strata_graph_add_tensor(graph, &t, NULL, &err));
	CHECK_INT(index, 77);
	op.weight_bytes = -1;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -EINVAL, "a cost below 0");
	op = nothing;
	op.kv_bytes = -1;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -EINVAL, "a cost below 0");
	op = nothing;
	op.activation_bytes = -1;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -EINVAL, "a cost below 0");
	op = nothing;
	op.flops = -1;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -EINVAL, "a cost below 0");
	op = nothing;
	op.bytes = INFINITY;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -EINVAL, "a cost below 0");
	op = nothing;
	op.input_count = STRATA_GRAPH_TENSORS_MAX + 1;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -E2BIG, "tensors");
	op = nothing;
	op.output_count = STRATA_GRAPH_TENSORS_MAX + 1;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -E2BIG, "tensors");
	graph->device_count = 2;
	op = nothing;
	op.times_ns = times;
	CHECK_ERROR(strata_graph_add_op(graph, &op, &index, &err), -EINVAL, "a time below 0");
	op.times_ns = fine_times;
	CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
	CHECK_OK(strata_graph_add_op(graph, &nothing, NULL, &err));
	CHECK_ERROR(strata_graph_add_edge(graph, 0, 1, -1, -1, &err), -EINVAL, "an edge has -1 bytes");
	CHECK_ERROR(strata_graph_add_edge(graph, 0, 1, 0, NAN, &err), -EINVAL, "cost nan");
	CHECK_OK(strata_graph_add_edge(graph, 0, 1, 0, 0, &err));
	strata_graph_free(graph);
}

TEST(files_of_weights_have_a_most)
{
	struct strata_graph *graph = empty();
	uint32_t index = 0;

	for (uint32_t i = 0; i < STRATA_GRAPH_FILES_MAX; i++) {
		CHECK_OK(strata_graph_add_file(graph, "weights", &index, &err));
		CHECK_INT(index, i);
	}
	CHECK_ERROR(strata_graph_add_file(graph, "weights", &index, &err), -E2BIG,
		    "in more than 65536 files");
	CHECK_INT(graph->file_count, STRATA_GRAPH_FILES_MAX);
	strata_graph_free(graph);
}

TEST(elements_of_a_tensor)
{
	struct strata_tensor t = { .shaped = true, .rank = 2, .shape = { 3, 5 } };

	CHECK_INT(strata_tensor_elements(&t), 15);
	t.shape[0] = -1;
	CHECK_INT(strata_tensor_elements(&t), -1);
	t.shape[0] = INT64_MAX;
	CHECK_INT(strata_tensor_elements(&t), -1);
	t.rank = 0;
	CHECK_INT(strata_tensor_elements(&t), 1);
	t.shaped = false;
	CHECK_INT(strata_tensor_elements(&t), -1);
}

static int build(struct strata_memory *mem, void *context, struct strata_error *error)
{
	struct strata_graph *graph = NULL;
	struct strata_tensor t = plain;
	struct strata_op op = nothing;
	double times[2] = { 1, 2 };
	uint32_t x = 0;
	int rc = strata_graph_new("g", mem, &graph, error);

	if (rc)
		return rc;
	graph->device_count = 2;
	t.name = "x";
	rc = strata_graph_add_tensor(graph, &t, &x, error);
	op.name = "op";
	op.kind = "K";
	op.times_ns = times;
	op.outputs = &x;
	op.output_count = 1;
	if (rc == 0)
		rc = strata_graph_add_op(graph, &op, NULL, error);
	op.outputs = NULL;
	op.output_count = 0;
	op.inputs = &x;
	op.input_count = 1;
	if (rc == 0)
		rc = strata_graph_add_op(graph, &op, NULL, error);
	if (rc == 0)
		rc = strata_graph_add_edge(graph, 0, 1, 5, -1, error);
	if (rc == 0)
		rc = strata_graph_add_file(graph, "a.bin", NULL, error);
	if (rc == 0)
		rc = strata_graph_finish(graph, error);
	strata_graph_free(graph);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(build, NULL) > 10);
}
