/* Calls: inputs are checked, the model is prepared with the first, and outputs are given out as arrays. */
#include "engine/engine.h"

#include "engine/activations.h"
#include "engine/engine_array.h"

#include "core/env.h"

#include <errno.h>
#include <string.h>

enum { REGION_SLACK = 4 }; /* of what is planned, one part more: holes do not all fit */

/* ---- preparing ---- */

/* Where a model left most of what it made. */
static uint32_t cache_device(const struct strata_engine_model *from)
{
	size_t counts[STRATA_PLACE_DEVICES_MAX] = { 0 };
	uint32_t most = STRATA_NONE;

	for (size_t i = 0; from && from->instance.prepared && i < from->output_count; i++) {
		uint32_t value = from->instance.cuts.output_values[i];
		uint32_t device = value < ENGINE_WEIGHT ? from->instance.made_on[value] : STRATA_NONE;

		if (device < STRATA_PLACE_DEVICES_MAX && ++counts[device] &&
		    (most == STRATA_NONE || counts[device] > counts[most]))
			most = device;
	}
	return most;
}

/* A model that the place level cannot make out (all of it is constant, say) runs on the first device. */
static int place(struct strata_engine_model *model, const struct engine_value *inputs,
		 struct strata_error *err)
{
	struct strata_engine *engine = model->engine;
	const struct engine_placing_conf conf = { .devices = engine->devices,
						  .device_count = engine->device_count,
						  .mode = engine->mode,
						  .objective = engine->objective,
						  .corrections = engine->corrections,
						  .adaptive = engine->adaptive,
						  .cache_device = cache_device(model->caches_from) };
	int rc = engine_placing_make(&conf, model->instance.model, inputs, &model->instance.arena,
				     &model->placing, NULL);

	if (rc)
		model->placing = (struct engine_placing){ 0 };
	return rc == -ENOMEM ? strata_fail_memory(err) : 0;
}

/* Streams that are traced have lanes of their own. */
static int trace_streams(struct strata_engine_model *model, struct strata_error *err)
{
	struct strata_engine *engine = model->engine;
	const struct residence *residence = &model->instance.residence;
	int rc = 0;

	for (size_t i = 0; engine->trace && rc == 0 && i < residence->device_count; i++)
		if (residence->streams[i]) {
			rc = strata_stream_trace(residence->streams[i], engine->trace,
						 engine->next_tid, 1 << 12, err);
			engine->next_tid += STRATA_STREAM_TRACE_TIDS;
		}
	return rc;
}

static int prepare(struct strata_engine_model *model, const struct engine_value *inputs,
		   struct strata_error *err)
{
	if (model->instance.prepared)
		return 0;
	if (model->broken.code) {
		if (err)
			*err = model->broken;
		return model->broken.code;
	}
	int rc = place(model, inputs, &model->broken);

	if (rc == 0)
		rc = engine_instance_prepare(&model->instance, model->placing.device,
					     &model->broken);
	if (rc == 0)
		rc = trace_streams(model, &model->broken);
	if (rc == 0)
		rc = engine_activations_plan(&model->instance, model->placing.dims,
					     model->placing.dim_count, &model->planned_bytes,
					     &model->broken);
	if (rc == 0 && model->planned_bytes > 0)
		engine_heap_reserve(&model->engine->heap,
				    (size_t)model->planned_bytes / REGION_SLACK *
					    (REGION_SLACK + 1));
	if (rc && err)
		*err = model->broken;
	return rc;
}

/* Calls that are looked at are alone: several at once disturb each other's times. */
static int run_and_learn(struct strata_engine_model *model, const struct engine_call *calls,
			 size_t count, struct strata_error *err)
{
	struct engine_learning *learning = &model->learning;
	bool look = count == 1 && engine_learning_wants(learning);

	int64_t begin_ns = env_now_ns(env_system(), ENV_MONOTONIC);

	if (look)
		engine_learning_begin(learning, &model->instance);
	int rc = engine_instance_run(&model->instance, calls, count, err);

	if (look) /* without memory nothing is learned, and nothing is lost */
		engine_learning_end(learning, &model->instance, &model->placing,
				    env_now_ns(env_system(), ENV_MONOTONIC) - begin_ns,
				    model->engine->corrections, NULL);
	if (rc && rc != -ECANCELED && rc != -EINVAL)
		engine_learning_failed(&model->placing, model->engine->adaptive);
	if (engine_learning_is_full(learning))
		engine_learning_report(learning, &model->placing, model->engine->adaptive, NULL);
	learning->calls += count;
	return rc;
}

/* The layers belong to what is computed now. */
static void tie_streams(const struct strata_engine_model *model)
{
	const struct residence *residence = &model->instance.residence;

	for (size_t i = 0; model->engine->trace && i < residence->device_count; i++)
		if (residence->streams[i])
			strata_stream_flow(residence->streams[i], model->engine->devices[i].flow);
}

int engine_model_run(struct strata_engine_model *model, const struct engine_call *calls,
		     size_t count, struct strata_error *err)
{
	if (atomic_load(&model->engine->stop))
		return strata_fail(err, -ECANCELED, "stopped");
	int rc = count ? prepare(model, calls[0].inputs, err) : 0;

	if (rc || count == 0)
		return rc;
	tie_streams(model);
	return run_and_learn(model, calls, count, err);
}

/* ---- the public calls ---- */

static int check_input(const struct strata_engine_port *port, const struct strata_array *array,
		       struct strata_error *err)
{
	if (array->dtype != port->dtype)
		return strata_fail(err, -EINVAL, "input '%.64s' is %s; expected %s", port->name,
				   strata_dtype_name(array->dtype), strata_dtype_name(port->dtype));
	if (port->ranked && array->rank != port->rank)
		return strata_fail(err, -EINVAL, "input '%.64s' has %u dimensions; expected %u",
				   port->name, array->rank, port->rank);
	for (uint32_t i = 0; port->ranked && i < array->rank; i++)
		if (port->dims[i] >= 0 && array->dims[i] != port->dims[i])
			return strata_fail(err, -EINVAL,
					   "dimension %u of input '%.64s' is %lld; expected %lld", i,
					   port->name, (long long)array->dims[i],
					   (long long)port->dims[i]);
	return 0;
}

/* One call's values, in room for inputs and outputs. */
static int take_inputs(struct strata_engine_model *model, const struct strata_array *inputs,
		       struct engine_value *values, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < model->input_count; i++) {
		rc = check_input(&model->inputs[i], &inputs[i], err);
		if (rc == 0)
			rc = engine_value_of_array(&inputs[i], &values[i], err);
	}
	return rc;
}

static int check_outputs(const struct engine_value *values, size_t count, struct strata_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (values[i].kind != ONNX_TENSOR || values[i].dtype == ONNX_STRING)
			return strata_fail(err, -ENOTSUP,
					   "output %zu is a sequence or has texts, which cannot be given out",
					   i + 1);
	return 0;
}

int strata_engine_run_many(struct strata_engine_model *model,
			   const struct strata_engine_call *calls, size_t count,
			   struct strata_error *err)
{
	size_t each = model->input_count + model->output_count;
	struct strata_arena arena;
	int rc = 0;

	strata_arena_init(&arena, model->engine->memory, 0);
	struct engine_call *inner = strata_arena_array(&arena, count, sizeof(*inner));
	struct engine_value *values = strata_arena_array(&arena, count * each, sizeof(*values));

	if (!inner || !values)
		rc = strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct engine_value *own = values + i * each;

		inner[i] = (struct engine_call){ own, own + model->input_count };
		rc = take_inputs(model, calls[i].inputs, own, err);
	}
	if (rc == 0)
		rc = engine_model_run(model, inner, count, err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = check_outputs(inner[i].outputs, model->output_count, err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		for (size_t k = 0; k < model->output_count; k++)
			engine_array_of_value(&inner[i].outputs[k], &calls[i].ret_outputs[k], NULL);
	for (size_t i = 0; values && i < count * each; i++)
		engine_value_drop(&values[i]);
	strata_arena_fini(&arena);
	return rc;
}

int strata_engine_run(struct strata_engine_model *model, const struct strata_array *inputs,
		      struct strata_array *ret_outputs, struct strata_error *err)
{
	const struct strata_engine_call call = { inputs, ret_outputs };

	return strata_engine_run_many(model, &call, 1, err);
}

int strata_engine_prepare(struct strata_engine_model *model, const struct strata_array *inputs,
			  struct strata_error *err)
{
	struct strata_arena arena;

	strata_arena_init(&arena, model->engine->memory, 0);
	struct engine_value *values = strata_arena_array(&arena, model->input_count, sizeof(*values));
	int rc = values ? take_inputs(model, inputs, values, err) : strata_fail_memory(err);

	if (rc == 0)
		rc = prepare(model, values, err);
	for (size_t i = 0; values && i < model->input_count; i++)
		engine_value_drop(&values[i]);
	strata_arena_fini(&arena);
	return rc;
}
