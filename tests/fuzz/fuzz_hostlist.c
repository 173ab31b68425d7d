/* Lists of hosts: what is read compresses to something that is read back as the same names. */
#include <strata/slurm.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 128 << 10 }; /* long lists take too long */
	const char **names, **back, *text;
	size_t count = 0, back_count;
	struct strata_arena arena;
	struct strata_error err;

	strata_arena_init(&arena, &memory, 0);
	if (strata_hostlist_expand((const char *)data, size, &arena, &names, &count, &err)) {
		assert(err.code < 0 && err.text[0] && count == 0);
	} else if (!memchr(data, '\0', size)) {
		memory.limit_bytes = 64 << 20;
		if (strata_hostlist_compress(names, count, &arena, &text, &err) ||
		    strata_hostlist_expand(text, strlen(text), &arena, &back, &back_count, &err))
			abort();
		assert(back_count == count);
		for (size_t i = 0; i < count; i++)
			assert(strcmp(names[i], back[i]) == 0);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
