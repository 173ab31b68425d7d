/* scheduler_config.json: whatever is read compiles or is refused with a sentence. */
#include <strata/solver.h>

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compile(const struct strata_spec *spec, struct strata_memory *memory)
{
	struct strata_solver_request request = { .steps = 1 + (int64_t)memory->calls % 20 };
	struct strata_solver_table *table;
	struct strata_error err = { 0 };

	if (strata_solver_compile((const struct strata_solver_class *)spec->cls, spec->conf,
				  &request, memory, &table, &err))
		assert(err.text[0]);
	else
		strata_solver_table_free(table, memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_registry *solvers;
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct strata_spec spec;

	strata_arena_init(&arena, &memory, 0);
	if (strata_registry_new(&strata_solver_kind, &memory, &solvers, &err))
		return 0;
	if (strata_solver_read_config(solvers, (const char *)data, size, NULL, &arena, &spec, &err))
		assert(err.text[0]);
	else
		compile(&spec, &memory);
	strata_registry_free(solvers);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
