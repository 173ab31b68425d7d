#include "test.h"

#include "core/bitset.h"
#include "random.h"

#include <errno.h>
#include <string.h>

enum { BITS_MAX = 200 };
static const size_t sizes[] = { 1, 2, 63, 64, 65, 127, 128, 129, 200 };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* A random set and its naive twin; density from almost empty to almost full. */
static void fill(struct bitset *set, bool *twin, uint64_t *seed)
{
	uint64_t density = random_below(seed, 5);

	bitset_clear_range(set, 0, set->bit_count);
	for (size_t i = 0; i < set->bit_count; i++) {
		twin[i] = density == 4 || random_below(seed, 5) < density;
		if (random_below(seed, 30) == 0)
			twin[i] = !twin[i];
		if (twin[i])
			bitset_set(set, i);
	}
}

static void check_same(const struct bitset *set, const bool *twin)
{
	size_t count = 0;

	for (size_t i = 0; i < set->bit_count; i++) {
		CHECK_INT(bitset_test(set, i), twin[i]);
		count += twin[i];
	}
	CHECK_INT(bitset_count(set), count);
	if (set->bit_count % 64)
		CHECK_INT(set->words[set->bit_count / 64] >> set->bit_count % 64, 0);
}

static size_t naive_run(const bool *twin, size_t size, size_t from, size_t count, bool value)
{
	for (size_t first = from; first < size && count <= size - first; first++) {
		size_t length = 0;

		while (length < count && twin[first + length] == value)
			length++;
		if (length == count)
			return first;
	}
	return size;
}

TEST(finding_agrees_with_looking_at_each_bit)
{
	uint64_t words[BITSET_WORDS(BITS_MAX)], seed = 6;
	bool twin[BITS_MAX];
	struct bitset set;

	for (int round = 0; round < 100 * SIZES; round++) {
		size_t size = sizes[round % SIZES];

		bitset_init_on(&set, words, size);
		fill(&set, twin, &seed);
		check_same(&set, twin);
		for (size_t from = 0; from <= size + 1; from += 1 + random_below(&seed, 4)) {
			size_t count = 1 + random_below(&seed, round % 2 ? 4 : 130);

			CHECK_INT(bitset_find_set(&set, from),
				  naive_run(twin, size, from, 1, true));
			CHECK_INT(bitset_find_clear(&set, from),
				  naive_run(twin, size, from, 1, false));
			CHECK_INT(bitset_find_run(&set, from, count, true),
				  naive_run(twin, size, from, count, true));
			CHECK_INT(bitset_find_run(&set, from, count, false),
				  naive_run(twin, size, from, count, false));
		}
	}
}

TEST(ranges_and_single_bits)
{
	uint64_t words[BITSET_WORDS(BITS_MAX)], seed = 7;
	bool twin[BITS_MAX] = { false };
	struct bitset set;

	for (int n = 0; n < SIZES; n++) {
		bitset_init_on(&set, words, sizes[n]);
		memset(twin, 0, sizeof(twin));
		for (int step = 0; step < 300; step++) {
			size_t first = random_below(&seed, sizes[n] + 1);
			size_t count = random_below(&seed, sizes[n] - first + 1);
			bool value = random_below(&seed, 2);

			if (value)
				bitset_set_range(&set, first, count);
			else
				bitset_clear_range(&set, first, count);
			memset(twin + first, value, count);
			size_t bit = random_below(&seed, sizes[n]);

			bitset_clear(&set, bit);
			twin[bit] = false;
			check_same(&set, twin);
		}
	}
}

static void check_pair(struct bitset *a, struct bitset *b, struct bitset *c, const bool *x,
		       const bool *y)
{
	bool twin[BITS_MAX], equal = true, contains = true, overlap = false;
	size_t size = a->bit_count, both = 0;

	for (size_t i = 0; i < size; i++) {
		equal &= x[i] == y[i];
		contains &= x[i] || !y[i];
		overlap |= x[i] && y[i];
		both += x[i] && y[i];
	}
	CHECK_INT(bitset_equal(a, b), equal);
	CHECK_INT(bitset_contains(a, b), contains);
	CHECK_INT(bitset_overlap(a, b), overlap);
	CHECK_INT(bitset_count_both(a, b), both);
	bitset_copy(c, a);
	CHECK(bitset_equal(c, a));
	bitset_and(c, b);
	for (size_t i = 0; i < size; i++)
		twin[i] = x[i] && y[i];
	check_same(c, twin);
	CHECK(bitset_contains(a, c) && bitset_contains(b, c));
	bitset_copy(c, a);
	bitset_or(c, b);
	for (size_t i = 0; i < size; i++)
		twin[i] = x[i] || y[i];
	check_same(c, twin);
	bitset_copy(c, a);
	bitset_andnot(c, b);
	for (size_t i = 0; i < size; i++)
		twin[i] = x[i] && !y[i];
	check_same(c, twin);
}

TEST(two_sets_agree_with_bit_by_bit)
{
	uint64_t words[3][BITSET_WORDS(BITS_MAX)], seed = 8;
	bool x[BITS_MAX], y[BITS_MAX];
	struct bitset a, b, c;

	for (int round = 0; round < 60 * SIZES; round++) {
		size_t size = sizes[round % SIZES];

		bitset_init_on(&a, words[0], size);
		bitset_init_on(&b, words[1], size);
		bitset_init_on(&c, words[2], size);
		fill(&a, x, &seed);
		fill(&b, y, &seed);
		if (round % 3 == 0) { /* equal but for one bit at most */
			bitset_copy(&b, &a);
			memcpy(y, x, sizeof(y));
			if (round % 2)
				bitset_clear(&b, size - 1), y[size - 1] = false;
		}
		check_pair(&a, &b, &c, x, y);
	}
}

TEST(an_empty_set_holds_nothing)
{
	struct strata_memory memory = { 0 };
	struct bitset set;

	CHECK_INT(bitset_init(&set, &memory, 0), 0);
	CHECK_INT(bitset_count(&set), 0);
	CHECK_INT(bitset_find_set(&set, 0), 0);
	CHECK_INT(bitset_find_clear(&set, 0), 0);
	CHECK_INT(bitset_find_run(&set, 0, 1, false), 0);
	CHECK(bitset_equal(&set, &set));
	bitset_fini(&set);
	CHECK_INT(bitset_init(&set, &memory, SIZE_MAX), -ENOMEM);
	CHECK_INT(memory.used_bytes, 0);
}

static int make(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct bitset set = { .bit_count = 77 };

	(void)context;
	if (bitset_init(&set, memory, 1000) < 0) {
		CHECK_INT(set.bit_count, 77);
		return strata_fail_memory(err);
	}
	CHECK_INT(bitset_find_set(&set, 0), 1000);
	bitset_set_range(&set, 0, 1000);
	CHECK_INT(bitset_count(&set), 1000);
	bitset_fini(&set);
	return 0;
}

TEST(running_out_of_memory_is_reported)
{
	CHECK_INT(test_every_allocation(make, NULL), 1);
}
