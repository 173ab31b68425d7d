/* Engines and models: what is refused, what is told of ports and subgraphs, what is kept and traced. */
#include "engine_kept.h"

#include <errno.h>
#include <sys/stat.h>

static struct strata_error err;

TEST(devices_and_backends_that_are_none_are_named)
{
	struct strata_memory memory = { 0 };
	struct strata_engine *engine;

	CHECK_ERROR(strata_engine_new(&(struct strata_engine_conf){ .devices = "gpu" }, &memory,
				      &engine, &err),
		    -EINVAL, "'gpu' is not a device");
	CHECK_ERROR(strata_engine_new(&(struct strata_engine_conf){ .backend = "nativ" }, &memory,
				      &engine, &err),
		    -ENOENT, "native");
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_file_that_is_no_model_is_named)
{
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ 0 });
	CHECK_ERROR(strata_engine_open(kept.engine, "/nowhere.onnx", NULL, &kept.model, &err),
		    -ENOENT, "/nowhere.onnx");
	kept_engine_free(&kept);
}

TEST(ports_and_subgraphs_are_told)
{
	struct strata_engine_subgraph subgraph;
	struct strata_engine_metrics metrics;
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0" });
	kept_engine_open(&kept, kept_file("onnx", "gpt2_prefill.onnx"), 0);
	CHECK_TEXT(strata_engine_input_at(kept.model, 0)->name, "input_ids");
	CHECK_INT(strata_engine_input_find(kept.model, "input_ids"), 0);
	CHECK_INT(strata_engine_output_find(kept.model, "no such"), -1);
	CHECK(!strata_engine_input_at(kept.model, kept.input_count));
	CHECK(!strata_engine_subgraph_at(kept.model, 0, &subgraph)); /* not before it has run */
	kept_engine_run(&kept);
	kept_engine_run(&kept);
	CHECK(strata_engine_subgraph_at(kept.model, 0, &subgraph));
	CHECK_TEXT(subgraph.device, "cpu:0");
	CHECK_INT(subgraph.calls, 2);
	CHECK(subgraph.predicted_ns > 0 && subgraph.least_ns > 0 &&
	      subgraph.least_ns <= subgraph.total_ns);
	CHECK_INT(subgraph.weight_bytes, strata_engine_weight_bytes(kept.model));
	strata_engine_metrics(kept.model, &metrics);
	CHECK(metrics.flops > 0 && metrics.tensor_bytes_peak > 0 && metrics.read_bytes == 0);
	kept_engine_free(&kept);
}

TEST(what_was_learned_is_kept_and_used)
{
	struct strata_engine_conf conf = { .devices = "cpu:0" };
	struct kept_engine kept;
	struct stat about;
	char path[4096];

	snprintf(path, sizeof(path), "%s/experience", test_temp_dir());
	conf.experience = path;
	kept_engine_new(&kept, &conf);
	kept_engine_open(&kept, kept_file("onnx", "gpt2_prefill.onnx"), 0);
	for (int i = 0; i < 10; i++)
		kept_engine_run(&kept);
	CHECK_OK(strata_engine_keep(kept.engine, &err));
	kept_engine_free(&kept);
	CHECK(stat(path, &about) == 0 && about.st_size > 100);
	CHECK_INT(about.st_mode & 0777, 0600);
	kept_engine_new(&kept, &conf); /* a damaged one would be refused */
	kept_engine_free(&kept);
}

TEST(a_trace_has_the_subgraphs_of_each_device)
{
	struct strata_memory trace_memory = { 0 };
	const struct strata_trace_conf conf = { .pid = 1, .process_name = "test", .clock_name = "t" };
	struct strata_trace *trace;
	struct kept_engine kept;

	CHECK_OK(strata_trace_new(&trace_memory, &conf, &trace, &err));
	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0" });
	CHECK_OK(strata_engine_trace(kept.engine, trace, 1, &err));
	kept_engine_open(&kept, kept_file("onnx", "gpt2_prefill.onnx"), 0);
	kept_engine_run(&kept);
	kept_engine_free(&kept);
	strata_trace_free(trace);
	CHECK_INT(trace_memory.used_bytes, 0);
}

static int open_and_run(struct strata_memory *memory, void *context, struct strata_error *why)
{
	struct strata_array input = { 0 }, outputs[KEPT_PORTS_MAX] = { 0 };
	struct strata_engine_model *model = NULL;
	struct strata_engine *engine = NULL;
	int rc = strata_engine_new(&(struct strata_engine_conf){ 0 }, memory, &engine, why);

	if (rc == 0)
		rc = strata_engine_open(engine, context, NULL, &model, why);
	if (rc == 0) {
		const struct strata_engine_port *port = strata_engine_input_at(model, 0);

		rc = strata_array_make(engine, port->dtype, port->rank, port->dims, &input, why);
	}
	if (rc == 0) {
		kept_fill(&input, 1);
		rc = strata_engine_run(model, &input, outputs, why);
	}
	if (rc == 0) {
		uint64_t digest = kept_digest(outputs, strata_engine_output_count(model));

		test_result(&digest, sizeof(digest));
	}
	for (size_t i = 0; i < KEPT_PORTS_MAX; i++)
		strata_array_drop(&outputs[i]);
	strata_array_drop(&input);
	strata_engine_close(model);
	strata_engine_free(engine);
	return rc;
}

TEST(memory_may_run_out_anywhere)
{
	test_every_allocation(open_and_run, (void *)kept_file("onnx", "resnet_mini.onnx"));
}
