/* Graphs in every form: nothing may crash; what is read can be placed. */
#include "formats/graph_case.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void place(const struct graph_case *one, struct strata_arena *arena)
{
	struct strata_machine two;
	struct strata_error err;
	struct strata_place_plan plan;

	if (one->graph->op_count > 200 || graph_processors(2, NULL, 1e9, arena, &two, &err))
		return;
	struct strata_place_request ask = { .graph = one->graph,
					    .machine = one->machine.device_count ? &one->machine
										 : &two,
					    .objective = one->objective,
					    .fixed_order = one->fixed_order,
					    .budget = { .visits = 2000 } };

	if (strata_place_plan(&ask, arena, &plan, &err))
		assert(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct graph_file file;

	strata_arena_init(&arena, &memory, 0);
	if (graph_file_read((const char *)data, size, "fuzz", &arena, &file, &err)) {
		assert(err.text[0]);
	} else {
		for (size_t i = 0; i < file.count && i < 4; i++)
			place(&file.cases[i], &arena);
		graph_file_fini(&file);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
