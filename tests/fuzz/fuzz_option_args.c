/* Words split at NUL bytes, as flags. */
#include "../unit/sample.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct sample sample;
	char *argv[65];
	int argc = 0;

	strata_arena_init(&arena, &memory, 0);
	char *words = strata_arena_text(&arena, (const char *)data, size);

	for (size_t at = 0; at < size && argc < 64; at += strlen(words + at) + 1)
		argv[argc++] = words + at;
	argv[argc] = NULL;
	struct origins origins = { .arena = &arena };
	struct args args = { .tables = { { &sample_schema, &sample } }, .origins = &origins };

	if (strata_schema_defaults(&sample_schema, &arena, &sample, &err))
		abort();
	if (option_read_args(&args, argc, argv, &arena, &err) == 0)
		assert(args.operand_count <= (size_t)argc);
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
