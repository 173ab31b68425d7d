#include "golden_rng.h"

#include "core/mt19937.h"

#include <stdlib.h>

TEST(the_first_integers_are_those_of_torch)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;

	json_object_foreach(json_object_get(document, "torch_cpu"), seed, answers)
	{
		const json_t *want = json_object_get(answers, "mt19937_u32_first8");
		struct strata_mt19937 mt;

		mt19937_init(&mt, (uint32_t)strtoul(seed, NULL, 10));
		CHECK_INT(json_array_size(want), 8);
		for (size_t i = 0; i < 8; i++)
			CHECK_INT(mt19937_u32(&mt), json_integer_value(json_array_get(want, i)));
	}
	json_decref(document);
}

/* The value every implementation is checked by: ISO C++ [rand.predef]. */
TEST(the_ten_thousandth_integer_of_seed_5489_is_the_standard_one)
{
	struct strata_mt19937 mt;

	mt19937_init(&mt, 5489);
	for (int i = 1; i < 10000; i++)
		mt19937_u32(&mt);
	CHECK_INT(mt19937_u32(&mt), 4123659995);
}

TEST(many_at_once_are_the_same_as_one_by_one)
{
	static const size_t counts[] = { 0, 1, 3, 16, 619, 624, 625, 1248, 2000, 7 };
	struct strata_mt19937 one, many;
	uint32_t words[2000];

	mt19937_init(&one, 77);
	mt19937_init(&many, 77);
	for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
		mt19937_fill(&many, words, counts[n]);
		for (size_t i = 0; i < counts[n]; i++)
			CHECK_INT(words[i], mt19937_u32(&one));
	}
}

TEST(a_64_bit_draw_takes_the_high_word_first)
{
	struct strata_mt19937 a, b;

	mt19937_init(&a, 1);
	mt19937_init(&b, 1);
	uint64_t high = mt19937_u32(&a);

	CHECK(mt19937_u64(&b) == (high << 32 | mt19937_u32(&a)));
}

TEST(a_state_that_claims_too_much_was_used_is_refilled)
{
	struct strata_mt19937 mt, wrong;

	mt19937_init(&mt, 3);
	wrong = mt;
	wrong.used_count = UINT32_MAX;
	CHECK_INT(mt19937_u32(&wrong), mt19937_u32(&mt));
}
