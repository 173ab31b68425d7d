/* The two 16-bit floats as bits, to and from float; rounding is to nearest, ties to even. */
#ifndef CORE_HALF_H
#define CORE_HALF_H

#include <stdint.h>

uint16_t half_from_float(float value); /* IEEE 754 binary16; past 65519 gives infinity */
float half_to_float(uint16_t bits);
uint16_t bfloat_from_float(float value); /* the upper half of a float */
float bfloat_to_float(uint16_t bits);

#endif
