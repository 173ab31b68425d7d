/* Reading windows: see window.h. */
#include "engine/native/window.h"

#include <string.h>

/* Numbers that an attribute has for each spatial dimension, into the last of three. */
static int read_list(struct native_call *call, const char *name, size_t spatial, int64_t *ret,
		     struct strata_error *err)
{
	size_t given;
	const int64_t *values = native_ints(call, name, &given);

	if (values && given != spatial)
		return native_refuse(call, err, "%s has %zu numbers; expected %zu", name, given,
				     spatial);
	for (size_t i = 0; i < WINDOW_SPATIAL_MAX; i++)
		ret[i] = 1;
	for (size_t i = 0; values && i < spatial; i++) {
		if (values[i] < 1 || values[i] > INT32_MAX)
			return native_refuse(call, err, "%s has %lld; expected 1 or more", name,
					     (long long)values[i]);
		ret[WINDOW_SPATIAL_MAX - spatial + i] = values[i];
	}
	return 0;
}

static int read_pads(struct native_call *call, struct window *window, struct strata_error *err)
{
	size_t given, lack = WINDOW_SPATIAL_MAX - window->spatial;
	const int64_t *values = native_ints(call, "pads", &given);

	if (values && given != 2 * window->spatial)
		return native_refuse(call, err, "pads has %zu numbers; expected %zu", given,
				     2 * window->spatial);
	for (size_t i = 0; values && i < window->spatial; i++) {
		int64_t before = values[i], after = values[window->spatial + i];

		if (before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX)
			return native_refuse(call, err, "pads has %lld and %lld", (long long)before,
					     (long long)after);
		window->before[lack + i] = before;
		window->after[lack + i] = after;
	}
	return 0;
}

int window_read_attributes(struct native_call *call, const struct engine_value *x,
			   const int64_t *kernel, struct window *ret_window,
			   struct strata_error *err)
{
	struct window window = { 0 };

	if (x->rank < 3 || x->rank > 2 + WINDOW_SPATIAL_MAX)
		return native_refuse(call, err, "input 1 has %u dimensions; expected 3 to 5",
				     x->rank);
	window.spatial = x->rank - 2;
	size_t given, lack = WINDOW_SPATIAL_MAX - window.spatial;
	const int64_t *values = native_ints(call, "kernel_shape", &given);
	int rc = read_list(call, "kernel_shape", window.spatial, window.kernel, err);

	if (rc == 0 && !values && !kernel)
		rc = native_refuse(call, err, "kernel_shape is missing");
	if (rc == 0)
		rc = read_list(call, "strides", window.spatial, window.strides, err);
	if (rc == 0)
		rc = read_list(call, "dilations", window.spatial, window.dilations, err);
	if (rc == 0)
		rc = read_pads(call, &window, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < WINDOW_SPATIAL_MAX; i++) {
		window.in[i] = i < lack ? 1 : x->dims[2 + i - lack];
		if (kernel && i >= lack)
			window.kernel[i] = kernel[i - lack];
		if (window.kernel[i] < 1 || window.kernel[i] > INT32_MAX ||
		    window.in[i] > INT64_MAX / 8)
			return native_refuse(call, err, "the kernel has %lld elements in a row",
					     (long long)window.kernel[i]);
	}
	*ret_window = window;
	return 0;
}

/* Padding that makes the output as large as the input by the stride: the odd one goes behind (upper) or in front. */
static void pad_same(struct window *window, size_t i, bool upper)
{
	int64_t stride = window->strides[i];
	int64_t out = (window->in[i] + stride - 1) / stride;
	int64_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
	int64_t total = (out - 1) * stride + reach - window->in[i];

	if (total < 0)
		total = 0;
	window->before[i] = upper ? total / 2 : total - total / 2;
	window->after[i] = total - window->before[i];
}

int window_read(struct native_call *call, const struct engine_value *x, const int64_t *kernel,
		struct window *ret_window, struct strata_error *err)
{
	const char *automatic = native_text(call, "auto_pad", "NOTSET");
	bool upper = strcmp(automatic, "SAME_UPPER") == 0;
	bool same = upper || strcmp(automatic, "SAME_LOWER") == 0;
	bool round_up = native_int(call, "ceil_mode", 0);
	struct window window;
	int rc = window_read_attributes(call, x, kernel, &window, err);

	if (rc)
		return rc;
	if (strcmp(automatic, "VALID") == 0) {
		memset(window.before, 0, sizeof(window.before));
		memset(window.after, 0, sizeof(window.after));
	}
	for (size_t i = 0; i < WINDOW_SPATIAL_MAX; i++) {
		int64_t stride = window.strides[i];
		int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;

		if (same)
			pad_same(&window, i, upper);
		int64_t room = window.in[i] + window.before[i] + window.after[i] - reach;

		if (room < 0)
			return native_refuse(
				call, err, "the window reaches %lld and the padded input has %lld",
				(long long)reach, (long long)(room + reach));
		window.out[i] = (room + (round_up ? stride - 1 : 0)) / stride + 1;
		/* A window that would begin behind the input is none. */
		if (round_up && (window.out[i] - 1) * stride >= window.in[i] + window.before[i])
			window.out[i]--;
	}
	*ret_window = window;
	return 0;
}

int64_t window_in_area(const struct window *window)
{
	return window->in[0] * window->in[1] * window->in[2];
}

int64_t window_out_area(const struct window *window)
{
	return window->out[0] * window->out[1] * window->out[2];
}
