/*
 * The native backend's operators: their tables are in order, ONNX's conformance data agrees, threads and batches change no bit, and memory that runs out leaves
 * nothing behind. What the law says is in src/engine/native/README.md.
 */
#include "engine_sample.h"

#include "engine_conformance.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DATA "/usr/share/libonnx-testdata/data"

/* ---- tables ---- */

TEST(families_are_sorted_and_no_operator_is_there_twice)
{
	const struct native_family *family;
	size_t operators = 0;

	for (size_t f = 0; (family = native_family_at(f)); f++) {
		CHECK(family->name[0] && family->op_count > 0);
		for (size_t i = 0; i < family->op_count; i++, operators++) {
			CHECK(i == 0 || strcmp(family->ops[i - 1].kind, family->ops[i].kind) < 0);
			/* The first of that name is this one: no other family has it. */
			CHECK(native_op_find(family->domain, family->ops[i].kind) ==
			      &family->ops[i]);
		}
	}
	CHECK(operators > 190);
	CHECK(!native_op_find("", "NoSuchOperator"));
	CHECK(native_op_find("ai.onnx", "Add") == native_op_find("", "Add"));
}

/* ---- conformance ---- */

struct counts {
	int right, wrong, refused;
};

/* Calls `each` for every directory of a set, in any order. */
static void each_model(const char *set, void (*each)(const char *path, void *context),
		       void *context)
{
	char path[600];

	snprintf(path, sizeof(path), DATA "/%s", set);
	DIR *directory = opendir(path);

	if (!directory)
		test_skip("%s is not there (Debian: libonnx-testdata)", path);
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), DATA "/%s/%.200s", set, entry->d_name);
		each(path, context);
	}
	closedir(directory);
}

static void count_model(const char *path, void *context)
{
	struct counts *counts = context;
	struct strata_memory memory = { 0 };
	struct strata_error why = { 0 };

	switch (conformance_of(path, &memory, &why)) {
	case CONFORMANCE_RIGHT:
		counts->right++;
		break;
	case CONFORMANCE_WRONG:
		counts->wrong++;
		printf("# wrong: %s: %s\n", path, why.text);
		break;
	case CONFORMANCE_REFUSED:
		counts->refused++;
		CHECK(strstr(why.text, "operator ") || strstr(why.text, " node '"));
		break;
	}
	CHECK_INT(memory.used_bytes, 0);
}

static void check_set(const char *set, int least_right)
{
	struct counts counts = { 0 };

	each_model(set, count_model, &counts);
	CHECK_INT(counts.wrong, 0);
	CHECK(counts.right >= least_right);
}

TEST(conformance_of_single_operators)
{
	check_set("node", 931);
}

TEST(conformance_of_converted_models)
{
	check_set("pytorch-converted", 82);
	check_set("pytorch-operator", 35);
	check_set("simple", 21);
}

/* ---- threads ---- */

static void compare_threads(const char *path, void *context)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	uint64_t one = 0, two = 1;

	(void)context;
	if (conformance_digest(path, "cpu:0", &memory, &one, &err))
		return;
	CHECK_OK(conformance_digest(path, "cpu", &memory, &two, &err));
	if (one != two)
		test_fail(__FILE__, __LINE__, "%s: several threads have other bits than one", path);
}

TEST(threads_change_no_bit_of_the_conformance_models)
{
	each_model("node", compare_threads, NULL);
	each_model("pytorch-converted", compare_threads, NULL);
}

/* ---- operators that matter, on sizes that are shared between threads ---- */

struct shape {
	size_t rank;
	int64_t dims[5];
};

/* Inputs of float32; `by_member` ones have the batch in front. Integers are appended as they are. */
struct subject {
	const char *name;
	struct sample_node node;
	size_t inputs;
	struct shape shapes[4];
	bool shared[4];         /* the same for every member: weights */
	const int64_t *numbers; /* a last input of int64 */
	size_t number_count;
};

static struct subject subjects[40];
static size_t subject_count;

static struct subject *add(const char *name, const char *kind)
{
	struct subject *subject = &subjects[subject_count++];

	*subject = (struct subject){ .name = name, .node = { .kind = kind } };
	return subject;
}

static void input(struct subject *subject, bool shared, size_t rank, int64_t a, int64_t b,
		  int64_t c, int64_t d)
{
	subject->shared[subject->inputs] = shared;
	subject->shapes[subject->inputs++] = (struct shape){ rank, { a, b, c, d } };
}

static const int64_t pads[] = { 1, 1, 1, 1 }, twos[] = { 2, 2 }, threes[] = { 3, 3 };

static void add_products(void)
{
	static const int64_t sizes[][2] = { { 1, 1 },    { 7, 15 },   { 64, 17 },  { 255, 33 },
					    { 257, 48 }, { 320, 31 }, { 640, 100 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct subject *subject = add("MatMul, one right-hand side", "MatMul");

		input(subject, false, 3, 5, i % 2 ? 1 : 13, sizes[i][0], 0);
		input(subject, true, 2, sizes[i][0], sizes[i][1], 0, 0);
		subject = add("Gemm", "Gemm");
		sample_int(&subject->node, "transB", 1);
		input(subject, false, 2, 5, sizes[i][0], 0, 0);
		input(subject, true, 2, sizes[i][1], sizes[i][0], 0, 0);
		input(subject, true, 1, sizes[i][1], 0, 0, 0);
	}
	struct subject *subject = add("MatMul, one for each member", "MatMul");

	input(subject, false, 4, 5, 3, 21, 77);
	input(subject, false, 4, 5, 3, 77, 19);
	subject = add("Einsum", "Einsum");
	sample_text(&subject->node, "equation", "bhqd,bhkd->bhqk");
	input(subject, false, 4, 5, 2, 9, 40);
	input(subject, false, 4, 5, 2, 11, 40);
}

static void add_pictures(void)
{
	struct subject *subject = add("Conv 3x3", "Conv");

	sample_ints(&subject->node, "pads", pads, 4);
	input(subject, false, 4, 5, 17, 13, 11);
	input(subject, true, 4, 9, 17, 3, 3);
	input(subject, true, 1, 9, 0, 0, 0);
	subject = add("Conv 1x1", "Conv");
	input(subject, false, 4, 5, 32, 16, 16);
	input(subject, true, 4, 24, 32, 1, 1);
	subject = add("Conv in groups, by twos", "Conv");
	sample_int(&subject->node, "group", 4);
	sample_ints(&subject->node, "strides", twos, 2);
	input(subject, false, 4, 5, 16, 15, 15);
	input(subject, true, 4, 16, 4, 3, 3);
	subject = add("ConvTranspose", "ConvTranspose");
	sample_ints(&subject->node, "strides", twos, 2);
	input(subject, false, 4, 5, 8, 7, 9);
	input(subject, true, 4, 8, 6, 2, 2);
	subject = add("AveragePool", "AveragePool");
	sample_ints(&subject->node, "kernel_shape", threes, 2);
	input(subject, false, 4, 5, 33, 21, 21);
	subject = add("MaxPool", "MaxPool");
	sample_ints(&subject->node, "kernel_shape", threes, 2);
	sample_ints(&subject->node, "strides", twos, 2);
	input(subject, false, 4, 5, 33, 21, 21);
	subject = add("GlobalAveragePool", "GlobalAveragePool");
	input(subject, false, 4, 5, 33, 21, 21);
}

static void add_norms(void)
{
	static const int64_t rows[] = { 1, 7, 320, 1025 };

	for (size_t i = 0; i < 4; i++) {
		struct subject *subject = add("LayerNormalization", "LayerNormalization");

		input(subject, false, 3, 5, 9, rows[i], 0);
		input(subject, true, 1, rows[i], 0, 0, 0);
		input(subject, true, 1, rows[i], 0, 0, 0);
		subject = add("Softmax", "Softmax");
		input(subject, false, 3, 5, 9, rows[i], 0);
	}
	struct subject *subject = add("GroupNormalization", "GroupNormalization");

	sample_int(&subject->node, "num_groups", 4);
	input(subject, false, 4, 5, 16, 9, 7);
	input(subject, true, 1, 16, 0, 0, 0);
	input(subject, true, 1, 16, 0, 0, 0);
	subject = add("InstanceNormalization", "InstanceNormalization");
	input(subject, false, 4, 5, 16, 9, 7);
	input(subject, true, 1, 16, 0, 0, 0);
	input(subject, true, 1, 16, 0, 0, 0);
	subject = add("Gelu", "Gelu");
	input(subject, false, 3, 5, 11, 321, 0);
	subject = add("ReduceMean", "ReduceMean");
	sample_ints(&subject->node, "axes", threes + 1, 0);
	subject->node.attribute_count = 0;
	static const int64_t last[] = { -1 };

	sample_ints(&subject->node, "axes", last, 1);
	input(subject, false, 3, 5, 11, 321, 0);
	subject = add("Attention", "Attention");
	input(subject, false, 4, 5, 4, 67, 40);
	input(subject, false, 4, 5, 4, 71, 40);
	input(subject, false, 4, 5, 4, 71, 24);
}

static void run_subject(struct engine_sample *sample, const struct subject *subject,
			const struct engine_value *values, int64_t member,
			struct engine_value *ret_output)
{
	const struct engine_value *inputs[4];
	struct engine_value parts[4];
	struct strata_error err = { 0 };

	for (size_t i = 0; i < subject->inputs; i++) {
		parts[i] = subject->shared[i] || member < 0 ? values[i]
							    : sample_member(&values[i], member);
		inputs[i] = &parts[i];
	}
	CHECK_OK(sample_run(sample, &subject->node, inputs, subject->inputs, ret_output, &err));
}

/* Every member of a batch of five, alone, and all of them by one, two and three threads. */
static void check_subject(const struct subject *subject)
{
	struct engine_sample sample;
	struct engine_value values[4], whole, other;

	engine_sample_init(&sample, 1);
	for (size_t i = 0; i < subject->inputs; i++)
		values[i] = sample_floats(&sample, subject->shapes[i].rank, subject->shapes[i].dims,
					  (uint32_t)i + 1);
	run_subject(&sample, subject, values, -1, &whole);
	for (int threads = 2; threads <= 3; threads++) {
		sample.team.thread_count = threads;
		run_subject(&sample, subject, values, -1, &other);
		if (memcmp(whole.data, other.data, engine_value_bytes(&whole)) != 0)
			test_fail(__FILE__, __LINE__, "%s: %d threads have other bits",
				  subject->name, threads);
		engine_value_drop(&other);
	}
	for (int64_t member = 0; member < 5; member++) {
		sample.team.thread_count = 1 + (int)member % 2;
		run_subject(&sample, subject, values, member, &other);
		struct engine_value part = sample_member(&whole, member);

		CHECK_INT(engine_value_bytes(&other), engine_value_bytes(&part));
		if (memcmp(part.data, other.data, engine_value_bytes(&part)) != 0)
			test_fail(__FILE__, __LINE__, "%s: member %lld has other bits in a batch",
				  subject->name, (long long)member);
		engine_value_drop(&other);
	}
	engine_value_drop(&whole);
	for (size_t i = 0; i < subject->inputs; i++)
		engine_value_drop(&values[i]);
	engine_sample_fini(&sample);
}

TEST(a_member_does_not_depend_on_its_batch_or_on_threads)
{
	add_products();
	add_pictures();
	add_norms();
	for (size_t i = 0; i < subject_count; i++)
		check_subject(&subjects[i]);
}

/* ---- operators that the conformance data does not have ---- */

static float float_at(const struct engine_value *value, int64_t index)
{
	return ((const float *)value->data)[index];
}

/* Rows of results are computed otherwise when nobody wants to know where the largest was. NaN is the largest. */
TEST(largest_elements_are_the_same_with_and_without_their_places)
{
	static const int64_t margins[] = { 1, 2, 2, 1 }, kernels[] = { 3, 4 };
	struct strata_error err = { 0 };

	for (int64_t form = 0; form < 24; form++) {
		const int64_t strides[] = { 1 + form % 2, 1 + form % 4 };
		const int64_t gaps[] = { 1 + form / 8, 1 + form / 12 };
		struct engine_sample sample;
		struct engine_value x, alone[1], both[2];

		engine_sample_init(&sample, 1);
		x = sample_floats(&sample, 4, (int64_t[]){ 2, 3, 9 + form, 31 - form }, 1);
		((float *)x.data)[form * 7] = __builtin_nanf("");
		const struct engine_value *inputs[1] = { &x };

		for (int outputs = 1; outputs <= 2; outputs++) {
			struct sample_node node = { .kind = "MaxPool", .outputs = (size_t)outputs };

			sample_ints(&node, "kernel_shape", kernels, 2);
			sample_ints(&node, "strides", strides, 2);
			sample_ints(&node, "dilations", gaps, 2);
			sample_ints(&node, "pads", margins, 4);
			CHECK_OK(sample_run(&sample, &node, inputs, 1, outputs == 1 ? alone : both,
					    &err));
		}
		CHECK_INT(engine_value_bytes(alone), engine_value_bytes(both));
		CHECK_BYTES(alone[0].data, both[0].data, engine_value_bytes(alone));
		engine_value_drop(alone);
		engine_value_drop(&both[0]);
		engine_value_drop(&both[1]);
		engine_value_drop(&x);
		engine_sample_fini(&sample);
	}
}

TEST(attention_is_softmax_of_scaled_products)
{
	struct engine_sample sample;
	struct engine_value q, k, v, y[1];
	struct strata_error err = { 0 };
	struct sample_node node = { .kind = "Attention", .opset = 23 };

	engine_sample_init(&sample, 2);
	q = sample_floats(&sample, 4, (int64_t[]){ 1, 4, 3, 8 }, 1);
	k = sample_floats(&sample, 4, (int64_t[]){ 1, 2, 5, 8 }, 2); /* two heads serve four */
	v = sample_floats(&sample, 4, (int64_t[]){ 1, 2, 5, 6 }, 3);
	const struct engine_value *inputs[3] = { &q, &k, &v };

	sample_int(&node, "is_causal", 1);
	CHECK_OK(sample_run(&sample, &node, inputs, 3, y, &err));
	for (int head = 0; head < 4; head++)
		for (int row = 0; row < 3; row++)
			for (int column = 0; column < 6; column++) {
				double sum = 0, total = 0;

				for (int key = 0; key <= row; key++) {
					double score = 0;

					for (int i = 0; i < 8; i++)
						score += (double)float_at(&q, (head * 3 + row) * 8 +
										      i) *
							 float_at(&k, (head / 2 * 5 + key) * 8 + i);
					score = __builtin_exp(score / __builtin_sqrt(8));
					total += score;
					sum += score *
					       float_at(&v, (head / 2 * 5 + key) * 6 + column);
				}
				CHECK_NEAR(float_at(y, (head * 3 + row) * 6 + column), sum / total,
					   1e-5);
			}
	engine_value_drop(y);
	engine_value_drop(&q);
	engine_value_drop(&k);
	engine_value_drop(&v);
	engine_sample_fini(&sample);
}

TEST(attention_carries_keys_and_values_on)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct sample_node whole = { .kind = "Attention" },
			   step = { .kind = "Attention", .outputs = 3 };
	struct engine_value q, k, v, all[1], y[3];

	engine_sample_init(&sample, 1);
	q = sample_floats(&sample, 4, (int64_t[]){ 1, 2, 1, 8 }, 1);
	k = sample_floats(&sample, 4, (int64_t[]){ 1, 2, 6, 8 }, 2);
	v = sample_floats(&sample, 4, (int64_t[]){ 1, 2, 6, 8 }, 3);
	const struct engine_value *inputs[3] = { &q, &k, &v };

	CHECK_OK(sample_run(&sample, &whole, inputs, 3, all, &err));
	/* The same keys, four as the past of two. */
	struct engine_value parts[4];
	const int64_t cuts[4][2] = { { 4, 2 }, { 4, 2 }, { 0, 4 }, { 0, 4 } };

	for (int i = 0; i < 4; i++) {
		const struct engine_value *from = i % 2 ? &v : &k;

		parts[i] = sample_floats(&sample, 4, (int64_t[]){ 1, 2, cuts[i][1], 8 }, 9);
		for (int head = 0; head < 2; head++)
			memcpy((float *)parts[i].data + head * cuts[i][1] * 8,
			       (float *)from->data + (head * 6 + cuts[i][0]) * 8,
			       (size_t)cuts[i][1] * 8 * sizeof(float));
	}
	const struct engine_value *later[6] = {
		&q, &parts[0], &parts[1], NULL, &parts[2], &parts[3]
	};

	CHECK_OK(sample_run(&sample, &step, later, 6, y, &err));
	CHECK_BYTES(y[0].data, all[0].data, engine_value_bytes(&all[0]));
	CHECK_BYTES(y[1].data, k.data, engine_value_bytes(&k));
	CHECK_BYTES(y[2].data, v.data, engine_value_bytes(&v));
	for (int i = 0; i < 4; i++)
		engine_value_drop(&parts[i]);
	for (int i = 0; i < 3; i++)
		engine_value_drop(&y[i]);
	engine_value_drop(all);
	engine_value_drop(&q);
	engine_value_drop(&k);
	engine_value_drop(&v);
	engine_sample_fini(&sample);
}

TEST(rotary_embedding_turns_pairs)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct sample_node node = { .kind = "RotaryEmbedding" };
	struct engine_value x, c, s, p, y[1];

	engine_sample_init(&sample, 1);
	x = sample_floats(&sample, 4, (int64_t[]){ 1, 1, 2, 4 }, 1);
	c = sample_floats(&sample, 2, (int64_t[]){ 3, 2 }, 2);
	s = sample_floats(&sample, 2, (int64_t[]){ 3, 2 }, 3);
	p = sample_whole(&sample, 2, (int64_t[]){ 2, 0 });
	p.rank = 2;
	p.dims[0] = 1;
	p.dims[1] = 2;
	const struct engine_value *inputs[4] = { &x, &c, &s, &p };

	CHECK_OK(sample_run(&sample, &node, inputs, 4, y, &err));
	for (int token = 0; token < 2; token++)
		for (int i = 0; i < 2; i++) {
			int row = token ? 0 : 2;
			float a = float_at(&x, token * 4 + i), b = float_at(&x, token * 4 + 2 + i);
			float cosine = float_at(&c, row * 2 + i), sine = float_at(&s, row * 2 + i);

			CHECK_NEAR(float_at(y, token * 4 + i), cosine * a - sine * b, 1e-6);
			CHECK_NEAR(float_at(y, token * 4 + 2 + i), sine * a + cosine * b, 1e-6);
		}
	engine_value_drop(y);
	((int64_t *)p.data)[0] = 3;
	CHECK_ERROR(sample_run(&sample, &node, inputs, 4, y, &err), -EINVAL, "position 3");
	engine_value_drop(&x);
	engine_value_drop(&c);
	engine_value_drop(&s);
	engine_value_drop(&p);
	engine_sample_fini(&sample);
}

TEST(skip_layer_normalization_is_a_sum_and_a_norm)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct sample_node fused = { .domain = "com.microsoft", .kind = "SkipLayerNormalization" };
	struct sample_node sum = { .kind = "Add" }, norm = { .kind = "LayerNormalization" };
	struct engine_value x, skip, scale, bias, y[1], added[1], expected[1];

	engine_sample_init(&sample, 1);
	x = sample_floats(&sample, 2, (int64_t[]){ 3, 20 }, 1);
	skip = sample_floats(&sample, 2, (int64_t[]){ 3, 20 }, 2);
	scale = sample_floats(&sample, 1, (int64_t[]){ 20 }, 3);
	bias = sample_floats(&sample, 1, (int64_t[]){ 20 }, 4);
	const struct engine_value *inputs[4] = { &x, &skip, &scale, &bias };
	const struct engine_value *both[2] = { &x, &skip }, *normed[3] = { added, &scale, &bias };

	sample_real(&fused, "epsilon", 1e-5);
	CHECK_OK(sample_run(&sample, &fused, inputs, 4, y, &err));
	CHECK_OK(sample_run(&sample, &sum, both, 2, added, &err));
	CHECK_OK(sample_run(&sample, &norm, normed, 3, expected, &err));
	CHECK_BYTES(y->data, expected->data, engine_value_bytes(expected));
	engine_value_drop(y);
	engine_value_drop(added);
	engine_value_drop(expected);
	engine_value_drop(&x);
	engine_value_drop(&skip);
	engine_value_drop(&scale);
	engine_value_drop(&bias);
	engine_sample_fini(&sample);
}

TEST(random_numbers_have_the_moments_they_ask_for)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct sample_node node = { .kind = "RandomNormal" };
	static const int64_t shape[] = { 20000 };
	struct engine_value y[1], again[1];
	double sum = 0, square = 0;

	engine_sample_init(&sample, 1);
	sample_ints(&node, "shape", shape, 1);
	sample_real(&node, "mean", 2);
	sample_real(&node, "scale", 3);
	sample_real(&node, "seed", 7);
	CHECK_OK(sample_run(&sample, &node, NULL, 0, y, &err));
	CHECK_OK(sample_run(&sample, &node, NULL, 0, again, &err)); /* the first draw of its seed */
	CHECK_BYTES(y->data, again->data, engine_value_bytes(y));
	for (int64_t i = 0; i < shape[0]; i++) {
		sum += float_at(y, i);
		square += (float_at(y, i) - 2.0) * (float_at(y, i) - 2.0);
	}
	CHECK_NEAR(sum / 20000, 2, 0.08);
	CHECK_NEAR(square / 20000, 9, 0.3);
	engine_value_drop(y);
	engine_value_drop(again);
	engine_sample_fini(&sample);
}

/* ---- memory ---- */

static void fail_model(const char *path, void *context)
{
	int *turn = context;

	if ((*turn)++ % 23 != 0)
		return;
	for (int lasting = 0; lasting < 2; lasting++)
		for (uint64_t at = 1;; at++) {
			struct strata_memory memory = { .fail_at = at, .fail_from_there = lasting };
			struct strata_error why = { 0 };
			enum conformance got = conformance_of(path, &memory, &why);

			if (got == CONFORMANCE_WRONG)
				test_fail(__FILE__, __LINE__, "%s: allocation %llu failed: %s",
					  path, (unsigned long long)at, why.text);
			CHECK_INT(memory.used_bytes, 0);
			if (memory.calls < at)
				break;
			CHECK(got == CONFORMANCE_RIGHT || why.text[0]);
		}
}

TEST(memory_that_runs_out_leaves_nothing_behind)
{
	int turn = 0;

	each_model("node", fail_model, &turn);
	each_model("simple", fail_model, &turn);
}
