/*
 * Making and running programs. Every name becomes a slot: inputs first, then weights, then what nodes make. A slot is dropped after the last node
 * that reads it, so memory in use follows the lifetimes. What depends on constants alone (weights that stay, Constant nodes) is computed
 * in the first run and kept, as far as anything else reads it.
 */
#include "engine/native/program.h"

#include "engine/native/body.h"
#include "engine/native/fuse.h"
#include "engine/native/program_inside.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

/* ---- names ---- */

static uint32_t find_slot(const struct native_program *program, const char *name)
{
	uintptr_t found = (uintptr_t)map_text_get(&program->names, name, strlen(name));

	return found ? (uint32_t)(found - 1) : NO_SLOT;
}

static int add_slot(struct native_program *program, const char *name, uint32_t *ret_slot,
		    struct strata_error *err)
{
	uint32_t slot = (uint32_t)program->slot_count;

	assert(program->slot_count < program->slot_room);
	if (find_slot(program, name) != NO_SLOT)
		return strata_fail(err, -EINVAL, "'%.64s' is made twice", name);
	if (map_text_put(&program->names, name, strlen(name), (void *)(uintptr_t)(slot + 1), NULL))
		return strata_fail_memory(err);
	program->slot_count++;
	program->slots[slot].last = NO_SLOT;
	*ret_slot = slot;
	return 0;
}

static size_t slots_needed(const struct native_source *source)
{
	size_t count = source->input_count + source->weight_count;

	for (size_t i = 0; i < source->node_count; i++)
		count += source->nodes[i]->output_count;
	return count;
}

/* ---- making ---- */

/* Random numbers are new in each run, whatever they are made of. */
static bool is_random(const struct onnx_node *node)
{
	static const char *const kinds[] = { "RandomNormal", "RandomNormalLike", "RandomUniform",
					     "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(node->kind, kinds[i]) == 0)
			return true;
	return false;
}

static void note_read(struct native_program *program, uint32_t slot, size_t step, bool fixed)
{
	program->slots[slot].last = (uint32_t)step;
	program->slots[slot].read_afresh |= !fixed;
}

static int bind_bodies(struct native_program *program, struct step *step, bool *fixed,
		       struct strata_error *err)
{
	const struct native_body_conf conf = { &program->source, program->heap, program->team,
					       program->memory };
	int rc = native_bodies_new(&conf, step->node, &program->arena, &step->bodies,
				   &step->body_count, err);

	for (size_t i = 0; rc == 0 && i < step->body_count; i++) {
		*fixed = false;
		for (size_t k = 0; rc == 0 && k < step->bodies[i]->capture_count; k++) {
			uint32_t slot = find_slot(program, step->bodies[i]->captures[k]);

			if (slot == NO_SLOT)
				rc = strata_fail(err, -EINVAL,
						 "a graph in node '%.64s' reads '%.64s', which nothing makes",
						 step->node->name, step->bodies[i]->captures[k]);
			step->bodies[i]->capture_slots[k] = slot;
		}
	}
	return rc;
}

static int bind_inputs(struct native_program *program, struct step *step, struct strata_error *err)
{
	const struct onnx_node *node = step->node;

	for (size_t i = 0; i < node->input_count; i++) {
		step->inputs[i] = NO_SLOT;
		if (!node->inputs[i][0])
			continue;
		step->inputs[i] = find_slot(program, node->inputs[i]);
		if (step->inputs[i] == NO_SLOT)
			return strata_fail(err, -EINVAL,
					   "%.40s node '%.64s' reads '%.64s', which nothing before it makes",
					   node->kind, node->name, node->inputs[i]);
		step->constant[i] = program->slots[step->inputs[i]].constant;
		step->fixed &= step->constant[i];
	}
	return 0;
}

static int add_step(struct native_program *program, size_t index, struct strata_error *err)
{
	struct step *step = &program->steps[index];
	const struct onnx_node *node = program->source.nodes[index];

	const struct native_fused *fused = native_fused_of(node);

	step->node = node;
	step->told = fused ? fused->parts[0] : node;
	step->op = fused ? &fused->fusion->op : native_op_find(node->domain, node->kind);
	if (!step->op)
		return strata_fail(err, -ENOTSUP, "operator %s%s%.64s (node '%.64s') is not known to the native backend",
				   node->domain, node->domain[0] ? "." : "", node->kind, node->name);
	if (node->output_count == 0)
		return strata_fail(err, -EINVAL, "%.40s node '%.64s' has no outputs", node->kind,
				   node->name);
	step->inputs = strata_arena_array(&program->arena, node->input_count, sizeof(uint32_t));
	step->outputs = strata_arena_array(&program->arena, node->output_count, sizeof(uint32_t));
	step->last_use = strata_arena_array(&program->arena, node->input_count, sizeof(bool));
	step->constant = strata_arena_array(&program->arena, node->input_count, sizeof(bool));
	if (!step->inputs || !step->outputs || !step->last_use || !step->constant)
		return strata_fail_memory(err);
	step->fixed = !is_random(node);
	int rc = bind_inputs(program, step, err);

	if (rc == 0)
		rc = bind_bodies(program, step, &step->fixed, err);
	for (size_t i = 0; rc == 0 && i < node->input_count; i++)
		if (step->inputs[i] != NO_SLOT)
			note_read(program, step->inputs[i], index, step->fixed);
	for (size_t i = 0; rc == 0 && i < step->body_count; i++)
		for (size_t k = 0; k < step->bodies[i]->capture_count; k++)
			note_read(program, step->bodies[i]->capture_slots[k], index, false);
	for (size_t i = 0; rc == 0 && i < node->output_count; i++) {
		step->outputs[i] = NO_SLOT;
		if (!node->outputs[i][0])
			continue;
		rc = add_slot(program, node->outputs[i], &step->outputs[i], err);
		if (rc == 0)
			program->slots[step->outputs[i]].constant = step->fixed;
	}
	if (node->input_count > program->widest_inputs)
		program->widest_inputs = node->input_count;
	if (node->output_count > program->widest_outputs)
		program->widest_outputs = node->output_count;
	return rc;
}

/* A slot that a step reads, or makes for nobody, goes after it; those that are kept for the next run do not. */
static bool goes_after(const struct native_program *program, uint32_t index, size_t step)
{
	const struct slot *slot = &program->slots[index];

	return slot->last == step && !slot->wanted && !(slot->constant && slot->read_afresh) &&
	       !(slot->constant && index < program->input_count + program->weight_count);
}

static int plan_drops(struct native_program *program, struct strata_error *err)
{
	for (size_t s = 0; s < program->step_count; s++) {
		struct step *step = &program->steps[s];
		size_t room = step->node->input_count + step->node->output_count;

		for (size_t b = 0; b < step->body_count; b++)
			room += step->bodies[b]->capture_count;
		step->drops = strata_arena_array(&program->arena, room, sizeof(uint32_t));
		if (!step->drops)
			return strata_fail_memory(err);
		for (size_t i = 0; i < step->node->output_count; i++)
			if (step->outputs[i] != NO_SLOT &&
			    program->slots[step->outputs[i]].last == NO_SLOT &&
			    !program->slots[step->outputs[i]].wanted)
				step->drops[step->drop_count++] = step->outputs[i];
		for (size_t i = 0; i < step->node->input_count; i++)
			if (step->inputs[i] != NO_SLOT && goes_after(program, step->inputs[i], s)) {
				step->drops[step->drop_count++] = step->inputs[i];
				step->last_use[i] = true;
			}
		for (size_t b = 0; b < step->body_count; b++)
			for (size_t k = 0; k < step->bodies[b]->capture_count; k++)
				if (goes_after(program, step->bodies[b]->capture_slots[k], s))
					step->drops[step->drop_count++] =
						step->bodies[b]->capture_slots[k];
	}
	return 0;
}

/* An input that a node reads twice is not its alone; dropping twice does no harm, changing it would. */
static void mend_doubles(struct native_program *program)
{
	for (size_t s = 0; s < program->step_count; s++) {
		struct step *step = &program->steps[s];

		for (size_t i = 0; i < step->node->input_count; i++)
			for (size_t k = 0; k < i; k++)
				if (step->inputs[i] == step->inputs[k])
					step->last_use[i] = step->last_use[k] = false;
	}
}

static int add_names(struct native_program *program, struct strata_error *err)
{
	const struct native_source *source = &program->source;
	uint32_t slot;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < source->input_count; i++)
		rc = add_slot(program, source->inputs[i], &slot, err);
	for (size_t i = 0; rc == 0 && i < source->weight_count; i++) {
		rc = add_slot(program, source->weights[i], &slot, err);
		if (rc == 0)
			program->slots[slot].constant = source->weights_stay;
	}
	return rc;
}

static int add_outputs(struct native_program *program, struct strata_error *err)
{
	const struct native_source *source = &program->source;

	for (size_t i = 0; i < source->output_count; i++) {
		program->output_slots[i] = find_slot(program, source->outputs[i]);
		if (program->output_slots[i] == NO_SLOT)
			return strata_fail(err, -EINVAL, "nothing makes the output '%.64s'",
					   source->outputs[i]);
		program->slots[program->output_slots[i]].wanted = true;
	}
	return 0;
}

static int build(struct native_program *program, struct strata_error *err)
{
	const struct native_source *source = &program->source;
	struct strata_arena *arena = &program->arena;
	const struct onnx_node **nodes;

	if (!source->apart) {
		int fuse_rc = native_fuse(source, arena, program->memory, &nodes,
					  &program->source.node_count, err);

		if (fuse_rc)
			return fuse_rc;
		program->source.nodes = nodes;
	}
	program->slot_room = slots_needed(source);
	program->slots = strata_arena_array(arena, program->slot_room, sizeof(*program->slots));
	program->values = strata_arena_array(arena, program->slot_room, sizeof(*program->values));
	program->steps = strata_arena_array(arena, source->node_count, sizeof(*program->steps));
	program->output_slots = strata_arena_array(arena, source->output_count, sizeof(uint32_t));
	if (!program->slots || !program->values || !program->steps || !program->output_slots)
		return strata_fail_memory(err);
	int rc = add_names(program, err);

	for (size_t i = 0; rc == 0 && i < source->node_count; i++) {
		program->step_count++;
		rc = add_step(program, i, err);
	}
	if (rc == 0)
		rc = add_outputs(program, err);
	if (rc == 0)
		rc = plan_drops(program, err);
	if (rc)
		return rc;
	mend_doubles(program);
	program->call_inputs = strata_arena_array(arena, program->widest_inputs, sizeof(void *));
	program->call_outputs = strata_arena_array(arena, program->widest_outputs,
						   sizeof(struct engine_value));
	return program->call_inputs && program->call_outputs ? 0 : strata_fail_memory(err);
}

int native_program_new(const struct native_source *source, struct engine_heap *heap,
		       struct engine_team *team, struct native_program **ret_program,
		       struct strata_error *err)
{
	struct native_program *program = strata_memory_get(heap->memory, sizeof(*program));

	if (!program)
		return strata_fail_memory(err);
	program->heap = heap;
	program->team = team;
	program->memory = heap->memory;
	program->source = *source;
	program->input_count = source->input_count;
	program->weight_count = source->weight_count;
	program->output_count = source->output_count;
	strata_arena_init(&program->arena, heap->memory, 0);
	map_text_init(&program->names, heap->memory);
	int rc = build(program, err);

	if (rc) {
		native_program_free(program);
		return rc;
	}
	*ret_program = program;
	return 0;
}

void native_program_free(struct native_program *program)
{
	if (!program)
		return;
	for (size_t i = 0; program->values && i < program->slot_count; i++)
		engine_value_drop(&program->values[i]);
	for (size_t i = 0; i < program->step_count; i++) {
		struct step *step = &program->steps[i];

		if (step->state)
			step->state->free(step->state);
		native_bodies_free(step->bodies, step->body_count);
	}
	map_text_fini(&program->names);
	strata_arena_fini(&program->arena);
	strata_memory_put(program->memory, program, sizeof(*program));
}

/* ---- running ---- */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What it makes goes to later steps of this run alone: it neither leaves the program nor stays for the next run. */
static bool passes_on(const struct native_program *program, const struct step *step)
{
	for (size_t i = 0; i < step->node->output_count; i++)
		if (step->outputs[i] != NO_SLOT && program->slots[step->outputs[i]].wanted)
			return false;
	return !step->fixed;
}

static int run_step(struct native_program *program, struct step *step, const struct native_run *run,
		    struct strata_error *err)
{
	const struct onnx_node *node = step->node;
	struct native_call call = {
		.node = node,
		.inputs = program->call_inputs,
		.input_count = node->input_count,
		.outputs = program->call_outputs,
		.output_count = node->output_count,
		.opset = program->source.model->opset,
		.heap = program->heap,
		.team = program->team,
		.model = program->source.model,
		.directory = program->source.directory,
		.last_use = step->last_use,
		.constant = step->constant,
		.planned = passes_on(program, step),
		.int8_weights = program->source.int8_weights,
		.state = &step->state,
		.bodies = step->bodies,
		.body_count = step->body_count,
		.around = program->values,
		.run = run,
	};

	for (size_t i = 0; i < node->input_count; i++)
		program->call_inputs[i] =
			step->inputs[i] == NO_SLOT ? NULL : &program->values[step->inputs[i]];
	memset(program->call_outputs, 0, node->output_count * sizeof(struct engine_value));
	int rc = step->op->run(&call, err);

	for (size_t i = 0; rc == 0 && i < node->output_count; i++)
		rc = step->outputs[i] != NO_SLOT && call.outputs[i].kind == ONNX_UNKNOWN
			     ? native_refuse(&call, err, "it has no output %zu", i + 1)
			     : engine_value_own_texts(program->heap, &call.outputs[i], err);
	for (size_t i = 0; i < node->output_count; i++)
		if (rc == 0 && step->outputs[i] != NO_SLOT)
			program->values[step->outputs[i]] = call.outputs[i];
		else
			engine_value_drop(&call.outputs[i]);
	return rc;
}

int native_stopped(const struct native_call *call, struct strata_error *err)
{
	const struct native_run *run = call->run;

	return run && run->stop && run->stop(run->stop_context)
		       ? strata_fail(err, -ECANCELED, "stopped")
		       : 0;
}

static int run_steps(struct native_program *program, const struct native_run *run,
		     struct strata_error *err)
{
	int64_t begin_ns = run->watch ? now_ns() : 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < program->step_count; i++) {
		struct step *step = &program->steps[i];

		if (step->done)
			continue;
		if (run->stop && run->stop(run->stop_context))
			return strata_fail(err, -ECANCELED, "stopped");
		rc = run_step(program, step, run, err);
		if (run->ret_held_bytes) {
			int64_t held = native_program_held(program, run);

			*run->ret_held_bytes = held > *run->ret_held_bytes ? held : *run->ret_held_bytes;
		}
		for (size_t k = 0; k < step->drop_count; k++)
			engine_value_drop(&program->values[step->drops[k]]);
		if (run->watch) {
			int64_t end_ns = now_ns();

			run->watch(run->watch_context, step->told, begin_ns, end_ns);
			begin_ns = end_ns;
		}
	}
	return rc;
}

/* After a run everything goes but the constants; after a failed one, what was made of constants too, to be made again. */
static void clear(struct native_program *program, bool failed)
{
	for (size_t i = 0; i < program->slot_count; i++)
		if (!program->slots[i].constant || failed ||
		    i < program->input_count + program->weight_count)
			engine_value_drop(&program->values[i]);
	for (size_t i = 0; i < program->step_count; i++)
		program->steps[i].done = program->steps[i].fixed && !failed;
}

int native_program_run(struct native_program *program, const struct native_run *run,
		       struct engine_value *ret_outputs, struct strata_error *err)
{
	for (size_t i = 0; i < program->input_count; i++)
		program->values[i] = engine_value_share(&run->inputs[i]);
	for (size_t i = 0; i < program->weight_count; i++)
		program->values[program->input_count + i] = engine_value_share(&run->weights[i]);
	int rc = run_steps(program, run, err);

	for (size_t i = 0; rc == 0 && i < program->output_count; i++)
		ret_outputs[i] = engine_value_share(&program->values[program->output_slots[i]]);
	clear(program, rc != 0);
	return rc;
}
