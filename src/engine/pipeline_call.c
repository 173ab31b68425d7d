/*
 * One call of the denoiser for several runs: rows of the batch are each run's pictures, the negative ones first where it is guided. Each row has its own
 * timestep where the model takes one for each.
 */
#include "engine/pipeline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct batch {
	struct strata_pipeline *pipeline;
	struct strata_pipeline_run *const *runs;
	size_t run_count, row_count;
};

size_t pipeline_rows(const struct strata_pipeline_run *run)
{
	return run->image_count * (run->guided ? 2 : 1);
}

static bool one_timestep(const struct strata_pipeline *pipeline)
{
	return strata_engine_input_at(pipeline->denoiser, (size_t)pipeline->timestep_input)->rank ==
	       0;
}

bool pipeline_fits(const struct strata_pipeline_run *a, const struct strata_pipeline_run *b)
{
	if (a->pipeline != b->pipeline || a->condition_count != b->condition_count ||
	    memcmp(a->geometry.dims, b->geometry.dims, sizeof(a->geometry.dims)) != 0 ||
	    (one_timestep(a->pipeline) && a->row->timestep != b->row->timestep) ||
	    !pipeline_features_fit(a, b))
		return false;
	for (size_t i = 0; i < a->condition_count; i++) {
		const struct pipeline_condition *one = &a->conditions[i],
						*other = &b->conditions[i];
		size_t from = one->shared ? 0 : 1;

		if (one->input != other->input || one->positive.rank != other->positive.rank ||
		    memcmp(one->positive.dims + from, other->positive.dims + from,
			   (one->positive.rank - from) * sizeof(int64_t)) != 0)
			return false;
	}
	return true;
}

/* The input as the model's port wants it: the array is taken over. */
static int fit_type(struct batch *batch, size_t input, struct strata_array *array,
		    struct strata_array *ret_input, struct strata_error *err)
{
	const struct strata_engine_port *port =
		strata_engine_input_at(batch->pipeline->denoiser, input);

	if (array->dtype == port->dtype) {
		*ret_input = *array;
		return 0;
	}
	int rc = strata_array_cast(batch->pipeline->engine, array, port->dtype, ret_input, err);

	strata_array_drop(array);
	return rc;
}

static int make_sample(struct batch *batch, struct strata_array *ret_input,
		       struct strata_error *err)
{
	const struct pipeline_geometry *geometry = &batch->runs[0]->geometry;
	int64_t dims[PIPELINE_RANK_MAX + 1] = { (int64_t)batch->row_count };
	struct strata_array array;

	memcpy(dims + 1, geometry->dims, sizeof(geometry->dims));
	int rc = strata_array_make(batch->pipeline->engine, STRATA_DTYPE_F32, geometry->rank + 1,
				   dims, &array, err);

	if (rc)
		return rc;
	float *to = array.data;

	for (size_t i = 0; i < batch->run_count; i++) {
		const struct strata_pipeline_run *run = batch->runs[i];
		size_t count = run->image_count * geometry->element_count;
		float scale = (float)run->row->input_scale;

		for (size_t part = 0; part < (run->guided ? 2 : 1); part++, to += count)
			for (size_t k = 0; k < count; k++)
				to[k] = run->latents[k] * scale;
	}
	return fit_type(batch, (size_t)batch->pipeline->sample_input, &array, ret_input, err);
}

static int make_timestep(struct batch *batch, struct strata_array *ret_input,
			 struct strata_error *err)
{
	bool one = one_timestep(batch->pipeline);
	const int64_t dims[] = { (int64_t)batch->row_count };
	struct strata_array array;
	int rc = strata_array_make(batch->pipeline->engine, STRATA_DTYPE_F32, one ? 0 : 1, dims,
				   &array, err);

	if (rc)
		return rc;
	float *to = array.data;

	for (size_t i = 0; i < batch->run_count; i++) {
		/* As torch has it: the timestep is float32 before it is scaled. */
		float timestep = (float)batch->runs[i]->row->timestep;

		if (batch->pipeline->cls->timestep_scale != 1)
			timestep = timestep / (float)(1 / batch->pipeline->cls->timestep_scale);
		for (size_t k = 0; k < (one ? i == 0 : pipeline_rows(batch->runs[i])); k++)
			*to++ = timestep;
	}
	return fit_type(batch, (size_t)batch->pipeline->timestep_input, &array, ret_input, err);
}

static const struct pipeline_condition *condition_of(const struct strata_pipeline_run *run,
						     size_t input)
{
	for (size_t i = 0; i < run->condition_count; i++)
		if (run->conditions[i].input == (int)input)
			return &run->conditions[i];
	return NULL;
}

static int make_condition(struct batch *batch, size_t input, struct strata_array *ret_input,
			  struct strata_error *err)
{
	const struct pipeline_condition *first = condition_of(batch->runs[0], input);
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	struct strata_array array;

	if (first->shared) {
		array = strata_array_share(&first->positive);
		return fit_type(batch, input, &array, ret_input, err);
	}
	memcpy(dims, first->positive.dims, sizeof(dims));
	dims[0] = (int64_t)batch->row_count;
	int rc = strata_array_make(batch->pipeline->engine, first->positive.dtype,
				   first->positive.rank, dims, &array, err);

	if (rc)
		return rc;
	char *to = array.data;

	for (size_t i = 0; i < batch->run_count; i++) {
		const struct pipeline_condition *own = condition_of(batch->runs[i], input);
		size_t bytes = strata_array_bytes(&own->positive);

		if (batch->runs[i]->guided) {
			memcpy(to, own->negative.data, bytes);
			to += bytes;
		}
		memcpy(to, own->positive.data, bytes);
		to += bytes;
	}
	return fit_type(batch, input, &array, ret_input, err);
}

/* out = n + guidance · (p − n), in float, as diffusers computes it. */
static void guide(struct strata_pipeline_run *run, const float *negative, const float *positive)
{
	size_t count = run->image_count * run->geometry.element_count;

	memcpy(run->unguided, negative, count * sizeof(*negative));
	for (size_t i = 0; i < count; i++)
		run->outputs[i] = negative[i] + run->guidance * (positive[i] - negative[i]);
}

/* A result that is not a number would spoil the run and all that is kept of it. */
static int check_numbers(const struct batch *batch, const float *values, size_t count,
			 struct strata_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(values[i]))
			return strata_fail(
				err, -EBADMSG,
				"%.200s/%s/model.onnx gives %g, which is no number to go "
				"on with, at timestep %g",
				batch->pipeline->folder, batch->pipeline->cls->denoiser,
				(double)values[i], batch->runs[0]->row->timestep);
	return 0;
}

static int take_output(struct batch *batch, const struct strata_array *output,
		       struct strata_error *err)
{
	size_t elements = batch->runs[0]->geometry.element_count;
	struct strata_array wide;
	int rc = 0;

	if (strata_array_elements(output) != (int64_t)(batch->row_count * elements))
		return strata_fail(
			err, -EBADMSG, "%.200s/%s/model.onnx gives %lld numbers; expected %zu",
			batch->pipeline->folder, batch->pipeline->cls->denoiser,
			(long long)strata_array_elements(output), batch->row_count * elements);
	rc = strata_array_cast(batch->pipeline->engine, output, STRATA_DTYPE_F32, &wide, err);
	if (rc)
		return rc;
	const float *from = wide.data;

	rc = check_numbers(batch, from, batch->row_count * elements, err);
	for (size_t i = 0; rc == 0 && i < batch->run_count; i++) {
		struct strata_pipeline_run *run = batch->runs[i];
		size_t count = run->image_count * elements;

		if (run->guided)
			guide(run, from, from + count);
		else
			memcpy(run->outputs, from, count * sizeof(*from));
		from += pipeline_rows(run) * elements;
	}
	strata_array_drop(&wide);
	return rc;
}

static int make_inputs(struct batch *batch, struct strata_array *inputs, size_t count,
		       struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = (int)i == batch->pipeline->sample_input ? make_sample(batch, &inputs[i], err)
		     : (int)i == batch->pipeline->timestep_input
			     ? make_timestep(batch, &inputs[i], err)
			     : make_condition(batch, i, &inputs[i], err);
	return rc;
}

/* A UNet that halves its latents a few times, and doubles them again, puts halves of other sizes
 * together when they cannot be halved so often; what fails then is deep inside of it. */
static int explain(const struct batch *batch, int rc, struct strata_error *err)
{
	const struct strata_pipeline *pipeline = batch->pipeline;
	const struct pipeline_geometry *geometry = &batch->runs[0]->geometry;
	size_t levels =
		json_array_size(json_object_get(pipeline->denoiser_config, "down_block_types"));
	int64_t multiple = INT64_C(1) << (levels && levels < 16 ? levels - 1 : 0);
	char why[STRATA_ERROR_TEXT_BYTES];

	if (!err || (rc != -EINVAL && rc != -EBADMSG) ||
	    (geometry->rows % multiple == 0 && geometry->columns % multiple == 0))
		return rc;
	snprintf(why, sizeof(why), "%s", err->text);
	return strata_fail_at(err, rc, "size",
			      "the size %ux%u does not fit this model: expected multiples of %lld "
			      "(%.200s)",
			      geometry->width, geometry->height,
			      (long long)(multiple * pipeline->latent_scale), why);
}

/* All runs want the same of the call: it is made in full, or of the outer part with features. */
int pipeline_call(struct strata_pipeline *pipeline, struct strata_pipeline_run *const *runs,
		  size_t count, struct strata_error *err)
{
	struct batch batch = { .pipeline = pipeline, .runs = runs, .run_count = count };
	bool outer = pipeline->outer && pipeline_features_used(runs[0]);
	struct strata_engine_model *model = outer ? pipeline->outer : pipeline->denoiser;
	size_t inputs = strata_engine_input_count(model);
	size_t outputs = strata_engine_output_count(model);
	bool keeps = false;
	struct strata_arena arena;

	for (size_t i = 0; i < count; i++) {
		batch.row_count += pipeline_rows(runs[i]);
		keeps |= runs[i]->wants_features && !outer;
	}
	strata_arena_init(&arena, pipeline->memory, 0);
	struct strata_array *arrays = strata_arena_array(&arena, inputs + outputs, sizeof(*arrays));
	int rc = arrays ? make_inputs(&batch, arrays, inputs - outer, err)
			: strata_fail_memory(err);

	if (rc == 0 && outer)
		rc = pipeline_features_gather(pipeline, runs, count, &arrays[inputs - 1], err);
	if (rc == 0) {
		rc = strata_engine_run(model, arrays, arrays + inputs, err);
		rc = rc ? explain(&batch, rc, err) : 0;
	}
	if (rc == 0)
		rc = take_output(&batch, &arrays[inputs], err);
	if (rc == 0 && keeps)
		rc = pipeline_features_keep(pipeline, runs, count, batch.row_count,
					    &arrays[inputs + outputs - 1], err);
	for (size_t i = 0; arrays && i < inputs + outputs; i++)
		strata_array_drop(&arrays[i]);
	strata_arena_fini(&arena);
	return rc;
}
