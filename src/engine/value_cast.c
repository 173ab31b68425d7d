/* Elements as another type: what ONNX's Cast says, which is what C says where C says anything. */
#include "engine/value.h"

#include "core/half.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A real as a whole number: cut towards 0; what does not fit wraps as numpy's casts do on this machine, and is defined here. */
static int64_t whole(double real)
{
	if (!(real > -9223372036854775808.0))
		return INT64_MIN;
	return real >= 9223372036854775808.0 ? INT64_MIN : (int64_t)real;
}

static uint64_t whole_unsigned(double real)
{
	return real >= 9223372036854775808.0 ? (real < 18446744073709551616.0 ? (uint64_t)real : 0)
					     : (uint64_t)whole(real);
}

#define EACH(type, expression)                           \
	do {                                             \
		type *to = ret;                          \
		for (int64_t i = 0; i < count; i++)      \
			to[i] = (type)(expression);      \
	} while (0)

static void from_reals(const double *from, int64_t count, int dtype, void *ret)
{
	switch (dtype) {
	case ONNX_FLOAT:
		EACH(float, from[i]);
		break;
	case ONNX_DOUBLE:
		EACH(double, from[i]);
		break;
	case ONNX_FLOAT16:
		EACH(uint16_t, half_from_float((float)from[i]));
		break;
	case ONNX_BFLOAT16:
		EACH(uint16_t, bfloat_from_float((float)from[i]));
		break;
	case ONNX_BOOL:
		EACH(uint8_t, from[i] != 0);
		break;
	case ONNX_INT8:
		EACH(int8_t, whole(from[i]));
		break;
	case ONNX_INT16:
		EACH(int16_t, whole(from[i]));
		break;
	case ONNX_INT32:
		EACH(int32_t, whole(from[i]));
		break;
	case ONNX_INT64:
		EACH(int64_t, whole(from[i]));
		break;
	case ONNX_UINT8:
		EACH(uint8_t, whole(from[i]));
		break;
	case ONNX_UINT16:
		EACH(uint16_t, whole(from[i]));
		break;
	case ONNX_UINT32:
		EACH(uint32_t, whole(from[i]));
		break;
	default:
		EACH(uint64_t, whole_unsigned(from[i]));
		break;
	}
}

static void from_integers(const int64_t *from, int64_t count, int dtype, bool is_unsigned, void *ret)
{
	switch (dtype) {
	case ONNX_FLOAT:
		EACH(float, is_unsigned ? (float)(uint64_t)from[i] : (float)from[i]);
		break;
	case ONNX_DOUBLE:
		EACH(double, is_unsigned ? (double)(uint64_t)from[i] : (double)from[i]);
		break;
	case ONNX_FLOAT16:
		EACH(uint16_t, half_from_float((float)from[i]));
		break;
	case ONNX_BFLOAT16:
		EACH(uint16_t, bfloat_from_float((float)from[i]));
		break;
	case ONNX_BOOL:
		EACH(uint8_t, from[i] != 0);
		break;
	case ONNX_INT8:
	case ONNX_UINT8:
		EACH(uint8_t, from[i]);
		break;
	case ONNX_INT16:
	case ONNX_UINT16:
		EACH(uint16_t, from[i]);
		break;
	case ONNX_INT32:
	case ONNX_UINT32:
		EACH(uint32_t, from[i]);
		break;
	default:
		EACH(int64_t, from[i]);
		break;
	}
}

/* Elements from `at` on, up to `count` of them, as doubles or as 64-bit integers: one of the two, true for reals. */
static bool load(const struct engine_value *value, int64_t at, int64_t count, double *reals,
		 int64_t *integers)
{
#define TAKE(type, array, expression)                                \
	do {                                                         \
		const type *from = (const type *)value->data + at;   \
		for (int64_t i = 0; i < count; i++)                  \
			(array)[i] = (expression);                   \
	} while (0)
	switch (value->dtype) {
	case ONNX_FLOAT:
		TAKE(float, reals, from[i]);
		return true;
	case ONNX_DOUBLE:
		TAKE(double, reals, from[i]);
		return true;
	case ONNX_FLOAT16:
		TAKE(uint16_t, reals, half_to_float(from[i]));
		return true;
	case ONNX_BFLOAT16:
		TAKE(uint16_t, reals, bfloat_to_float(from[i]));
		return true;
	case ONNX_INT8:
		TAKE(int8_t, integers, from[i]);
		return false;
	case ONNX_INT16:
		TAKE(int16_t, integers, from[i]);
		return false;
	case ONNX_INT32:
		TAKE(int32_t, integers, from[i]);
		return false;
	case ONNX_UINT16:
		TAKE(uint16_t, integers, from[i]);
		return false;
	case ONNX_UINT32:
		TAKE(uint32_t, integers, from[i]);
		return false;
	case ONNX_INT64:
	case ONNX_UINT64:
		TAKE(int64_t, integers, from[i]);
		return false;
	default: /* uint8, bool */
		TAKE(uint8_t, integers, from[i]);
		return false;
	}
#undef TAKE
}

/* "3.14", "INF", "-1E-3": what ONNX has numbers written as. */
static int from_texts(const struct engine_value *value, struct engine_value *to,
		      struct strata_error *err)
{
	int64_t count = engine_value_elements(value);
	size_t width = engine_dtype_bytes(to->dtype);
	bool real = onnx_dtype_real(to->dtype);

	for (int64_t i = 0; i < count; i++) {
		const char *text = ((char *const *)value->data)[i];
		char *end, *at = (char *)to->data + (size_t)i * width;
		double number = strtod(text, &end);

		if (end == text || *end)
			return strata_fail(err, -EINVAL, "'%.40s' is not a number", text);
		if (real) {
			from_reals(&number, 1, to->dtype, at);
		} else {
			int64_t integer = strtoll(text, NULL, 10);

			from_integers(&integer, 1, to->dtype, false, at);
		}
	}
	return 0;
}

/* A number with as few digits as give it back, written as Python and numpy do: 0.1, 1e-05, 2.0, 1e+16. */
static void shortest(double real, bool narrow, char *text, size_t room)
{
	char digits[40];
	int precision = 1, exponent;

	do {
		snprintf(digits, sizeof(digits), "%.*e", precision - 1, real);
	} while ((narrow ? strtof(digits, NULL) != (float)real : strtod(digits, NULL) != real) &&
		 ++precision <= 17);
	exponent = atoi(strchr(digits, 'e') + 1);
	if (exponent >= -4 && exponent < 16)
		snprintf(text, room, "%.*f", precision - 1 > exponent ? precision - 1 - exponent : 1,
			 real);
	else
		snprintf(text, room, "%s", digits);
}

static int to_texts(struct engine_heap *heap, const struct engine_value *value,
		    struct engine_value *ret_value, struct strata_error *err)
{
	int64_t count = engine_value_elements(value);
	const char **texts = malloc((size_t)(count ? count : 1) * (sizeof(*texts) + 40));
	char *room = (char *)(texts + count);

	if (!texts)
		return strata_fail_memory(err);
	for (int64_t i = 0; i < count; i++, room += 40) {
		double real = 0;
		int64_t integer = 0;

		texts[i] = room;
		if (!load(value, i, 1, &real, &integer))
			snprintf(room, 40, "%lld", (long long)integer);
		else if (isnan(real))
			strcpy(room, "NaN");
		else if (isinf(real))
			strcpy(room, real < 0 ? "-INF" : "INF");
		else
			shortest(real, value->dtype != ONNX_DOUBLE, room, 40);
	}
	int rc = engine_value_texts(heap, value->rank, value->dims, texts, ret_value, err);

	free(texts);
	return rc;
}

static void from_numbers(const struct engine_value *value, struct engine_value *to)
{
	enum { CHUNK = 512 };
	int64_t count = engine_value_elements(value), part;
	size_t width = engine_dtype_bytes(to->dtype);
	double reals[CHUNK];
	int64_t integers[CHUNK];

	for (int64_t at = 0; at < count; at += part) {
		char *ret = (char *)to->data + (size_t)at * width;

		part = count - at < CHUNK ? count - at : CHUNK;
		if (load(value, at, part, reals, integers))
			from_reals(reals, part, to->dtype, ret);
		else
			from_integers(integers, part, to->dtype, value->dtype == ONNX_UINT64, ret);
	}
}

int engine_value_cast(struct engine_heap *heap, const struct engine_value *value, int dtype,
		      struct engine_value *ret_value, struct strata_error *err)
{
	struct engine_value to = { 0 };

	if (value->dtype == dtype) {
		*ret_value = engine_value_share(value);
		return 0;
	}
	if (dtype == ONNX_STRING)
		return to_texts(heap, value, ret_value, err);
	int rc = engine_value_make(heap, dtype, value->rank, value->dims, &to, err);

	if (rc == 0 && value->dtype == ONNX_STRING)
		rc = from_texts(value, &to, err);
	else if (rc == 0)
		from_numbers(value, &to);
	if (rc) {
		engine_value_drop(&to);
		return rc;
	}
	*ret_value = to;
	return 0;
}
