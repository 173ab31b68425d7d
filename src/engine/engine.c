/* Engines, models and calls: the public face. */
#include "engine/engine.h"

#include "engine/array.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

int strata_engine_new(const struct strata_engine_conf *conf, struct strata_memory *memory,
		      struct strata_engine **ret_engine, struct strata_error *err)
{
	struct strata_engine *engine = strata_memory_get(memory, sizeof(*engine));
	cpu_set_t cores;

	if (!engine)
		return strata_fail_memory(err);
	engine->memory = memory;
	engine->thread_count = sched_getaffinity(0, sizeof(cores), &cores) ? 1 : CPU_COUNT(&cores);
	engine_heap_init(&engine->heap, memory);
	*ret_engine = engine;
	return 0;
}

void strata_engine_free(struct strata_engine *engine)
{
	if (!engine)
		return;
	engine_heap_fini(&engine->heap);
	strata_memory_put(engine->memory, engine, sizeof(*engine));
}

void strata_engine_stop(struct strata_engine *engine, bool stop)
{
	atomic_store(&engine->stop, stop);
}

/* ---- models ---- */

static void set_port(const struct onnx_value_info *info, struct strata_engine_port *port)
{
	const struct onnx_type *type = &info->type;

	*port = (struct strata_engine_port){ .name = info->name,
					     .dtype = engine_dtype_public(type->dtype),
					     .ranked = type->kind == ONNX_TENSOR && type->ranked,
					     .rank = (uint32_t)type->rank };
	for (size_t i = 0; i < type->rank; i++) {
		port->dims[i] = type->dims[i];
		port->dim_names[i] = type->names[i];
	}
}

static int list_ports(struct strata_engine_model *model, struct strata_error *err)
{
	struct engine_model *file = model->whole.model;
	const struct onnx_graph *graph = &file->onnx.graph;

	model->inputs = strata_arena_array(&file->arena, file->input_count, sizeof(*model->inputs));
	model->outputs =
		strata_arena_array(&file->arena, graph->output_count, sizeof(*model->outputs));
	if (!model->inputs || !model->outputs)
		return strata_fail_memory(err);
	model->input_count = file->input_count;
	model->output_count = graph->output_count;
	for (size_t i = 0; i < model->input_count; i++)
		set_port(file->input_infos[i], &model->inputs[i]);
	for (size_t i = 0; i < model->output_count; i++)
		set_port(&graph->outputs[i], &model->outputs[i]);
	return 0;
}

int strata_engine_open(struct strata_engine *engine, const char *path,
		       const struct strata_engine_model_conf *conf,
		       struct strata_engine_model **ret_model, struct strata_error *err)
{
	struct strata_engine_model *model = strata_memory_get(engine->memory, sizeof(*model));

	if (!model)
		return strata_fail_memory(err);
	model->engine = engine;
	int rc = engine_whole_open(&model->whole, path, engine->thread_count, &engine->heap, err);

	if (rc == 0)
		rc = list_ports(model, err);
	if (rc) {
		strata_engine_close(model);
		return rc;
	}
	*ret_model = model;
	return 0;
}

void strata_engine_close(struct strata_engine_model *model)
{
	if (!model)
		return;
	engine_whole_close(&model->whole);
	strata_memory_put(model->engine->memory, model, sizeof(*model));
}

size_t strata_engine_input_count(const struct strata_engine_model *model)
{
	return model->input_count;
}

const struct strata_engine_port *strata_engine_input_at(const struct strata_engine_model *model,
							size_t index)
{
	return index < model->input_count ? &model->inputs[index] : NULL;
}

size_t strata_engine_output_count(const struct strata_engine_model *model)
{
	return model->output_count;
}

const struct strata_engine_port *strata_engine_output_at(const struct strata_engine_model *model,
							 size_t index)
{
	return index < model->output_count ? &model->outputs[index] : NULL;
}

static int find_port(const struct strata_engine_port *ports, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(ports[i].name, name) == 0)
			return (int)i;
	return -1;
}

int strata_engine_input_find(const struct strata_engine_model *model, const char *name)
{
	return find_port(model->inputs, model->input_count, name);
}

int strata_engine_output_find(const struct strata_engine_model *model, const char *name)
{
	return find_port(model->outputs, model->output_count, name);
}

/* ---- calls ---- */

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

static int give_out(struct engine_value *values, size_t count, struct strata_array *ret_outputs,
		    struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		if (values[i].kind != ONNX_TENSOR || values[i].dtype == ONNX_STRING)
			rc = strata_fail(err, -ENOTSUP,
					 "output %zu is a sequence or has texts, which cannot be given out",
					 i + 1);
	for (size_t i = 0; i < count; i++)
		if (rc == 0)
			rc = engine_array_of_value(&values[i], &ret_outputs[i], err);
		else
			engine_value_drop(&values[i]);
	return rc;
}

int strata_engine_run(struct strata_engine_model *model, const struct strata_array *inputs,
		      struct strata_array *ret_outputs, struct strata_error *err)
{
	struct strata_memory *memory = model->engine->memory;
	size_t room = model->input_count + model->output_count + 1, made = 0;
	struct engine_value *values = strata_memory_get(memory, room * sizeof(*values));
	struct engine_value *outputs = values + model->input_count;
	int rc = values ? 0 : strata_fail_memory(err);

	if (rc == 0 && atomic_load(&model->engine->stop))
		rc = strata_fail(err, -ECANCELED, "stopped");
	for (size_t i = 0; rc == 0 && i < model->input_count; i++) {
		rc = check_input(&model->inputs[i], &inputs[i], err);
		if (rc == 0)
			rc = engine_value_of_array(&inputs[i], &values[i], err);
		made += rc == 0;
	}
	if (rc == 0)
		rc = engine_whole_run(&model->whole, values, outputs, err);
	if (rc == 0)
		rc = give_out(outputs, model->output_count, ret_outputs, err);
	for (size_t i = 0; i < made; i++)
		engine_value_drop(&values[i]);
	strata_memory_put(memory, values, room * sizeof(*values));
	return rc;
}
