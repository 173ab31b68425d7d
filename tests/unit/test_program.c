#include "engine_model.h"

#include "engine_whole.h"

struct seen {
	int nodes[16], watched;
	int budget; /* nodes before the run is stopped; -1: none */
};

static void watch(void *context, const struct onnx_node *node, int64_t begin_ns, int64_t end_ns)
{
	struct seen *seen = context;

	CHECK(end_ns >= begin_ns);
	seen->watched++;
	seen->nodes[node->kind[0] % 16]++;
}

static bool stop(void *context)
{
	struct seen *seen = context;

	return seen->budget >= 0 && seen->budget-- == 0;
}

static void open_graph(struct engine_whole *whole, struct message *graph,
		       struct strata_memory *memory)
{
	struct strata_error err = { 0 };

	CHECK_OK(engine_whole_open(whole, write_model(graph), 1, memory, &err));
}

TEST(what_depends_on_constants_is_computed_once)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;
	struct engine_value x, outputs[2];
	struct seen seen = { .budget = -1 };

	put_small_graph(&graph);
	open_graph(&whole, &graph, &memory);
	CHECK_OK(engine_value_make(&whole.heap, ONNX_FLOAT, 2, (int64_t[]){ 1, 4 }, &x, &err));
	memset(x.data, 0, 16);
	const struct native_run run = {
		.inputs = &x, .weights = whole.weights, .watch = watch, .watch_context = &seen
	};

	for (int i = 0; i < 3; i++) {
		CHECK_OK(native_program_run(whole.program, &run, outputs, &err));
		CHECK_INT(((int64_t *)outputs[1].data)[0], 4); /* kept, and right each time */
		engine_value_drop(&outputs[0]);
		engine_value_drop(&outputs[1]);
	}
	CHECK_INT(seen.nodes['S' % 16], 1);
	CHECK_INT(seen.nodes['M' % 16], 3);
	engine_value_drop(&x);
	engine_whole_close(&whole);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_run_can_be_stopped_before_any_node_and_run_again)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;
	struct engine_value x, outputs[2];

	put_small_graph(&graph);
	open_graph(&whole, &graph, &memory);
	CHECK_OK(engine_value_make(&whole.heap, ONNX_FLOAT, 2, (int64_t[]){ 1, 4 }, &x, &err));
	memset(x.data, 0, 16);
	for (int budget = 0; budget <= 3; budget++) {
		struct seen seen = { .budget = budget };
		const struct native_run run = {
			.inputs = &x, .weights = whole.weights, .stop = stop, .stop_context = &seen
		};
		int rc = native_program_run(whole.program, &run, outputs, &err);

		CHECK_INT(rc, budget < 3 ? -ECANCELED : 0);
	}
	engine_value_drop(&outputs[0]);
	engine_value_drop(&outputs[1]);
	engine_value_drop(&x);
	engine_whole_close(&whole);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(an_input_that_others_hold_is_not_changed)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;
	struct engine_value x, y;

	graph.length = 0;
	put_node(&graph, "Neg", "x", "a");   /* could work in place, were x its own */
	put_node(&graph, "Neg", "a", "b");   /* and here it is */
	put_node(&graph, "Add", "b b", "y"); /* read twice: not its own */
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	open_graph(&whole, &graph, &memory);
	CHECK_OK(engine_value_make(&whole.heap, ONNX_FLOAT, 0, NULL, &x, &err));
	*(float *)x.data = 3;
	const struct native_run run = { .inputs = &x, .weights = whole.weights };

	CHECK_OK(native_program_run(whole.program, &run, &y, &err));
	CHECK_NEAR(*(float *)x.data, 3, 0);
	CHECK_NEAR(*(float *)y.data, 6, 0);
	engine_value_drop(&x);
	engine_value_drop(&y);
	engine_whole_close(&whole);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(names_that_nothing_makes_are_refused)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;

	graph.length = 0;
	put_node(&graph, "Neg", "nowhere", "y");
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	CHECK(engine_whole_open(&whole, write_model(&graph), 1, &memory, &err) < 0);
	CHECK(strstr(err.text, "nowhere"));
	CHECK_INT(memory.used_bytes, 0);
}

TEST(outputs_that_an_operator_does_not_have_are_refused)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;
	struct engine_value x, outputs[2];

	graph.length = 0;
	put_node(&graph, "Neg", "x", "y z");
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	put_value(&graph, 12, "z", ONNX_FLOAT, NULL);
	open_graph(&whole, &graph, &memory);
	CHECK_OK(engine_value_make(&whole.heap, ONNX_FLOAT, 0, NULL, &x, &err));
	*(float *)x.data = 3;
	const struct native_run run = { .inputs = &x, .weights = whole.weights };

	CHECK_ERROR(native_program_run(whole.program, &run, outputs, &err), -EINVAL, "no output 2");
	engine_value_drop(&x);
	engine_whole_close(&whole);
	graph.length = 0;
	put_node(&graph, "Neg", "x", "");
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	CHECK_ERROR(engine_whole_open(&whole, write_model(&graph), 1, &memory, &err), -EINVAL,
		    "no outputs");
	CHECK_INT(memory.used_bytes, 0);
}
