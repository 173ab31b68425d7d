/* What a program's values take at a time: the plan is never less than what is held, and not much more. */
#include "kept.h"

#include "engine_whole.h"

#include <errno.h>
#include <string.h>

static struct strata_error err;

static const struct onnx_value *find_type(const void *context, const char *name)
{
	const struct onnx_inferred *inferred = context;
	const struct onnx_graph *graph = &inferred->model->graph;

	for (size_t i = 0; i < graph->input_count; i++)
		if (strcmp(graph->inputs[i].name, name) == 0)
			return &inferred->inputs[i];
	for (size_t i = 0; i < graph->node_count; i++)
		for (size_t k = 0; k < graph->nodes[i].output_count; k++)
			if (strcmp(inferred->nodes[i].node->outputs[k], name) == 0)
				return &inferred->nodes[i].outputs[k];
	return NULL;
}

static const struct onnx_value *find_none(const void *context, const char *name)
{
	(void)context, (void)name;
	return NULL;
}

static void make_inputs(struct engine_whole *whole, struct engine_value *inputs)
{
	for (size_t i = 0; i < whole->model->input_count; i++) {
		const struct onnx_type *type = &whole->model->input_infos[i]->type;

		CHECK_OK(engine_value_make(&whole->heap, type->dtype, type->rank, type->dims,
					   &inputs[i], &err));
		memset(inputs[i].data, 0, engine_value_bytes(&inputs[i]));
	}
}

/* The plan beside what two runs held: the first also makes what is kept. */
static void check(const char *name)
{
	struct strata_memory memory = { 0 };
	struct engine_value inputs[16] = { 0 }, outputs[32];
	struct onnx_inferred inferred;
	struct engine_whole whole;
	int64_t planned, held = 0;

	CHECK_OK(engine_whole_open(&whole, kept_file("onnx", name), 1, &memory, &err));
	make_inputs(&whole, inputs);
	CHECK_OK(onnx_infer(&whole.model->onnx, NULL, 0, ONNX_BELIEVE_DECLARED, &whole.model->arena,
			    &inferred, &err));
	const struct native_types types = { find_type, &inferred }, none = { find_none, NULL };
	const struct native_run run = { .inputs = inputs,
					.weights = whole.weights,
					.ret_held_bytes = &held };

	CHECK_OK(native_program_peak(whole.program, &types, &memory, &planned, &err));
	for (int again = 0; again < 2; again++) {
		CHECK_OK(native_program_run(whole.program, &run, outputs, &err));
		for (size_t i = 0; i < whole.model->onnx.graph.output_count; i++)
			engine_value_drop(&outputs[i]);
	}
	if (!(held > 0 && held <= planned && planned <= held * 3 / 2 + 4096))
		test_fail(__FILE__, __LINE__, "%s holds %lld bytes; %lld were planned", name,
			  (long long)held, (long long)planned);
	CHECK_OK(native_program_peak(whole.program, &none, &memory, &planned, &err));
	CHECK_INT(planned, -1);
	memory.fail_at = memory.calls + 1;
	CHECK_INT(native_program_peak(whole.program, &types, &memory, &planned, &err), -ENOMEM);
	memory.fail_at = 0;
	for (size_t i = 0; i < whole.model->input_count; i++)
		engine_value_drop(&inputs[i]);
	engine_whole_close(&whole);
}

TEST(a_plan_is_what_is_held_at_the_most)
{
	check("gpt2_prefill.onnx");
	check("gpt2_decode.onnx");
	check("llama_gqa_decode.onnx");
	check("resnet_mini.onnx");
	check("mobilenet_mini.onnx");
	check("sd_unet_mini.onnx");
	check("clip_mini.onnx");
}

TEST(sizes_of_types)
{
	struct onnx_value type = { .kind = ONNX_TENSOR, .dtype = ONNX_FLOAT16, .ranked = true,
				   .rank = 1, .dims = { 10 } };

	CHECK_INT(native_type_bytes(&type), 64 + 40); /* widened */
	type.dims[0] = -1;
	CHECK_INT(native_type_bytes(&type), -1);
	type.dims[0] = 10;
	type.dtype = ONNX_FLOAT4E2M1;
	CHECK_INT(native_type_bytes(&type), -1);
	CHECK_INT(native_type_bytes(NULL), -1);
}
