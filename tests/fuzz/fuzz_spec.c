/* Lists of specs over the noise classes. */
#include <strata/noise.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_registry *registry;
	struct strata_spec *specs;
	struct strata_error err;
	size_t count;
	const char *text;

	strata_arena_init(&arena, &memory, 0);
	if (strata_registry_new(&strata_noise_kind, &memory, &registry, &err))
		abort();
	if (strata_spec_read_list(registry, (const char *)data, size, &arena, &specs, &count,
				  &err) == 0) {
		assert(count >= 1);
		for (size_t i = 0; i < count; i++)
			if (strata_spec_print(&specs[i], &arena, &text, &err))
				abort();
	} else {
		assert(err.code < 0 && err.text[0]);
	}
	strata_registry_free(registry);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
