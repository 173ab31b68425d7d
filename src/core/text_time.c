/*
 * Times as text: ISO 8601, and the forms relative to now that Slurm's --begin has. A text is read
 * into its parts (day, clock, zone) first and then resolved, because a clock without a day needs
 * now in the zone that stands behind it. The calendar is computed here: the C library's depends on
 * the zone of the machine.
 */
#include <strata/text.h>

#include "core/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { DAY_SECONDS = 86400, YEAR_MIN = 1970, YEAR_MAX = 2261 };

enum day_form { DAY_NONE, DAY_DATE, DAY_TODAY, DAY_TOMORROW };

struct parts {
	enum day_form day;
	int64_t date_days; /* of DAY_DATE: days since the epoch */
	bool has_clock;
	int64_t clock_ns; /* since midnight */
	bool has_zone;
	int64_t zone_seconds; /* east of UTC */
};

static int fail_form(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(
		scan, err, -EINVAL,
		"is not a time; expected a form such as 2026-03-01T12:30:00Z, 2026-03-01, 16:00, "
		"tomorrow, now+2h or @1767225600");
}

static int fail_range(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(scan, err, -ERANGE, "is out of range; expected a time from 1970 to 2261");
}

/* Days since the epoch of a date; month 13 is the next January. Years are counted from March, so
 * that the leap day is the last of its year: the days before month m (March is 0) are then (153 m +
 * 2) / 5, and 719468 days lie between the first of March of year 0 and the epoch. */
static int64_t days_of(int64_t year, int month, int day)
{
	int64_t y = month > 2 ? year : year - 1;
	int m = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static int days_in_month(int64_t year, int month)
{
	return (int)(days_of(year, month + 1, 1) - days_of(year, month, 1));
}

static void date_of(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
	/* A guess from the mean length of a year is at most one off; so is one from that of a
	 * month. */
	int64_t year = 1970 + days * 400 / 146097;

	while (days_of(year, 1, 1) > days)
		year--;
	while (days_of(year + 1, 1, 1) <= days)
		year++;
	int month = 1 + (int)(days - days_of(year, 1, 1)) / 31;

	if (days_of(year, month + 1, 1) <= days)
		month++;
	*ret_year = year;
	*ret_month = month;
	*ret_day = (int)(days - days_of(year, month, 1)) + 1;
}

/* YYYY-MM-DD, or nothing when the text begins otherwise. */
static int read_date(struct scan *scan, struct parts *parts, struct strata_error *err)
{
	struct scan ahead = *scan;
	uint64_t year, month, day;

	if (!scan_digits(&ahead, 4, 4, &year) || !scan_char(&ahead, '-'))
		return 0;
	if (!scan_digits(&ahead, 2, 2, &month) || !scan_char(&ahead, '-') ||
	    !scan_digits(&ahead, 2, 2, &day))
		return fail_form(scan, err);
	if (month < 1 || month > 12)
		return scan_fail(scan, err, -EINVAL, "is not a time: there is no such month");
	if (year < YEAR_MIN || year > YEAR_MAX)
		return fail_range(scan, err);
	if (day < 1 || (int)day > days_in_month((int64_t)year, (int)month))
		return scan_fail(scan, err, -EINVAL, "is not a time: that month has no such day");
	parts->day = DAY_DATE;
	parts->date_days = days_of((int64_t)year, (int)month, (int)day);
	scan->at = ahead.at;
	return 0;
}

/* A fraction of a second, of up to nine digits. */
static bool read_fraction(struct scan *scan, int64_t *ret_ns)
{
	const char *from = scan->at;
	uint64_t value;

	if (!scan_digits(scan, 1, 9, &value))
		return false;
	for (ptrdiff_t digits = scan->at - from; digits < 9; digits++)
		value *= 10;
	*ret_ns = (int64_t)value;
	return true;
}

/* AM and PM: 12 AM is midnight. */
static int read_half(struct scan *scan, uint64_t *hour, struct strata_error *err)
{
	struct scan ahead = *scan;

	scan_blanks(&ahead);
	bool pm = scan_word(&ahead, "pm");

	if (!pm && !scan_word(&ahead, "am"))
		return 0;
	if (*hour < 1 || *hour > 12)
		return scan_fail(scan, err, -EINVAL,
				 "is not a time: expected 1 to 12 before AM or PM");
	*hour = *hour % 12 + (pm ? 12 : 0);
	scan->at = ahead.at;
	return 0;
}

/* Z, +01:00, +0100 or +01, if there is one. */
static int read_zone(struct scan *scan, struct parts *parts, struct strata_error *err)
{
	uint64_t hours, minutes = 0;

	if (scan_char(scan, 'Z') || scan_char(scan, 'z')) {
		parts->has_zone = true;
		return 0;
	}
	bool west = scan_char(scan, '-');

	if (!west && !scan_char(scan, '+'))
		return 0;
	if (!scan_digits(scan, 2, 2, &hours))
		return fail_form(scan, err);
	bool colon = scan_char(scan, ':');

	if (!scan_digits(scan, 2, 2, &minutes) && colon)
		return fail_form(scan, err);
	if (hours > 23 || minutes > 59)
		return scan_fail(scan, err, -EINVAL,
				 "is not a time: its zone is more than a day from UTC");
	int64_t seconds = (int64_t)(hours * 60 + minutes) * 60;

	parts->has_zone = true;
	parts->zone_seconds = west ? -seconds : seconds;
	return 0;
}

/* H:MM[:SS[.fraction]][ AM][zone]. */
static int read_clock(struct scan *scan, struct parts *parts, struct strata_error *err)
{
	uint64_t hour, minute, second = 0;
	int64_t fraction_ns = 0;

	if (!scan_digits(scan, 1, 2, &hour) || !scan_char(scan, ':') ||
	    !scan_digits(scan, 2, 2, &minute))
		return fail_form(scan, err);
	if (scan_char(scan, ':')) {
		if (!scan_digits(scan, 2, 2, &second))
			return fail_form(scan, err);
		if (scan_char(scan, '.') && !read_fraction(scan, &fraction_ns))
			return fail_form(scan, err);
	}
	if (hour > 23 || minute > 59 || second > 59)
		return scan_fail(scan, err, -EINVAL,
				 "is not a time: expected a clock from 00:00:00 to 23:59:59");
	int rc = read_half(scan, &hour, err);

	if (rc < 0)
		return rc;
	parts->has_clock = true;
	parts->clock_ns = (int64_t)((hour * 60 + minute) * 60 + second) * STRATA_SECOND_NS +
			  fraction_ns;
	return read_zone(scan, parts, err);
}

static bool read_named_clock(struct scan *scan, struct parts *parts)
{
	static const struct {
		const char *name;
		int hour;
	} clocks[] = { { "midnight", 0 },
		       { "elevenses", 11 },
		       { "noon", 12 },
		       { "fika", 15 },
		       { "teatime", 16 } };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (scan_word(scan, clocks[i].name)) {
			parts->has_clock = true;
			parts->clock_ns = clocks[i].hour * STRATA_HOUR_NS;
			return true;
		}
	return false;
}

static int read_parts(struct scan *scan, struct parts *parts, struct strata_error *err)
{
	if (scan_word(scan, "today"))
		parts->day = DAY_TODAY;
	else if (scan_word(scan, "tomorrow"))
		parts->day = DAY_TOMORROW;
	else {
		int rc = read_date(scan, parts, err);

		if (rc < 0)
			return rc;
	}
	if (parts->day != DAY_NONE) {
		if (scan_ended(scan))
			return 0;
		if (!(parts->day == DAY_DATE && (scan_char(scan, 'T') || scan_char(scan, 't'))) &&
		    !scan_blanks(scan))
			return fail_form(scan, err);
	}
	if (!read_named_clock(scan, parts)) {
		int rc = read_clock(scan, parts, err);

		if (rc < 0)
			return rc;
	}
	return scan_ended(scan) ? 0 : fail_form(scan, err);
}

static int fail_no_now(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(scan, err, -EINVAL,
			 "is relative to now; expected a time such as "
			 "2026-03-01T12:30:00Z");
}

/* Local days since the epoch of a moment in 1970 … 2261, and so never far below 0. */
static int64_t local_day(int64_t now_ns, int64_t zone_seconds)
{
	int64_t local_seconds = now_ns / STRATA_SECOND_NS + zone_seconds + DAY_SECONDS;

	return local_seconds / DAY_SECONDS - 1;
}

static int resolve(const struct scan *scan, const struct parts *parts, int64_t now_ns,
		   int64_t zone_seconds, int64_t *ret_ns, struct strata_error *err)
{
	int64_t zone = parts->has_zone ? parts->zone_seconds : zone_seconds;
	int64_t days = parts->date_days;

	if (parts->day != DAY_DATE) {
		if (now_ns < 0)
			return fail_no_now(scan, err);
		if (now_ns > STRATA_TIME_NS_MAX)
			return fail_range(scan, err);
		days = local_day(now_ns, zone) + (parts->day == DAY_TOMORROW);
	}
	int64_t ns = (days * DAY_SECONDS - zone) * STRATA_SECOND_NS + parts->clock_ns;

	if (parts->day == DAY_NONE && ns <= now_ns)
		ns += STRATA_DAY_NS;
	if (ns < 0 || ns > STRATA_TIME_NS_MAX)
		return fail_range(scan, err);
	*ret_ns = ns;
	return 0;
}

/* Behind "now": nothing, or a sign and a duration. */
static int read_relative(struct scan *scan, int64_t now_ns, int64_t *ret_ns,
			 struct strata_error *err)
{
	int64_t delta_ns = 0;

	if (now_ns < 0)
		return fail_no_now(scan, err);
	if (!scan_ended(scan)) {
		scan_blanks(scan);
		bool minus = scan_char(scan, '-');

		if (!minus && !scan_char(scan, '+'))
			return fail_form(scan, err);
		scan_blanks(scan);
		int rc = strata_duration_parse(scan->at, (size_t)(scan->end - scan->at),
					       STRATA_SECOND_NS, 0, &delta_ns, err);

		if (rc < 0)
			return rc;
		if (minus)
			delta_ns = -delta_ns;
	}
	int64_t ns;

	if (__builtin_add_overflow(now_ns, delta_ns, &ns) || ns < 0 || ns > STRATA_TIME_NS_MAX)
		return fail_range(scan, err);
	*ret_ns = ns;
	return 0;
}

static int read_epoch(struct scan *scan, int64_t *ret_ns, struct strata_error *err)
{
	uint64_t seconds;
	int64_t fraction_ns = 0;

	if (!scan_digits(scan, 1, SIZE_MAX, &seconds) ||
	    (scan_char(scan, '.') && !read_fraction(scan, &fraction_ns)) || !scan_ended(scan))
		return fail_form(scan, err);
	if (seconds > STRATA_TIME_NS_MAX / STRATA_SECOND_NS)
		return fail_range(scan, err);
	*ret_ns = (int64_t)seconds * STRATA_SECOND_NS + fraction_ns;
	return 0;
}

int strata_time_parse(const char *text, size_t length, int64_t now_ns, int32_t zone_seconds,
		      int64_t *ret_ns, struct strata_error *err)
{
	struct parts parts = { .day = DAY_NONE };
	struct scan scan;

	assert(zone_seconds > -DAY_SECONDS && zone_seconds < DAY_SECONDS);
	scan_init(&scan, text, length);
	if (scan_char(&scan, '@'))
		return read_epoch(&scan, ret_ns, err);
	if (scan_word(&scan, "now"))
		return read_relative(&scan, now_ns, ret_ns, err);
	int rc = read_parts(&scan, &parts, err);

	return rc < 0 ? rc : resolve(&scan, &parts, now_ns, zone_seconds, ret_ns, err);
}

char *strata_time_print(int64_t ns, char ret_text[STRATA_FORM_BYTES])
{
	int64_t second = ns / STRATA_SECOND_NS, rest_ns = ns % STRATA_SECOND_NS, year;
	int month, day;

	if (rest_ns < 0) {
		rest_ns += STRATA_SECOND_NS;
		second--;
	}
	int64_t days = second / DAY_SECONDS - (second % DAY_SECONDS < 0);
	int clock = (int)(second - days * DAY_SECONDS);

	date_of(days, &year, &month, &day);
	int length = snprintf(ret_text, STRATA_FORM_BYTES, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d",
			      year, month, day, clock / 3600, clock / 60 % 60, clock % 60);
	char *out = ret_text + length;
	size_t room = STRATA_FORM_BYTES - (size_t)length;

	if (rest_ns == 0)
		snprintf(out, room, "Z");
	else if (rest_ns % STRATA_MS_NS == 0)
		snprintf(out, room, ".%03" PRId64 "Z", rest_ns / STRATA_MS_NS);
	else if (rest_ns % STRATA_US_NS == 0)
		snprintf(out, room, ".%06" PRId64 "Z", rest_ns / STRATA_US_NS);
	else
		snprintf(out, room, ".%09" PRId64 "Z", rest_ns);
	return ret_text;
}
