#include "test.h"

#include "core/gauss.h"

#include <math.h>
#include <string.h>

enum { COUNT = 4096 };

static uint32_t words_a[COUNT], words_b[COUNT];
static float cos_fast[COUNT], sin_fast[COUNT], cos_plain[COUNT], sin_plain[COUNT];

static void fill_words(void)
{
	uint64_t x = 12345;

	for (int i = 0; i < COUNT; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		words_a[i] = (uint32_t)(x >> 32);
		x = x * 6364136223846793005u + 1442695040888963407u;
		words_b[i] = (uint32_t)(x >> 32);
	}
	memcpy(words_a, (uint32_t[]){ 0, 0, UINT32_MAX, UINT32_MAX, 1, 0x80000000 }, 24);
	memcpy(words_b, (uint32_t[]){ 0, UINT32_MAX, 0, UINT32_MAX, 0x80000000, 0x40000000 }, 24);
}

TEST(both_spellings_give_the_same_bits)
{
	float u[COUNT], theta[COUNT];

	fill_words();
	gauss_from_words(words_a, words_b, cos_fast, sin_fast, COUNT);
	gauss_from_words_plain(words_a, words_b, cos_plain, sin_plain, COUNT);
	CHECK_BYTES(cos_fast, cos_plain, sizeof(cos_plain));
	CHECK_BYTES(sin_fast, sin_plain, sizeof(sin_plain));
	for (int i = 0; i < COUNT; i++) {
		u[i] = 1 - (float)(words_a[i] >> 8) * 0x1p-24f;
		theta[i] = (float)(words_b[i] >> 8) * 0x1p-24f * 6.2831855f;
	}
	gauss_from_angles(u, theta, cos_fast, sin_fast, COUNT);
	gauss_from_angles_plain(u, theta, cos_plain, sin_plain, COUNT);
	CHECK_BYTES(cos_fast, cos_plain, sizeof(cos_plain));
	CHECK_BYTES(sin_fast, sin_plain, sizeof(sin_plain));
}

TEST(the_pairs_are_box_muller_to_single_precision)
{
	fill_words();
	gauss_from_words(words_a, words_b, cos_fast, sin_fast, COUNT);
	for (int i = 0; i < COUNT; i++) {
		float u = (float)words_a[i] * 0x1p-32f + 0x1p-33f;
		float theta = (float)words_b[i] * 1.4629181e-09f + 1.4629181e-09f / 2;
		double radius = sqrt(-2 * log((double)u));

		CHECK_NEAR(cos_fast[i], radius * cos((double)theta), 1e-6);
		CHECK_NEAR(sin_fast[i], radius * sin((double)theta), 1e-6);
		CHECK(isfinite(cos_fast[i]) && isfinite(sin_fast[i]));
	}
}

TEST(outputs_may_be_the_inputs)
{
	float u[GAUSS_LANES], theta[GAUSS_LANES], c[GAUSS_LANES], s[GAUSS_LANES];

	for (int i = 0; i < GAUSS_LANES; i++) {
		u[i] = (float)(i + 1) / 9;
		theta[i] = (float)i / 2;
	}
	gauss_from_angles(u, theta, c, s, GAUSS_LANES);
	gauss_from_angles(u, theta, u, theta, GAUSS_LANES);
	CHECK_BYTES(u, c, sizeof(c));
	CHECK_BYTES(theta, s, sizeof(s));
}
