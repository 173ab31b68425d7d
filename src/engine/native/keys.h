/* Numbers of any type as 64-bit integers in the same order, so that sorting has one form. Equal numbers have equal keys (0 and -0 too); NaN is above all. */
#ifndef ENGINE_NATIVE_KEYS_H
#define ENGINE_NATIVE_KEYS_H

#include "engine/value.h"

/* ret_keys has room for the value's elements. False: not a type that has an order here (texts). */
bool keys_of(const struct engine_value *value, int64_t *ret_keys);

#endif
