/*
 * Times to begin at (<strata/slurm.h>). Slurm's own forms of a date are rewritten as ISO dates and
 * put in front of the clock; core's reader of times does the rest. A date without a year is the
 * next of its kind.
 */
#include <strata/slurm.h>

#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BEGIN_BYTES_MAX = 100, DATE_BYTES = 16 };

struct word {
	const char *text;
	size_t length;
};

static int fail_form(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(scan, err, -EINVAL,
			 "is not a time; expected a form such as now+1hour, 16:00, tomorrow, "
			 "noon, 01/31/27 or 2027-01-31T16:00");
}

/* The year of month and day, when none is written: this one, or the next when that day is past. */
static bool guess_year(uint64_t month, uint64_t day, int64_t now_ns, int32_t zone_seconds,
		       uint64_t *ret_year)
{
	char today[STRATA_FORM_BYTES], wanted[8];

	if (now_ns < 0 || now_ns > STRATA_TIME_NS_MAX)
		return false;
	strata_time_print(now_ns + zone_seconds * STRATA_SECOND_NS, today);
	snprintf(wanted, sizeof(wanted), "%02u-%02u", (unsigned)(month % 100),
		 (unsigned)(day % 100));
	struct scan scan;

	scan_init(&scan, today, 4);
	if (!scan_digits(&scan, 4, 4, ret_year))
		return false;
	if (memcmp(wanted, today + 5, 5) < 0)
		++*ret_year;
	return true;
}

/* MMDDYY, MM/DD[/YY], MM.DD[.YY] as YYYY-MM-DD; what follows a '-' is left in the word. */
static bool read_date(struct word *word, int64_t now_ns, int32_t zone_seconds,
		      char ret_date[DATE_BYTES])
{
	struct scan scan;
	uint64_t month, day, year;
	bool has_year = true;

	scan_init(&scan, word->text, word->length);
	if (word->length == 6 && scan_digits(&scan, 6, 6, &year)) {
		month = year / 10000;
		day = year / 100 % 100;
		year %= 100;
	} else {
		scan_init(&scan, word->text, word->length);
		char mark = word->length > 2 && word->text[2] == '.' ? '.' : '/';

		if (!scan_digits(&scan, 2, 2, &month) || !scan_char(&scan, mark) ||
		    !scan_digits(&scan, 2, 2, &day))
			return false;
		has_year = scan_char(&scan, mark);
		if (has_year && !scan_digits(&scan, 2, 2, &year))
			return false;
	}
	if (has_year)
		year += 2000;
	else if (!guess_year(month, day, now_ns, zone_seconds, &year))
		return false;
	if (!scan_ended(&scan) && !scan_char(&scan, '-'))
		return false;
	snprintf(ret_date, DATE_BYTES, "%04u-%02u-%02u", (unsigned)year, (unsigned)month,
		 (unsigned)day);
	word->length -= (size_t)(scan.at - word->text);
	word->text = scan.at;
	return true;
}

/* A day in one word: a date, today or tomorrow. */
static bool read_day(struct word *word, int64_t now_ns, int32_t zone_seconds,
		     char ret_date[DATE_BYTES])
{
	bool iso = word->length >= 10 && word->text[4] == '-' && word->text[7] == '-';

	if (read_date(word, now_ns, zone_seconds, ret_date))
		return true;
	if (iso) {
		size_t past = word->length > 10 && text_lower(word->text[10]) == 't' ? 11 : 10;

		snprintf(ret_date, DATE_BYTES, "%.10s", word->text);
		word->text += past;
		word->length -= past;
		return true;
	}
	if (!text_same(word->text, word->length, "today") &&
	    !text_same(word->text, word->length, "tomorrow"))
		return false;
	snprintf(ret_date, DATE_BYTES, "%.*s", (int)word->length, word->text);
	word->length = 0;
	return true;
}

int strata_begin_parse(const char *text, size_t length, int64_t now_ns, int32_t zone_seconds,
		       int64_t *ret_ns, struct strata_error *err)
{
	char day[DATE_BYTES] = "", clock[BEGIN_BYTES_MAX * 2] = "", whole[BEGIN_BYTES_MAX * 3];
	struct scan scan;
	size_t used = 0;

	scan_init(&scan, text, length);
	length = (size_t)(scan.end - scan.at);
	if (length == 0 || length > BEGIN_BYTES_MAX || memchr(scan.at, '\0', length))
		return fail_form(&scan, err);
	if (*scan.at == '@' || (length >= 3 && text_same(scan.at, 3, "now")))
		return strata_time_parse(scan.at, length, now_ns, zone_seconds, ret_ns, err);
	if (length > 3 && memcmp(scan.at, "uts", 3) == 0) {
		snprintf(whole, sizeof(whole), "@%.*s", (int)(length - 3), scan.at + 3);
		return strata_time_parse(whole, STRATA_TEXT_NUL, now_ns, zone_seconds, ret_ns, err);
	}
	struct scan words = scan;

	while (scan_blanks(&words), !scan_ended(&words)) {
		struct word word = { .text = words.at };

		while (!scan_ended(&words) && *words.at != ' ' && *words.at != '\t')
			words.at++;
		word.length = (size_t)(words.at - word.text);
		if (day[0] == '\0')
			read_day(&word, now_ns, zone_seconds, day);
		if (word.length)
			used += (size_t)snprintf(clock + used, sizeof(clock) - used, "%s%.*s",
						 used ? " " : "", (int)word.length, word.text);
	}
	snprintf(whole, sizeof(whole), "%s%s%s", day, day[0] && used ? " " : "", clock);
	return strata_time_parse(whole, STRATA_TEXT_NUL, now_ns, zone_seconds, ret_ns, err)
		       ? fail_form(&scan, err)
		       : 0;
}
