/*
 * Real numbers that come out the same, bit for bit, on every machine. Sums, products and quotients
 * do so by IEEE 754; the functions of libm do not (they differ between versions and processors), so
 * a decision that must be replayed elsewhere uses these.
 */
#ifndef CORE_REAL_H
#define CORE_REAL_H

#include <stdint.h>

/* 2 to the power x, to within one or two units in the last place; exact when x is whole. 0 far
 * below, infinite far above, NaN for NaN. */
double real_exp2(double x);

/* The logarithm of x to base 2, to within one or two units in the last place of the larger of it
 * and 1; exact when x is a power of two. Minus infinity for 0, NaN below and for NaN. */
double real_log2(double x);

/* A sum with twice the digits of a double: taking away what was added gives back what was there,
 * and small amounts add up beside large ones. Zeroed: 0. The value is high + low, high alone being
 * its nearest double. */
struct real_sum {
	double high;
	double low;
};

void real_sum_add(struct real_sum *sum, double amount);
/* Negative, 0 or positive as a is below, equal to or above b. */
int real_sum_compare(const struct real_sum *a, const struct real_sum *b);

/* A key for heap.h that orders as the numbers do. x must not be NaN; −0 is 0. */
uint64_t real_key(double x);

#endif
