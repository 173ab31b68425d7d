/*
 * The arithmetic that shapes are computed with, on elements that may be dimensions not known: x · 1 and x + 0 keep such a dimension's
 * name, all else forgets it. What overflows, or has no result, is not known either.
 */
#include "formats/onnx/onnx_fold.h"

#include <math.h>

bool onnx_one_sided(const struct onnx_call *call)
{
	return onnx_opset(call) > 0 && onnx_opset(call) < 7;
}

/* Which element of a value stands at place `at` of the output it is broadcast to. */
static size_t broadcast_place(const struct onnx_value *to, const struct onnx_value *from, size_t at)
{
	size_t place = 0, step = 1, shift = to->rank - from->rank;

	for (size_t i = to->rank; i-- > shift;) {
		size_t along = at % (size_t)to->dims[i];

		if (from->dims[i - shift] != 1)
			place += along * step;
		step *= (size_t)from->dims[i - shift];
		at /= (size_t)to->dims[i];
	}
	return place;
}

static bool has_open(const struct onnx_call *call)
{
	for (size_t i = 0; i < call->input_count; i++)
		if (call->inputs[i] && call->inputs[i]->open)
			return true;
	return false;
}

static double as_stored(int dtype, double value)
{
	return dtype == ONNX_DOUBLE ? value : (double)(float)value;
}

/* False: reals have no such operation (the bits of '&', '|', '^'), and nothing is stored. */
static bool binary_real(char sign, double a, double b, double *ret)
{
	switch (sign) {
	case '+':
		*ret = a + b;
		return true;
	case '-':
		*ret = a - b;
		return true;
	case '*':
		*ret = a * b;
		return true;
	case '/':
		*ret = a / b;
		return true;
	case '%':
		*ret = fmod(a, b);
		return true;
	case 'm':
		*ret = a < b ? a : b;
		return true;
	case 'M':
		*ret = a > b ? a : b;
		return true;
	default:
		return false;
	}
}

static bool divide(char sign, int64_t a, int64_t b, int64_t *ret)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	*ret = sign == '/' ? a / b : a % b;
	if (sign == '%' && *ret && (*ret < 0) != (b < 0))
		*ret += b; /* Mod has the sign of the divisor */
	return true;
}

static bool binary_integer(char sign, int64_t a, int64_t b, int64_t *ret)
{
	switch (sign) {
	case '+':
		return !__builtin_add_overflow(a, b, ret);
	case '-':
		return !__builtin_sub_overflow(a, b, ret);
	case '*':
		return !__builtin_mul_overflow(a, b, ret);
	case '/':
	case '%':
		return divide(sign, a, b, ret);
	case 'm':
		*ret = a < b ? a : b;
		return true;
	case 'M':
		*ret = a > b ? a : b;
		return true;
	case '&':
		*ret = a & b;
		return true;
	case '|':
		*ret = a | b;
		return true;
	case '^':
		*ret = a ^ b;
		return true;
	default:
		return false;
	}
}

/* With dimensions that are not known: x·1, 1·x, x/1, x+0, 0+x, x−0 are x. */
static int64_t binary_open(char sign, const struct onnx_value *a, size_t i,
			   const struct onnx_value *b, size_t k)
{
	bool open_a = a->open && a->open[i], open_b = b->open && b->open[k];
	int64_t neutral = sign == '*' || sign == '/' ? 1 : sign == '+' || sign == '-' ? 0 : -1;

	if (neutral < 0 || (open_a && open_b))
		return -1;
	if (open_a)
		return b->integers[k] == neutral ? a->integers[i] : -1;
	return a->integers[i] == neutral && (sign == '*' || sign == '+') ? b->integers[k] : -1;
}

static int fold_binary(struct onnx_call *call, char sign, struct strata_error *err)
{
	const struct onnx_value *a = onnx_input(call, 0), *b = onnx_input(call, 1);
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);

	if (!b || onnx_one_sided(call) || call->input_count != 2 ||
	    (onnx_dtype_real(to->dtype) ? has_open(call) : !a->integers || !b->integers))
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++) {
		size_t x = broadcast_place(to, a, (size_t)i), y = broadcast_place(to, b, (size_t)i);

		if (to->reals) {
			double real;

			if (!binary_real(sign, onnx_element_real(a, x), onnx_element_real(b, y),
					 &real)) {
				to->reals = NULL; /* its elements are not known */
				return 0;
			}
			to->reals[i] = as_stored(to->dtype, real);
			continue;
		}
		to->open[i] = (a->open && a->open[x]) || (b->open && b->open[y]);
		if (to->open[i]) {
			to->integers[i] = binary_open(sign, a, x, b, y);
		} else if (!binary_integer(sign, a->integers[x], b->integers[y],
					   &to->integers[i])) {
			to->open[i] = true;
			to->integers[i] = -1;
		}
	}
	return rc;
}

int onnx_fold_add(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, '+', err);
}

int onnx_fold_sub(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, '-', err);
}

int onnx_fold_mul(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, '*', err);
}

int onnx_fold_div(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, '/', err);
}

int onnx_fold_mod(struct onnx_call *call, struct strata_error *err)
{
	return onnx_call_int(call, "fmod", 0) ? 0 : fold_binary(call, '%', err);
}

int onnx_fold_min(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, 'm', err);
}

int onnx_fold_max(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, 'M', err);
}

int onnx_fold_and(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, '&', err);
}

int onnx_fold_or(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, '|', err);
}

int onnx_fold_xor(struct onnx_call *call, struct strata_error *err)
{
	return fold_binary(call, '^', err);
}

/* signs: which of "less", "equal", "greater" make it true, as bits 1, 2, 4 */
static int fold_compare(struct onnx_call *call, unsigned signs, struct strata_error *err)
{
	const struct onnx_value *a = onnx_input(call, 0), *b = onnx_input(call, 1);
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);

	if (!b || onnx_one_sided(call))
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++) {
		size_t x = broadcast_place(to, a, (size_t)i), y = broadcast_place(to, b, (size_t)i);

		if ((a->open && a->open[x]) || (b->open && b->open[y])) {
			to->open[i] = true;
			to->integers[i] = -1;
			continue;
		}
		bool whole = a->integers && b->integers;
		bool less = whole ? a->integers[x] < b->integers[y]
				  : onnx_element_real(a, x) < onnx_element_real(b, y);
		bool equal = whole ? a->integers[x] == b->integers[y]
				   : onnx_element_real(a, x) == onnx_element_real(b, y);

		to->integers[i] = (signs & (less ? 1 : equal ? 2 : 4)) != 0;
	}
	return rc;
}

int onnx_fold_less(struct onnx_call *call, struct strata_error *err)
{
	return fold_compare(call, 1, err);
}

int onnx_fold_less_equal(struct onnx_call *call, struct strata_error *err)
{
	return fold_compare(call, 3, err);
}

int onnx_fold_equal(struct onnx_call *call, struct strata_error *err)
{
	return fold_compare(call, 2, err);
}

int onnx_fold_greater(struct onnx_call *call, struct strata_error *err)
{
	return fold_compare(call, 4, err);
}

int onnx_fold_greater_equal(struct onnx_call *call, struct strata_error *err)
{
	return fold_compare(call, 6, err);
}

int onnx_fold_where(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *choice = onnx_input(call, 0), *x = onnx_input(call, 1),
				*y = onnx_input(call, 2);
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);

	if (!x || !y || !choice->integers || (onnx_dtype_real(to->dtype) && choice->open))
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++) {
		size_t c = broadcast_place(to, choice, (size_t)i);
		size_t at_x = broadcast_place(to, x, (size_t)i),
		       at_y = broadcast_place(to, y, (size_t)i);

		if (choice->open && choice->open[c]) {
			to->open[i] = true;
			to->integers[i] = -1;
		} else if (choice->integers[c]) {
			onnx_copy_element(to, (size_t)i, x, at_x);
		} else {
			onnx_copy_element(to, (size_t)i, y, at_y);
		}
	}
	return rc;
}

int onnx_fold_cast(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);

	if (onnx_dtype_real(to->dtype) && from->open)
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++) {
		double real = from->reals ? from->reals[i] : 0;

		if (to->reals) {
			to->reals[i] = as_stored(to->dtype, onnx_element_real(from, (size_t)i));
		} else if (from->reals && !(real > -9e18 && real < 9e18)) {
			to->open[i] = true; /* no whole number */
			to->integers[i] = -1;
		} else {
			onnx_copy_element(to, (size_t)i, from, (size_t)i);
			if (to->dtype == ONNX_BOOL && !to->open[i])
				to->integers[i] = from->reals ? real != 0 : from->integers[i] != 0;
		}
	}
	return rc;
}

static int fold_unary(struct onnx_call *call, double (*real)(double), struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);

	if (!from->reals || !onnx_dtype_real(to->dtype))
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++)
		to->reals[i] = as_stored(to->dtype, real(from->reals[i]));
	return rc;
}

int onnx_fold_floor(struct onnx_call *call, struct strata_error *err)
{
	return fold_unary(call, floor, err);
}

int onnx_fold_ceil(struct onnx_call *call, struct strata_error *err)
{
	return fold_unary(call, ceil, err);
}

int onnx_fold_round(struct onnx_call *call, struct strata_error *err)
{
	return fold_unary(call, nearbyint, err);
}

int onnx_fold_sqrt(struct onnx_call *call, struct strata_error *err)
{
	return fold_unary(call, sqrt, err);
}

int onnx_fold_neg(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++)
		if (to->reals) {
			to->reals[i] = -onnx_element_real(from, (size_t)i);
		} else {
			to->open[i] =
				!from->integers || (from->open && from->open[i]) ||
				__builtin_sub_overflow(0, from->integers[i], &to->integers[i]);
			if (to->open[i])
				to->integers[i] = -1;
		}
	return rc;
}

int onnx_fold_not(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);
	int rc = from->integers && !from->open ? onnx_make_elements(call, to, err) : 0;

	for (int64_t i = 0; rc == 0 && to->integers && i < count; i++)
		to->integers[i] = !from->integers[i];
	return rc;
}
