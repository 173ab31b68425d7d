/* Lists of sacct: what is read can be loaded, and its demands read. */
#include "slurm/sacct_log.h"
#include "formats/swf_demand.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct strata_swf swf;
	struct strata_swf_arrival *arrivals;
	struct swf_demand *demands;
	size_t count, left_out;

	strata_arena_init(&arena, &memory, 64 << 20);
	sacct_is((const char *)data, size);
	if (sacct_read((const char *)data, size, &arena, &swf, &left_out, &err)) {
		assert(err.code < 0 && err.text[0]);
	} else {
		if (swf_demand_read(&swf, &arena, &demands, &count, &err))
			abort();
		if (strata_swf_load(&swf, STRATA_SWF_PLAIN, &arena, &arrivals, &count, &left_out,
				    &err) == 0)
			assert(count + left_out == swf.job_count);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
