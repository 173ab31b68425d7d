/* Asking the place level: see engine_place.h. */
#include "engine/engine_place.h"

#include "engine/captures.h"
#include "formats/onnx/onnx_graph.h"

#include <strata/detector.h>
#include <strata/machine.h>

#include <errno.h>
#include <string.h>

#define GAIN_MIN 0.05 /* of the time of a call: what a split must be quicker by */

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
				latencies[i * count + k] = (double)conf->devices[k].wake_ns;
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
		     const struct strata_place_request *ask, struct strata_arena *arena,
		     struct engine_placing *placing, struct strata_error *err)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	size_t op = 0;

	placing->device = strata_arena_array(arena, graph->node_count, sizeof(uint32_t));
	placing->prices_ns = strata_arena_array(arena, graph->node_count, sizeof(double));
	placing->phase = strata_arena_array(arena, graph->node_count, sizeof(*placing->phase));
	if (!placing->device || !placing->prices_ns || !placing->phase)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->node_count; i++)
		if (!inferred->nodes[i].folded) {
			const struct strata_op *priced = &ask->graph->ops[op];
			uint32_t device = plan->device[op];
			double factor = ask->corrections
						? strata_corrections_factor_op(ask->corrections,
									       priced, device)
						: 1;

			placing->device[i] = device;
			placing->phase[i] = priced->phase;
			placing->prices_ns[i] = (plan->finish_ns[op] - plan->start_ns[op]) / factor;
			op++;
		} else { /* it may be computed all the same, and costs what starting it does */
			placing->prices_ns[i] = ask->machine->devices[0].overhead_ns;
		}
	for (size_t i = 0; i < plan->result_count; i++)
		if (strcmp(plan->results[i].strategy, "single") == 0)
			placing->single_ns = ask->objective == STRATA_THROUGHPUT
						     ? plan->results[i].load_ns
						     : plan->results[i].latency_ns;
	placing->latency_ns = plan->latency_ns;
	placing->load_ns = plan->load_ns;
	placing->fallback = ask->machine->device_count > 1 && strcmp(plan->strategy, "single") == 0;
	placing->strategy = plan->strategy;
	placing->reasons = plan->reasons;
	placing->reason_count = plan->reason_count;
	return place_folded(model, inferred, placing->device, arena->memory, err);
}

/* What the model is, if it is to be looked into: phases that are not used are taken out again, so that nothing goes by them. */
static int detect(const struct engine_placing_conf *conf, struct strata_graph *graph,
		  struct strata_arena *arena, struct strata_findings *findings,
		  struct strata_error *err)
{
	return conf->mode == STRATA_MODE_BASIC
		       ? 0
		       : strata_graph_detect(graph, NULL, arena, findings, err);
}

static void forget_phases(struct strata_graph *graph)
{
	for (size_t i = 0; i < graph->op_count; i++)
		graph->ops[i].phase = STRATA_PHASE_FORWARD;
}

/*
 * What a call takes when its parts follow each other, as the engine runs them: the place level lets branches of a graph overlap, and so makes more of a split
 * than there is in it. Calls that overlap each other do not mind.
 */
static double chain_ns(const struct strata_place_request *ask, const struct strata_place_plan *plan)
{
	size_t count = ask->machine->device_count;
	double ns = 0;

	for (size_t i = 0; i < ask->graph->op_count; i++) {
		uint32_t device = plan->device[i], before = plan->device[i ? i - 1 : 0];

		ns += plan->finish_ns[i] - plan->start_ns[i];
		ns += device == before ? 0 : ask->machine->latency_ns[before * count + device];
	}
	return ns;
}

/* A split that gains nothing worth speaking of is the best single device instead. */
static int settle(const struct strata_place_request *ask, struct strata_arena *arena,
		  struct strata_place_plan *plan, struct strata_error *err)
{
	struct strata_place_plan single;

	if (ask->objective != STRATA_LATENCY || strcmp(plan->strategy, "single") == 0)
		return 0;
	int rc = strata_place_build("single", ask, arena, &single, err);

	if (rc == -ENOSPC) /* it fits on no device alone */
		return 0;
	if (rc)
		return rc;
	plan->latency_ns = chain_ns(ask, plan);
	if (plan->latency_ns > single.latency_ns * (1 - GAIN_MIN))
		*plan = single;
	return 0;
}

static int plan_graph(const struct engine_placing_conf *conf, struct strata_graph *graph,
		      struct strata_arena *arena, struct strata_place_request *ret_ask,
		      struct strata_place_plan *ret_plan, struct engine_placing *placing,
		      struct strata_error *err)
{
	struct strata_machine *machine = strata_arena_get(arena, sizeof(*machine));
	struct strata_findings findings = { 0 };
	struct strata_adaptive_choice choice;
	int rc = machine ? make_machine(conf, arena, machine, err) : strata_fail_memory(err);

	if (rc == 0)
		rc = detect(conf, graph, arena, &findings, err);
	if (rc)
		return rc;
	if (conf->cache_device != STRATA_NONE)
		strata_graph_put_kv(graph, conf->cache_device);
	const struct strata_place_auto how = { .adaptive.mode = conf->mode,
					       .workload = strata_workload_name(findings.workload),
					       .learned = conf->adaptive };

	*ret_ask = (struct strata_place_request){ .graph = graph,
						  .machine = machine,
						  .objective = conf->objective,
						  .corrections = conf->corrections };
	rc = strata_place_auto(ret_ask, &how, arena, ret_plan, &choice, err);
	if (rc)
		return rc;
	placing->features = choice.features;
	if (!(choice.features >> STRATA_FEATURE_SEMANTIC & 1) && findings.phase != STRATA_PHASE_FORWARD) {
		forget_phases(graph);
		rc = strata_place_auto(ret_ask, &how, arena, ret_plan, NULL, err);
	}
	return rc ? rc : settle(ret_ask, arena, ret_plan, err);
}

int engine_placing_make(const struct engine_placing_conf *conf, const struct engine_model *model,
			const struct engine_value *inputs, struct strata_arena *arena,
			struct engine_placing *ret_placing, struct strata_error *err)
{
	struct strata_onnx_metrics metrics;
	struct engine_placing placing = { 0 };
	struct strata_place_request ask;
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
		rc = plan_graph(conf, graph, arena, &ask, &plan, &placing, err);
	if (rc == 0)
		rc = read_plan(model, &inferred, &plan, &ask, arena, &placing, err);
	strata_graph_free(graph);
	if (rc)
		return rc;
	placing.flops = metrics.flops;
	*ret_placing = placing;
	return 0;
}
