#include "test.h"

#include <strata/rng.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

#define US STRATA_US_NS
#define MS STRATA_MS_NS
#define S STRATA_SECOND_NS
#define M STRATA_MINUTE_NS
#define H STRATA_HOUR_NS
#define D STRATA_DAY_NS
#define W STRATA_WEEK_NS

static struct strata_error err;

static int parse(const char *text, int64_t *ret_ns)
{
	return strata_duration_parse(text, STRATA_TEXT_NUL, M, 0, ret_ns, &err);
}

TEST(every_form_is_read)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		/* Slurm: a bare number is in the unit given, here minutes */
		{ "90", 90 * M },
		{ "0", 0 },
		{ "1.5", 90 * S },
		{ "007", 7 * M },
		{ "10:00", 10 * M },
		{ "0:10", 10 * S },
		{ "90:90", 90 * M + 90 * S },
		{ "1:0", M },
		{ "1:02:03", H + 2 * M + 3 * S },
		{ "00:10:00", 10 * M },
		{ "100:00:00", 100 * H },
		{ "0:0:0", 0 },
		{ "1-02", D + 2 * H },
		{ "1-2", D + 2 * H },
		{ "1-02:03", D + 2 * H + 3 * M },
		{ "1-02:03:04", D + 2 * H + 3 * M + 4 * S },
		{ "0-48:00", 2 * D },
		{ "0-13:0", 13 * H },
		{ "30-00:00:00", 30 * D },
		{ "20-20:00:00", 20 * D + 20 * H },
		/* people */
		{ "2h30m", 2 * H + 30 * M },
		{ "1.5h", 90 * M },
		{ "90s", 90 * S },
		{ "250ms", 250 * MS },
		{ "10us", 10 * US },
		{ "10µs", 10 * US },
		{ "10μs", 10 * US },
		{ "7ns", 7 },
		{ "3d", 3 * D },
		{ "2w", 2 * W },
		{ "1h 30min", 90 * M },
		{ "1 h 30 min", 90 * M },
		{ "1d12h", 36 * H },
		{ "1hour", H },
		{ "2 hours", 2 * H },
		{ "1minute", M },
		{ "5minutes", 5 * M },
		{ "1day", D },
		{ "2days", 2 * D },
		{ "1week", W },
		{ "2weeks", 2 * W },
		{ "60seconds", M },
		{ "1second", S },
		{ "5secs", 5 * S },
		{ "3hrs", 3 * H },
		{ "2H30M", 2 * H + 30 * M },
		{ "1w2d3h4m5s6ms7us8ns", W + 2 * D + 3 * H + 4 * M + 5 * S + 6 * MS + 7 * US + 8 },
		{ "0.5s", 500 * MS },
		{ "1.5h30m", 2 * H },
		{ "0s", 0 },
		{ "1h0.5s", H + 500 * MS },
		{ "0.000000001s", 1 },
		{ "0.4ns", 0 },
		{ "0.5ns", 1 },
		{ "0.33333333333333333333h", 1199999999999 + 1 },
		{ "1h\t5m", 65 * M },
		{ "36525d", STRATA_DURATION_NS_MAX },
		{ "36525-00", STRATA_DURATION_NS_MAX },
		{ "52596000", STRATA_DURATION_NS_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = -77;

		if (parse(cases[i].text, &ns) != 0 || ns != cases[i].ns)
			test_fail(__FILE__, __LINE__, "«%s» gave %lld (%s), expected %lld",
				  cases[i].text, (long long)ns, err.text, (long long)cases[i].ns);
	}
}

TEST(what_is_no_duration_is_refused)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "\"\" is not a duration; expected a form such as 90s, 2h30m" },
		{ " ", "is not a duration" },
		{ "abc", "is not a duration" },
		{ "-5", "is not a duration" },
		{ "-1h", "is not a duration" },
		{ "+1h", "is not a duration" },
		{ " 1h", "is not a duration" },
		{ "1h ", "is not a duration" },
		{ "1h,30m", "is not a duration" },
		{ "5.", "is not a duration" },
		{ ".5h", "is not a duration" },
		{ "1:2:3:4", "is not a duration" },
		{ "10:", "is not a duration" },
		{ ":10", "is not a duration" },
		{ "1-", "is not a duration" },
		{ "1-2-3", "is not a duration" },
		{ "1:2-3", "is not a duration" },
		{ "10:00.5", "is not a duration" },
		{ "1.5:00", "is not a duration" },
		{ "1-02:03:04:05", "is not" },
		{ "1-02h", "is not a duration" },
		{ "10:00s", "is not a duration" },
		{ "1 0:00", "without a unit" },
		{ "1h30", "has a number without a unit" },
		{ "1h 30", "without a unit" },
		{ "5 ", "without a unit" },
		{ "5x", "\"5x\" has an unknown unit; expected ns, us, ms, s, m, h, d or w" },
		{ "1y", "unknown unit" },
		{ "1month", "unknown unit" },
		{ "1hh", "unknown unit" },
		{ "5ſ", "unknown unit" },
		{ "30m2h", "out of order" },
		{ "1h1h", "out of order" },
		{ "1m5m", "out of order" },
		{ "1h-30m", "is not a duration" },
		{ "1e3s", "unknown unit" },
		{ "0x10", "unknown unit" },
		{ "unlimited", "\"unlimited\" is not allowed here" },
		{ "INFINITE", "is not allowed here" },
		{ "-1", "is not allowed here" },
		{ "unlimite", "is not a duration" },
	};
	int64_t ns = -77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(parse(cases[i].text, &ns), -EINVAL, cases[i].words);
	CHECK_ERROR(strata_duration_parse("1h\0", 3, M, 0, &ns, &err), -EINVAL, "\"1h?\"");
	CHECK_INT(ns, -77);
	CHECK_INT(strata_duration_parse("x", 1, M, 0, &ns, NULL), -EINVAL);
}

TEST(more_than_100_years_is_out_of_range)
{
	static const char *const cases[] = {
		"36525d1ns",
		"36525-0:0:1",
		"36526d",
		"52596001",
		"5218w",
		"876600:00:01",
		"99999999999999999999",
		"99999999999999999999d",
		"18446744073709551616-0",
		"18446744073709551615:18446744073709551615",
		"36525.1d",
	};
	int64_t ns = -77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(parse(cases[i], &ns), -ERANGE,
			    "is too long a duration; expected at most 100 years");
	CHECK_INT(ns, -77);
}

TEST(a_bare_number_takes_the_callers_unit_or_is_refused)
{
	int64_t ns;

	CHECK_OK(strata_duration_parse("90", 2, S, 0, &ns, &err));
	CHECK_INT(ns, 90 * S);
	CHECK_OK(strata_duration_parse("1.5", 3, MS, 0, &ns, &err));
	CHECK_INT(ns, 1500 * US);
	CHECK_ERROR(strata_duration_parse("90", 2, 0, 0, &ns, &err), -EINVAL,
		    "number without a unit");
	CHECK_OK(strata_duration_parse("90s", 3, 0, 0, &ns, &err));
	CHECK_OK(strata_duration_parse("10:00", 5, 0, 0, &ns, &err));
	CHECK_INT(ns, 10 * M);
}

TEST(unlimited_is_read_where_it_is_allowed)
{
	static const char *const cases[] = { "UNLIMITED", "unlimited", "Infinite", "-1" };

	for (size_t i = 0; i < 4; i++) {
		int64_t ns = 0;

		CHECK_OK(strata_duration_parse(cases[i], STRATA_TEXT_NUL, M,
					       STRATA_DURATION_UNLIMITED_OK, &ns, &err));
		CHECK(ns == STRATA_DURATION_UNLIMITED);
	}
}

TEST(only_the_given_length_is_read)
{
	int64_t ns;

	CHECK_OK(strata_duration_parse("10m5x", 3, 0, 0, &ns, &err));
	CHECK_INT(ns, 10 * M);
	CHECK_OK(strata_duration_parse("1:02:03", 4, 0, 0, &ns, &err));
	CHECK_INT(ns, M + 2 * S);
}

TEST(durations_print_exactly_as_slurm_does_and_short)
{
	static const struct {
		int64_t ns;
		const char *exact, *slurm, *brief;
	} cases[] = {
		{ 0, "0s", "00:00:00", "0 s" },
		{ 7, "7ns", "00:00:00", "7 ns" },
		{ 1500, "1.5us", "00:00:00", "1.5 us" },
		{ 250 * MS, "250ms", "00:00:00", "250 ms" },
		{ 1234567, "1.234567ms", "00:00:00", "1.23 ms" },
		{ 999600000, "999.6ms", "00:00:00", "1 s" },
		{ 1500 * MS, "1.5s", "00:00:01", "1.5 s" },
		{ 59960 * MS, "59.96s", "00:00:59", "1m" },
		{ 90 * S, "1m30s", "00:01:30", "1m 30s" },
		{ 10 * M, "10m", "00:10:00", "10m" },
		{ 2 * H + 30 * M, "2h30m", "02:30:00", "2h 30m" },
		{ H + 500 * MS, "1h0.5s", "01:00:00", "1h" },
		{ 3599600 * MS, "59m59.6s", "00:59:59", "1h" },
		{ D - S, "23h59m59s", "23:59:59", "1d" },
		{ 3 * D + 4 * H, "3d4h", "3-04:00:00", "3d 4h" },
		{ D + 2 * H + 3 * M + 4 * S, "1d2h3m4s", "1-02:03:04", "1d 2h" },
		{ 7 * D, "7d", "7-00:00:00", "7d" },
		{ STRATA_DURATION_NS_MAX, "36525d", "36525-00:00:00", "36525d" },
		{ STRATA_DURATION_UNLIMITED, "unlimited", "UNLIMITED", "unlimited" },
		{ -90 * S, "-1m30s", "-00:01:30", "-1m 30s" },
		{ -5 * MS, "-5ms", "00:00:00", "-5 ms" },
		{ INT64_MIN, "-106751d23h47m16.854775808s", "-106751-23:47:16", "-106752d" },
		{ INT64_MAX - 1, "106751d23h47m16.854775806s", "106751-23:47:16", "106752d" },
	};
	char text[STRATA_FORM_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_TEXT(strata_duration_print(cases[i].ns, text), cases[i].exact);
		CHECK_TEXT(strata_duration_print_slurm(cases[i].ns, text), cases[i].slurm);
		CHECK_TEXT(strata_duration_print_short(cases[i].ns, text), cases[i].brief);
	}
}

/* Exact forms come back as they were, Slurm's to the second, and short ones are near. */
TEST(any_duration_survives_the_round_trip)
{
	struct strata_rng rng;

	strata_rng_init(&rng, 1, 0);
	for (int i = 0; i < 50000; i++) {
		int64_t scale = (int64_t[]){ 1, US, MS, S, M, H }[i % 6], back;
		int64_t ns = (int64_t)strata_rng_below(&rng, UINT64_C(1) << (1 + i % 61));
		char text[STRATA_FORM_BYTES];

		ns = ns % (STRATA_DURATION_NS_MAX / scale) * scale;
		CHECK_OK(parse(strata_duration_print(ns, text), &back));
		CHECK_INT(back, ns);
		CHECK_OK(parse(strata_duration_print_slurm(ns, text), &back));
		CHECK_INT(back, ns / S * S);
		CHECK_OK(parse(strata_duration_print_short(ns, text), &back));
		CHECK_NEAR((double)back, (double)ns, (double)ns * 0.022);
	}
}
