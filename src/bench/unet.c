/*
 * Writing the UNet: see unet.h. A network is put together by functions that add nodes and return the name of what comes out, one for each part of the architecture.
 * Weights go to their file as they are drawn; the graph is collected and written last.
 */
#include "bench/unet.h"

#include "core/buf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Fields of the format, by message. */
enum {
	MODEL_IR = 1,
	MODEL_PRODUCER = 2,
	MODEL_GRAPH = 7,
	MODEL_OPSET = 8,
	OPSET_VERSION = 2,
	GRAPH_NODE = 1,
	GRAPH_NAME = 2,
	GRAPH_INITIALIZER = 5,
	GRAPH_INPUT = 11,
	GRAPH_OUTPUT = 12,
	NODE_INPUT = 1,
	NODE_OUTPUT = 2,
	NODE_NAME = 3,
	NODE_KIND = 4,
	NODE_ATTRIBUTE = 5,
	TENSOR_DIM = 1,
	TENSOR_TYPE = 2,
	TENSOR_NAME = 8,
	TENSOR_RAW = 9,
	TENSOR_EXTERNAL = 13,
	TENSOR_LOCATION = 14,
	TYPE_FLOAT = 1,
	TYPE_INT64 = 7,
};
enum { ALIGN = 4096, HIDDEN = 4, NAME_BYTES = 32, INPUTS_MAX = 4 };

/* A value of the graph. */
struct name {
	char text[NAME_BYTES];
};

struct unet {
	const struct unet_conf *conf;
	struct buf graph;
	FILE *data;
	const char *data_name;
	int64_t offset; /* in the file of weights */
	uint64_t random;
	uint32_t next; /* number of the next value */
	struct unet_made made;
	bool failed; /* writing weights did */
	struct strata_memory *memory;
};

struct unet_conf unet_conf_usual(void)
{
	return (struct unet_conf){ .level_count = 4,
				   .channels = { 96, 192, 384, 384 },
				   .blocks = 2,
				   .groups = 32,
				   .head = 32,
				   .context = 256,
				   .tokens = 77,
				   .batch = 2,
				   .size = 32,
				   .seed = 1 };
}

/* ---- the format ---- */

static void add_varint(struct buf *buf, uint64_t value)
{
	for (; value > 127; value >>= 7)
		buf_add_char(buf, (char)(value | 128));
	buf_add_char(buf, (char)value);
}

static void add_int(struct buf *buf, unsigned field, int64_t value)
{
	add_varint(buf, field << 3);
	add_varint(buf, (uint64_t)value);
}

static void add_bytes(struct buf *buf, unsigned field, const void *bytes, size_t count)
{
	add_varint(buf, field << 3 | 2);
	add_varint(buf, count);
	buf_add_bytes(buf, bytes, count);
}

static void add_text(struct buf *buf, unsigned field, const char *text)
{
	add_bytes(buf, field, text, strlen(text));
}

/* A message that was collected apart; it is empty afterwards. */
static void add_message(struct buf *buf, unsigned field, struct buf *message)
{
	add_bytes(buf, field, message->text, message->length);
	buf->failed |= message->failed;
	buf_fini(message);
}

/* ---- weights ---- */

static float draw(struct unet *unet)
{
	uint64_t z = unet->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (float)((z ^ z >> 31) >> 40) / (1 << 23) - 1;
}

/* Numbers from `middle` − reach to `middle` + reach, at the next whole block of the file. */
static void write_numbers(struct unet *unet, int64_t count, float middle, float reach)
{
	static const char zeros[ALIGN];
	float room[1024];
	size_t gap = (size_t)(-unet->offset & (ALIGN - 1));

	unet->failed |= fwrite(zeros, 1, gap, unet->data) != gap;
	unet->offset += (int64_t)gap;
	for (int64_t at = 0; at < count;) {
		size_t some = 0;

		for (; some < 1024 && at < count; some++, at++)
			room[some] = middle + reach * draw(unet);
		unet->failed |= fwrite(room, sizeof(float), some, unet->data) != some;
	}
}

static void add_external(struct buf *tensor, struct strata_memory *memory, const char *key,
			 const char *value)
{
	struct buf entry;

	buf_init(&entry, memory, 0);
	add_text(&entry, 1, key);
	add_text(&entry, 2, value);
	add_message(tensor, TENSOR_EXTERNAL, &entry);
}

static struct name fresh(struct unet *unet, const char *what)
{
	struct name name;

	snprintf(name.text, sizeof(name.text), "%s_%u", what, unet->next++);
	return name;
}

/* A weight with so many dimensions, drawn around `middle`. */
static struct name weight(struct unet *unet, size_t rank, const int64_t *dims, float middle,
			  float reach)
{
	struct name name = fresh(unet, "w");
	struct buf tensor;
	int64_t count = 1;
	char number[24];

	buf_init(&tensor, unet->memory, 0);
	for (size_t i = 0; i < rank; i++) {
		add_int(&tensor, TENSOR_DIM, dims[i]);
		count *= dims[i];
	}
	add_int(&tensor, TENSOR_TYPE, TYPE_FLOAT);
	add_text(&tensor, TENSOR_NAME, name.text);
	write_numbers(unet, count, middle, reach);
	add_external(&tensor, unet->memory, "location", unet->data_name);
	snprintf(number, sizeof(number), "%lld", (long long)unet->offset);
	add_external(&tensor, unet->memory, "offset", number);
	snprintf(number, sizeof(number), "%lld", (long long)count * (long long)sizeof(float));
	add_external(&tensor, unet->memory, "length", number);
	add_int(&tensor, TENSOR_LOCATION, 1);
	add_message(&unet->graph, GRAPH_INITIALIZER, &tensor);
	unet->offset += count * (int64_t)sizeof(float);
	unet->made.parameters += count;
	return name;
}

/* Small numbers that are in the graph itself. */
static struct name constant(struct unet *unet, int type, size_t rank, int64_t count,
			    const void *numbers)
{
	struct name name = fresh(unet, "c");
	struct buf tensor;

	buf_init(&tensor, unet->memory, 0);
	if (rank)
		add_int(&tensor, TENSOR_DIM, count);
	add_int(&tensor, TENSOR_TYPE, type);
	add_text(&tensor, TENSOR_NAME, name.text);
	add_bytes(&tensor, TENSOR_RAW, numbers,
		  (size_t)count * (type == TYPE_FLOAT ? sizeof(float) : sizeof(int64_t)));
	add_message(&unet->graph, GRAPH_INITIALIZER, &tensor);
	return name;
}

static struct name shape_of(struct unet *unet, size_t count, const int64_t *dims)
{
	return constant(unet, TYPE_INT64, 1, (int64_t)count, dims);
}

static struct name number(struct unet *unet, float value)
{
	return constant(unet, TYPE_FLOAT, 0, 1, &value);
}

/* ---- nodes ---- */

struct attribute {
	const char *name;
	enum { INT = 2, TEXT = 3, INTS = 7, REAL = 1 } type;
	int64_t integer;
	float real;
	const char *text;
	const int64_t *integers;
	size_t count;
};

static void add_attribute(struct unet *unet, struct buf *node, const struct attribute *attribute)
{
	struct buf buf;

	buf_init(&buf, unet->memory, 0);
	add_text(&buf, 1, attribute->name);
	switch (attribute->type) {
	case REAL:
		add_varint(&buf, 2 << 3 | 5);
		buf_add_bytes(&buf, (const char *)&attribute->real, sizeof(float));
		break;
	case INT:
		add_int(&buf, 3, attribute->integer);
		break;
	case TEXT:
		add_text(&buf, 4, attribute->text);
		break;
	case INTS:
		for (size_t i = 0; i < attribute->count; i++)
			add_int(&buf, 8, attribute->integers[i]);
		break;
	}
	add_int(&buf, 20, attribute->type);
	add_message(node, NODE_ATTRIBUTE, &buf);
}

/* A node with up to INPUTS_MAX inputs (NULL or "" ends or skips them), one or more outputs, attributes up to one without a name. */
static void add_node(struct unet *unet, const char *kind, const char *const *inputs,
		     size_t input_count, const struct name *outputs, size_t output_count,
		     const struct attribute *attributes)
{
	struct buf node;

	buf_init(&node, unet->memory, 0);
	for (size_t i = 0; i < input_count; i++)
		add_text(&node, NODE_INPUT, inputs[i]);
	for (size_t i = 0; i < output_count; i++)
		add_text(&node, NODE_OUTPUT, outputs[i].text);
	add_text(&node, NODE_NAME, outputs[0].text);
	add_text(&node, NODE_KIND, kind);
	for (; attributes && attributes->name; attributes++)
		add_attribute(unet, &node, attributes);
	add_message(&unet->graph, GRAPH_NODE, &node);
	unet->made.node_count++;
}

static struct name node(struct unet *unet, const char *kind, size_t input_count,
			const char *const *inputs, const struct attribute *attributes)
{
	struct name output = fresh(unet, kind);

	add_node(unet, kind, inputs, input_count, &output, 1, attributes);
	return output;
}

static struct name one(struct unet *unet, const char *kind, struct name a)
{
	return node(unet, kind, 1, (const char *[]){ a.text }, NULL);
}

static struct name two(struct unet *unet, const char *kind, struct name a, struct name b)
{
	return node(unet, kind, 2, (const char *[]){ a.text, b.text }, NULL);
}

/* ---- parts ---- */

static float reach_of(int64_t fan_in)
{
	return sqrtf(3.0f / (float)fan_in);
}

static struct name conv(struct unet *unet, struct name x, int64_t in, int64_t out, int64_t kernel,
			int64_t stride)
{
	const int64_t dims[] = { out, in, kernel, kernel }, kernels[] = { kernel, kernel };
	const int64_t strides[] = { stride, stride }, pad = kernel / 2;
	const int64_t pads[] = { pad, pad, pad, pad };
	const struct attribute attributes[] = {
		{ "kernel_shape", INTS, .integers = kernels, .count = 2 },
		{ "strides", INTS, .integers = strides, .count = 2 },
		{ "pads", INTS, .integers = pads, .count = 4 },
		{ 0 }
	};
	struct name w = weight(unet, 4, dims, 0, reach_of(in * kernel * kernel));
	struct name b = weight(unet, 1, &out, 0, 0.02f);

	return node(unet, "Conv", 3, (const char *[]){ x.text, w.text, b.text }, attributes);
}

static struct name gemm(struct unet *unet, struct name x, int64_t in, int64_t out)
{
	const struct attribute attributes[] = { { "transB", INT, .integer = 1 }, { 0 } };
	struct name w = weight(unet, 2, (int64_t[]){ out, in }, 0, reach_of(in));
	struct name b = weight(unet, 1, &out, 0, 0.02f);

	return node(unet, "Gemm", 3, (const char *[]){ x.text, w.text, b.text }, attributes);
}

static struct name linear(struct unet *unet, struct name x, int64_t in, int64_t out, bool biased)
{
	struct name y = two(unet, "MatMul", x,
			    weight(unet, 2, (int64_t[]){ in, out }, 0, reach_of(in)));

	return biased ? two(unet, "Add", weight(unet, 1, &out, 0, 0.02f), y) : y;
}

static struct name silu(struct unet *unet, struct name x)
{
	return two(unet, "Mul", x, one(unet, "Sigmoid", x));
}

static struct name group_norm(struct unet *unet, struct name x, int64_t channels)
{
	const struct attribute attributes[] = { { "epsilon", REAL, .real = 1e-5f }, { 0 } };
	float ones[256], zeros[256] = { 0 };
	int64_t groups = unet->conf->groups;

	for (int64_t i = 0; i < groups; i++)
		ones[i] = 1;
	struct name flat = two(unet, "Reshape", x, shape_of(unet, 3, (int64_t[]){ 0, groups, -1 }));
	struct name scale = constant(unet, TYPE_FLOAT, 1, groups, ones);
	struct name shift = constant(unet, TYPE_FLOAT, 1, groups, zeros);
	struct name even = node(unet, "InstanceNormalization", 3,
				(const char *[]){ flat.text, scale.text, shift.text }, attributes);
	struct name back = two(unet, "Reshape", even, one(unet, "Shape", x));
	const int64_t dims[] = { channels, 1, 1 };
	struct name scaled = two(unet, "Mul", back, weight(unet, 3, dims, 1, 0.1f));

	return two(unet, "Add", scaled, weight(unet, 3, dims, 0, 0.1f));
}

static struct name layer_norm(struct unet *unet, struct name x, int64_t channels)
{
	const struct attribute attributes[] = { { "axis", INT, .integer = -1 },
						{ "epsilon", REAL, .real = 1e-5f },
						{ 0 } };
	struct name scale = weight(unet, 1, &channels, 1, 0.1f);
	struct name shift = weight(unet, 1, &channels, 0, 0.1f);

	return node(unet, "LayerNormalization", 3,
		    (const char *[]){ x.text, scale.text, shift.text }, attributes);
}

static struct name turned(struct unet *unet, struct name x, const int64_t *axes, size_t count)
{
	const struct attribute attributes[] = { { "perm", INTS, .integers = axes, .count = count },
						{ 0 } };

	return node(unet, "Transpose", 1, (const char *[]){ x.text }, attributes);
}

/* [B, T, C] as heads, their axes turned. */
static struct name heads_of(struct unet *unet, struct name x, int64_t heads, const int64_t axes[4])
{
	const int64_t dims[] = { 0, 0, heads, unet->conf->head };

	return turned(unet, two(unet, "Reshape", x, shape_of(unet, 4, dims)), axes, 4);
}

static struct name attention(struct unet *unet, struct name x, struct name context, int64_t channels,
			     int64_t context_channels)
{
	static const int64_t forward[] = { 0, 2, 1, 3 }, across[] = { 0, 2, 3, 1 };
	const struct attribute last[] = { { "axis", INT, .integer = -1 }, { 0 } };
	int64_t heads = channels / unet->conf->head;
	float scale = 1 / sqrtf(sqrtf((float)unet->conf->head));
	struct name q = linear(unet, x, channels, channels, false);
	struct name k = linear(unet, context, context_channels, channels, false);
	struct name v = linear(unet, context, context_channels, channels, false);

	q = two(unet, "Mul", heads_of(unet, q, heads, forward), number(unet, scale));
	k = two(unet, "Mul", heads_of(unet, k, heads, across), number(unet, scale));
	v = heads_of(unet, v, heads, forward);
	struct name scores = two(unet, "MatMul", q, k);
	struct name shares = node(unet, "Softmax", 1, (const char *[]){ scores.text }, last);
	struct name mixed = turned(unet, two(unet, "MatMul", shares, v), forward, 4);

	mixed = two(unet, "Reshape", mixed, shape_of(unet, 3, (int64_t[]){ 0, 0, channels }));
	return linear(unet, mixed, channels, channels, true);
}

static struct name gelu(struct unet *unet, struct name x)
{
	struct name erf = one(unet, "Erf", two(unet, "Div", x, number(unet, sqrtf(2))));
	struct name twice = two(unet, "Mul", x, two(unet, "Add", erf, number(unet, 1)));

	return two(unet, "Mul", twice, number(unet, 0.5f));
}

/* A gated layer: half of what it makes says how much of the other half gets through. */
static struct name feed_forward(struct unet *unet, struct name x, int64_t channels)
{
	const struct attribute last[] = { { "axis", INT, .integer = -1 }, { 0 } };
	int64_t inner = HIDDEN * channels;
	struct name both = linear(unet, x, channels, 2 * inner, true);
	struct name halves[2] = { fresh(unet, "half"), fresh(unet, "half") };
	struct name sizes = shape_of(unet, 2, (int64_t[]){ inner, inner });

	add_node(unet, "Split", (const char *[]){ both.text, sizes.text }, 2, halves, 2, last);
	return linear(unet, two(unet, "Mul", halves[0], gelu(unet, halves[1])), inner, channels, true);
}

/* Attention of every place to every other, to the prompt, and a layer of its own. */
static struct name transformer(struct unet *unet, struct name x, struct name context,
			       int64_t channels)
{
	static const int64_t to_last[] = { 0, 2, 1 };
	struct name y = conv(unet, group_norm(unet, x, channels), channels, channels, 1, 1);
	const int64_t dims[] = { 0, channels, -1 };

	y = turned(unet, two(unet, "Reshape", y, shape_of(unet, 3, dims)), to_last, 3);
	struct name even = layer_norm(unet, y, channels);

	y = two(unet, "Add", attention(unet, even, even, channels, channels), y);
	y = two(unet, "Add",
		attention(unet, layer_norm(unet, y, channels), context, channels,
			  unet->conf->context),
		y);
	y = two(unet, "Add", feed_forward(unet, layer_norm(unet, y, channels), channels), y);
	y = two(unet, "Reshape", turned(unet, y, to_last, 3), one(unet, "Shape", x));
	return two(unet, "Add", conv(unet, y, channels, channels, 1, 1), x);
}

/* Two convolutions beside what comes in; the time goes in between them. */
static struct name residual(struct unet *unet, struct name x, struct name time, int64_t in, int64_t out)
{
	int64_t wide = HIDDEN * unet->conf->channels[0];
	struct name axes = shape_of(unet, 2, (int64_t[]){ 2, 3 });
	struct name y = conv(unet, silu(unet, group_norm(unet, x, in)), in, out, 3, 1);
	struct name when = two(unet, "Unsqueeze", gemm(unet, silu(unet, time), wide, out), axes);

	y = silu(unet, group_norm(unet, two(unet, "Add", y, when), out));
	y = conv(unet, y, out, out, 3, 1);
	return two(unet, "Add", in == out ? x : conv(unet, x, in, out, 1, 1), y);
}

static struct name joined(struct unet *unet, struct name a, struct name b, int64_t axis)
{
	const struct attribute attributes[] = { { "axis", INT, .integer = axis }, { 0 } };

	return node(unet, "Concat", 2, (const char *[]){ a.text, b.text }, attributes);
}

static struct name doubled(struct unet *unet, struct name x, int64_t channels)
{
	const struct attribute attributes[] = { { "mode", TEXT, .text = "nearest" },
						{ "nearest_mode", TEXT, .text = "floor" },
						{ "coordinate_transformation_mode", TEXT,
						  .text = "asymmetric" },
						{ 0 } };
	struct name scales = constant(unet, TYPE_FLOAT, 1, 4, (float[]){ 1, 1, 2, 2 });
	struct name y = node(unet, "Resize", 3, (const char *[]){ x.text, "", scales.text },
			     attributes);

	return conv(unet, y, channels, channels, 3, 1);
}

/* The timestep as waves of many lengths, through two layers. */
static struct name time_of(struct unet *unet)
{
	int64_t base = unet->conf->channels[0], half = base / 2;
	struct name waves = weight(unet, 2, (int64_t[]){ 1, half }, 0.5f, 0.5f);
	struct name flat = two(unet, "Unsqueeze", (struct name){ "timestep" },
			       shape_of(unet, 1, (int64_t[]){ 1 }));
	struct name angle = two(unet, "Mul", flat, waves);
	struct name both = joined(unet, one(unet, "Cos", angle), one(unet, "Sin", angle), -1);
	struct name y = silu(unet, gemm(unet, both, half * 2, HIDDEN * base));

	return gemm(unet, y, HIDDEN * base, HIDDEN * base);
}

/* ---- the whole ---- */

struct skip {
	struct name name;
	int64_t channels;
};

static struct name go_down(struct unet *unet, struct name x, struct name time, struct skip *skips,
			   size_t *count)
{
	const struct unet_conf *conf = unet->conf;
	int64_t in = conf->channels[0];

	skips[(*count)++] = (struct skip){ x, in };
	for (size_t level = 0; level < conf->level_count; level++) {
		int64_t out = conf->channels[level];

		for (int64_t block = 0; block < conf->blocks; block++, in = out) {
			x = residual(unet, x, time, in, out);
			if (level + 1 < conf->level_count)
				x = transformer(unet, x, (struct name){ "context" }, out);
			skips[(*count)++] = (struct skip){ x, out };
		}
		if (level + 1 < conf->level_count) {
			x = conv(unet, x, out, out, 3, 2);
			skips[(*count)++] = (struct skip){ x, out };
		}
	}
	return x;
}

static struct name go_up(struct unet *unet, struct name x, struct name time,
			 const struct skip *skips, size_t count)
{
	const struct unet_conf *conf = unet->conf;
	int64_t in = conf->channels[conf->level_count - 1];

	for (size_t level = conf->level_count; level-- > 0;) {
		int64_t out = conf->channels[level];

		for (int64_t block = 0; block <= conf->blocks; block++, in = out) {
			const struct skip *skip = &skips[--count];

			x = residual(unet, joined(unet, x, skip->name, 1), time,
				     in + skip->channels, out);
			if (level + 1 < conf->level_count)
				x = transformer(unet, x, (struct name){ "context" }, out);
		}
		if (level > 0)
			x = doubled(unet, x, out);
	}
	return x;
}

static void add_port(struct unet *unet, unsigned field, const char *name, size_t rank,
		     const int64_t *dims)
{
	struct buf shape, tensor, type, info;

	buf_init(&shape, unet->memory, 0);
	buf_init(&tensor, unet->memory, 0);
	buf_init(&type, unet->memory, 0);
	buf_init(&info, unet->memory, 0);
	for (size_t i = 0; i < rank; i++) {
		struct buf dim;

		buf_init(&dim, unet->memory, 0);
		add_int(&dim, 1, dims[i]);
		add_message(&shape, 1, &dim);
	}
	add_int(&tensor, 1, TYPE_FLOAT);
	add_message(&tensor, 2, &shape);
	add_message(&type, 1, &tensor);
	add_text(&info, 1, name);
	add_message(&info, 2, &type);
	add_message(&unet->graph, field, &info);
}

static void build(struct unet *unet)
{
	const struct unet_conf *conf = unet->conf;
	const int64_t latents[] = { conf->batch, 4, conf->size, conf->size };
	struct skip skips[UNET_LEVELS_MAX * 10];
	size_t count = 0, deepest = conf->level_count - 1;

	add_text(&unet->graph, GRAPH_NAME, "unet");
	struct name time = time_of(unet);
	struct name x = conv(unet, (struct name){ "sample" }, 4, conf->channels[0], 3, 1);

	x = go_down(unet, x, time, skips, &count);
	x = residual(unet, x, time, conf->channels[deepest], conf->channels[deepest]);
	x = transformer(unet, x, (struct name){ "context" }, conf->channels[deepest]);
	x = residual(unet, x, time, conf->channels[deepest], conf->channels[deepest]);
	x = go_up(unet, x, time, skips, count);
	x = conv(unet, silu(unet, group_norm(unet, x, conf->channels[0])), conf->channels[0], 4, 3, 1);
	add_node(unet, "Identity", (const char *[]){ x.text }, 1,
		 &(const struct name){ "out_sample" }, 1, NULL);
	add_port(unet, GRAPH_INPUT, "sample", 4, latents);
	add_port(unet, GRAPH_INPUT, "timestep", 1, &conf->batch);
	add_port(unet, GRAPH_INPUT, "context", 3,
		 (int64_t[]){ conf->batch, conf->tokens, conf->context });
	add_port(unet, GRAPH_OUTPUT, "out_sample", 4, latents);
}

static int check(const struct unet_conf *conf, struct strata_error *err)
{
	if (conf->level_count < 1 || conf->level_count > UNET_LEVELS_MAX || conf->blocks < 1 ||
	    conf->blocks > 8 || conf->groups < 1 || conf->groups > 256 || conf->head < 1 ||
	    conf->context < 1 || conf->tokens < 1 || conf->batch < 1 ||
	    conf->size < 1 << (conf->level_count - 1) ||
	    conf->size % (1 << (conf->level_count - 1)))
		return strata_fail(err, -EINVAL,
				   "a UNet of %zu levels with %lld blocks and a size of %lld cannot be",
				   conf->level_count, (long long)conf->blocks,
				   (long long)conf->size);
	for (size_t i = 0; i < conf->level_count; i++)
		if (conf->channels[i] < 2 || conf->channels[i] > 4096 || conf->channels[i] % 2 ||
		    conf->channels[i] % conf->groups || conf->channels[i] % conf->head)
			return strata_fail(err, -EINVAL,
					   "level %zu has %lld channels; expected a multiple of %lld and of %lld",
					   i, (long long)conf->channels[i], (long long)conf->groups,
					   (long long)conf->head);
	return 0;
}

static int write_model(struct unet *unet, const char *path, struct strata_error *err)
{
	struct buf model, opset;
	int rc = 0;

	buf_init(&model, unet->memory, 0);
	buf_init(&opset, unet->memory, 0);
	add_int(&model, MODEL_IR, 8);
	add_text(&model, MODEL_PRODUCER, "strata");
	add_int(&opset, OPSET_VERSION, 17);
	add_message(&model, MODEL_OPSET, &opset);
	add_message(&model, MODEL_GRAPH, &unet->graph);
	if (model.failed) {
		buf_fini(&model);
		return strata_fail_memory(err);
	}
	FILE *file = fopen(path, "we");

	if (!file || fwrite(model.text, 1, model.length, file) != model.length)
		rc = strata_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (file && fclose(file) && rc == 0)
		rc = strata_fail(err, -errno, "%s: %s", path, strerror(errno));
	buf_fini(&model);
	return rc;
}

int unet_write(const struct unet_conf *conf, const char *path, struct strata_memory *memory,
	       struct unet_made *ret_made, struct strata_error *err)
{
	const char *slash = strrchr(path, '/');
	struct buf data_path;
	int rc = check(conf, err);

	if (rc)
		return rc;
	buf_init(&data_path, memory, 0);
	buf_printf(&data_path, "%s.data", path);
	struct unet unet = { .conf = conf,
			     .random = conf->seed,
			     .memory = memory,
			     .data_name = data_path.text + (slash ? slash + 1 - path : 0) };

	if (data_path.failed)
		rc = strata_fail_memory(err);
	if (rc == 0 && !(unet.data = fopen(data_path.text, "we")))
		rc = strata_fail(err, -errno, "%s: %s", data_path.text, strerror(errno));
	if (rc == 0) {
		buf_init(&unet.graph, memory, 0);
		build(&unet);
		unet.failed |= fclose(unet.data) != 0;
		if (unet.failed)
			rc = strata_fail(err, -EIO, "%s: %s", data_path.text, strerror(errno));
		if (rc == 0)
			rc = write_model(&unet, path, err);
		else
			buf_fini(&unet.graph);
		if (rc) {
			unlink(path);
			unlink(data_path.text);
		}
	}
	buf_fini(&data_path);
	if (rc)
		return rc;
	unet.made.weight_bytes = unet.offset;
	*ret_made = unet.made;
	return 0;
}
