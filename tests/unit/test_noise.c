#include "test.h"

#include <strata/rng.h>

#include <math.h>
#include <string.h>

enum { LATENT = 4 * 64 * 64 };

static float whole[LATENT];

/* The definition, in double: element e of (seed, step) from one Philox block. */
static double naive(uint64_t seed, uint64_t step, uint64_t element)
{
	const double pi = 3.14159265358979323846;
	uint64_t block = UINT64_C(1) << 62 | element / 4;
	uint32_t words[4];

	strata_philox((uint32_t[]){ (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)step,
				    (uint32_t)(step >> 32) },
		      (uint32_t[]){ (uint32_t)seed, (uint32_t)(seed >> 32) }, words);
	const uint32_t *pair = words + element % 4 / 2 * 2;
	double radius = sqrt(-2 * log(((double)pair[0] + 0.5) * 0x1p-32));
	double theta = 2 * pi * ((double)pair[1] + 0.5) * 0x1p-32;

	return radius * (element % 2 ? sin(theta) : cos(theta));
}

TEST(each_element_follows_from_its_address)
{
	static const uint64_t seeds[] = { 0, 42, UINT64_C(0x123456789abcdef0) };

	for (size_t s = 0; s < 3; s++) {
		struct strata_noise noise = { .seed = seeds[s], .step = seeds[s] / 3 };

		strata_noise_normal_at(&noise, 0, whole, 1000);
		for (uint64_t i = 0; i < 1000; i++)
			CHECK_NEAR((double)whole[i], naive(noise.seed, noise.step, i), 5e-6);
		strata_noise_normal_at(&noise, UINT64_C(1) << 40, whole, 3);
		CHECK_NEAR((double)whole[2], naive(noise.seed, noise.step, (UINT64_C(1) << 40) + 2),
			   5e-6);
	}
}

TEST(any_part_is_the_same_as_the_whole)
{
	const struct strata_noise noise = { .seed = 7, .step = 3 };
	float part[700];

	strata_noise_normal_at(&noise, 0, whole, LATENT);
	for (size_t first = 0; first + 700 < LATENT; first += 331) {
		size_t count = first % 700;

		memset(part, 0, sizeof(part));
		strata_noise_normal_at(&noise, first, part, count);
		CHECK_BYTES(part, whole + first, count * sizeof(float));
		CHECK_INT(part[count] != 0, 0);
	}
}

TEST(each_call_goes_to_the_next_step)
{
	struct strata_noise noise = { .seed = 7 };
	const struct strata_noise second = { .seed = 7, .step = 1 };
	float got[10], want[10];

	strata_noise_normal(&noise, got, 10);
	strata_noise_normal(&noise, got, 10);
	strata_noise_normal_at(&second, 0, want, 10);
	CHECK_BYTES(got, want, sizeof(want));
	CHECK_INT(noise.step, 2);
}

TEST(neighbours_steps_and_seeds_are_uncorrelated)
{
	static float other[3][LATENT];
	double square = 0, product[4] = { 0 };

	strata_noise_normal_at(&(struct strata_noise){ .seed = 1 }, 0, whole, LATENT);
	strata_noise_normal_at(&(struct strata_noise){ .seed = 1, .step = 1 }, 0, other[0], LATENT);
	strata_noise_normal_at(&(struct strata_noise){ .seed = 2 }, 0, other[1], LATENT);
	strata_noise_normal_at(&(struct strata_noise){ .seed = 1 }, LATENT, other[2], LATENT);
	for (int i = 0; i < LATENT; i++) {
		square += (double)whole[i] * (double)whole[i];
		for (int k = 0; k < 3; k++)
			product[k] += (double)whole[i] * (double)other[k][i];
		product[3] += (double)whole[i] * (double)whole[(i + 1) % LATENT];
	}
	CHECK_NEAR(square / LATENT, 1, 0.04);
	for (int k = 0; k < 4; k++)
		CHECK_NEAR(product[k] / LATENT, 0, 0.03);
}

/* Recorded once: the noise of a seed must not change from release to release. */
TEST(the_first_numbers_stay_what_they_are)
{
	static const float want[8] = { 0x1.59925ep-2f,  0x1.a0f524p+0f, 0x1.e183dap+0f,
				       -0x1.607a78p-3f, 0x1.6af85p-1f,  -0x1.3cf6c2p-2f,
				       0x1.9b16e2p+1f,  0x1.d4220ap+0f };
	float got[8];

	strata_noise_normal_at(&(struct strata_noise){ .seed = 42 }, 0, got, 8);
	CHECK_BYTES(got, want, sizeof(want));
}
