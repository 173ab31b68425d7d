/* A decimal number and a suffix: a power of ten (n u m k M G T P E, or e and an exponent) or of two
 * (Ki Mi Gi Ti Pi Ei). Worked out in 128 bits, so that nothing is rounded but the last step. */
#include "kubernetes/kube_quantity.h"

#include "core/int128.h"

#include <stddef.h>
#include <string.h>

enum { DIGITS_MAX = 18, EXPONENT_MAX = 30 };

struct number {
	int128 mantissa;
	int exponent; /* of ten */
	int doublings;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *read_mantissa(const char *at, struct number *number)
{
	int digits = 0, significant = 0;
	bool point = false;

	for (; is_digit(*at) || (*at == '.' && !point); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		digits++;
		significant += significant || *at != '0';
		if (significant > DIGITS_MAX)
			return NULL;
		number->mantissa = 10 * number->mantissa + (*at - '0');
		number->exponent -= point;
	}
	return digits && number->exponent >= -EXPONENT_MAX ? at : NULL;
}

/* "3", "-3", "+03" behind an e. */
static bool read_exponent(const char *at, struct number *number)
{
	int sign = *at == '-' ? -1 : 1, value = 0;

	at += *at == '-' || *at == '+';
	if (!*at)
		return false;
	for (; *at; at++) {
		if (!is_digit(*at) || value > EXPONENT_MAX)
			return false;
		value = 10 * value + (*at - '0');
	}
	number->exponent += sign * value;
	return value <= EXPONENT_MAX;
}

static bool read_suffix(const char *at, struct number *number)
{
	static const char tens[] = "num kMGTPE", twos[] = "KMGTPE";
	const char *of_ten = *at && *at != ' ' ? strchr(tens, *at) : NULL;
	const char *of_two = *at ? strchr(twos, *at) : NULL;

	if (!*at)
		return true;
	if (of_two && at[1] == 'i' && !at[2]) {
		number->doublings = 10 * (int)(of_two - twos + 1);
		return true;
	}
	if (of_ten && !at[1]) {
		number->exponent += 3 * (int)(of_ten - tens) - 9;
		return true;
	}
	return (*at == 'e' || *at == 'E') && read_exponent(at + 1, number);
}

bool kube_quantity_read(const char *text, int64_t scale, int64_t *ret_value)
{
	struct number number = { 0 };
	const char *rest = read_mantissa(text + (*text == '+'), &number);
	int128 value, divisor = 1;

	if (!rest || !read_suffix(rest, &number) ||
	    __builtin_mul_overflow(number.mantissa, (int128)scale, &value) ||
	    __builtin_mul_overflow(value, (int128)1 << number.doublings, &value))
		return false;
	for (; number.exponent > 0 && value; number.exponent--)
		if (__builtin_mul_overflow(value, (int128)10, &value))
			return false;
	for (; number.exponent < 0 && divisor <= value; number.exponent++)
		divisor *= 10;
	value = value / divisor + (value % divisor != 0);
	if (value > INT64_MAX)
		return false;
	*ret_value = (int64_t)value;
	return true;
}
