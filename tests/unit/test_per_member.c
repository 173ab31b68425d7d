#include "test.h"

#include "engine/per_member.h"

#include <strata/engine.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

/* ---- a small model, written field by field ---- */

struct message {
	unsigned char bytes[4096];
	size_t count;
};

static void add_varint(struct message *message, uint64_t value)
{
	for (; value > 127; value >>= 7)
		message->bytes[message->count++] = (unsigned char)(value | 0x80);
	message->bytes[message->count++] = (unsigned char)value;
}

static void add_number(struct message *message, unsigned field, uint64_t value)
{
	add_varint(message, field << 3);
	add_varint(message, value);
}

static void add_bytes(struct message *message, unsigned field, const void *bytes, size_t count)
{
	add_varint(message, field << 3 | 2);
	add_varint(message, count);
	memcpy(message->bytes + message->count, bytes, count);
	message->count += count;
}

static void add_text(struct message *message, unsigned field, const char *text)
{
	add_bytes(message, field, text, strlen(text));
}

static void add_message(struct message *message, unsigned field, const struct message *inner)
{
	add_bytes(message, field, inner->bytes, inner->count);
}

/* A float tensor without dimensions, or with one of the name "batch". */
static void add_value(struct message *graph, unsigned field, const char *name, bool batch)
{
	struct message dim = { .count = 0 }, shape = { .count = 0 }, tensor = { .count = 0 };
	struct message type = { .count = 0 }, info = { .count = 0 };

	add_text(&dim, 2, "batch");
	if (batch)
		add_message(&shape, 1, &dim);
	add_number(&tensor, 1, 1);
	add_message(&tensor, 2, &shape);
	add_message(&type, 1, &tensor);
	add_text(&info, 1, name);
	add_message(&info, 2, &type);
	add_message(graph, field, &info);
}

static void add_node(struct message *graph, const char *kind, const char *first, const char *second,
		     const char *output)
{
	struct message node = { .count = 0 }, attribute = { .count = 0 };

	add_text(&node, 1, first);
	if (second)
		add_text(&node, 1, second);
	add_text(&node, 2, output);
	add_text(&node, 4, kind);
	if (strcmp(kind, "Cast") == 0) {
		add_text(&attribute, 1, "to");
		add_number(&attribute, 3, 1);
		add_number(&attribute, 20, 2);
		add_message(&node, 5, &attribute);
	}
	add_message(graph, 1, &node);
}

/* out = sample + timestep, spread over the batch as exporters do, or (not usual) in another way. */
static const char *write_model(bool usual)
{
	static char path[512];
	struct message model = { .count = 0 }, graph = { .count = 0 }, axes = { .count = 0 };
	struct message opset = { .count = 0 };
	const int64_t zero = 0;
	FILE *file;

	add_node(&graph, "Unsqueeze", "timestep", "axes", "one");
	add_node(&graph, "Cast", "one", NULL, "cast");
	add_node(&graph, "Shape", "sample", NULL, "shape");
	add_node(&graph, usual ? "Expand" : "Mul", usual ? "cast" : "sample",
		 usual ? "shape" : "cast", "wide");
	add_node(&graph, "Add", "sample", "wide", "out");
	add_text(&graph, 2, "g");
	add_number(&axes, 1, 1);
	add_number(&axes, 2, 7);
	add_text(&axes, 8, "axes");
	add_bytes(&axes, 9, &zero, sizeof(zero));
	add_message(&graph, 5, &axes);
	add_value(&graph, 11, "sample", true);
	add_value(&graph, 11, "timestep", false);
	add_value(&graph, 12, "out", true);
	add_number(&model, 1, 8);
	add_message(&model, 7, &graph);
	add_text(&opset, 1, "");
	add_number(&opset, 2, 17);
	add_message(&model, 8, &opset);
	snprintf(path, sizeof(path), "%s/m.onnx", test_temp_dir());
	CHECK(file = fopen(path, "w"));
	CHECK_INT(fwrite(model.bytes, 1, model.count, file), model.count);
	fclose(file);
	return path;
}

TEST(one_value_for_each_member)
{
	const struct strata_engine_model_conf conf = { .per_member_input = "timestep" };
	float sample[] = { 1, 2, 3 }, timestep[] = { 10, 20, 30 };
	struct strata_array inputs[2] = {
		{ .dtype = STRATA_DTYPE_F32, .rank = 1, .dims = { 3 }, .data = sample },
		{ .dtype = STRATA_DTYPE_F32, .rank = 1, .dims = { 3 }, .data = timestep },
	};
	struct strata_array output;
	struct strata_engine_model *model;
	struct strata_engine *engine;

	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_engine_open(engine, write_model(true), &conf, &model, &err));
	CHECK_INT(strata_engine_input_at(model, 1)->rank, 1);
	CHECK_OK(strata_engine_run(model, inputs, &output, &err));
	CHECK_INT(output.rank, 1);
	CHECK_BYTES(output.data, ((float[]){ 11, 22, 33 }), sizeof(sample));
	strata_array_drop(&output);
	strata_engine_close(model);
	/* Nobody asked: as it was. */
	CHECK_OK(strata_engine_open(engine, write_model(true), NULL, &model, &err));
	CHECK_INT(strata_engine_input_at(model, 1)->rank, 0);
	inputs[1].rank = 0;
	CHECK_OK(strata_engine_run(model, inputs, &output, &err));
	CHECK_BYTES(output.data, ((float[]){ 11, 12, 13 }), sizeof(sample));
	strata_array_drop(&output);
	strata_engine_close(model);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(models_of_another_form_stay_as_they_are)
{
	struct engine_model *model;

	CHECK_OK(engine_model_open(write_model(false), &memory, &model, &err));
	CHECK(!engine_model_per_member(model, "timestep"));
	CHECK(!engine_model_per_member(model, "sample"));
	CHECK(!engine_model_per_member(model, "nothing"));
	CHECK_INT(model->input_infos[1]->type.rank, 0);
	engine_model_close(model);
	CHECK_OK(engine_model_open(write_model(true), &memory, &model, &err));
	CHECK(engine_model_per_member(model, "timestep"));
	CHECK(!engine_model_per_member(model, "timestep")); /* once is enough */
	engine_model_close(model);
	CHECK_INT(memory.used_bytes, 0);
}
