/* Machines and requests: see machine.h. Nothing is decided here, not even whether a job fits. */
#include "sim/machine.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

int machine_init_flat(struct machine *machine, int64_t procs, struct strata_arena *arena,
		      struct strata_error *err)
{
	struct strata_node_conf *node = strata_arena_get(arena, sizeof(*node));

	if (!node)
		return strata_fail_memory(err);
	*node = (struct strata_node_conf){ .name = "pool", .cpu_milli = procs * 1000 };
	*machine =
		(struct machine){ .nodes = node, .node_count = 1, .flat = true, .capacity = procs };
	return 0;
}

int machine_init_nodes(struct machine *machine, const struct openb_node *rows, size_t count,
		       struct strata_arena *arena, struct strata_error *err)
{
	struct strata_node_conf *nodes = strata_arena_array(arena, count, sizeof(*nodes));
	struct machine made = { .nodes = nodes, .node_count = count };
	int64_t cpu_milli = 0;

	if (!nodes)
		return strata_fail_memory(err);
	if (count == 0)
		return strata_fail(err, -EINVAL, "the table has no nodes; expected at least one");
	for (size_t i = 0; i < count; i++) {
		if (rows[i].gpu_count > STRATA_NODE_GPUS_MAX)
			return strata_fail(err, -EINVAL,
					   "node %.60s has %" PRId64 " GPUs; expected at most %d",
					   rows[i].name, rows[i].gpu_count, STRATA_NODE_GPUS_MAX);
		nodes[i] = (struct strata_node_conf){
			.name = rows[i].name,
			.cpu_milli = rows[i].cpu_milli,
			.memory_bytes = rows[i].memory_mib * MIB,
			.gpu_count = (uint32_t)rows[i].gpu_count,
			.gpu_type = rows[i].gpu_count ? rows[i].gpu_model : NULL,
		};
		made.has_memory |= rows[i].memory_mib > 0;
		made.gpu_count += rows[i].gpu_count;
		cpu_milli += rows[i].cpu_milli;
	}
	made.capacity = made.gpu_count ? made.gpu_count * OPENB_GPU_MILLI : cpu_milli;
	if (made.capacity == 0)
		return strata_fail(err, -EINVAL, "the nodes have neither GPUs nor CPUs");
	*machine = made;
	return 0;
}

static struct strata_job_request demand_request(const struct machine *machine,
						const struct swf_demand *demand)
{
	bool shared = demand->gpus > 0 && demand->gpu_milli < SWF_DEMAND_GPU_MILLI;
	bool any = !demand->gpu_models || !*demand->gpu_models;

	return (struct strata_job_request){
		.tasks = (uint32_t)demand->nodes,
		.nodes = (uint32_t)demand->nodes,
		.cpu_milli = demand->cpu_milli,
		.memory_bytes = machine->has_memory ? demand->memory_mib * MIB : 0,
		.gpus = shared ? 0 : (uint32_t)demand->gpus,
		.gpu_milli = shared ? (uint32_t)demand->gpu_milli : 0,
		.gpu_type = any ? NULL : demand->gpu_models,
	};
}

struct strata_job_request machine_request(const struct machine *machine,
					  const struct strata_swf_arrival *arrival,
					  const struct swf_demand *demand)
{
	struct strata_job_request request = { .tasks = 1 };

	if (machine->flat)
		request.cpu_milli = arrival->procs * 1000;
	else if (demand)
		request = demand_request(machine, demand);
	else
		request = (struct strata_job_request){
			.tasks = (uint32_t)arrival->procs,
			.cpu_milli = machine->gpu_count ? 0 : 1000,
			.gpus = machine->gpu_count ? 1 : 0,
		};
	request.band = STRATA_BAND_NORMAL;
	request.time_limit_ns = arrival->requested_ns > arrival->run_ns ? arrival->requested_ns
									: arrival->run_ns;
	if (request.time_limit_ns < 1)
		request.time_limit_ns = 1;
	return request;
}

int64_t machine_size(const struct machine *machine, const struct strata_job_request *request)
{
	if (machine->flat)
		return request->cpu_milli / 1000;
	if (machine->gpu_count)
		return (int64_t)request->tasks *
		       ((int64_t)request->gpus * OPENB_GPU_MILLI + request->gpu_milli);
	return (int64_t)request->tasks * request->cpu_milli;
}

/* The band that the header gives a queue; false: it says nothing of it. */
static bool find_band(const struct strata_swf *swf, int64_t queue, enum strata_band *ret_band)
{
	for (size_t i = 0; i < swf->note_count; i++) {
		const char *value = swf->notes[i].value;
		size_t digits = strspn(value, "0123456789");
		int64_t number;

		if (strcmp(swf->notes[i].key, "Queue") != 0 ||
		    strata_int_parse(value, digits, 0, INT64_MAX, &number, NULL) || number != queue)
			continue;
		value += digits + strspn(value + digits, " ");
		for (int band = 0; band < STRATA_BAND_COUNT; band++)
			if (strcmp(value, strata_band_name((enum strata_band)band)) == 0) {
				*ret_band = (enum strata_band)band;
				return true;
			}
	}
	return false;
}

int machine_bands(const struct strata_swf *swf, const struct strata_swf_arrival *arrivals,
		  size_t count, struct strata_arena *arena, enum strata_band **ret_bands,
		  struct strata_error *err)
{
	enum strata_band *bands = strata_arena_array(arena, count, sizeof(*bands));
	int64_t last_queue = -1;
	enum strata_band last = STRATA_BAND_NORMAL;

	if (!bands)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		int64_t queue = swf->jobs[arrivals[i].job].queue;

		if (queue != last_queue && !find_band(swf, queue, &last))
			last = STRATA_BAND_NORMAL;
		last_queue = queue;
		bands[i] = last;
	}
	*ret_bands = bands;
	return 0;
}
