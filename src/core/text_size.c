/*
 * Sizes and rates: a number and a unit made of a prefix (K, M, G, T, P, E), perhaps an i, and bytes
 * or bits. Which unit means what is settled here once; see strata/text.h.
 */
#include <strata/text.h>

#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char prefixes[] = "KMGTPE";
enum { PREFIX_COUNT = sizeof(prefixes) - 1 };

struct unit {
	uint64_t numerator, denominator; /* bytes: bits have a denominator of 8 */
};

static uint64_t power(uint64_t base, int exponent)
{
	uint64_t value = 1;

	while (exponent-- > 0)
		value *= base;
	return value;
}

/* How what stands behind a prefix is read. */
struct reading {
	bool mb_is_binary; /* MB is MiB */
	bool b_is_bits;    /* a small b is a bit */
};

/* "", "B", "b", "bit", "bytes" …: the part behind the prefix. */
static bool read_noun(const char *word, size_t length, const struct reading *how, struct unit *ret)
{
	bool bits = text_same(word, length, "bit") || text_same(word, length, "bits") ||
		    (length == 1 && word[0] == 'b');
	bool bytes = length == 0 || text_same(word, length, "b") ||
		     text_same(word, length, "byte") || text_same(word, length, "bytes");

	if (!bytes && !(bits && how->b_is_bits))
		return false;
	*ret = (struct unit){ .numerator = 1, .denominator = bits && how->b_is_bits ? 8 : 1 };
	return true;
}

static bool read_unit(const char *word, size_t length, const struct reading *how, struct unit *ret)
{
	if (length > 0 && read_noun(word, length, how, ret))
		return true;
	for (int i = 0; i < PREFIX_COUNT && length > 0; i++) {
		if (text_lower(word[0]) != text_lower(prefixes[i]))
			continue;
		bool marked = length > 1 && text_lower(word[1]) == 'i';
		size_t skip = marked ? 2 : 1;
		bool binary = marked || length == 1 || how->mb_is_binary;

		if (!read_noun(word + skip, length - skip, how, ret))
			return false;
		ret->numerator = power(binary ? 1024 : 1000, i + 1);
		return true;
	}
	return false;
}

int strata_size_parse(const char *text, size_t length, int64_t bare_unit_bytes, unsigned flags,
		      int64_t *ret_bytes, struct strata_error *err)
{
	const struct reading how = { .mb_is_binary = flags & STRATA_SIZE_BINARY };
	struct unit unit = { .numerator = (uint64_t)bare_unit_bytes, .denominator = 1 };
	struct decimal number;
	struct scan scan;
	const char *word;
	uint64_t bytes;

	scan_init(&scan, text, length);
	if (!scan_decimal(&scan, &number))
		return scan_fail(&scan, err, -EINVAL,
				 "is not a size; expected a form such as 512M, 2GiB or 1.5GB");
	if (!scan_ended(&scan) || bare_unit_bytes <= 0) {
		scan_blanks(&scan);
		size_t count = scan_letters(&scan, &word);

		if (!scan_ended(&scan) || !read_unit(word, count, &how, &unit))
			return scan_fail(
				&scan, err, -EINVAL,
				count ? "has an unknown unit; expected a size such as 512M, 2GiB "
					"or 1.5GB"
				      : "has no unit; expected a size such as 512M, 2GiB or 1.5GB");
	}
	if (!decimal_scale(&number, unit.numerator, unit.denominator, INT64_MAX, &bytes))
		return scan_fail(&scan, err, -ERANGE,
				 "is too large a size; expected less than 8EiB");
	*ret_bytes = (int64_t)bytes;
	return 0;
}

/* Takes "/s" or "ps" off the unit. */
static bool read_rate_unit(struct scan *scan, struct unit *ret)
{
	const struct reading how = { .b_is_bits = true };
	const char *word;
	size_t length = scan_letters(scan, &word);

	if (scan_char(scan, '/')) {
		if (!scan_word(scan, "s") && !scan_word(scan, "sec") && !scan_word(scan, "second"))
			return false;
	} else if (length > 2 && text_same(word + length - 2, 2, "ps")) {
		length -= 2;
	}
	if (!scan_ended(scan))
		return false;
	return length == 0 || read_unit(word, length, &how, ret);
}

int strata_rate_parse(const char *text, size_t length, int64_t *ret_bytes_per_s,
		      struct strata_error *err)
{
	struct unit unit = { .numerator = 1, .denominator = 1 };
	struct decimal number;
	struct scan scan;
	uint64_t bytes;

	scan_init(&scan, text, length);
	if (!scan_decimal(&scan, &number) || (scan_blanks(&scan) && scan_ended(&scan)) ||
	    !read_rate_unit(&scan, &unit))
		return scan_fail(
			&scan, err, -EINVAL,
			"is not a rate; expected a form such as 200MiB/s, 1.5GB/s or 10Gbit/s");
	if (!decimal_scale(&number, unit.numerator, unit.denominator, INT64_MAX, &bytes))
		return scan_fail(&scan, err, -ERANGE,
				 "is too large a rate; expected less than 8EiB/s");
	*ret_bytes_per_s = (int64_t)bytes;
	return 0;
}

static char *print_exact(int64_t bytes, const char *bare, const char *suffix, char *ret_text)
{
	uint64_t size = text_magnitude(bytes);
	int prefix = 0;

	while (size > 0 && size % 1024 == 0 && prefix < PREFIX_COUNT) {
		size /= 1024;
		prefix++;
	}
	if (prefix == 0)
		snprintf(ret_text, STRATA_FORM_BYTES, "%" PRId64 "%s", bytes, bare);
	else
		snprintf(ret_text, STRATA_FORM_BYTES, "%s%" PRIu64 "%ciB%s", bytes < 0 ? "-" : "",
			 size, prefixes[prefix - 1], suffix);
	return ret_text;
}

static char *print_short(int64_t bytes, uint64_t base, const char *suffix, char *ret_text)
{
	uint64_t size = text_magnitude(bytes), unit = 1;
	char *out = ret_text, name[16];

	if (bytes < 0)
		*out++ = '-';
	for (int i = 0; i <= PREFIX_COUNT; i++, unit *= base) {
		if (i == 0)
			snprintf(name, sizeof(name), " B%s", suffix);
		else
			snprintf(name, sizeof(name), " %c%sB%s",
				 base == 1000 && i == 1 ? 'k' : prefixes[i - 1],
				 base == 1000 ? "" : "i", suffix);
		if (text_short(size, unit, i < PREFIX_COUNT ? base : UINT64_MAX, name, out,
			       STRATA_FORM_BYTES - 1))
			break;
	}
	return ret_text;
}

char *strata_size_print(int64_t bytes, char ret_text[STRATA_FORM_BYTES])
{
	return print_exact(bytes, "", "", ret_text);
}

char *strata_size_print_short(int64_t bytes, char ret_text[STRATA_FORM_BYTES])
{
	return print_short(bytes, 1024, "", ret_text);
}

char *strata_rate_print(int64_t bytes_per_s, char ret_text[STRATA_FORM_BYTES])
{
	return print_exact(bytes_per_s, "B/s", "/s", ret_text);
}

char *strata_rate_print_short(int64_t bytes_per_s, char ret_text[STRATA_FORM_BYTES])
{
	return print_short(bytes_per_s, 1000, "/s", ret_text);
}
