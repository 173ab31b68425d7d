/* Sums of a row of float32 in double, in one order for all that add up rows: eight running sums of every eighth, those added in order, then the rest. */
#ifndef ENGINE_NATIVE_SUMS_H
#define ENGINE_NATIVE_SUMS_H

#include <stdint.h>

#define SUMS_OF(name, type, term)                              \
	static inline double name(const type *at, int64_t count) \
	{                                                      \
		double sums[8] = { 0 }, sum = 0;               \
		int64_t i = 0;                                 \
		for (; i + 8 <= count; i += 8)                 \
			for (int k = 0; k < 8; k++) {          \
				type v = at[i + k];            \
				sums[k] += (double)(term);     \
			}                                      \
		for (int k = 0; k < 8; k++)                    \
			sum += sums[k];                        \
		for (; i < count; i++) {                       \
			type v = at[i];                        \
			sum += (double)(term);                 \
		}                                              \
		return sum;                                    \
	}
SUMS_OF(sums_of_floats, float, v)
SUMS_OF(sums_of_doubles, double, v)
SUMS_OF(sums_of_squares, float, v *v) /* squares as float32: rounded before they are added */

/* Mean and variance of a run of floats: eight partial sums in double, added up in order. */
static inline void sums_moments(const float *at, int64_t count, double *ret_mean,
				double *ret_variance)
{
	double sums[8] = { 0 }, squares[8] = { 0 }, sum = 0, square = 0;
	int64_t i = 0;

	for (; i + 8 <= count; i += 8)
		for (int k = 0; k < 8; k++)
			sums[k] += at[i + k];
	for (int k = 0; k < 8; k++)
		sum += sums[k];
	for (; i < count; i++)
		sum += at[i];
	double mean = count ? sum / (double)count : 0;

	for (i = 0; i + 8 <= count; i += 8)
		for (int k = 0; k < 8; k++) {
			double off = at[i + k] - mean;

			squares[k] += off * off;
		}
	for (int k = 0; k < 8; k++)
		square += squares[k];
	for (; i < count; i++)
		square += (at[i] - mean) * (at[i] - mean);
	*ret_mean = mean;
	*ret_variance = count ? square / (double)count : 0;
}

#endif
