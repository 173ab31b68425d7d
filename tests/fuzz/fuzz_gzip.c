/* A gzip file: whatever it holds, no more than the limit comes out. */
#include "sim/input.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { LIMIT = 1 << 16 };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	const char *text;
	size_t length;

	strata_arena_init(&arena, &memory, 0);
	if (input_unpack(data, size, "f", LIMIT, &arena, &text, &length, &err))
		assert(err.code < 0 && err.text[0]);
	else
		assert(length <= LIMIT && text[length] == '\0');
	assert(memory.peak_bytes < 1 << 20);
	strata_arena_fini(&arena);
	return 0;
}
