/* What the values of a program take at a time, known before it runs: see program.h. */
#include "engine/native/program_inside.h"

#include <string.h>

enum { HEADER_BYTES = ENGINE_ALIGN }; /* of a value's block (value.c) */

int64_t native_type_bytes(const struct onnx_value *type)
{
	int64_t elements = type && type->kind == ONNX_TENSOR && onnx_shaped(type)
				   ? onnx_elements(type)
				   : -1;
	int dtype = type ? type->dtype : ONNX_NONE;

	if (dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16)
		dtype = ONNX_FLOAT; /* widened */
	size_t width = engine_dtype_bytes(dtype);

	return elements < 0 || width == 0 || elements > INT64_MAX / 16
		       ? -1
		       : HEADER_BYTES + elements * (int64_t)width;
}

/* ---- whose memory a result takes ---- */

static bool is_one_of(const struct onnx_node *node, const char *const *kinds, size_t count)
{
	for (size_t i = 0; i < count && !node->domain[0]; i++)
		if (strcmp(node->kind, kinds[i]) == 0)
			return true;
	return false;
}

static bool is_view(const struct onnx_node *node)
{
	static const char *const kinds[] = { "Flatten", "Identity", "Reshape", "Squeeze",
					     "Unsqueeze" };

	return is_one_of(node, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

/* Operators that write where an operand of the same shape was, when nobody reads it afterwards; others may do so too, and take less than was planned. */
static bool takes_place(const struct onnx_node *node)
{
	static const char *const kinds[] = { "Add", "Clip", "Div",     "InstanceNormalization",
					     "LayerNormalization", "Mul", "Relu", "Sigmoid",
					     "Softmax", "Sub" };

	return is_one_of(node, kinds, sizeof(kinds) / sizeof(kinds[0]));
}

static bool same_shape(const struct onnx_value *a, const struct onnx_value *b)
{
	return a && b && a->dtype == b->dtype && a->rank == b->rank &&
	       memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) == 0;
}

/* ---- going over the steps ---- */

struct holder { /* of a slot's memory */
	uint32_t owner; /* slot whose block it is; NO_SLOT: somebody else's, or none */
	uint32_t users; /* of an owner: slots that are there */
	int64_t bytes;  /* likewise */
	bool there;
	bool stays; /* made of constants, and kept from run to run */
};

struct plan {
	const struct native_program *program;
	const struct native_types *types;
	struct holder *slots;
	int64_t now, most;
};

static uint32_t place_of(const struct plan *plan, const struct step *step)
{
	const struct onnx_node *node = step->node;
	const struct onnx_value *made = plan->types->find(plan->types->context, node->outputs[0]);

	for (size_t i = 0; i < node->input_count && i < 2 && takes_place(node); i++) {
		uint32_t slot = step->inputs[i];
		uint32_t owner = slot == NO_SLOT ? NO_SLOT : plan->slots[slot].owner;

		if (owner != NO_SLOT && step->last_use[i] && plan->slots[owner].users == 1 &&
		    same_shape(made, plan->types->find(plan->types->context, node->inputs[i])))
			return slot;
		if (strcmp(node->kind, "Add") != 0 && strcmp(node->kind, "Mul") != 0 &&
		    strcmp(node->kind, "Sub") != 0 && strcmp(node->kind, "Div") != 0)
			break; /* the first only */
	}
	return NO_SLOT;
}

static void note(struct plan *plan, uint32_t slot, uint32_t owner)
{
	plan->slots[slot].owner = owner;
	plan->slots[slot].there = true;
	if (owner != NO_SLOT)
		plan->slots[owner].users++;
}

/* False: a shape is not known. */
static bool make_outputs(struct plan *plan, const struct step *step)
{
	const struct onnx_node *node = step->node;
	bool view = is_view(node) && step->inputs[0] != NO_SLOT;
	uint32_t place = view ? step->inputs[0] : place_of(plan, step);

	for (size_t i = 0; i < node->output_count; i++) {
		uint32_t slot = step->outputs[i];

		if (slot == NO_SLOT)
			continue;
		if (i == 0 && place != NO_SLOT) {
			note(plan, slot, plan->slots[place].owner);
			continue;
		}
		int64_t bytes = native_type_bytes(
			plan->types->find(plan->types->context, node->outputs[i]));

		if (bytes < 0 || plan->now > INT64_MAX - bytes)
			return false;
		note(plan, slot, slot);
		plan->slots[slot].bytes = bytes;
		if (!plan->slots[slot].stays)
			plan->now += bytes;
	}
	plan->most = plan->now > plan->most ? plan->now : plan->most;
	return true;
}

static void drop(struct plan *plan, uint32_t slot)
{
	struct holder *holder = &plan->slots[slot];

	if (!holder->there)
		return;
	holder->there = false;
	if (holder->owner != NO_SLOT && --plan->slots[holder->owner].users == 0 &&
	    !plan->slots[holder->owner].stays)
		plan->now -= plan->slots[holder->owner].bytes;
}

/* What is made of constants in the first run is there from the beginning of the next: it counts from the start. */
static bool count_stays(struct plan *plan)
{
	const struct native_program *program = plan->program;

	for (size_t i = 0; i < program->step_count; i++)
		for (size_t k = 0; k < program->steps[i].node->output_count; k++)
			if (program->steps[i].outputs[k] != NO_SLOT)
				plan->slots[program->steps[i].outputs[k]].stays =
					program->steps[i].fixed;
	for (size_t i = 0; i < program->step_count; i++)
		for (size_t k = 0; k < program->steps[i].drop_count; k++)
			plan->slots[program->steps[i].drops[k]].stays = false;
	for (size_t i = 0; i < program->step_count; i++)
		for (size_t k = 0; k < program->steps[i].node->output_count; k++) {
			uint32_t slot = program->steps[i].outputs[k];
			int64_t bytes = slot == NO_SLOT || !plan->slots[slot].stays
						? 0
						: native_type_bytes(plan->types->find(
							  plan->types->context,
							  program->steps[i].node->outputs[k]));

			if (bytes < 0 || plan->now > INT64_MAX - bytes)
				return false;
			plan->now += bytes;
		}
	return true;
}

int native_program_peak(const struct native_program *program, const struct native_types *types,
			struct strata_memory *memory, int64_t *ret_bytes, struct strata_error *err)
{
	size_t room = (program->slot_count + 1) * sizeof(struct holder);
	struct plan plan = { program, types, strata_memory_get(memory, room), 0, 0 };
	bool known = true;

	if (!plan.slots)
		return strata_fail_memory(err);
	for (size_t i = 0; i < program->slot_count; i++)
		plan.slots[i].owner = NO_SLOT;
	known = count_stays(&plan);
	for (size_t i = 0; known && i < program->step_count; i++) {
		const struct step *step = &program->steps[i];

		known = step->body_count == 0 && make_outputs(&plan, step);
		for (size_t k = 0; k < step->drop_count; k++)
			drop(&plan, step->drops[k]);
	}
	strata_memory_put(memory, plan.slots, room);
	*ret_bytes = known ? plan.most : -1;
	return 0;
}

/* ---- as it is ---- */

static bool is_given(const struct native_program *program, const struct native_run *run,
		     const struct engine_buffer *buffer)
{
	for (size_t i = 0; i < program->input_count; i++)
		if (run->inputs[i].buffer == buffer)
			return true;
	for (size_t i = 0; i < program->weight_count; i++)
		if (run->weights[i].buffer == buffer)
			return true;
	return false;
}

int64_t native_program_held(const struct native_program *program, const struct native_run *run)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < program->slot_count; i++) {
		const struct engine_value *value = &program->values[i];
		bool counts = value->buffer && !is_given(program, run, value->buffer);

		for (size_t k = 0; counts && k < i; k++)
			counts = program->values[k].buffer != value->buffer;
		if (counts)
			bytes += (int64_t)engine_value_block_bytes(value);
	}
	return bytes;
}
