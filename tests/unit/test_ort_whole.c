/* A whole session of ONNX Runtime: the same results as the engine's, where the library is; a sentence where it is not or the model is none. */
#include "engine_kept.h"

#include "engine/ort_api.h"
#include "engine/ort_whole.h"

#include <errno.h>
#include <math.h>

static struct strata_error err;

static void need_library(void)
{
	const struct ort *ort;

	if (ort_get(&ort, NULL, &err))
		test_skip("%s", err.text);
	if (ort->version[0] == '2')
		test_skip("this is not the real one");
}

TEST(a_model_gives_what_the_engine_gives)
{
	struct strata_array theirs;
	struct kept_engine kept;
	struct ort_whole *whole;

	need_library();
	kept_engine_new(&kept, &(struct strata_engine_conf){ .devices = "cpu:0" });
	kept_engine_open(&kept, kept_file("onnx", "gpt2_prefill.onnx"), 0);
	CHECK_OK(strata_engine_run(kept.model, kept.inputs, kept.outputs, &err));
	CHECK_OK(ort_whole_open(kept_file("onnx", "gpt2_prefill.onnx"), 1, &kept.memory, &whole,
				&err));
	const char *inputs[KEPT_PORTS_MAX];
	const char *output = strata_engine_output_at(kept.model, 0)->name;
	const struct ort_whole_call call = { inputs, kept.inputs, kept.input_count, &output, 1 };

	for (size_t i = 0; i < kept.input_count; i++)
		inputs[i] = strata_engine_input_at(kept.model, i)->name;

	CHECK(ort_whole_version(whole)[0]);
	CHECK_ERROR(ort_whole_output(whole, 0, &theirs, &err), -EINVAL, "no output 0");
	for (int again = 0; again < 2; again++) {
		CHECK_OK(ort_whole_run(whole, &call, &err));
		CHECK_OK(ort_whole_output(whole, 0, &theirs, &err));
		CHECK_INT(strata_array_elements(&theirs), strata_array_elements(&kept.outputs[0]));
		for (int64_t i = 0; i < strata_array_elements(&theirs); i++)
			CHECK(fabsf(((const float *)theirs.data)[i] -
				    ((const float *)kept.outputs[0].data)[i]) < 1e-4f);
	}
	for (size_t i = 0; i < kept.output_count; i++)
		strata_array_drop(&kept.outputs[i]);
	ort_whole_close(whole);
	kept_engine_free(&kept);
}

TEST(what_is_no_model_is_refused)
{
	struct strata_memory memory = { 0 };
	struct ort_whole *whole;

	need_library();
	CHECK_ERROR(ort_whole_open("/nowhere.onnx", 1, &memory, &whole, &err), -ENOTSUP,
		    "/nowhere.onnx");
	CHECK_INT(memory.used_bytes, 0);
}

TEST(nothing_may_be_closed)
{
	ort_whole_close(NULL);
}
