#include "test.h"

#include "core/ranked.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;

/* The same set as a sorted array, slow and plain. */
struct row {
	struct ranked_key key;
	uint64_t weight;
	int64_t limit;
};

enum { ROWS_MAX = 6000 };
static struct row rows[ROWS_MAX];
static size_t row_count;

static bool comes_before(const struct ranked_key *a, const struct ranked_key *b)
{
	if (a->group != b->group)
		return a->group < b->group;
	return a->key != b->key ? a->key < b->key : a->serial < b->serial;
}

static size_t row_of(const struct ranked_key *key)
{
	size_t low = 0, high = row_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (comes_before(&rows[middle].key, key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put_row(const struct row *row)
{
	size_t at = row_of(&row->key);

	memmove(&rows[at + 1], &rows[at], (row_count - at) * sizeof(rows[0]));
	rows[at] = *row;
	row_count++;
}

static void take_row(size_t at)
{
	row_count--;
	memmove(&rows[at], &rows[at + 1], (row_count - at) * sizeof(rows[0]));
}

static void check_answers(const struct ranked *set, const struct ranked_key *key)
{
	size_t at = row_of(key);
	uint64_t weight = 0;
	int64_t slack = INT64_MAX;

	CHECK_INT(ranked_rank(set, key, NULL), at);
	for (size_t i = 0; i < row_count; i++) {
		uint64_t ahead;

		if (i == at && set->columns >= RANKED_WEIGHTS) {
			CHECK_INT(ranked_rank(set, key, &ahead), at);
			CHECK_INT(ahead, weight);
		}
		if (i >= at && rows[i].limit - (int64_t)weight < slack)
			slack = rows[i].limit - (int64_t)weight;
		weight += rows[i].weight;
	}
	if (set->columns == RANKED_LIMITS)
		CHECK_INT(ranked_slack(set, key), slack);
	const struct ranked_key *found = ranked_at(ranked_from(set, key));

	CHECK_INT(found ? found->item : UINT32_MAX,
		  at < row_count ? rows[at].key.item : UINT32_MAX);
	found = ranked_at(ranked_select(set, at));
	CHECK_INT(found ? found->item : UINT32_MAX,
		  at < row_count ? rows[at].key.item : UINT32_MAX);
}

static void check_walk(const struct ranked *set)
{
	struct ranked_place place = ranked_select(set, 0);
	const struct ranked_key *first = ranked_first(set);

	CHECK_INT(set->count, row_count);
	CHECK(row_count ? first && first->item == rows[0].key.item : !first);
	for (size_t i = 0; i < row_count; i++, place = ranked_next(place))
		CHECK_INT(ranked_at(place)->item, rows[i].key.item);
	CHECK(!ranked_at(place));
}

static struct row random_row(uint64_t *seed, uint64_t serial)
{
	return (struct row){
		.key = { .key = random_below(seed, 50),
			 .serial = serial,
			 .group = (uint32_t)random_below(seed, 5),
			 .item = (uint32_t)serial },
		.weight = random_below(seed, 1000),
		.limit = (int64_t)random_below(seed, 2000000),
	};
}

/* Random insertions and removals, first mostly the one, then mostly the other, down to nothing. */
static void shake(enum ranked_columns columns, uint64_t seed)
{
	struct ranked set;

	ranked_init(&set, &memory, columns);
	row_count = 0;
	for (uint64_t step = 0; step < 24000; step++) {
		bool grow = random_below(&seed, 100) < (step < 10000 ? 75 : 35);

		if (grow && row_count < ROWS_MAX - 1) {
			struct row row = random_row(&seed, step);

			if (columns < RANKED_WEIGHTS)
				row.weight = 0;
			put_row(&row);
			CHECK_INT(ranked_insert(&set, &row.key, row.weight, row.limit), 0);
		} else if (row_count > 0) {
			size_t at = step % 3 ? random_below(&seed, row_count) : 0;

			ranked_remove(&set, &rows[at].key);
			take_row(at);
		}
		if (step % 16 == 0) {
			struct row any = random_row(&seed, random_below(&seed, step + 1));

			check_answers(&set, &any.key);
		}
		if (step % 1000 == 0)
			check_walk(&set);
	}
	while (row_count > 0) {
		ranked_remove(&set, &rows[row_count / 2].key);
		take_row(row_count / 2);
	}
	check_walk(&set);
	CHECK(!set.root && set.height == 0 && set.sum == 0);
	ranked_fini(&set);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(answers_as_a_sorted_array_does)
{
	shake(RANKED_KEYS, 1);
	shake(RANKED_WEIGHTS, 2);
	shake(RANKED_LIMITS, 3);
}
