#include "engine_sample.h"

#include "engine/native/window.h"

/* Reads a node's window over a picture of 5 × 7; no operator is run. */
static int read_node(struct sample_node *node, struct window *ret, struct strata_error *err)
{
	const struct onnx_node made = { .name = "n",
					.kind = "MaxPool",
					.domain = "",
					.attributes = node->attributes,
					.attribute_count = node->attribute_count };
	struct native_call call = { .node = &made };
	const struct engine_value x = {
		.kind = ONNX_TENSOR, .dtype = ONNX_FLOAT, .rank = 4, .dims = { 1, 1, 5, 7 }
	};

	return window_read(&call, &x, NULL, ret, err);
}

static const int64_t threes[] = { 3, 3 }, twos[] = { 2, 2 }, ones[] = { 1, 1, 1, 1 },
		     zero[] = { 0, 1 };

TEST(sizes_follow_kernel_stride_and_padding)
{
	struct window window;
	struct strata_error err = { 0 };
	struct sample_node node = { .kind = "MaxPool" };

	sample_ints(&node, "kernel_shape", threes, 2);
	CHECK_OK(read_node(&node, &window, &err));
	CHECK_INT(window.out[1], 3);
	CHECK_INT(window.out[2], 5);
	CHECK_INT(window_out_area(&window), 15);
	CHECK_INT(window_in_area(&window), 35);
	sample_ints(&node, "strides", twos, 2);
	sample_ints(&node, "pads", ones, 4);
	CHECK_OK(read_node(&node, &window, &err));
	CHECK_INT(window.out[1], 3);
	CHECK_INT(window.out[2], 4);
	sample_text(&node, "auto_pad", "VALID");
	CHECK_OK(read_node(&node, &window, &err));
	CHECK_INT(window.out[1], 2);
}

TEST(what_cannot_be_is_refused)
{
	struct window window;
	struct strata_error err = { 0 };
	struct sample_node node = { .kind = "MaxPool" };

	CHECK_ERROR(read_node(&node, &window, &err), -EINVAL, "kernel_shape is missing");
	sample_ints(&node, "kernel_shape", zero, 2);
	CHECK_ERROR(read_node(&node, &window, &err), -EINVAL, "kernel_shape has 0");
	node.attribute_count = 0;
	sample_ints(&node, "kernel_shape", threes, 2);
	sample_ints(&node, "strides", ones, 4);
	CHECK_ERROR(read_node(&node, &window, &err), -EINVAL, "strides has 4 numbers; expected 2");
}

TEST(windows_are_cut_to_the_input)
{
	const struct window window = { .in = { 1, 1, 5 },
				       .kernel = { 1, 1, 3 },
				       .dilations = { 1, 1, 2 } };
	static const int64_t cases[][3] = { { -3, 2, 3 }, { -1, 1, 3 }, { 0, 0, 3 },
					    { 1, 0, 2 },  { 4, 0, 1 },  { 5, 0, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t first, past;

		window_clip(&window, 2, cases[i][0], &first, &past);
		CHECK_INT(first, cases[i][1]);
		CHECK_INT(past, cases[i][2]);
	}
}
