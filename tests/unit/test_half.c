#include "test.h"

#include "core/half.h"

#include <math.h>
#include <string.h>

TEST(every_16_bit_value_survives_the_way_to_float_and_back)
{
	for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
		float half = half_to_float((uint16_t)bits),
		      bfloat = bfloat_to_float((uint16_t)bits);

		if (!isnan(half))
			CHECK_INT(half_from_float(half), bits);
		else
			CHECK(isnan(half_to_float(half_from_float(half))));
		if (!isnan(bfloat))
			CHECK_INT(bfloat_from_float(bfloat), bits);
		else
			CHECK(isnan(bfloat_to_float(bfloat_from_float(bfloat))));
	}
}

TEST(known_values_have_known_bits)
{
	CHECK_INT(half_from_float(1), 0x3c00);
	CHECK_INT(half_from_float(-2), 0xc000);
	CHECK_INT(half_from_float(65504), 0x7bff);
	CHECK_INT(half_from_float(0x1p-24f), 0x0001);
	CHECK_INT(half_from_float(0x1p-14f), 0x0400);
	CHECK_INT(half_from_float(-0.0f), 0x8000);
	CHECK_INT(bfloat_from_float(1), 0x3f80);
	CHECK_INT(bfloat_from_float(-0.5f), 0xbf00);
}

/* Between neighbours the nearer one wins, and half way the even one. */
static void check_rounding(uint16_t (*from)(float), float (*to)(uint16_t), uint16_t last)
{
	for (uint16_t bits = 0; bits < last; bits++) {
		float below = to(bits), above = to((uint16_t)(bits + 1));
		float middle = (float)(((double)below + (double)above) / 2);

		CHECK_INT(from(middle), bits % 2 ? bits + 1 : bits);
		CHECK_INT(from(nextafterf(middle, -INFINITY)), bits);
		CHECK_INT(from(nextafterf(middle, INFINITY)), bits + 1);
		CHECK_INT(from(-middle), 0x8000 | (bits % 2 ? bits + 1 : bits));
	}
}

TEST(rounding_is_to_nearest_and_ties_go_to_even)
{
	check_rounding(half_from_float, half_to_float, 0x7bff);
	check_rounding(bfloat_from_float, bfloat_to_float, 0x7f7f);
}

TEST(what_is_too_large_becomes_infinite)
{
	CHECK_INT(half_from_float(65519.996f), 0x7bff);
	CHECK_INT(half_from_float(65520), 0x7c00);
	CHECK_INT(half_from_float(-1e30f), 0xfc00);
	CHECK_INT(half_from_float(INFINITY), 0x7c00);
	CHECK_INT(bfloat_from_float(3.4e38f), 0x7f80);
	CHECK_INT(bfloat_from_float(-INFINITY), 0xff80);
}

TEST(what_is_not_a_number_becomes_quiet_and_keeps_what_fits)
{
	uint32_t bits = 0x7fa00001; /* signalling; sign, payload and the quiet bit apart */
	float value;

	memcpy(&value, &bits, sizeof(value));
	CHECK_INT(half_from_float(value), 0x7f00);
	CHECK_INT(bfloat_from_float(value), 0x7fe0);
	value = half_to_float(0xfd01);
	memcpy(&bits, &value, sizeof(bits));
	CHECK_INT(bits, 0xffe02000);
}
