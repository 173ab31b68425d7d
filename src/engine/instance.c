/* Models that are ready to run: see instance.h. */
#include "engine/instance.h"

#include "engine/per_member.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

int engine_instance_open(struct engine_instance *instance, const char *path,
			 const struct engine_instance_conf *conf, struct strata_error *err)
{
	*instance = (struct engine_instance){ .conf = *conf };
	int rc = engine_model_open(path, conf->heap->memory, &instance->model, err);

	if (rc)
		return rc;
	if (conf->per_member_input)
		engine_model_per_member(instance->model, conf->per_member_input);
	strata_arena_init(&instance->arena, conf->heap->memory, 0);
	if (conf->features != ENGINE_FEATURES_NONE)
		rc = engine_features_edit(instance->model, conf->features_of, conf->features, err);
	if (rc) {
		engine_instance_close(instance);
		return rc;
	}
	rc = residence_plan(&instance->residence, instance->model, conf->heap, conf->budget_bytes,
			    &instance->arena, err);
	if (rc)
		engine_instance_close(instance);
	return rc;
}

/* ---- on a device's thread ---- */

struct errand {
	struct engine_instance *instance;
	size_t subgraph;
};

static int do_compile(void *arg, struct strata_error *err)
{
	const struct errand *errand = arg;
	struct engine_instance *instance = errand->instance;
	const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[errand->subgraph];
	const struct engine_compile what = {
		.model = instance->model,
		.subgraph = subgraph,
		.device = &instance->conf.devices[subgraph->device],
		.weights_stay = instance->residence.may_pack &&
				!instance->residence.layers[errand->subgraph].stream,
		.experimental = instance->conf.experimental,
	};

	return instance->conf.backend->compile(instance->conf.backend_conf, &what,
					       &instance->programs[errand->subgraph], err);
}

static int do_close(void *arg, struct strata_error *err)
{
	const struct errand *errand = arg;

	(void)err;
	errand->instance->conf.backend->close(errand->instance->programs[errand->subgraph]);
	return 0;
}

static int on_device(struct engine_instance *instance, size_t subgraph,
		     int (*run)(void *arg, struct strata_error *err), struct strata_error *err)
{
	struct errand errand = { instance, subgraph };
	struct engine_work work = { .run = run, .arg = &errand };
	struct engine_device *device =
		&instance->conf.devices[instance->cuts.subgraphs[subgraph].device];

	engine_device_give(device, &work);
	engine_device_wait(device, &work);
	if (work.rc && err)
		*err = work.err;
	return work.rc;
}

void engine_instance_close(struct engine_instance *instance)
{
	if (!instance->model)
		return;
	for (size_t i = 0; instance->programs && i < instance->cuts.subgraph_count; i++)
		if (instance->programs[i])
			on_device(instance, i, do_close, NULL);
	residence_close(&instance->residence);
	strata_arena_fini(&instance->arena);
	engine_model_close(instance->model);
	*instance = (struct engine_instance){ 0 };
}

/* ---- preparing ---- */

static int make_room(struct engine_instance *instance, struct strata_error *err)
{
	struct strata_arena *arena = &instance->arena;
	size_t count = instance->cuts.subgraph_count;

	instance->programs = strata_arena_array(arena, count, sizeof(void *));
	instance->observed = strata_arena_array(arena, count, sizeof(*instance->observed));
	instance->weights = strata_arena_array(arena, count, sizeof(void *));
	instance->parts = strata_arena_array(arena, count, sizeof(*instance->parts));
	if (!instance->programs || !instance->observed || !instance->weights || !instance->parts)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[i];

		instance->weights[i] = strata_arena_array(arena, subgraph->weight_count,
							  sizeof(struct engine_value));
		if (!instance->weights[i])
			return strata_fail_memory(err);
		if (i == 0 || instance->parts[instance->part_count - 1].device != subgraph->device)
			instance->parts[instance->part_count++] =
				(struct engine_part){ i, i, subgraph->device };
		instance->parts[instance->part_count - 1].past = i + 1;
	}
	return 0;
}

/* Where values come from: what is read elsewhere has to get there. */
static int note_makers(struct engine_instance *instance, struct strata_error *err)
{
	const struct engine_cuts *cuts = &instance->cuts;
	size_t count = cuts->value_count + instance->model->input_count;

	instance->made_on = strata_arena_array(&instance->arena, count, sizeof(uint32_t));
	if (!instance->made_on)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		instance->made_on[i] = UINT32_MAX;
	for (size_t i = 0; i < cuts->subgraph_count; i++) {
		const struct engine_subgraph *subgraph = &cuts->subgraphs[i];

		for (size_t k = 0; k < subgraph->output_count; k++)
			instance->made_on[subgraph->output_values[k]] = subgraph->device;
		for (size_t k = 0; k < subgraph->input_count; k++)
			if (instance->made_on[subgraph->input_values[k]] == UINT32_MAX)
				instance->made_on[subgraph->input_values[k]] = subgraph->device;
	}
	return 0;
}

int engine_instance_prepare(struct engine_instance *instance, const uint32_t *device_of_node,
			    struct strata_error *err)
{
	const struct engine_cut_conf conf = {
		.device = device_of_node,
		.layer_bytes = residence_layer_bytes(&instance->residence),
		.weighs = instance->residence.weighs,
	};
	int rc = engine_cut(instance->model, &conf, &instance->arena, &instance->cuts, err);

	if (rc == 0)
		rc = residence_open(&instance->residence, &instance->cuts,
				    instance->conf.device_count, &instance->arena, err);
	if (rc == 0)
		rc = make_room(instance, err);
	if (rc == 0)
		rc = note_makers(instance, err);
	for (size_t i = 0; rc == 0 && i < instance->cuts.subgraph_count; i++)
		rc = on_device(instance, i, do_compile, err);
	instance->prepared = rc == 0;
	return rc;
}

/* ---- calls ---- */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A call under way. */
struct journey {
	struct engine_instance *instance;
	const struct engine_call *call;
	struct engine_value *values; /* by number */
	struct engine_value *inputs, *outputs; /* room for the widest subgraph */
	struct engine_work *works;             /* of each part */
	size_t part;
	int64_t given_ns; /* when the part was handed to its device */
	struct travel *all;
};

/* All calls of one run: who waits for them. */
struct travel {
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	size_t under_way;
	int rc;
	struct strata_error err;
	_Atomic bool failed; /* others need not go on */
};

struct watcher {
	struct engine_instance *instance;
	uint32_t device;
};

static void watch_node(void *context, const struct onnx_node *node, int64_t begin_ns, int64_t end_ns)
{
	const struct watcher *watcher = context;

	watcher->instance->watch(watcher->instance->watch_context, watcher->device, node, begin_ns,
				 end_ns);
}

/* times: when it began to wait for weights, when they were there, when it was computed. */
static void note_time(struct engine_instance *instance, size_t index, const int64_t times[3])
{
	const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[index];
	struct engine_observed *observed = &instance->observed[index];
	const struct strata_trace_arg args[] = { strata_trace_int("ops", (int64_t)subgraph->node_count) };
	int64_t took_ns = times[2] - times[1];

	if (observed->calls == 0 || took_ns < observed->least_ns)
		observed->least_ns = took_ns;
	observed->calls++;
	observed->last_ns = took_ns;
	observed->total_ns += took_ns;
	observed->wait_ns += times[1] - times[0];
	strata_trace_slice(instance->conf.devices[subgraph->device].lane,
			   (struct strata_trace_event){ .copy_name = true,
							.time_ns = times[1],
							.end_ns = times[2],
							.name = subgraph->nodes[0]->name,
							.flow = instance->conf.devices[subgraph->device].flow,
							.args = args,
							.arg_count = 1 });
}

/* Devices that are sets of cores share their memory: nothing is copied, but the caches of the others have it. */
static void count_transfers(struct engine_instance *instance,
			    const struct engine_subgraph *subgraph,
			    const struct engine_value *inputs)
{
	for (size_t i = 0; i < subgraph->input_count; i++)
		if (instance->made_on[subgraph->input_values[i]] != subgraph->device) {
			atomic_fetch_add(&instance->transfers, 1);
			atomic_fetch_add(&instance->transfer_bytes,
					 (int64_t)engine_value_bytes(&inputs[i]));
		}
}

static int run_subgraph(struct journey *journey, size_t index, struct strata_error *err)
{
	struct engine_instance *instance = journey->instance;
	const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[index];
	struct engine_value *weights = instance->weights[index];
	struct watcher watcher = { instance, subgraph->device };
	const struct engine_watch watch = { .node = instance->watch ? watch_node : NULL,
					    .context = &watcher,
					    .stop = instance->conf.stop };
	int64_t begin_ns = now_ns();
	int rc = residence_begin(&instance->residence, subgraph, index, weights, err);
	int64_t ready_ns = now_ns();

	for (size_t i = 0; i < subgraph->input_count; i++)
		journey->inputs[i] = journey->values[subgraph->input_values[i]];
	count_transfers(instance, subgraph, journey->inputs);
	if (rc == 0)
		rc = instance->conf.backend->run(instance->programs[index], journey->inputs, weights,
						 &watch, journey->outputs, err);
	for (size_t i = 0; rc == 0 && i < subgraph->output_count; i++)
		journey->values[subgraph->output_values[i]] = journey->outputs[i];
	if (rc == 0)
		note_time(instance, index, (int64_t[]){ begin_ns, ready_ns, now_ns() });
	int end_rc = residence_end(&instance->residence, subgraph, index, weights,
				   rc == 0 ? err : NULL);

	for (size_t i = 0; i < subgraph->drop_count; i++)
		engine_value_drop(&journey->values[subgraph->drops[i]]);
	return rc ? rc : end_rc;
}

/* The model's outputs out of the values; sixteen-bit floats are rounded to what the model declares. */
static int take_outputs(struct journey *journey, struct strata_error *err)
{
	struct engine_instance *instance = journey->instance;
	const struct onnx_graph *graph = &instance->model->onnx.graph;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < graph->output_count; i++) {
		uint32_t number = instance->cuts.output_values[i];
		const struct onnx_type *type = &graph->outputs[i].type;
		const struct engine_value *value =
			number < ENGINE_WEIGHT ? &journey->values[number]
					       : &instance->residence.kept[number - ENGINE_WEIGHT];
		bool narrows = !instance->conf.wide && value->kind == ONNX_TENSOR &&
			       value->dtype == ONNX_FLOAT &&
			       type->kind == ONNX_TENSOR &&
			       (type->dtype == ONNX_FLOAT16 || type->dtype == ONNX_BFLOAT16);

		if (value->kind == ONNX_UNKNOWN)
			rc = strata_fail(err, -ENOTSUP,
					 "output '%.64s' is a weight that a budget keeps away",
					 graph->outputs[i].name);
		else if (narrows)
			rc = engine_value_cast(instance->conf.heap, value, type->dtype,
					       &journey->call->outputs[i], err);
		else
			journey->call->outputs[i] = engine_value_share(value);
	}
	return rc;
}

static void arrive(struct travel *all, int rc, const struct strata_error *err)
{
	pthread_mutex_lock(&all->lock);
	if (rc && !all->rc) {
		all->rc = rc;
		all->err = *err;
		atomic_store(&all->failed, true);
	}
	all->under_way--;
	pthread_cond_signal(&all->arrived);
	pthread_mutex_unlock(&all->lock);
}

/* One part on its device; then the next is handed on, or the call is over. */
static int run_part(void *arg, struct strata_error *err)
{
	struct journey *journey = arg;
	struct engine_instance *instance = journey->instance;
	const struct engine_part *part = &instance->parts[journey->part];
	int rc = atomic_load(&journey->all->failed) ? strata_fail(err, -ECANCELED, "stopped") : 0;

	if (journey->part > 0)
		atomic_fetch_add(&instance->transfer_ns, now_ns() - journey->given_ns);
	for (size_t i = part->first; rc == 0 && i < part->past; i++)
		rc = run_subgraph(journey, i, err);
	if (rc == 0 && ++journey->part < instance->part_count) {
		struct engine_work *next = &journey->works[journey->part];

		journey->given_ns = now_ns();
		engine_device_give(&instance->conf.devices[instance->parts[journey->part].device],
				   next);
		return 0;
	}
	if (rc == 0)
		rc = take_outputs(journey, err);
	arrive(journey->all, rc, err);
	return rc;
}

static size_t widest(const struct engine_instance *instance, bool outputs)
{
	size_t most = 1;

	for (size_t i = 0; i < instance->cuts.subgraph_count; i++) {
		const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[i];
		size_t count = outputs ? subgraph->output_count : subgraph->input_count;

		most = count > most ? count : most;
	}
	return most;
}

static int journey_init(struct journey *journey, struct engine_instance *instance,
			const struct engine_call *call, struct travel *all,
			struct strata_arena *arena, struct strata_error *err)
{
	size_t input_count = instance->model->input_count;
	int rc = 0;

	*journey = (struct journey){ .instance = instance, .call = call, .all = all };
	journey->values = strata_arena_array(arena, instance->cuts.value_count + input_count,
					     sizeof(struct engine_value));
	journey->inputs =
		strata_arena_array(arena, widest(instance, false), sizeof(struct engine_value));
	journey->outputs =
		strata_arena_array(arena, widest(instance, true), sizeof(struct engine_value));
	journey->works = strata_arena_array(arena, instance->part_count, sizeof(*journey->works));
	if (!journey->values || !journey->inputs || !journey->outputs || !journey->works)
		return strata_fail_memory(err);
	for (size_t i = 0; i < instance->part_count; i++)
		journey->works[i] = (struct engine_work){ .run = run_part, .arg = journey };
	for (size_t i = 0; rc == 0 && i < input_count; i++) {
		const struct engine_value *value = &call->inputs[i];

		if (value->kind == ONNX_TENSOR &&
		    (value->dtype == ONNX_FLOAT16 || value->dtype == ONNX_BFLOAT16))
			rc = engine_value_cast(instance->conf.heap, value, ONNX_FLOAT,
					       &journey->values[i], err);
		else
			journey->values[i] = engine_value_share(value);
	}
	return rc;
}

static void journey_fini(struct journey *journey)
{
	size_t count = journey->instance->cuts.value_count + journey->instance->model->input_count;

	for (size_t i = 0; journey->values && i < count; i++)
		engine_value_drop(&journey->values[i]);
}

static void start_all(struct engine_instance *instance, struct journey *journeys, size_t count,
		      struct travel *all)
{
	all->under_way = count;
	for (size_t i = 0; i < count; i++)
		if (instance->part_count == 0) { /* a model without nodes */
			struct strata_error err = { 0 };

			arrive(all, take_outputs(&journeys[i], &err), &err);
		} else {
			engine_device_give(&instance->conf.devices[instance->parts[0].device],
					   &journeys[i].works[0]);
		}
	pthread_mutex_lock(&all->lock);
	while (all->under_way)
		pthread_cond_wait(&all->arrived, &all->lock);
	pthread_mutex_unlock(&all->lock);
}

/* A work is its device's until it is marked as done, which comes after the call has arrived. */
static void settle(struct engine_instance *instance, struct journey *journeys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < instance->part_count && journeys[i].works; k++)
			if (k <= journeys[i].part)
				engine_device_wait(
					&instance->conf.devices[instance->parts[k].device],
					&journeys[i].works[k]);
}

int engine_instance_run(struct engine_instance *instance, const struct engine_call *calls,
			size_t count, struct strata_error *err)
{
	struct travel all = { .lock = PTHREAD_MUTEX_INITIALIZER,
			      .arrived = PTHREAD_COND_INITIALIZER };
	size_t output_count = instance->model->onnx.graph.output_count;
	struct strata_arena arena;
	size_t made = 0;
	int rc = 0;

	assert(instance->prepared);
	strata_arena_init(&arena, instance->conf.heap->memory, 0);
	struct journey *journeys = strata_arena_array(&arena, count, sizeof(*journeys));

	if (!journeys)
		rc = strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		memset(calls[i].outputs, 0, output_count * sizeof(*calls[i].outputs));
		rc = journey_init(&journeys[i], instance, &calls[i], &all, &arena, err);
		made++;
	}
	if (rc == 0) {
		start_all(instance, journeys, count, &all);
		settle(instance, journeys, count);
		rc = all.rc;
		if (rc && err)
			*err = all.err;
	}
	for (size_t i = 0; i < made; i++) {
		journey_fini(&journeys[i]);
		for (size_t k = 0; rc && k < output_count; k++)
			engine_value_drop(&calls[i].outputs[k]);
	}
	strata_arena_fini(&arena);
	return rc;
}
