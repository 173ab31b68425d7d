/*
 * The documented JSON form of a graph, and of devices, by option tables: docs/place.md shows it. Tensors are named; an op names those it reads and
 * makes, and a tensor that is only named is made up. Edges are for graphs without tensors.
 */
#include "formats/graph_reader.h"

#include "core/map.h"
#include "core/option.h"

#include <errno.h>
#include <string.h>

#define BYTES_MAX (INT64_C(1) << 60)

/* ---- tables ---- */

static const struct strata_choice dtype_choices[] = { { "none", STRATA_DTYPE_NONE },
						      { "f64", STRATA_DTYPE_F64 },
						      { "f32", STRATA_DTYPE_F32 },
						      { "f16", STRATA_DTYPE_F16 },
						      { "bf16", STRATA_DTYPE_BF16 },
						      { "f8", STRATA_DTYPE_F8 },
						      { "i64", STRATA_DTYPE_I64 },
						      { "i32", STRATA_DTYPE_I32 },
						      { "i16", STRATA_DTYPE_I16 },
						      { "i8", STRATA_DTYPE_I8 },
						      { "u64", STRATA_DTYPE_U64 },
						      { "u32", STRATA_DTYPE_U32 },
						      { "u16", STRATA_DTYPE_U16 },
						      { "u8", STRATA_DTYPE_U8 },
						      { "bool", STRATA_DTYPE_BOOL },
						      { "text", STRATA_DTYPE_TEXT },
						      { "c64", STRATA_DTYPE_C64 },
						      { "c128", STRATA_DTYPE_C128 },
						      { 0 } };
static const struct strata_choice role_choices[] = { { "activation", STRATA_ROLE_ACTIVATION },
						     { "input", STRATA_ROLE_INPUT },
						     { "output", STRATA_ROLE_OUTPUT },
						     { "weight", STRATA_ROLE_WEIGHT },
						     { "kv", STRATA_ROLE_KV },
						     { 0 } };
static const struct strata_choice phase_choices[] = {
	{ "forward", STRATA_PHASE_FORWARD },   { "prefill", STRATA_PHASE_PREFILL },
	{ "decode", STRATA_PHASE_DECODE },     { "encode", STRATA_PHASE_ENCODE },
	{ "denoise", STRATA_PHASE_DENOISE },   { "decode_image", STRATA_PHASE_DECODE_IMAGE },
	{ "backward", STRATA_PHASE_BACKWARD }, { 0 }
};
static const struct strata_choice modality_choices[] = {
	{ "none", STRATA_MODALITY_NONE },   { "text", STRATA_MODALITY_TEXT },
	{ "image", STRATA_MODALITY_IMAGE }, { "audio", STRATA_MODALITY_AUDIO },
	{ "mixed", STRATA_MODALITY_MIXED }, { 0 }
};

static const struct strata_option text_item = { .type = STRATA_TEXT, .flags = STRATA_OPAQUE };
static const struct strata_option size_item = { .type = STRATA_INT,
						.integer = { 0, 0, BYTES_MAX } };
static const struct strata_option time_item = { .type = STRATA_REAL, .real = { 0, 0, 1e18 } };

struct tensor_conf {
	const char *name;
	int dtype, role;
	struct strata_list shape;
	int64_t bytes, tied, device;
};
static const struct strata_option tensor_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct tensor_conf, name),
	  .flags = STRATA_OPAQUE | STRATA_REQUIRED, .help = "by which ops name it" },
	{ "dtype", STRATA_ENUM, offsetof(struct tensor_conf, dtype),
	  .choice = { dtype_choices, STRATA_DTYPE_NONE }, .help = "of an element" },
	{ "role", STRATA_ENUM, offsetof(struct tensor_conf, role),
	  .choice = { role_choices, STRATA_ROLE_ACTIVATION }, .help = "what it is" },
	{ "shape", STRATA_LIST, offsetof(struct tensor_conf, shape),
	  .list = { &size_item, STRATA_TENSOR_RANK_MAX }, .help = "its dimensions" },
	{ "bytes", STRATA_BYTES, offsetof(struct tensor_conf, bytes),
	  .integer = { 0, 0, BYTES_MAX }, .help = "its size; by shape and dtype when left out" },
	{ "tied", STRATA_INT, offsetof(struct tensor_conf, tied), .integer = { 0, 0, INT32_MAX },
	  .help = "weights with the same number are one" },
	{ "device", STRATA_INT, offsetof(struct tensor_conf, device),
	  .integer = { -1, -1, STRATA_PLACE_DEVICES_MAX - 1 },
	  .help = "of KV state: where it is now" },
	{ 0 }
};
static const struct strata_schema tensor_schema = { "tensor", NULL, sizeof(struct tensor_conf),
						    tensor_options };
static const struct strata_option tensor_item = { .type = STRATA_TABLE, .table = &tensor_schema };

struct op_conf {
	const char *name, *kind;
	struct strata_list inputs, outputs, times;
	double flops, bytes;
	int64_t weights, kv, kv_device, activations, group;
	int phase, modality;
};
static const struct strata_option op_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct op_conf, name), .text = { "" },
	  .flags = STRATA_OPAQUE, .help = "by which edges and rules name it" },
	{ "kind", STRATA_TEXT, offsetof(struct op_conf, kind), .text = { "" },
	  .flags = STRATA_OPAQUE, .help = "such as MatMul" },
	{ "inputs", STRATA_LIST, offsetof(struct op_conf, inputs), .list = { &text_item },
	  .help = "tensors that it reads" },
	{ "outputs", STRATA_LIST, offsetof(struct op_conf, outputs), .list = { &text_item },
	  .help = "tensors that it makes" },
	{ "flops", STRATA_REAL, offsetof(struct op_conf, flops), .real = { 0, 0, 1e24 },
	  .help = "operations" },
	{ "bytes", STRATA_REAL, offsetof(struct op_conf, bytes), .real = { -1, -1, 1e18 },
	  .help = "read and written; by its tensors when left out" },
	{ "weight_bytes", STRATA_BYTES, offsetof(struct op_conf, weights),
	  .integer = { 0, 0, BYTES_MAX }, .help = "of weights beside its tensors" },
	{ "kv_bytes", STRATA_BYTES, offsetof(struct op_conf, kv), .integer = { 0, 0, BYTES_MAX },
	  .help = "of KV state beside its tensors" },
	{ "kv_device", STRATA_INT, offsetof(struct op_conf, kv_device),
	  .integer = { -1, -1, STRATA_PLACE_DEVICES_MAX - 1 }, .help = "where that state is now" },
	{ "activation_bytes", STRATA_BYTES, offsetof(struct op_conf, activations),
	  .integer = { 0, 0, BYTES_MAX }, .help = "of scratch while it runs" },
	{ "group", STRATA_INT, offsetof(struct op_conf, group), .integer = { 0, 0, INT32_MAX },
	  .help = "ops with the same number are on one device" },
	{ "phase", STRATA_ENUM, offsetof(struct op_conf, phase),
	  .choice = { phase_choices, STRATA_PHASE_FORWARD }, .help = "when it runs" },
	{ "modality", STRATA_ENUM, offsetof(struct op_conf, modality),
	  .choice = { modality_choices, STRATA_MODALITY_NONE }, .help = "what it works on" },
	{ "times_ns", STRATA_LIST, offsetof(struct op_conf, times),
	  .list = { &time_item, STRATA_PLACE_DEVICES_MAX },
	  .help = "measured, one for each device" },
	{ 0 }
};
static const struct strata_schema op_schema = { "op", NULL, sizeof(struct op_conf), op_options };
static const struct strata_option op_item = { .type = STRATA_TABLE, .table = &op_schema };

struct edge_conf {
	const char *from, *to;
	int64_t bytes;
	double cost;
};
static const struct strata_option edge_options[] = {
	{ "from", STRATA_TEXT, offsetof(struct edge_conf, from),
	  .flags = STRATA_OPAQUE | STRATA_REQUIRED, .help = "name of the op that makes it" },
	{ "to", STRATA_TEXT, offsetof(struct edge_conf, to),
	  .flags = STRATA_OPAQUE | STRATA_REQUIRED, .help = "name of the op that reads it" },
	{ "bytes", STRATA_BYTES, offsetof(struct edge_conf, bytes), .integer = { 0, 0, BYTES_MAX },
	  .help = "that are moved" },
	{ "cost_ns", STRATA_REAL, offsetof(struct edge_conf, cost), .real = { -1, -1, 1e18 },
	  .help = "time to move it; by bytes and link when left out" },
	{ 0 }
};
static const struct strata_schema edge_schema = { "edge", NULL, sizeof(struct edge_conf),
						  edge_options };
static const struct strata_option edge_item = { .type = STRATA_TABLE, .table = &edge_schema };

struct device_conf {
	const char *name, *kind;
	double flops, half, bytes, overhead;
	int64_t capacity, weights, kv, activations;
	bool lost;
};
static const struct strata_option device_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct device_conf, name),
	  .flags = STRATA_OPAQUE | STRATA_REQUIRED, .help = "such as gpu0" },
	{ "kind", STRATA_TEXT, offsetof(struct device_conf, kind), .text = { "gpu" },
	  .flags = STRATA_OPAQUE, .help = "cpu, gpu …" },
	{ "flops_per_s", STRATA_REAL, offsetof(struct device_conf, flops), .real = { 0, 0, 1e24 },
	  .flags = STRATA_REQUIRED, .help = "peak in f32" },
	{ "half_flops_per_s", STRATA_REAL, offsetof(struct device_conf, half),
	  .real = { 0, 0, 1e24 }, .help = "peak in f16; the same when left out" },
	{ "bytes_per_s", STRATA_REAL, offsetof(struct device_conf, bytes), .real = { 0, 0, 1e18 },
	  .flags = STRATA_REQUIRED, .help = "of its memory" },
	{ "overhead_ns", STRATA_REAL, offsetof(struct device_conf, overhead),
	  .real = { 0, 0, 1e12 }, .help = "of starting one op" },
	{ "capacity", STRATA_BYTES, offsetof(struct device_conf, capacity),
	  .integer = { 0, 0, BYTES_MAX }, .help = "of its memory; 0: no limit" },
	{ "weights_max", STRATA_BYTES, offsetof(struct device_conf, weights),
	  .integer = { 0, 0, BYTES_MAX }, .help = "budget for weights; 0: none of its own" },
	{ "kv_max", STRATA_BYTES, offsetof(struct device_conf, kv), .integer = { 0, 0, BYTES_MAX },
	  .help = "budget for KV state" },
	{ "activations_max", STRATA_BYTES, offsetof(struct device_conf, activations),
	  .integer = { 0, 0, BYTES_MAX }, .help = "budget for activations, in every phase" },
	{ "lost", STRATA_BOOL, offsetof(struct device_conf, lost),
	  .help = "nothing may be placed here" },
	{ 0 }
};
static const struct strata_schema device_schema = { "device", NULL, sizeof(struct device_conf),
						    device_options };
static const struct strata_option device_item = { .type = STRATA_TABLE, .table = &device_schema };

struct link_conf {
	const char *from, *to;
	double bytes, latency;
};
static const struct strata_option link_options[] = {
	{ "from", STRATA_TEXT, offsetof(struct link_conf, from),
	  .flags = STRATA_OPAQUE | STRATA_REQUIRED, .help = "a device" },
	{ "to", STRATA_TEXT, offsetof(struct link_conf, to),
	  .flags = STRATA_OPAQUE | STRATA_REQUIRED,
	  .help = "a device; the way back is the same unless it has a row of its own" },
	{ "bytes_per_s", STRATA_REAL, offsetof(struct link_conf, bytes), .real = { 0, 0, 1e18 },
	  .help = "0: infinitely fast" },
	{ "latency_ns", STRATA_REAL, offsetof(struct link_conf, latency), .real = { 0, 0, 1e12 },
	  .help = "before the first byte" },
	{ 0 }
};
static const struct strata_schema link_schema = { "link", NULL, sizeof(struct link_conf),
						  link_options };
static const struct strata_option link_item = { .type = STRATA_TABLE, .table = &link_schema };

struct machine_conf {
	struct strata_list devices, links;
	double bytes, latency;
};
#define MACHINE_ROWS(type, member)                                                                \
	{ "devices", STRATA_LIST, offsetof(type, member.devices),                                 \
	  .list = { &device_item, STRATA_PLACE_DEVICES_MAX }, .help = "of the machine" },         \
		{ "links", STRATA_LIST, offsetof(type, member.links),                             \
		  .list = { &link_item, STRATA_PLACE_DEVICES_MAX * STRATA_PLACE_DEVICES_MAX },    \
		  .help = "between two of them" },                                                \
		{ "link_bytes_per_s", STRATA_REAL, offsetof(type, member.bytes),                  \
		  .real = { 0, 0, 1e18 }, .help = "of links without a row; 0: infinitely fast" }, \
	{                                                                                         \
		"link_latency_ns", STRATA_REAL, offsetof(type, member.latency),                   \
			.real = { 0, 0, 1e12 }, .help = "of links without a row"                  \
	}

struct devices_conf {
	struct machine_conf machine;
};
static const struct strata_option devices_options[] = { MACHINE_ROWS(struct devices_conf, machine),
							{ 0 } };
static const struct strata_schema devices_schema = { "devices", NULL, sizeof(struct devices_conf),
						     devices_options };

struct graph_conf {
	const char *name;
	struct strata_list tensors, ops, edges;
	struct machine_conf machine;
};
static const struct strata_option graph_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct graph_conf, name), .text = { "" },
	  .flags = STRATA_OPAQUE, .help = "of the model" },
	{ "tensors", STRATA_LIST, offsetof(struct graph_conf, tensors), .list = { &tensor_item },
	  .help = "of the model" },
	{ "ops", STRATA_LIST, offsetof(struct graph_conf, ops), .list = { &op_item },
	  .flags = STRATA_REQUIRED, .help = "of the model" },
	{ "edges", STRATA_LIST, offsetof(struct graph_conf, edges), .list = { &edge_item },
	  .help = "between ops, without tensors" },
	MACHINE_ROWS(struct graph_conf, machine),
	{ 0 }
};
static const struct strata_schema graph_schema = { "graph", NULL, sizeof(struct graph_conf),
						   graph_options };

/* ---- devices ---- */

static size_t find_device(const struct machine_conf *conf, const char *name)
{
	const struct device_conf *devices = conf->devices.items;

	for (size_t i = 0; i < conf->devices.count; i++)
		if (strcmp(devices[i].name, name) == 0)
			return i;
	return conf->devices.count;
}

static int set_links(const struct machine_conf *conf, double *rates, double *latencies,
		     struct strata_error *err)
{
	const struct link_conf *links = conf->links.items;
	size_t count = conf->devices.count;

	for (size_t i = 0; i < count * count; i++) {
		rates[i] = conf->bytes;
		latencies[i] = conf->latency;
	}
	for (int own = 0; own < 2; own++) /* ways back first: a row of its own comes over them */
		for (size_t i = 0; i < conf->links.count; i++) {
			size_t from = find_device(conf, links[i].from);
			size_t to = find_device(conf, links[i].to);

			if (from == count || to == count)
				return strata_fail_at(err, -EINVAL, "links",
						      "there is no device \"%.64s\"",
						      from == count ? links[i].from : links[i].to);
			size_t at = own ? from * count + to : to * count + from;

			rates[at] = links[i].bytes;
			latencies[at] = links[i].latency;
		}
	return 0;
}

static void set_device(struct strata_device *device, const struct device_conf *conf)
{
	*device = (struct strata_device){
		.name = conf->name,
		.kind = conf->kind,
		.flops_per_s = conf->flops,
		.half_flops_per_s = conf->half,
		.bytes_per_s = conf->bytes,
		.overhead_ns = conf->overhead,
		.capacity_bytes = conf->capacity,
		.weight_bytes_max = conf->weights,
		.kv_bytes_max = conf->kv,
		.lost = conf->lost,
	};
	for (size_t i = 0; i < STRATA_PHASE_COUNT; i++)
		device->activation_bytes_max[i] = conf->activations;
}

static int make_machine(const struct machine_conf *conf, struct strata_arena *arena,
			struct strata_machine *ret_machine, struct strata_error *err)
{
	const struct device_conf *from = conf->devices.items;
	size_t count = conf->devices.count;
	struct strata_device *devices = strata_arena_array(arena, count, sizeof(*devices));
	double *rates = strata_arena_array(arena, count * count, sizeof(*rates));
	double *latencies = strata_arena_array(arena, count * count, sizeof(*latencies));

	if (!devices || !rates || !latencies)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		set_device(&devices[i], &from[i]);
		if (find_device(conf, from[i].name) != i)
			return strata_fail_at(err, -EINVAL, "devices",
					      "two devices are called \"%.64s\"", from[i].name);
	}
	int rc = set_links(conf, rates, latencies, err);

	if (rc == 0)
		*ret_machine = (struct strata_machine){ .devices = devices,
							.device_count = count,
							.bytes_per_s = rates,
							.latency_ns = latencies };
	return rc;
}

int graph_devices_read(const char *text, size_t length, struct strata_arena *arena,
		       struct strata_machine *ret_machine, struct strata_error *err)
{
	struct devices_conf conf;
	int rc = strata_schema_defaults(&devices_schema, arena, &conf, err);

	if (rc == 0)
		rc = strata_schema_read_json(&devices_schema, text, length, arena, &conf, err);
	if (rc == 0 && conf.machine.devices.count == 0)
		return strata_fail_at(err, -EINVAL, "devices", "there are no devices");
	return rc ? rc : make_machine(&conf.machine, arena, ret_machine, err);
}

/* ---- tensors and ops ---- */

static int add_tensor(struct graph_reader *reader, const struct tensor_conf *conf)
{
	const int64_t *shape = conf->shape.items;
	struct strata_tensor tensor = { .name = conf->name,
					.dtype = (enum strata_dtype)conf->dtype,
					.role = (enum strata_role)conf->role,
					.shaped = conf->shape.count > 0,
					.rank = (uint8_t)conf->shape.count,
					.bytes = conf->bytes,
					.file = STRATA_NONE,
					.tied = (uint32_t)conf->tied,
					.device = conf->device < 0 ? STRATA_NONE
								   : (uint32_t)conf->device };

	for (size_t i = 0; i < conf->shape.count; i++)
		tensor.shape[i] = shape[i];
	int64_t elements = strata_tensor_elements(&tensor);

	tensor.sized = elements >= 0 && elements < BYTES_MAX / 16;
	if (!tensor.bytes && tensor.sized)
		tensor.bytes = elements * strata_dtype_bytes(tensor.dtype);
	return strata_graph_add_tensor(reader->into->graph, &tensor, NULL, reader->err);
}

/* Indexes of tensors by name; those that nobody described are added. */
static int find_tensors(struct graph_reader *reader, const struct strata_list *names,
			const uint32_t **ret_list)
{
	const char *const *texts = names->items;
	uint32_t *list = strata_arena_array(reader->arena, names->count, sizeof(*list));
	int rc = 0;

	if (!list)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < names->count && rc == 0; i++) {
		list[i] = STRATA_NONE;
		if (!*texts[i])
			continue;
		list[i] = strata_graph_find_tensor(reader->into->graph, texts[i], strlen(texts[i]));
		if (list[i] == STRATA_NONE) {
			struct strata_tensor tensor = { .name = texts[i],
							.file = STRATA_NONE,
							.device = STRATA_NONE };

			rc = strata_graph_add_tensor(reader->into->graph, &tensor, &list[i],
						     reader->err);
		}
	}
	*ret_list = list;
	return rc;
}

static int add_op(struct graph_reader *reader, const struct op_conf *conf)
{
	struct strata_op op = {
		.name = conf->name,
		.kind = conf->kind,
		.input_count = (uint32_t)conf->inputs.count,
		.output_count = (uint32_t)conf->outputs.count,
		.flops = conf->flops,
		.bytes = conf->bytes,
		.weight_bytes = conf->weights,
		.kv_bytes = conf->kv,
		.kv_device = conf->kv_device < 0 ? STRATA_NONE : (uint32_t)conf->kv_device,
		.activation_bytes = conf->activations,
		.phase = (enum strata_phase)conf->phase,
		.modality = (enum strata_modality)conf->modality,
		.group = (uint32_t)conf->group,
		.times_ns = conf->times.count ? conf->times.items : NULL,
	};
	struct strata_graph *graph = reader->into->graph;
	int rc = find_tensors(reader, &conf->inputs, &op.inputs);

	if (rc == 0)
		rc = find_tensors(reader, &conf->outputs, &op.outputs);
	if (rc == 0 && op.times_ns && conf->times.count != graph->device_count)
		return strata_fail_at(reader->err, -EINVAL, "times_ns",
				      "op \"%.64s\" has %zu times; others have %zu", conf->name,
				      conf->times.count, graph->device_count);
	return rc ? rc : strata_graph_add_op(graph, &op, NULL, reader->err);
}

static int add_edges(struct graph_reader *reader, const struct graph_conf *conf)
{
	const struct edge_conf *edges = conf->edges.items;
	struct strata_graph *graph = reader->into->graph;
	struct map_text names;
	int rc = 0;

	map_text_init(&names, reader->arena->memory);
	for (size_t i = 0; i < graph->op_count && conf->edges.count && rc == 0; i++) {
		const char *name = graph->ops[i].name;

		if (map_text_put(&names, name, strlen(name), (void *)(i + 1), NULL))
			rc = strata_fail_memory(reader->err);
	}
	for (size_t i = 0; i < conf->edges.count && rc == 0; i++) {
		size_t from = (size_t)map_text_get(&names, edges[i].from, strlen(edges[i].from));
		size_t to = (size_t)map_text_get(&names, edges[i].to, strlen(edges[i].to));

		rc = from && to ? strata_graph_add_edge(graph, (uint32_t)(from - 1),
							(uint32_t)(to - 1), edges[i].bytes,
							edges[i].cost, reader->err)
				: strata_fail_at(reader->err, -EINVAL, "edges",
						 "there is no op \"%.64s\"",
						 from ? edges[i].to : edges[i].from);
	}
	map_text_fini(&names);
	return rc;
}

static int fill(struct graph_reader *reader, const struct graph_conf *conf)
{
	const struct tensor_conf *tensors = conf->tensors.items;
	const struct op_conf *ops = conf->ops.items;
	int rc = 0;

	for (size_t i = 0; i < conf->ops.count && !reader->into->graph->device_count; i++)
		reader->into->graph->device_count = ops[i].times.count;
	for (size_t i = 0; i < conf->tensors.count && rc == 0; i++)
		rc = add_tensor(reader, &tensors[i]);
	for (size_t i = 0; i < conf->ops.count && rc == 0; i++)
		rc = add_op(reader, &ops[i]);
	if (rc == 0)
		rc = add_edges(reader, conf);
	if (rc == 0 && conf->machine.devices.count)
		rc = make_machine(&conf->machine, reader->arena, &reader->into->machine,
				  reader->err);
	return rc;
}

int graph_read_json_form(struct graph_reader *reader, const json_t *root)
{
	struct graph_conf conf;
	int rc = strata_schema_defaults(&graph_schema, reader->arena, &conf, reader->err);

	reader->into->form = GRAPH_JSON;
	if (rc == 0)
		rc = option_read_json(&graph_schema, root, 0, reader->arena, &conf, reader->err);
	if (rc == 0)
		rc = fill(reader, &conf);
	if (rc)
		return rc;
	reader->into->name = strata_arena_text(reader->arena, conf.name, strlen(conf.name));
	return reader->into->name ? 0 : strata_fail_memory(reader->err);
}
