#include "test.h"

#include <strata/rng.h>
#include <strata/text.h>

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_error err;

TEST(whole_numbers_are_read_to_the_ends_of_their_range)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "+5", 5 },
		{ "007", 7 },
		{ "-12", -12 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN },
		{ "0000000000000000000000000000009", 9 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = 77;

		CHECK_OK(strata_int_parse(cases[i].text, STRATA_TEXT_NUL, INT64_MIN, INT64_MAX,
					  &value, &err));
		CHECK_INT(value, cases[i].value);
	}
}

TEST(what_is_no_whole_number_is_refused)
{
	static const char *const wrong[] = { "",    "-",   "+",    "--1",   "+-1", " 1", "1 ",
					     "1.0", "1e3", "0x10", "1,000", "one", "٣" };
	int64_t value = 77;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_ERROR(strata_int_parse(wrong[i], STRATA_TEXT_NUL, INT64_MIN, INT64_MAX,
					     &value, &err),
			    -EINVAL, "is not a whole number");
	CHECK_ERROR(strata_int_parse("1\0", 2, 0, 9, &value, &err), -EINVAL, "\"1?\" is not");
	CHECK_INT(value, 77);
}

TEST(a_range_is_met_at_its_ends_and_named_outside)
{
	int64_t value = 77;

	CHECK_OK(strata_int_parse("1", 1, 1, 1000, &value, &err));
	CHECK_OK(strata_int_parse("1000", 4, 1, 1000, &value, &err));
	value = 77;
	CHECK_ERROR(strata_int_parse("0", 1, 1, 1000, &value, &err), -ERANGE,
		    "\"0\" is out of range; expected 1 to 1000");
	CHECK_ERROR(strata_int_parse("1001", 4, 1, 1000, &value, &err), -ERANGE, "1 to 1000");
	CHECK_ERROR(strata_int_parse("9223372036854775808", 19, 1, INT64_MAX, &value, &err),
		    -ERANGE, "expected 1 to 9223372036854775807");
	CHECK_ERROR(strata_int_parse("-9223372036854775809", 20, INT64_MIN, 0, &value, &err),
		    -ERANGE, "");
	CHECK_ERROR(
		strata_int_parse("99999999999999999999999", 23, INT64_MIN, INT64_MAX, &value, &err),
		-ERANGE, "");
	CHECK_INT(value, 77);
	CHECK_INT(strata_int_parse("x", 1, 0, 1, &value, NULL), -EINVAL);
}

TEST(only_the_given_length_is_read)
{
	int64_t value;
	double real;

	CHECK_OK(strata_int_parse("12x", 2, 0, 100, &value, &err));
	CHECK_INT(value, 12);
	CHECK_OK(strata_real_parse("1.5e9", 3, &real, &err));
	CHECK(real == 1.5);
}

TEST(real_numbers_are_read_and_rounded_as_the_library_does)
{
	static const char *const cases[] = {
		"0",
		"-0",
		"3",
		"+3",
		"0.5",
		".5",
		"5.",
		"-.25",
		"1e3",
		"1E+3",
		"1e-3",
		"12.5e-1",
		"0.1",
		"1e308",
		"1.7976931348623157e308",
		"4.9e-324",
		"2.2250738585072011e-308",
		"9007199254740993",
		"1e-400",
		"0e999999999999999999999",
		"123456789012345678901234567890",
		"0.000000000000000000000000000001",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double value = 77, want = strtod(cases[i], NULL);

		CHECK_OK(strata_real_parse(cases[i], STRATA_TEXT_NUL, &value, &err));
		CHECK_BYTES(&value, &want, sizeof(value));
	}
}

TEST(what_is_no_finite_number_is_refused)
{
	static const char *const wrong[] = { "",      "-",   ".",     "e5",   "1e",        "1e+",
					     "1.2.3", "1,5", "nan",   "inf",  "-Infinity", "0x1p3",
					     " 1",    "1 ",  "1_000", "1e5.5" };
	static const char *const large[] = { "1e309", "-1e309", "1.8e308",
					     "1e99999999999999999999" };
	double value = 77;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_ERROR(strata_real_parse(wrong[i], STRATA_TEXT_NUL, &value, &err), -EINVAL,
			    "is not a number");
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		CHECK_ERROR(strata_real_parse(large[i], STRATA_TEXT_NUL, &value, &err), -ERANGE,
			    "is too large");
	CHECK(value == 77);
}

TEST(the_longest_number_is_read_and_one_character_more_is_not)
{
	char text[STRATA_NUMBER_BYTES_MAX + 1];
	double value;

	memset(text, '0', sizeof(text));
	text[0] = '-';
	text[1] = '.';
	memcpy(text + STRATA_NUMBER_BYTES_MAX - 5, "1e999", 5);
	CHECK_OK(strata_real_parse(text, STRATA_NUMBER_BYTES_MAX, &value, &err));
	CHECK(value == -1e-19);
	CHECK_ERROR(strata_real_parse(text, STRATA_NUMBER_BYTES_MAX + 1, &value, &err), -EINVAL,
		    "too long");
}

TEST(real_numbers_print_short)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ 3, "3" },
		{ -2.5, "-2.5" },
		{ 0.1, "0.1" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 100, "100" },
		{ 1e15, "1000000000000000" },
		{ 9007199254740993.0, "9007199254740992" },
		{ 1e16, "1e16" },
		{ 1e22, "1e22" },
		{ 0.0001, "0.0001" },
		{ 0.00012345, "0.00012345" },
		{ 0.00001, "1e-5" },
		{ -2.5e-7, "-2.5e-7" },
		{ 123456.789, "123456.789" },
		{ DBL_MAX, "1.7976931348623157e308" },
		{ DBL_MIN, "2.2250738585072014e-308" },
		{ 4.9e-324, "5e-324" },
		{ 1.5e-310, "1.5e-310" },
		{ INFINITY, "inf" },
		{ -INFINITY, "-inf" },
		{ (double)NAN, "nan" },
	};
	char text[STRATA_FORM_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_TEXT(strata_real_print(cases[i].value, text), cases[i].text);
}

/* Every bit pattern comes back, and no printed form is longer than the library's shortest. */
TEST(any_finite_number_survives_the_round_trip)
{
	struct strata_rng rng;

	strata_rng_init(&rng, 1, 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t bits = strata_rng_u64(&rng);
		double value, back = 77;
		char text[STRATA_FORM_BYTES], full[64];

		if (i % 10 == 0)
			bits &= ~(UINT64_C(0x7ff) << 52); /* subnormal */
		memcpy(&value, &bits, sizeof(value));
		if (i % 10 == 1)
			value = (double)(int64_t)(bits >> 40) / 100;
		if (!isfinite(value))
			continue;
		strata_real_print(value, text);
		CHECK(strlen(text) <= 25);
		CHECK_OK(strata_real_parse(text, STRATA_TEXT_NUL, &back, &err));
		CHECK_BYTES(&back, &value, sizeof(value));
		snprintf(full, sizeof(full), "%.17e", value);
		CHECK(strtod(text, NULL) == strtod(full, NULL));
	}
}

/* A locale with a decimal comma is made for the test: whether one is installed is a matter of
 * chance. */
TEST(the_locale_has_no_say)
{
	char command[1024], text[STRATA_FORM_BYTES];
	const char *dir = test_temp_dir();
	double value;

	snprintf(command, sizeof(command),
		 "printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND "
		 "LC_NUMERIC\n' "
		 ">%s/source && localedef -c -i %s/source -f ANSI_X3.4-1968 %s/comma >/dev/null "
		 "2>&1",
		 dir, dir, dir);
	system(command); /* its status also tells of the categories that were left out */
	setenv("LOCPATH", dir, 1);
	if (!setlocale(LC_NUMERIC, "comma"))
		test_skip("localedef cannot make a locale here");
	bool comma = strcmp(localeconv()->decimal_point, ",") == 0;
	int rc = strata_real_parse("1234.1", 6, &value, &err);

	strata_real_print(1234.1, text);
	setlocale(LC_NUMERIC, "C");
	CHECK(comma);
	CHECK_INT(rc, 0);
	CHECK(value == 1234.1);
	CHECK_TEXT(text, "1234.1");
}
