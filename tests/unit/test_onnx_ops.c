/* Each operator by itself: what ONNX's specification says of the shape, the type and, for what shapes are computed with, the elements of its outputs. */
#include "test.h"
#include "onnx_sample.h"

#include "formats/onnx/onnx_infer.h"

#include <inttypes.h>
#include <stdio.h>

static struct strata_memory memory;
static struct strata_error err;
static struct message graph, node, model, tensor;
static struct strata_arena arena;
static struct onnx_model read_model;
static struct onnx_inferred inferred;

/*
 * A node and what comes out of it.
 *	inputs      "f32[2,n,?]" of the model; "f32" of any rank; "i64{1,2}" and "i64[1,2]{3,4}" constants; "i64=5" a scalar;
 *	            "shape:f32[n,3]" the shape of such an input; "-" left out
 *	attributes  "axis=1 axes=[0,1] scale=1.5 scales=[1.0,2.0] mode=linear"
 *	outputs     in the same words, elements too where they are known; or "clash WORDS"
 */
struct row {
	const char *kind, *inputs, *attributes, *outputs;
};

static const struct {
	const char *name;
	int dtype;
	size_t bytes;
} types[] = { { "f32", ONNX_FLOAT, 4 }, { "f64", ONNX_DOUBLE, 8 }, { "f16", ONNX_FLOAT16, 2 },
	      { "i64", ONNX_INT64, 8 }, { "i32", ONNX_INT32, 4 },  { "u8", ONNX_UINT8, 1 },
	      { "bool", ONNX_BOOL, 1 }, { "str", ONNX_STRING, 0 } };

static size_t type_of(const char *word)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strncmp(word, types[i].name, strlen(types[i].name)) == 0)
			return i;
	test_fail(__FILE__, __LINE__, "%s begins with no type", word);
}

/* The next of some parts between separators, into `part`; NULL after the last. */
static const char *next_part(const char *text, char separator, char part[64])
{
	size_t length = 0, depth = 0;

	if (!text || !*text)
		return NULL;
	for (; text[length] && (text[length] != separator || depth); length++)
		depth += (size_t)(text[length] == '[' || text[length] == '{') -
			 (size_t)(text[length] == ']' || text[length] == '}');
	CHECK(length < 64);
	memcpy(part, text, length);
	part[length] = '\0';
	return text + length + (text[length] == separator);
}

static void put_element(int dtype, size_t bytes, const char *text, uint8_t *ret)
{
	float real = strtof(text, NULL);
	double twice = strtod(text, NULL);
	int64_t whole = strtoll(text, NULL, 10);

	memcpy(ret,
	       dtype == ONNX_FLOAT    ? (void *)&real
	       : dtype == ONNX_DOUBLE ? (void *)&twice
				      : (void *)&whole,
	       bytes);
}

/* "[2,3]" becomes "2" and "3"; what is behind the closing bracket is returned. */
static const char *read_list(const char *text, char list[][64], size_t *ret_count)
{
	const char *end = strchr(text, *text == '[' ? ']' : '}');
	char inside[256];
	const char *at = inside;

	*ret_count = 0;
	CHECK(end && (size_t)(end - text) < sizeof(inside));
	snprintf(inside, sizeof(inside), "%.*s", (int)(end - text - 1), text + 1);
	while ((at = next_part(at, ',', list[*ret_count])))
		CHECK(++*ret_count < 20);
	return end + 1;
}

static void put_constant(const char *name, const char *word)
{
	size_t type = type_of(word), dims, count = 1;
	const char *at = word + strlen(types[type].name);
	static char list[20][64], elements[20][64];
	uint8_t bytes[20 * 8];

	tensor.length = dims = 0;
	if (*at == '[')
		at = read_list(at, list, &dims);
	for (size_t i = 0; i < dims; i++)
		put_int(&tensor, 1, atoll(list[i]));
	if (*at == '=') {
		snprintf(elements[0], sizeof(elements[0]), "%s", at + 1);
	} else {
		read_list(at, elements, &count);
		if (!dims)
			put_int(&tensor, 1, (int64_t)count);
	}
	for (size_t i = 0; i < count; i++)
		put_element(types[type].dtype, types[type].bytes, elements[i],
			    bytes + i * types[type].bytes);
	put_int(&tensor, 2, types[type].dtype);
	put_text(&tensor, 8, name);
	put_bytes(&tensor, 9, bytes, count * types[type].bytes);
	put_message(&graph, 5, &tensor);
}

static void put_graph_input(const char *name, const char *word)
{
	size_t type = type_of(word), count = 0;
	const char *at = word + strlen(types[type].name);
	static char list[20][64];
	const char *dims[21] = { 0 };

	if (*at == '[')
		read_list(at, list, &count);
	for (size_t i = 0; i < count; i++)
		dims[i] = strcmp(list[i], "?") == 0 ? "" : list[i];
	put_value(&graph, 11, name, types[type].dtype, *at == '[' ? dims : NULL);
}

static void put_inputs(const char *inputs, char *ret_names, size_t size)
{
	char word[64], name[16];
	size_t length = 0;

	*ret_names = '\0';
	for (int i = 0; (inputs = next_part(inputs, ' ', word)); i++) {
		snprintf(name, sizeof(name), word[0] == '-' ? "-" : "x%d", i);
		if (strncmp(word, "shape:", 6) == 0) {
			put_graph_input("whole", word + 6);
			put_node(&graph, "Shape", "whole", name);
		} else if (strpbrk(word, "{=")) {
			put_constant(name, word);
		} else if (word[0] != '-') {
			put_graph_input(name, word);
		}
		length += (size_t)snprintf(ret_names + length, size - length, "%s%s", i ? " " : "",
					   name);
	}
}

static void put_real(struct message *message, uint32_t field, const char *text)
{
	float real = strtof(text, NULL);

	put_varint(message, (uint64_t)field << 3 | 5);
	CHECK(message->length + 4 < sizeof(message->bytes));
	memcpy(message->bytes + message->length, &real, 4);
	message->length += 4;
}

static void put_attribute(const char *word)
{
	const char *value = strchr(word, '=') + 1;
	static struct message attribute;
	static char list[20][64];
	size_t count;

	attribute.length = 0;
	put_bytes(&attribute, 1, word, (size_t)(value - 1 - word));
	if (*value == '[') {
		bool real = strchr(value, '.') != NULL;

		read_list(value, list, &count);
		for (size_t i = 0; i < count; i++)
			if (real)
				put_real(&attribute, 7, list[i]);
			else
				put_int(&attribute, 8, atoll(list[i]));
		put_int(&attribute, 20, real ? 6 : 7);
	} else if (strspn(value, "-0123456789") == strlen(value)) {
		put_int(&attribute, 3, atoll(value));
		put_int(&attribute, 20, 2);
	} else if (strspn(value, "-0123456789.") == strlen(value) && strcmp(value, "...") != 0) {
		put_real(&attribute, 2, value);
		put_int(&attribute, 20, 1);
	} else {
		put_text(&attribute, 4, value);
		put_int(&attribute, 20, 3);
	}
	put_message(&node, 5, &attribute);
}

static size_t show_dim(char *text, size_t room, int64_t dim)
{
	return (size_t)(dim >= 0    ? snprintf(text, room, "%" PRId64, dim)
			: dim == -1 ? snprintf(text, room, "?")
				    : snprintf(text, room, "%s", inferred.dim_names[-2 - dim]));
}

static void show(const struct onnx_value *value, char text[512])
{
	const char *type = "none";
	size_t length;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (value->kind == ONNX_TENSOR && types[i].dtype == value->dtype)
			type = types[i].name;
	length = (size_t)snprintf(text, 512, "%s%s", type, value->ranked ? "[" : "");
	for (size_t i = 0; value->ranked && i < value->rank; i++) {
		length += (size_t)snprintf(text + length, 512 - length, "%s", i ? "," : "");
		length += show_dim(text + length, 512 - length, value->dims[i]);
	}
	length += (size_t)snprintf(text + length, 512 - length, "%s", value->ranked ? "]" : "");
	if (!value->integers && !value->reals)
		return;
	for (int64_t i = 0; i < onnx_elements(value); i++) {
		length += (size_t)snprintf(text + length, 512 - length, "%s", i ? "," : "{");
		if (value->reals)
			length += (size_t)snprintf(text + length, 512 - length, "%g",
						   value->reals[i]);
		else if (value->open && value->open[i])
			length += show_dim(text + length, 512 - length, value->integers[i]);
		else
			length += (size_t)snprintf(text + length, 512 - length, "%" PRId64,
						   value->integers[i]);
	}
	snprintf(text + length, 512 - length, "%s", onnx_elements(value) ? "}" : "{}");
}

static void infer(const struct row *row)
{
	size_t outputs = 1;
	char names[128], word[64];
	const char *attributes = row->attributes;

	graph.length = 0;
	if (strncmp(row->outputs, "clash ", 6) != 0)
		for (const char *at = row->outputs; *at; at++)
			outputs += *at == ' ';
	put_inputs(row->inputs, names, sizeof(names));
	begin_node(&node, row->kind, names,
		   outputs == 1   ? "y0"
		   : outputs == 2 ? "y0 y1"
		   : outputs == 3 ? "y0 y1 y2"
				  : "y0 y1 y2 y3");
	while ((attributes = next_part(attributes, ' ', word)))
		put_attribute(word);
	put_message(&graph, 1, &node);
	put_model(&model, &graph);
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(onnx_model_read(model.bytes, model.length, &arena, &read_model, &err));
	CHECK_OK(onnx_infer(&read_model, NULL, 0, 0, &arena, &inferred, &err));
}

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		char got[1024] = "", one[512];
		const char *clash = strncmp(row->outputs, "clash ", 6) == 0 ? row->outputs + 6 : "";

		infer(row);
		if (*clash ? !strstr(inferred.first_clash, clash) : inferred.first_clash[0])
			test_fail(__FILE__, __LINE__, "%s(%s; %s): clash «%s», expected «%s»",
				  row->kind, row->inputs, row->attributes, inferred.first_clash,
				  clash);
		const struct onnx_inferred_node *last =
			&inferred.nodes[read_model.graph.node_count - 1];

		for (size_t k = 0; k < last->node->output_count; k++) {
			show(&last->outputs[k], one);
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", k ? " " : "",
				 one);
		}
		if (!*clash && strcmp(got, row->outputs) != 0)
			test_fail(__FILE__, __LINE__, "%s(%s; %s) is %s, expected %s", row->kind,
				  row->inputs, row->attributes, got, row->outputs);
	}
	strata_arena_fini(&arena);
}

#define CHECK_ROWS(...)                            \
	check((const struct row[]){ __VA_ARGS__ }, \
	      sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row))

/* clang-format off */
TEST(arithmetic_of_shapes)
{
	CHECK_ROWS(
		{ "Add", "i64{1,2} i64{10,20}", "", "i64[2]{11,22}" },
		{ "Sub", "i64{1,2} i64=5", "", "i64[2]{-4,-3}" },
		{ "Mul", "i64[2,1]{2,3} i64{5,7}", "", "i64[2,2]{10,14,15,21}" },
		{ "Div", "i64{7,-7} i64=2", "", "i64[2]{3,-3}" },
		{ "Div", "i64{7,1} i64{0,1}", "", "i64[2]{?,1}" },
		{ "Mod", "i64{7,-7,7,-7} i64{3,3,-3,-3}", "", "i64[4]{1,2,-2,-1}" },
		{ "Mod", "i64{6} i64{-3}", "", "i64[1]{0}" },
		{ "Mod", "i64{7} i64{3}", "fmod=1", "i64[1]" },
		{ "Add", "i64{9223372036854775807,1} i64=1", "", "i64[2]{?,2}" },
		{ "Sub", "i64{-9223372036854775807,1} i64=2", "", "i64[2]{?,-1}" },
		{ "Mul", "i64{9223372036854775807,1} i64=2", "", "i64[2]{?,2}" },
		{ "Min", "i64{1,5} i64=3", "", "i64[2]{1,3}" },
		{ "Max", "i64{1,5} i64=3", "", "i64[2]{3,5}" },
		{ "Min", "f32{1,5} f32=3", "", "f32[2]{1,3}" },
		{ "Max", "f32{1,5} f32=3", "", "f32[2]{3,5}" },
		{ "And", "bool{1,1,0} bool{1,0,0}", "", "bool[3]{1,0,0}" },
		{ "Or", "bool{1,1,0} bool{1,0,0}", "", "bool[3]{1,1,0}" },
		{ "Xor", "bool{1,1,0} bool{1,0,0}", "", "bool[3]{0,1,0}" },
		{ "Not", "bool{1,0}", "", "bool[2]{0,1}" },
		{ "Add", "f32{1.5} f32{2}", "", "f32[1]{3.5}" },
		{ "Sub", "f32{1.5} f32{2}", "", "f32[1]{-0.5}" },
		{ "Mul", "f32{1.5} f32{2}", "", "f32[1]{3}" },
		{ "Div", "f64{1} f64{4}", "", "f64[1]{0.25}" },
		{ "Neg", "i64{3,-4}", "", "i64[2]{-3,4}" },
		{ "Neg", "f32{3}", "", "f32[1]{-3}" },
		{ "Floor", "f32{1.5,-1.5}", "", "f32[2]{1,-2}" },
		{ "Ceil", "f32{1.5,-1.5}", "", "f32[2]{2,-1}" },
		{ "Round", "f32{2.5,-1.2}", "", "f32[2]{2,-1}" },
		{ "Sqrt", "f32{9}", "", "f32[1]{3}" });
}

TEST(dimensions_that_are_not_known_keep_their_names_through_what_changes_nothing)
{
	CHECK_ROWS(
		{ "Mul", "shape:f32[n,3] i64=1", "", "i64[2]{n,3}" },
		{ "Mul", "shape:f32[n,3] i64=2", "", "i64[2]{?,6}" },
		{ "Mul", "i64=1 shape:f32[n,3]", "", "i64[2]{n,3}" },
		{ "Div", "shape:f32[n,3] i64=1", "", "i64[2]{n,3}" },
		{ "Div", "i64=1 shape:f32[n,3]", "", "i64[2]{?,0}" },
		{ "Add", "shape:f32[n,3] i64=0", "", "i64[2]{n,3}" },
		{ "Add", "i64=0 shape:f32[n,3]", "", "i64[2]{n,3}" },
		{ "Add", "shape:f32[n,3] i64=1", "", "i64[2]{?,4}" },
		{ "Sub", "shape:f32[n,3] i64=0", "", "i64[2]{n,3}" },
		{ "Sub", "i64=0 shape:f32[n,3]", "", "i64[2]{?,-3}" },
		{ "Min", "shape:f32[n,3] i64=1", "", "i64[2]{?,1}" },
		{ "Neg", "shape:f32[n,3]", "", "i64[2]{?,-3}" },
		{ "Equal", "shape:f32[n,3] i64=3", "", "bool[2]{?,1}" },
		{ "Cast", "shape:f32[n,3]", "to=6", "i32[2]{n,3}" },
		{ "Cast", "shape:f32[n,3]", "to=9", "bool[2]{n,1}" },
		{ "Cast", "shape:f32[n,3]", "to=1", "f32[2]" },
		{ "Where", "bool{1,0} shape:f32[n,3] i64{5,6}", "", "i64[2]{n,6}" },
		{ "ReduceProd", "shape:f32[n,3]", "keepdims=0", "i64[]" },
		{ "Gather", "shape:f32[n,3] i64=0", "", "i64[]{n}" },
		{ "Slice", "shape:f32[n,3] i64{1} i64{2}", "", "i64[1]{3}" },
		{ "Unsqueeze", "shape:f32[n,3] i64{0}", "", "i64[1,2]{n,3}" },
		{ "Reshape", "f32[n,6] shape:f32[n,2,3]", "", "f32[n,2,3]" });
}

TEST(comparisons_and_choices)
{
	CHECK_ROWS(
		{ "Less", "i64{1,2,3} i64=2", "", "bool[3]{1,0,0}" },
		{ "LessOrEqual", "i64{1,2,3} i64=2", "", "bool[3]{1,1,0}" },
		{ "Equal", "i64{1,2,3} i64=2", "", "bool[3]{0,1,0}" },
		{ "Greater", "i64{1,2,3} i64=2", "", "bool[3]{0,0,1}" },
		{ "GreaterOrEqual", "i64{1,2,3} i64=2", "", "bool[3]{0,1,1}" },
		{ "Less", "f32{1,2,3} f32=2", "", "bool[3]{1,0,0}" },
		{ "Equal", "f32{1,2,3} f32=2", "", "bool[3]{0,1,0}" },
		{ "Where", "bool{1,0} i64{1,2} i64{3,4}", "", "i64[2]{1,4}" },
		{ "Where", "bool[2,1]{1,0} i64{1,2} i64=9", "", "i64[2,2]{1,2,9,9}" },
		{ "Where", "bool{1,0} f32{1,2} f32{3,4}", "", "f32[2]{1,4}" },
		{ "Cast", "f32{1.7,-1.7}", "to=7", "i64[2]{1,-1}" },
		{ "Cast", "f32{1e30,2}", "to=7", "i64[2]{?,2}" },
		{ "Cast", "f32{0.5,0}", "to=9", "bool[2]{1,0}" },
		{ "Cast", "i64{5,0}", "to=9", "bool[2]{1,0}" },
		{ "Cast", "i64{5,0}", "to=1", "f32[2]{5,0}" });
}

TEST(reductions)
{
	CHECK_ROWS(
		{ "ReduceMean", "f32[2,3,4]", "", "f32[1,1,1]" },
		{ "ReduceMean", "f32[2,3,4]", "keepdims=0", "f32[]" },
		{ "ReduceMean", "f32[2,3,4]", "axes=[1]", "f32[2,1,4]" },
		{ "ReduceMean", "f32[2,3,4]", "axes=[-1,0] keepdims=0", "f32[3]" },
		{ "ReduceMean", "f32[2,3,4]", "axes=[3]", "clash there is no axis 3" },
		{ "ReduceSum", "f32[2,3] i64{1}", "", "f32[2,1]" },
		{ "ReduceSum", "f32[2,3] i64{}", "", "f32[1,1]" },
		{ "ReduceSum", "f32[2,3] i64{}", "noop_with_empty_axes=1", "f32[2,3]" },
		{ "ReduceSum", "f32[2,3]", "noop_with_empty_axes=1", "f32[2,3]" },
		{ "ReduceSum", "f32[2,3] i64[1]", "", "f32[?,?]" },
		{ "ReduceSum", "f32[2,3] i64[1]", "keepdims=0", "f32" },
		{ "ReduceSum", "f32[2] i64[1]", "", "f32[1]" },
		{ "ReduceSum", "f32", "", "f32" },
		{ "ArgMax", "f32[2,3,4]", "axis=2", "i64[2,3,1]" },
		{ "ArgMin", "f32[2,3,4]", "axis=-2 keepdims=0", "i64[2,4]" },
		{ "ArgMax", "f32[2,3]", "", "i64[1,3]" },
		{ "ReduceProd", "i64{2,3,4}", "keepdims=0", "i64[]{24}" },
		{ "ReduceSum", "i64{2,3,4}", "", "i64[1]{9}" },
		{ "ReduceMin", "i64{3,2,4}", "", "i64[1]{2}" },
		{ "ReduceMax", "i64{3,2,4,1}", "", "i64[1]{4}" },
		{ "ReduceProd", "i64{9223372036854775807,2}", "", "i64[1]" },
		{ "ReduceSum", "i64{9223372036854775807,2}", "", "i64[1]" },
		{ "ReduceSum", "i64[2,2]{1,2,3,4} i64{0}", "", "i64[1,2]" });
}

TEST(sampling)
{
	CHECK_ROWS(
		{ "Resize", "f32[1,3,8,6] - f32{1,1,2,0.5}", "", "f32[1,3,16,3]" },
		{ "Resize", "f32[1,3,8,5] f32{1,1,2,0.5}", "", "f32[1,3,16,2]" },
		{ "Resize", "f32[1,3,n,m] - f32{1,1,1,2}", "", "f32[1,3,n,?]" },
		{ "Resize", "f32[1,3,8] - f32{1,1}", "", "clash 2 scales for 3 dimensions" },
		{ "Resize", "f32[1,3,8,6] - - i64{1,3,4,9}", "", "f32[1,3,4,9]" },
		{ "Resize", "f32[1,3,8,6] - - i64{1,3,4}", "", "clash 3 sizes for 4 dimensions" },
		{ "Resize", "f32[1,3,8,6] - - i64{4,9}", "axes=[2,3]", "f32[1,3,4,9]" },
		{ "Resize", "f32[1,3,8,6] - - i64{4}", "axes=[4]", "clash there is no such axis" },
		{ "Resize", "f32[1,3,8,6] - f32{2}", "axes=[-1]", "f32[1,3,8,12]" },
		{ "Resize", "f32[1,3,8,6] - f32{2}", "axes=[7]", "clash there is no such axis" },
		{ "Resize", "f32[1,3,8,4] - - i64{16,16}", "axes=[2,3] keep_aspect_ratio_policy=not_larger", "f32[1,3,16,8]" },
		{ "Resize", "f32[1,3,8,4] - - i64{16,16}", "axes=[2,3] keep_aspect_ratio_policy=not_smaller", "f32[1,3,32,16]" },
		{ "Resize", "f32[1,3,n,4] - - i64{16,16}", "axes=[2,3] keep_aspect_ratio_policy=not_smaller", "f32[1,3,?,?]" },
		{ "Resize", "f32[1,3,8,6]", "", "f32[?,?,?,?]" },
		{ "Resize", "f32 - f32{1,2}", "", "f32" },
		{ "Upsample", "f32[1,2,3] f32{1,2,3}", "", "f32[1,4,9]" },
		{ "Upsample", "f32[1,2,3]", "scales=[1.0,2.0,3.0]", "f32[1,4,9]" },
		{ "Upsample", "f32[1,2,3]", "", "f32[?,?,?]" },
		{ "GridSample", "f32[1,3,8,8] f32[1,5,6,2]", "", "f32[1,3,5,6]" },
		{ "GridSample", "f32[1,3,8,8] f32[1,5,2]", "", "clash a grid of 3 dimensions for 4" },
		{ "GridSample", "f32[1,3] f32[1,2]", "", "clash a grid of 2 dimensions for 2" },
		{ "AffineGrid", "f32[2,2,3] i64{2,3,5,6}", "", "f32[2,5,6,2]" },
		{ "AffineGrid", "f32[2,3,4] i64{2,3,4,5,6}", "", "f32[2,4,5,6,3]" },
		{ "AffineGrid", "f32[2,2,3] i64{2,3}", "", "f32" },
		{ "RoiAlign", "f32[1,3,8,8] f32[5,4] i64[5]", "output_height=2 output_width=7", "f32[5,3,2,7]" },
		{ "RoiAlign", "f32[1,3,8,8] f32 i64[5]", "", "f32[?,3,1,1]" },
		{ "RoiAlign", "f32 f32[5,4] i64[5]", "output_height=-2", "f32[5,?,?,1]" },
		{ "MaxRoiPool", "f32[1,3,8,8] f32[5,5]", "pooled_shape=[2,7]", "f32[5,3,2,7]" },
		{ "MaxRoiPool", "f32[1,3,8,8] f32", "", "f32[?,3,?,?]" },
		{ "CenterCropPad", "f32[10,8,3] i64{12,5,3}", "", "f32[12,5,3]" },
		{ "CenterCropPad", "f32[10,8,3] i64{9}", "axes=[-2]", "f32[10,9,3]" },
		{ "CenterCropPad", "f32[10,8,3] i64[1]", "axes=[0]", "f32[?,8,3]" },
		{ "CenterCropPad", "f32[10,8,3] i64{9}", "axes=[3]", "clash there is no such axis" },
		{ "Col2Im", "f32[1,12,4] i64{6,8} i64{2,3}", "", "f32[1,2,6,8]" },
		{ "Col2Im", "f32[n,m,4] i64{6,8} i64{2,3}", "", "f32[n,?,6,8]" },
		{ "Col2Im", "f32[1,12,4] i64{6,8} i64{2,0}", "", "f32" },
		{ "Col2Im", "f32[1,12] i64{6,8} i64{2,3}", "", "f32" });
}

TEST(tensors_out_of_nothing)
{
	CHECK_ROWS(
		{ "Constant", "", "value_int=5", "i64[]{5}" },
		{ "Constant", "", "value_ints=[5,6]", "i64[2]{5,6}" },
		{ "Constant", "", "value_float=1.5", "f32[]{1.5}" },
		{ "Constant", "", "value_floats=[1.5,2.0]", "f32[2]{1.5,2}" },
		{ "ConstantOfShape", "i64{2,3}", "", "f32[2,3]{0,0,0,0,0,0}" },
		{ "ConstantOfShape", "i64[2]", "", "f32[?,?]" },
		{ "ConstantOfShape", "i64", "", "f32" },
		{ "ConstantOfShape", "i64[17]", "", "clash a shape of 17 dimensions" },
		{ "ConstantOfShape", "i64[16]", "", "f32[?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?]" },
		{ "RandomNormalLike", "f32[2,3]", "", "f32[2,3]" },
		{ "RandomNormalLike", "f32[2,3]", "dtype=11", "f64[2,3]" },
		{ "EyeLike", "f32[3,3]", "dtype=7", "i64[3,3]" },
		{ "Bernoulli", "f32[2]", "", "f32[2]" },
		{ "Range", "i64=1 i64=10 i64=3", "", "i64[3]{1,4,7}" },
		{ "Range", "i64=1 i64=11 i64=3", "", "i64[4]{1,4,7,10}" },
		{ "Range", "i64=10 i64=1 i64=-3", "", "i64[3]{10,7,4}" },
		{ "Range", "i64=10 i64=1 i64=3", "", "i64[0]{}" },
		{ "Range", "f32=0 f32=1 f32=0.25", "", "f32[4]{0,0.25,0.5,0.75}" },
		{ "Range", "i64=1 i64=10 i64=0", "", "clash a step of 0" },
		{ "Range", "i64[] i64=10 i64=1", "", "i64[?]" },
		{ "Range", "i64=9223372036854775806 i64=9223372036854775807 i64=1", "", "i64[?]" },
		{ "RandomNormal", "", "shape=[2,3]", "f32[2,3]" },
		{ "RandomUniform", "", "shape=[2] dtype=10", "f16[2]" },
		{ "RandomUniform", "", "dtype=10", "f16" },
		{ "RandomNormal", "", "shape=[2,-3]", "clash a dimension is -3" },
		{ "Multinomial", "f32[2,10]", "sample_size=5", "i32[2,5]" },
		{ "Multinomial", "f32", "dtype=7", "i64[?,1]" },
		{ "HannWindow", "i64=10", "", "f32[10]" },
		{ "HammingWindow", "i64=10", "output_datatype=11", "f64[10]" },
		{ "BlackmanWindow", "i64[]", "", "f32[?]" },
		{ "MelWeightMatrix", "i64=8 i64=16 i64=8000 f32=0 f32=4000", "", "f32[9,8]" },
		{ "MelWeightMatrix", "i64[] i64[] i64=8000 f32=0 f32=4000", "", "f32[?,?]" });
}

TEST(joining_and_splitting)
{
	CHECK_ROWS(
		{ "Expand", "f32[3,1] i64{2,1,6}", "", "f32[2,3,6]" },
		{ "Expand", "f32[3,1] i64[3]", "", "f32[?,3,?]" },
		{ "Expand", "i64=7 i64{3}", "", "i64[3]{7,7,7}" },
		{ "Expand", "f32[3,4] i64{5}", "", "clash 4 and 5" },
		{ "Expand", "f32[3,1] i64[17]", "", "clash the new shape has 17 dimensions" },
		{ "Tile", "f32[2,n,1] i64{3,1,4}", "", "f32[6,n,4]" },
		{ "Tile", "f32[2,n,1] i64{3,2,4}", "", "f32[6,?,4]" },
		{ "Tile", "f32[2,3] i64{3}", "", "clash 1 repeats for 2 dimensions" },
		{ "Tile", "f32[2,3] i64[2]", "", "f32[?,?]" },
		{ "Tile", "f32[4611686018427387904] i64{3}", "", "f32[?]" },
		{ "Concat", "f32[2,3] f32[2,4]", "axis=1", "f32[2,7]" },
		{ "Concat", "f32[2,3] f32[5,3] f32[1,3]", "axis=-2", "f32[8,3]" },
		{ "Concat", "f32[2,3] f32[2,n]", "axis=1", "f32[2,?]" },
		{ "Concat", "f32[2,3] f32[n,4]", "axis=1", "f32[2,7]" },
		{ "Concat", "f32[2,3] f32[3,4]", "axis=1", "clash axis 0 has 2 and 3 elements" },
		{ "Concat", "f32[2,3] f32[3]", "axis=1", "clash 2 and 1 dimensions do not go together" },
		{ "Concat", "f32[2,3] f32[2,3]", "axis=2", "clash there is no such axis" },
		{ "Concat", "f32[2,3] f32", "axis=1", "f32" },
		{ "Concat", "i64{1} i64{2,3} i64{4}", "axis=0", "i64[4]{1,2,3,4}" },
		{ "Split", "f32[7,2]", "", "f32[3,2] f32[3,2] f32[1,2]" },
		{ "Split", "f32[2,7] i64{5,2}", "axis=1", "f32[2,5] f32[2,2]" },
		{ "Split", "f32[2,7]", "axis=-1 split=[4,3]", "f32[2,4] f32[2,3]" },
		{ "Split", "f32[n,7]", "", "f32[?,7] f32[?,7]" },
		{ "Split", "f32[2,7] i64[2]", "axis=1", "f32[2,?] f32[2,?]" },
		{ "Split", "f32[4] i64{2}", "axis=0", "f32[2]" },
		{ "Split", "f32[4]", "axis=1", "clash there is no such axis" },
		{ "Split", "i64{1,2,3}", "", "i64[2]{1,2} i64[1]{3}" },
		{ "DepthToSpace", "f32[1,12,4,5]", "blocksize=2", "f32[1,3,8,10]" },
		{ "SpaceToDepth", "f32[1,3,8,10]", "blocksize=2", "f32[1,12,4,5]" },
		{ "SpaceToDepth", "f32[1,3,9,10]", "blocksize=2", "f32[1,12,?,5]" },
		{ "DepthToSpace", "f32[n,m,4,5]", "blocksize=2", "f32[n,?,8,10]" },
		{ "DepthToSpace", "f32[1,12,4]", "blocksize=2", "clash a block of 2 in 3 dimensions" },
		{ "DepthToSpace", "f32[1,12,4,5]", "", "clash a block of 0 in 4 dimensions" },
		{ "DepthToSpace", "f32", "blocksize=2", "f32[?,?,?,?]" });
}

TEST(elements_by_index)
{
	CHECK_ROWS(
		{ "Gather", "f32[5,6,7] i64[2,3]", "axis=1", "f32[5,2,3,7]" },
		{ "Gather", "f32[5,6,7] i64=1", "axis=-1", "f32[5,6]" },
		{ "Gather", "f32[5] i64[2]", "axis=1", "clash there is no such axis" },
		{ "Gather", "f32[1,1,1,1,1,1,1,1,1] i64[1,1,1,1,1,1,1,1]", "", "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]" },
		{ "Gather", "f32[1,1,1,1,1,1,1,1,1] i64[1,1,1,1,1,1,1,1,1]", "", "clash the result has too many dimensions" },
		{ "Gather", "i64{5,6,7} i64{2,-3}", "", "i64[2]{7,5}" },
		{ "Gather", "i64{5,6,7} i64{3}", "", "clash there is no element 3" },
		{ "GatherElements", "f32[5,6] i64[2,3]", "", "f32[2,3]" },
		{ "GatherND", "f32[2,3,4] i64[5,2]", "", "f32[5,4]" },
		{ "GatherND", "f32[2,3,4] i64[2,1]", "batch_dims=1", "f32[2,4]" },
		{ "GatherND", "f32[2,3,4] i64[5,3]", "", "f32[5]" },
		{ "GatherND", "f32[2,3,4] i64[5,4]", "", "clash the indices have too many parts" },
		{ "GatherND", "f32[2,3,4] i64[2,3]", "batch_dims=1", "clash the indices have too many parts" },
		{ "GatherND", "f32[2,3,4] i64[5,n]", "", "f32" },
		{ "ScatterND", "f32[2,3] i64[1,2] f32[1]", "", "f32[2,3]" },
		{ "Slice", "f32[10,20] i64{1,2} i64{5,100}", "", "f32[4,18]" },
		{ "Slice", "f32[10,20] i64{-3} i64{9223372036854775807} i64{1}", "", "f32[10,3]" },
		{ "Slice", "f32[10] i64{8} i64{1} - i64{-2}", "", "f32[4]" },
		{ "Slice", "f32[10] i64{-1} i64{-100} - i64{-1}", "", "f32[10]" },
		{ "Slice", "f32[10] i64{100} i64{0} - i64{-3}", "", "f32[3]" },
		{ "Slice", "f32[10] i64{0} i64{10} - i64{3}", "", "f32[4]" },
		{ "Slice", "f32[10] i64{-100} i64{3}", "", "f32[3]" },
		{ "Slice", "f32[10] i64{5} i64{5}", "", "f32[0]" },
		{ "Slice", "f32[10] i64{5} i64{2}", "", "f32[0]" },
		{ "Slice", "f32[0] i64{0} i64{5}", "", "f32[0]" },
		{ "Slice", "f32[10] i64{0} i64{5} - i64{0}", "", "clash a step is 0" },
		{ "Slice", "f32[10] i64{0} i64{5} i64{1}", "", "clash there is no such axis" },
		{ "Slice", "f32[n,5] i64{0} i64{2147483647}", "", "f32[n,5]" },
		{ "Slice", "f32[n,5] i64{0} i64{2147483646}", "", "f32[?,5]" },
		{ "Slice", "f32[n,5] i64{1} i64{2147483647}", "", "f32[?,5]" },
		{ "Slice", "f32[4,5] i64[1] i64[1]", "", "f32[?,?]" },
		{ "Slice", "f32[4,5] i64[1] i64[1] i64{1}", "", "f32[4,?]" },
		{ "Slice", "f32[10]", "starts=[2] ends=[7] axes=[0]", "f32[5]" },
		{ "Slice", "i64{1,2,3,4} i64{-1} i64{-9} - i64{-2}", "", "i64[2]{4,2}" },
		{ "Slice", "i64{1,2,3,4} i64{1} i64{3}", "", "i64[2]{2,3}" },
		{ "Pad", "f32[2,3] i64{0,1,2,3}", "", "f32[4,7]" },
		{ "Pad", "f32[2,3]", "pads=[1,0,0,-1]", "f32[3,2]" },
		{ "Pad", "f32[n,3] i64{0,1,0,1}", "", "f32[n,5]" },
		{ "Pad", "f32[n,3] i64{1,1,0,1}", "", "f32[?,5]" },
		{ "Pad", "f32[2,3] i64{1,1} - i64{-1}", "", "f32[2,5]" },
		{ "Pad", "f32[2,3] i64{1,1}", "", "clash 2 pads for 2 axes" },
		{ "Pad", "f32[2,3] i64[4]", "", "f32[?,?]" },
		{ "Pad", "f32[2,3] i64{1,1} - i64{2}", "", "clash there is no such axis" },
		{ "Pad", "f32[2,3] i64{0,-2,0,-2}", "", "f32[2,?]" },
		{ "OneHot", "i64[2,3] i64=10 f32[2]", "", "f32[2,3,10]" },
		{ "OneHot", "i64[2,3] f32=10 i32[2]", "axis=0", "i32[10,2,3]" },
		{ "OneHot", "i64[2,3] i64[] f32[2]", "axis=1", "f32[2,?,3]" },
		{ "OneHot", "i64[2,3] i64=10 f32[2]", "axis=3", "clash there is no such axis" },
		{ "TopK", "f32[2,10] i64{3}", "", "f32[2,3] i64[2,3]" },
		{ "TopK", "f32[2,10] i64[1]", "axis=0", "f32[?,10] i64[?,10]" },
		{ "TopK", "f32[2,10]", "k=4", "f32[2,4] i64[2,4]" },
		{ "TopK", "f32[2,10] i64{3}", "axis=2", "clash there is no such axis" },
		{ "NonZero", "f32[2,3]", "", "i64[2,?]" },
		{ "NonZero", "i64{0,5,0,2}", "", "i64[1,2]" },
		{ "Compress", "f32[2,3] bool{1,0}", "axis=0", "f32[1,3]" },
		{ "Compress", "f32[2,3] bool{1,0,1,1}", "", "f32[3]" },
		{ "Compress", "f32[2,3] bool[2]", "axis=1", "f32[2,?]" },
		{ "Compress", "f32[2,3] bool{1,0}", "axis=2", "clash there is no such axis" },
		{ "Compress", "f32 bool{1,0}", "axis=2", "f32" },
		{ "Unique", "f32[2,3]", "", "f32[?] i64[?] i64[6] i64[?]" },
		{ "Unique", "f32[2,3]", "axis=1", "f32[2,?] i64[?] i64[3] i64[?]" },
		{ "Unique", "f32[2,3]", "axis=2", "clash there is no such axis" },
		{ "NonMaxSuppression", "f32[1,6,4] f32[1,1,6]", "", "i64[?,3]" });
}

TEST(elements_that_only_move)
{
	CHECK_ROWS(
		{ "Reshape", "f32[2,3,4] i64{0,-1}", "", "f32[2,12]" },
		{ "Reshape", "f32[2,3,4] i64{4,6}", "", "f32[4,6]" },
		{ "Reshape", "f32[2,3,4] i64{5,5}", "", "clash 24 elements do not become 25" },
		{ "Reshape", "f32[2,3,4] i64{-1,-1}", "", "clash two dimensions are -1" },
		{ "Reshape", "f32[2,3,4] i64{-2,12}", "", "clash a dimension is -2" },
		{ "Reshape", "f32[0,3] i64{0,-1}", "", "f32[0,?]" },
		{ "Reshape", "f32[0,3] i64{3,0}", "allowzero=1", "f32[3,0]" },
		{ "Reshape", "f32[n,3,4] i64{0,-1}", "", "f32[n,12]" },
		{ "Reshape", "f32[n,6] i64{-1,2,3}", "", "f32[?,2,3]" },
		{ "Reshape", "f32[2,3] i64[3]", "", "f32[?,?,?]" },
		{ "Reshape", "f32[2,3] i64", "", "f32" },
		{ "Reshape", "f32[2,3]", "shape=[3,2]", "f32[3,2]" },
		{ "Reshape", "i64{1,2,3,4} i64{2,2}", "", "i64[2,2]{1,2,3,4}" },
		{ "Flatten", "f32[2,3,4,5]", "", "f32[2,60]" },
		{ "Flatten", "f32[2,3,4,5]", "axis=0", "f32[1,120]" },
		{ "Flatten", "f32[2,3,4,5]", "axis=4", "f32[120,1]" },
		{ "Flatten", "f32[2,3,4,5]", "axis=-1", "f32[24,5]" },
		{ "Flatten", "f32[2,3]", "axis=3", "clash there is no axis 3" },
		{ "Flatten", "f32[2,3]", "axis=-3", "clash there is no axis -1" },
		{ "Flatten", "f32[n,3,m]", "", "f32[n,?]" },
		{ "Flatten", "f32[3,n]", "axis=1", "f32[3,n]" },
		{ "Flatten", "f32", "", "f32[?,?]" },
		{ "Squeeze", "f32[1,3,1,5]", "", "f32[3,5]" },
		{ "Squeeze", "f32[1,3,1,5] i64{0}", "", "f32[3,1,5]" },
		{ "Squeeze", "f32[1,3,1,5]", "axes=[-2]", "f32[1,3,5]" },
		{ "Squeeze", "f32[1,3] i64{1}", "", "clash axis 1 has 3 elements" },
		{ "Squeeze", "f32[1,3] i64{0,-2}", "", "clash axis -2 is there twice" },
		{ "Squeeze", "f32[1,n]", "", "f32" },
		{ "Squeeze", "f32[1,n] i64{1}", "", "f32[1]" },
		{ "Unsqueeze", "f32[3,4] i64{0,3}", "", "f32[1,3,4,1]" },
		{ "Unsqueeze", "f32[3,4]", "axes=[1]", "f32[3,1,4]" },
		{ "Unsqueeze", "f32[3,4] i64{-1}", "", "f32[3,4,1]" },
		{ "Unsqueeze", "f32[3,4] i64{3}", "", "clash there is no axis 3" },
		{ "Unsqueeze", "f32[3,4] i64{1,1}", "", "clash axis 1 is there twice" },
		{ "Unsqueeze", "f32[3,4] i64[1]", "", "f32" },
		{ "Identity", "i64{1,2}", "", "i64[2]{1,2}" },
		{ "Shape", "f32[2,n,4]", "", "i64[3]{2,n,4}" },
		{ "Shape", "f32[2,3,4]", "start=1", "i64[2]{3,4}" },
		{ "Shape", "f32[2,3,4]", "start=-9 end=-1", "i64[2]{2,3}" },
		{ "Shape", "f32[2,3,4]", "start=2 end=1", "i64[0]{}" },
		{ "Shape", "f32[2,3,4]", "start=9", "i64[0]{}" },
		{ "Shape", "f32[2,3,4]", "end=9", "i64[3]{2,3,4}" },
		{ "Shape", "f32", "", "i64[?]" },
		{ "Size", "f32[2,3]", "", "i64[]{6}" },
		{ "Size", "f32[2,n]", "", "i64[]" },
		{ "Transpose", "f32[2,3,4]", "", "f32[4,3,2]" },
		{ "Transpose", "f32[2,3,4]", "perm=[1,2,0]", "f32[3,4,2]" },
		{ "Transpose", "f32[2,3,4]", "perm=[1,0]", "clash 2 axes for 3 dimensions" },
		{ "Transpose", "f32[2,3]", "perm=[1,1]", "clash axis 1 is there twice" },
		{ "ReverseSequence", "f32[2,3] i64[3]", "", "f32[2,3]" });
}

TEST(matrix_products)
{
	CHECK_ROWS(
		{ "MatMul", "f32[2,3] f32[3,4]", "", "f32[2,4]" },
		{ "MatMul", "f32[5,1,2,3] f32[7,3,4]", "", "f32[5,7,2,4]" },
		{ "MatMul", "f32[3] f32[3,4]", "", "f32[4]" },
		{ "MatMul", "f32[2,3] f32[3]", "", "f32[2]" },
		{ "MatMul", "f32[3] f32[3]", "", "f32[]" },
		{ "MatMul", "f32[] f32[3]", "", "clash a scalar is no matrix" },
		{ "MatMul", "f32[2,3] f32[4,3]", "", "clash 3 columns meet 4 rows" },
		{ "MatMul", "f32[2,3] f32", "", "f32" },
		{ "MatMulInteger", "u8[2,3] u8[3,4]", "", "i32[2,4]" },
		{ "QLinearMatMul", "u8[2,3] f32=1 u8=0 u8[3,4] f32=1 u8=0 f32=1 u8=0", "", "u8[2,4]" },
		{ "Gemm", "f32[2,3] f32[3,4]", "", "f32[2,4]" },
		{ "Gemm", "f32[3,2] f32[3,4]", "transA=1", "f32[2,4]" },
		{ "Gemm", "f32[2,3] f32[4,3]", "transB=1", "f32[2,4]" },
		{ "Gemm", "f32[2,3] f32[4,3]", "", "clash 3 columns meet 4 rows" },
		{ "Gemm", "f32[2,3,1] f32[4,3]", "", "clash 3 and 2 dimensions; expected matrices" },
		{ "Einsum", "f32[2,3] f32[3,4]", "equation=ij,jk->ik", "f32[2,4]" },
		{ "Einsum", "f32[2,3] f32[3,4]", "equation=ij,jk", "f32[2,4]" },
		{ "Einsum", "f32[5,2,3] f32[3,4]", "equation=...ij,jk->...ik", "f32[5,2,4]" },
		{ "Einsum", "f32[5,1,2] f32[7,2]", "equation=...i,...i", "f32[5,7]" },
		{ "Einsum", "f32[2,3]", "equation=ij->ji", "f32[3,2]" },
		{ "Einsum", "f32[3,3]", "equation=ii->i", "f32[3]" },
		{ "Einsum", "f32[2,3] f32[4,4]", "equation=ij,jk->ik", "clash the operands do not fit the equation" },
		{ "Einsum", "f32[2,3]", "equation=i->i", "clash the operands do not fit the equation" },
		{ "Einsum", "f32[2]", "equation=ij->i", "clash the operands do not fit the equation" },
		{ "Einsum", "f32[2,3]", "equation=ij,jk->i", "clash the operands do not fit the equation" },
		{ "Einsum", "f32[2,3]", "equation=ij->k", "clash the result does not fit the equation" },
		{ "Einsum", "f32[2,3]", "equation=i1->i", "clash the operands do not fit the equation" },
		{ "Det", "f32[5,3,3]", "", "f32[5]" },
		{ "Det", "f32[3]", "", "clash 1 dimensions; expected matrices" },
		{ "LSTM", "f32[7,2,5] f32[1,16,5] f32[1,16,4]", "hidden_size=4", "f32[7,1,2,4] f32[1,2,4] f32[1,2,4]" },
		{ "GRU", "f32[7,2,5] f32[2,12,5] f32[2,12,4]", "direction=bidirectional", "f32[7,2,2,4] f32[2,2,4]" },
		{ "RNN", "f32[2,7,5] f32[1,4,5] f32[1,4,4]", "layout=1", "f32[2,7,1,4] f32[2,1,4]" },
		{ "RNN", "f32[2,7] f32[1,4,5] f32[1,4,4]", "", "clash 2 dimensions; expected steps, batch, inputs" },
		{ "DFT", "f32[1,10,1]", "", "f32[1,10,2]" },
		{ "DFT", "f32[1,10,1]", "onesided=1", "f32[1,6,2]" },
		{ "DFT", "f32[1,10,1] i64=8", "axis=-2", "f32[1,8,2]" },
		{ "DFT", "f32[1,10,1] i64[]", "", "f32[1,?,2]" },
		{ "DFT", "f32[1,10,1]", "axis=3", "clash there is no such axis" },
		{ "STFT", "f32[1,128,1] i64=8 - i64=16", "", "f32[1,15,9,2]" },
		{ "STFT", "f32[1,128,1] i64=8 f32[16]", "onesided=0", "f32[1,15,16,2]" },
		{ "STFT", "f32[1,128,1] i64=8", "", "f32[1,?,?,2]" },
		{ "STFT", "f32[1,10,1] i64=8 f32[16]", "", "f32[1,?,9,2]" },
		{ "STFT", "f32", "", "f32[?,?,?,2]" });
}
/* clang-format on */

static double flops_of(const char *kind, const char *inputs, const char *attributes,
		       const char *outputs)
{
	infer(&(struct row){ kind, inputs, attributes, outputs });
	double flops = inferred.nodes[read_model.graph.node_count - 1].flops;

	strata_arena_fini(&arena);
	return flops;
}

TEST(multiplications_are_counted_twice)
{
	CHECK_INT(flops_of("MatMul", "f32[5,2,3] f32[3,4]", "", "x"), 2 * 5 * 2 * 3 * 4);
	CHECK_INT(flops_of("MatMulInteger", "u8[2,3] u8[3,4]", "", "x"), 2 * 2 * 3 * 4);
	CHECK_INT(flops_of("Gemm", "f32[2,3] f32[3,4]", "", "x"), 2 * 2 * 3 * 4);
	CHECK_INT(flops_of("Gemm", "f32[3,2] f32[3,4]", "transA=1", "x"), 2 * 2 * 3 * 4);
	CHECK_INT(flops_of("Einsum", "f32[7,2,3] f32[7,3,4]", "equation=bij,bjk->bik", "x"),
		  2 * 7 * 2 * 3 * 4);
	CHECK_INT(flops_of("Einsum", "f32[7,2,3] f32[3,4]", "equation=...ij,jk->...ik", "x"),
		  2 * 7 * 2 * 3 * 4);
	CHECK_INT(flops_of("Einsum", "f32[2,3]", "equation=ij->ji", "x"), 0);
	CHECK_INT(flops_of("LSTM", "f32[7,2,5] f32[1,16,5] f32[1,16,4]", "hidden_size=4", "x y z"),
		  2 * 7 * 2 * (16 * 5 + 16 * 4));
	CHECK_INT(flops_of("Add", "f32[7,2] f32[7,2]", "", "x"), 0);
}
