/* Which file of a merge began a flow: a hash table from flow to file, bounded, for the sake of files without end. */
#include "core/trace_merge_int.h"

#include <strata/limits.h>

enum { FIRST_ROOM = 256 };

void trace_flows_init(struct trace_flows *flows, struct strata_memory *memory)
{
	*flows = (struct trace_flows){ .memory = memory };
}

void trace_flows_fini(struct trace_flows *flows)
{
	strata_memory_put(flows->memory, flows->rows, flows->room * sizeof(*flows->rows));
	trace_flows_init(flows, flows->memory);
}

/* The row of a flow, or the free one where it would be. */
static struct trace_flow_begin *find(struct trace_flow_begin *rows, size_t room, uint64_t flow)
{
	size_t at = (flow * 0x9E3779B97F4A7C15u >> 32) & (room - 1);

	while (rows[at].flow && rows[at].flow != flow)
		at = (at + 1) & (room - 1);
	return &rows[at];
}

static int grow(struct trace_flows *flows, struct strata_error *err)
{
	size_t room = flows->room ? flows->room * 2 : FIRST_ROOM;
	struct trace_flow_begin *rows = strata_memory_get(flows->memory, room * sizeof(*rows));

	if (!rows)
		return strata_fail_memory(err);
	for (size_t i = 0; i < flows->room; i++)
		if (flows->rows[i].flow)
			*find(rows, room, flows->rows[i].flow) = flows->rows[i];
	strata_memory_put(flows->memory, flows->rows, flows->room * sizeof(*rows));
	flows->rows = rows;
	flows->room = room;
	return 0;
}

int trace_flows_begin(struct trace_flows *flows, uint64_t flow, size_t file, size_t *ret_first_file,
		      struct strata_error *err)
{
	if ((flows->count + 1) * 2 >= flows->room) {
		int rc = grow(flows, err);

		if (rc < 0)
			return rc;
	}
	struct trace_flow_begin *row = flow ? find(flows->rows, flows->room, flow) : NULL;

	if (row && !row->flow && flows->count < STRATA_TRACE_FLOW_COUNT_MAX) {
		*row = (struct trace_flow_begin){ flow, file };
		flows->count++;
	}
	*ret_first_file = row && row->flow ? row->file : file;
	return 0;
}
