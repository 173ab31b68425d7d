#include "test.h"

#include "core/real.h"
#include "random.h"

#include <float.h>
#include <math.h>

TEST(powers_of_two_are_exact_and_the_rest_nearly)
{
	uint64_t seed = 11;

	for (int n = -1074; n <= 1023; n++)
		CHECK(real_exp2(n) == ldexp(1, n));
	for (int i = 0; i < 100000; i++) {
		double x = ((double)random_next(&seed) / 0x1p64 - 0.5) * (i % 2 ? 2000 : 4);
		double want = exp2(x);

		CHECK_NEAR(real_exp2(x) / want, 1, 2 * DBL_EPSILON);
	}
}

TEST(the_bits_are_the_same_on_every_machine)
{
	uint64_t seed = 12, digest = 0;

	for (int i = 0; i < 10000; i++) {
		double x = (double)(random_next(&seed) >> 11) * 0x1p-53 * 600 - 300;

		digest = (digest ^ real_key(real_exp2(x))) * 0x100000001B3;
	}
	CHECK_INT(digest, 2559821811445483345);
}

TEST(far_out_there_is_zero_or_infinity)
{
	CHECK(real_exp2(-1076) == 0);
	CHECK(real_exp2(-1e300) == 0);
	CHECK(real_exp2(-INFINITY) == 0);
	CHECK(isinf(real_exp2(1024)));
	CHECK(isinf(real_exp2(INFINITY)));
	CHECK(isnan(real_exp2(NAN)));
	CHECK(real_exp2(-1074.9) > 0); /* the smallest double there is */
}

TEST(logarithms_of_powers_of_two_are_exact_and_the_rest_nearly)
{
	uint64_t seed = 13, digest = 0;

	for (int n = -1074; n <= 1023; n++)
		CHECK(real_log2(ldexp(1, n)) == n);
	for (int i = 0; i < 100000; i++) {
		double x = real_exp2(((double)(random_next(&seed) >> 11) * 0x1p-53 - 0.5) *
				     (i % 2 ? 2000 : 4));
		double got = real_log2(x);

		CHECK_NEAR(got, log2(x), 2 * DBL_EPSILON * fmax(1, fabs(got)));
		digest = (digest ^ real_key(got)) * 0x100000001B3;
	}
	CHECK_INT(digest, 2715552622836016026);
	CHECK(real_log2(0) == -INFINITY && real_log2(INFINITY) == INFINITY);
	CHECK(isnan(real_log2(-1)) && isnan(real_log2(NAN)) && isnan(real_log2(-INFINITY)));
}

TEST(a_sum_gives_back_what_was_there)
{
	struct real_sum sum = { 0 };

	real_sum_add(&sum, 1);
	real_sum_add(&sum, 1e18);
	real_sum_add(&sum, 0.5);
	real_sum_add(&sum, -1e18);
	CHECK(sum.high == 1.5 && sum.low == 0);
	for (int i = 0; i < 1000000; i++)
		real_sum_add(&sum, 0.1);
	CHECK_NEAR(sum.high, 100001.5, 1e-10);
}

TEST(sums_that_differ_by_little_compare)
{
	struct real_sum a = { 0 }, b = { 0 };

	real_sum_add(&a, 1e20);
	real_sum_add(&b, 1e20);
	CHECK_INT(real_sum_compare(&a, &b), 0);
	real_sum_add(&b, 0.001);
	CHECK(a.high == b.high);
	CHECK(real_sum_compare(&a, &b) < 0);
	CHECK(real_sum_compare(&b, &a) > 0);
	real_sum_add(&a, 1e6);
	CHECK(real_sum_compare(&a, &b) > 0);
	CHECK(real_sum_compare(&b, &a) < 0);
}

TEST(keys_order_as_the_numbers_do)
{
	static const double rising[] = { -INFINITY, -DBL_MAX, -2, -1, -DBL_MIN, -0x1p-1074, 0,
					 0x1p-1074, DBL_MIN,  1,  2,  DBL_MAX,  INFINITY };

	for (size_t i = 1; i < sizeof(rising) / sizeof(rising[0]); i++)
		CHECK(real_key(rising[i - 1]) < real_key(rising[i]));
	CHECK(real_key(-0.0) == real_key(0.0));
}
