/* Small exported models on a grid of made-up machines, nothing configured: `auto` gives a plan that keeps every rule. */
#include "kept.h"

#include <strata/adaptive.h>
#include <strata/detector.h>
#include <strata/onnx.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static const char *const models[] = { "bert_cls",         "clip_mini",          "gpt2_decode",
				      "gpt2_prefill",     "llama_gqa_decode",   "lstm_lm",
				      "mobilenet_mini",   "resnet_mini",        "sd_unet_mini",
				      "vae_decoder_mini", "gpt2_decode_dynamic" };

enum { MODELS = sizeof(models) / sizeof(models[0]), MACHINES = 24 };

struct made {
	struct strata_device devices[4];
	double rates[16], latencies[16];
	struct strata_machine machine;
};

/* One to three accelerators, alike or not, with room for a half to four times the model, on slow or fast links; a host with room for all. */
static void make_machine(struct made *made, size_t index, int64_t needs)
{
	static const char *const names[] = { "gpu0", "gpu1", "gpu2" };
	static const double room[] = { 0.5, 1, 4 };
	size_t count = 1 + index % 3, d;
	double part = room[index / 3 % 3] / (double)count;
	bool alike = index / 9 % 2, fast = index / 6 % 2;

	memset(made, 0, sizeof(*made));
	for (d = 0; d < count; d++)
		made->devices[d] = (struct strata_device){
			.name = names[d],
			.kind = "gpu",
			.flops_per_s = 1e13 * (alike ? 1 : (double)(d + 1)),
			.half_flops_per_s = 1e14,
			.bytes_per_s = 5e11,
			.overhead_ns = 2000,
			.capacity_bytes = (int64_t)((double)needs * part) + 4096,
		};
	made->devices[d++] = (struct strata_device){ .name = "cpu",
						     .kind = "cpu",
						     .flops_per_s = 5e11,
						     .bytes_per_s = 4e10,
						     .overhead_ns = 500,
						     .capacity_bytes = 8 * needs + (64 << 20) };
	for (size_t i = 0; i < d * d; i++) {
		made->rates[i] = fast ? 2e11 : 1e10;
		made->latencies[i] = fast ? 2000 : 15000;
	}
	made->machine = (struct strata_machine){ .devices = made->devices,
						 .device_count = d,
						 .bytes_per_s = made->rates,
						 .latency_ns = made->latencies };
}

/* auto, as the program does it. */
static int plan_auto(struct strata_graph *graph, const struct strata_findings *findings,
		     const struct strata_machine *machine, struct strata_arena *arena,
		     struct strata_place_plan *ret_plan)
{
	struct strata_adaptive_conf conf = { 0 };
	struct strata_adaptive_facts facts = { .workload = strata_workload_name(findings->workload),
					       .device_count = machine->device_count };
	struct strata_adaptive_choice choice;
	struct strata_adaptive *adaptive;
	struct strata_registry *registry;
	struct strata_spec *specs;
	struct strata_place_request ask = { .graph = graph, .machine = machine };

	CHECK_OK(strata_adaptive_new(&conf, &memory, &adaptive, &err));
	CHECK_OK(strata_adaptive_decide(adaptive, &facts, arena, &choice, &err));
	CHECK_OK(strata_registry_new(&strata_strategy_kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read_list(registry, choice.strategies, strlen(choice.strategies),
				       arena, &specs, &ask.strategy_count, &err));
	ask.strategies = specs;
	int rc = strata_place_plan(&ask, arena, ret_plan, &err);

	if (rc == 0) {
		struct strata_place_plan again;

		CHECK_OK(strata_place_simulate(&ask, ret_plan->device, ret_plan->order, arena,
					       &again, &err));
		CHECK(ret_plan->value <= ret_plan->results[0].value);
	}
	strata_registry_free(registry);
	strata_adaptive_free(adaptive);
	return rc;
}

TEST(auto_places_models_it_has_never_seen)
{
	int valid = 0, split = 0;

	for (size_t m = 0; m < MODELS; m++) {
		struct strata_graph *graph;
		struct strata_findings findings;
		struct strata_arena arena;
		char path[128];
		int64_t needs = 0;

		snprintf(path, sizeof(path), "%s.onnx", models[m]);
		strata_arena_init(&arena, &memory, 0);
		CHECK_OK(strata_onnx_open(kept_file("onnx", path), NULL, 0, &memory, &graph, NULL,
					  &err));
		CHECK_OK(strata_graph_detect(graph, NULL, &arena, &findings, &err));
		for (size_t i = 0; i < graph->op_count; i++)
			needs += strata_op_weight_bytes(graph, i) + strata_op_kv_bytes(graph, i);
		for (size_t k = 0; k < MACHINES; k++) {
			struct made made;
			struct strata_place_plan plan;

			make_machine(&made, k, needs);
			if (plan_auto(graph, &findings, &made.machine, &arena, &plan))
				continue;
			valid++;
			size_t used = 0;

			for (size_t d = 0; d < made.machine.device_count; d++)
				used += plan.devices[d].op_count > 0;
			split += used > 1;
		}
		strata_arena_fini(&arena);
		strata_graph_free(graph);
	}
	CHECK(valid * 100 >= 95 * MODELS * MACHINES);
	CHECK(split * 10 >= valid); /* where the accelerators do not hold it */
	CHECK_INT(memory.used_bytes, 0);
}
