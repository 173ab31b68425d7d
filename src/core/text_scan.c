/* The cursor, the decimals and the quoting of text.h. Characters are compared as ASCII: the locale
 * has no say. */
#include "core/text.h"

#include "core/int128.h"

#include <strata/text.h>

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FRACTION_ONE UINT64_C(1000000000000000000)
enum { FRACTION_DIGITS = 18 };

void scan_init(struct scan *scan, const char *text, size_t length)
{
	if (!text)
		text = "";
	scan->start = scan->at = text;
	scan->end = text + (length == STRATA_TEXT_NUL ? strlen(text) : length);
}

bool scan_ended(const struct scan *scan)
{
	return scan->at == scan->end;
}

bool scan_char(struct scan *scan, char c)
{
	if (scan_ended(scan) || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

bool scan_blanks(struct scan *scan)
{
	const char *from = scan->at;

	while (!scan_ended(scan) && (*scan->at == ' ' || *scan->at == '\t'))
		scan->at++;
	return scan->at > from;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t scan_letters(struct scan *scan, const char **ret_word)
{
	*ret_word = scan->at;
	while (!scan_ended(scan) &&
	       ((text_lower(*scan->at) >= 'a' && text_lower(*scan->at) <= 'z') ||
		(*scan->at & 0x80)))
		scan->at++;
	return (size_t)(scan->at - *ret_word);
}

bool text_same(const char *text, size_t length, const char *word)
{
	for (size_t i = 0; i < length; i++)
		if (text_lower(text[i]) != text_lower(word[i]) || word[i] == '\0')
			return false;
	return word[length] == '\0';
}

bool scan_word(struct scan *scan, const char *word)
{
	const char *from, *before = scan->at;
	size_t length = scan_letters(scan, &from);

	if (length > 0 && text_same(from, length, word))
		return true;
	scan->at = before;
	return false;
}

bool scan_digits(struct scan *scan, size_t min, size_t max, uint64_t *ret_value)
{
	const char *p = scan->at;
	uint64_t value = 0;
	bool too_large = false;

	for (; p < scan->end && is_digit(*p) && (size_t)(p - scan->at) < max; p++)
		too_large |= __builtin_mul_overflow(value, 10, &value) ||
			     __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
	if ((size_t)(p - scan->at) < min)
		return false;
	scan->at = p;
	*ret_value = too_large ? UINT64_MAX : value;
	return true;
}

bool scan_decimal(struct scan *scan, struct decimal *ret_decimal)
{
	const char *before = scan->at;
	uint64_t whole, fraction = 0;

	if (!scan_digits(scan, 1, SIZE_MAX, &whole))
		return false;
	if (scan_char(scan, '.')) {
		const char *from = scan->at;

		if (!scan_digits(scan, 1, FRACTION_DIGITS, &fraction)) {
			scan->at = before;
			return false;
		}
		for (ptrdiff_t digits = scan->at - from; digits < FRACTION_DIGITS; digits++)
			fraction *= 10;
		while (!scan_ended(scan) && is_digit(*scan->at))
			scan->at++;
	}
	*ret_decimal = (struct decimal){ .whole = whole, .fraction = fraction };
	return true;
}

bool decimal_scale(const struct decimal *decimal, uint64_t numerator, uint64_t denominator,
		   uint64_t max, uint64_t *ret_value)
{
	assert(numerator <= INT64_MAX && denominator >= 1 && denominator <= 8);
	if (decimal->whole == UINT64_MAX)
		return false;
	uint128 product = (uint128)decimal->whole * numerator;
	uint128 one = (uint128)FRACTION_ONE * denominator;
	uint128 rest = product % denominator * FRACTION_ONE +
		       (uint128)decimal->fraction * numerator;
	uint128 total = product / denominator + (rest + one / 2) / one;

	if (total > max)
		return false;
	*ret_value = (uint64_t)total;
	return true;
}

bool text_short(uint64_t value, uint64_t unit, uint64_t limit, const char *name, char *ret_text,
		size_t room)
{
	unsigned parts = value / unit < 10 ? 100 : value / unit < 100 ? 10 : 1;
	uint128 rounded = ((uint128)value * parts + unit / 2) / unit;

	if (rounded >= (uint128)limit * parts)
		return false;
	uint64_t whole = (uint64_t)(rounded / parts);
	unsigned rest = (unsigned)(rounded % parts);

	if (rest > 0 && rest % 10 == 0) {
		rest /= 10;
		parts /= 10;
	}
	if (rest == 0)
		snprintf(ret_text, room, "%" PRIu64 "%s", whole, name);
	else
		snprintf(ret_text, room, "%" PRIu64 ".%0*u%s", whole, parts == 100 ? 2 : 1, rest,
			 name);
	return true;
}

/* How many bytes the printable character at text has; 0 when it is none, or not UTF-8. */
static size_t character_bytes(const char *text, size_t left)
{
	uint32_t code;
	size_t count = text_decode(text, left, &code);

	return text_printable(text, count) == count ? count : 0;
}

const char *text_excerpt(const char *text, size_t length, char ret_text[TEXT_EXCERPT_BYTES])
{
	static const char more[] = "…";
	size_t used = 0;

	for (size_t i = 0; i < length;) {
		size_t count = character_bytes(text + i, length - i);
		size_t need = count ? count : 1;

		if (used + need + sizeof(more) > TEXT_EXCERPT_BYTES) {
			memcpy(ret_text + used, more, sizeof(more));
			return ret_text;
		}
		if (count)
			memcpy(ret_text + used, text + i, count);
		else
			ret_text[used] = '?';
		used += need;
		i += need;
	}
	ret_text[used] = '\0';
	return ret_text;
}

int scan_fail(const struct scan *scan, struct strata_error *err, int code, const char *rest)
{
	char excerpt[TEXT_EXCERPT_BYTES];

	text_excerpt(scan->start, (size_t)(scan->end - scan->start), excerpt);
	return strata_fail(err, code, "\"%s\" %s", excerpt, rest);
}
