/* Operators that make tensors out of nothing or little: constants, ranges, random numbers, windows. */
#include "formats/onnx/onnx_infer.h"
#include "formats/onnx/onnx_scope.h"

#include <math.h>
#include <string.h>

#define EXACT_MAX 9e15

static int wanted_dtype(const struct onnx_call *call, const char *name, int missing)
{
	int64_t dtype = onnx_call_int(call, name, missing);

	return dtype > 0 && dtype < ONNX_DTYPE_COUNT ? (int)dtype : ONNX_NONE;
}

/* ---- Constant ---- */

/* The value of an attribute that holds numbers as they are. */
static int constant_numbers(struct onnx_call *call, const struct onnx_attribute *attribute,
			    struct strata_error *err)
{
	bool whole = attribute->type == ONNX_ATTR_INT || attribute->type == ONNX_ATTR_INTS;
	bool many = attribute->type == ONNX_ATTR_INTS || attribute->type == ONNX_ATTR_FLOATS;
	const int64_t count = many ? (int64_t)attribute->count : 1;
	struct onnx_value *to = onnx_output(call, 0);

	onnx_set_shape(to, whole ? ONNX_INT64 : ONNX_FLOAT, many ? 1 : 0, &count);
	if (count > STRATA_ONNX_FOLD_MAX)
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++)
		if (whole)
			to->integers[i] = many ? attribute->integers[i] : attribute->integer;
		else
			to->reals[i] = many ? attribute->reals[i] : attribute->real;
	return rc;
}

static int shape_constant(struct onnx_call *call, struct strata_error *err)
{
	static const struct {
		const char *name;
		int type;
	} forms[] = { { "value_int", ONNX_ATTR_INT },
		      { "value_ints", ONNX_ATTR_INTS },
		      { "value_float", ONNX_ATTR_FLOAT },
		      { "value_floats", ONNX_ATTR_FLOATS } };
	const struct onnx_attribute *value = onnx_call_attribute(call, "value", ONNX_ATTR_TENSOR);
	const struct onnx_attribute *texts =
		onnx_call_attribute(call, "value_strings", ONNX_ATTR_STRINGS);
	struct onnx_value *to = onnx_output(call, 0);

	if (!value)
		value = onnx_call_attribute(call, "sparse_value", ONNX_ATTR_SPARSE);
	to->constant = true;
	if (value && value->tensor) {
		int rc = onnx_value_of_tensor(call->infer, value->tensor, to, err);

		return rc;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		value = onnx_call_attribute(call, forms[i].name, forms[i].type);
		if (value)
			return constant_numbers(call, value, err);
	}
	const int64_t count = texts ? (int64_t)texts->count : 1;

	onnx_set_shape(to, ONNX_STRING, texts ? 1 : 0, &count);
	return 0;
}

static int shape_constant_of_shape(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *attribute =
		onnx_call_attribute(call, "value", ONNX_ATTR_TENSOR);
	const struct onnx_tensor *tensor = attribute ? attribute->tensor : NULL;
	const struct onnx_value *shape = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0), one = { .length = -1 };
	int rc = tensor ? onnx_value_of_tensor(call->infer, tensor, &one, err) : 0;

	onnx_set_type(to, tensor ? tensor->dtype : ONNX_FLOAT);
	if (rc || !shape || !shape->ranked || shape->rank > 1 ||
	    (shape->rank == 1 && shape->dims[0] < 0))
		return rc;
	if (shape->rank == 1 && shape->dims[0] > STRATA_TENSOR_RANK_MAX)
		return onnx_clash(call, err, "a shape of %lld dimensions",
				  (long long)shape->dims[0]);
	onnx_set_rank(to, to->dtype, shape->rank ? (size_t)shape->dims[0] : 0);
	for (size_t i = 0; shape->integers && i < to->rank; i++)
		to->dims[i] = onnx_element_dim(shape, i);
	int64_t count = onnx_elements(to);

	if (count < 0 || count > STRATA_ONNX_FOLD_MAX || (tensor && !onnx_has_elements(&one)) ||
	    (tensor && onnx_elements(&one) != 1))
		return 0;
	rc = onnx_make_elements(call, to, err);
	for (int64_t i = 0; rc == 0 && tensor && i < count; i++)
		onnx_copy_element(to, (size_t)i, &one, 0);
	return rc;
}

static int shape_like(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *like = onnx_input(call, 0);

	(void)err;
	onnx_set_like(onnx_output(call, 0), like);
	if (like)
		onnx_output(call, 0)->dtype = wanted_dtype(call, "dtype", like->dtype);
	return 0;
}

/* ---- Range ---- */

static bool scalar(const struct onnx_value *value, double *ret)
{
	if (!value || !onnx_has_elements(value) || value->open || onnx_elements(value) != 1)
		return false;
	*ret = onnx_element_real(value, 0);
	return true;
}

static int shape_range(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	double start, limit, delta;

	onnx_set_rank(to, from ? from->dtype : ONNX_NONE, 1);
	if (!scalar(from, &start) || !scalar(onnx_input(call, 1), &limit) ||
	    !scalar(onnx_input(call, 2), &delta))
		return 0;
	if (fabs(start) > EXACT_MAX || fabs(limit) > EXACT_MAX)
		return 0; /* whole numbers of this size are not exact in a double */
	if (delta == 0)
		return onnx_clash(call, err, "a step of 0");
	double count = ceil((limit - start) / delta);

	if (!(count < 9e15))
		return 0;
	to->dims[0] = count > 0 ? (int64_t)count : 0;
	if (to->dims[0] > STRATA_ONNX_FOLD_MAX || !to->dtype)
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < to->dims[0]; i++)
		if (to->reals)
			to->reals[i] = start + (double)i * delta;
		else
			to->integers[i] = (int64_t)(start + (double)i * delta);
	return rc;
}

/* ---- random numbers ---- */

static int shape_random(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *shape = onnx_call_attribute(call, "shape", ONNX_ATTR_INTS);
	struct onnx_value *to = onnx_output(call, 0);

	onnx_set_type(to, wanted_dtype(call, "dtype", ONNX_FLOAT));
	if (!shape)
		return 0;
	if (shape->count > STRATA_TENSOR_RANK_MAX)
		return onnx_clash(call, err, "a shape of %zu dimensions", shape->count);
	for (size_t i = 0; i < shape->count; i++)
		if (shape->integers[i] < 0)
			return onnx_clash(call, err, "a dimension is %lld",
					  (long long)shape->integers[i]);
	onnx_set_shape(to, to->dtype, shape->count, shape->integers);
	return 0;
}

static int shape_multinomial(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_rank(to, wanted_dtype(call, "dtype", ONNX_INT32), 2);
	if (from && from->ranked && from->rank == 2)
		to->dims[0] = from->dims[0];
	int64_t samples = onnx_call_int(call, "sample_size", 1);

	to->dims[1] = samples >= 0 ? samples : -1;
	return 0;
}

/* ---- signals ---- */

static int shape_window(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *size = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_rank(to, wanted_dtype(call, "output_datatype", ONNX_FLOAT), 1);
	if (size && size->integers && onnx_elements(size) == 1)
		to->dims[0] = onnx_element_dim(size, 0);
	return 0;
}

static int shape_mel_weights(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *bins = onnx_input(call, 0), *length = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_rank(to, wanted_dtype(call, "output_datatype", ONNX_FLOAT), 2);
	if (length && length->integers && onnx_element_dim(length, 0) >= 0)
		to->dims[0] = onnx_element_dim(length, 0) / 2 + 1;
	if (bins && bins->integers)
		to->dims[1] = onnx_element_dim(bins, 0);
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "Bernoulli", shape_like },
	{ "BlackmanWindow", shape_window },
	{ "Constant", shape_constant },
	{ "ConstantOfShape", shape_constant_of_shape },
	{ "EyeLike", shape_like },
	{ "HammingWindow", shape_window },
	{ "HannWindow", shape_window },
	{ "MelWeightMatrix", shape_mel_weights },
	{ "Multinomial", shape_multinomial },
	{ "RandomNormal", shape_random },
	{ "RandomNormalLike", shape_like },
	{ "RandomUniform", shape_random },
	{ "RandomUniformLike", shape_like },
	{ "Range", shape_range },
};
/* clang-format on */

const struct onnx_family onnx_family_make = { "making tensors", "", ops,
					      sizeof(ops) / sizeof(ops[0]) };
