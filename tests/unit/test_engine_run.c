/* Calls: the same bits with a budget, on several devices, in any number at once; bad inputs cost nothing. */
#include "engine_kept.h"

#include <errno.h>
#include <math.h>

static struct strata_error err;

/* The result of a model on one device with all weights in memory. */
static uint64_t plain(const char *path)
{
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0" });
	kept_engine_open(&kept, path, 0);
	uint64_t digest = kept_engine_run(&kept);

	CHECK(kept_engine_run(&kept) == digest); /* and again, with what the first call kept */
	kept_engine_free(&kept);
	return digest;
}

TEST(a_budget_changes_no_bit_and_is_kept)
{
	static const char *const models[] = { "gpt2_prefill.onnx", "gpt2_decode.onnx",
					      "llama_gqa_decode.onnx" };

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		const char *path = kept_file("onnx", models[i]);
		uint64_t expected = plain(path);
		struct strata_engine_metrics metrics;
		struct kept_engine kept;
		int64_t budget;

		kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0" });
		kept_engine_open(&kept, path, 0);
		budget = strata_engine_weight_bytes(kept.model) * 2 / 5;
		kept_engine_close(&kept);
		kept_engine_open(&kept, path, budget);
		for (int call = 0; call < 3; call++)
			CHECK(kept_engine_run(&kept) == expected);
		strata_engine_metrics(kept.model, &metrics);
		CHECK(metrics.kept_bytes + metrics.frame_bytes <= budget);
		CHECK(metrics.read_bytes > 0);
		CHECK(strata_engine_subgraph_count(kept.model) > 2);
		kept_engine_free(&kept);
	}
}

TEST(a_budget_that_cannot_work_says_what_is_needed)
{
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ 0 });
	kept_engine_open(&kept, kept_file("onnx", "gpt2_prefill.onnx"), 20000);
	for (int call = 0; call < 2; call++) /* and a second call says the same */
		CHECK_ERROR(strata_engine_run(kept.model, kept.inputs, kept.outputs, &err), -E2BIG,
			    "the largest layer needs");
	kept_engine_free(&kept);
}

TEST(several_devices_change_no_bit)
{
	const char *path = kept_file("onnx", "sd_unet_mini.onnx");
	uint64_t expected = plain(path);
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0,cpu:0",
							     .objective = STRATA_THROUGHPUT });
	kept_engine_open(&kept, path, 0);
	CHECK(kept_engine_run(&kept) == expected);
	CHECK(strata_engine_subgraph_count(kept.model) >= 2);
	kept_engine_free(&kept);
}

TEST(what_is_experimental_is_near_and_off_unless_asked_for)
{
	struct kept_engine usual, fresh;
	float most = 0, off = 0;

	kept_engine_new(&usual, &(struct strata_engine_conf){ .devices = "cpu:0" });
	kept_engine_new(&fresh, &(struct strata_engine_conf){ .devices = "cpu:0",
							      .experimental = true });
	kept_engine_open(&usual, kept_file("onnx", "gpt2_prefill.onnx"), 0);
	kept_engine_open(&fresh, kept_file("onnx", "gpt2_prefill.onnx"), 0);
	CHECK_OK(strata_engine_run(usual.model, usual.inputs, usual.outputs, &usual.err));
	CHECK_OK(strata_engine_run(fresh.model, fresh.inputs, fresh.outputs, &fresh.err));
	const float *one = usual.outputs[0].data, *two = fresh.outputs[0].data;

	for (int64_t i = 0; i < strata_array_elements(&usual.outputs[0]); i++) {
		most = fmaxf(most, fabsf(one[i]));
		off = fmaxf(off, fabsf(one[i] - two[i]));
	}
	CHECK(off > 0 && off < 0.02f * most);
	for (size_t i = 0; i < usual.output_count; i++) {
		strata_array_drop(&usual.outputs[i]);
		strata_array_drop(&fresh.outputs[i]);
	}
	kept_engine_free(&usual);
	kept_engine_free(&fresh);
}

TEST(what_goes_between_devices_is_counted)
{
	struct strata_engine_metrics metrics;
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0,cpu:0",
							     .objective = STRATA_THROUGHPUT });
	kept_engine_open(&kept, kept_file("onnx", "sd_unet_mini.onnx"), 0);
	kept_engine_run(&kept);
	strata_engine_metrics(kept.model, &metrics);
	CHECK(metrics.transfers > 0 && metrics.transfer_bytes > 0 && metrics.transfer_ns > 0);
	uint64_t once = metrics.transfers;

	kept_engine_run(&kept);
	strata_engine_metrics(kept.model, &metrics);
	CHECK_INT(metrics.transfers, 2 * once);
	kept_engine_free(&kept);
	kept_engine_new(&kept, &(struct strata_engine_conf){ 0 });
	kept_engine_open(&kept, kept_file("onnx", "sd_unet_mini.onnx"), 0);
	kept_engine_run(&kept);
	strata_engine_metrics(kept.model, &metrics);
	CHECK_INT(metrics.transfers, 0);
	kept_engine_free(&kept);
}

TEST(several_calls_at_once_have_their_own_results)
{
	enum { CALLS = 6 };
	struct strata_array outputs[CALLS][KEPT_PORTS_MAX];
	struct strata_engine_call calls[CALLS];
	struct kept_engine kept;
	uint64_t expected;

	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0,cpu:0",
							     .objective = STRATA_THROUGHPUT });
	kept_engine_open(&kept, kept_file("onnx", "resnet_mini.onnx"), 0);
	expected = kept_engine_run(&kept);
	for (int i = 0; i < CALLS; i++)
		calls[i] = (struct strata_engine_call){ kept.inputs, outputs[i] };
	CHECK_OK(strata_engine_run_many(kept.model, calls, CALLS, &err));
	for (int i = 0; i < CALLS; i++) {
		CHECK(kept_digest(outputs[i], kept.output_count) == expected);
		for (size_t k = 0; k < kept.output_count; k++)
			strata_array_drop(&outputs[i][k]);
	}
	kept_engine_free(&kept);
}

TEST(an_output_is_the_next_input_without_a_copy)
{
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ 0 });
	kept_engine_open(&kept, kept_file("onnx", "resnet_mini.onnx"), 0);
	CHECK_OK(strata_engine_run(kept.model, kept.inputs, kept.outputs, &err));
	struct strata_array again = strata_array_share(&kept.outputs[0]);

	CHECK(again.data == kept.outputs[0].data);
	for (size_t i = 0; i < kept.output_count; i++)
		strata_array_drop(&kept.outputs[i]);
	CHECK(strata_array_elements(&again) > 0); /* still there: it has a user */
	strata_array_drop(&again);
	kept_engine_free(&kept);
}

TEST(inputs_that_do_not_fit_are_named_and_change_nothing)
{
	struct strata_array right;
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ 0 });
	kept_engine_open(&kept, kept_file("onnx", "resnet_mini.onnx"), 0);
	right = kept.inputs[0];
	kept.inputs[0].dtype = STRATA_DTYPE_I64;
	CHECK_ERROR(strata_engine_run(kept.model, kept.inputs, kept.outputs, &err), -EINVAL,
		    "is i64; expected f32");
	kept.inputs[0] = right;
	kept.inputs[0].rank--;
	CHECK_ERROR(strata_engine_run(kept.model, kept.inputs, kept.outputs, &err), -EINVAL,
		    "dimensions; expected");
	kept.inputs[0] = right;
	kept_engine_run(&kept);
	kept_engine_free(&kept);
}

TEST(a_stopped_engine_refuses_until_it_is_taken_back)
{
	struct kept_engine kept;

	kept_engine_new(&kept, &(struct strata_engine_conf){ 0 });
	kept_engine_open(&kept, kept_file("onnx", "resnet_mini.onnx"), 0);
	strata_engine_stop(kept.engine, true);
	CHECK_ERROR(strata_engine_run(kept.model, kept.inputs, kept.outputs, &err), -ECANCELED,
		    "stopped");
	strata_engine_stop(kept.engine, false);
	kept_engine_run(&kept);
	kept_engine_free(&kept);
}
