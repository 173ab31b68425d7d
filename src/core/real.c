/* Repeatable arithmetic: see real.h. The compiler must not contract a·b + c (meson.build sees to
 * it). */
#include "core/real.h"

#include <assert.h>
#include <math.h>
#include <string.h>

double real_exp2(double x)
{
	/* e^y = Σ y^n / n!, with |y| ≤ ln(2) / 2: the term after the last is below 1e-19. */
	static const double terms[] = {
		1.0,
		1.0,
		1.0 / 2,
		1.0 / 6,
		1.0 / 24,
		1.0 / 120,
		1.0 / 720,
		1.0 / 5040,
		1.0 / 40320,
		1.0 / 362880,
		1.0 / 3628800,
		1.0 / 39916800,
		1.0 / 479001600,
		1.0 / 6227020800,
		1.0 / 87178291200,
	};

	if (isnan(x))
		return x;
	if (x < -1100)
		return 0;
	if (x > 1100)
		return INFINITY;
	double whole = floor(x + 0.5), y = (x - whole) * 0x1.62e42fefa39efp-1, sum = 0;

	for (int n = (int)(sizeof(terms) / sizeof(terms[0])) - 1; n >= 0; n--)
		sum = sum * y + terms[n];
	return ldexp(sum, (int)whole);
}

double real_log2(double x)
{
	/* With x = m·2^e, m from √½ to √2: ln m = 2 atanh((m − 1) / (m + 1)) = 2 Σ s^n / n over odd n,
	 * where s² < 0.0295: the term after the last is below 1e-18 of the first. */
	int exponent;
	double m = frexp(x, &exponent);

	if (!(x > 0) || isinf(x))
		return x > 0 ? x : x == 0 ? -INFINITY : NAN;
	if (m < 0.70710678118654752440) {
		m *= 2;
		exponent--;
	}
	double s = (m - 1) / (m + 1), square = s * s, sum = 0;

	for (int n = 23; n >= 3; n -= 2)
		sum = (sum + 1.0 / n) * square;
	return (s + s * sum) * 0x1.71547652b82fep1 + exponent; /* 2 / ln 2 */
}

void real_sum_add(struct real_sum *sum, double amount)
{
	/* What the first addition loses is computed exactly (Knuth's two-sum) and kept in low. */
	double high = sum->high + amount, part = high - sum->high;
	double lost = (sum->high - (high - part)) + (amount - part) + sum->low;

	sum->high = high + lost;
	sum->low = lost - (sum->high - high);
}

int real_sum_compare(const struct real_sum *a, const struct real_sum *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return (a->low > b->low) - (a->low < b->low);
}

uint64_t real_key(double x)
{
	const uint64_t sign = 1ull << 63;
	uint64_t bits;

	assert(!isnan(x));
	x += 0.0; /* turns −0 into 0 */
	memcpy(&bits, &x, sizeof(bits));
	return bits & sign ? ~bits : bits | sign;
}
