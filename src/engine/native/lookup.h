/*
 * Results whose elements are picked by a table for each dimension: the element at (i0, i1, …) is the input's at (table0[i0], table1[i1], …), or a given
 * one where a table has -1. Padding and the nearest neighbours of a resized picture are such results.
 */
#ifndef ENGINE_NATIVE_LOOKUP_H
#define ENGINE_NATIVE_LOOKUP_H

#include "engine/native/native.h"
#include "engine/team.h"

struct lookup {
	size_t rank;
	const int64_t *in, *out;      /* dimensions */
	const int64_t *const *tables; /* out[i] indices below in[i], or -1 */
	const void *from;
	void *to;
	size_t width;       /* bytes of an element: 1, 2, 4, 8 */
	const void *filler; /* one element, where a table has -1 */
};
void lookup_run(struct engine_team *team, const struct lookup *lookup);

#endif
