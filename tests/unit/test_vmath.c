#include "test.h"

#include "engine/native/vmath.h"

#include <math.h>
#include <string.h>

static double wide_silu(double x)
{
	return x / (1 + exp(-x));
}
static double wide_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}
static double wide_gelu(double x)
{
	return x * erfc(-x * 0.70710678118654752440) / 2;
}
static double wide_gelu_tanh(double x)
{
	return x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))) / 2;
}

/* Range, and the error allowed: so many units in the last place of the result, plus an absolute part where results come near 0. */
static const struct {
	enum vmath function;
	double (*exact)(double);
	double low, high, units, absolute;
} cases[] = {
	{ VMATH_ACOS, acos, -1, 1, 4, 1e-7 },
	{ VMATH_ACOSH, acosh, 1.01, 50, 4, 1e-7 },
	{ VMATH_ASIN, asin, -1, 1, 4, 0 },
	{ VMATH_ASINH, asinh, -50, 50, 4, 0 },
	{ VMATH_ATAN, atan, -50, 50, 4, 0 },
	{ VMATH_ATANH, atanh, -0.99, 0.99, 4, 0 },
	{ VMATH_COS, cos, -100, 100, 4, 1e-7 },
	{ VMATH_COSH, cosh, -20, 20, 4, 0 },
	{ VMATH_ERF, erf, -5, 5, 4, 0 },
	{ VMATH_EXP, exp, -80, 80, 4, 0 },
	{ VMATH_EXPM1, expm1, -20, 20, 4, 0 },
	{ VMATH_LOG, log, 1e-5, 1e5, 4, 1e-7 },
	{ VMATH_LOG1P, log1p, -0.9, 100, 4, 0 },
	{ VMATH_SIN, sin, -100, 100, 4, 1e-7 },
	{ VMATH_SINH, sinh, -20, 20, 4, 0 },
	{ VMATH_TAN, tan, -1.5, 1.5, 4, 0 },
	{ VMATH_TANH, tanh, -10, 10, 4, 0 },
	{ VMATH_SIGMOID, wide_sigmoid, -20, 20, 8, 0 },
	{ VMATH_SILU, wide_silu, -20, 20, 8, 0 },
	{ VMATH_GELU, wide_gelu, -4, 10, 8, 1e-6 },
	{ VMATH_GELU_TANH, wide_gelu_tanh, -4, 10, 8, 1e-6 },
};

TEST(functions_are_near_to_the_exact_ones)
{
	enum { COUNT = 4001 };
	static float x[COUNT], y[COUNT];

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		for (int i = 0; i < COUNT; i++)
			x[i] = (float)(cases[c].low +
				       (cases[c].high - cases[c].low) * i / (COUNT - 1));
		vmath_apply(cases[c].function, x, COUNT, y);
		for (int i = 0; i < COUNT; i++) {
			double exact = cases[c].exact(x[i]);

			CHECK_NEAR(y[i], exact,
				   cases[c].units * fabs(exact) * 0x1p-23 + cases[c].absolute +
					   1e-37);
		}
	}
}

TEST(a_number_has_the_same_result_at_any_place)
{
	float x[40], whole[40], part[40];

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		for (int i = 0; i < 40; i++)
			x[i] = (float)(cases[c].low + (cases[c].high - cases[c].low) * i / 39);
		vmath_apply(cases[c].function, x, 40, whole);
		for (int first = 0; first < 40; first += 3)
			for (int count = 1; first + count <= 40; count += 5) {
				vmath_apply(cases[c].function, x + first, count, part);
				CHECK_BYTES(part, whole + first, (size_t)count * sizeof(*part));
			}
		memcpy(part, x, sizeof(x)); /* in place */
		vmath_apply(cases[c].function, part, 40, part);
		CHECK_BYTES(part, whole, sizeof(whole));
	}
}

TEST(sums_of_exponentials)
{
	const float x[11] = { 1, 2, 3, -1, -INFINITY, 0, 0.5f, 2.5f, 3, 1, 1 };
	float y[11];
	double sum = 0;

	float got = vmath_exp_sum(x, 11, 3, y);

	for (int i = 0; i < 11; i++) {
		CHECK_NEAR(y[i], exp(x[i] - 3.0), 1e-6);
		sum += exp(x[i] - 3.0);
	}
	CHECK_NEAR(got, sum, 1e-5);
	CHECK_NEAR(y[4], 0, 0);
}

TEST(a_row_becomes_shares)
{
	float x[37], y[37], z[37];

	for (int i = 0; i < 37; i++)
		x[i] = i % 5 == 4 ? -1e9f : (float)(i * 7 % 11) - 3;
	for (int count = 1; count <= 37; count++) {
		double sum = 0, total = 0;

		vmath_softmax(x, count, y);
		for (int i = 0; i < count; i++)
			sum += exp((double)x[i] - 7);
		for (int i = 0; i < count; i++) {
			CHECK_NEAR(y[i], exp((double)x[i] - 7) / sum, 3e-7);
			total += (double)y[i];
		}
		CHECK_NEAR(total, 1, 1e-6);
		memcpy(z, x, sizeof(z));
		vmath_softmax(z, count, z); /* in place */
		CHECK_BYTES(z, y, (size_t)count * sizeof(*y));
	}
	CHECK_NEAR(vmath_largest(x, 37), 7, 0);
	CHECK(isinf(vmath_largest(x, 0)));
}

TEST(shares_of_what_is_no_number)
{
	float x[9] = { 1, NAN, 2, 0, 0, 0, 0, 0, 0 }, y[9];

	vmath_softmax(x, 9, y);
	for (int i = 0; i < 9; i++)
		CHECK(isnan(y[i]));
	for (int i = 0; i < 9; i++)
		x[i] = -INFINITY;
	vmath_softmax(x, 9, y);
	CHECK(isnan(y[0]) && isnan(y[8]));
	x[3] = 5; /* all but one are masked */
	vmath_softmax(x, 9, y);
	CHECK_NEAR(y[3], 1, 0);
	CHECK_NEAR(y[8], 0, 0);
}

TEST(exponentials_are_exact_to_the_last_bits)
{
	float x[8000], y[8000];

	for (int i = 0; i < 8000; i++)
		x[i] = -(float)i / 92;
	vmath_exp_sum(x, 8000, 0, y);
	for (int i = 0; i < 8000; i++) {
		double exact = exp((double)x[i]);

		CHECK_NEAR(y[i], exact, exact * 3 * 0x1p-24 + 0x1p-126);
	}
}
