/* Arrays: what is read has as many tasks as it says, in order, and prints as something that is read
 * back alike. */
#include <strata/slurm.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_array array = { .limit = -7 }, back;
	struct strata_arena arena;
	struct strata_error err;
	const char *text;
	int64_t count = 0, before = -1;

	strata_arena_init(&arena, &memory, 0);
	if (strata_array_parse((const char *)data, size, &arena, &array, &err)) {
		assert(err.code < 0 && err.text[0] && array.limit == -7);
	} else {
		/* walked as far as a million runs allow */
		for (int64_t task; count < 2000 && (task = strata_array_next(&array, before)) >= 0;
		     before = task) {
			assert(task > before && task <= STRATA_ARRAY_INDEX_MAX);
			count++;
		}
		assert(count > 0 && (count == array.task_count || count == 2000));
		if (strata_array_print(&array, &arena, &text, &err) ||
		    strata_array_parse(text, strlen(text), &arena, &back, &err))
			abort();
		assert(back.task_count == array.task_count && back.limit == array.limit &&
		       back.range_count == array.range_count);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
