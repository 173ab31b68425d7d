/* A log of jobs: read, loaded by every rule, its demands read; written, it reads back alike. */
#include "formats/swf_demand.h"

#include <strata/swf.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_loaded(const struct strata_swf *swf, enum strata_swf_rule rule,
			 struct strata_arena *arena)
{
	struct strata_swf_arrival *arrivals;
	struct strata_error err;
	size_t count, left_out;

	if (strata_swf_load(swf, rule, arena, &arrivals, &count, &left_out, &err)) {
		assert(err.code < 0 && err.text[0]);
		return;
	}
	assert(count + left_out == swf->job_count);
	for (size_t i = 0; i < count; i++)
		assert(arrivals[i].procs >= 1 && arrivals[i].run_ns >= 0 &&
		       arrivals[i].submit_ns >= 0 && arrivals[i].job < swf->job_count);
}

static void check_written(const struct strata_swf *swf, struct strata_arena *arena)
{
	struct strata_swf back;
	struct strata_error err;
	const char *text, *again;
	size_t length, again_length;

	if (strata_swf_write(swf, arena, &text, &length, &err) ||
	    strata_swf_read(text, length, arena, &back, &err) ||
	    strata_swf_write(&back, arena, &again, &again_length, &err))
		abort();
	assert(back.job_count == swf->job_count && back.note_count == swf->note_count);
	assert(length == again_length && memcmp(text, again, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err;
	struct strata_swf swf;
	struct swf_demand *demands;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	if (strata_swf_read((const char *)data, size, &arena, &swf, &err) == 0) {
		check_loaded(&swf, STRATA_SWF_PLAIN, &arena);
		check_loaded(&swf, STRATA_SWF_WINDOWS, &arena);
		check_written(&swf, &arena);
		if (swf_demand_read(&swf, &arena, &demands, &count, &err))
			assert(err.code < 0 && err.text[0]);
	} else {
		assert(err.code < 0 && err.text[0]);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
