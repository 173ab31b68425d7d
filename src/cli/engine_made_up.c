/* Inputs for models that nobody gave any for: small numbers, the same in every run. */
#include "cli/engine_options.h"

#include <strata/engine.h>

#include <errno.h>
#include <string.h>

void engine_make_up(struct strata_array *array, uint32_t seed)
{
	int64_t count = strata_array_elements(array);
	size_t width = (size_t)strata_dtype_bytes(array->dtype);

	memset(array->data, 0, strata_array_bytes(array));
	for (int64_t i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		float real = (float)(seed >> 8) / (1 << 23) - 1;
		double wide = (double)real;
		uint64_t whole = seed >> 31;
		char *at = (char *)array->data + (size_t)i * width;

		if (array->dtype == STRATA_DTYPE_F32)
			memcpy(at, &real, width);
		else if (array->dtype == STRATA_DTYPE_F64)
			memcpy(at, &wide, width);
		else if (array->dtype != STRATA_DTYPE_F16 && array->dtype != STRATA_DTYPE_BF16)
			memcpy(at, &whole, width);
	}
}

static int64_t dim_of(const struct strata_map *dims, const char *name)
{
	for (size_t i = 0; dims && name && i < dims->count; i++)
		if (strcmp(dims->keys[i], name) == 0)
			return ((const int64_t *)dims->items)[i];
	return 1;
}

int engine_input_made_up(struct strata_engine *engine, const struct strata_engine_port *port,
			 const struct strata_map *dims, uint32_t seed,
			 struct strata_array *ret_array, struct strata_error *err)
{
	int64_t shape[STRATA_TENSOR_RANK_MAX];

	if (!port->ranked || port->dtype == STRATA_DTYPE_TEXT || port->dtype == STRATA_DTYPE_NONE)
		return strata_fail(err, -EINVAL,
				   "input %s cannot be made up; give it: --input %s=FILE.npy",
				   port->name, port->name);
	for (uint32_t i = 0; i < port->rank; i++)
		shape[i] = port->dims[i] >= 0 ? port->dims[i] : dim_of(dims, port->dim_names[i]);
	int rc = strata_array_make(engine, port->dtype, port->rank, shape, ret_array, err);

	if (rc == 0)
		engine_make_up(ret_array, seed);
	return rc;
}
