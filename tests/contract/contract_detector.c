/* Every detector, and all of them together on the models of the reference data: with the names in the file, and with none at all. */
#include "kept.h"

#include <strata/detector.h>
#include <strata/onnx.h>

#include <stdio.h>
#include <string.h>

static struct strata_error err;

struct expected {
	const char *model;
	enum strata_workload workload;
	enum strata_phase phase;
	int64_t kv_in_bytes, kv_out_bytes;
	unsigned modalities;
};

enum { TEXT = 1 << STRATA_MODALITY_TEXT, IMAGE = 1 << STRATA_MODALITY_IMAGE };

/* clang-format off */
static const struct expected models[] = {
	{ "gpt2_prefill", STRATA_WORKLOAD_LLM, STRATA_PHASE_PREFILL, 0, 10240, TEXT },
	{ "gpt2_decode", STRATA_WORKLOAD_LLM, STRATA_PHASE_DECODE, 10240, 10880, TEXT },
	{ "gpt2_decode_dynamic", STRATA_WORKLOAD_LLM, STRATA_PHASE_DECODE, 20480, 21760, TEXT },
	{ "llama_gqa_decode", STRATA_WORKLOAD_LLM, STRATA_PHASE_DECODE, 12288, 12800, TEXT },
	{ "bert_cls", STRATA_WORKLOAD_OTHER, STRATA_PHASE_ENCODE, 0, 0, TEXT },
	{ "resnet_mini", STRATA_WORKLOAD_CNN, STRATA_PHASE_FORWARD, 0, 0, IMAGE },
	{ "mobilenet_mini", STRATA_WORKLOAD_CNN, STRATA_PHASE_FORWARD, 0, 0, IMAGE },
	{ "sd_unet_mini", STRATA_WORKLOAD_DIFFUSION, STRATA_PHASE_DENOISE, 0, 0, IMAGE },
	{ "vae_decoder_mini", STRATA_WORKLOAD_CNN, STRATA_PHASE_DECODE_IMAGE, 0, 0, IMAGE },
	{ "clip_mini", STRATA_WORKLOAD_MULTIMODAL, STRATA_PHASE_ENCODE, 0, 0, TEXT | IMAGE },
	{ "lstm_lm", STRATA_WORKLOAD_RECURRENT, STRATA_PHASE_FORWARD, 0, 0, TEXT },
};
/* clang-format on */
enum { MODELS = sizeof(models) / sizeof(models[0]) };

static struct strata_graph *open_model(const struct expected *model, bool dims,
				       struct strata_memory *memory)
{
	static const struct strata_onnx_dim given[] = { { "batch", 2 },
							{ "sequence", 1 },
							{ "past_sequence", 16 } };
	struct strata_graph *graph;
	char path[256];

	snprintf(path, sizeof(path), "%s.onnx", model->model);
	CHECK_OK(strata_onnx_open(kept_file("onnx", path), given,
				  dims && strstr(model->model, "dynamic") ? 3 : 0, memory, &graph,
				  NULL, &err));
	return graph;
}

/* The same graph without a name anywhere. */
static struct strata_graph *without_names(const struct strata_graph *graph,
					  struct strata_memory *memory)
{
	struct strata_graph *bare;

	CHECK_OK(strata_graph_new("", memory, &bare, &err));
	for (size_t i = 0; i < graph->tensor_count; i++) {
		struct strata_tensor tensor = graph->tensors[i];

		tensor.name = "";
		CHECK_OK(strata_graph_add_tensor(bare, &tensor, NULL, &err));
	}
	for (size_t i = 0; i < graph->op_count; i++) {
		struct strata_op op = graph->ops[i];

		op.name = "";
		CHECK_OK(strata_graph_add_op(bare, &op, NULL, &err));
	}
	CHECK_OK(strata_graph_finish(bare, &err));
	return bare;
}

static void check_model(const struct expected *model, struct strata_graph *graph, bool sizes)
{
	struct strata_memory memory = { 0 };
	struct strata_findings findings;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_graph_detect(graph, NULL, &arena, &findings, &err));
	if (findings.workload != model->workload || findings.phase != model->phase)
		test_fail(__FILE__, __LINE__, "%s is taken for %s, %s (%s)", model->model,
			  strata_workload_name(findings.workload),
			  strata_phase_name(findings.phase), findings.why);
	CHECK_INT(findings.modalities, model->modalities);
	CHECK_INT(findings.kv_in_count > 0, model->kv_in_bytes > 0);
	CHECK_INT(findings.kv_out_count > 0, model->kv_out_bytes > 0);
	if (sizes) {
		CHECK_INT(findings.kv_in_bytes, model->kv_in_bytes);
		CHECK_INT(findings.kv_out_bytes, model->kv_out_bytes);
	}
	for (size_t i = 0; i < graph->op_count; i++)
		if (model->workload != STRATA_WORKLOAD_MULTIMODAL)
			CHECK_INT(graph->ops[i].phase, model->phase);
		else
			CHECK_INT(graph->ops[i].phase,
				  graph->ops[i].modality == STRATA_MODALITY_TEXT ||
						  graph->ops[i].modality == STRATA_MODALITY_IMAGE
					  ? STRATA_PHASE_ENCODE
					  : STRATA_PHASE_FORWARD);
	strata_arena_fini(&arena);
}

TEST(workload_and_phase_are_right_on_every_model)
{
	struct strata_memory memory = { 0 };

	for (size_t i = 0; i < MODELS; i++) {
		struct strata_graph *graph = open_model(&models[i], true, &memory);

		check_model(&models[i], graph, true);
		strata_graph_free(graph);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(and_so_they_are_without_any_name)
{
	struct strata_memory memory = { 0 };

	for (size_t i = 0; i < MODELS; i++) {
		struct strata_graph *graph = open_model(&models[i], true, &memory);
		struct strata_graph *bare = without_names(graph, &memory);

		check_model(&models[i], bare, true);
		strata_graph_free(graph);
		strata_graph_free(bare);
	}
}

/* Without values for batch, sequence and past: sizes are not known, what the model is all the same. */
TEST(dimensions_that_are_not_known_do_not_matter)
{
	struct strata_memory memory = { 0 };
	struct strata_graph *graph = open_model(&models[2], false, &memory);

	check_model(&models[2], graph, false);
	strata_graph_free(graph);
}

TEST(a_cache_that_comes_in_has_its_role)
{
	struct strata_memory memory = { 0 };
	struct strata_graph *graph = open_model(&models[1], true, &memory);
	size_t caches = 0;

	check_model(&models[1], graph, true);
	for (size_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == STRATA_ROLE_KV) {
			CHECK(strncmp(graph->tensors[i].name, "past_key_values.", 16) == 0);
			CHECK_INT(graph->tensors[i].bytes, 2560);
			caches++;
		}
	CHECK_INT(caches, 4);
	strata_graph_free(graph);
}

/* ---- each class ---- */

TEST(detectors_have_a_name_a_summary_and_a_rank)
{
	const struct strata_class *class;

	for (size_t i = 0; (class = strata_detector_kind.classes[i]); i++) {
		const struct strata_detector_class *detector =
			(const struct strata_detector_class *)class;

		CHECK(class->name[0] && class->summary[0]);
		CHECK(detector->detect && detector->rank >= 0);
		CHECK(i == 0 || strcmp(strata_detector_kind.classes[i - 1]->name, class->name) < 0);
	}
}

static int detect_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct strata_findings findings;
	struct strata_arena arena;

	strata_arena_init(&arena, own, 0);
	int rc = strata_graph_detect(context, NULL, &arena, &findings, why);

	strata_arena_fini(&arena);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	struct strata_memory memory = { 0 };
	struct strata_graph *graph = open_model(&models[1], true, &memory);

	CHECK(test_every_allocation(detect_once, graph) > 8);
	strata_graph_free(graph);
}
