/* Graphs that run by a condition, again and again, or for each part of a tensor: If, Loop, Scan, SequenceMap. */
#include "engine/native/native.h"

#include "engine/native/body.h"
#include "engine/native/slices.h"

#include <errno.h>
#include <string.h>

/* ---- what all of them need ---- */

/* Values in a row that grows; its room comes from the heap. */
struct list {
	struct engine_heap *heap;
	struct engine_value *items;
	size_t count, room;
};

static int list_add(struct list *list, struct engine_value value, struct strata_error *err)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 8;
		struct engine_value *items = engine_heap_get(list->heap, room * sizeof(*items));

		if (!items) {
			engine_value_drop(&value);
			return strata_fail_memory(err);
		}
		if (list->count)
			memcpy(items, list->items, list->count * sizeof(*items));
		engine_heap_put(list->heap, list->items, list->room * sizeof(*items));
		list->items = items;
		list->room = room;
	}
	list->items[list->count++] = value;
	return 0;
}

static void list_fini(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		engine_value_drop(&list->items[i]);
	engine_heap_put(list->heap, list->items, list->room * sizeof(*list->items));
}

static void drop_all(struct engine_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		engine_value_drop(&values[i]);
}

static bool is_true(const struct engine_value *value)
{
	return value->kind == ONNX_TENSOR && value->dtype == ONNX_BOOL &&
	       engine_value_elements(value) >= 1 && *(const uint8_t *)value->data;
}

/* What never ran has no results to take a shape from: the graph's declaration stands for it, with 0 where it does not say. */
static int empty_stack(struct native_call *call, const struct native_body *body, size_t output,
		       size_t index, struct strata_error *err)
{
	const struct onnx_type *type = &body->graph->outputs[output].type;
	int64_t dims[STRATA_TENSOR_RANK_MAX] = { 0 };
	int dtype = type->dtype == ONNX_FLOAT16 || type->dtype == ONNX_BFLOAT16 ? ONNX_FLOAT
										: type->dtype;
	size_t rank = type->ranked ? type->rank + 1 : 1;

	if (type->kind != ONNX_TENSOR || rank > STRATA_TENSOR_RANK_MAX)
		return native_refuse(call, err, "a result that was never made has no type");
	for (size_t i = 1; i < rank; i++)
		dims[i] = type->dims[i - 1] > 0 ? type->dims[i - 1] : 0;
	return native_make(call, index, dtype, rank, dims, err);
}

/* ---- If ---- */

static int run_if(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *condition;
	int rc = native_typed(call, 0, ONNX_BOOL, &condition, err);

	if (rc)
		return rc;
	if (engine_value_elements(condition) != 1)
		return native_refuse(call, err, "the condition is not a single one");
	struct native_body *body =
		native_body_of(call, is_true(condition) ? "then_branch" : "else_branch");

	if (!body)
		return native_refuse(call, err, "it has no graph for that condition");
	return native_body_run(call, body, NULL, 0, call->outputs, call->output_count, err);
}

/* ---- Loop ---- */

struct loop {
	struct native_body *body;
	int64_t most; /* rounds; -1: no limit */
	bool goes_on;
	size_t carried, scanned;      /* values from round to round, and results of each round */
	struct engine_value *inputs;  /* round, condition, carried */
	struct engine_value *outputs; /* condition, carried, scanned */
	struct list *stacks;          /* one for each scanned */
};

static int loop_read(struct native_call *call, struct loop *loop, struct strata_error *err)
{
	const struct engine_value *most = native_input(call, 0), *condition = native_input(call, 1);
	size_t count = 0;
	int rc = 0;

	loop->body = native_body_of(call, "body");
	loop->most = -1;
	if (!loop->body)
		return native_refuse(call, err, "it has no graph");
	if (most)
		rc = native_input_ints(call, 0, &loop->most, 1, &count, err);
	if (rc == 0 && most && (count != 1 || loop->most < 0))
		loop->most = 0;
	if (rc == 0 && condition)
		rc = native_typed(call, 1, ONNX_BOOL, &condition, err);
	if (rc)
		return rc;
	loop->goes_on = !condition || is_true(condition);
	loop->carried = call->input_count > 2 ? call->input_count - 2 : 0;
	if (native_body_inputs(loop->body) != loop->carried + 2 ||
	    native_body_outputs(loop->body) < loop->carried + 1 ||
	    native_body_outputs(loop->body) - 1 < call->output_count)
		return native_refuse(call, err, "its graph has %zu inputs and %zu outputs",
				     native_body_inputs(loop->body),
				     native_body_outputs(loop->body));
	loop->scanned = native_body_outputs(loop->body) - 1 - loop->carried;
	return 0;
}

static int loop_round(struct native_call *call, struct loop *loop, int64_t round,
		      struct strata_error *err)
{
	struct engine_value *inputs = loop->inputs, *outputs = loop->outputs;
	size_t output_count = 1 + loop->carried + loop->scanned;
	int rc = engine_value_make(call->heap, ONNX_INT64, 0, NULL, &inputs[0], err);

	if (rc)
		return rc;
	*(int64_t *)inputs[0].data = round;
	rc = engine_value_make(call->heap, ONNX_BOOL, 0, NULL, &inputs[1], err);
	if (rc == 0) {
		*(uint8_t *)inputs[1].data = 1;
		rc = native_body_run(call, loop->body, inputs, 2 + loop->carried, outputs,
				     output_count, err);
	}
	drop_all(inputs, 2);
	if (rc)
		return rc;
	loop->goes_on = is_true(&outputs[0]);
	for (size_t i = 0; i < loop->carried; i++) {
		engine_value_drop(&inputs[2 + i]);
		inputs[2 + i] = outputs[1 + i];
		outputs[1 + i] = (struct engine_value){ 0 };
	}
	for (size_t i = 0; rc == 0 && i < loop->scanned; i++) {
		struct engine_value *made = &outputs[1 + loop->carried + i];

		rc = list_add(&loop->stacks[i], *made, err);
		*made = (struct engine_value){ 0 };
	}
	drop_all(outputs, output_count);
	return rc;
}

static int loop_results(struct native_call *call, struct loop *loop, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < loop->carried && i < call->output_count; i++) {
		call->outputs[i] = loop->inputs[2 + i];
		loop->inputs[2 + i] = (struct engine_value){ 0 };
	}
	for (size_t i = 0; rc == 0 && i < loop->scanned; i++) {
		size_t output = loop->carried + i;

		if (!native_wants(call, output))
			continue;
		rc = loop->stacks[i].count
			     ? slice_stack(call->heap, loop->stacks[i].items, loop->stacks[i].count,
					   0, false, &call->outputs[output], err)
			     : empty_stack(call, loop->body, 1 + output, output, err);
	}
	return rc;
}

static int run_loop(struct native_call *call, struct strata_error *err)
{
	struct loop loop = { 0 };
	int rc = loop_read(call, &loop, err);

	if (rc)
		return rc;
	size_t values = 2 + loop.carried + 1 + loop.carried + loop.scanned;
	size_t bytes = values * sizeof(struct engine_value) + loop.scanned * sizeof(struct list);
	char *room = native_scratch(call, bytes, err);

	if (!room)
		return -ENOMEM;
	memset(room, 0, bytes);
	loop.inputs = (struct engine_value *)room;
	loop.outputs = loop.inputs + 2 + loop.carried;
	loop.stacks = (struct list *)(loop.inputs + values);
	for (size_t i = 0; i < loop.scanned; i++)
		loop.stacks[i].heap = call->heap;
	for (size_t i = 0; rc == 0 && i < loop.carried; i++)
		if (call->inputs[2 + i])
			loop.inputs[2 + i] = engine_value_share(call->inputs[2 + i]);
		else
			rc = native_refuse(call, err, "input %zu is missing", i + 3);
	for (int64_t round = 0; rc == 0 && loop.goes_on && (loop.most < 0 || round < loop.most);
	     round++) {
		rc = native_stopped(call, err);
		if (rc == 0)
			rc = loop_round(call, &loop, round, err);
	}
	if (rc == 0)
		rc = loop_results(call, &loop, err);
	drop_all(loop.inputs, 2 + loop.carried);
	drop_all(loop.outputs, 1 + loop.carried + loop.scanned);
	for (size_t i = 0; i < loop.scanned; i++)
		list_fini(&loop.stacks[i]);
	engine_heap_put(call->heap, room, bytes);
	return rc;
}

/* ---- Scan ---- */

struct scan {
	struct native_body *body;
	const struct engine_value *const
		*states_in; /* of the node, before any batch is taken apart */
	const struct engine_value *const *scans_in;
	size_t states, scans, stacked; /* state values, scanned inputs, stacked outputs */
	int64_t length;
	size_t shift; /* 1 where a batch dimension is in front (opset 8) */
	struct engine_value *inputs, *outputs;
	struct list *stacks;
};

static int64_t listed(struct native_call *call, const char *name, size_t index)
{
	size_t count;
	const int64_t *values = native_ints(call, name, &count);

	return values && index < count ? values[index] : 0;
}

static int scan_axis(struct native_call *call, const char *name, size_t index, size_t rank,
		     size_t *ret_axis, struct strata_error *err)
{
	return native_axis(call, listed(call, name, index), rank, ret_axis, err);
}

/* One step: parts of the scanned inputs go in, state goes on, results are kept. */
static int scan_step(struct native_call *call, struct scan *scan,
		     const struct engine_value *sources, int64_t step, struct strata_error *err)
{
	size_t output_count = scan->states + scan->stacked, axis = 0, made = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < scan->scans; i++) {
		bool backwards =
			listed(call, scan->shift ? "directions" : "scan_input_directions", i);

		rc = scan_axis(call, "scan_input_axes", i, sources[i].rank, &axis, err);
		if (rc == 0)
			rc = slice_take(call->heap, &sources[i], axis,
					backwards ? scan->length - 1 - step : step, 1, true,
					&scan->inputs[scan->states + i], err);
		made += rc == 0;
	}
	if (rc == 0)
		rc = native_body_run(call, scan->body, scan->inputs, scan->states + scan->scans,
				     scan->outputs, output_count, err);
	drop_all(scan->inputs + scan->states, made);
	if (rc)
		return rc;
	for (size_t i = 0; i < scan->states; i++) {
		engine_value_drop(&scan->inputs[i]);
		scan->inputs[i] = scan->outputs[i];
		scan->outputs[i] = (struct engine_value){ 0 };
	}
	for (size_t i = 0; rc == 0 && i < scan->stacked; i++) {
		rc = list_add(&scan->stacks[i], scan->outputs[scan->states + i], err);
		scan->outputs[scan->states + i] = (struct engine_value){ 0 };
	}
	drop_all(scan->outputs, output_count);
	return rc;
}

/* All steps for one member (or the only one). Results: states, then stacks, into ret (which has room). */
static int scan_member(struct native_call *call, struct scan *scan,
		       const struct engine_value *states, const struct engine_value *sources,
		       struct engine_value *ret, struct strata_error *err)
{
	size_t axis = 0;
	int rc = 0;

	for (size_t i = 0; i < scan->states; i++)
		scan->inputs[i] = engine_value_share(&states[i]);
	for (int64_t step = 0; rc == 0 && step < scan->length; step++) {
		rc = native_stopped(call, err);
		if (rc == 0)
			rc = scan_step(call, scan, sources, step, err);
	}
	for (size_t i = 0; rc == 0 && i < scan->stacked; i++) {
		struct list *stack = &scan->stacks[i];

		if (stack->count == 0)
			rc = native_lacks(call, err, "a scan over nothing is not built");
		else
			rc = scan_axis(call, "scan_output_axes", i, stack->items[0].rank + 1, &axis,
				       err);
		if (rc == 0)
			rc = slice_stack(call->heap, stack->items, stack->count, axis,
					 listed(call, "scan_output_directions", i),
					 &ret[scan->states + i], err);
		drop_all(stack->items, stack->count);
		stack->count = 0;
	}
	for (size_t i = 0; i < scan->states; i++)
		if (rc == 0) {
			ret[i] = scan->inputs[i];
			scan->inputs[i] = (struct engine_value){ 0 };
		}
	drop_all(scan->inputs, scan->states);
	return rc;
}

/* Before opset 9 there is a batch in front: each member is scanned by itself, and the results are stacked. */
static int scan_batch(struct native_call *call, struct scan *scan, struct engine_value *parts,
		      struct list *members, struct strata_error *err)
{
	size_t ins = scan->states + scan->scans, outs = scan->states + scan->stacked;
	int64_t batch = scan->scans_in[0]->rank ? scan->scans_in[0]->dims[0] : 0;
	int rc = batch > 0 ? 0 : native_refuse(call, err, "the batch is empty");

	for (int64_t b = 0; rc == 0 && b < batch; b++) {
		size_t taken = 0;

		for (size_t i = 0; rc == 0 && i < ins; i++) {
			const struct engine_value *from =
				i < scan->states ? scan->states_in[i]
						 : scan->scans_in[i - scan->states];

			if (from->rank == 0 || from->dims[0] != batch)
				rc = native_refuse(call, err, "inputs have unlike batches");
			else
				rc = slice_take(call->heap, from, 0, b, 1, true, &parts[i], err);
			taken += rc == 0;
		}
		if (rc == 0)
			rc = scan_member(call, scan, parts, parts + scan->states, parts + ins, err);
		for (size_t i = 0; rc == 0 && i < outs; i++) {
			rc = list_add(&members[i], parts[ins + i], err);
			parts[ins + i] = (struct engine_value){ 0 };
		}
		drop_all(parts, taken);
		drop_all(parts + ins, outs);
	}
	for (size_t i = 0; rc == 0 && i < outs; i++)
		if (native_wants(call, i))
			rc = slice_stack(call->heap, members[i].items, members[i].count, 0, false,
					 &call->outputs[i], err);
	return rc;
}

static int scan_read(struct native_call *call, struct scan *scan, struct strata_error *err)
{
	size_t skipped = call->opset < 9, rank_axis = 0;
	int64_t scans = native_int(call, "num_scan_inputs", 0);

	scan->body = native_body_of(call, "body");
	scan->shift = skipped;
	if (!scan->body || scans < 1 || (size_t)scans + skipped > call->input_count)
		return native_refuse(call, err, "num_scan_inputs is %lld", (long long)scans);
	if (skipped && call->inputs[0])
		return native_lacks(call, err, "lengths of sequences are not built");
	for (size_t i = skipped; i < call->input_count; i++)
		if (!call->inputs[i] || call->inputs[i]->kind != ONNX_TENSOR)
			return native_refuse(call, err, "input %zu is missing", i + 1);
	scan->scans = (size_t)scans;
	scan->states = call->input_count - skipped - scan->scans;
	scan->states_in = call->inputs + skipped;
	scan->scans_in = call->inputs + skipped + scan->states;
	if (native_body_inputs(scan->body) != scan->states + scan->scans ||
	    native_body_outputs(scan->body) != call->output_count ||
	    call->output_count < scan->states)
		return native_refuse(call, err, "its graph has %zu inputs and %zu outputs",
				     native_body_inputs(scan->body),
				     native_body_outputs(scan->body));
	scan->stacked = call->output_count - scan->states;
	for (size_t i = 0; i < scan->scans; i++) {
		const struct engine_value *x = scan->scans_in[i];
		int rc = x->rank < skipped ? native_refuse(call, err, "an input is a single number")
					   : scan_axis(call, "scan_input_axes", i,
						       x->rank - skipped, &rank_axis, err);

		if (rc)
			return rc;
		if (i > 0 && x->dims[rank_axis + skipped] != scan->length)
			return native_refuse(call, err, "scanned inputs have unlike lengths");
		scan->length = x->dims[rank_axis + skipped];
	}
	return 0;
}

/* Room: inputs and outputs of the graph, parts of one member, stacks of steps and of members. */
static int run_scan(struct native_call *call, struct strata_error *err)
{
	struct scan scan = { 0 };
	int rc = scan_read(call, &scan, err);

	if (rc)
		return rc;
	size_t ins = scan.states + scan.scans, outs = scan.states + scan.stacked;
	size_t values = 2 * (ins + outs), lists = scan.stacked + outs;
	size_t bytes = values * sizeof(struct engine_value) + lists * sizeof(struct list);
	char *room = native_scratch(call, bytes, err);

	if (!room)
		return -ENOMEM;
	memset(room, 0, bytes);
	scan.inputs = (struct engine_value *)room;
	scan.outputs = scan.inputs + ins;
	struct engine_value *parts = scan.outputs + outs;

	scan.stacks = (struct list *)(scan.inputs + values);
	for (size_t i = 0; i < lists; i++)
		scan.stacks[i].heap = call->heap;
	if (scan.shift) {
		rc = scan_batch(call, &scan, parts, scan.stacks + scan.stacked, err);
	} else {
		for (size_t i = 0; i < ins; i++)
			parts[i] = *call->inputs[i]; /* borrowed */
		rc = scan_member(call, &scan, parts, parts + scan.states, call->outputs, err);
	}
	for (size_t i = 0; i < lists; i++)
		list_fini(&scan.stacks[i]);
	engine_heap_put(call->heap, room, bytes);
	return rc;
}

/* ---- SequenceMap ---- */

/* The inputs of round i: items of sequences, tensors as they are. */
static int map_round(struct native_call *call, struct native_body *body, size_t index,
		     struct engine_value *room, struct list *lists, struct strata_error *err)
{
	struct engine_value *outputs = room + call->input_count;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->input_count; i++) {
		const struct engine_value *input = call->inputs[i];

		if (input->kind == ONNX_SEQUENCE && index >= input->item_count)
			rc = native_refuse(call, err, "sequences have unlike lengths");
		else
			room[i] = input->kind == ONNX_SEQUENCE ? input->items[index] : *input;
	}
	if (rc == 0)
		rc = native_body_run(call, body, room, call->input_count, outputs,
				     call->output_count, err);
	for (size_t i = 0; rc == 0 && i < call->output_count; i++) {
		rc = list_add(&lists[i], outputs[i], err);
		outputs[i] = (struct engine_value){ 0 };
	}
	return rc;
}

static int run_sequence_map(struct native_call *call, struct strata_error *err)
{
	struct native_body *body = native_body_of(call, "body");
	size_t values = call->input_count + call->output_count;
	size_t bytes = values * sizeof(struct engine_value) +
		       call->output_count * sizeof(struct list);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->input_count; i++)
		if (!call->inputs[i])
			rc = native_refuse(call, err, "input %zu is missing", i + 1);
	if (rc == 0 && (!body || call->input_count == 0 || call->inputs[0]->kind != ONNX_SEQUENCE))
		rc = native_refuse(call, err, "input 1 is not a sequence, or there is no graph");
	if (rc)
		return rc;
	struct engine_value *room = native_scratch(call, bytes, err);

	if (!room)
		return -ENOMEM;
	memset(room, 0, bytes);
	struct list *lists = (struct list *)(room + values);

	for (size_t i = 0; i < call->output_count; i++)
		lists[i].heap = call->heap;
	for (size_t i = 0; rc == 0 && i < call->inputs[0]->item_count; i++) {
		rc = native_stopped(call, err);
		if (rc == 0)
			rc = map_round(call, body, i, room, lists, err);
	}
	for (size_t i = 0; rc == 0 && i < call->output_count; i++)
		rc = engine_value_list(call->heap, ONNX_SEQUENCE,
				       lists[i].count ? lists[i].items[0].dtype : ONNX_NONE,
				       lists[i].items, lists[i].count, &call->outputs[i], err);
	drop_all(room + call->input_count, call->output_count);
	for (size_t i = 0; i < call->output_count; i++)
		list_fini(&lists[i]);
	engine_heap_put(call->heap, room, bytes);
	return rc;
}

static const struct native_op ops[] = {
	{ "If", run_if },
	{ "Loop", run_loop },
	{ "Scan", run_scan },
	{ "SequenceMap", run_sequence_map },
};

const struct native_family native_family_control = { "graphs in nodes", "", ops,
						     sizeof(ops) / sizeof(ops[0]) };
