/* What a job used, as its supervisor wrote it: read, or refused; what is read makes sense. */
#include "exec/samples.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct record_samples record;

	strata_arena_init(&arena, &memory, 0);
	if (samples_read((const char *)data, size, &arena, &record, &err) == 0) {
		const int64_t *at_ms = record.at_ms.items;

		assert(record.at_ms.count <= STRATA_SAMPLES_MAX);
		assert(record.cpu_ms.count == record.at_ms.count);
		assert(record.gpu_ms.count == (record.gpus ? record.at_ms.count : 0));
		for (size_t i = 0; i < record.at_ms.count; i++)
			assert(at_ms[i] > (i ? at_ms[i - 1] : 0));
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
