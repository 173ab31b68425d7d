#include "test.h"

#include <strata/rng.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#define S STRATA_SECOND_NS
#define NOW (INT64_C(1772368200) * S + 500) /* 2026-03-01T12:30:00.0000005Z */
#define MIDNIGHT (INT64_C(1772323200) * S)  /* of that day */

static struct strata_error err;

static int parse(const char *text, int64_t *ret_ns)
{
	return strata_time_parse(text, STRATA_TEXT_NUL, NOW, 0, ret_ns, &err);
}

TEST(every_form_is_read)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-03-01T12:30:00Z", 1772368200 * S },
		{ "2026-03-01t12:30:00z", 1772368200 * S },
		{ "2026-03-01 12:30:00Z", 1772368200 * S },
		{ "2026-03-01  12:30", 1772368200 * S },
		{ "2026-03-01T12:30", 1772368200 * S },
		{ "2026-03-01T13:30:00+01:00", 1772368200 * S },
		{ "2026-03-01T13:30+0100", 1772368200 * S },
		{ "2026-03-01T13:30:00+01", 1772368200 * S },
		{ "2026-03-01T07:00:00-05:30", 1772368200 * S },
		{ "2026-03-01T12:30:00-00:00", 1772368200 * S },
		{ "2026-03-01T12:30:00.5Z", 1772368200 * S + S / 2 },
		{ "2026-03-01T12:30:00.123456789Z", 1772368200 * S + 123456789 },
		{ "2026-03-01T12:30:00.000000001", 1772368200 * S + 1 },
		{ "2026-03-01", MIDNIGHT },
		{ "2026-03-01 4:30 PM", MIDNIGHT + (16 * 60 + 30) * 60 * S },
		{ "2026-03-01 noon", MIDNIGHT + 12 * 3600 * S },
		{ "2024-02-29", 1709164800 * S },
		{ "2000-02-29T23:59:59Z", 951868799 * S },
		{ "2261-12-31T23:59:59.999999999Z", STRATA_TIME_NS_MAX },
		{ "2261-12-31T22:59:59.999999999-01:00", STRATA_TIME_NS_MAX },
		{ "@0", 0 },
		{ "@1767225600", 1767225600 * S },
		{ "@1767225600.25", 1767225600 * S + S / 4 },
		{ "@9214646399.999999999", STRATA_TIME_NS_MAX },
		{ "now", NOW },
		{ "NOW", NOW },
		{ "now+1h", NOW + 3600 * S },
		{ "now+1hour", NOW + 3600 * S },
		{ "now+60", NOW + 60 * S },
		{ "now + 2 hours", NOW + 7200 * S },
		{ "now+1-02:03:04", NOW + 93784 * S },
		{ "now-1day", NOW - 86400 * S },
		{ "today", MIDNIGHT },
		{ "Tomorrow", MIDNIGHT + 86400 * S },
		{ "tomorrow 16:00", MIDNIGHT + (24 + 16) * 3600 * S },
		{ "today noon", MIDNIGHT + 12 * 3600 * S },
		{ "tomorrow teatime", MIDNIGHT + (24 + 16) * 3600 * S },
		/* clocks: the next occurrence, and now itself has passed */
		{ "16:00", MIDNIGHT + 16 * 3600 * S },
		{ "12:31", MIDNIGHT + (12 * 60 + 31) * 60 * S },
		{ "12:30:01", 1772368201 * S },
		{ "12:30", 1772368200 * S + 86400 * S },
		{ "12:29:59", 1772368199 * S + 86400 * S },
		{ "9:05", MIDNIGHT + (24 * 60 + 9 * 60 + 5) * 60 * S },
		{ "4:30 PM", MIDNIGHT + (16 * 60 + 30) * 60 * S },
		{ "4:30pm", MIDNIGHT + (16 * 60 + 30) * 60 * S },
		{ "12:00 am", MIDNIGHT + 86400 * S },
		{ "12:45 PM", MIDNIGHT + (12 * 60 + 45) * 60 * S },
		{ "midnight", MIDNIGHT + 86400 * S },
		{ "noon", MIDNIGHT + 36 * 3600 * S },
		{ "elevenses", MIDNIGHT + 35 * 3600 * S },
		{ "fika", MIDNIGHT + 15 * 3600 * S },
		{ "teatime", MIDNIGHT + 16 * 3600 * S },
		{ "16:00Z", MIDNIGHT + 16 * 3600 * S },
		{ "13:31+01:00", MIDNIGHT + (12 * 60 + 31) * 60 * S },
		{ "02:00+14:00",
		  MIDNIGHT + (12 + 24) * 3600 * S }, /* there it is 02:30 of the next day */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = -77;

		if (parse(cases[i].text, &ns) != 0 || ns != cases[i].ns)
			test_fail(__FILE__, __LINE__, "«%s» gave %lld (%s), expected %lld",
				  cases[i].text, (long long)ns, err.text, (long long)cases[i].ns);
	}
}

TEST(what_is_no_time_is_refused)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "\"\" is not a time; expected a form such as 2026-03-01T12:30:00Z" },
		{ "nonsense", "is not a time" },
		{ "2026", "is not a time" },
		{ "2026-03", "is not a time" },
		{ "2026-3-1", "is not a time" },
		{ "2026/03/01", "is not a time" },
		{ "20260301", "is not a time" },
		{ "26-03-01", "is not a time" },
		{ "2026-02-30", "that month has no such day" },
		{ "2026-02-29", "no such day" },
		{ "2100-02-29", "no such day" },
		{ "2026-04-31", "no such day" },
		{ "2026-01-00", "no such day" },
		{ "2026-13-01", "no such month" },
		{ "2026-00-01", "no such month" },
		{ "2026-03-01T24:00:00Z", "00:00:00 to 23:59:59" },
		{ "24:00", "23:59:59" },
		{ "2026-03-01T23:59:60Z", "23:59:59" },
		{ "12:60", "23:59:59" },
		{ "2026-03-01T", "is not a time" },
		{ "2026-03-01 ", "is not a time" },
		{ "2026-03-01T12", "is not a time" },
		{ "2026-03-01T12:3", "is not a time" },
		{ "2026-03-01T12:30:", "is not a time" },
		{ "2026-03-01T12:30:00.", "is not a time" },
		{ "2026-03-01T12:30:00.1234567890Z", "is not a time" },
		{ "2026-03-01T12:30.5", "is not a time" },
		{ "2026-03-01T12:30:00ZZ", "is not a time" },
		{ "2026-03-01T12:30:00 Z", "is not a time" },
		{ "2026-03-01T12:30:00+1", "is not a time" },
		{ "2026-03-01T12:30:00+", "is not a time" },
		{ "2026-03-01T12:30:00-", "is not a time" },
		{ "12:30+", "is not a time" },
		{ "2026-03-01T12:30:00+:00", "is not a time" },
		{ "2026-03-01T12:30:00+01:", "is not a time" },
		{ "2026-03-01T12:30:00+24:00", "more than a day from UTC" },
		{ "2026-03-01T12:30:00+01:60", "more than a day" },
		{ "2026-03-01Z", "is not a time" },
		{ " 2026-03-01", "is not a time" },
		{ "2026-03-01x", "is not a time" },
		{ "now+", "is not a duration" },
		{ "now+x", "\"x\" is not a duration" },
		{ "now 5", "is not a time" },
		{ "now+unlimited", "not allowed" },
		{ "nowhere", "is not a time" },
		{ "@", "is not a time" },
		{ "@-1", "is not" },
		{ "@1.", "is not a time" },
		{ "@1x", "is not a time" },
		{ "todayT12:00", "is not a time" },
		{ "today12:00", "is not a time" },
		{ "noonish", "is not a time" },
		{ "noon noon", "is not a time" },
		{ "13:00 PM", "1 to 12 before AM or PM" },
		{ "0:30 am", "1 to 12" },
		{ "4:30 PMx", "is not a time" },
	};
	int64_t ns = -77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(parse(cases[i].text, &ns), -EINVAL, cases[i].words);
	CHECK_ERROR(strata_time_parse("now\0", 4, NOW, 0, &ns, &err), -EINVAL, "\"now?\"");
	CHECK_INT(ns, -77);
	CHECK_INT(strata_time_parse("x", 1, NOW, 0, &ns, NULL), -EINVAL);
}

TEST(times_outside_1970_to_2261_are_out_of_range)
{
	static const char *const cases[] = {
		"1969-12-31T23:59:59Z",
		"1970-01-01T00:00:00+00:01",
		"2262-01-01",
		"9999-12-31",
		"0000-01-01",
		"@9214646400",
		"@99999999999999999999999",
		"2261-12-31T23:59:59.999999999-00:01",
		"now-36525d",
	};
	int64_t ns = -77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(parse(cases[i], &ns), -ERANGE,
			    "is out of range; expected a time from 1970 to 2261");
	CHECK_ERROR(strata_time_parse("now+1ns", 7, STRATA_TIME_NS_MAX, 0, &ns, &err), -ERANGE,
		    "out of range");
	CHECK_ERROR(strata_time_parse("now+36525d", 10, INT64_MAX, 0, &ns, &err), -ERANGE,
		    "out of range");
	CHECK_ERROR(strata_time_parse("tomorrow", 8, STRATA_TIME_NS_MAX, 0, &ns, &err), -ERANGE,
		    "out of range");
	CHECK_ERROR(strata_time_parse("16:00", 5, INT64_MAX, 0, &ns, &err), -ERANGE,
		    "out of range");
	CHECK_ERROR(strata_time_parse("today", 5, 0, 3600, &ns, &err), -ERANGE, "out of range");
	CHECK_INT(ns, -77);
	CHECK_OK(strata_time_parse("now", 3, STRATA_TIME_NS_MAX, 0, &ns, &err));
	CHECK_OK(strata_time_parse("now-1h", 6, 3600 * S, 0, &ns, &err));
	CHECK_INT(ns, 0);
}

TEST(without_now_only_absolute_times_are_read)
{
	static const char *const cases[] = { "now",  "now+1h", "16:00",
					     "noon", "today",  "tomorrow 10:00" };
	int64_t ns = -77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(strata_time_parse(cases[i], STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &ns,
					      &err),
			    -EINVAL, "is relative to now");
	CHECK_INT(ns, -77);
	CHECK_OK(strata_time_parse("2026-03-01", 10, STRATA_TIME_NO_NOW, 0, &ns, &err));
}

TEST(local_times_are_those_of_the_zone_given)
{
	static const struct {
		const char *text;
		int32_t zone;
		int64_t ns;
	} cases[] = {
		{ "2026-03-01T12:30", 3600, 1772368200 * S - 3600 * S },
		{ "2026-03-01T12:30", -18000, 1772368200 * S + 18000 * S },
		{ "2026-03-01T12:30Z", 3600, 1772368200 * S },
		{ "2026-03-01T12:30+02:00", 3600, 1772368200 * S - 7200 * S },
		{ "2026-03-01", 3600, MIDNIGHT - 3600 * S },
		{ "today", 3600, MIDNIGHT - 3600 * S },
		{ "today", 43200, MIDNIGHT + 43200 * S }, /* there it is the second of March */
		{ "today", -46800,
		  MIDNIGHT - 86400 * S + 46800 * S }, /* and there still February */
		{ "13:31", 3600, MIDNIGHT + (12 * 60 + 31) * 60 * S },
		{ "13:30", 3600, MIDNIGHT + (36 * 60 + 30) * 60 * S },
		{ "now+1h", 3600, NOW + 3600 * S },
		{ "@5", 3600, 5 * S },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = -77;

		CHECK_OK(strata_time_parse(cases[i].text, STRATA_TEXT_NUL, NOW, cases[i].zone, &ns,
					   &err));
		CHECK_INT(ns, cases[i].ns);
	}
}

TEST(times_print_as_iso_8601)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00Z" },
		{ 1772368200 * S, "2026-03-01T12:30:00Z" },
		{ 1772368200 * S + S / 2, "2026-03-01T12:30:00.500Z" },
		{ NOW, "2026-03-01T12:30:00.000000500Z" },
		{ 1772368200 * S + 1000, "2026-03-01T12:30:00.000001Z" },
		{ 1772368200 * S + 1, "2026-03-01T12:30:00.000000001Z" },
		{ STRATA_TIME_NS_MAX, "2261-12-31T23:59:59.999999999Z" },
		{ -1, "1969-12-31T23:59:59.999999999Z" },
		{ INT64_MIN, "1677-09-21T00:12:43.145224192Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854775807Z" },
	};
	char text[STRATA_FORM_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_TEXT(strata_time_print(cases[i].ns, text), cases[i].text);
}

/* Each day of the range against the C library's calendar. */
TEST(every_day_from_1970_to_2261_is_the_librarys)
{
	char text[STRATA_FORM_BYTES], want[STRATA_FORM_BYTES];

	for (int64_t day = 0; day < STRATA_TIME_NS_MAX / STRATA_DAY_NS; day++) {
		time_t second = (time_t)(day * 86400);
		struct tm parts;
		int64_t back;

		gmtime_r(&second, &parts);
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &parts);
		strata_time_print(day * STRATA_DAY_NS, text);
		if (strcmp(text, want) != 0)
			CHECK_TEXT(text, want);
		CHECK_OK(parse(text, &back));
		CHECK_INT(back, day * STRATA_DAY_NS);
	}
}

TEST(any_time_survives_the_round_trip)
{
	struct strata_rng rng;

	strata_rng_init(&rng, 3, 0);
	for (int i = 0; i < 50000; i++) {
		int64_t scale = (int64_t[]){ 1, STRATA_US_NS, STRATA_MS_NS, S }[i % 4], back;
		int64_t ns = (int64_t)strata_rng_below(&rng, STRATA_TIME_NS_MAX + UINT64_C(1)) /
			     scale * scale;
		char text[STRATA_FORM_BYTES];

		CHECK_OK(parse(strata_time_print(ns, text), &back));
		CHECK_INT(back, ns);
	}
}

TEST(at_the_very_moment_the_next_occurrence_is_tomorrows)
{
	int64_t ns;

	CHECK_OK(strata_time_parse("12:30", 5, 1772368200 * S, 0, &ns, &err));
	CHECK_INT(ns, (1772368200 + 86400) * S);
	CHECK_OK(strata_time_parse("12:30", 5, 1772368200 * S - 1, 0, &ns, &err));
	CHECK_INT(ns, 1772368200 * S);
}

/* Whatever the clock says, the next occurrence is within a day, later than now, and shows that
 * clock. */
TEST(the_next_occurrence_is_within_a_day)
{
	struct strata_rng rng;

	strata_rng_init(&rng, 4, 0);
	for (int i = 0; i < 20000; i++) {
		int64_t now_ns =
			(int64_t)strata_rng_below(&rng, 8000000000 * UINT64_C(1000000000)) +
			2 * STRATA_DAY_NS;
		int32_t zone = (int32_t)strata_rng_below(&rng, 2 * 86400 - 1) - 86399;
		int64_t ns;

		CHECK_OK(strata_time_parse("16:00", 5, now_ns, zone, &ns, &err));
		CHECK(ns > now_ns && ns <= now_ns + STRATA_DAY_NS);
		CHECK_INT((ns / S + zone + 86400) % 86400, 16 * 3600);
	}
}
