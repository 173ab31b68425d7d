#include "test.h"

#include "formats/tensor_layers.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct tensor_layer *layers;
static size_t layer_count;

static int make(const char *const *names, size_t count, const char *patterns)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return tensor_layers_make(names, count, patterns, &arena, &layers, &layer_count, &err);
}
#define MAKE(patterns, ...)                        \
	make((const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *), patterns)

TEST(a_number_makes_a_layer)
{
	CHECK_OK(MAKE(NULL, "model.embed.weight", "model.layers.0.q.weight",
		      "model.layers.1.q.weight", "model.layers.0.mlp.3.weight", "model.norm.weight",
		      "lm_head.weight", "scale"));
	CHECK_INT(layer_count, 6);
	CHECK_TEXT(layers[0].name, "model.embed");
	CHECK_TEXT(layers[1].name, "model.layers.0");
	CHECK_INT(layers[1].member_count, 2);
	CHECK_INT(layers[1].members[0], 1);
	CHECK_INT(layers[1].members[1], 3);
	CHECK_TEXT(layers[2].name, "model.layers.1");
	CHECK_TEXT(layers[4].name, "lm_head");
	CHECK_TEXT(layers[5].name, "scale");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(numbers_are_counted_and_not_spelled)
{
	CHECK_OK(MAKE(NULL, "h.0.w", "h.1.w", "h.10.w", "h.11.w", "h.2.w", "a.1.w", "a.0.w"));
	static const char *const want[] = { "h.0", "h.1", "h.2", "h.10", "h.11", "a.0", "a.1" };

	CHECK_INT(layer_count, 7);
	for (size_t i = 0; i < 7; i++)
		CHECK_TEXT(layers[i].name, want[i]);
	strata_arena_fini(&arena);
}

TEST(patterns_say_otherwise)
{
	CHECK_OK(MAKE("m.layers.*.mlp, m.layers.*, *", "m.layers.0.q.w", "m.layers.0.mlp.up.w",
		      "m.layers.0.mlp.down.w", "m.layers.10.mlp.w", "m.layers.9.mlp.w",
		      "m.norm.w"));
	CHECK_INT(layer_count, 5);
	CHECK_TEXT(layers[0].name, "m.layers.0");
	CHECK_TEXT(layers[1].name, "m.layers.0.mlp");
	CHECK_INT(layers[1].member_count, 2);
	CHECK_TEXT(layers[2].name, "m.layers.9.mlp");
	CHECK_TEXT(layers[3].name, "m.layers.10.mlp");
	CHECK_TEXT(layers[4].name, "m");
	/* one that covers more than the name has does not fit */
	CHECK_OK(MAKE("x.*.*.*", "x.y.z"));
	CHECK_TEXT(layers[0].name, "x.y");
	strata_arena_fini(&arena);
}

TEST(what_is_no_pattern_is_refused)
{
	CHECK_ERROR(MAKE("a..b", "x"), -EINVAL, "'a..b'");
	CHECK_ERROR(MAKE("b, .a", "x"), -EINVAL, "'.a'");
	CHECK_ERROR(MAKE("a.", "x"), -EINVAL, "'a.'");
	CHECK_OK(MAKE("", "x"));
	CHECK_OK(MAKE(" , ", "x"));
	strata_arena_fini(&arena);
}

static int make_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	static const char *const names[] = { "a.0.w", "a.1.w", "b" };
	struct tensor_layer *list;
	struct strata_arena scratch;
	size_t count;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = tensor_layers_make(names, 3, "c.*", &scratch, &list, &count, why);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(make_once, NULL) > 5);
}
