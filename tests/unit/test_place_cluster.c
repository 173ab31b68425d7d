#include "test.h"

#include "sim/input.h"
#include "sim/place_cluster.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

/* ---- by hand ---- */

static const struct openb_node nodes[] = {
	{ "n0", "T4", 8000, 1024, 2 },
	{ "n1", "V100", 8000, 1024, 2 },
};
static const struct openb_pod pods[] = {
	{ "whole", "", "", "", 1000, 100, 1, 1000, -1, -1, -1 },
	{ "half", "T4", "", "", 1000, 100, 1, 500, -1, -1, -1 },
	{ "pair", "V100|A100", "", "", 1000, 100, 2, 1000, -1, -1, -1 },
	{ "cpu", "", "", "", 6000, 100, 0, 0, -1, -1, -1 },
	{ "memory", "", "", "", 0, 1000, 0, 0, -1, -1, -1 },
};

static struct place_conf sample(const uint32_t *sequence, size_t count)
{
	return (struct place_conf){ nodes, 2, pods, 5, sequence, count, { 0 }, false };
}

static struct strata_spec placement(const char *name)
{
	struct strata_registry *registry;
	struct strata_spec spec;

	CHECK_OK(strata_registry_new(&strata_placement_kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, name, strlen(name), &arena, &spec, &err));
	strata_registry_free(registry);
	return spec;
}

static void fresh(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
}

static void check(const struct place_conf *conf, size_t placed, int64_t alloc_milli)
{
	struct place_result result;

	CHECK_OK(place_run(conf, &memory, &result, &err));
	CHECK_INT(result.placed, placed);
	CHECK_INT(result.alloc_milli, alloc_milli);
	CHECK_INT(result.capacity_milli, 4000);
	CHECK_NEAR(result.alloc_percent, (double)alloc_milli / 40, 1e-12);
}

TEST(pods_that_fit_stay_and_others_are_dropped)
{
	static const uint32_t shares[] = { 1, 1, 1, 1, 1 };
	static const uint32_t mixed[] = { 0, 2, 0, 0, 1, 0 };
	static const uint32_t cpu[] = { 3, 3, 3, 0, 0, 0 };
	static const uint32_t much[] = { 4, 4, 4, 0 };
	struct place_conf conf = sample(shares, 5);

	check(&conf, 4, 2000); /* only T4 takes them */
	conf = sample(mixed, 6);
	check(&conf, 3, 4000); /* one on n0, the pair on n1, one on n0; nothing is left */
	conf = sample(cpu, 6);
	check(&conf, 5, 3000);
	conf = sample(much, 4);
	check(&conf, 2, 0); /* no memory is left for the third, and none for `whole` */
	conf = sample(NULL, 0);
	check(&conf, 0, 0);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_batch_comes_largest_first)
{
	static const uint32_t sequence[] = { 0, 0, 0, 2 };
	struct place_conf conf = sample(sequence, 4);

	fresh();
	conf.placement = placement("spread");
	check(&conf, 3, 3000); /* spread out, they leave no room for the pair */
	conf.batch = true;
	check(&conf, 3, 4000);
	fresh();
}

TEST(nodes_of_which_the_memory_is_not_known_take_any)
{
	static const uint32_t sequence[] = { 4, 4, 4, 0 };
	struct openb_node bare[2] = { nodes[0], nodes[1] };
	struct place_conf conf = sample(sequence, 4);

	bare[0].memory_mib = bare[1].memory_mib = 0;
	conf.nodes = bare;
	check(&conf, 4, 1000);
}

TEST(bad_input_is_refused)
{
	static const uint32_t sequence[] = { 0, 5 };
	struct openb_node large = nodes[0];
	struct place_conf conf = sample(sequence, 2);
	struct place_result result = { .placed = 77 };

	CHECK_ERROR(place_run(&conf, &memory, &result, &err), -EINVAL,
		    "arrival 1 is pod 5; there are 5 pods");
	large.gpu_count = 17;
	conf = sample(sequence, 1);
	conf.nodes = &large;
	conf.node_count = 1;
	CHECK_ERROR(place_run(&conf, &memory, &result, &err), -ERANGE, "node n0 has 17 GPUs");
	CHECK_INT(result.placed, 77);
	CHECK_INT(memory.used_bytes, 0);
}

static int run_short(struct strata_memory *limited, void *context, struct strata_error *error)
{
	static const uint32_t sequence[] = { 0, 1, 2, 3, 4, 3 };
	struct place_conf conf = sample(sequence, 6);
	struct place_result result;

	(void)context;
	conf.batch = true;
	return place_run(&conf, limited, &result, error);
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(run_short, NULL);
}

/* ---- the public traces: the integers of traces/README.md ---- */

struct reference {
	const char *workload;
	int number;
	struct {
		size_t placed;
		int64_t alloc_milli;
	} first_fit, best_fit, batch;
	double fgd_percent;
};

static const struct reference references[] = {
	{ "default", 1, { 8345, 5871770 }, { 8254, 5795440 }, { 7171, 5985030 }, 95.260 },
	{ "default", 2, { 8315, 5846520 }, { 8231, 5786130 }, { 7135, 5988210 }, 95.376 },
	{ "default", 3, { 8319, 5864420 }, { 8231, 5784630 }, { 7155, 5983800 }, 95.228 },
	{ "cpu200", 1, { 9127, 5836230 }, { 9019, 5725430 }, { 7701, 5989130 }, 94.055 },
	{ "cpu200", 2, { 9115, 5854440 }, { 9013, 5759060 }, { 7703, 5974980 }, 94.384 },
	{ "cpu200", 3, { 9088, 5804290 }, { 9002, 5730040 }, { 7756, 5988650 }, 94.243 },
	{ "gpushare40", 1, { 8818, 5783850 }, { 8714, 5704090 }, { 7369, 5851750 }, 94.127 },
	{ "gpushare40", 2, { 8826, 5776090 }, { 8712, 5679080 }, { 7314, 5842940 }, 94.060 },
	{ "gpushare40", 3, { 8969, 5780760 }, { 8865, 5687270 }, { 7437, 5840000 }, 94.052 },
	{ "gpuspec20", 1, { 8330, 5858300 }, { 8168, 5802460 }, { 7106, 5840140 }, 94.678 },
	{ "gpuspec20", 2, { 8315, 5855310 }, { 8165, 5801210 }, { 7083, 5850290 }, 94.546 },
	{ "gpuspec20", 3, { 8294, 5845370 }, { 8168, 5808280 }, { 7085, 5829500 }, 94.368 },
	{ "multigpu20", 1, { 7395, 5891250 }, { 7361, 5856410 }, { 5984, 6063660 }, 95.565 },
	{ "multigpu20", 2, { 7245, 5904300 }, { 7218, 5852160 }, { 5910, 6067340 }, 95.755 },
	{ "multigpu20", 3, { 7296, 5875170 }, { 7257, 5843480 }, { 5980, 6065020 }, 95.387 },
};
enum { REFERENCES = sizeof(references) / sizeof(references[0]) };

/* What was read stays: every placement runs on the same. */
static struct strata_memory trace_memory;
static struct strata_arena trace_arena;
static struct place_conf traces[REFERENCES];

static const char *load(const char *name, size_t *ret_length)
{
	char path[64];
	const char *text;

	snprintf(path, sizeof(path), "traces/openb_%s.csv.gz", name);
	CHECK_OK(input_read(env_system(), test_shared_file(path), STRATA_INPUT_BYTES_MAX,
			    &trace_arena, &text, ret_length, &err));
	return text;
}

static void load_trace(const struct reference *reference, struct place_conf *trace)
{
	char name[32];
	size_t length;
	struct openb_node *read_nodes;
	struct openb_pod *read_pods;
	uint32_t *sequence;

	if (!trace_arena.memory)
		strata_arena_init(&trace_arena, &trace_memory, 0);
	const char *text = load("nodes", &length);

	CHECK_OK(openb_read_nodes(text, length, &trace_arena, &read_nodes, &trace->node_count,
				  &err));
	snprintf(name, sizeof(name), "pods_%s", reference->workload);
	text = load(name, &length);
	CHECK_OK(openb_read_pods(text, length, &trace_arena, &read_pods, &trace->pod_count, &err));
	snprintf(name, sizeof(name), "seq_%s_%d", reference->workload, reference->number);
	text = load(name, &length);
	CHECK_OK(openb_read_sequence(text, length, read_pods, trace->pod_count, &trace_arena,
				     &sequence, &trace->sequence_count, &err));
	trace->pods = read_pods;
	trace->sequence = sequence;
	trace->nodes = read_nodes; /* last: now it is complete */
}

static struct place_result run(int number, const char *name, bool batch)
{
	struct place_conf conf;
	struct place_result result;

	if (!traces[number].nodes)
		load_trace(&references[number], &traces[number]);
	fresh();
	conf = traces[number];
	conf.placement = placement(name);
	conf.batch = batch;
	CHECK_OK(place_run(&conf, &memory, &result, &err));
	CHECK_INT(result.capacity_milli, 6212000);
	fresh();
	return result;
}

TEST(first_fit_gives_the_published_integers)
{
	for (int i = 0; i < REFERENCES; i++) {
		struct place_result result = run(i, "first_fit", false);

		CHECK_INT(result.placed, references[i].first_fit.placed);
		CHECK_INT(result.alloc_milli, references[i].first_fit.alloc_milli);
	}
}

TEST(best_fit_gives_the_published_integers)
{
	for (int i = 0; i < REFERENCES; i++) {
		struct place_result result = run(i, "best_fit", false);

		CHECK_INT(result.placed, references[i].best_fit.placed);
		CHECK_INT(result.alloc_milli, references[i].best_fit.alloc_milli);
	}
}

TEST(a_batch_gives_the_published_integers)
{
	for (int i = 0; i < REFERENCES; i++) {
		struct place_result result = run(i, "best_fit", true);

		CHECK_INT(result.placed, references[i].batch.placed);
		CHECK_INT(result.alloc_milli, references[i].batch.alloc_milli);
	}
}

TEST(fgd_gives_the_published_percentages)
{
	double sum = 0;

	for (int i = 0; i < REFERENCES; i++) {
		double percent = run(i, "fgd", false).alloc_percent;

		CHECK_NEAR(percent, references[i].fgd_percent, 0.3);
		sum += i < 3 ? percent : 0;
	}
	CHECK(sum / 3 >= 95.2);
}

/* One sequence of each workload: the others are alike, and it takes longer than the rest together. */
TEST(foresight_allocates_more_than_fgd)
{
	for (int i = 0; i < REFERENCES; i += 3)
		CHECK(run(i, "foresight", false).alloc_percent > references[i].fgd_percent + 0.6);
	CHECK(run(0, "foresight", false).alloc_percent > 96);
}
