/* Characters: see unicode.h. Sorted tables and binary searches; Hangul syllables are computed. */
#include "formats/unicode.h"

#include "core/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint32_t first, last;
};
/* first, first + stride … last become themselves + difference. */
struct lower_run {
	uint32_t first, last, stride;
	int32_t difference;
};
/* A character and what it is made of; second 0: of one only. */
struct split {
	uint32_t code, first, second;
};
/* The canonical combining class of a range. */
struct order_range {
	uint32_t first, last;
	uint8_t order;
};
#include "formats/unicode_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	SYLLABLES = 0xAC00,
	LEADS = 0x1100,
	VOWELS = 0x1161,
	TAILS = 0x11A7, /* the one before the first: no tail */
	LEAD_COUNT = 19,
	VOWEL_COUNT = 21,
	TAIL_COUNT = 28,
	SYLLABLE_COUNT = LEAD_COUNT * VOWEL_COUNT * TAIL_COUNT,
};

/* A key against a row that begins with { first, last }. */
static int against_range(const void *key, const void *row)
{
	uint32_t code = *(const uint32_t *)key;
	const struct range *range = row;

	return code < range->first ? -1 : code > range->last;
}

static int against_code(const void *key, const void *row)
{
	uint32_t code = *(const uint32_t *)key, other = ((const struct split *)row)->code;

	return code < other ? -1 : code > other;
}

static bool in_ranges(uint32_t code, const struct range *ranges, size_t count)
{
	return bsearch(&code, ranges, count, sizeof(*ranges), against_range) != NULL;
}

bool unicode_is_letter(uint32_t code)
{
	return in_ranges(code, letters, COUNT(letters));
}

bool unicode_is_number(uint32_t code)
{
	return in_ranges(code, numbers, COUNT(numbers));
}

bool unicode_is_space(uint32_t code)
{
	static const struct range spaces[] = {
		{ 0x9, 0xD },       { 0x20, 0x20 },     { 0x85, 0x85 },     { 0xA0, 0xA0 },
		{ 0x1680, 0x1680 }, { 0x2000, 0x200A }, { 0x2028, 0x2029 }, { 0x202F, 0x202F },
		{ 0x205F, 0x205F }, { 0x3000, 0x3000 },
	};

	return in_ranges(code, spaces, COUNT(spaces));
}

/* Of a Hangul syllable: lead, vowel, tail; 0: none of them. An LV syllable ends like a vowel, an LVT one like a tail. */
static int hangul(uint32_t code, bool *ret_begins)
{
	bool syllable = code >= SYLLABLES && code < SYLLABLES + SYLLABLE_COUNT;

	*ret_begins = syllable;
	if (syllable)
		return (code - SYLLABLES) % TAIL_COUNT == 0 ? 2 : 3;
	if ((code >= 0x1100 && code <= 0x115F) || (code >= 0xA960 && code <= 0xA97C))
		return 1;
	if ((code >= 0x1160 && code <= 0x11A7) || (code >= 0xD7B0 && code <= 0xD7C6))
		return 2;
	return (code >= 0x11A8 && code <= 0x11FF) || (code >= 0xD7CB && code <= 0xD7FB) ? 3 : 0;
}

static bool is_region(uint32_t code)
{
	return code >= 0x1F1E6 && code <= 0x1F1FF;
}

/* Whether `second` belongs to the cluster that `first` is in, by these two alone. */
static bool stay_together(uint32_t first, uint32_t second)
{
	bool first_begins, second_begins;
	int left = hangul(first, &first_begins), right = hangul(second, &second_begins);

	if (first == '\r' && second == '\n')
		return true;
	if (in_ranges(first, controls, COUNT(controls)) ||
	    in_ranges(second, controls, COUNT(controls)))
		return false;
	if (in_ranges(second, joiners, COUNT(joiners)) ||
	    in_ranges(first, prepends, COUNT(prepends)))
		return true;
	if (left == 1)
		return right == 1 || right == 2 || second_begins;
	return !second_begins &&
	       ((left == 2 && (right == 2 || right == 3)) || (left == 3 && right == 3));
}

size_t unicode_cluster_end(const uint32_t *codes, size_t count, size_t at)
{
	size_t end = at + 1;

	for (bool paired = false; end < count; end++) {
		bool flag = !paired && is_region(codes[end - 1]) && is_region(codes[end]);

		if (!flag && !stay_together(codes[end - 1], codes[end]))
			break;
		paired = flag;
	}
	return end < count ? end : count;
}

size_t unicode_lower(uint32_t code, uint32_t ret_codes[UNICODE_LOWER_MAX])
{
	const struct split *longer =
		bsearch(&code, lower_long, COUNT(lower_long), sizeof(lower_long[0]), against_code);
	const struct lower_run *run =
		bsearch(&code, lower_runs, COUNT(lower_runs), sizeof(lower_runs[0]), against_range);

	if (longer) {
		ret_codes[0] = longer->first;
		ret_codes[1] = longer->second;
		return 2;
	}
	ret_codes[0] = code;
	if (run && (code - run->first) % run->stride == 0)
		ret_codes[0] = (uint32_t)((int64_t)code + run->difference);
	return 1;
}

int unicode_decode(const char *text, size_t length, struct strata_arena *arena,
		   uint32_t **ret_codes, size_t *ret_count, struct strata_error *err)
{
	uint32_t *codes = strata_arena_array(arena, length, sizeof(*codes));
	size_t count = 0, step;

	if (!codes)
		return strata_fail_memory(err);
	for (size_t at = 0; at < length; at += step) {
		step = text_decode(text + at, length - at, &codes[count++]);
		if (step == 0)
			return strata_fail(err, -EINVAL, "the text is not UTF-8 at byte %zu",
					   at + 1);
	}
	*ret_codes = codes;
	*ret_count = count;
	return 0;
}

size_t unicode_encode(uint32_t code, char ret_bytes[UNICODE_UTF8_MAX])
{
	size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (count == 1) {
		ret_bytes[0] = (char)code;
		return 1;
	}
	for (size_t i = count - 1; i > 0; i--, code >>= 6)
		ret_bytes[i] = (char)(0x80 | (code & 0x3F));
	ret_bytes[0] = (char)((0xF0 << (4 - count)) | code);
	return count;
}

/* ---- composed form ---- */

static int order_of(uint32_t code)
{
	const struct order_range *range =
		bsearch(&code, orders, COUNT(orders), sizeof(orders[0]), against_range);

	return range ? range->order : 0;
}

/* What a character is made of, all the way down. */
static size_t split_fully(uint32_t code, uint32_t ret_codes[UNICODE_SPLIT_MAX])
{
	const struct split *split;

	if (code >= SYLLABLES && code < SYLLABLES + SYLLABLE_COUNT) {
		uint32_t syllable = code - SYLLABLES;

		ret_codes[0] = LEADS + syllable / (VOWEL_COUNT * TAIL_COUNT);
		ret_codes[1] = VOWELS + syllable / TAIL_COUNT % VOWEL_COUNT;
		ret_codes[2] = TAILS + syllable % TAIL_COUNT;
		return syllable % TAIL_COUNT ? 3 : 2;
	}
	split = bsearch(&code, splits, COUNT(splits), sizeof(splits[0]), against_code);
	if (!split) {
		ret_codes[0] = code;
		return 1;
	}
	size_t count =
		split_fully(split->first, ret_codes); /* only the first is ever split again */

	if (split->second)
		ret_codes[count++] = split->second;
	return count;
}

/* One character for two, 0: there is none. */
static uint32_t join(uint32_t first, uint32_t second)
{
	if (first >= LEADS && first < LEADS + LEAD_COUNT && second >= VOWELS &&
	    second < VOWELS + VOWEL_COUNT)
		return SYLLABLES +
		       ((first - LEADS) * VOWEL_COUNT + second - VOWELS) * (uint32_t)TAIL_COUNT;
	if (first >= SYLLABLES && first < SYLLABLES + SYLLABLE_COUNT &&
	    (first - SYLLABLES) % TAIL_COUNT == 0 && second > TAILS && second < TAILS + TAIL_COUNT)
		return first + second - TAILS;
	for (size_t low = 0, high = COUNT(joins); low < high;) {
		size_t middle = (low + high) / 2;
		const struct split *split = &splits[joins[middle]];

		if (split->first == first && split->second == second)
			return split->code;
		if (split->first < first || (split->first == first && split->second < second))
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

struct mark {
	uint32_t code;
	int order;
};

static int by_order(const void *a, const void *b)
{
	return ((const struct mark *)a)->order - ((const struct mark *)b)->order;
}

/* Puts each run of combining marks in the order of their classes, equals as they came. A merge sort: a hostile text is one long run. */
static int sort_marks(struct mark *marks, size_t count, struct strata_arena *arena,
		      struct strata_error *err)
{
	struct mark *other = strata_arena_array(arena, count, sizeof(*other));

	if (!other)
		return strata_fail_memory(err);
	for (size_t width = 1; width < count; width *= 2) {
		for (size_t at = 0; at < count; at += 2 * width) {
			size_t middle = at + width < count ? at + width : count;
			size_t end = middle + width < count ? middle + width : count;

			for (size_t a = at, b = middle, k = at; k < end; k++)
				other[k] = a < middle && (b == end ||
							  by_order(&marks[a], &marks[b]) <= 0)
						   ? marks[a++]
						   : marks[b++];
		}
		memcpy(marks, other, count * sizeof(*marks));
	}
	return 0;
}

static int order_marks(struct mark *marks, size_t count, struct strata_arena *arena,
		       struct strata_error *err)
{
	int rc = 0;

	for (size_t at = 0, end; rc == 0 && at < count; at = end) {
		for (end = at; end < count && marks[end].order; end++)
			;
		if (end - at > 1)
			rc = sort_marks(marks + at, end - at, arena, err);
		end += end == at;
	}
	return rc;
}

/* Joins what can be joined with the starter before it; how many characters are left. */
static size_t join_all(const struct mark *marks, size_t count, uint32_t *codes)
{
	size_t kept = 0, starter = SIZE_MAX;
	int last = -1; /* class of the last one kept behind the starter; -1: none */

	for (size_t i = 0; i < count; i++) {
		uint32_t joined = 0;

		if (starter != SIZE_MAX && last < marks[i].order)
			joined = join(codes[starter], marks[i].code);
		if (joined) {
			codes[starter] = joined;
			continue;
		}
		if (marks[i].order == 0)
			starter = kept;
		last = marks[i].order == 0 ? -1 : marks[i].order;
		codes[kept++] = marks[i].code;
	}
	return kept;
}

int unicode_compose(const uint32_t *codes, size_t count, struct strata_arena *arena,
		    uint32_t **ret_codes, size_t *ret_count, struct strata_error *err)
{
	uint32_t parts[UNICODE_SPLIT_MAX], *result;
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += split_fully(codes[i], parts);
	struct mark *marks = strata_arena_array(arena, total, sizeof(*marks));

	result = strata_arena_array(arena, total, sizeof(*result));
	if (!marks || !result)
		return strata_fail_memory(err);
	total = 0;
	for (size_t i = 0; i < count; i++) {
		size_t many = split_fully(codes[i], parts);

		for (size_t k = 0; k < many; k++)
			marks[total++] = (struct mark){ parts[k], order_of(parts[k]) };
	}
	int rc = order_marks(marks, total, arena, err);

	if (rc)
		return rc;
	*ret_count = join_all(marks, total, result);
	*ret_codes = result;
	return 0;
}
