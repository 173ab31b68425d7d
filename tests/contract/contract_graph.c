/* Every reader of graphs: what it reads is what was written, bad input is refused with a sentence, every allocation may fail. */
#include "test.h"

#include "formats/graph_case.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static const char dot[] =
	"digraph \"two\" {\n\t0 [Weight=35];\n// a comment\n\t1 [Weight=88, color=red];\n"
	"\t0 -> 1 [Weight=3];\n}\n";
static const char stg[] = "2\n0 0 0\n1 9 1 0\n2 4 1 0\n3 0 2 1 2\n# the end\n";
static const char rgpos[] = "3 2 4\n5 6 7\n0 1\n0 2\n";
static const char dnn[] = "{\"maxFPGAs\":2,\"maxCPUs\":1,\"maxSizePerFPGA\":100.0,\"nodes\":["
			  "{\"name\":\"a\",\"id\":7,\"supportedOnFpga\":0,\"cpuLatency\":2.5,"
			  "\"fpgaLatency\":1,\"isBackwardNode\":0,"
			  "\"colorClass\":3,\"size\":40},{\"name\":\"b\",\"id\":9,"
			  "\"supportedOnFpga\":1,\"cpuLatency\":5,"
			  "\"fpgaLatency\":0.5,\"isBackwardNode\":1,\"colorClass\":3,\"size\":1}],"
			  "\"edges\":[{\"sourceId\":7,\"destId\":9,\"cost\":0.25,\"size\":8}]}";
static const char opt[] = "{\"id\":\"one\",\"platform\":\"gpu+cpu\",\"devices\":[{\"flops_per_s\":"
			  "1,\"mem_bytes_per_s\":1,\"overhead_s\":0,"
			  "\"capacity_bytes\":50},{\"flops_per_s\":1,\"mem_bytes_per_s\":1}],"
			  "\"link_bytes_per_s\":[[0,10],[10,0]],"
			  "\"link_latency_s\":[[0,1],[1,0]],\"nodes\":[{\"weight_bytes\":3,\"kv_"
			  "bytes\":4,\"kv_device\":1,"
			  "\"time_s\":[1,2]},{\"time_s\":[3,4],\"kv_device\":null}],\"edges\":[[0,"
			  "1,20]],\"optimum_s\":4,"
			  "\"reference_s\":{\"rr\":null,\"heft\":5}}";
static const char workflow[] =
	"{\"workflow\":{\"specification\":{\"tasks\":[{\"id\":\"a\",\"parents\":[],\"outputFiles\":"
	"[\"x\",\"y\"]},"
	"{\"id\":\"b\",\"parents\":[\"a\"],\"inputFiles\":[\"x\",\"z\"]}],\"files\":[{\"id\":\"x\","
	"\"sizeInBytes\":70},"
	"{\"id\":\"y\",\"sizeInBytes\":5},{\"id\":\"z\",\"sizeInBytes\":6}]},\"execution\":{"
	"\"tasks\":["
	"{\"id\":\"a\",\"runtimeInSeconds\":1.5},{\"id\":\"b\",\"runtimeInSeconds\":2}]}}}";
static const char own[] =
	"{\"name\":\"tiny\",\"tensors\":[{\"name\":\"w\",\"role\":\"weight\",\"dtype\":\"f16\","
	"\"shape\":[4,8],\"tied\":2},"
	"{\"name\":\"kv\",\"role\":\"kv\",\"bytes\":\"1KiB\",\"device\":1}],\"ops\":[{\"name\":"
	"\"first\",\"kind\":\"MatMul\","
	"\"inputs\":[\"x\",\"w\",\"\"],\"outputs\":[\"y\"],\"flops\":64},{\"name\":\"second\","
	"\"inputs\":[\"y\",\"kv\"],"
	"\"phase\":\"decode\",\"group\":5}],\"edges\":[{\"from\":\"first\",\"to\":\"second\","
	"\"bytes\":12}],"
	"\"devices\":[{\"name\":\"gpu0\",\"flops_per_s\":1e12,\"bytes_per_s\":1e11,\"capacity\":"
	"\"8GiB\"},"
	"{\"name\":\"cpu0\",\"kind\":\"cpu\",\"flops_per_s\":1e11,\"bytes_per_s\":1e10}],"
	"\"links\":[{\"from\":\"gpu0\",\"to\":\"cpu0\",\"bytes_per_s\":1e10,"
	"\"latency_ns\":5}]}";

struct reading {
	struct strata_arena arena;
	struct graph_file file;
};

static const struct graph_case *read_text(struct reading *reading, const char *text)
{
	strata_arena_init(&reading->arena, &memory, 0);
	CHECK_OK(graph_file_read(text, strlen(text), "x", &reading->arena, &reading->file, &err));
	CHECK(reading->file.count >= 1);
	return &reading->file.cases[0];
}

static void end(struct reading *reading)
{
	graph_file_fini(&reading->file);
	strata_arena_fini(&reading->arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(graphviz)
{
	struct reading reading;
	const struct graph_case *one = read_text(&reading, dot);

	CHECK_INT(one->form, GRAPH_DOT);
	CHECK_INT(one->graph->op_count, 2);
	CHECK_NEAR(one->graph->ops[1].flops, 88, 0);
	CHECK_NEAR(one->graph->edges[0].cost_ns, 3, 0);
	end(&reading);
}

TEST(task_graphs_of_numbers)
{
	struct reading reading;
	const struct graph_case *one = read_text(&reading, stg);

	CHECK_INT(one->form, GRAPH_STG);
	CHECK_INT(one->graph->op_count, 4);
	CHECK_INT(one->graph->edge_count, 4);
	end(&reading);
	one = read_text(&reading, rgpos);
	CHECK_INT(one->form, GRAPH_RGPOS);
	CHECK_INT(one->processors, 4);
	CHECK_INT(one->graph->op_count, 3);
	CHECK_NEAR(one->graph->ops[2].flops, 7, 0);
	end(&reading);
}

TEST(layers_with_measured_times)
{
	struct reading reading;
	const struct graph_case *one = read_text(&reading, dnn);

	CHECK_INT(one->form, GRAPH_DNN);
	CHECK_INT(one->objective, STRATA_THROUGHPUT);
	CHECK_INT(one->machine.device_count, 3);
	CHECK_INT(one->machine.devices[0].capacity_bytes, 100);
	CHECK(isinf(one->graph->ops[0].times_ns[1]));
	CHECK_NEAR(one->graph->ops[0].times_ns[2], 2.5e6, 0);
	CHECK_INT(one->graph->ops[1].phase, STRATA_PHASE_BACKWARD);
	CHECK_INT(one->graph->ops[1].group, 3);
	CHECK_NEAR(one->graph->edges[0].cost_ns, 0.25e6, 0);
	end(&reading);
}

TEST(lines_of_small_placements)
{
	struct reading reading;
	char two[2 * sizeof(opt) + 4];

	strcpy(two, opt);
	strcat(two, "\n");
	strcat(two, opt);
	strcat(two, "\n");
	const struct graph_case *one = read_text(&reading, two);

	CHECK_INT(reading.file.count, 2);
	CHECK_INT(one->form, GRAPH_OPT);
	CHECK_TEXT(one->name, "one");
	CHECK(one->fixed_order);
	CHECK_INT(one->graph->ops[0].kv_device, 1);
	CHECK_INT(one->graph->ops[1].kv_device, STRATA_NONE);
	CHECK_TEXT(one->machine.devices[1].kind, "cpu");
	CHECK_NEAR(one->machine.latency_ns[1], 1e9, 0);
	CHECK_INT(one->reference_count, 3);
	CHECK_NEAR(one->references[0].value, 4, 0);
	CHECK(isnan(one->references[1].value));
	end(&reading);
}

TEST(workflows)
{
	struct reading reading;
	const struct graph_case *one = read_text(&reading, workflow);

	CHECK_INT(one->form, GRAPH_WFCOMMONS);
	CHECK_NEAR(one->graph->ops[0].flops, 1.5e9, 0);
	CHECK_INT(one->graph->edges[0].bytes, 70);
	end(&reading);
}

TEST(the_documented_form)
{
	struct reading reading;
	const struct graph_case *one = read_text(&reading, own);
	const struct strata_graph *graph = one->graph;

	CHECK_INT(one->form, GRAPH_JSON);
	CHECK_TEXT(one->name, "tiny");
	CHECK_INT(strata_op_weight_bytes(graph, 0), 64);
	CHECK_INT(strata_op_kv_bytes(graph, 1), 1024);
	CHECK_INT(graph->tensors[1].device, 1);
	CHECK_INT(graph->ops[1].phase, STRATA_PHASE_DECODE);
	CHECK_INT(graph->edge_count, 2);
	CHECK_INT(one->machine.devices[0].capacity_bytes, INT64_C(8) << 30);
	CHECK_NEAR(one->machine.bytes_per_s[2], 1e10, 0); /* the way back */
	end(&reading);
}

TEST(links_do_not_make_it_another_form)
{
	struct reading reading;
	const struct graph_case *one =
		read_text(&reading, "{\"ops\":[{\"name\":\"a\"}],\"link_bytes_per_s\":7}");

	CHECK_INT(one->form, GRAPH_JSON);
	end(&reading);
}

TEST(bad_input_is_refused)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", "no graph" },
		{ "hello world", "no graph" },
		{ "hello", "\"hello\" is not a number" },
		{ "{}", "no graph" },
		{ "{\"ops\":[", "not valid JSON" },
		{ "{\"ops\":[]}", "no ops" },
		{ "{\"ops\":[{\"name\":\"a\",\"speed\":1}]}", "speed" },
		{ "{\"ops\":[{\"name\":\"a\",\"outputs\":[\"t\"]},{\"outputs\":[\"t\"]}]}",
		  "made twice" },
		{ "{\"ops\":[{\"name\":\"a\"}],\"edges\":[{\"from\":\"a\",\"to\":\"a\"}]}",
		  "cycle of 1 ops: a → a" },
		{ "{\"ops\":[{\"name\":\"a\"}],\"edges\":[{\"from\":\"a\",\"to\":\"q\"}]}",
		  "no op \"q\"" },
		{ "digraph { a [Weight=-1]; }", "weight of 0 or more" },
		{ "digraph { a [Weight=1]; a [Weight=2]; }", "comes twice" },
		{ "digraph { a -> b", "line 1" },
		{ "digraph { a -> b; b -> a }", "cycle of 2 ops" },
		{ "digraph { } }", "expected the end" },
		{ "3\n0 1 0\n", "1 tasks where the first line says 3" },
		{ "2\n0 1 0\n5 1 0\n", "task 5; expected 1" },
		{ "2\n0 1 0\n1 x 0\n", "\"x\" is not a number" },
		{ "2 1 4\n1 1\n0 9\n", "there are 2" },
		{ "2 1 4\n1 1\n0 1\n0 1\n", "more than the 1 edges" },
		{ "2 1 99\n1 1\n0 1\n", "0 to 64" },
		{ "{\"maxFPGAs\":0,\"maxCPUs\":0,\"nodes\":[],\"edges\":[]}", "0 devices" },
		{ "{\"maxFPGAs\":1,\"maxCPUs\":0,\"nodes\":[{\"id\":1}],\"edges\":[]}",
		  "cpuLatency" },
		{ "{\"workflow\":{}}", "tasks is not a list" },
		{ "{\"link_bytes_per_s\":1}", "devices is not a list" },
		{ "2 1 4\n1 1\n0",
		  "the file ends where a number should be" },
		{ "2 1 4\n1 1\n0 0.5\n",
		  "line 3: 0.5 is not a whole number" },
		{ "{\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[{\"name\":\"a\",\"id\":1,\"cpuLatency\":1,\"fpgaLate"
		  "ncy\":1}],\"edges\":[{\"sourceId\":1,\"destId\":2,\"cost\":1}]}",
		  "an edge goes from node 1 to 2; one is not there" },
		{ "{\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[{\"name\":\"a\",\"id\":1,\"cpuLatency\":1,\"fpgaLate"
		  "ncy\":1}],\"edges\":[{\"sourceId\":2,\"destId\":1,\"cost\":1}]}",
		  "an edge goes from node 2 to 1; one is not there" },
		{ "{\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[{\"name\":\"a\",\"id\":1,\"cpuLatency\":1,\"fpgaLate"
		  "ncy\":1}],\"edges\":[{\"sourceId\":1}]}",
		  "destId" },
		{ "{\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[{\"id\":1,\"cpuLatency\":1,\"fpgaLatency\":1}],\"e"
		  "dges\":[]}",
		  "name is not a text" },
		{ "{\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[{\"name\":\"a\",\"id\":1,\"cpuLatency\":1,\"fpgaLate"
		  "ncy\":1},{\"name\":\"b\",\"id\":1,\"cpuLatency\":1,\"fpgaLatency\":1}],\"edges\":[]}",
		  "two nodes have id 1" },
		{ "{\"id\":\"x\",\"link_bytes_per_s\":[],\"devices\":[],\"nodes\":[],\"edges\":[]}",
		  "there are 0 devices; expected 1 to 64" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1]],\"nodes\":[],\"edges\":[]}",
		  "link_bytes_per_s is not a table of 2 × 2 numbers" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,-1],"
		  "[1,0]],\"nodes\":[],\"edges\":[]}",
		  "link_bytes_per_s is not a table of 2 × 2 numbers" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1]}],\"edges\":[]}",
		  "node 0 has no time for each of 2 devices" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1,-1]}],\"edges\":[]}",
		  "node 0 has no time for each of 2 devices" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1,2],\"kv_device\":2}],\"edges\":[]}",
		  "node 0 has its KV state on no device" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1,2],\"kv_device\":-1}],\"edges\":[]}",
		  "node 0 has its KV state on no device" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1,2],\"flops\":-1}],\"edges\":[]}",
		  "flops" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1,2]}],\"edges\":[[0,0]]}",
		  "an edge is not [from, to, bytes]" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1,2]}],\"edges\":[[0,-1,1]]}",
		  "an edge is not [from, to, bytes]" },
		{ "{\"id\":\"x\",\"devices\":[{\"flops_per_s\":1,\"mem_bytes_per_s\":1},{\"flops_per_s\":1,\"m"
		  "em_bytes_per_s\":1}],\"link_latency_s\":[[0,0],[0,0]],\"link_bytes_per_s\":[[0,1],["
		  "1,0]],\"nodes\":[{\"time_s\":[1,2]}],\"edges\":[[0,0,-1]]}",
		  "an edge is not [from, to, bytes]" },
		{ "{\"workflow\":{\"specification\":{\"tasks\":[{\"id\":\"a\"}]},\"execution\":{\"tasks\":[]}}}",
		  "task \"a\" has no run time" },
		{ "{\"workflow\":{\"specification\":{\"tasks\":[{\"id\":\"a\"},{\"id\":\"a\"}]},\"execution\":{\"t"
		  "asks\":[{\"id\":\"a\",\"runtimeInSeconds\":1}]}}}",
		  "there are two tasks \"a\"" },
		{ "{\"workflow\":{\"specification\":{\"tasks\":[{\"id\":\"a\",\"parents\":[\"b\"]}]},\"execution"
		  "\":{\"tasks\":[{\"id\":\"a\",\"runtimeInSeconds\":1}]}}}",
		  "task 0 has a parent that is no task" },
		{ "{\"workflow\":{\"specification\":{\"tasks\":[{\"id\":\"a\",\"outputFiles\":[\"f\"]},{\"id\":\"b"
		  "\",\"parents\":[\"a\"],\"inputFiles\":[\"f\"]}],\"files\":[{\"id\":\"f\",\"sizeInBytes\":-1}]},"
		  "\"execution\":{\"tasks\":[{\"id\":\"a\",\"runtimeInSeconds\":1},{\"id\":\"b\",\"runtimeInSeco"
		  "nds\":1}]}}}",
		  "sizeInBytes" },
		{ "{\"workflow\":{\"specification\":{\"tasks\":[{\"id\":null}]},\"execution\":{\"tasks\":[]}}"
		  "}",
		  "id is not a text" },
		{ "{\"ops\":[{\"name\":\"a\"}],\"devices\":[{\"name\":\"g\",\"flops_per_s\":1,\"bytes_per_s\":1}]"
		  ",\"links\":[{\"from\":\"g\",\"to\":\"h\",\"bytes_per_s\":1}]}",
		  "there is no device \"h\"" },
		{ "{\"ops\":[{\"name\":\"a\"}],\"devices\":[{\"name\":\"g\",\"flops_per_s\":1,\"bytes_per_s\":1}]"
		  ",\"links\":[{\"from\":\"h\",\"to\":\"g\",\"bytes_per_s\":1}]}",
		  "there is no device \"h\"" },
		{ "{\"ops\":[{\"name\":\"a\",\"times_ns\":[1,2]},{\"name\":\"b\",\"times_ns\":[1]}]}",
		  "op \"b\" has 1 times; others have 2" },
		{ "digraph { a -> ; }",
		  "line 1" },
	};
	struct strata_arena arena;
	struct graph_file file;

	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(
			graph_file_read(bad[i].text, strlen(bad[i].text), "x", &arena, &file, &err),
			-EINVAL, bad[i].words);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(devices_alone)
{
	static const char text[] =
		"{\"devices\":[{\"name\":\"a\",\"flops_per_s\":1,\"bytes_per_s\":2,\"kv_max\":7}],"
		"\"link_bytes_per_s\":5}";
	static const char twice[] =
		"{\"devices\":[{\"name\":\"a\",\"flops_per_s\":1,\"bytes_per_s\":2},"
		"{\"name\":\"a\",\"flops_per_s\":1,\"bytes_per_s\":2}]}";
	struct strata_arena arena;
	struct strata_machine machine;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(graph_devices_read(text, strlen(text), &arena, &machine, &err));
	CHECK_INT(machine.devices[0].kv_bytes_max, 7);
	CHECK_ERROR(graph_devices_read("{}", 2, &arena, &machine, &err), -EINVAL, "no devices");
	CHECK_ERROR(graph_devices_read(twice, strlen(twice), &arena, &machine, &err), -EINVAL,
		    "two devices are called");
	strata_arena_fini(&arena);
}

static int read_once(struct strata_memory *mem, void *context, struct strata_error *error)
{
	struct strata_arena arena;
	struct graph_file file;
	int rc;

	strata_arena_init(&arena, mem, 0);
	rc = graph_file_read(context, strlen(context), "x", &arena, &file, error);
	if (rc == 0)
		graph_file_fini(&file);
	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	const char *const texts[] = { dot, stg, rgpos };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK(test_every_own_allocation(read_once, (void *)texts[i]) > 5);
}

/* Of our own allocations: jansson does not outlive the failure of every one of its own in longer names. */
TEST(every_allocation_behind_json_may_fail)
{
	const char *const texts[] = { dnn, opt, workflow, own };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t fail_at = 0;
		int rc;

		do {
			struct strata_memory poor = { .fail_at = ++fail_at };

			rc = read_once(&poor, (void *)texts[i], &err);
			CHECK(rc == 0 || (rc == -ENOMEM && err.code == -ENOMEM));
			CHECK_INT(poor.used_bytes, 0);
			if (poor.calls < fail_at)
				break;
		} while (fail_at < 10000);
		CHECK_INT(rc, 0);
		CHECK(fail_at > 5);
	}
}

TEST(processors_have_a_most)
{
	struct strata_machine machine;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(graph_processors(0, NULL, 1, &arena, &machine, &err), -EINVAL,
		    "there are 0 processors; expected 1 to 64");
	CHECK_ERROR(graph_processors(STRATA_PLACE_DEVICES_MAX + 1, NULL, 1, &arena, &machine, &err),
		    -EINVAL, "there are 65 processors");
	CHECK_OK(graph_processors(STRATA_PLACE_DEVICES_MAX, NULL, 3, &arena, &machine, &err));
	CHECK_INT(machine.device_count, STRATA_PLACE_DEVICES_MAX);
	CHECK_TEXT(machine.devices[63].name, "p63");
	CHECK_NEAR(machine.bytes_per_s[64 * 64 - 1], 3, 0);
	strata_arena_fini(&arena);
}
