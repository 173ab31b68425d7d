/* JSON over a table with every type of option: never a crash, and what was accepted is written and read back alike. */
#include "../unit/sample.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err;
	struct sample sample, again;
	const char *first, *second;

	strata_arena_init(&arena, &memory, 0);
	if (strata_schema_defaults(&sample_schema, &arena, &sample, &err))
		abort();
	if (strata_schema_read_json(&sample_schema, (const char *)data, size, &arena, &sample,
				    &err) == 0) {
		if (strata_schema_write_json(&sample_schema, &sample, &arena, &first, &err) ||
		    strata_schema_defaults(&sample_schema, &arena, &again, &err) ||
		    strata_schema_read_json(&sample_schema, first, strlen(first), &arena, &again,
					    &err) ||
		    strata_schema_write_json(&sample_schema, &again, &arena, &second, &err) ||
		    strcmp(first, second) != 0)
			abort();
	} else {
		assert(err.code < 0 && err.text[0]);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
