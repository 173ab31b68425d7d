/*
 * roofline: an op takes the longer of computing and of touching memory, and the time to start it. Computing is at the device's peak, that for
 * 16-bit numbers where the op's outputs are such. Times that were measured come first where the graph has them.
 */
#include "place/place_int.h"

struct roofline_conf {
	double efficiency;
};

static const struct strata_option options[] = {
	{ "efficiency", STRATA_REAL, offsetof(struct roofline_conf, efficiency),
	  .real = { 1, 0.001, 1 }, .help = "part of its peaks that a device reaches" },
	{ 0 }
};

static bool is_half(const struct strata_graph *graph, const struct strata_op *op)
{
	for (size_t i = 0; i < op->output_count; i++)
		if (op->outputs[i] != STRATA_NONE) {
			enum strata_dtype dtype = graph->tensors[op->outputs[i]].dtype;

			return dtype == STRATA_DTYPE_F16 || dtype == STRATA_DTYPE_BF16 ||
			       dtype == STRATA_DTYPE_F8;
		}
	return false;
}

static int price(const void *conf_any, const struct strata_graph *graph,
		 const struct strata_machine *machine, struct strata_arena *arena,
		 double *ret_times, struct strata_error *err)
{
	const struct roofline_conf *conf = conf_any;
	size_t d = machine->device_count;

	for (size_t i = 0; i < graph->op_count; i++) {
		const struct strata_op *op = &graph->ops[i];
		bool half = is_half(graph, op);
		double bytes = strata_op_bytes(graph, i);

		for (size_t j = 0; j < d; j++) {
			const struct strata_device *device = &machine->devices[j];
			double peak = half && device->half_flops_per_s > 0
					      ? device->half_flops_per_s
					      : device->flops_per_s;
			double compute = peak > 0 ? op->flops * (1e9 / peak) : 0;
			double memory =
				device->bytes_per_s > 0 ? bytes * (1e9 / device->bytes_per_s) : 0;

			ret_times[i * d + j] = op->times_ns
						       ? op->times_ns[j]
						       : fmax(compute, memory) / conf->efficiency +
								 device->overhead_ns;
		}
	}
	return 0;
}

const struct strata_cost_class strata_cost_roofline = {
	.base = { .name = "roofline",
		  .summary = "the longer of computing and of touching memory, and a start",
		  .conf_size = sizeof(struct roofline_conf),
		  .options = options },
	.price = price,
};
