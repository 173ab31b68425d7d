#include "engine_sample.h"

#include "engine/native/gemm.h"

#include <math.h>
#include <stdlib.h>

static float number(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (float)(int32_t)*seed * 0x1p-31f;
}

static float *numbers(int64_t count, uint32_t seed)
{
	float *at = malloc((size_t)(count + 1) * sizeof(*at));

	CHECK(at);
	for (int64_t i = 0; i < count; i++)
		at[i] = number(&seed);
	return at;
}

/* Against sums in double, by both ways through the same bits, for any cut of the rows. */
static void check(int64_t m, int64_t n, int64_t k)
{
	struct engine_team one = { 1 }, three = { 3 };
	float *a = numbers(m * k, 1), *b = numbers(k * n, 2), *bias = numbers(n, 3);
	float *packed = numbers(gemm_packed_count(k, n), 4);
	float *c = numbers(m * n, 5), *other = numbers(m * n, 6);
	struct gemm_finish finish = { .scale = 0.5f, .bias = bias };
	struct gemm_matrix left = { a, k, 1 };

	gemm_pack(&one, (struct gemm_matrix){ b, n, 1 }, k, n, packed);
	gemm_run(&one, m, n, k, left, packed, c, n, &finish);
	for (int64_t i = 0; i < m * n; i++) {
		double sum = 0;

		for (int64_t j = 0; j < k; j++)
			sum += (double)a[i / n * k + j] * b[j * n + i % n];
		CHECK_NEAR(c[i], sum / 2 + bias[i % n], 1e-6 * (double)(k + 1));
	}
	gemm_run(&three, m, n, k, left, packed, other, n, &finish);
	CHECK_BYTES(other, c, (size_t)(m * n) * sizeof(*c));
	gemm_run_thin(&three, m, n, k, left, b, n, other, n, &finish);
	CHECK_BYTES(other, c, (size_t)(m * n) * sizeof(*c));
	if (n % GEMM_COLUMNS == 0) {
		gemm_run_flat(&three, m, n, k, left, b, n, other, n, &finish);
		CHECK_BYTES(other, c, (size_t)(m * n) * sizeof(*c));
	}
	for (int64_t row = 0; row < m; row += 1 + row % 7) {
		struct gemm_matrix part = { a + row * k, k, 1 };

		gemm_run(&one, 1, n, k, part, packed, other, n, &finish);
		CHECK_BYTES(other, c + row * n, (size_t)n * sizeof(*c));
	}
	free(a);
	free(b);
	free(bias);
	free(packed);
	free(c);
	free(other);
}

TEST(products_are_right_and_have_the_same_bits_in_any_cut)
{
	static const int64_t sizes[] = { 1, 2, 5, 6, 7, 16, 17, 31, 33, 97 };
	static const int64_t depths[] = { 0, 1, 8, 255, 256, 257, 320 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
			check(sizes[i], sizes[(i * 3 + d) % 10], depths[d]);
	check(200, 600, 300);
}

TEST(a_transposed_right_hand_side_is_packed_to_the_same)
{
	struct engine_team team = { 2 };
	float *b = numbers(37 * 21, 1), *turned = numbers(37 * 21, 2);
	int64_t count = gemm_packed_count(37, 21);
	float *packed = numbers(count, 3), *other = numbers(count, 4);

	CHECK_INT(count, 37 * 32);
	for (int i = 0; i < 37; i++)
		for (int j = 0; j < 21; j++)
			turned[j * 37 + i] = b[i * 21 + j];
	gemm_pack(&team, (struct gemm_matrix){ b, 21, 1 }, 37, 21, packed);
	gemm_pack(&team, (struct gemm_matrix){ turned, 1, 37 }, 37, 21, other);
	CHECK_BYTES(packed, other, (size_t)count * sizeof(*packed));
	free(b);
	free(turned);
	free(packed);
	free(other);
}

/* Off by at most half a step of a column's scale for each element, and the same in any batch. */
TEST(weights_of_eight_bits_are_near)
{
	struct engine_team one = { 1 }, three = { 3 };
	static const int64_t sizes[][3] = { { 1, 16, 8 }, { 5, 33, 300 }, { 40, 48, 513 }, { 3, 200, 700 } };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
		float *a = numbers(m * k, 1), *b = numbers(k * n, 2), *bias = numbers(n, 3);
		float *c = numbers(m * n, 4), *other = numbers(m * n, 5), *scales = numbers(n, 6);
		int8_t *at = malloc((size_t)gemm_packed_count(k, n));
		const struct gemm_int8 packed = { at, scales };
		const struct gemm_finish finish = { .scale = 2, .bias = bias };

		gemm_pack_int8(&three, (struct gemm_matrix){ b, n, 1 }, k, n, &packed);
		gemm_run_int8(&three, m, n, k, (struct gemm_matrix){ a, k, 1 }, &packed, c, n,
			      &finish);
		for (int64_t i = 0; i < m * n; i++) {
			double sum = 0, most = 0;

			for (int64_t j = 0; j < k; j++) {
				sum += (double)a[i / n * k + j] * b[j * n + i % n];
				most += fabs((double)a[i / n * k + j]);
			}
			CHECK_NEAR(c[i], 2 * sum + bias[i % n],
				   2 * most * (double)scales[i % n] * 0.51 + 1e-4);
		}
		for (int64_t row = 0; row < m; row++) {
			gemm_run_int8(&one, 1, n, k, (struct gemm_matrix){ a + row * k, k, 1 },
				      &packed, other, n, &finish);
			CHECK_BYTES(other, c + row * n, (size_t)n * sizeof(*c));
		}
		free(a);
		free(b);
		free(bias);
		free(c);
		free(other);
		free(scales);
		free(at);
	}
}

TEST(a_column_of_zeros_stays_zero_in_eight_bits)
{
	struct engine_team one = { 1 };
	const float a[2] = { 3, 4 }, b[4] = { 0, 1, 0, -1 };
	int8_t at[32];
	float scales[2], c[2];
	const struct gemm_int8 packed = { at, scales };

	gemm_pack_int8(&one, (struct gemm_matrix){ b, 2, 1 }, 2, 2, &packed);
	gemm_run_int8(&one, 1, 2, 2, (struct gemm_matrix){ a, 2, 1 }, &packed, c, 2, NULL);
	CHECK_NEAR(c[0], 0, 0);
	CHECK_NEAR(c[1], -1, 1e-6);
}
