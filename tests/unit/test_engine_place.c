/* Asking the place level: dimensions from inputs, devices for all nodes, folded ones beside their readers. */
#include "engine_kept.h"

#include "engine/engine.h"

#include <errno.h>

static struct strata_error err;

TEST(every_node_has_a_device_and_both_are_used)
{
	struct engine_value inputs[KEPT_PORTS_MAX] = { 0 };
	struct engine_placing placing;
	struct kept_engine kept;
	size_t on[2] = { 0 };

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0,cpu:0" });
	kept_engine_open(&kept, kept_file("onnx", "sd_unet_mini.onnx"), 0);
	for (size_t i = 0; i < kept.input_count; i++) {
		inputs[i].kind = ONNX_TENSOR;
		inputs[i].rank = kept.inputs[i].rank;
		memcpy(inputs[i].dims, kept.inputs[i].dims, sizeof(inputs[i].dims));
	}
	const struct engine_placing_conf conf = { .devices = kept.engine->devices,
						  .device_count = 2,
						  .objective = STRATA_THROUGHPUT,
						  .cache_device = STRATA_NONE };
	const struct engine_model *model = kept.model->instance.model;

	CHECK_OK(engine_placing_make(&conf, model, inputs, &kept.model->instance.arena, &placing,
				     &err));
	for (size_t i = 0; i < model->onnx.graph.node_count; i++) {
		CHECK(placing.device[i] < 2 && placing.prices_ns[i] >= 0);
		on[placing.device[i]]++;
	}
	CHECK(on[0] > 0 && on[1] > 0);
	CHECK(placing.flops > 0 && placing.load_ns < placing.latency_ns);
	kept_engine_free(&kept);
}

/* Parts of one call follow each other: two devices that are alike make it no quicker. */
TEST(a_call_alone_is_not_split_over_devices_that_are_alike)
{
	struct strata_engine_subgraph subgraph;
	struct strata_engine_metrics metrics;
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0,cpu:0" });
	CHECK(kept.engine->devices[1].wake_ns > 0);
	kept_engine_open(&kept, kept_file("onnx", "clip_mini.onnx"), 0);
	kept_engine_run(&kept);
	strata_engine_metrics(kept.model, &metrics);
	CHECK_TEXT(metrics.strategy, "single");
	CHECK(!strata_engine_subgraph_at(kept.model, 1, &subgraph));
	kept_engine_free(&kept);
}
