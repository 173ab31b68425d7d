#include "row_sample.h"

#include "solver/threshold.h"

#include <math.h>

enum { COUNT = 3000 };

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* torch.quantile, by sorting. */
static float quantile(float *values, size_t count, float ratio)
{
	qsort(values, count, sizeof(*values), by_value);
	float position = ratio * (float)(count - 1);
	float below = values[(size_t)position], above = values[(size_t)ceilf(position)];
	float weight = position - floorf(position);

	return weight < 0.5f ? below + weight * (above - below)
			     : above - (above - below) * (1 - weight);
}

static float found(const struct kernel *kernel, struct strata_solver_row *row, float *sample,
		   size_t count)
{
	struct strata_solver_item item = { .row = row, .sample = sample, .output = sample };
	struct terms terms;

	terms_of(row, &terms);
	return threshold_find(kernel, &terms, &item, STRATA_F32, count);
}

/* What sorting finds, for the reference and for this machine's best kernel. */
static void check(struct strata_solver_row *row, const float *sample, size_t count)
{
	float magnitudes[COUNT], copy[COUNT];

	for (size_t i = 0; i < count; i++)
		magnitudes[i] = fabsf((float)row->p * sample[i]);
	memcpy(copy, sample, count * sizeof(*copy));
	float want = quantile(magnitudes, count, (float)row->threshold_ratio);

	want = fminf(fmaxf(want, 1), (float)row->limit);
	CHECK(found(NULL, row, copy, count) == want);
	CHECK(found(kernel_find(strata_isa_best()), row, copy, count) == want);
}

TEST(it_is_the_quantile_that_sorting_finds)
{
	static const size_t counts[] = { 1, 2, 3, 10, 255, 256, 257, 1000, COUNT };
	static const double ratios[] = { 0, 0.3, 0.5, 0.995, 0.9999, 1 };
	struct strata_solver_row row = { .p = 3, .limit = 1e9, .flags = STRATA_ROW_THRESHOLD };
	float sample[COUNT];
	uint64_t seed = 1;

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		for (size_t r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++) {
			row.threshold_ratio = ratios[r];
			for (size_t i = 0; i < counts[c]; i++)
				sample[i] = sample_number(&seed);
			check(&row, sample, counts[c]);
			for (size_t i = 0; i < counts[c]; i++) /* many are equal */
				sample[i] = (float)random_below(&seed, 5);
			check(&row, sample, counts[c]);
		}
}

TEST(it_is_at_least_1_and_at_most_the_limit)
{
	struct strata_solver_row row = {
		.p = 1, .limit = 2.5, .threshold_ratio = 0.5, .flags = STRATA_ROW_THRESHOLD
	};
	float small[3] = { 0.1f, -0.2f, 0.3f }, large[3] = { 7, -8, 9 }, middle[3] = { 1, -2, 3 };

	CHECK(found(NULL, &row, small, 3) == 1);
	CHECK(found(NULL, &row, large, 3) == 2.5f);
	CHECK(found(NULL, &row, middle, 3) == 2);
}
