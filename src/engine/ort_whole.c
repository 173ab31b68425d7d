/* A whole model as one session: see ort_whole.h. */
#include "engine/ort_whole.h"

#include "engine/engine_array.h"
#include "engine/ort_api.h"

#include <errno.h>
#include <string.h>

enum { PORTS_MAX = 256 };

struct ort_whole {
	const struct ort *ort;
	struct strata_memory *memory;
	struct ort_session *session;
	struct ort_value *inputs[PORTS_MAX], *outputs[PORTS_MAX];
};

static int fail(const struct ort_whole *whole, struct ort_status *status, int rc,
		struct strata_error *err)
{
	return ort_fail(whole->ort, status, rc, "onnxruntime", err);
}

static void release(struct ort_whole *whole, struct ort_value **values)
{
	for (size_t i = 0; i < PORTS_MAX; i++)
		if (values[i])
			whole->ort->release_value(values[i]);
	memset(values, 0, PORTS_MAX * sizeof(*values));
}

void ort_whole_close(struct ort_whole *whole)
{
	if (!whole)
		return;
	release(whole, whole->inputs);
	release(whole, whole->outputs);
	if (whole->session)
		whole->ort->release_session(whole->session);
	strata_memory_put(whole->memory, whole, sizeof(*whole));
}

int ort_whole_open(const char *path, int threads, struct strata_memory *memory,
		   struct ort_whole **ret_whole, struct strata_error *err)
{
	struct ort_session_options *options = NULL;
	const struct ort *ort;
	int rc = ort_get(&ort, NULL, err);
	struct ort_whole *whole = rc ? NULL : strata_memory_get(memory, sizeof(*whole));

	if (rc)
		return rc;
	if (!whole)
		return strata_fail_memory(err);
	whole->ort = ort;
	whole->memory = memory;
	struct ort_status *status = ort->create_session_options(&options);

	if (!status)
		status = ort->set_intra_threads(options, threads);
	if (!status)
		status = ort->set_inter_threads(options, 1);
	if (!status)
		status = ort->create_session_of_file(ort->env, path, options, &whole->session);
	rc = fail(whole, status, -ENOTSUP, err);
	if (options)
		ort->release_session_options(options);
	if (rc) {
		ort_whole_close(whole);
		return rc;
	}
	*ret_whole = whole;
	return 0;
}

const char *ort_whole_version(const struct ort_whole *whole)
{
	return whole->ort->version;
}

int ort_whole_run(struct ort_whole *whole, const struct ort_whole_call *call,
		  struct strata_error *err)
{
	const struct ort *ort = whole->ort;
	struct ort_status *status = NULL;

	if (call->input_count > PORTS_MAX || call->output_count > PORTS_MAX)
		return strata_fail(err, -E2BIG, "the model has more than %d inputs or outputs",
				   PORTS_MAX);
	release(whole, whole->outputs);
	for (size_t i = 0; !status && i < call->input_count; i++) {
		const struct strata_array *array = &call->inputs[i];

		status = ort->create_tensor(ort->cpu, array->data, strata_array_bytes(array),
					    array->dims, array->rank,
					    engine_dtype_of(array->dtype), &whole->inputs[i]);
	}
	if (!status)
		status = ort->run(whole->session, NULL, call->input_names,
				  (const struct ort_value *const *)whole->inputs,
				  call->input_count, call->output_names, call->output_count,
				  whole->outputs);
	release(whole, whole->inputs);
	return fail(whole, status, -EINVAL, err);
}

int ort_whole_output(struct ort_whole *whole, size_t index, struct strata_array *ret_array,
		     struct strata_error *err)
{
	const struct ort *ort = whole->ort;
	struct ort_value *value = index < PORTS_MAX ? whole->outputs[index] : NULL;
	struct strata_array array = { 0 };
	struct ort_shape_info *info = NULL;
	int type = 0, dtype = 0;
	size_t rank = 0;

	if (!value)
		return strata_fail(err, -EINVAL, "there is no output %zu", index);
	struct ort_status *status = ort->value_type(value, &type);

	if (!status && type != ORT_TYPE_TENSOR)
		return strata_fail(err, -ENOTSUP, "output %zu is not a tensor", index);
	if (!status)
		status = ort->tensor_shape(value, &info);
	if (!status)
		status = ort->shape_dtype(info, &dtype);
	if (!status)
		status = ort->shape_rank(info, &rank);
	if (!status && rank <= STRATA_TENSOR_RANK_MAX)
		status = ort->shape_dims(info, array.dims, rank);
	if (!status)
		status = ort->tensor_data(value, &array.data);
	if (info)
		ort->release_shape_info(info);
	int rc = fail(whole, status, -EIO, err);

	array.dtype = engine_dtype_public(dtype);
	array.rank = (uint32_t)rank;
	if (rc == 0 && (rank > STRATA_TENSOR_RANK_MAX || array.dtype == STRATA_DTYPE_NONE ||
			array.dtype == STRATA_DTYPE_TEXT))
		rc = strata_fail(err, -ENOTSUP, "output %zu is not a tensor of numbers", index);
	if (rc == 0)
		*ret_array = array;
	return rc;
}
