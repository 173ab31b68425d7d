/* A whole model as one native program with all of its weights in memory: what small models and conformance tests need. */
#ifndef ENGINE_WHOLE_H
#define ENGINE_WHOLE_H

#include "engine/model.h"
#include "engine/native/program.h"
#include "engine/team.h"

struct engine_whole {
	struct engine_model *model;
	struct engine_heap *heap; /* borrowed */
	struct engine_team team;
	struct native_program *program;
	struct engine_value *weights;
	size_t weight_count;
	const char **outputs;
};

int engine_whole_open(struct engine_whole *whole, const char *path, int thread_count,
		      struct engine_heap *heap, struct strata_error *err);
void engine_whole_close(struct engine_whole *whole);

/* inputs: by the model's order (model->inputs); ret_outputs has room for the graph's outputs, which the caller drops. float16 and
 * bfloat16 go in and come out as the model declares them. */
int engine_whole_run(struct engine_whole *whole, const struct engine_value *inputs,
		     struct engine_value *ret_outputs, struct strata_error *err);

#endif
