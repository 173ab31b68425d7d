/* Conversions of 16-bit floats by integer arithmetic, for compilers and machines without the types. What is not a number
 * stays so as x86's instructions have it: quiet, with what fits of its bits. See half.h. */
#include "core/half.h"

#include <string.h>

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint16_t half_from_float(float value)
{
	uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;

	if (size > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff)); /* not a number */
	if (size >= bits_of(65520))
		return (uint16_t)(sign | 0x7c00);
	/* Below 2^-14 a half counts in units of 2^-24, which is the last place of 0.5f: the
	 * addition rounds. */
	if (size < bits_of(0x1p-14f))
		return (uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - bits_of(0.5f)));
	size += 0xfff + (size >> 13 & 1);
	return (uint16_t)(sign | (size - (112u << 23)) >> 13);
}

float half_to_float(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000) << 16, size = bits & 0x7fff;

	if (size > 0x7c00)
		return float_of(sign | 0x7fc00000 | (size & 0x3ff) << 13); /* not a number */
	if (size == 0x7c00)
		return float_of(sign | 0x7f800000);
	if (size < 0x400)
		return float_of(sign | bits_of((float)size * 0x1p-24f));
	return float_of(sign | ((size << 13) + (112u << 23)));
}

uint16_t bfloat_from_float(float value)
{
	uint32_t bits = bits_of(value);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40); /* stays not a number when cut */
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float bfloat_to_float(uint16_t bits)
{
	return float_of((uint32_t)bits << 16);
}
