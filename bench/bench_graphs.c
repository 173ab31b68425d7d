/*
 * What placing a model costs, and what learning is worth. First: CPU time in ms to place layered random graphs of so many ops on 8 devices
 * with the default budget, and how much better the plan is than the best single device. Then: prices that are wrong by log-normal noise of
 * 0.3 for each kind of op and device, devices that drift to 0.5 to 2 times their speed; after 20 observed runs the plan chosen with
 * corrected prices is measured with the true ones, beside the plan that knew them; and how many features of the adaptive scheduler that
 * experience enabled were withdrawn again.
 *
 *	bench_graphs [speed|learning]
 */
#include <strata/adaptive.h>
#include <strata/rng.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 8, KINDS = 6, RUNS = 20, INSTANCES = 100 };

static struct strata_memory memory;
static struct strata_error err;
static struct strata_device devices[DEVICES];
static double rates[DEVICES * DEVICES], latencies[DEVICES * DEVICES];
static struct strata_machine machine = {
	.devices = devices, .bytes_per_s = rates, .latency_ns = latencies, .activations_apart = true
};

static void must(int rc)
{
	if (rc) {
		fprintf(stderr, "bench_graphs: %s\n", err.text);
		exit(1);
	}
}

static double cpu_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void make_machine(size_t count, uint64_t seed)
{
	static const char *const names[DEVICES] = {
		"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"
	};
	struct strata_rng rng;

	strata_rng_init(&rng, seed, 1);
	machine.device_count = count;
	for (size_t i = 0; i < count; i++)
		devices[i] = (struct strata_device){
			.name = names[i],
			.kind = "gpu",
			.flops_per_s = 1e13 * (1 + strata_rng_real(&rng)),
			.bytes_per_s = 5e11 * (1 + strata_rng_real(&rng)),
			.overhead_ns = 5000,
		};
	for (size_t i = 0; i < count * count; i++) {
		rates[i] = 2e10;
		latencies[i] = 5000;
	}
}

/* Layers of a few ops each, every op reading one to three of the layer before. */
static struct strata_graph *make_graph(size_t ops, size_t width, uint64_t seed)
{
	static const char *const kinds[KINDS] = {
		"MatMul", "Conv", "Add", "Softmax", "Gelu", "Norm"
	};
	struct strata_graph *graph;
	struct strata_rng rng;

	strata_rng_init(&rng, seed, 2);
	must(strata_graph_new("random", &memory, &graph, &err));
	for (size_t i = 0; i < ops; i++) {
		struct strata_op op = { .name = "",
					.kind = kinds[strata_rng_below(&rng, KINDS)],
					.flops = 1e9 * strata_rng_real(&rng) *
						 strata_rng_real(&rng) * 4,
					.bytes = 1e7 * strata_rng_real(&rng),
					.weight_bytes = (int64_t)strata_rng_below(&rng, 1 << 20),
					.kv_device = STRATA_NONE };

		must(strata_graph_add_op(graph, &op, NULL, &err));
		for (size_t k = 1 + strata_rng_below(&rng, 3); i >= width && k > 0; k--)
			must(strata_graph_add_edge(
				graph,
				(uint32_t)((i / width - 1) * width + strata_rng_below(&rng, width)),
				(uint32_t)i, (int64_t)strata_rng_below(&rng, 1 << 20), -1, &err));
	}
	must(strata_graph_finish(graph, &err));
	return graph;
}

static void speed(void)
{
	static const size_t sizes[] = { 100, 1000, 10000, 100000 };

	printf("ops      devices  ms       latency of single   throughput of single\n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double gain[2], ms[2];

		for (int objective = 0; objective < 2; objective++) {
			struct strata_arena arena;
			struct strata_place_plan plan;

			strata_arena_init(&arena, &memory, 0);
			make_machine(DEVICES, 5);
			struct strata_graph *graph = make_graph(sizes[i], 10, 7);
			struct strata_place_request ask = {
				.graph = graph,
				.machine = &machine,
				.objective = (enum strata_objective)objective
			};
			double begin = cpu_ms();

			must(strata_place_plan(&ask, &arena, &plan, &err));
			ms[objective] = cpu_ms() - begin;
			gain[objective] = plan.value / plan.results[0].value;
			strata_arena_fini(&arena);
			strata_graph_free(graph);
		}
		printf("%-8zu %-8d %.1f/%.1f  %.3f  %.3f\n", sizes[i], DEVICES, ms[0], ms[1],
		       gain[0], gain[1]);
	}
}

/* ---- learning ---- */

struct world {
	double factor[KINDS][DEVICES]; /* true over predicted */
};

static size_t kind_of(const char *kind)
{
	return (size_t)(strchr("MCASGN", kind[0]) - "MCASGN");
}

/* What a plan really takes: the same simulation with the true prices, given as measured times. */
static double true_ns(const struct strata_place_request *ask, struct strata_graph *graph,
		      const struct strata_place_plan *plan)
{
	struct strata_place_request real = *ask;
	struct strata_place_plan measured;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	real.graph = graph;
	real.corrections = NULL;
	must(strata_place_simulate(&real, plan->device, plan->order, &arena, &measured, &err));
	double value = measured.value;

	strata_arena_fini(&arena);
	return value;
}

/* The same graph with the world's times written down. */
static struct strata_graph *make_true(const struct strata_graph *graph, const struct world *world)
{
	struct strata_graph *real;

	must(strata_graph_new("true", &memory, &real, &err));
	real->device_count = machine.device_count;
	for (size_t i = 0; i < graph->op_count; i++) {
		struct strata_op op = graph->ops[i];
		double times[DEVICES];

		for (size_t d = 0; d < machine.device_count; d++)
			times[d] = (fmax(op.flops * 1e9 / devices[d].flops_per_s,
					 op.bytes * 1e9 / devices[d].bytes_per_s) +
				    devices[d].overhead_ns) *
				   world->factor[kind_of(op.kind)][d];
		op.times_ns = times;
		must(strata_graph_add_op(real, &op, NULL, &err));
	}
	for (size_t e = 0; e < graph->edge_count; e++)
		must(strata_graph_add_edge(real, graph->edges[e].from, graph->edges[e].to,
					   graph->edges[e].bytes, -1, &err));
	must(strata_graph_finish(real, &err));
	return real;
}

/* One run of a plan: every op is observed, with noise. */
static void observe(const struct strata_graph *graph, const struct strata_graph *real,
		    const struct strata_place_plan *plan, struct strata_rng *rng,
		    struct strata_corrections *corrections)
{
	for (size_t i = 0; i < graph->op_count; i++) {
		uint32_t d = plan->device[i];
		const struct strata_op *op = &graph->ops[i];
		double predicted = fmax(op->flops * 1e9 / devices[d].flops_per_s,
					op->bytes * 1e9 / devices[d].bytes_per_s) +
				   devices[d].overhead_ns;
		double noise = exp(0.3 * strata_rng_normal(rng));

		must(strata_corrections_observe(corrections, op->kind, d, predicted,
						real->ops[i].times_ns[d] * noise, &err));
	}
}

static double learn_one(uint64_t seed, struct strata_adaptive *adaptive)
{
	struct strata_arena arena;
	struct strata_rng rng;
	struct world world;
	struct strata_corrections *corrections;
	struct strata_place_plan plan, best;
	double drift[DEVICES];

	strata_arena_init(&arena, &memory, 0);
	strata_rng_init(&rng, seed, 3);
	make_machine(3, seed);
	for (size_t d = 0; d < 3; d++)
		drift[d] = exp2(2 * strata_rng_real(&rng) - 1);
	for (size_t k = 0; k < KINDS; k++)
		for (size_t d = 0; d < 3; d++)
			world.factor[k][d] = exp(0.3 * strata_rng_normal(&rng)) * drift[d];
	struct strata_graph *graph = make_graph(30, 4, seed), *real = make_true(graph, &world);
	struct strata_place_request ask = { .graph = graph,
					    .machine = &machine,
					    .fixed_order = true };

	must(strata_corrections_new(3, &memory, &corrections, &err));
	ask.corrections = corrections;
	for (int run = 0; run < RUNS; run++) {
		struct strata_adaptive_facts facts = { "other", 3, 0.1, false };
		struct strata_adaptive_choice choice;

		must(strata_adaptive_decide(adaptive, &facts, &arena, &choice, &err));
		ask.budget.visits = 200000;
		must(strata_place_plan(&ask, &arena, &plan, &err));
		observe(graph, real, &plan, &rng, corrections);
		struct strata_adaptive_outcome outcome = {
			.features = choice.features,
			.success = true,
			.predicted_ns = plan.value,
			.observed_ns = true_ns(&ask, real, &plan) *
				       exp(0.3 * strata_rng_normal(&rng)),
			.single_ns = plan.results[0].value,
		};

		must(strata_adaptive_report(adaptive, &outcome, &err));
	}
	must(strata_place_plan(&ask, &arena, &plan, &err));
	struct strata_place_request known = ask;

	known.graph = real;
	known.corrections = NULL;
	must(strata_place_plan(&known, &arena, &best, &err));
	double ratio = true_ns(&ask, real, &plan) / best.value;

	strata_corrections_free(corrections);
	strata_graph_free(real);
	strata_graph_free(graph);
	strata_arena_fini(&arena);
	return ratio;
}

static void learning(void)
{
	uint64_t enabled = 0, withdrawn = 0;
	int within = 0;
	double worst = 0, mean = 0;

	for (uint64_t seed = 0; seed < INSTANCES; seed++) {
		struct strata_adaptive_conf conf = { 0 };
		struct strata_adaptive_metrics metrics;
		struct strata_adaptive *adaptive;

		must(strata_adaptive_new(&conf, &memory, &adaptive, &err));
		double ratio = learn_one(seed, adaptive);

		strata_adaptive_metrics(adaptive, &metrics);
		enabled += metrics.enabled;
		withdrawn += metrics.withdrawn;
		strata_adaptive_free(adaptive);
		within += ratio <= 1.1;
		mean += ratio / INSTANCES;
		worst = fmax(worst, ratio);
	}
	printf("after %d runs: within 10 %% of the choice with true costs in %d of %d, mean %.3f, "
	       "worst %.3f\n",
	       RUNS, within, INSTANCES, mean, worst);
	printf("features enabled by experience: %llu, withdrawn: %llu\n",
	       (unsigned long long)enabled, (unsigned long long)withdrawn);
}

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "speed") == 0)
		speed();
	if (argc < 2 || strcmp(argv[1], "learning") == 0)
		learning();
	return 0;
}
