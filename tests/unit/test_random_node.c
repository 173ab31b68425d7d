#include "test.h"

#include "engine/native/random_node.h"

#include <string.h>

TEST(an_element_has_its_number_whoever_asks)
{
	const struct random random = { 7, 3 }, next = { 7, 4 };
	double whole[200], part[200], sum = 0;

	random_uniform(&random, 0, 200, whole);
	for (int first = 0; first < 200; first += 13) {
		random_uniform(&random, first, 200 - first, part);
		CHECK_BYTES(part, whole + first, (size_t)(200 - first) * sizeof(*part));
		random_uniform(&random, first, 1, part);
		CHECK_BYTES(part, whole + first, sizeof(*part));
	}
	for (int i = 0; i < 200; i++) {
		CHECK(whole[i] >= 0 && whole[i] < 1);
		sum += whole[i];
	}
	CHECK_NEAR(sum / 200, 0.5, 0.07);
	random_uniform(&next, 0, 200, part);
	CHECK(memcmp(part, whole, sizeof(part)) != 0);
}

TEST(draws_are_counted_for_each_node)
{
	struct strata_memory memory = { 0 };
	struct engine_heap heap;
	struct strata_error err = { 0 };
	struct native_state *state = NULL;
	const char *outputs[] = { "y" };
	const struct onnx_attribute seed = { .name = "seed", .type = ONNX_ATTR_FLOAT, .real = 2 };
	const struct onnx_node node = { .name = "",
					.kind = "RandomNormal",
					.domain = "",
					.outputs = outputs,
					.output_count = 1,
					.attributes = &seed,
					.attribute_count = 1 };
	const struct onnx_node plain = { .name = "",
					 .kind = "RandomNormal",
					 .domain = "",
					 .outputs = outputs,
					 .output_count = 1 };
	struct native_call call = { .node = &node, .heap = &heap, .state = &state };
	struct random a, b, c;

	engine_heap_init(&heap, &memory);
	CHECK_OK(random_next(&call, &a, &err));
	CHECK_OK(random_next(&call, &b, &err));
	CHECK_INT(a.seed, b.seed);
	CHECK_INT(b.draw, a.draw + 1);
	call.node = &plain;
	CHECK_OK(random_next(&call, &c, &err));
	CHECK(c.seed != a.seed);
	state->free(state);
	engine_heap_fini(&heap);
	CHECK_INT(memory.used_bytes, 0);
}
