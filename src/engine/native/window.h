/* Windows that slide over the spatial dimensions of a tensor [members channels d1 d2 …]: what pooling and integer convolutions read of a node. */
#ifndef ENGINE_NATIVE_WINDOW_H
#define ENGINE_NATIVE_WINDOW_H

#include "engine/native/native.h"

enum { WINDOW_SPATIAL_MAX = 3 };

/* Always three dimensions: those that a tensor lacks are in front, with one element. */
struct window {
	size_t spatial; /* that the tensor has, 1 to 3 */
	int64_t in[WINDOW_SPATIAL_MAX], out[WINDOW_SPATIAL_MAX], kernel[WINDOW_SPATIAL_MAX];
	int64_t strides[WINDOW_SPATIAL_MAX], dilations[WINDOW_SPATIAL_MAX];
	int64_t before[WINDOW_SPATIAL_MAX], after[WINDOW_SPATIAL_MAX]; /* padding */
};

/* x's dimensions from the third on; the kernel's size is given, or NULL for the attribute kernel_shape. Attributes: auto_pad, ceil_mode,
 * dilations, pads, strides. */
int window_read(struct native_call *call, const struct engine_value *x, const int64_t *kernel,
		struct window *ret_window, struct strata_error *err);
/* The same without sizes of the output, which is not made by sliding (MaxUnpool). */
int window_read_attributes(struct native_call *call, const struct engine_value *x,
			   const int64_t *kernel, struct window *ret_window,
			   struct strata_error *err);

/* Elements of one channel, in and out. */
int64_t window_in_area(const struct window *window);
int64_t window_out_area(const struct window *window);

/* The part of the kernel that is inside the input when the window begins at `begin`: positions first … past − 1. */
static inline void window_clip(const struct window *window, size_t axis, int64_t begin,
			       int64_t *ret_first, int64_t *ret_past)
{
	int64_t step = window->dilations[axis], in = window->in[axis], past = window->kernel[axis];

	*ret_first = begin < 0 ? (-begin + step - 1) / step : 0;
	if (begin + (past - 1) * step >= in)
		past = in > begin ? (in - begin + step - 1) / step : 0;
	*ret_past = past;
}

#endif
