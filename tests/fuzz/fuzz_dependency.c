/* Dependencies: what is read prints as something that is read back and prints alike. */
#include <strata/slurm.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_slurm_dependencies all = { .count = 99999 }, back;
	const char *text, *again;
	struct strata_arena arena;
	struct strata_error err;

	strata_arena_init(&arena, &memory, 0);
	if (strata_slurm_dependencies_parse((const char *)data, size, &arena, &all, &err)) {
		assert(err.code < 0 && err.text[0] && all.count == 99999);
	} else {
		if (strata_slurm_dependencies_print(&all, &arena, &text, &err) ||
		    strata_slurm_dependencies_parse(text, strlen(text), &arena, &back, &err) ||
		    strata_slurm_dependencies_print(&back, &arena, &again, &err))
			abort();
		assert(all.count == back.count && all.any == back.any && strcmp(text, again) == 0);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
