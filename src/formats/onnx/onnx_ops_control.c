/*
 * Operators that hold graphs. A branch is inferred with the values around it. The body of a loop is inferred with what it carries from
 * round to round; when a round changes a shape, that dimension is not known and the body is inferred again, until nothing changes.
 */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

enum { ROUNDS_MAX = 4 };

static struct onnx_value *make_values(struct onnx_call *call, size_t count)
{
	struct onnx_value *values = strata_arena_array(onnx_arena(call), count, sizeof(*values));

	for (size_t i = 0; values && i < count; i++)
		values[i].length = -1;
	return values;
}

/* A result that leaves a body: a type, and no longer the constant it may have been inside. */
static void leave(struct onnx_value *to, const struct onnx_value *from)
{
	*to = (struct onnx_value){ .length = -1 };
	onnx_set_like(to, from);
}

/* ---- If ---- */

static int shape_if(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_graph *graphs[] = { onnx_call_graph(call, "then_branch"),
					      onnx_call_graph(call, "else_branch") };
	const struct onnx_value *choice = onnx_input(call, 0);
	struct onnx_value *outputs = make_values(call, call->output_count);
	double flops, most = 0;
	bool first = true;

	if (!outputs)
		return strata_fail_memory(err);
	for (size_t g = 0; g < 2; g++) {
		bool known = choice && choice->integers && !choice->open;

		if (!graphs[g] || (known && (choice->integers[0] != 0) == (g == 1)))
			continue;
		int rc = onnx_infer_body(call, graphs[g], NULL, 0, outputs, call->output_count,
					 &flops, err);

		if (rc)
			return rc;
		most = flops > most ? flops : most;
		for (size_t i = 0; i < call->output_count; i++)
			if (first)
				leave(&call->outputs[i], &outputs[i]);
			else
				onnx_either(&call->outputs[i], &outputs[i]);
		first = false;
	}
	call->flops = most;
	return 0;
}

/* ---- loops ---- */

/* Infers a body until what it carries has a shape that stays. inputs: `lead` values of the round, then carried ones, then others. */
static int settle(struct onnx_call *call, const struct onnx_graph *body, struct onnx_value *inputs,
		  size_t input_count, size_t lead, size_t carried, size_t skip,
		  struct onnx_value *outputs, size_t output_count, double *flops,
		  struct strata_error *err)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		bool changed = false;
		int rc = onnx_infer_body(call, body, inputs, input_count, outputs, output_count,
					 flops, err);

		if (rc)
			return rc;
		for (size_t i = 0; i < carried && skip + i < output_count; i++) {
			struct onnx_value *value = &inputs[lead + i], before = *value;

			/* an empty sequence takes the type of what is put into it */
			if (before.kind == ONNX_SEQUENCE && before.length == 0) {
				leave(value, &outputs[skip + i]);
				value->length = -1;
				changed = true;
				continue;
			}
			onnx_either(value, &outputs[skip + i]);
			changed |= before.ranked != value->ranked ||
				   before.length != value->length || before.kind != value->kind ||
				   memcmp(before.dims, value->dims, sizeof(before.dims)) != 0;
			changed |= onnx_has_elements(&before);
		}
		if (!changed)
			return 0;
	}
	for (size_t i = 0; i < carried; i++) { /* it never settled: only its type is known */
		inputs[lead + i].ranked = false;
		inputs[lead + i].item = NULL;
	}
	return onnx_infer_body(call, body, inputs, input_count, outputs, output_count, flops, err);
}

/* One more dimension in front, or at an axis: what rounds are gathered in. */
static void gather_rounds(struct onnx_value *to, const struct onnx_value *each, int64_t rounds,
			  int64_t axis_wanted)
{
	size_t axis;

	if (each->kind != ONNX_TENSOR)
		return;
	onnx_set_type(to, each->dtype);
	if (!each->ranked || each->rank == STRATA_TENSOR_RANK_MAX ||
	    !onnx_axis(axis_wanted, each->rank + 1, &axis))
		return;
	onnx_set_rank(to, each->dtype, each->rank + 1);
	for (size_t i = 0, k = 0; i < to->rank; i++)
		to->dims[i] = i == axis ? rounds : each->dims[k++];
}

static bool surely(const struct onnx_value *value, bool missing)
{
	if (!value)
		return missing;
	return value->integers && !value->open && onnx_elements(value) == 1 && value->integers[0];
}

static int shape_loop(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_graph *body = onnx_call_graph(call, "body");
	const struct onnx_value *most = onnx_input(call, 0);
	size_t carried = call->input_count > 2 ? call->input_count - 2 : 0;
	size_t output_count = body ? body->output_count : 0;
	double flops;

	if (!body)
		return 0;
	struct onnx_value *inputs = make_values(call, 2 + carried);
	struct onnx_value *outputs = make_values(call, output_count);

	if (!inputs || !outputs)
		return strata_fail_memory(err);
	onnx_set_scalar(&inputs[0], ONNX_INT64);
	onnx_set_scalar(&inputs[1], ONNX_BOOL);
	for (size_t i = 0; i < carried; i++)
		if (onnx_input(call, 2 + i))
			inputs[2 + i] = *onnx_input(call, 2 + i);
	int rc = settle(call, body, inputs, 2 + carried, 2, carried, 1, outputs, output_count,
			&flops, err);

	if (rc)
		return rc;
	int64_t rounds = most && most->integers && surely(onnx_input(call, 1), true) &&
					 output_count && surely(&outputs[0], true)
				 ? onnx_element_dim(most, 0)
				 : -1;

	call->flops = rounds > 0 ? flops * (double)rounds : flops;
	for (size_t i = 0; i < call->output_count && 1 + i < output_count; i++)
		if (i < carried) { /* with no round at all it is what went in */
			leave(&call->outputs[i], &inputs[2 + i]);
			if (inputs[2 + i].kind == ONNX_UNKNOWN)
				leave(&call->outputs[i], &outputs[1 + i]);
		} else {
			gather_rounds(&call->outputs[i], &outputs[1 + i], rounds, 0);
		}
	return 0;
}

/* ---- Scan ---- */

static int64_t axis_of(const struct onnx_call *call, const char *name, size_t i)
{
	const struct onnx_attribute *axes = onnx_call_attribute(call, name, ONNX_ATTR_INTS);

	return axes && i < axes->count ? axes->integers[i] : 0;
}

/* What one round sees of an input: all but the axis it goes along. */
static int slice_round(struct onnx_call *call, const struct onnx_value *whole, int64_t wanted,
		       struct onnx_value *ret_slice, int64_t *ret_rounds, struct strata_error *err)
{
	size_t axis;

	if (!whole || whole->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(ret_slice, whole->dtype);
	if (!whole->ranked)
		return 0;
	if (!onnx_axis(wanted, whole->rank, &axis))
		return onnx_clash(call, err, "there is no axis %lld to go along",
				  (long long)wanted);
	onnx_set_rank(ret_slice, whole->dtype, whole->rank - 1);
	for (size_t i = 0, k = 0; i < whole->rank; i++)
		if (i != axis)
			ret_slice->dims[k++] = whole->dims[i];
	if (*ret_rounds < 0)
		*ret_rounds = whole->dims[axis];
	return 0;
}

struct scan {
	const struct onnx_graph *body;
	size_t states, along, lead; /* values carried; inputs gone along; inputs in front */
	bool batched;               /* opset 8: a batch in front of everything */
	int64_t batch, rounds;
	struct onnx_value *inputs, *outputs;
};

static int scan_inputs(struct onnx_call *call, struct scan *scan, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < scan->states + scan->along; i++) {
		const struct onnx_value *value = onnx_input(call, scan->lead + i);
		struct onnx_value unbatched = { .length = -1 };

		if (!value)
			continue;
		if (scan->batched) { /* first without the batch, then along the next axis */
			rc = slice_round(call, value, 0, &unbatched, &scan->batch, err);
			value = &unbatched;
		}
		if (i < scan->states)
			leave(&scan->inputs[i], value);
		else if (rc == 0)
			rc = slice_round(
				call, value,
				scan->batched ? 0
					      : axis_of(call, "scan_input_axes", i - scan->states),
				&scan->inputs[i], &scan->rounds, err);
	}
	return rc;
}

static void scan_outputs(struct onnx_call *call, const struct scan *scan)
{
	for (size_t i = 0; i < call->output_count && i < scan->body->output_count; i++) {
		struct onnx_value whole = { .length = -1 };

		if (i < scan->states)
			leave(&whole, &scan->inputs[i]);
		else
			gather_rounds(&whole, &scan->outputs[i], scan->rounds,
				      scan->batched ? 0
						    : axis_of(call, "scan_output_axes",
							      i - scan->states));
		if (scan->batched)
			gather_rounds(&call->outputs[i], &whole, scan->batch, 0);
		else
			leave(&call->outputs[i], &whole);
	}
}

static int shape_scan(struct onnx_call *call, struct strata_error *err)
{
	struct scan scan = { .body = onnx_call_graph(call, "body"),
			     .batched = onnx_opset(call) == 8,
			     .batch = -1,
			     .rounds = -1 };
	int64_t along = onnx_call_int(call, "num_scan_inputs", 0);
	double flops;

	scan.lead = scan.batched;
	if (!scan.body)
		return 0;
	if (call->input_count < scan.lead || along < 0 ||
	    along > (int64_t)(call->input_count - scan.lead))
		return onnx_clash(call, err, "%lld inputs to go along", (long long)along);
	scan.along = (size_t)along;
	scan.states = call->input_count - scan.lead - scan.along;
	scan.inputs = make_values(call, scan.states + scan.along);
	scan.outputs = make_values(call, scan.body->output_count);
	if (!scan.inputs || !scan.outputs)
		return strata_fail_memory(err);
	int rc = scan_inputs(call, &scan, err);

	if (rc == 0)
		rc = settle(call, scan.body, scan.inputs, scan.states + scan.along, 0, scan.states,
			    0, scan.outputs, scan.body->output_count, &flops, err);
	if (rc)
		return rc;
	call->flops = flops * (scan.rounds > 0 ? (double)scan.rounds : 1) *
		      (scan.batched && scan.batch > 0 ? (double)scan.batch : 1);
	scan_outputs(call, &scan);
	return 0;
}

/* ---- SequenceMap ---- */

static int shape_sequence_map(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_graph *body = onnx_call_graph(call, "body");
	const struct onnx_value *sequence = onnx_input(call, 0);
	struct onnx_value *inputs = make_values(call, call->input_count);
	struct onnx_value *outputs = make_values(call, call->output_count);
	double flops;

	if (!inputs || !outputs)
		return strata_fail_memory(err);
	if (!body || !sequence || sequence->kind != ONNX_SEQUENCE)
		return 0;
	for (size_t i = 0; i < call->input_count; i++) {
		const struct onnx_value *value = onnx_input(call, i);

		if (value && value->kind == ONNX_SEQUENCE)
			value = value->item;
		if (value)
			inputs[i] = *value;
	}
	int rc = onnx_infer_body(call, body, inputs, call->input_count, outputs, call->output_count,
				 &flops, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < call->output_count; i++) {
		struct onnx_value item, *kept;

		leave(&item, &outputs[i]);
		kept = onnx_keep(call, &item);
		if (!kept)
			return strata_fail_memory(err);
		call->outputs[i].kind = ONNX_SEQUENCE;
		call->outputs[i].item = kept;
		call->outputs[i].length = sequence->length;
	}
	call->flops = sequence->length > 0 ? flops * (double)sequence->length : flops;
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "If", shape_if },
	{ "Loop", shape_loop },
	{ "Scan", shape_scan },
	{ "SequenceMap", shape_sequence_map },
};
/* clang-format on */

const struct onnx_family onnx_family_control = { "graphs inside", "", ops,
						 sizeof(ops) / sizeof(ops[0]) };
