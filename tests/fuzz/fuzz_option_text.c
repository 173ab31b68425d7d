/* key=value:key=value over a table with every type: what was accepted prints and reads back alike. */
#include "../unit/sample.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const struct sample *sample, struct buf *buf)
{
	const struct strata_option whole = { .type = STRATA_TABLE, .table = &sample_schema };

	option_print(&whole, sample, buf);
	assert(!buf->failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct sample sample, again;
	struct buf first, second;

	strata_arena_init(&arena, &memory, 0);
	buf_init(&first, &memory, 0);
	buf_init(&second, &memory, 0);
	if (strata_schema_defaults(&sample_schema, &arena, &sample, &err) ||
	    strata_schema_defaults(&sample_schema, &arena, &again, &err))
		abort();
	if (strata_schema_read_text(&sample_schema, (const char *)data, size, &arena, &sample,
				    &err) == 0) {
		print(&sample, &first);
		if (strata_schema_read_text(&sample_schema, first.text, first.length, &arena,
					    &again, &err))
			abort();
		print(&again, &second);
		assert(strcmp(first.text, second.text) == 0);
	}
	buf_fini(&first);
	buf_fini(&second);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
