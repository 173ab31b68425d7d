/* The small placements whose optimum is known, and what the files of others say of theirs. */
#include "test.h"

#include "bench/graph_sets.h"

#include <strata/adaptive.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static void run(const char *path, const char *name, const char *reference, const char *strategy,
		int64_t visits, struct strata_arena *arena, struct graphs_row **ret_rows,
		size_t *ret_count)
{
	size_t length, reference_length = 0;
	char *text = test_read_file(path, &length);
	char *table = reference ? test_read_file(reference, &reference_length) : NULL;
	struct strata_spec *specs;
	struct graphs_conf conf = { .budget = { .visits = visits } };

	CHECK_OK(strata_spec_build_list(&strata_strategy_kind, strategy, arena, &specs,
					&conf.strategy_count, &err));
	conf.strategies = specs;
	CHECK_OK(graphs_run(text, length, name, table, reference_length, &conf, arena, ret_rows,
			    ret_count, &err));
	free(table);
	free(text);
}

static const char *instances(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/place/instances.jsonl", test_data_dir());
	return path;
}

TEST(all_small_placements_are_optimal)
{
	struct strata_arena arena;
	struct graphs_row *rows;
	struct graphs_summary summary;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	run(instances(), "place/instances.jsonl", NULL, "portfolio", 0, &arena, &rows, &count);
	graphs_summarise(rows, count, "placement_opt", &summary);
	CHECK_INT(summary.count, 48);
	CHECK_INT(summary.equal, 48);
	strata_arena_fini(&arena);
}

TEST(auto_finds_the_optimum_too)
{
	static const char *const workloads[] = { "llm", "cnn", "other" };

	for (size_t i = 0; i < 3; i++) {
		struct strata_adaptive_conf conf = { 0 };
		struct strata_adaptive_facts facts = { .workload = workloads[i],
						       .device_count = 3 };
		struct strata_adaptive_choice choice;
		struct strata_adaptive *adaptive;
		struct strata_arena arena;
		struct graphs_row *rows;
		struct graphs_summary summary;
		size_t count;

		strata_arena_init(&arena, &memory, 0);
		CHECK_OK(strata_adaptive_new(&conf, &memory, &adaptive, &err));
		CHECK_OK(strata_adaptive_decide(adaptive, &facts, &arena, &choice, &err));
		run(instances(), "place/instances.jsonl", NULL, choice.strategies, 0, &arena, &rows,
		    &count);
		graphs_summarise(rows, count, "placement_opt", &summary);
		CHECK_INT(summary.equal, 48);
		strata_adaptive_free(adaptive);
		strata_arena_fini(&arena);
	}
}

/* What a strategy alone comes to in a case; NaN when it does not fit. */
static double alone(const struct graph_case *one, const char *strategy, struct strata_arena *arena)
{
	struct strata_place_request ask = { .graph = one->graph,
					    .machine = &one->machine,
					    .fixed_order = true };
	struct strata_place_plan plan;

	if (strata_place_build(strategy, &ask, arena, &plan, &err))
		return NAN;
	const struct strata_place_result *last = &plan.results[plan.result_count - 1];

	return last->fits ? last->value / one->unit_ns : NAN;
}

static double given(const struct graph_case *one, const char *name)
{
	for (size_t i = 0; i < one->reference_count; i++)
		if (strcmp(one->references[i].name, name) == 0)
			return one->references[i].value;
	return NAN;
}

TEST(rules_of_thumb_come_to_what_the_file_says)
{
	static const char *const names[][2] = { { "single", "best_single" },
						{ "round_robin", "rr" },
						{ "sequential", "seqfill" } };
	struct strata_arena arena;
	struct graph_file file;
	size_t length;
	char *text = test_read_file(instances(), &length);
	double logs[2] = { 0 };
	int fit[2] = { 0 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(graph_file_read(text, length, "x", &arena, &file, &err));
	for (size_t i = 0; i < file.count; i++)
		for (size_t k = 0; k < 3; k++) {
			double want = given(&file.cases[i], names[k][1]);
			double got = alone(&file.cases[i], names[k][0], &arena);

			if (isnan(want))
				CHECK(isnan(got));
			else
				CHECK_NEAR(got, want, 1e-9 * want);
			if (k && !isnan(want)) {
				logs[k - 1] += log(want / given(&file.cases[i], "optimum"));
				fit[k - 1]++;
			}
		}
	/* our plans are the optimum: better than either by twice in geometric mean, where those fit */
	CHECK(exp(logs[0] / fit[0]) >= 2);
	CHECK(exp(logs[1] / fit[1]) >= 2);
	graph_file_fini(&file);
	strata_arena_fini(&arena);
	free(text);
	CHECK_INT(memory.used_bytes, 0);
}

/* One file of the public sets: no row may be worse than its reference by more than `most`. */
static void compare(const char *set, const char *file, const char *table, double most,
		    int64_t visits)
{
	char path[512], name[256], reference[512];
	struct strata_arena arena;
	struct graphs_row *rows;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	snprintf(path, sizeof(path), "graphs/%s/%s", set, file);
	snprintf(reference, sizeof(reference), "graphs/%s", table);
	snprintf(reference, sizeof(reference), "%s", test_shared_file(reference));
	const char *slash = strrchr(set, '/');

	snprintf(name, sizeof(name), "%s/%s", slash ? slash + 1 : set, file);
	char *real = strdup(test_shared_file(path));

	run(real, name, reference, "portfolio", visits, &arena, &rows, &count);
	free(real);
	CHECK(count > 0);
	for (size_t i = 0; i < count; i++) {
		CHECK(!isnan(rows[i].reference));
		if (!(rows[i].ratio <= most))
			test_fail(__FILE__, __LINE__, "%s: %g; the reference is %g", rows[i].name,
				  rows[i].result, rows[i].reference);
	}
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(task_graphs_with_a_known_optimum)
{
	static const char *const files[] = {
		"Nodes_7_OutTree.dot",
		"Nodes_8_Random.dot",
		"Nodes_9_SeriesParallel.dot",
		"Nodes_10_Random.dot",
		"Nodes_11_OutTree.dot",
		"15Nodes10Edges.dot",
		"2p_SeriesParallel-MaxBf-5_Nodes_10_CCR_9.97_WeightType_Random.dot",
		"2p_SeriesParallel-MaxBf-2_Nodes_21_CCR_0.99_WeightType_Random.dot",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		compare("dag_opt", files[i], "dag_opt/reference.tsv", 1.03, 5000000);
}

TEST(standard_task_graphs)
{
	compare("stg50", "rand0000.stg", "stg_reference.tsv", 1.001, 2000000);
	compare("stg50", "rand0004.stg", "stg_reference.tsv", 1.02, 2000000);
	compare("stg_app", "robot.stg", "stg_reference.tsv", 1.01, 2000000);
	compare("rgpos", "in0-4.txt", "rgpos/reference.tsv", 1.003, 2000000);
}

TEST(workflows_are_no_worse_than_heft)
{
	static const char *const files[] = { "bacass-dirt02-001.json",
					     "epigenomics-chameleon-hep-1seq-100k-001.json",
					     "helloworld-forkjoin-10-chameleon.json",
					     "srasearch-chameleon-10a-001.json" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		compare("wfcommons", files[i], "wfcommons/reference.tsv", 1 + 1e-6, 2000000);
}

TEST(pipelines_are_no_worse_than_the_best_contiguous_split)
{
	static const char *const files[] = { "bert24_inference.json", "resnet50_inference.json",
					     "op_resnet50_inference.json", "resnet50_training.json",
					     "op_bert_l-3_inference.json" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		compare("dnn_partitioning/throughput", files[i], "dnn_partitioning/reference.tsv",
			1 + 1e-5, 6000000);
}
