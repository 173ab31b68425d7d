#include "golden_rng.h"

#include <strata/rng.h>

#include "core/philox.h"

#include <stdlib.h>

static void read_words(const json_t *list, uint32_t *ret_words, size_t count)
{
	CHECK_INT(json_array_size(list), count);
	for (size_t i = 0; i < count; i++)
		ret_words[i] =
			(uint32_t)strtoul(json_string_value(json_array_get(list, i)), NULL, 16);
}

TEST(the_block_function_gives_the_known_answers_of_random123)
{
	json_t *document = golden_rng(), *row;
	size_t index;

	json_array_foreach(
		json_object_get(json_object_get(document, "philox4x32"), "kat_random123"), index,
		row)
	{
		uint32_t counter[4], key[2], want[4], got[4];

		read_words(json_object_get(row, "ctr"), counter, 4);
		read_words(json_object_get(row, "key"), key, 2);
		read_words(json_object_get(row, "out"), want, 4);
		strata_philox(counter, key, got);
		CHECK_BYTES(got, want, sizeof(want));
	}
	CHECK_INT(index, 3);
	json_decref(document);
}

enum { COUNT = 64 };

static void check_series(const struct philox_series *series)
{
	uint32_t fast[4][COUNT], plain[4][COUNT];
	const uint32_t key[2] = { (uint32_t)series->key, (uint32_t)(series->key >> 32) };

	philox_fill(series, (uint32_t *const[4]){ fast[0], fast[1], fast[2], fast[3] }, COUNT);
	philox_fill_plain(series, (uint32_t *const[4]){ plain[0], plain[1], plain[2], plain[3] },
			  COUNT);
	CHECK_BYTES(fast, plain, sizeof(plain));
	for (uint32_t i = 0; i < COUNT; i++) {
		uint64_t low = series->low + (series->low_step ? i : 0);
		uint64_t high = series->high + (series->high_step ? i : 0);
		const uint32_t counter[4] = { (uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
					      (uint32_t)(high >> 32) };
		uint32_t want[4];

		strata_philox(counter, key, want);
		for (int k = 0; k < 4; k++)
			CHECK_INT(fast[k][i], want[k]);
	}
}

TEST(a_series_is_its_blocks_one_by_one_also_across_word_ends)
{
	check_series(&(struct philox_series){ .low_step = 1 });
	check_series(
		&(struct philox_series){ .key = 0x123456789abcdef0, .high_step = 1, .low = 7 });
	check_series(&(struct philox_series){ .low = UINT32_MAX - 10, .high = 5, .low_step = 1 });
	check_series(&(struct philox_series){ .low = 5, .high = UINT32_MAX - 3, .high_step = 1 });
	check_series(&(struct philox_series){ .low = UINT64_MAX - 9, .high = 1, .low_step = 1 });
}
