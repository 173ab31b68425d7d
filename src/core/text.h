/*
 * What the readers of text forms share: a cursor that cannot leave its text, decimals that are
 * scaled without loss, quoting for error messages; and "did you mean".
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <strata/error.h>
#include <strata/limits.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *start, *at, *end; /* borrowed; start ≤ at ≤ end */
};

/* length STRATA_TEXT_NUL: up to the NUL. */
void scan_init(struct scan *scan, const char *text, size_t length);
bool scan_ended(const struct scan *scan);

/* The next character is c: goes past it. */
bool scan_char(struct scan *scan, char c);
/* Goes past blanks; whether there were any. */
bool scan_blanks(struct scan *scan);
/* Goes past a run of letters (bytes above 127 count as such) and gives it; its length may be 0. */
size_t scan_letters(struct scan *scan, const char **ret_word);
/* The next run of letters is this word, in any case: goes past it. */
bool scan_word(struct scan *scan, const char *word);
/* Goes past min to max digits; false, and nowhere, when there are fewer. A value past 64 bits gives
 * UINT64_MAX. */
bool scan_digits(struct scan *scan, size_t min, size_t max, uint64_t *ret_value);

/* A number with a fraction. */
struct decimal {
	uint64_t whole;    /* UINT64_MAX: that or more */
	uint64_t fraction; /* in units of 10^-18; what is finer was cut off */
};

/* Digits, perhaps a point and more digits: at least one digit before the point, and one after
 * it. */
bool scan_decimal(struct scan *scan, struct decimal *ret_decimal);

/* decimal × numerator / denominator, rounded to the nearest, half up; false when it is more than
 * max. numerator is below 2^63, denominator 1 to 8. */
bool decimal_scale(const struct decimal *decimal, uint64_t numerator, uint64_t denominator,
		   uint64_t max, uint64_t *ret_value);

/* value / unit with three significant digits and the unit's name behind: "1.5 s", "12 MiB". False,
 * and no text, when that is limit or more, so that a larger unit is due. */
bool text_short(uint64_t value, uint64_t unit, uint64_t limit, const char *name, char *ret_text,
		size_t room);

/* |value|, also where int64_t has no room for it. */
static inline uint64_t text_magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* Lower case of an ASCII letter, whatever the locale. */
static inline char text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Equal but for the case of ASCII letters; word ends with a NUL. */
bool text_same(const char *text, size_t length, const char *word);
/* Is a text like a pattern, in which * stands for any number of bytes and ? for one? */
bool text_like(const char *text, const char *pattern);

enum { TEXT_EXCERPT_BYTES = 64 };

/* The text as it may stand in an error message: cut where it is long, valid UTF-8 without control
 * characters. */
const char *text_excerpt(const char *text, size_t length, char ret_text[TEXT_EXCERPT_BYTES]);

/* -errno with the sentence «"text" rest», where rest begins the way a predicate does: "is not a
 * duration; …". */
int scan_fail(const struct scan *scan, struct strata_error *err, int code, const char *rest);

/*
 * "Did you mean": the nearest of the candidates offered, when one is near enough to be meant. The
 * distance counts characters inserted, left out, replaced or swapped with a neighbour, in any case;
 * near is 1 for short names and up to a third of the length for longer ones. Names longer than
 * STRATA_NAME_BYTES_MAX have no neighbours.
 */
struct text_closest {
	const char *name; /* borrowed */
	size_t length;    /* of name */
	const char *best; /* NULL while none is near; borrowed from the caller of _offer */
	size_t distance;  /* of best, or one more than what still counts as near */
};

void text_closest_init(struct text_closest *closest, const char *name, size_t length);
/* The first offered wins among equals. */
void text_closest_offer(struct text_closest *closest, const char *candidate);
/* The same of an alias of length bytes; `meant` becomes the best. */
void text_closest_offer_as(struct text_closest *closest, const char *candidate, size_t length,
			   const char *meant);

/* text_utf8.c: bytes of the character at text, of which left may be read, and its code; 0: it is not valid UTF-8. */
size_t text_decode(const char *text, size_t left, uint32_t *ret_code);
/* Is it valid UTF-8? */
bool text_valid(const char *text, size_t length);
/* Columns on a screen; a byte that is not valid counts as one. */
size_t text_width(const char *text, size_t length);
/* How many bytes fit into room columns, whole characters only, and how wide they are. */
size_t text_fit(const char *text, size_t length, size_t room, size_t *ret_width);

/*
 * text_show.c: what may be shown to people. Printable is valid UTF-8 without control characters (of ASCII and above), line and paragraph
 * separators, characters without width and those that turn the direction of writing. What is not is written as an escape of C: \n, \x1b,
 * \u202e. A backslash stays as it is, so this is for eyes and is not read back.
 */
struct buf;
enum { TEXT_ESCAPE_BYTES = 12 };
/* How many bytes of the text are printable, from its beginning: length, when all are. */
size_t text_printable(const char *text, size_t length);
/* The escape for what is at text and is not printable; how many bytes of the text it stands for. */
size_t text_escape_one(const char *text, size_t left, char ret_escape[TEXT_ESCAPE_BYTES]);
/* Adds the text, escaped where it is not printable. */
void text_show(struct buf *buf, const char *text, size_t length);
/* The same into an array, as much as fits whole. A character that was cut in its middle becomes "…". */
void text_show_cut(char *to, size_t room, const char *text);
/* Adds a JSON document as it is, but for what cannot be seen in its strings: \u202e. It stays the same document. */
void text_show_json(struct buf *buf, const char *json, size_t length);

#endif
