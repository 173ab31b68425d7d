/* Keys: see keys.h. */
#include "engine/native/keys.h"

#include <math.h>
#include <string.h>

/* The bits of a double in order: those of numbers below 0 run the other way. */
static int64_t real_key(double x)
{
	int64_t bits;

	if (isnan(x))
		return INT64_MAX;
	x += 0.0; /* -0 becomes 0 */
	memcpy(&bits, &x, sizeof(bits));
	return bits < 0 ? (int64_t)(INT64_MIN - (uint64_t)bits) : bits;
}

#define KEYS(type, expression)                        \
	do {                                          \
		const type *from = value->data;       \
		for (int64_t i = 0; i < count; i++) { \
			type x = from[i];             \
			ret_keys[i] = (expression);   \
		}                                     \
		return true;                          \
	} while (0)

bool keys_of(const struct engine_value *value, int64_t *ret_keys)
{
	int64_t count = engine_value_elements(value);

	switch (value->dtype) {
	case ONNX_FLOAT:
		KEYS(float, real_key(x));
	case ONNX_DOUBLE:
		KEYS(double, real_key(x));
	case ONNX_INT8:
		KEYS(int8_t, x);
	case ONNX_INT16:
		KEYS(int16_t, x);
	case ONNX_INT32:
		KEYS(int32_t, x);
	case ONNX_INT64:
		KEYS(int64_t, x);
	case ONNX_UINT8:
	case ONNX_BOOL:
		KEYS(uint8_t, x);
	case ONNX_UINT16:
		KEYS(uint16_t, x);
	case ONNX_UINT32:
		KEYS(uint32_t, x);
	case ONNX_UINT64:
		KEYS(uint64_t, (int64_t)(x ^ (UINT64_C(1) << 63)));
	default:
		return false;
	}
}
