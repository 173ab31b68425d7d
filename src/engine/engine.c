/* Engines and models: making, asking, closing. Calls are in engine_run.c. */
#include "engine/engine.h"

#include "engine/engine_array.h"
#include "engine/experience.h"

#include <errno.h>
#include <string.h>

/* ---- engines ---- */

static struct engine_experience experience_of(const struct strata_engine *engine)
{
	return (struct engine_experience){ engine->backend.cls->name, engine->devices,
					   engine->device_count, engine->corrections,
					   engine->adaptive };
}

static int load_experience(struct strata_engine *engine, const char *path, struct strata_error *err)
{
	const struct engine_experience experience = experience_of(engine);

	engine->experience = strata_arena_text(&engine->arena, path, strlen(path));
	return engine->experience ? engine_experience_load(path, &experience, err)
				  : strata_fail_memory(err);
}

static int read_backend(struct strata_engine *engine, const char *text, struct strata_error *err)
{
	int rc = strata_spec_build(&strata_backend_kind, text ? text : "native", &engine->arena,
				   &engine->backend, err);
	const struct engine_backend_class *cls =
		(const struct engine_backend_class *)engine->backend.cls;

	if (rc == 0 && cls->probe)
		rc = cls->probe(engine->backend.conf, err);
	return rc;
}

int strata_engine_new(const struct strata_engine_conf *conf, struct strata_memory *memory,
		      struct strata_engine **ret_engine, struct strata_error *err)
{
	struct strata_engine *engine = strata_memory_get(memory, sizeof(*engine));

	if (!engine)
		return strata_fail_memory(err);
	engine->memory = memory;
	engine->mode = conf->mode;
	engine->experimental = conf->experimental;
	engine->objective = conf->objective;
	strata_arena_init(&engine->arena, memory, 0);
	engine_heap_init(&engine->heap, memory);
	int rc = read_backend(engine, conf->backend, err);

	if (rc == 0)
		rc = engine_devices_read(conf->devices ? conf->devices : "cpu", &engine->heap,
					 &engine->arena, &engine->devices, &engine->device_count,
					 err);
	if (rc == 0)
		rc = strata_corrections_new(engine->device_count, memory, &engine->corrections,
					    err);
	if (rc == 0)
		rc = strata_adaptive_new(
			&(struct strata_adaptive_conf){
				.mode = conf->mode,
				.enabled = conf->experimental ? 1u << STRATA_FEATURE_EXPERIMENTAL
							      : 0 },
			memory, &engine->adaptive, err);
	if (rc == 0 && conf->experience)
		rc = load_experience(engine, conf->experience, err);
	if (rc == 0) {
		rc = engine_devices_start(engine->devices, engine->device_count, err);
		if (rc)
			engine->device_count = 0;
	} else {
		engine->device_count = 0; /* none has a thread */
	}
	if (rc) {
		strata_engine_free(engine);
		return rc;
	}
	*ret_engine = engine;
	return 0;
}

void strata_engine_free(struct strata_engine *engine)
{
	if (!engine)
		return;
	engine_devices_end(engine->devices, engine->device_count);
	strata_corrections_free(engine->corrections);
	strata_adaptive_free(engine->adaptive);
	engine_heap_fini(&engine->heap);
	strata_arena_fini(&engine->arena);
	strata_memory_put(engine->memory, engine, sizeof(*engine));
}

int strata_engine_keep(const struct strata_engine *engine, struct strata_error *err)
{
	const struct engine_experience experience = experience_of(engine);

	return engine->experience ? engine_experience_save(engine->experience, &experience, err)
				  : 0;
}

int strata_engine_trace(struct strata_engine *engine, struct strata_trace *trace,
			uint32_t first_tid, struct strata_error *err)
{
	enum { EVENTS = 1 << 14 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < engine->device_count; i++) {
		const struct strata_trace_lane_conf lane = { .tid = first_tid + (uint32_t)i,
							     .name = engine->devices[i].name,
							     .event_count = EVENTS };

		rc = strata_trace_add_lane(trace, &lane, &engine->devices[i].lane, err);
	}
	engine->trace = rc ? NULL : trace;
	engine->next_tid = first_tid + (uint32_t)engine->device_count;
	return rc;
}

void strata_engine_flow(struct strata_engine *engine, uint64_t flow)
{
	for (size_t i = 0; i < engine->device_count; i++)
		engine->devices[i].flow = flow;
}

void strata_engine_stop(struct strata_engine *engine, bool stop)
{
	atomic_store(&engine->stop, stop);
}

/* ---- models ---- */

static void set_port(const struct onnx_value_info *info, bool wide, struct strata_engine_port *port)
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
	if (wide && (port->dtype == STRATA_DTYPE_F16 || port->dtype == STRATA_DTYPE_BF16))
		port->dtype = STRATA_DTYPE_F32;
}

static int list_ports(struct strata_engine_model *model, struct strata_error *err)
{
	struct engine_model *file = model->instance.model;
	const struct onnx_graph *graph = &file->onnx.graph;

	model->inputs = strata_arena_array(&file->arena, file->input_count, sizeof(*model->inputs));
	model->outputs =
		strata_arena_array(&file->arena, graph->output_count, sizeof(*model->outputs));
	if (!model->inputs || !model->outputs)
		return strata_fail_memory(err);
	model->input_count = file->input_count;
	model->output_count = graph->output_count;
	for (size_t i = 0; i < model->input_count; i++)
		set_port(file->input_infos[i], model->instance.conf.wide, &model->inputs[i]);
	for (size_t i = 0; i < model->output_count; i++)
		set_port(&graph->outputs[i], model->instance.conf.wide, &model->outputs[i]);
	return 0;
}

int strata_engine_open(struct strata_engine *engine, const char *path,
		       const struct strata_engine_model_conf *conf,
		       struct strata_engine_model **ret_model, struct strata_error *err)
{
	struct strata_engine_model *model = strata_memory_get(engine->memory, sizeof(*model));
	const struct engine_instance_conf how = {
		.heap = &engine->heap,
		.devices = engine->devices,
		.device_count = engine->device_count,
		.backend = (const struct engine_backend_class *)engine->backend.cls,
		.backend_conf = engine->backend.conf,
		.budget_bytes = conf ? conf->budget_bytes : 0,
		.per_member_input = conf ? conf->per_member_input : NULL,
		.wide = conf && conf->wide,
		.features = !conf                    ? ENGINE_FEATURES_NONE
			    : conf->give_features_of ? ENGINE_FEATURES_GIVEN
			    : conf->take_features_of ? ENGINE_FEATURES_TAKEN
						     : ENGINE_FEATURES_NONE,
		.features_of = !conf                    ? NULL
			       : conf->give_features_of ? conf->give_features_of
							: conf->take_features_of,
		.experimental = engine->experimental,
		.stop = &engine->stop,
	};

	if (!model)
		return strata_fail_memory(err);
	model->engine = engine;
	model->caches_from = conf ? conf->caches_from : NULL;
	int rc = engine_instance_open(&model->instance, path, &how, err);

	if (rc == 0)
		rc = list_ports(model, err);
	if (rc == 0)
		rc = engine_learning_init(&model->learning, model->instance.model,
					  &model->instance.arena, err);
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
	/* Without memory nothing is learned, and nothing is lost. */
	engine_learning_report(&model->learning, &model->placing, model->engine->adaptive, NULL);
	engine_instance_close(&model->instance);
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

int64_t strata_engine_weight_bytes(const struct strata_engine_model *model)
{
	const struct onnx_graph *graph = &model->instance.model->onnx.graph;
	int64_t bytes = 0;

	for (size_t i = 0; i < graph->initializer_count; i++)
		bytes += graph->initializers[i].bytes;
	return bytes;
}

/* ---- what is known of a model that has run ---- */

size_t strata_engine_subgraph_count(const struct strata_engine_model *model)
{
	return model->instance.prepared ? model->instance.cuts.subgraph_count : 0;
}

bool strata_engine_subgraph_at(const struct strata_engine_model *model, size_t index,
			       struct strata_engine_subgraph *ret_subgraph)
{
	const struct engine_instance *instance = &model->instance;

	if (index >= strata_engine_subgraph_count(model))
		return false;
	const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[index];
	const struct engine_observed *observed = &instance->observed[index];
	const struct onnx_graph *graph = &instance->model->onnx.graph;
	struct strata_engine_subgraph told = {
		.device = model->engine->devices[subgraph->device].name,
		.first = subgraph->nodes[0]->name,
		.op_count = subgraph->node_count,
		.streams = instance->residence.layers[index].stream != NULL,
		.calls = observed->calls,
		.total_ns = observed->total_ns,
		.least_ns = observed->least_ns,
		.wait_ns = observed->wait_ns,
	};

	for (size_t i = 0; i < subgraph->weight_count; i++)
		told.weight_bytes += graph->initializers[subgraph->weight_indexes[i]].bytes;
	for (size_t i = 0; i < subgraph->node_count; i++)
		told.predicted_ns +=
			engine_learning_price(&model->learning, &model->placing,
					      (size_t)(subgraph->nodes[i] - graph->nodes),
					      subgraph->device, model->engine->corrections);
	*ret_subgraph = told;
	return true;
}

void strata_engine_metrics(const struct strata_engine_model *model,
			   struct strata_engine_metrics *ret_metrics)
{
	const struct residence *residence = &model->instance.residence;
	struct strata_engine_metrics metrics = {
		.strategy = model->placing.strategy ? model->placing.strategy : "single",
		.predicted_ns = model->placing.latency_ns,
		.flops = model->placing.flops,
		.kept_bytes = residence->kept_bytes,
		.transfers = model->instance.transfers,
		.transfer_bytes = model->instance.transfer_bytes,
		.transfer_ns = model->instance.transfer_ns,
		.tensor_bytes_peak = (int64_t)model->engine->heap.live_peak,
		.planned_bytes = model->instance.prepared ? model->planned_bytes : -1,
	};

	for (size_t i = 0; residence->streams && i < residence->device_count; i++)
		if (residence->streams[i]) {
			struct strata_stream_metrics stream;

			strata_stream_metrics(residence->streams[i], &stream);
			metrics.read_bytes += stream.bytes_read;
			metrics.frame_bytes += stream.arena_bytes;
			metrics.frame_bytes_peak += stream.peak_bytes;
			metrics.wait_ns += stream.wait_ns;
		}
	*ret_metrics = metrics;
}
