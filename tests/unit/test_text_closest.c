#include "test.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static const char *closest(const char *name, const char *const *candidates)
{
	struct text_closest found;

	text_closest_init(&found, name, strlen(name));
	for (; *candidates; candidates++)
		text_closest_offer(&found, *candidates);
	return found.best;
}

#define CLOSEST(name, ...) closest(name, (const char *const[]){ __VA_ARGS__, NULL })

TEST(slips_of_the_finger_are_forgiven)
{
	CHECK_TEXT(CLOSEST("fif", "fair", "fifo", "priority"), "fifo");
	CHECK_TEXT(CLOSEST("proirity", "fair", "fifo", "priority"), "priority");
	CHECK_TEXT(CLOSEST("roundrobbin", "round_robin", "resource"), "round_robin");
	CHECK_TEXT(CLOSEST("EULAR", "euler", "heun"), "euler");
	CHECK_TEXT(CLOSEST("--tiem", "--mem", "--time"), "--time");
	CHECK_TEXT(CLOSEST("Fifo", "fifo"), "fifo");
	CHECK_TEXT(CLOSEST("x", "X", "y"), "X");
}

TEST(what_is_too_far_is_not_suggested)
{
	CHECK(!CLOSEST("abc", "xyz", "abxy"));
	CHECK(!CLOSEST("x", "y", "xy"));
	CHECK(!CLOSEST("", "a"));
	CHECK(!CLOSEST("priority", "p", "fair"));
	CHECK(!CLOSEST("abcdef", "abcxyz"));               /* 3 of 6 */
	CHECK_TEXT(CLOSEST("abcdef", "abcdxy"), "abcdxy"); /* 2 of 6 */
	CHECK(!CLOSEST("abcde", "abcxy"));                 /* 2 of 5 */
}

TEST(the_nearest_wins_and_the_first_among_equals)
{
	CHECK_TEXT(CLOSEST("semantics", "semantiks", "semantic", "semantics2"), "semantiks");
	CHECK_TEXT(CLOSEST("semantixx", "semantics", "semantix"), "semantix");
	CHECK_TEXT(CLOSEST("exact", "exactly", "exact"), "exact");
}

TEST(names_at_the_limit_have_neighbours_and_longer_ones_have_none)
{
	char name[STRATA_NAME_BYTES_MAX + 2], candidate[STRATA_NAME_BYTES_MAX + 2];

	memset(name, 'a', sizeof(name));
	memset(candidate, 'a', sizeof(candidate));
	name[STRATA_NAME_BYTES_MAX] = candidate[STRATA_NAME_BYTES_MAX] = '\0';
	name[3] = 'b';
	CHECK(CLOSEST(name, candidate) == candidate);
	candidate[STRATA_NAME_BYTES_MAX] = 'a';
	candidate[STRATA_NAME_BYTES_MAX + 1] = '\0';
	CHECK(!CLOSEST(name, candidate));
	CHECK(!CLOSEST(candidate, name));
}

/* The definition, by recursion. */
static size_t naive(const char *a, size_t m, const char *b, size_t n)
{
	if (m == 0 || n == 0)
		return m + n;
	size_t best = naive(a, m - 1, b, n - 1) + (a[m - 1] != b[n - 1]);
	size_t other = naive(a, m - 1, b, n) + 1;

	best = other < best ? other : best;
	other = naive(a, m, b, n - 1) + 1;
	best = other < best ? other : best;
	if (m > 1 && n > 1 && a[m - 1] == b[n - 2] && a[m - 2] == b[n - 1]) {
		other = naive(a, m - 2, b, n - 2) + 1;
		best = other < best ? other : best;
	}
	return best;
}

TEST(the_distance_is_the_least_number_of_edits)
{
	srand(1);
	for (int round = 0; round < 2000; round++) {
		char a[8] = "", b[8] = "";
		size_t m = 2 + (size_t)rand() % 5, n = (size_t)rand() % 7;

		for (size_t i = 0; i < m; i++)
			a[i] = (char)('a' + rand() % 3);
		for (size_t i = 0; i < n; i++)
			b[i] = (char)('a' + rand() % 3);
		size_t want = naive(a, m, b, n), near = m > 5 ? m / 3 : 1;

		if (m >= 3 && n > m && memcmp(a, b, m) == 0)
			want = 1; /* whoever stops early means that */
		struct text_closest found;

		text_closest_init(&found, a, strlen(a));
		text_closest_offer(&found, b);
		CHECK_INT(found.best != NULL, want <= near);
		if (found.best)
			CHECK_INT(found.distance, want);
	}
}

TEST(the_beginning_of_a_name_means_it)
{
	struct text_closest found;

	text_closest_init(&found, "gpus-per", 8);
	text_closest_offer(&found, "gpu_share");
	text_closest_offer(&found, "gpus_per_node");
	CHECK_TEXT(found.best, "gpus_per_node");
	CHECK(!CLOSEST("de", "dependencies"));
}

TEST(an_alias_stands_for_the_name_that_is_meant)
{
	struct text_closest found;

	text_closest_init(&found, "golden", 5); /* "golde" */
	text_closest_offer_as(&found, "Golden Delicious", 6, "apple");
	CHECK_TEXT(found.best, "apple");
}
