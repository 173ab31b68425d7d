#include "test.h"

#include <strata/text.h>

#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(the_cursor_stops_at_its_length)
{
	struct scan scan;
	const char *word;
	uint64_t value;

	scan_init(&scan, "12345abc", 3);
	CHECK(scan_digits(&scan, 1, SIZE_MAX, &value));
	CHECK_INT(value, 123);
	CHECK(scan_ended(&scan) && !scan_char(&scan, '4'));
	scan_init(&scan, "abc", 2);
	CHECK_INT(scan_letters(&scan, &word), 2);
	CHECK(scan_ended(&scan));
	scan_init(&scan, "now", 2);
	CHECK(!scan_word(&scan, "now"));
	scan_init(&scan, NULL, 0);
	CHECK(scan_ended(&scan));
	scan_init(&scan, "ab", STRATA_TEXT_NUL);
	CHECK_INT(scan.end - scan.start, 2);
}

TEST(digits_are_counted_and_kept_in_64_bits)
{
	struct scan scan;
	uint64_t value = 7;

	scan_init(&scan, "12", 2);
	CHECK(!scan_digits(&scan, 3, 3, &value) && scan.at == scan.start);
	CHECK_INT(value, 7);
	scan_init(&scan, "12345", 5);
	CHECK(scan_digits(&scan, 2, 2, &value));
	CHECK_INT(value, 12);
	scan_init(&scan, "18446744073709551614", STRATA_TEXT_NUL);
	CHECK(scan_digits(&scan, 1, SIZE_MAX, &value) && value == UINT64_MAX - 1);
	scan_init(&scan, "18446744073709551616", STRATA_TEXT_NUL);
	CHECK(scan_digits(&scan, 1, SIZE_MAX, &value) && value == UINT64_MAX);
	scan_init(&scan, "99999999999999999999900000000000000001", STRATA_TEXT_NUL);
	CHECK(scan_digits(&scan, 1, SIZE_MAX, &value) && value == UINT64_MAX);
}

TEST(words_are_matched_whole_and_in_any_case)
{
	struct scan scan;

	scan_init(&scan, "NoOn", 4);
	CHECK(!scan_word(&scan, "no") && !scan_word(&scan, "noons"));
	CHECK(scan_word(&scan, "noon") && scan_ended(&scan));
	CHECK(text_same("ABC", 3, "abc") && !text_same("ABC", 3, "abcd") &&
	      !text_same("ABC", 2, "a"));
	CHECK(text_same("", 0, "") && !text_same("\0", 1, ""));
}

static uint64_t scaled(const char *text, uint64_t numerator, uint64_t denominator, uint64_t max)
{
	struct decimal decimal;
	struct scan scan;
	uint64_t value;

	scan_init(&scan, text, STRATA_TEXT_NUL);
	CHECK(scan_decimal(&scan, &decimal) && scan_ended(&scan));
	return decimal_scale(&decimal, numerator, denominator, max, &value) ? value : UINT64_MAX;
}

TEST(decimals_are_scaled_without_loss_and_rounded_half_up)
{
	CHECK_INT(scaled("1.5", 1000, 1, INT64_MAX), 1500);
	CHECK_INT(scaled("0.5", 1, 1, INT64_MAX), 1);
	CHECK_INT(scaled("0.499999999999999999", 1, 1, INT64_MAX), 0);
	CHECK_INT(scaled("0.4999999999999999999999999999", 1, 1, INT64_MAX), 0);
	CHECK_INT(scaled("9223372036.854775807", 1000000000, 1, INT64_MAX), INT64_MAX);
	CHECK_INT(scaled("7", 1, 8, INT64_MAX), 1);
	CHECK_INT(scaled("3", 1, 8, INT64_MAX), 0);
	CHECK_INT(scaled("3.999", 1, 8, INT64_MAX), 0);
	CHECK_INT(scaled("4", 1, 8, INT64_MAX), 1);
	CHECK_INT(scaled("100", 1, 1, 100), 100);
	CHECK(scaled("101", 1, 1, 100) == UINT64_MAX);
	CHECK(scaled("100.5", 1, 1, 100) == UINT64_MAX);
	CHECK(scaled("18446744073709551615", INT64_MAX, 1, UINT64_MAX) == UINT64_MAX);
	CHECK(scaled("18446744073709551614.999999999999999999", INT64_MAX, 8, UINT64_MAX) ==
	      UINT64_MAX);
}

TEST(a_decimal_needs_digits_on_both_sides_of_its_point)
{
	static const char *const wrong[] = { "", ".", ".5", "5.", "x", "-1" };
	struct decimal decimal;
	struct scan scan;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		scan_init(&scan, wrong[i], STRATA_TEXT_NUL);
		CHECK(!scan_decimal(&scan, &decimal) && scan.at == scan.start);
	}
}

TEST(short_numbers_have_three_digits_and_say_when_a_larger_unit_is_due)
{
	char text[STRATA_FORM_BYTES];

	CHECK(text_short(1500, 1000, 1000, " s", text, sizeof(text)));
	CHECK_TEXT(text, "1.5 s");
	CHECK(text_short(1049, 1000, 1000, " s", text, sizeof(text)));
	CHECK_TEXT(text, "1.05 s");
	CHECK(text_short(9996, 1000, 1000, "", text, sizeof(text)));
	CHECK_TEXT(text, "10");
	CHECK(text_short(12340, 1000, 1000, "", text, sizeof(text)));
	CHECK_TEXT(text, "12.3");
	CHECK(text_short(999499, 1000, 1000, "", text, sizeof(text)));
	CHECK_TEXT(text, "999");
	CHECK(!text_short(999500, 1000, 1000, "", text, sizeof(text)));
	CHECK(text_short(UINT64_MAX, 1, UINT64_MAX, "", text, sizeof(text)) == false);
}

static const char *excerpt(const char *text, size_t length)
{
	static char room[TEXT_EXCERPT_BYTES];

	return text_excerpt(text, length, room);
}

TEST(an_excerpt_is_printable_valid_and_short)
{
	CHECK_TEXT(excerpt("2h30m", 5), "2h30m");
	CHECK_TEXT(excerpt("", 0), "");
	CHECK_TEXT(excerpt("a\0b\n\x7f\x1b[31m", 9), "a?b???[31");
	CHECK_TEXT(excerpt("10 µs “x” 🙂", 19), "10 µs “x” 🙂");
	CHECK_TEXT(excerpt("\xC2", 1), "?");
	CHECK_TEXT(excerpt("\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xFF\xC2\x9B", 12), "????????????");
	char longest[TEXT_EXCERPT_BYTES * 2];

	memset(longest, 'x', sizeof(longest));
	size_t fits = TEXT_EXCERPT_BYTES - sizeof("…");

	CHECK_INT(strlen(excerpt(longest, fits)), fits);
	CHECK_INT(strlen(excerpt(longest, fits + 1)), fits + 3);
	CHECK(strstr(excerpt(longest, fits + 1), "x…"));
}

TEST(a_failure_names_the_text)
{
	struct strata_error err;
	struct scan scan;

	scan_init(&scan, "abc def", 3);
	CHECK_ERROR(scan_fail(&scan, &err, -EINVAL, "is not a thing"), -EINVAL,
		    "\"abc\" is not a thing");
}
