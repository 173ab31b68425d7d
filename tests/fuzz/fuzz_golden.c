/* Cases of solvers, and what is read of them run: nothing may crash, and nothing is believed. */
#include "bench/golden_run.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char bank_text[] = "{\"shape\":[2,2],\"init\":[1,-1,0.5,2],\"x0\":[0,1,2,3],"
				"\"add\":[1,0,-1,0.5],\"noise\":[[1,2,3,4],[0,-1,1,0]]}";

static void run(const struct golden_file *file, const struct golden_bank *bank,
		struct strata_memory *memory)
{
	struct strata_registry *solvers;
	struct strata_error err;

	if (strata_registry_new(&strata_solver_kind, memory, &solvers, &err))
		return;
	for (size_t i = 0; i < file->case_count && i < 4; i++) {
		struct trajectory_result result;

		if (file->cases[i].request.steps > 100)
			continue;
		if (trajectory_run(&file->cases[i], bank, solvers, STRATA_ISA_SCALAR, memory,
				   &result, &err) == 0)
			assert(trajectory_passed(&result) || result.why[0]);
	}
	strata_registry_free(solvers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct golden_bank bank, own;
	struct golden_file file;
	const char *text = (const char *)data;

	strata_arena_init(&arena, &memory, 0);
	if (golden_read_bank(text, size, &arena, &own, &err))
		assert(err.text[0]);
	if (golden_read_bank(bank_text, strlen(bank_text), &arena, &bank, &err) == 0) {
		if (golden_read(text, size, &bank, &arena, &file, &err))
			assert(err.text[0]);
		else
			run(&file, &bank, &memory);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
