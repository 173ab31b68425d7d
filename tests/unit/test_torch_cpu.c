#include "golden_rng.h"

#include <strata/rng.h>

#include "core/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16384 };

static float got[MOST];

static struct strata_torch seeded(const char *seed)
{
	struct strata_torch torch;

	strata_torch_init(&torch, strtoull(seed, NULL, 10));
	return torch;
}

/* The file has nine significant digits, which name a float32 exactly. */
static void check_equal(const float *values, const json_t *want, size_t count)
{
	CHECK_INT(json_array_size(want), count);
	for (size_t i = 0; i < count; i++) {
		float expected = (float)golden_number(want, i);

		CHECK_BYTES(&values[i], &expected, sizeof(expected));
	}
}

TEST(normals_of_every_length_are_equal_to_torchs_to_the_bit)
{
	static const size_t counts[] = { 1, 4, 15, 16, 17, 31, 64, 100 };
	json_t *document = golden_rng(), *answers;
	const char *seed;

	json_object_foreach(json_object_get(document, "torch_cpu"), seed,
			    answers) for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
	{
		struct strata_torch torch = seeded(seed);
		char key[8];

		snprintf(key, sizeof(key), "%zu", counts[n]);
		strata_torch_normal_f32(&torch, got, counts[n]);
		check_equal(got, json_object_get(answers, key), counts[n]);
	}
	json_decref(document);
}

TEST(a_whole_latent_is_equal_to_torchs_by_its_ends_and_sums)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;

	json_object_foreach(json_object_get(document, "torch_cpu"), seed, answers)
	{
		const json_t *want = json_object_get(answers, "16384");
		struct strata_torch torch = seeded(seed);
		double sum = 0, squares = 0;

		strata_torch_normal_f32(&torch, got, MOST);
		check_equal(got, json_object_get(want, "first16"), 16);
		check_equal(got + MOST - 16, json_object_get(want, "last16"), 16);
		for (int i = 0; i < MOST; i++) {
			sum += (double)got[i];
			squares += (double)got[i] * (double)got[i];
		}
		/* The file gives twelve digits: a single wrong last bit among the larger values
		 * would show. */
		CHECK_NEAR(sum, json_number_value(json_object_get(want, "sum_f64")), 6e-10);
		CHECK_NEAR(squares, json_number_value(json_object_get(want, "sumsq_f64")), 6e-8);
	}
	json_decref(document);
}

TEST(the_normal_left_over_waits_through_longer_calls)
{
	static const size_t counts[] = { 3, 4, 20, 2 };
	json_t *document = golden_rng(), *answers;
	const char *seed;

	json_object_foreach(json_object_get(document, "torch_cpu"), seed, answers)
	{
		struct strata_torch torch = seeded(seed);

		for (size_t n = 0; n < 4; n++) {
			strata_torch_normal_f32(&torch, got, counts[n]);
			check_equal(got,
				    json_array_get(json_object_get(answers, "calls_3_4_20_2"), n),
				    counts[n]);
		}
	}
	json_decref(document);
}

TEST(uniforms_are_equal_to_torchs)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;

	json_object_foreach(json_object_get(document, "torch_cpu"), seed, answers)
	{
		struct strata_torch torch = seeded(seed);

		strata_torch_uniform_f32(&torch, got, 8);
		check_equal(got, json_object_get(answers, "rand_8"), 8);
	}
	json_decref(document);
}

TEST(doubles_are_equal_to_torchs)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;

	json_object_foreach(json_object_get(document, "torch_cpu"), seed, answers)
	{
		const json_t *want = json_object_get(answers, "shape_1_4_2_2_f64");
		struct strata_torch torch = seeded(seed);
		double values[16];

		strata_torch_normal_f64(&torch, values, 16);
		for (size_t i = 0; i < 16; i++)
			CHECK_NEAR(values[i], golden_number(want, i), 1e-15);
	}
	json_decref(document);
}

TEST(the_16_bit_types_are_equal_to_torchs)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;
	uint16_t bits[32];

	json_object_foreach(json_object_get(document, "torch_cpu"), seed, answers)
	{
		const json_t *want = json_object_get(answers, "randn_32_f16");
		struct strata_torch torch = seeded(seed);

		strata_torch_normal_f16(&torch, bits, 32);
		for (size_t i = 0; i < 32; i++)
			CHECK_INT(bits[i], half_from_float((float)golden_number(want, i)));
		torch = seeded(seed);
		want = json_object_get(answers, "randn_32_bf16");
		strata_torch_normal_bf16(&torch, bits, 32);
		for (size_t i = 0; i < 32; i++)
			CHECK_INT(bits[i], bfloat_from_float((float)golden_number(want, i)));
	}
	json_decref(document);
}

TEST(short_draws_of_every_type_are_the_same_normals_rounded)
{
	struct strata_torch torch = seeded("42");
	double wide[15];
	uint16_t narrow[15];

	strata_torch_normal_f64(&torch, wide, 15);
	torch = seeded("42");
	strata_torch_normal_f32(&torch, got, 15);
	for (int i = 0; i < 15; i++)
		CHECK(got[i] == (float)wide[i]);
	torch = seeded("42");
	strata_torch_normal_f16(&torch, narrow, 15);
	for (int i = 0; i < 15; i++)
		CHECK_INT(narrow[i], half_from_float((float)wide[i]));
	torch = seeded("42");
	strata_torch_normal_bf16(&torch, narrow, 15);
	for (int i = 0; i < 15; i++)
		CHECK_INT(narrow[i], bfloat_from_float((float)wide[i]));
}

TEST(the_last_16_are_drawn_again_in_every_type)
{
	struct strata_torch torch = seeded("1"), twin = seeded("1");
	uint16_t narrow[20], again[16], whole[16];
	double wide[20], wide_again[16];

	strata_torch_normal_f16(&torch, narrow, 20);
	strata_torch_normal_f16(&twin, whole, 16);
	for (int i = 0; i < 4; i++)
		strata_torch_u32(&twin);
	strata_torch_normal_f16(&twin, again, 16);
	CHECK_BYTES(narrow, whole, 8);
	CHECK_BYTES(narrow + 4, again, sizeof(again));
	strata_torch_normal_f64(&torch, wide, 20);
	strata_torch_normal_f64(&twin, wide_again, 16);
	CHECK(wide[0] == wide_again[0] && wide[3] == wide_again[3]);
	for (int i = 0; i < 4; i++)
		strata_torch_u64(&twin);
	strata_torch_normal_f64(&twin, wide_again, 16);
	CHECK_BYTES(wide + 4, wide_again, sizeof(wide_again));
	CHECK_INT(strata_torch_u32(&torch), strata_torch_u32(&twin));
}

TEST(uniforms_have_the_bits_of_their_type)
{
	struct strata_torch torch = seeded("7"), words = seeded("7");
	uint16_t narrow[100];
	double wide[100];

	strata_torch_uniform_f64(&torch, wide, 100);
	for (int i = 0; i < 100; i++)
		CHECK(wide[i] * 0x1p53 == (double)(strata_torch_u64(&words) & 0x1fffffffffffff));
	strata_torch_uniform_f16(&torch, narrow, 100);
	for (int i = 0; i < 100; i++)
		CHECK(half_to_float(narrow[i]) * 2048 == (float)(strata_torch_u32(&words) & 2047));
	strata_torch_uniform_bf16(&torch, narrow, 100);
	for (int i = 0; i < 100; i++)
		CHECK(bfloat_to_float(narrow[i]) * 256 == (float)(strata_torch_u32(&words) & 255));
}

TEST(a_copy_is_a_saved_state_and_seeds_keep_32_bits)
{
	struct strata_torch torch, same;
	float first[5], second[5];

	strata_torch_init(&torch, 5);
	strata_torch_init(&same, UINT64_C(0xabcdef0000000005));
	CHECK_BYTES(&torch.mt, &same.mt, sizeof(torch.mt));
	strata_torch_normal_f32(&torch, first, 3);
	same = torch;
	strata_torch_normal_f32(&torch, first, 5);
	strata_torch_normal_f32(&same, second, 5);
	CHECK_BYTES(first, second, sizeof(first));
	strata_torch_normal_f32(&torch, NULL, 0);
	CHECK_INT(strata_torch_u32(&torch), strata_torch_u32(&same));
}
