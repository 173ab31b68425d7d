/*
 * A cost model as a plug-in: what someone measured, fitted by a line. An op takes a fixed time for each GFLOP and each MB that it touches, whatever
 * the peaks say, and kinds that have a kernel of their own take less.
 *
 *	cc -shared -fPIC -o cost_linear.so cost_linear.c $(pkg-config --cflags --libs strata)
 *	STRATA_PLUGINS=./cost_linear.so strata place model.onnx --cost custom:ns_per_gflop=90000
 */
#include <strata/place.h>

#include <string.h>

struct linear_conf {
	double ns_per_gflop, ns_per_mb, start_ns;
	double fused; /* of the time, when the kind is one that has a kernel of its own */
};

static const struct strata_option options[] = {
	{ .name = "ns_per_gflop",
	  .type = STRATA_REAL,
	  .offset = offsetof(struct linear_conf, ns_per_gflop),
	  .real = { 100000, 0, 1e12 },
	  .help = "time for 1e9 operations" },
	{ .name = "ns_per_mb",
	  .type = STRATA_REAL,
	  .offset = offsetof(struct linear_conf, ns_per_mb),
	  .real = { 2000, 0, 1e12 },
	  .help = "time for 1e6 bytes" },
	{ .name = "start_ns",
	  .type = STRATA_REAL,
	  .offset = offsetof(struct linear_conf, start_ns),
	  .real = { 4000, 0, 1e12 },
	  .help = "time to start one op" },
	{ .name = "fused",
	  .type = STRATA_REAL,
	  .offset = offsetof(struct linear_conf, fused),
	  .real = { 0.5, 0, 1 },
	  .help = "part of that for kinds with a kernel of their own" },
	{ 0 }
};

static int price(const void *conf_any, const struct strata_graph *graph,
		 const struct strata_machine *machine, struct strata_arena *arena,
		 double *ret_times, struct strata_error *err)
{
	const struct linear_conf *conf = conf_any;

	(void)arena;
	(void)err;
	for (size_t i = 0; i < graph->op_count; i++)
		for (size_t d = 0; d < machine->device_count; d++) {
			/* slower devices take longer in proportion to the fastest one's peak */
			double slower = machine->devices[0].flops_per_s /
					machine->devices[d].flops_per_s;
			double work = graph->ops[i].flops / 1e9 * conf->ns_per_gflop +
				      strata_op_bytes(graph, i) / 1e6 * conf->ns_per_mb;

			if (strcmp(graph->ops[i].kind, "Attention") == 0 ||
			    strcmp(graph->ops[i].kind, "LayerNormalization") == 0)
				work *= conf->fused;
			ret_times[i * machine->device_count + d] = work * slower + conf->start_ns;
		}
	return 0;
}

static const struct strata_cost_class custom = {
	.base = { .name = "custom",
		  .aliases = "linear",
		  .summary = "a line through what was measured",
		  .conf_size = sizeof(struct linear_conf),
		  .options = options },
	.price = price,
};

static const struct strata_class *const classes[] = { &custom.base, NULL };

const struct strata_plugin strata_plugin = { STRATA_ABI, "cost", classes };
