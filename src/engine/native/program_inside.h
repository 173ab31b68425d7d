/* A program from inside: for program.c, which makes and runs it, and program_plan.c, which knows beforehand what it will hold. */
#ifndef ENGINE_NATIVE_PROGRAM_INSIDE_H
#define ENGINE_NATIVE_PROGRAM_INSIDE_H

#include "core/map.h"
#include "engine/native/program.h"

#define NO_SLOT UINT32_MAX

struct step {
	const struct onnx_node *node;
	const struct onnx_node *told; /* the model's own: of a fused one its first, which takes the longest */
	const struct native_op *op;
	uint32_t *inputs; /* slots; NO_SLOT: left out */
	uint32_t *outputs;
	bool *last_use, *constant; /* of inputs */
	uint32_t *drops;           /* slots that nobody reads afterwards */
	size_t drop_count;
	bool fixed; /* depends on constants alone: computed once */
	bool done;  /* and it was */
	struct native_state *state;
	struct native_body **bodies;
	size_t body_count;
};

struct slot {
	uint32_t last;    /* index of the last step that reads it, captures included; NO_SLOT: none */
	bool constant;    /* the same in every run */
	bool wanted;      /* an output */
	bool read_afresh; /* some step that is not fixed reads it */
};

struct native_program {
	struct engine_heap *heap;
	struct engine_team *team;
	struct native_source source; /* its lists are the caller's until _new returns … */
	struct strata_arena arena;   /* … and what is needed later is here */
	struct strata_memory *memory;
	struct map_text names; /* slot + 1 */
	struct step *steps;
	struct slot *slots;
	struct engine_value *values; /* of slots, in a run; constants stay */
	const struct engine_value **call_inputs;
	struct engine_value *call_outputs;
	uint32_t *output_slots;
	size_t slot_count, slot_room, input_count, weight_count, output_count, step_count;
	size_t widest_inputs, widest_outputs;
};

#endif
