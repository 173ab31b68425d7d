/*
 * Convolutions that need no library and no other layout: those of one element (a matrix product over channels) and those of one channel each (depthwise, two
 * dimensions). Rows stay as the model has them, where oneDNN would lay pictures out anew before and after. An element's sum runs over channels, or over the
 * kernel's elements from the first to the last, whatever stands beside it.
 */
#ifndef ENGINE_NATIVE_CONV_DIRECT_H
#define ENGINE_NATIVE_CONV_DIRECT_H

#include "engine/engine_heap.h"
#include "engine/team.h"

enum { CONV_TAPS_MAX = 64 }; /* elements of a kernel for one channel */

struct conv_direct {
	int64_t members, in_channels, out_channels;
	int64_t in[2], out[2], kernel[2], strides[2], dilations[2], before[2]; /* rows, columns */
	const float *x, *weights, *bias; /* bias NULL: none */
	float *y;
};

/* A kernel of one element, strides of 1, no padding; in[0]·in[1] is the area. -ENOMEM. */
int conv_pointwise(const struct conv_direct *conv, struct engine_heap *heap,
		   struct engine_team *team, struct strata_error *err);
/* One kernel for each channel, of at most CONV_TAPS_MAX elements. -ENOMEM. */
int conv_depthwise(const struct conv_direct *conv, struct engine_heap *heap,
		   struct engine_team *team, struct strata_error *err);

#endif
