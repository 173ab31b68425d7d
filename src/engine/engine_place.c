/* Asking the place level: see engine_place.h. */
#include "engine/engine_place.h"

#include "engine/captures.h"
#include "formats/onnx/onnx_graph.h"

#include <strata/detector.h>
#include <strata/machine.h>

#include <errno.h>
#include <string.h>

/* ---- dimensions ---- */

static int note_dim(struct onnx_dim *dims, size_t *count, const char *name, int64_t value,
		    struct strata_error *err)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(dims[i].name, name) == 0) {
			if (dims[i].value != value)
				return strata_fail(err, -EINVAL,
						   "dimension '%.64s' is %lld in one input and %lld in another",
						   name, (long long)dims[i].value, (long long)value);
			return 0;
		}
	dims[(*count)++] = (struct onnx_dim){ name, value };
	return 0;
}

static int read_dims(const struct engine_model *model, const struct engine_value *inputs,
		     struct strata_arena *arena, struct engine_placing *placing,
		     struct strata_error *err)
{
	size_t room = model->input_count * STRATA_TENSOR_RANK_MAX, count = 0;
	struct onnx_dim *dims = strata_arena_array(arena, room, sizeof(*dims));
	int rc = dims ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < model->input_count; i++) {
		const struct onnx_type *type = &model->input_infos[i]->type;

		if (type->kind != ONNX_TENSOR || !type->ranked || inputs[i].rank != type->rank)
			continue;
		for (size_t k = 0; rc == 0 && k < type->rank; k++)
			if (type->dims[k] < 0 && type->names[k])
				rc = note_dim(dims, &count, type->names[k], inputs[i].dims[k], err);
	}
	placing->dims = dims;
	placing->dim_count = count;
	return rc;
}

/* ---- the machine ---- */

/* Devices share the memory of the machine that they are on; a core's figures are those of all cores, shared out. */
static int make_machine(const struct engine_placing_conf *conf, struct strata_arena *arena,
			struct strata_machine *ret_machine, struct strata_error *err)
{
	size_t count = conf->device_count;
	struct strata_device *devices = strata_arena_array(arena, count, sizeof(*devices));
	double *rates = strata_arena_array(arena, count * count, sizeof(*rates));
	double *latencies = strata_arena_array(arena, count * count, sizeof(*latencies));
	struct strata_machine detected;
	int rc = strata_machine_detect(arena, &detected, NULL, NULL, err);

	if (rc == 0 && (!devices || !rates || !latencies))
		rc = strata_fail_memory(err);
	if (rc)
		return rc;
	const struct strata_device *cpu = &detected.devices[0];
	cpu_set_t allowed;
	double cores = sched_getaffinity(0, sizeof(allowed), &allowed) ? 1 : CPU_COUNT(&allowed);

	for (size_t i = 0; i < count; i++) {
		devices[i] = *cpu;
		devices[i].name = conf->devices[i].name;
		devices[i].flops_per_s = cpu->flops_per_s * conf->devices[i].team.thread_count / cores;
		devices[i].capacity_bytes = 0;
		for (size_t k = 0; k < count; k++)
			if (i != k) { /* the same memory: only a wake-up */
				rates[i * count + k] = cpu->bytes_per_s;
				latencies[i * count + k] = 10000;
			}
	}
	*ret_machine = (struct strata_machine){ .devices = devices,
						.device_count = count,
						.bytes_per_s = rates,
						.latency_ns = latencies };
	return 0;
}

/* ---- from ops back to nodes ---- */

/* What is folded (constants, shapes) goes where it is read first. */
static int place_folded(const struct engine_model *model, const struct onnx_inferred *inferred,
			uint32_t *device, struct strata_memory *memory, struct strata_error *err)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	struct map_text makers;
	bool full = false;
	int rc = 0;

	map_text_init(&makers, memory);
	for (size_t i = 0; i < graph->node_count; i++)
		for (size_t k = 0; k < graph->nodes[i].output_count && !full; k++)
			full = graph->nodes[i].outputs[k][0] &&
			       map_text_put(&makers, graph->nodes[i].outputs[k],
					    strlen(graph->nodes[i].outputs[k]),
					    (void *)(uintptr_t)(i + 1), NULL);
	if (full)
		rc = strata_fail_memory(err);
	for (size_t i = graph->node_count; rc == 0 && i-- > 0;) { /* readers before makers */
		const struct onnx_node *node = model->nodes[i];
		struct map_text read;

		map_text_init(&read, memory);
		rc = engine_captures_of_node(node, &read, memory, err);
		for (const struct map_text_entry *entry = map_text_next(&read, NULL); entry;
		     entry = map_text_next(&read, entry)) {
			uintptr_t maker = (uintptr_t)map_text_get(&makers, entry->key,
								  entry->key_bytes);

			if (maker && inferred->nodes[maker - 1].folded)
				device[maker - 1] = device[node - graph->nodes];
		}
		map_text_fini(&read);
	}
	map_text_fini(&makers);
	return rc;
}

static int read_plan(const struct engine_model *model, const struct onnx_inferred *inferred,
		     const struct strata_place_plan *plan,
		     const struct strata_corrections *corrections, struct strata_arena *arena,
		     struct engine_placing *placing, struct strata_error *err)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	size_t op = 0;

	placing->device = strata_arena_array(arena, graph->node_count, sizeof(uint32_t));
	placing->prices_ns = strata_arena_array(arena, graph->node_count, sizeof(double));
	if (!placing->device || !placing->prices_ns)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->node_count; i++)
		if (!inferred->nodes[i].folded) {
			placing->device[i] = plan->device[op];
			placing->prices_ns[i] =
				(plan->finish_ns[op] - plan->start_ns[op]) /
				(corrections ? strata_corrections_factor(corrections,
									 graph->nodes[i].kind,
									 plan->device[op])
					     : 1);
			op++;
		}
	placing->latency_ns = plan->latency_ns;
	placing->load_ns = plan->load_ns;
	placing->strategy = plan->strategy;
	placing->reasons = plan->reasons;
	placing->reason_count = plan->reason_count;
	return place_folded(model, inferred, placing->device, arena->memory, err);
}

static int plan_graph(const struct engine_placing_conf *conf, struct strata_graph *graph,
		      struct strata_arena *arena, struct strata_place_plan *ret_plan,
		      struct strata_error *err)
{
	struct strata_machine machine;
	struct strata_place_auto how = { .adaptive.mode = conf->mode };
	int rc = make_machine(conf, arena, &machine, err);

	if (rc)
		return rc;
	const struct strata_place_request ask = { .graph = graph,
						  .machine = &machine,
						  .objective = conf->objective,
						  .corrections = conf->corrections };

	return strata_place_auto(&ask, &how, arena, ret_plan, NULL, err);
}

int engine_placing_make(const struct engine_placing_conf *conf, const struct engine_model *model,
			const struct engine_value *inputs, struct strata_arena *arena,
			struct engine_placing *ret_placing, struct strata_error *err)
{
	struct strata_onnx_metrics metrics;
	struct engine_placing placing = { 0 };
	struct strata_place_plan plan;
	struct onnx_inferred inferred;
	struct strata_graph *graph = NULL;
	int rc = read_dims(model, inputs, arena, &placing, err);

	if (rc == 0)
		rc = onnx_infer(&model->onnx, placing.dims, placing.dim_count, ONNX_BELIEVE_DECLARED,
				arena, &inferred, err);
	if (rc == 0)
		rc = strata_graph_new(model->onnx.graph.name, arena->memory, &graph, err);
	if (rc == 0)
		rc = onnx_graph_fill(&inferred, model->path, arena, graph, &metrics, err);
	if (rc == 0)
		rc = plan_graph(conf, graph, arena, &plan, err);
	if (rc == 0)
		rc = read_plan(model, &inferred, &plan, conf->corrections, arena, &placing, err);
	strata_graph_free(graph);
	if (rc)
		return rc;
	placing.flops = metrics.flops;
	*ret_placing = placing;
	return 0;
}
