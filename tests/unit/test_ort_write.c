/* Subgraphs written as models are read back: nodes and attributes as they were, sixteen-bit
 * floats widened, weights by their roles. */
#include "onnx_sample.h"

#include "engine/ort_write.h"

#include <errno.h>
#include <stdio.h>

static struct strata_memory memory;
static struct strata_error err;
static struct message model, graph, node, inner, attribute, tensor;

enum { WEIGHTS = 4 };

static void put_attribute(const char *name, int type)
{
	attribute.length = 0;
	put_text(&attribute, 1, name);
	put_int(&attribute, 20, type);
}

static void end_attribute(void)
{
	put_message(&node, 5, &attribute);
}

static void put_float(struct message *message, uint32_t field, float value)
{
	put_varint(message, (uint64_t)field << 3 | 5);
	memcpy(message->bytes + message->length, &value, sizeof(value));
	message->length += sizeof(value);
}

/* Two numbers of float16: 1 and -2. */
static void half_tensor(const char *name)
{
	static const uint16_t values[2] = { 0x3c00, 0xc000 };

	tensor.length = 0;
	put_int(&tensor, 1, 2);
	put_int(&tensor, 2, 10);
	put_text(&tensor, 8, name);
	put_bytes(&tensor, 9, values, sizeof(values));
}

static void put_every_attribute(void)
{
	put_attr_int(&node, "to", 10);
	put_attr_int(&node, "axis", 10);
	put_attribute("real", 1);
	put_float(&attribute, 2, 0.1f);
	end_attribute();
	put_attribute("text", 3);
	put_text(&attribute, 4, "abc");
	end_attribute();
	put_attribute("tensor", 4);
	half_tensor("");
	put_message(&attribute, 5, &tensor);
	end_attribute();
	put_attribute("reals", 6);
	put_float(&attribute, 7, 1.5f);
	put_float(&attribute, 7, -2.5f);
	end_attribute();
	put_attribute("integers", 7);
	put_int(&attribute, 8, -1);
	put_int(&attribute, 8, INT64_MAX);
	end_attribute();
	put_attribute("texts", 8);
	put_text(&attribute, 9, "Tanh");
	put_text(&attribute, 9, "Relu");
	end_attribute();
	put_attribute("type", 13);
	put_tensor_type(&attribute, 14, 16, NULL);
	end_attribute();
	inner.length = 0;
	put_text(&inner, 2, "branch");
	put_node(&inner, "Add", "x half", "sum");
	put_integers(&inner, "one", (int64_t[]){ 1 }, 1);
	put_value(&inner, 12, "sum", 10, NULL);
	put_attr_graph(&node, "body", &inner);
}

/* A node of a domain of its own with every kind of attribute; weights of float32 and float16. */
static const char *make_model(void)
{
	static char path[4096];

	graph.length = 0;
	put_value(&graph, 11, "x", 10, (const char *const[]){ "n", "3", NULL });
	put_value(&graph, 11, "i", 7, (const char *const[]){ "n", NULL });
	put_value(&graph, 12, "y", 10, NULL);
	put_value(&graph, 12, "row", 10, NULL);
	begin_node(&node, "Special", "x - w", "y");
	put_text(&node, 3, "one");
	put_text(&node, 7, "own");
	put_every_attribute();
	put_message(&graph, 1, &node);
	put_node(&graph, "Gather", "table i", "row");
	put_node(&graph, "Sum", "row v", "unread");
	put_weights(&graph, "w", 2, 3);
	put_weights(&graph, "v", 4, 5);
	half_tensor("half");
	put_message(&graph, 5, &tensor);
	half_tensor("table");
	put_message(&graph, 5, &tensor);
	put_model(&model, &graph);
	snprintf(path, sizeof(path), "%s/m.onnx", test_temp_dir());
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(model.bytes, 1, model.length, file) == model.length);
	fclose(file);
	return path;
}

/* A subgraph of all of it with values as a run would have them. */
struct world {
	struct strata_arena arena;
	struct engine_heap heap;
	struct engine_model *model;
	struct engine_cuts cuts;
	struct engine_value inputs[2], weights[WEIGHTS];
	uint8_t roles[WEIGHTS];
	struct ort_source source;
};

static size_t find(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	test_fail(__FILE__, __LINE__, "no %s", name);
}

static void world_init(struct world *world)
{
	const char *path = make_model();

	strata_arena_init(&world->arena, &memory, 0);
	engine_heap_init(&world->heap, &memory);
	CHECK_OK(engine_model_open(path, &memory, &world->model, &err));
	CHECK_OK(engine_cut(world->model, &(struct engine_cut_conf){ 0 }, &world->arena,
			    &world->cuts, &err));
	CHECK_INT(world->cuts.subgraph_count, 1);
	const struct engine_subgraph *subgraph = &world->cuts.subgraphs[0];

	CHECK_INT(subgraph->weight_count, WEIGHTS);
	CHECK_INT(subgraph->input_count, 2);
	for (size_t i = 0; i < WEIGHTS; i++) {
		const struct onnx_tensor *from =
			&world->model->onnx.graph.initializers[subgraph->weight_indexes[i]];

		CHECK_OK(engine_value_of_tensor(&world->heap, from, "", true, &world->weights[i],
						&err));
		world->roles[i] = strcmp(from->name, "table") == 0 ? ORT_INPUT
				  : strcmp(from->name, "w") == 0   ? ORT_EXTERNAL
								   : ORT_INLINE;
	}
	size_t x = find(subgraph->inputs, 2, "x");

	CHECK_OK(engine_value_make(&world->heap, ONNX_FLOAT, 2, (int64_t[]){ 7, 3 },
				   &world->inputs[x], &err));
	CHECK_OK(engine_value_make(&world->heap, ONNX_INT64, 1, (int64_t[]){ 7 },
				   &world->inputs[!x], &err));
	world->source = (struct ort_source){ .model = world->model,
					     .subgraph = subgraph,
					     .inputs = world->inputs,
					     .weights = world->weights,
					     .roles = world->roles,
					     .heap = &world->heap };
}

static void world_fini(struct world *world)
{
	for (size_t i = 0; i < 2; i++)
		engine_value_drop(&world->inputs[i]);
	for (size_t i = 0; i < WEIGHTS; i++)
		engine_value_drop(&world->weights[i]);
	engine_model_close(world->model);
	engine_heap_fini(&world->heap);
	strata_arena_fini(&world->arena);
	CHECK_INT(memory.used_bytes, 0);
}

static void read_back(struct world *world, struct ort_bytes *bytes, struct onnx_model *ret_model)
{
	CHECK_OK(ort_write(&world->source, bytes, &err));
	CHECK_OK(onnx_model_read(bytes->at, bytes->length, &world->arena, ret_model, &err));
}

static const struct onnx_attribute *attribute_of(const struct onnx_node *of, const char *name)
{
	const struct onnx_attribute *found = onnx_attribute_find(of, name);

	if (!found)
		test_fail(__FILE__, __LINE__, "no attribute %s", name);
	return found;
}

TEST(nodes_have_what_they_had)
{
	struct onnx_model got;
	struct ort_bytes bytes;
	struct world world = { 0 };

	world_init(&world);
	read_back(&world, &bytes, &got);
	const struct onnx_node *one = &got.graph.nodes[0];

	CHECK_INT(got.opset, 17);
	CHECK_INT(got.graph.node_count, 3);
	CHECK_TEXT(got.graph.nodes[1].kind, "Gather");
	CHECK_TEXT(one->name, "one");
	CHECK_TEXT(one->kind, "Special");
	CHECK_TEXT(one->domain, "own");
	CHECK_INT(one->input_count, 3);
	CHECK_TEXT(one->inputs[1], "");
	CHECK_TEXT(one->inputs[2], "w");
	CHECK_TEXT(one->outputs[0], "y");
	CHECK_INT(one->attribute_count, 10);
	CHECK_INT(attribute_of(one, "axis")->integer, 10);
	CHECK_NEAR(attribute_of(one, "real")->real, (double)0.1f, 0);
	CHECK_TEXT(attribute_of(one, "text")->text, "abc");
	CHECK_INT(attribute_of(one, "reals")->count, 2);
	CHECK_NEAR(attribute_of(one, "reals")->reals[1], -2.5, 0);
	CHECK_INT(attribute_of(one, "integers")->count, 2);
	CHECK_INT(attribute_of(one, "integers")->integers[0], -1);
	CHECK_INT(attribute_of(one, "integers")->integers[1], INT64_MAX);
	CHECK_INT(attribute_of(one, "texts")->count, 2);
	CHECK_TEXT(attribute_of(one, "texts")->texts[1], "Relu");
	const struct onnx_graph *body = attribute_of(one, "body")->graph;

	CHECK_INT(body->node_count, 1);
	CHECK_TEXT(body->nodes[0].inputs[1], "half");
	CHECK_INT(body->initializer_count, 1);
	CHECK_TEXT(body->outputs[0].name, "sum");
	ort_bytes_free(&bytes);
	world_fini(&world);
}

TEST(sixteen_bit_floats_are_widened)
{
	struct onnx_model got;
	struct ort_bytes bytes;
	struct world world = { 0 };
	double reals[2];

	world_init(&world);
	read_back(&world, &bytes, &got);
	const struct onnx_node *one = &got.graph.nodes[0];
	const struct onnx_tensor *held = attribute_of(one, "tensor")->tensor;

	CHECK_INT(attribute_of(one, "to")->integer, ONNX_FLOAT);
	CHECK_INT(attribute_of(one, "type")->value_type->dtype, ONNX_FLOAT);
	CHECK_INT(held->dtype, ONNX_FLOAT);
	CHECK_OK(onnx_tensor_reals(held, reals, &err));
	CHECK_NEAR(reals[0], 1, 0);
	CHECK_NEAR(reals[1], -2, 0);
	CHECK_INT(attribute_of(one, "body")->graph->outputs[0].type.dtype, ONNX_FLOAT);
	ort_bytes_free(&bytes);
	world_fini(&world);
}

TEST(inputs_and_weights_are_declared)
{
	struct onnx_model got;
	struct ort_bytes bytes;
	struct world world = { 0 };
	size_t external = 0, inputs = 0;

	world_init(&world);
	read_back(&world, &bytes, &got);
	CHECK_INT(got.graph.initializer_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct onnx_tensor *weight = &got.graph.initializers[i];

		CHECK_INT(weight->dtype, ONNX_FLOAT);
		CHECK_INT(weight->location != NULL, strcmp(weight->name, "w") == 0);
		external += weight->location != NULL;
	}
	CHECK_INT(external, 1);
	CHECK_INT(got.graph.input_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct onnx_value_info *info = &got.graph.inputs[i];

		if (strcmp(info->name, "x") == 0) {
			CHECK_INT(info->type.dtype, ONNX_FLOAT);
			CHECK_INT(info->type.rank, 2);
			CHECK_INT(info->type.dims[0], -1); /* another call may have another n */
			CHECK_TEXT(info->type.names[0], "n");
			CHECK_INT(info->type.dims[1], 3);
			inputs++;
		} else if (strcmp(info->name, "table") == 0) {
			CHECK_INT(info->type.dtype, ONNX_FLOAT);
			CHECK_INT(info->type.dims[0], 2);
			inputs++;
		}
	}
	CHECK_INT(inputs, 2);
	CHECK_INT(got.graph.output_count, 2);
	ort_bytes_free(&bytes);
	world_fini(&world);
}

TEST(texts_and_sequences_do_not_come_in)
{
	struct ort_bytes bytes;
	struct world world = { 0 };

	world_init(&world);
	enum onnx_kind kind = world.inputs[0].kind;

	world.inputs[0].kind = ONNX_SEQUENCE;
	CHECK_ERROR(ort_write(&world.source, &bytes, &err), -ENOTSUP,
		    "the backend native takes it");
	ort_bytes_free(&bytes);
	world.inputs[0].kind = kind;
	world_fini(&world);
}

static int write_once(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct world *world = context;
	struct engine_heap heap;
	struct ort_source source = world->source;
	struct ort_bytes bytes;

	engine_heap_init(&heap, from);
	source.heap = &heap;
	int rc = ort_write(&source, &bytes, why);

	if (rc == 0)
		test_result(bytes.at, bytes.length);
	ort_bytes_free(&bytes);
	engine_heap_fini(&heap);
	return rc;
}

TEST(without_memory_nothing_is_left)
{
	struct world world = { 0 };

	world_init(&world);
	CHECK(test_every_allocation(write_once, &world) >= 3);
	world_fini(&world);
}
