/* A configuration file over a table with every type of option. */
#include "../unit/sample.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct sample sample;

	strata_arena_init(&arena, &memory, 0);
	struct origins origins = { .arena = &arena };

	if (strata_schema_defaults(&sample_schema, &arena, &sample, &err))
		abort();
	struct sample before = sample;

	if (option_read_ini(&sample_schema, (const char *)data, size, "f", &arena, &sample,
			    &origins, &err))
		assert(err.code < 0 && err.text[0] &&
		       memcmp(&sample, &before, sizeof(sample)) == 0);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
