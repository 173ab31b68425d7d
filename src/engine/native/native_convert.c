/* Types: Cast and CastLike. The sixteen-bit floats are widened inside this backend, so a cast to one of them is a cast to float32; what leaves the
 * model is rounded there. */
#include "engine/native/native.h"

#include <errno.h>

static int cast(struct native_call *call, int64_t dtype, struct strata_error *err)
{
	const struct engine_value *x;
	struct strata_error why = { 0 };
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	if (dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16)
		dtype = ONNX_FLOAT;
	if (dtype <= 0 || dtype >= ONNX_DTYPE_COUNT || engine_dtype_bytes((int)dtype) == 0)
		return native_lacks(call, err, "a cast to %s is not built",
				    engine_dtype_name((int)dtype));
	rc = engine_value_cast(call->heap, x, (int)dtype, &call->outputs[0], &why);
	return rc == -ENOMEM ? strata_fail_memory(err)
	       : rc          ? native_refuse(call, err, "%s", why.text)
			     : 0;
}

static int run_cast(struct native_call *call, struct strata_error *err)
{
	return cast(call, native_int(call, "to", 0), err);
}

static int run_cast_like(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *like;
	int rc = native_tensor(call, 1, &like, err);

	return rc ? rc : cast(call, like->dtype, err);
}

static const struct native_op ops[] = {
	{ "Cast", run_cast },
	{ "CastLike", run_cast_like },
};

const struct native_family native_family_convert = { "types", "", ops,
						     sizeof(ops) / sizeof(ops[0]) };
