/*
 * What the native backend's operators refuse: each row is a node that does not fit, or, with no sentence, its nearest neighbour that does. A model that comes
 * from elsewhere gets a sentence that names the node, never a read beyond its tensors.
 *
 * Inputs are written `f[2,3]` (float32 of this shape, numbers that rise), `i[2]=1,-1` (int64 with these elements, zeros without), `-` where one is left out; also d (float64),
 * w (int32), b (bool), u (uint8), c (int8) and s (text). Attributes are written `axis=1 perm=0,1, mode=edge value=0.5`; a comma makes a list.
 */
#include "native_rows.h"

#include "engine_sample.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	char letter;
	int dtype;
} types[] = {
	{ 'f', ONNX_FLOAT }, { 'd', ONNX_DOUBLE }, { 'i', ONNX_INT64 }, { 'w', ONNX_INT32 },
	{ 'b', ONNX_BOOL },  { 'u', ONNX_UINT8 },  { 'c', ONNX_INT8 },  { 's', ONNX_STRING }
};

static void set_elements(struct engine_value *value, const char **at)
{
	int64_t count = engine_value_elements(value);

	memset(value->data, 0, engine_value_bytes(value));
	for (int64_t i = 0; i < count; i++)
		if (value->dtype == ONNX_FLOAT)
			((float *)value->data)[i] = 0.25f * (float)(i + 1);
		else if (value->dtype == ONNX_DOUBLE)
			((double *)value->data)[i] = 0.5 * (double)(i + 1);
		else if (value->dtype == ONNX_UINT8 || value->dtype == ONNX_INT8)
			((int8_t *)value->data)[i] = (int8_t)(i * 3 % 17);
		else if (value->dtype == ONNX_BOOL)
			((bool *)value->data)[i] = i % 2 == 0;
	if (**at != '=')
		return;
	for (int64_t i = 0; i < count; i++) {
		int64_t number = strtoll(*at + 1, (char **)at, 10);

		if (value->dtype == ONNX_INT64)
			((int64_t *)value->data)[i] = number;
		else if (value->dtype == ONNX_FLOAT)
			((float *)value->data)[i] = (float)number;
		else
			((int32_t *)value->data)[i] = (int32_t)number;
	}
}

/* One input; *at comes to stand behind it. */
static struct engine_value read_value(struct engine_sample *sample, const char **at)
{
	struct engine_value value = { 0 };
	struct strata_error err = { 0 };
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	size_t rank = 0, type = 0;

	while (types[type].letter != **at)
		CHECK(++type < sizeof(types) / sizeof(types[0]));
	for (*at += 2; **at != ']'; *at += **at == ',')
		dims[rank++] = strtoll(*at, (char **)at, 10);
	++*at;
	if (types[type].dtype == ONNX_STRING) {
		static const char *const texts[] = { "a", "b", "c", "d", "e", "f" };

		CHECK_OK(engine_value_texts(&sample->heap, rank, dims, (const char **)texts, &value,
					    &err));
		return value;
	}
	CHECK_OK(engine_value_make(&sample->heap, types[type].dtype, rank, dims, &value, &err));
	set_elements(&value, at);
	return value;
}

/* The attributes, whose words are written into `text`, and whose lists into `numbers`. */
static void read_attributes(struct sample_node *node, char *text, int64_t *numbers)
{
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		char *value = strchr(word, '=');

		*value++ = 0;
		if (!isdigit((unsigned char)*value) && *value != '-') {
			sample_text(node, word, value);
		} else if (strchr(value, ',')) {
			size_t count = 0;

			for (char *at = value; *at; at += *at == ',')
				numbers[count++] = strtoll(at, &at, 10);
			sample_ints(node, word, numbers, count);
			numbers += count;
		} else if (strchr(value, '.')) {
			sample_real(node, word, atof(value));
		} else {
			sample_int(node, word, atoll(value));
		}
	}
}

/* A row with its tensors. */
struct made {
	struct engine_sample sample;
	struct engine_value values[8], outputs[4];
	const struct engine_value *inputs[8];
	struct sample_node node;
	char text[128], domain[64];
	int64_t numbers[32];
	size_t count;
};

static void made_init(struct made *made, const struct row *row)
{
	*made = (struct made){ .node = {
				       .kind = row->kind, .outputs = row->outputs, .opset = 23 } };
	engine_sample_init(&made->sample, 1);
	const char *dot = strrchr(row->kind, '.');

	if (dot) {
		snprintf(made->domain, sizeof(made->domain), "%.*s", (int)(dot - row->kind),
			 row->kind);
		made->node.domain = made->domain;
		made->node.kind = dot + 1;
	}
	snprintf(made->text, sizeof(made->text), "%s", row->attributes);
	read_attributes(&made->node, made->text, made->numbers);
	for (const char *at = row->inputs; *at; at += *at == ' ', made->count++) {
		if (*at == '-') {
			at++;
			continue;
		}
		made->values[made->count] = read_value(&made->sample, &at);
		made->inputs[made->count] = &made->values[made->count];
	}
}

static void made_fini(struct made *made)
{
	for (size_t i = 0; i < made->count; i++)
		if (made->inputs[i])
			engine_value_drop(&made->values[i]);
	engine_sample_fini(&made->sample);
}

static void made_drop(struct made *made)
{
	for (size_t i = 0; i < (made->node.outputs ? made->node.outputs : 1); i++)
		engine_value_drop(&made->outputs[i]);
}

static int made_run(struct made *made, struct strata_error *err)
{
	int rc = sample_run(&made->sample, &made->node, made->inputs, made->count, made->outputs,
			    err);

	if (rc == 0)
		made_drop(made);
	return rc;
}

static void try_row(const struct row *row)
{
	struct made made;
	struct strata_error err = { 0 };

	made_init(&made, row);
	int rc = made_run(&made, &err);

	if (row->says ? rc != -EINVAL && rc != -ENOTSUP : rc != 0)
		test_fail(__FILE__, __LINE__, "%s(%s) %s: %d %s", row->kind, row->inputs,
			  row->attributes, rc, err.text);
	if (row->says && rc && (!strstr(err.text, row->says) || !strstr(err.text, made.node.kind)))
		test_fail(__FILE__, __LINE__, "%s(%s) %s says «%s», not «%s»", row->kind,
			  row->inputs, row->attributes, err.text, row->says);
	made_fini(&made);
}

/* Each allocation of an operator fails, and all behind it: it says so, and leaves nothing behind. */
static void starve_row(const struct row *row)
{
	for (uint64_t at = 1;; at++) {
		struct made made;
		struct strata_error err = { 0 };

		made_init(&made, row);
		uint64_t before = made.sample.memory.calls;

		made.sample.memory.fail_at = before + at;
		made.sample.memory.fail_from_there = true;
		int rc = made_run(&made, &err);
		bool failed = made.sample.memory.calls >= before + at;

		made.sample.memory.fail_at = 0;
		made_fini(&made);
		if (!failed)
			return;
		if (rc != -ENOMEM)
			test_fail(__FILE__, __LINE__, "%s(%s) %s: allocation %d failed: %d %s",
				  row->kind, row->inputs, row->attributes, (int)at, rc, err.text);
	}
}

TEST(what_does_not_fit_is_refused_and_its_neighbour_taken)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		try_row(&rows[i]);
}

TEST(memory_that_runs_out_is_said)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!rows[i].says)
			starve_row(&rows[i]);
}

static const struct {
	const char *inputs, *takers; /* operators that take these */
} shortages[] = {
	{ "",
	  " Optional OptionalHasElement SequenceEmpty BlackmanWindow HammingWindow HannWindow " },
	{ "- - - -",
	  " Optional OptionalHasElement SequenceEmpty BlackmanWindow HammingWindow HannWindow " },
	{ "s[1]",
	  " Max Min Sum Identity Concat Slice Split Transpose TopK Dropout Optional "
	  "OptionalGetElement OptionalHasElement SequenceConstruct SequenceEmpty SplitToSequence "
	  "StringNormalizer Flatten Reshape Shape Size Squeeze Unsqueeze " },
	{ "s[1] s[1] s[1]",
	  " CastLike Identity Concat Transpose Optional OptionalGetElement OptionalHasElement "
	  "SequenceConstruct SequenceEmpty StringNormalizer Flatten Shape Size " },
};

/* Whether it is taken is as the table says; if not, the sentence names the operator. */
static void try_shortage(const struct native_family *family, const struct native_op *op,
			 const char *inputs, const char *takers)
{
	char kind[100], word[100];
	const struct row row = { .kind = kind, .inputs = inputs, .attributes = "" };
	struct made made;
	struct strata_error err = { 0 };

	snprintf(kind, sizeof(kind), "%s%s%s", family->domain, family->domain[0] ? "." : "",
		 op->kind);
	snprintf(word, sizeof(word), " %s ", op->kind);
	made_init(&made, &row);
	int rc = made_run(&made, &err);

	if ((rc == 0) != (strstr(takers, word) != NULL))
		test_fail(__FILE__, __LINE__, "%s(%s): %d %s", kind, inputs, rc, err.text);
	if (rc && !strstr(err.text, op->kind) && !strstr(err.text, "is not a number"))
		test_fail(__FILE__, __LINE__, "%s(%s) says «%s»", kind, inputs, err.text);
	made_fini(&made);
}

TEST(inputs_that_are_missing_or_texts_are_refused)
{
	const struct native_family *family;

	for (size_t f = 0; (family = native_family_at(f)); f++)
		for (size_t i = 0; i < family->op_count; i++)
			for (size_t k = 0; k < sizeof(shortages) / sizeof(shortages[0]); k++)
				try_shortage(family, &family->ops[i], shortages[k].inputs,
					     shortages[k].takers);
}

/* ---- results ---- */

static size_t show_value(const struct engine_value *value, char *text, size_t room)
{
	struct engine_heap heap;
	struct strata_memory memory = { 0 };
	struct engine_value real = { 0 };
	struct strata_error err = { 0 };
	size_t length = (size_t)snprintf(text, room, " %s[", engine_dtype_name(value->dtype));

	for (size_t i = 0; i < value->rank; i++)
		length += (size_t)snprintf(text + length, room - length, "%s%lld", i ? "," : "",
					   (long long)value->dims[i]);
	length += (size_t)snprintf(text + length, room - length, "]");
	engine_heap_init(&heap, &memory);
	if (value->dtype != ONNX_STRING &&
	    engine_value_cast(&heap, value, ONNX_DOUBLE, &real, &err) == 0)
		for (int64_t i = 0; i < engine_value_elements(value) && i < 24; i++)
			length += (size_t)snprintf(text + length, room - length, " %.4g",
						   ((const double *)real.data)[i] + 0.0);
	engine_value_drop(&real);
	engine_heap_fini(&heap);
	return length;
}

/* A row and what comes out of it, in a line. */
static void show_row(const struct row *row, char *text, size_t room)
{
	struct made made;
	struct strata_error err = { 0 };
	size_t length =
		(size_t)snprintf(text, room, "%s(%s) %s:", row->kind, row->inputs, row->attributes);

	made_init(&made, row);
	CHECK_OK(sample_run(&made.sample, &made.node, made.inputs, made.count, made.outputs, &err));
	for (size_t i = 0; i < (row->outputs ? row->outputs : 1); i++) {
		const struct engine_value *value = &made.outputs[i];

		if (value->kind == ONNX_TENSOR)
			length += show_value(value, text + length, room - length);
		for (size_t k = 0; value->kind != ONNX_TENSOR && k < value->item_count; k++)
			length += show_value(&value->items[k], text + length, room - length);
	}
	made_drop(&made);
	made_fini(&made);
}

/* To four digits: other instruction sets may round another way. STRATA_FILL=1 writes the file anew; look at the difference. */
TEST(what_is_taken_gives_what_it_gave)
{
	char path[512], got[2000], want[2000];
	bool fill = getenv("STRATA_FILL");

	snprintf(path, sizeof(path), "%s/native_rows.txt", getenv("STRATA_TEST_DATA"));
	FILE *file = fopen(path, fill ? "w" : "r");

	CHECK(file);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].says)
			continue;
		show_row(&rows[i], got, sizeof(got));
		if (fill) {
			fprintf(file, "%s\n", got);
			continue;
		}
		CHECK(fgets(want, sizeof(want), file));
		want[strcspn(want, "\n")] = '\0';
		CHECK_TEXT(got, want);
	}
	CHECK(fill || !fgets(want, sizeof(want), file));
	fclose(file);
}
