/* Fusing nodes: what is found, what is left alone, and what happens where memory runs out. */
#include "fused_nodes.h"

#include <errno.h>

static void put_silu(struct fused_nodes *all)
{
	fused_input_of(all, "x", 1, (int64_t[]){ 5 });
	fused_node(all, "Sigmoid", "s", "x", NULL);
	fused_node(all, "Mul", "y", "x", "s");
}

static size_t count_nodes(const struct native_source *source, struct strata_memory *memory,
			  struct strata_error *err, int *ret_rc)
{
	const struct onnx_node **nodes;
	struct strata_arena arena;
	size_t count = 0;

	strata_arena_init(&arena, memory, 0);
	*ret_rc = native_fuse(source, &arena, memory, &nodes, &count, err);
	for (size_t i = 0; *ret_rc == 0 && i < count; i++)
		CHECK(!native_fused_of(nodes[i]) || native_fused_of(nodes[i])->part_count >= 2);
	strata_arena_fini(&arena);
	return count;
}

TEST(nodes_of_other_makers_are_left_alone)
{
	struct fused_nodes all;
	int rc;

	fused_init(&all, 1);
	put_silu(&all);
	fused_node(&all, "Relu", "z", "y", NULL);
	const struct onnx_node *nodes[] = { &all.nodes[0], &all.nodes[1], &all.nodes[2] };
	const char *wanted = "z";
	struct native_source source = { .nodes = nodes, .node_count = 3, .outputs = &wanted,
					.output_count = 1 };

	CHECK_INT(count_nodes(&source, &all.memory, NULL, &rc), 2);
	CHECK_INT(rc, 0);
	all.nodes[0].domain = "com.other";
	CHECK_INT(count_nodes(&source, &all.memory, NULL, &rc), 3);
	all.nodes[0].domain = "";
	wanted = "s"; /* the sigmoid itself is wanted */
	CHECK_INT(count_nodes(&source, &all.memory, NULL, &rc), 3);
	source.node_count = 0;
	CHECK_INT(count_nodes(&source, &all.memory, NULL, &rc), 0);
	fused_fini(&all);
}

TEST(what_a_graph_inside_a_node_reads_stays)
{
	struct onnx_node inside = { .name = "in", .kind = "Relu", .domain = "", .input_count = 1,
				    .output_count = 1 };
	const char *captured = "s", *made = "t";
	struct onnx_graph graph = { .nodes = &inside, .node_count = 1 };
	struct fused_nodes all;
	int rc;

	inside.inputs = &captured;
	inside.outputs = &made;
	fused_init(&all, 1);
	put_silu(&all);
	fused_node(&all, "If", "z", "y", NULL);
	all.attributes[2][0] = (struct onnx_attribute){ .name = "then_branch",
							.type = ONNX_ATTR_GRAPH, .graph = &graph };
	all.nodes[2].attribute_count = 1;
	const struct onnx_node *nodes[] = { &all.nodes[0], &all.nodes[1], &all.nodes[2] };
	const struct native_source source = { .nodes = nodes, .node_count = 3 };

	CHECK_INT(count_nodes(&source, &all.memory, NULL, &rc), 3);
	fused_fini(&all);
}

static int fuse_once(struct strata_memory *memory, void *context, struct strata_error *err)
{
	int rc;
	size_t count = count_nodes(context, memory, err, &rc);

	if (rc == 0)
		test_result_int((int64_t)count);
	return rc;
}

TEST(every_allocation_may_fail)
{
	struct fused_nodes all;

	fused_init(&all, 1);
	put_silu(&all);
	fused_weight(&all, "w", 1, (int64_t[]){ 5 });
	const struct onnx_model model = { .graph = { .initializers = all.weights,
						     .initializer_count = 1 } };
	const struct onnx_node *nodes[] = { &all.nodes[0], &all.nodes[1] };
	struct native_source source = { .model = &model, .nodes = nodes, .node_count = 2 };

	CHECK(test_every_allocation(fuse_once, &source) > 4);
	fused_fini(&all);
}

TEST(kinds_that_do_not_fit_are_run_one_by_one)
{
	struct fused_nodes all;
	struct engine_value wide, fused, apart;
	struct strata_error err = { 0 };

	fused_init(&all, 1);
	put_silu(&all);
	all.outputs[all.output_count++] = "y";
	CHECK_OK(engine_value_cast(&all.heap, &all.inputs[0], ONNX_DOUBLE, &wide, &err));
	engine_value_drop(&all.inputs[0]);
	all.inputs[0] = wide;
	CHECK_INT(fused_run(&all, false, &fused), 1);
	CHECK_INT(fused_run(&all, true, &apart), 2);
	CHECK_INT(fused.dtype, ONNX_DOUBLE);
	CHECK_BYTES(fused.data, apart.data, engine_value_bytes(&apart));
	engine_value_drop(&fused);
	engine_value_drop(&apart);
	fused_fini(&all);
}
