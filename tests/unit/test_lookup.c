#include "test.h"

#include "engine/native/lookup.h"

#include <string.h>

TEST(elements_are_picked_by_tables)
{
	static const uint8_t from8[6] = { 0, 1, 2, 10, 11, 12 };
	static const int64_t in[2] = { 2, 3 }, out[2] = { 3, 4 };
	static const int64_t rows[3] = { 1, -1, 0 }, mixed[4] = { 2, 0, 0, -1 },
			     run[4] = { -1, 0, 1, 2 };
	static const int64_t *const tables[2][2] = { { rows, mixed }, { rows, run } };
	static const uint8_t expected[2][12] = { { 12, 10, 10, 9, 9, 9, 9, 9, 2, 0, 0, 9 },
						 { 9, 10, 11, 12, 9, 9, 9, 9, 9, 0, 1, 2 } };

	for (int form = 0; form < 2; form++)
		for (size_t width = 1; width <= 8; width *= 2) {
			uint8_t from[48] = { 0 }, to[96], filler[8] = { 9 };
			struct engine_team team = { 2 };
			const struct lookup lookup = { 2,    in, out,   tables[form],
						       from, to, width, filler };

			for (size_t i = 0; i < 6; i++)
				from[i * width] = from8[i];
			memset(to, 0xee, sizeof(to));
			lookup_run(&team, &lookup);
			for (size_t i = 0; i < 12; i++)
				CHECK_INT(to[i * width], expected[form][i]);
		}
}

TEST(a_single_number_and_an_empty_result)
{
	static const int64_t none[1] = { 0 }, one[1] = { 1 }, table[1] = { 0 };
	static const int64_t *const tables[1] = { table };
	struct engine_team team = { 1 };
	float from = 3, to = 0;
	struct lookup lookup = { .from = &from, .to = &to, .width = 4 };

	lookup_run(&team, &lookup);
	CHECK_NEAR(to, 3, 0);
	lookup = (struct lookup){ 1, one, none, tables, &from, NULL, 4, NULL };
	lookup_run(&team, &lookup); /* nothing is touched */
}
