/*
 * Whole and real numbers. The C library converts reals correctly but reads and writes the decimal
 * point of the locale; so its reader is given digits and an exponent without a point, and of its
 * writer only the digits and the exponent are taken.
 */
#include <strata/text.h>

#include "core/text.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int strata_int_parse(const char *text, size_t length, int64_t min, int64_t max, int64_t *ret_value,
		     struct strata_error *err)
{
	struct scan scan;
	uint64_t size;
	char range[80];

	scan_init(&scan, text, length);
	bool negative = scan_char(&scan, '-');

	if (!negative)
		scan_char(&scan, '+');
	if (!scan_digits(&scan, 1, SIZE_MAX, &size) || !scan_ended(&scan))
		return scan_fail(&scan, err, -EINVAL, "is not a whole number");
	uint64_t most = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	int64_t value = (int64_t)(negative ? -size : size);

	if (size > most || value < min || value > max) {
		snprintf(range, sizeof(range), "is out of range; expected %" PRId64 " to %" PRId64,
			 min, max);
		return scan_fail(&scan, err, -ERANGE, range);
	}
	*ret_value = value;
	return 0;
}

/* The digits around the point, without it: what they are worth is digits × 10^exponent. */
struct digits {
	char text[STRATA_NUMBER_BYTES_MAX + 32]; /* room for the sign and the exponent too */
	size_t count;
	int64_t exponent;
};

static void take_digits(struct scan *scan, struct digits *digits)
{
	while (!scan_ended(scan) && *scan->at >= '0' && *scan->at <= '9')
		digits->text[digits->count++] = *scan->at++;
}

/* An exponent past what a double can hold is cut to one that is still past it. */
static bool take_exponent(struct scan *scan, struct digits *digits)
{
	const int64_t most = 100000;
	uint64_t size;

	if (!scan_char(scan, 'e') && !scan_char(scan, 'E'))
		return true;
	bool negative = scan_char(scan, '-');

	if (!negative)
		scan_char(scan, '+');
	if (!scan_digits(scan, 1, SIZE_MAX, &size))
		return false;
	int64_t exponent = size > (uint64_t)most ? most : (int64_t)size;

	digits->exponent += negative ? -exponent : exponent;
	return true;
}

static bool take_number(struct scan *scan, struct digits *digits)
{
	digits->count = 0;
	digits->exponent = 0;
	if (scan_char(scan, '-'))
		digits->text[digits->count++] = '-';
	else
		scan_char(scan, '+');
	size_t sign = digits->count;

	take_digits(scan, digits);
	if (scan_char(scan, '.')) {
		size_t before = digits->count;

		take_digits(scan, digits);
		digits->exponent = -(int64_t)(digits->count - before);
	}
	return digits->count > sign && take_exponent(scan, digits) && scan_ended(scan);
}

int strata_real_parse(const char *text, size_t length, double *ret_value, struct strata_error *err)
{
	struct scan scan;
	struct digits digits;

	scan_init(&scan, text, length);
	if (scan.end - scan.start > STRATA_NUMBER_BYTES_MAX)
		return scan_fail(&scan, err, -EINVAL, "is too long for a number");
	if (!take_number(&scan, &digits))
		return scan_fail(&scan, err, -EINVAL, "is not a number");
	snprintf(digits.text + digits.count, sizeof(digits.text) - digits.count, "e%" PRId64,
		 digits.exponent);
	double value = strtod(digits.text, NULL);

	if (!isfinite(value))
		return scan_fail(&scan, err, -ERANGE, "is too large for a number");
	*ret_value = value;
	return 0;
}

/* The significant digits of a finite value, without trailing zeros, and the exponent of the
 * first. */
static void to_digits(double size, int precision, char ret_digits[32], int *ret_exponent)
{
	char text[64];
	size_t count = 0;

	snprintf(text, sizeof(text), "%.*e", precision - 1, size);
	const char *end = strrchr(text, 'e');

	for (const char *p = text; p < end; p++)
		if (*p >= '0' && *p <= '9')
			ret_digits[count++] = *p;
	while (count > 1 && ret_digits[count - 1] == '0')
		count--;
	ret_digits[count] = '\0';
	*ret_exponent = atoi(end + 1);
}

static bool reads_back(double size, const char *digits, int exponent)
{
	char text[64];

	snprintf(text, sizeof(text), "%se%d", digits, exponent - (int)strlen(digits) + 1);
	return strtod(text, NULL) == size;
}

static void lay_out(const char *digits, int exponent, char *out, size_t room)
{
	int count = (int)strlen(digits);

	if (exponent < -4 || exponent >= 16)
		snprintf(out, room, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1,
			 exponent);
	else if (exponent < 0)
		snprintf(out, room, "0.%.*s%s", -exponent - 1, "000", digits);
	else if (count <= exponent + 1)
		snprintf(out, room, "%s%.*s", digits, exponent + 1 - count, "000000000000000");
	else
		snprintf(out, room, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

char *strata_real_print(double value, char ret_text[STRATA_FORM_BYTES])
{
	double size = fabs(value);
	char digits[32];
	int exponent;

	if (!isfinite(value)) {
		snprintf(ret_text, STRATA_FORM_BYTES, "%s",
			 isnan(value) ? "nan"
			 : value < 0  ? "-inf"
				      : "inf");
		return ret_text;
	}
	/* Fifteen digits always survive in a normal number, so that shorter ones show as zeros at
	 * the end; below that range fewer survive, and the fewest are looked for. */
	int precision = size < DBL_MIN ? 1 : 15;

	for (;; precision++) {
		to_digits(size, precision, digits, &exponent);
		if (precision == 17 || reads_back(size, digits, exponent))
			break;
	}
	size_t sign = signbit(value) ? 1 : 0;

	ret_text[0] = '-';
	lay_out(digits, exponent, ret_text + sign, STRATA_FORM_BYTES - sign);
	return ret_text;
}
