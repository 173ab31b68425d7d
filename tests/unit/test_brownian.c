#include "test.h"

#include <strata/brownian.h>

#include <math.h>
#include <stdlib.h>

enum { COUNT = 20 };

/* torchsde.BrownianTree(t0=0.0291675, w0=zeros(20), t1=14.6146, entropy=seed) of torchsde 0.2.6 on torch 2.13, divided by the root of the length, with the sign of a
 * step down. */
static void check(uint64_t seed, double from, double to, const float *want, size_t count)
{
	struct strata_brownian tree = { seed, (double)0.0291675f, (double)14.6146f };
	float values[COUNT];
	void *scratch = malloc(strata_brownian_scratch(COUNT));

	CHECK(scratch);
	strata_brownian_normal(&tree, (double)(float)from, (double)(float)to, COUNT, scratch,
			       values);
	for (size_t i = 0; i < count; i++)
		CHECK_NEAR((double)values[i], (double)want[i], 2e-5);
	free(scratch);
}

TEST(a_path_is_torchsdes)
{
	check(0u, 14.6146, 9.0, (const float[]){ 0.03244148F, -1.028362F, 0.02983708F, 0.9848614F },
	      4);
	check(42u, 9.0, 4.123456,
	      (const float[]){ -0.3332378F, -0.7767317F, -0.07913363F, 1.474331F }, 4);
	check(1099511627781ull, 0.7, 0.0291675,
	      (const float[]){ 0.555096F, 0.817705F, 0.06480521F, 1.002506F }, 4);
	check(1234u, 3.0, 2.999, (const float[]){ 1.192691F, 0.3284092F, -1.91661F, -0.02214337F },
	      4);
}

TEST(stretches_add_up)
{
	struct strata_brownian tree = { 7, 0.03, 14 };
	float upper[COUNT], lower[COUNT], whole[COUNT];
	void *scratch = malloc(strata_brownian_scratch(COUNT));

	CHECK(scratch);
	strata_brownian_normal(&tree, 9, 4, COUNT, scratch, upper);
	strata_brownian_normal(&tree, 4, 1.5, COUNT, scratch, lower);
	strata_brownian_normal(&tree, 9, 1.5, COUNT, scratch, whole);
	for (size_t i = 0; i < COUNT; i++)
		CHECK_NEAR((double)whole[i] * sqrt(7.5),
			   (double)upper[i] * sqrt(5) + (double)lower[i] * sqrt(2.5), 1e-5);
	/* levels outside are the ends, and the other way round is the other sign */
	strata_brownian_normal(&tree, 99, 0, COUNT, scratch, upper);
	strata_brownian_normal(&tree, 0.03, 14, COUNT, scratch, lower);
	for (size_t i = 0; i < COUNT; i++)
		CHECK_NEAR((double)upper[i] * sqrt(99), -(double)lower[i] * sqrt(13.97), 1e-4);
	strata_brownian_normal(&tree, 2, 2, COUNT, scratch, whole);
	CHECK(whole[0] == 0);
	free(scratch);
}
