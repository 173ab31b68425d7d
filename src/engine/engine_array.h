/* Arrays of the public API and values of the engine: the same contents, seen from outside and from inside. */
#ifndef ENGINE_ARRAY_H
#define ENGINE_ARRAY_H

#include "engine/value.h"

#include <strata/engine.h>

int engine_dtype_of(enum strata_dtype dtype);         /* enum onnx_dtype; ONNX_NONE: there is none */
enum strata_dtype engine_dtype_public(int onnx_dtype); /* STRATA_DTYPE_NONE */

/* A value that shares the array's contents; -EINVAL for a type that is not computed with. */
int engine_value_of_array(const struct strata_array *array, struct engine_value *ret_value,
			  struct strata_error *err);
/* The array takes over the value. -ENOTSUP for sequences, texts and optionals. */
int engine_array_of_value(struct engine_value *value, struct strata_array *ret_array,
			  struct strata_error *err);

#endif
