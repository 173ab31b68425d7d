/*
 * Small placements whose optimum is known, one JSON object for each: devices, links, nodes with their time on every device, KV state and where it is,
 * edges, the optimum and what some methods reach. Times are in seconds; each device executes its nodes by index.
 */
#include "formats/graph_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS 1e9
enum { REFERENCES_MAX = 32 };

static int read_devices(struct graph_reader *reader, const json_t *root, const json_t *list)
{
	size_t count = json_array_size(list);
	const char *platform = json_string_value(json_object_get(root, "platform"));
	bool host = platform && strstr(platform, "+cpu"); /* the last of them, then */
	struct strata_device *devices;
	int rc = 0;

	if (count < 1 || count > STRATA_PLACE_DEVICES_MAX)
		return strata_fail_at(reader->err, -EINVAL, "devices",
				      "there are %zu devices; expected 1 to %d", count,
				      STRATA_PLACE_DEVICES_MAX);
	devices = strata_arena_array(reader->arena, count, sizeof(*devices));
	if (!devices)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const json_t *from = json_array_get(list, i);
		double capacity = 0, overhead = 0;

		rc = graph_take_number(reader, from, "flops_per_s", -1, GRAPH_AMOUNT_MAX,
				       &devices[i].flops_per_s);
		if (rc == 0)
			rc = graph_take_number(reader, from, "mem_bytes_per_s", -1,
					       GRAPH_AMOUNT_MAX, &devices[i].bytes_per_s);
		if (rc == 0)
			rc = graph_take_number(reader, from, "overhead_s", 0, 1e6, &overhead);
		if (rc == 0)
			rc = graph_take_number(reader, from, "capacity_bytes", 0, GRAPH_AMOUNT_MAX,
					       &capacity);
		devices[i].overhead_ns = overhead * SECOND_NS;
		devices[i].capacity_bytes = (int64_t)capacity;
		devices[i].kind = host && i + 1 == count ? "cpu" : "gpu";
		devices[i].name = strata_arena_printf(reader->arena, "%s%zu", devices[i].kind,
						      host && i + 1 == count ? 0 : i);
		if (!devices[i].name)
			return strata_fail_memory(reader->err);
	}
	reader->into->machine = (struct strata_machine){ .devices = devices,
							 .device_count = count,
							 .activations_apart = true };
	reader->into->graph->device_count = count;
	return rc;
}

static int read_matrix(struct graph_reader *reader, const json_t *root, const char *key,
		       double scale, const double **ret_matrix)
{
	size_t count = reader->into->machine.device_count;
	double *matrix = strata_arena_array(reader->arena, count * count, sizeof(*matrix));
	const json_t *rows = json_object_get(root, key);

	if (!matrix)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < count * count; i++) {
		const json_t *value = json_array_get(json_array_get(rows, i / count), i % count);

		if (!json_is_number(value) || !(json_number_value(value) >= 0) ||
		    json_number_value(value) > GRAPH_AMOUNT_MAX)
			return strata_fail_at(reader->err, -EINVAL, key,
					      "%s is not a table of %zu × %zu numbers", key, count,
					      count);
		matrix[i] = json_number_value(value) * scale;
	}
	*ret_matrix = matrix;
	return 0;
}

static int read_node(struct graph_reader *reader, const json_t *node, size_t index)
{
	size_t count = reader->into->machine.device_count;
	double times[STRATA_PLACE_DEVICES_MAX], weights = 0, kv = 0;
	const json_t *list = json_object_get(node, "time_s");
	const json_t *home = json_object_get(node, "kv_device");
	char name[24];
	struct strata_op op = { .name = name, .times_ns = times, .kv_device = STRATA_NONE };
	int rc = graph_take_number(reader, node, "flops", 0, GRAPH_AMOUNT_MAX, &op.flops);

	if (rc == 0)
		rc = graph_take_number(reader, node, "bytes", 0, GRAPH_AMOUNT_MAX, &op.bytes);
	if (rc == 0)
		rc = graph_take_number(reader, node, "weight_bytes", 0, GRAPH_AMOUNT_MAX, &weights);
	if (rc == 0)
		rc = graph_take_number(reader, node, "kv_bytes", 0, GRAPH_AMOUNT_MAX, &kv);
	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_array_get(list, i);

		times[i] = json_is_number(value) ? json_number_value(value) * SECOND_NS : -1;
		if (!(times[i] >= 0) || !isfinite(times[i]))
			return strata_fail_at(reader->err, -EINVAL, "time_s",
					      "node %zu has no time for each of %zu devices", index,
					      count);
	}
	if (json_is_integer(home) &&
	    (json_integer_value(home) < 0 || json_integer_value(home) >= (json_int_t)count))
		return strata_fail_at(reader->err, -EINVAL, "kv_device",
				      "node %zu has its KV state on no device", index);
	if (json_is_integer(home))
		op.kv_device = (uint32_t)json_integer_value(home);
	snprintf(name, sizeof(name), "n%zu", index);
	op.weight_bytes = (int64_t)weights;
	op.kv_bytes = (int64_t)kv;
	return strata_graph_add_op(reader->into->graph, &op, NULL, reader->err);
}

static int read_edge(struct graph_reader *reader, const json_t *edge)
{
	json_int_t from = json_integer_value(json_array_get(edge, 0));
	json_int_t to = json_integer_value(json_array_get(edge, 1));
	double bytes = json_number_value(json_array_get(edge, 2));

	if (json_array_size(edge) != 3 || from < 0 || to < 0 || from > UINT32_MAX - 1 ||
	    to > UINT32_MAX - 1 || !(bytes >= 0) || bytes > GRAPH_AMOUNT_MAX)
		return strata_fail_at(reader->err, -EINVAL, "edges",
				      "an edge is not [from, to, bytes]");
	return strata_graph_add_edge(reader->into->graph, (uint32_t)from, (uint32_t)to,
				     (int64_t)bytes, -1, reader->err);
}

static int read_references(struct graph_reader *reader, const json_t *root)
{
	struct graph_reference *list =
		strata_arena_array(reader->arena, REFERENCES_MAX, sizeof(*list));
	const json_t *optimum = json_object_get(root, "optimum_s"), *value;
	const char *key;
	size_t count = 0;

	if (!list)
		return strata_fail_memory(reader->err);
	if (json_is_number(optimum))
		list[count++] = (struct graph_reference){ "optimum", json_number_value(optimum) };
	json_object_foreach((json_t *)json_object_get(root, "reference_s"), key, value)
	{
		if (count == REFERENCES_MAX)
			break;
		const char *name = strata_arena_text(reader->arena, key, strlen(key));

		if (!name)
			return strata_fail_memory(reader->err);
		list[count++] = (struct graph_reference){ name, json_is_number(value)
									? json_number_value(value)
									: NAN };
	}
	reader->into->references = list;
	reader->into->reference_count = count;
	return 0;
}

int graph_read_opt(struct graph_reader *reader, const json_t *root)
{
	const json_t *devices = NULL, *nodes = NULL, *edges = NULL;
	const char *id = NULL;
	struct graph_case *into = reader->into;
	int rc = graph_take_array(reader, root, "devices", &devices);

	into->form = GRAPH_OPT;
	into->unit_ns = SECOND_NS;
	into->fixed_order = true;
	if (rc == 0)
		rc = graph_take_array(reader, root, "nodes", &nodes);
	if (rc == 0)
		rc = graph_take_array(reader, root, "edges", &edges);
	if (rc == 0)
		rc = graph_take_text(reader, root, "id", &id);
	if (rc == 0)
		rc = read_devices(reader, root, devices);
	if (rc == 0)
		rc = read_matrix(reader, root, "link_bytes_per_s", 1, &into->machine.bytes_per_s);
	if (rc == 0)
		rc = read_matrix(reader, root, "link_latency_s", SECOND_NS,
				 &into->machine.latency_ns);
	for (size_t i = 0; i < json_array_size(nodes) && rc == 0; i++)
		rc = read_node(reader, json_array_get(nodes, i), i);
	for (size_t i = 0; i < json_array_size(edges) && rc == 0; i++)
		rc = read_edge(reader, json_array_get(edges, i));
	if (rc == 0)
		rc = read_references(reader, root);
	if (rc)
		return rc;
	into->name = strata_arena_text(reader->arena, id, strlen(id));
	return into->name ? 0 : strata_fail_memory(reader->err);
}
