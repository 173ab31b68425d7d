/*
 * Durations: the forms of Slurm (fields between colons and a dash) and those of people (numbers
 * with units). See strata/text.h for the forms.
 */
#include <strata/text.h>

#include "core/int128.h"
#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct unit {
	const char *name;
	int64_t ns;
} units[] = {
	{ "ns", 1 },
	{ "nsec", 1 },
	{ "nanosecond", 1 },
	{ "nanoseconds", 1 },
	{ "us", STRATA_US_NS },
	{ "µs", STRATA_US_NS }, /* U+00B5 */
	{ "μs", STRATA_US_NS }, /* U+03BC */
	{ "usec", STRATA_US_NS },
	{ "microsecond", STRATA_US_NS },
	{ "microseconds", STRATA_US_NS },
	{ "ms", STRATA_MS_NS },
	{ "msec", STRATA_MS_NS },
	{ "millisecond", STRATA_MS_NS },
	{ "milliseconds", STRATA_MS_NS },
	{ "s", STRATA_SECOND_NS },
	{ "sec", STRATA_SECOND_NS },
	{ "secs", STRATA_SECOND_NS },
	{ "second", STRATA_SECOND_NS },
	{ "seconds", STRATA_SECOND_NS },
	{ "m", STRATA_MINUTE_NS },
	{ "min", STRATA_MINUTE_NS },
	{ "mins", STRATA_MINUTE_NS },
	{ "minute", STRATA_MINUTE_NS },
	{ "minutes", STRATA_MINUTE_NS },
	{ "h", STRATA_HOUR_NS },
	{ "hr", STRATA_HOUR_NS },
	{ "hrs", STRATA_HOUR_NS },
	{ "hour", STRATA_HOUR_NS },
	{ "hours", STRATA_HOUR_NS },
	{ "d", STRATA_DAY_NS },
	{ "day", STRATA_DAY_NS },
	{ "days", STRATA_DAY_NS },
	{ "w", STRATA_WEEK_NS },
	{ "week", STRATA_WEEK_NS },
	{ "weeks", STRATA_WEEK_NS },
};

static int fail_form(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(
		scan, err, -EINVAL,
		"is not a duration; expected a form such as 90s, 2h30m, 1.5h or 1-02:03:04");
}

static int fail_range(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(scan, err, -ERANGE, "is too long a duration; expected at most 100 years");
}

static int64_t unit_ns(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (text_same(word, length, units[i].name))
			return units[i].ns;
	return 0;
}

/* 2h30m: each number with its unit, the units falling. */
static int parse_pieces(struct scan *scan, int64_t *ret_ns, struct strata_error *err)
{
	int64_t last_ns = INT64_MAX;
	uint64_t total = 0, piece;

	do {
		struct decimal number;
		const char *word;

		if (!scan_decimal(scan, &number))
			return fail_form(scan, err);
		scan_blanks(scan);
		size_t length = scan_letters(scan, &word);
		int64_t unit = unit_ns(word, length);

		if (length == 0 || unit == 0)
			return scan_fail(
				scan, err, -EINVAL,
				length ? "has an unknown unit; expected ns, us, ms, s, m, h, d or w"
				       : "has a number without a unit; expected a form such as 90s "
					 "or 2h30m");
		if (unit >= last_ns)
			return scan_fail(
				scan, err, -EINVAL,
				"is out of order; expected each unit once, from large to small");
		if (!decimal_scale(&number, (uint64_t)unit, 1, STRATA_DURATION_NS_MAX - total,
				   &piece))
			return fail_range(scan, err);
		total += piece;
		last_ns = unit;
		if (scan_blanks(scan) && scan_ended(scan))
			return fail_form(scan, err);
	} while (!scan_ended(scan));
	*ret_ns = (int64_t)total;
	return 0;
}

/* [days-]hours[:minutes[:seconds]], minutes:seconds: whole numbers of any size, which are added
 * up. */
static int parse_fields(struct scan *scan, int64_t *ret_ns, struct strata_error *err)
{
	uint64_t fields[3] = { 0 }, days = 0;
	int count = 0;

	if (!scan_digits(scan, 1, SIZE_MAX, &fields[count++]))
		return fail_form(scan, err);
	bool has_days = scan_char(scan, '-');

	if (has_days) {
		days = fields[0];
		if (!scan_digits(scan, 1, SIZE_MAX, &fields[0]))
			return fail_form(scan, err);
	}
	while (count < 3 && scan_char(scan, ':'))
		if (!scan_digits(scan, 1, SIZE_MAX, &fields[count++]))
			return fail_form(scan, err);
	if (!scan_ended(scan))
		return fail_form(scan, err);
	/* Two fields without days are minutes and seconds; otherwise the first is hours. */
	const uint64_t seconds_each[3] = { 3600, 60, 1 };
	const uint64_t *each = !has_days && count == 2 ? seconds_each + 1 : seconds_each;
	uint128 seconds = (uint128)days * 86400;

	for (int i = 0; i < count; i++)
		seconds += (uint128)fields[i] * each[i];
	if (seconds > STRATA_DURATION_NS_MAX / STRATA_SECOND_NS)
		return fail_range(scan, err);
	*ret_ns = (int64_t)seconds * STRATA_SECOND_NS;
	return 0;
}

static bool is_unlimited(const struct scan *scan)
{
	size_t length = (size_t)(scan->end - scan->start);

	return text_same(scan->start, length, "unlimited") ||
	       text_same(scan->start, length, "infinite") || text_same(scan->start, length, "-1");
}

int strata_duration_parse(const char *text, size_t length, int64_t bare_unit_ns, unsigned flags,
			  int64_t *ret_ns, struct strata_error *err)
{
	struct scan scan, ahead;
	struct decimal number;
	uint64_t value;

	scan_init(&scan, text, length);
	if (is_unlimited(&scan)) {
		if (!(flags & STRATA_DURATION_UNLIMITED_OK))
			return scan_fail(&scan, err, -EINVAL,
					 "is not allowed here; expected a limit");
		*ret_ns = STRATA_DURATION_UNLIMITED;
		return 0;
	}
	ahead = scan;
	if (!scan_decimal(&ahead, &number))
		return fail_form(&scan, err);
	if (scan_ended(&ahead) && bare_unit_ns > 0) {
		if (!decimal_scale(&number, (uint64_t)bare_unit_ns, 1, STRATA_DURATION_NS_MAX,
				   &value))
			return fail_range(&scan, err);
		*ret_ns = (int64_t)value;
		return 0;
	}
	if (scan_char(&ahead, ':') || scan_char(&ahead, '-'))
		return parse_fields(&scan, ret_ns, err);
	return parse_pieces(&scan, ret_ns, err);
}

/* value / unit in full: "1.5s", "250ms"; unit is a power of ten up to a second. */
static void print_exact(char *out, size_t room, uint64_t value, uint64_t unit, const char *name)
{
	char fraction[16] = ".";
	size_t length = 1;

	for (uint64_t rest = value % unit, part = unit / 10; rest > 0; rest %= part, part /= 10)
		fraction[length++] = (char)('0' + rest / part);
	fraction[length > 1 ? length : 0] = '\0';
	snprintf(out, room, "%" PRIu64 "%s%s", value / unit, fraction, name);
}

static char *print_word(const char *word, char *ret_text)
{
	snprintf(ret_text, STRATA_FORM_BYTES, "%s", word);
	return ret_text;
}

/* What is below a minute is printed in one of these. */
static const struct {
	uint64_t ns, limit; /* limit: how many of them make the next */
	const char *name;
} small[] = {
	{ 1, 1000, " ns" },
	{ STRATA_US_NS, 1000, " us" },
	{ STRATA_MS_NS, 1000, " ms" },
	{ STRATA_SECOND_NS, 60, " s" },
};
enum { SMALL_COUNT = sizeof(small) / sizeof(small[0]) };

char *strata_duration_print(int64_t ns, char ret_text[STRATA_FORM_BYTES])
{
	static const uint64_t large[] = { STRATA_DAY_NS, STRATA_HOUR_NS, STRATA_MINUTE_NS };
	uint64_t left = text_magnitude(ns);
	char *out = ret_text, *end = ret_text + STRATA_FORM_BYTES;
	int unit = SMALL_COUNT - 1;

	if (ns == STRATA_DURATION_UNLIMITED)
		return print_word("unlimited", ret_text);
	if (ns < 0)
		*out++ = '-';
	for (int i = 0; i < 3; i++)
		if (left >= large[i]) {
			out += snprintf(out, (size_t)(end - out), "%" PRIu64 "%c", left / large[i],
					"dhm"[i]);
			left %= large[i];
		}
	if (left == 0 && ns != 0)
		return ret_text;
	while (unit > 0 && ns != 0 && text_magnitude(ns) < small[unit].ns)
		unit--;
	print_exact(out, (size_t)(end - out), left, small[unit].ns, small[unit].name + 1);
	return ret_text;
}

char *strata_duration_print_slurm(int64_t ns, char ret_text[STRATA_FORM_BYTES])
{
	uint64_t seconds = text_magnitude(ns) / STRATA_SECOND_NS;
	uint64_t days = seconds / 86400;
	unsigned rest = (unsigned)(seconds % 86400);
	const char *sign = ns < 0 && seconds > 0 ? "-" : "";
	char before[24] = "";

	if (ns == STRATA_DURATION_UNLIMITED)
		return print_word("UNLIMITED", ret_text);
	if (days > 0)
		snprintf(before, sizeof(before), "%" PRIu64 "-", days);
	snprintf(ret_text, STRATA_FORM_BYTES, "%s%s%02u:%02u:%02u", sign, before, rest / 3600,
		 rest / 60 % 60, rest % 60);
	return ret_text;
}

/* "2h 30m": two units, the smaller one rounded to the nearest; false when that makes one of the
 * next larger unit. */
static bool print_two(char *out, size_t room, uint64_t ns, uint64_t large_ns, const char *names)
{
	const uint64_t per_large = large_ns == STRATA_DAY_NS ? 24 : 60;
	uint64_t small_ns = large_ns / per_large, count = (ns + small_ns / 2) / small_ns;

	if (large_ns < STRATA_DAY_NS && count >= (large_ns == STRATA_HOUR_NS ? 24 * 60 : 60 * 60))
		return false;
	if (count % per_large)
		snprintf(out, room, "%" PRIu64 "%c %" PRIu64 "%c", count / per_large, names[0],
			 count % per_large, names[1]);
	else
		snprintf(out, room, "%" PRIu64 "%c", count / per_large, names[0]);
	return true;
}

char *strata_duration_print_short(int64_t ns, char ret_text[STRATA_FORM_BYTES])
{
	uint64_t size = text_magnitude(ns);
	char *out = ret_text;

	if (ns == STRATA_DURATION_UNLIMITED)
		return print_word("unlimited", ret_text);
	if (ns == 0)
		return print_word("0 s", ret_text);
	if (ns < 0)
		*out++ = '-';
	size_t room = STRATA_FORM_BYTES - 1;

	for (int i = 0; i < SMALL_COUNT; i++)
		if (text_short(size, small[i].ns, small[i].limit, small[i].name, out, room))
			return ret_text;
	if (!print_two(out, room, size, STRATA_MINUTE_NS, "ms") &&
	    !print_two(out, room, size, STRATA_HOUR_NS, "hm"))
		print_two(out, room, size, STRATA_DAY_NS, "dh");
	return ret_text;
}
