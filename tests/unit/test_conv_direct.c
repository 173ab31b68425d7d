/* Convolutions without a library: beside plain sums, for one member and several, one thread and several. */
#include "engine_sample.h"

#include "engine/native/conv_direct.h"

#include <stdlib.h>

static float *numbers(int64_t count, uint32_t seed)
{
	float *at = malloc((size_t)(count + 1) * sizeof(*at));

	CHECK(at);
	for (int64_t i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		at[i] = (float)(int32_t)seed * 0x1p-31f;
	}
	return at;
}

static double expected(const struct conv_direct *conv, int64_t member, int64_t channel, int64_t row,
		       int64_t column)
{
	bool depth = conv->kernel[0] > 0;
	double sum = conv->bias ? (double)conv->bias[channel] : 0;
	int64_t area = conv->in[0] * conv->in[1];

	for (int64_t c = 0; !depth && c < conv->in_channels; c++)
		sum += (double)conv->weights[channel * conv->in_channels + c] *
		       conv->x[(member * conv->in_channels + c) * area + row * conv->in[1] + column];
	for (int64_t i = 0; depth && i < conv->kernel[0] * conv->kernel[1]; i++) {
		int64_t y = row * conv->strides[0] + i / conv->kernel[1] * conv->dilations[0] -
			    conv->before[0];
		int64_t x = column * conv->strides[1] + i % conv->kernel[1] * conv->dilations[1] -
			    conv->before[1];

		if (y >= 0 && y < conv->in[0] && x >= 0 && x < conv->in[1])
			sum += (double)conv->weights[channel * conv->kernel[0] * conv->kernel[1] + i] *
			       conv->x[(member * conv->in_channels + channel) * area +
				       y * conv->in[1] + x];
	}
	return sum;
}

/* A kernel of 0 stands for one element over all channels. */
static void check(struct conv_direct conv)
{
	bool depth = conv.kernel[0] > 0;
	int64_t in = conv.in_channels * conv.in[0] * conv.in[1];
	int64_t out = conv.out_channels * conv.out[0] * conv.out[1];
	int64_t weights = depth ? conv.out_channels * conv.kernel[0] * conv.kernel[1]
				: conv.out_channels * conv.in_channels;
	float *x = numbers(conv.members * in, 1), *w = numbers(weights, 2);
	float *bias = numbers(conv.out_channels, 3), *y = numbers(conv.members * out, 4);
	float *other = numbers(conv.members * out, 5);
	int (*run)(const struct conv_direct *, struct engine_heap *, struct engine_team *,
		   struct strata_error *) = depth ? conv_depthwise : conv_pointwise;
	struct engine_team three = { 3 };
	struct engine_sample sample;
	struct strata_error err = { 0 };

	engine_sample_init(&sample, 1);
	conv.x = x;
	conv.weights = w;
	conv.bias = bias;
	conv.y = y;
	CHECK_OK(run(&conv, &sample.heap, &sample.team, &err));
	for (int64_t i = 0; i < conv.members * out; i++) {
		int64_t area = conv.out[0] * conv.out[1], place = i % area;

		CHECK_NEAR(y[i], expected(&conv, i / out, i / area % conv.out_channels,
					  place / conv.out[1], place % conv.out[1]),
			   1e-4);
	}
	conv.y = other;
	CHECK_OK(run(&conv, &sample.heap, &three, &err));
	CHECK_BYTES(other, y, (size_t)(conv.members * out) * sizeof(*y));
	conv.x = x + (conv.members - 1) * in; /* the last member alone */
	conv.members = 1;
	CHECK_OK(run(&conv, &sample.heap, &sample.team, &err));
	CHECK_BYTES(other, y + (conv.x - x) / in * out, (size_t)out * sizeof(*y));
	engine_sample_fini(&sample);
	free(x);
	free(w);
	free(bias);
	free(y);
	free(other);
}

TEST(one_element)
{
	check((struct conv_direct){ .members = 3, .in_channels = 5, .out_channels = 7,
				    .in = { 4, 5 }, .out = { 4, 5 } });
	check((struct conv_direct){ .members = 2, .in_channels = 300, .out_channels = 14,
				    .in = { 6, 6 }, .out = { 6, 6 } });
}

TEST(one_element_of_small_pictures)
{
	check((struct conv_direct){ .members = 2, .in_channels = 9, .out_channels = 13,
				    .in = { 4, 12 }, .out = { 4, 12 } });
}

TEST(one_channel_each)
{
	check((struct conv_direct){ .members = 2, .in_channels = 3, .out_channels = 3,
				    .in = { 9, 11 }, .out = { 9, 11 }, .kernel = { 3, 3 },
				    .strides = { 1, 1 }, .dilations = { 1, 1 }, .before = { 1, 1 } });
	check((struct conv_direct){ .members = 2, .in_channels = 4, .out_channels = 4,
				    .in = { 16, 17 }, .out = { 8, 9 }, .kernel = { 3, 3 },
				    .strides = { 2, 2 }, .dilations = { 1, 1 }, .before = { 1, 1 } });
	check((struct conv_direct){ .members = 2, .in_channels = 2, .out_channels = 2,
				    .in = { 12, 12 }, .out = { 4, 8 }, .kernel = { 5, 2 },
				    .strides = { 1, 1 }, .dilations = { 2, 4 } });
	check((struct conv_direct){ .members = 1, .in_channels = 2, .out_channels = 2,
				    .in = { 3, 3 }, .out = { 7, 7 }, .kernel = { 3, 3 },
				    .strides = { 1, 1 }, .dilations = { 1, 1 }, .before = { 3, 3 } });
}

TEST(memory_may_run_out)
{
	float x[64] = { 0 };
	struct conv_direct conv = { .members = 1, .in_channels = 1, .out_channels = 1,
				    .in = { 4, 5 }, .out = { 4, 5 }, .kernel = { 1, 1 },
				    .strides = { 1, 1 }, .dilations = { 1, 1 },
				    .x = x, .weights = x, .y = x };
	struct engine_sample sample;
	struct strata_error err = { 0 };

	engine_sample_init(&sample, 1);
	sample.memory.fail_at = 1;
	sample.memory.fail_from_there = true;
	CHECK_INT(conv_pointwise(&conv, &sample.heap, &sample.team, &err), -ENOMEM);
	CHECK_INT(conv_depthwise(&conv, &sample.heap, &sample.team, &err), -ENOMEM);
	sample.memory.fail_at = 0;
	engine_sample_fini(&sample);
}
