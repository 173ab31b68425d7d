/*
 * Rows, vectorised. A kernel is a table of small loops, one per shape of a row: how many values are read, how many sums they go
 * into, whether y is among them. Each loop loads a value once and stores a result once; the compiler makes all of them from
 * one function with constant arguments (kernel_body.h), once for each instruction set. What has no loop of its own goes through
 * blocks in the first cache, sum by sum.
 */
#ifndef SOLVER_KERNEL_H
#define SOLVER_KERNEL_H

#include "solver/terms.h"

enum {
	KERNEL_VALUES_MAX = 8, /* that one loop reads */
	KERNEL_SUMS_MAX = 3,   /* that one loop adds up */
	KERNEL_LANES_MAX = 16, /* floats of a vector */
	KERNEL_BLOCK = 256,    /* floats of a block */
};

/* The sums of a loop, beside the first, which has all values. */
enum kernel_shape {
	SHAPE_ONE,       /* no other */
	SHAPE_FIRST,     /* one, of the first value */
	SHAPE_TWO,       /* one, of the first two values */
	SHAPE_ALL,       /* one, of all values */
	SHAPE_ALL_FIRST, /* two: of all values and of the first */
	SHAPE_COUNT
};

struct kernel_call {
	const void *values[KERNEL_VALUES_MAX]; /* [0] is not read when y takes its place */
	const float *factors[KERNEL_SUMS_MAX]; /* per sum, as many as it has terms */
	void *results[KERNEL_SUMS_MAX];        /* may be values */
	size_t count; /* elements, a multiple of the lanes; of twice as many for STRATA_BF16 */
	bool last_is_float; /* the last value is float32 whatever the others are: the noise */
	const void *sample, *output; /* from here on: of y */
	float p, q, most;
	bool limited, divided;
};

typedef void kernel_loop(const struct kernel_call *call);

struct kernel {
	size_t lanes;
	/* [enum strata_element][is the first value y][number of values][shape]; NULL: no such loop. With one sum there are
	 * all of up to KERNEL_VALUES_MAX values without y. */
	kernel_loop *loops[3][2][KERNEL_VALUES_MAX + 1][SHAPE_COUNT];
	/* [enum strata_element]: any count; none for STRATA_F32. */
	void (*load[3])(const uint16_t *from, float *to, size_t count);
	void (*store[3])(const float *from, uint16_t *to, size_t count);
};

/* NULL: not built for this machine, or STRATA_ISA_SCALAR. */
const struct kernel *kernel_find(enum strata_isa isa);

/* As row_apply. */
void kernel_apply(const struct kernel *kernel, const struct terms *terms,
		  const struct strata_solver_item *item, enum strata_element element, size_t first,
		  size_t count, float most);

/* y of `count` elements from `first` on, before it is limited; count is at most KERNEL_BLOCK. */
void kernel_clean(const struct kernel *kernel, const struct terms *terms,
		  const struct strata_solver_item *item, enum strata_element element, size_t first,
		  size_t count, float ret_clean[KERNEL_BLOCK]);

#endif
