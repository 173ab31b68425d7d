/* Random questions for the place level: small graphs, machines that are tight or not, groups, KV state, rules. The same seed, the same question. */
#ifndef PLACE_RANDOM_H
#define PLACE_RANDOM_H

#include "test.h"

#include <strata/place.h>
#include <strata/rng.h>

#include <stdio.h>
#include <string.h>

struct place_random {
	struct strata_graph *graph;
	struct strata_device devices[4];
	double rates[16], latencies[16];
	struct strata_machine machine;
	struct strata_place_rule rule;
	struct strata_place_request ask;
};

static inline void place_random_devices(struct place_random *it, struct strata_rng *rng,
					size_t count, int64_t needs)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	bool tight = strata_rng_below(rng, 2);

	for (size_t i = 0; i < count; i++) {
		it->devices[i].name = names[i];
		it->devices[i].kind = i + 1 == count && count > 1 ? "cpu" : "gpu";
		it->devices[i].flops_per_s = 1e9 * (double)(1 + strata_rng_below(rng, 4));
		it->devices[i].bytes_per_s = 1e9 * (double)(1 + strata_rng_below(rng, 4));
		it->devices[i].overhead_ns = (double)strata_rng_below(rng, 3);
		if (tight)
			it->devices[i].capacity_bytes = needs / (int64_t)count +
							(int64_t)strata_rng_below(rng, 60) + 20;
	}
	for (size_t i = 0; i < count * count; i++) {
		it->rates[i] = 1e8 * (double)(1 + strata_rng_below(rng, 20));
		it->latencies[i] = (double)strata_rng_below(rng, 10);
	}
	it->machine = (struct strata_machine){ .devices = it->devices,
					       .device_count = count,
					       .bytes_per_s = it->rates,
					       .latency_ns = it->latencies,
					       .activations_apart = strata_rng_below(rng, 4) != 0 };
}

/* ops 0: 2 to 12 of them. */
static inline void place_random_make(struct place_random *it, uint64_t seed, size_t ops,
				     struct strata_memory *memory)
{
	struct strata_error err;
	struct strata_rng rng;
	int64_t needs = 0;

	memset(it, 0, sizeof(*it));
	strata_rng_init(&rng, seed, 77);
	size_t count = ops ? ops : 2 + strata_rng_below(&rng, 11);
	size_t devices = 1 + strata_rng_below(&rng, 4);
	bool kv = strata_rng_below(&rng, 2), groups = strata_rng_below(&rng, 3) == 0;

	CHECK_OK(strata_graph_new("random", memory, &it->graph, &err));
	for (size_t i = 0; i < count; i++) {
		char name[24];
		struct strata_op op = { .name = name,
					.kind = i % 3 ? "MatMul" : "Add",
					.flops = (double)strata_rng_below(&rng, 50),
					.bytes = (double)strata_rng_below(&rng, 50),
					.weight_bytes = (int64_t)strata_rng_below(&rng, 20),
					.kv_device = STRATA_NONE,
					.group = groups ? (uint32_t)strata_rng_below(&rng, 6) : 0 };

		snprintf(name, sizeof(name), "n%zu", i);
		if (kv && i % 2) {
			op.kv_bytes = (int64_t)strata_rng_below(&rng, 20);
			op.kv_device = (uint32_t)strata_rng_below(&rng, devices);
		}
		needs += op.weight_bytes + op.kv_bytes;
		CHECK_OK(strata_graph_add_op(it->graph, &op, NULL, &err));
	}
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = (uint32_t)strata_rng_below(&rng, 3); k > 0; k--)
			CHECK_OK(strata_graph_add_edge(
				it->graph, (uint32_t)strata_rng_below(&rng, i), i,
				(int64_t)strata_rng_below(&rng, 30), -1, &err));
	CHECK_OK(strata_graph_finish(it->graph, &err));
	place_random_devices(it, &rng, devices, needs);
	it->ask = (struct strata_place_request){
		.graph = it->graph,
		.machine = &it->machine,
		.objective = (enum strata_objective)strata_rng_below(&rng, STRATA_OBJECTIVE_COUNT),
		.fixed_order = strata_rng_below(&rng, 2),
		.budget = { .visits = 20000 },
		.seed = seed
	};
	if (strata_rng_below(&rng, 3) == 0) {
		it->rule = (struct strata_place_rule){
			.ops = "n1*",
			.device = (uint32_t)strata_rng_below(&rng, devices),
			.forbid = devices > 1 && strata_rng_below(&rng, 2)
		};
		it->ask.rules = &it->rule;
		it->ask.rule_count = 1;
	}
}

#endif
