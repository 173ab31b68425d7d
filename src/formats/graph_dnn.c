/*
 * The JSON of dnn-partitioning: layers or operators with measured times on accelerator and host, sizes, classes that stay together, and what moving an
 * output between accelerator and host takes. Times are in milliseconds. The machine is part of the file: so many accelerators of so much memory,
 * so many hosts.
 */
#include "formats/graph_reader.h"

#include "core/map.h"

#include <errno.h>
#include <math.h>

#define MS_NS 1e6

struct dnn {
	struct graph_reader *reader;
	size_t accelerators, hosts;
	struct map_u64 ids; /* id → op + 1 */
};

static int take_count(struct dnn *dnn, const json_t *root, const char *key, double most,
		      size_t *ret_count)
{
	double value = 0;
	int rc = graph_take_number(dnn->reader, root, key, -1, most, &value);

	if (rc == 0)
		*ret_count = (size_t)value;
	return rc;
}

static int make_machine(struct dnn *dnn, double size)
{
	struct strata_arena *arena = dnn->reader->arena;
	size_t count = dnn->accelerators + dnn->hosts;

	if (count < 1 || count > STRATA_PLACE_DEVICES_MAX)
		return strata_fail_at(dnn->reader->err, -EINVAL, "maxFPGAs",
				      "there are %zu devices; expected 1 to %d", count,
				      STRATA_PLACE_DEVICES_MAX);
	struct strata_device *devices = strata_arena_array(arena, count, sizeof(*devices));

	if (!devices)
		return strata_fail_memory(dnn->reader->err);
	for (size_t i = 0; i < count; i++) {
		bool host = i >= dnn->accelerators;

		devices[i].name = host ? strata_arena_printf(arena, "cpu%zu", i - dnn->accelerators)
				       : strata_arena_printf(arena, "fpga%zu", i);
		devices[i].kind = host ? "cpu" : "fpga";
		devices[i].capacity_bytes = host ? 0 : (int64_t)size;
		devices[i].transfers_free = host;
		if (!devices[i].name)
			return strata_fail_memory(dnn->reader->err);
	}
	dnn->reader->into->machine = (struct strata_machine){ .devices = devices,
							      .device_count = count,
							      .activations_apart = true,
							      .through_host = true };
	dnn->reader->into->graph->device_count = count;
	return 0;
}

static int add_node(struct dnn *dnn, const json_t *node)
{
	struct graph_reader *reader = dnn->reader;
	double times[STRATA_PLACE_DEVICES_MAX], id = 0, host = 0, fast = 0, size = 0, class = 0;
	double backward = 0, supported = 0;
	struct strata_op op = { .times_ns = times, .kv_device = STRATA_NONE };
	uint32_t index = 0;
	void *before = NULL;
	int rc = graph_take_number(reader, node, "id", -1, 1e15, &id);

	if (rc == 0)
		rc = graph_take_number(reader, node, "cpuLatency", -1, 1e12, &host);
	if (rc == 0)
		rc = graph_take_number(reader, node, "fpgaLatency", -1, 1e12, &fast);
	if (rc == 0)
		rc = graph_take_number(reader, node, "size", 0, GRAPH_AMOUNT_MAX, &size);
	if (rc == 0)
		rc = graph_take_number(reader, node, "colorClass", 0, 4e9, &class);
	if (rc == 0)
		rc = graph_take_number(reader, node, "isBackwardNode", 0, 1, &backward);
	if (rc == 0)
		rc = graph_take_number(reader, node, "supportedOnFpga", 1, 1, &supported);
	if (rc == 0)
		rc = graph_take_text(reader, node, "name", &op.name);
	if (rc)
		return rc;
	for (size_t i = 0; i < dnn->accelerators + dnn->hosts; i++)
		times[i] = i >= dnn->accelerators ? host * MS_NS
			   : supported > 0        ? fast * MS_NS
						  : INFINITY;
	op.weight_bytes = (int64_t)size;
	op.group = (uint32_t) class;
	op.phase = backward > 0 ? STRATA_PHASE_BACKWARD : STRATA_PHASE_FORWARD;
	rc = strata_graph_add_op(reader->into->graph, &op, &index, reader->err);
	if (rc)
		return rc;
	if (map_u64_put(&dnn->ids, (uint64_t)id, (void *)((size_t)index + 1), &before))
		return strata_fail_memory(reader->err);
	return before ? strata_fail_at(reader->err, -EINVAL, "nodes", "two nodes have id %g", id)
		      : 0;
}

static int add_edge(struct dnn *dnn, const json_t *edge)
{
	double from = 0, to = 0, cost = 0, size = 0;
	struct graph_reader *reader = dnn->reader;
	int rc = graph_take_number(reader, edge, "sourceId", -1, 1e15, &from);

	if (rc == 0)
		rc = graph_take_number(reader, edge, "destId", -1, 1e15, &to);
	if (rc == 0)
		rc = graph_take_number(reader, edge, "cost", -1, 1e12, &cost);
	if (rc == 0)
		rc = graph_take_number(reader, edge, "size", 0, GRAPH_AMOUNT_MAX, &size);
	if (rc)
		return rc;
	size_t a = (size_t)map_u64_get(&dnn->ids, (uint64_t)from);
	size_t b = (size_t)map_u64_get(&dnn->ids, (uint64_t)to);

	if (!a || !b)
		return strata_fail_at(reader->err, -EINVAL, "edges",
				      "an edge goes from node %g to %g; one is not there", from,
				      to);
	return strata_graph_add_edge(reader->into->graph, (uint32_t)(a - 1), (uint32_t)(b - 1),
				     (int64_t)size, cost * MS_NS, reader->err);
}

static int read_all(struct dnn *dnn, const json_t *root)
{
	const json_t *nodes = NULL, *edges = NULL;
	double size = 0;
	int rc = take_count(dnn, root, "maxFPGAs", STRATA_PLACE_DEVICES_MAX, &dnn->accelerators);

	if (rc == 0)
		rc = take_count(dnn, root, "maxCPUs", STRATA_PLACE_DEVICES_MAX, &dnn->hosts);
	if (rc == 0)
		rc = graph_take_number(dnn->reader, root, "maxSizePerFPGA", 0, GRAPH_AMOUNT_MAX,
				       &size);
	if (rc == 0)
		rc = graph_take_array(dnn->reader, root, "nodes", &nodes);
	if (rc == 0)
		rc = graph_take_array(dnn->reader, root, "edges", &edges);
	if (rc == 0)
		rc = make_machine(dnn, size);
	for (size_t i = 0; i < json_array_size(nodes) && rc == 0; i++)
		rc = add_node(dnn, json_array_get(nodes, i));
	for (size_t i = 0; i < json_array_size(edges) && rc == 0; i++)
		rc = add_edge(dnn, json_array_get(edges, i));
	return rc;
}

int graph_read_dnn(struct graph_reader *reader, const json_t *root)
{
	struct dnn dnn = { .reader = reader };
	int rc;

	reader->into->form = GRAPH_DNN;
	reader->into->unit_ns = MS_NS;
	reader->into->objective = STRATA_THROUGHPUT;
	map_u64_init(&dnn.ids, reader->arena->memory);
	rc = read_all(&dnn, root);
	map_u64_fini(&dnn.ids);
	return rc;
}
