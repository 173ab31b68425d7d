#include "test.h"
#include "place_sample.h"

#include "place/detector.h"

static struct sample sample;
static struct strata_error err;

/* x → Transpose → t → Add(w) → a → MatMul(w) → m → Relu → y */
static void build(void)
{
	sample_begin(&sample);
	sample_tensor(&sample, "x", STRATA_ROLE_INPUT, false, DIMS(4, 4));
	sample_tensor(&sample, "w", STRATA_ROLE_WEIGHT, false, DIMS(4, 4));
	sample_op(&sample, "Transpose", "x", "t", STRATA_ROLE_ACTIVATION, DIMS(4, 4));
	sample_op(&sample, "Add", "t w", "a", STRATA_ROLE_ACTIVATION, DIMS(4, 4));
	sample_op(&sample, "MatMul", "a w", "m", STRATA_ROLE_ACTIVATION, DIMS(4, 4));
	sample_op(&sample, "Relu", "m", "y", STRATA_ROLE_OUTPUT, DIMS(4, 4));
	CHECK_OK(strata_graph_finish(sample.graph, &err));
}

static uint32_t named(const char *name)
{
	return strata_graph_find_tensor(sample.graph, name, strlen(name));
}

/* The names a walk visits, in order. */
static const char *walk(const char *from, unsigned sorts, bool forth)
{
	static char text[100];
	struct strata_arena arena;
	struct trail trail;
	uint32_t tensor;

	strata_arena_init(&arena, &sample.memory, 0);
	CHECK_OK(trail_init(&trail, sample.graph, &arena, &err));
	text[0] = 0;
	trail_begin(&trail, named(from));
	while ((tensor = forth ? trail_forth(&trail, sorts) : trail_back(&trail, sorts)) !=
	       STRATA_NONE)
		strcat(text, sample.graph->tensors[tensor].name);
	strata_arena_fini(&arena);
	return text;
}

TEST(a_walk_goes_through_its_sorts_and_no_further)
{
	build();
	CHECK_TEXT(walk("a", SORT_MOVE | SORT_MATH, false), "atxw");
	CHECK_TEXT(walk("a", SORT_MATH, false), "atw");
	CHECK_TEXT(walk("m", SORT_MATH, false), "m");
	CHECK_TEXT(walk("m", SORT_PRODUCT | SORT_MATH | SORT_MOVE, false), "matxw"); /* w once */
	CHECK_TEXT(walk("x", SORT_MOVE | SORT_MATH, true), "xta");
	CHECK_TEXT(walk("x", SORT_CONV, true), "x");
	sample_end(&sample);
}

TEST(sorts_are_by_kind)
{
	CHECK_INT(op_sort(&(struct strata_op){ .kind = "Concat" }), SORT_MOVE | SORT_UPDATE);
	CHECK_INT(op_sort(&(struct strata_op){ .kind = "GroupQueryAttention" }), SORT_ATTENTION);
	CHECK_INT(op_sort(&(struct strata_op){ .kind = "SoftmaxGrad" }), SORT_GRADIENT);
	CHECK_INT(op_sort(&(struct strata_op){ .kind = "" }), 0);
	CHECK_INT(op_sort(&(struct strata_op){ .kind = "Where" }), SORT_MATH);
	CHECK_INT(op_sort(&(struct strata_op){ .kind = "Abs" }), SORT_MATH);
}

TEST(what_depends_on_an_input_is_known)
{
	struct strata_arena arena;

	sample_begin(&sample);
	sample_tensor(&sample, "x", STRATA_ROLE_INPUT, false, DIMS(4));
	sample_tensor(&sample, "w", STRATA_ROLE_WEIGHT, false, DIMS(4));
	uint32_t constant = sample_op(&sample, "Neg", "w", "n", STRATA_ROLE_ACTIVATION, DIMS(4));
	uint32_t sum = sample_op(&sample, "Add", "n x", "s", STRATA_ROLE_ACTIVATION, DIMS(4));
	uint32_t last = sample_op(&sample, "Neg", "s", "y", STRATA_ROLE_OUTPUT, DIMS(4));

	CHECK_OK(strata_graph_finish(sample.graph, &err));
	strata_arena_init(&arena, &sample.memory, 0);
	bool *depends = ops_with_inputs(sample.graph, &arena);

	CHECK(depends && !depends[constant] && depends[sum] && depends[last]);
	strata_arena_fini(&arena);
	sample_end(&sample);
}
