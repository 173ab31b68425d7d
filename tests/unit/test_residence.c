/* Weights that stay, are looked up, or come and go. */
#include "kept.h"

#include "engine/residence.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(tables_of_gathers_are_looked_up_and_small_weights_stay)
{
	struct strata_arena arena;
	struct residence residence;
	struct engine_heap heap;
	struct engine_model *model;
	int64_t all = 0;

	CHECK_OK(engine_model_open(kept_file("onnx", "bert_cls.onnx"), &memory, &model, &err));
	strata_arena_init(&arena, &memory, 0);
	engine_heap_init(&heap, &memory);
	for (size_t i = 0; i < model->onnx.graph.initializer_count; i++)
		all += model->onnx.graph.initializers[i].bytes;
	CHECK_OK(residence_plan(&residence, model, &heap, 0, &arena, &err));
	CHECK_INT(residence.kept_bytes, all); /* without a budget all stay */
	CHECK_INT(residence.fetched_bytes, 0);
	CHECK_INT(residence_layer_bytes(&residence), 0);
	CHECK(residence.may_pack);
	CHECK_OK(residence_plan(&residence, model, &heap, 2 * all, &arena, &err));
	CHECK(residence.may_pack && residence.fetched_bytes == 0);
	CHECK_OK(residence_plan(&residence, model, &heap, 2 * all - 1, &arena, &err));
	CHECK(!residence.may_pack && residence.fetched_bytes == 0); /* they fit, but not twice */
	CHECK_OK(residence_plan(&residence, model, &heap, all / 2, &arena, &err));
	CHECK(residence.fetched_bytes > 0 && residence.looked_up_bytes > 0);
	CHECK_INT(residence.fetched_bytes + residence.looked_up_bytes + residence.kept_bytes, all);
	CHECK(residence_layer_bytes(&residence) > 0);
	CHECK(residence_layer_bytes(&residence) <= all / 8);
	CHECK_ERROR(residence_plan(&residence, model, &heap, 8, &arena, &err), -E2BIG,
		    "a budget of 8 bytes does not hold");
	engine_heap_fini(&heap);
	strata_arena_fini(&arena);
	engine_model_close(model);
	CHECK_INT(memory.used_bytes, 0);
}

/* Of a model that is all small weights, keeping those would leave no room for the others. */
TEST(small_weights_stay_only_as_far_as_a_budget_has_room)
{
	struct strata_arena arena;
	struct residence residence;
	struct engine_heap heap;
	struct engine_model *model;
	int64_t all = 0, small = 0;

	CHECK_OK(engine_model_open(test_shared_file(
					   "golden/pipelines/tiny-flow/transformer/model.onnx"),
				   &memory, &model, &err));
	strata_arena_init(&arena, &memory, 0);
	engine_heap_init(&heap, &memory);
	for (size_t i = 0; i < model->onnx.graph.initializer_count; i++) {
		int64_t bytes = model->onnx.graph.initializers[i].bytes;

		all += bytes;
		small += bytes <= 4096 ? bytes : 0;
	}
	CHECK(small > all / 3 / 8);
	CHECK_OK(residence_plan(&residence, model, &heap, all / 3, &arena, &err));
	CHECK(residence.kept_bytes > 0 && residence.kept_bytes <= all / 3 / 8);
	CHECK_INT(residence.fetched_bytes + residence.looked_up_bytes + residence.kept_bytes, all);
	engine_heap_fini(&heap);
	strata_arena_fini(&arena);
	engine_model_close(model);
	CHECK_INT(memory.used_bytes, 0);
}
