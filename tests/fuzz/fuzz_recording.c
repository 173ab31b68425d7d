/* Records of a service: whatever is in them is refused or decided over, and a line that is read can be written and read again. */
#include "sim/rerun.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 256 << 20 };
	struct strata_error err = { 0 };
	struct rerun_result result;

	rerun_init(&result, &memory);
	if (rerun_run((const char *)data, size, &memory, &result, &err))
		assert(err.code < 0 && err.text[0]);
	else
		assert(result.clusters > 0);
	rerun_fini(&result);
	assert(memory.used_bytes == 0);
	return 0;
}
