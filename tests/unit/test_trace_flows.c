#include "test.h"

#include "core/trace_merge_int.h"

#include <strata/limits.h>

TEST(the_first_file_to_begin_a_flow_is_remembered)
{
	struct strata_memory memory = { 0 };
	struct trace_flows flows;
	struct strata_error err;
	size_t first;

	trace_flows_init(&flows, &memory);
	for (uint64_t flow = 1; flow < 5000; flow++) {
		CHECK_OK(trace_flows_begin(&flows, flow << 40, flow % 3, &first, &err));
		CHECK_INT(first, flow % 3);
	}
	for (uint64_t flow = 1; flow < 5000; flow++) {
		CHECK_OK(trace_flows_begin(&flows, flow << 40, 7, &first, &err));
		CHECK_INT(first, flow % 3);
	}
	CHECK_OK(trace_flows_begin(&flows, 0, 7, &first, &err));
	CHECK_INT(first, 7);
	CHECK_OK(trace_flows_begin(&flows, 0, 8, &first, &err));
	CHECK_INT(first, 8);
	trace_flows_fini(&flows);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(flows_past_the_limit_are_forgotten)
{
	struct strata_memory memory = { 0 };
	struct trace_flows flows;
	struct strata_error err;
	size_t first;

	trace_flows_init(&flows, &memory);
	for (uint64_t flow = 1; flow <= STRATA_TRACE_FLOW_COUNT_MAX + 1; flow++)
		CHECK_OK(trace_flows_begin(&flows, flow, 1, &first, &err));
	size_t used = memory.used_bytes;

	CHECK_OK(trace_flows_begin(&flows, STRATA_TRACE_FLOW_COUNT_MAX, 2, &first, &err));
	CHECK_INT(first, 1);
	CHECK_OK(trace_flows_begin(&flows, STRATA_TRACE_FLOW_COUNT_MAX + 1, 2, &first, &err));
	CHECK_INT(first, 2);
	CHECK_INT(memory.used_bytes, used);
	trace_flows_fini(&flows);
}

static int fill(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct trace_flows flows;
	int rc = 0;

	(void)context;
	trace_flows_init(&flows, memory);
	for (uint64_t flow = 1; rc == 0 && flow < 1000; flow++) {
		size_t first;

		rc = trace_flows_begin(&flows, flow, 1, &first, err);
	}
	trace_flows_fini(&flows);
	return rc;
}

TEST(running_out_of_memory_is_reported)
{
	CHECK_INT(test_every_allocation(fill, NULL), 4);
}
