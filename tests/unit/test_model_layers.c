#include "test.h"

#include "formats/model_layers.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static int read_text(const char *text, struct strata_arena *arena, struct strata_stage_model *model)
{
	return model_layers_read(text, strlen(text), arena, model, &err);
}

TEST(layers_and_their_order_are_read)
{
	struct strata_stage_model model;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read_text("{\"layers\":[{\"name\":\"a\",\"bytes\":\"2KiB\",\"compute_us\":1.5},"
			   "{\"name\":\"b\",\"bytes\":7}],\"order\":[\"b\",\"a\",\"b\"]}",
			   &arena, &model));
	CHECK_INT(model.layer_count, 2);
	CHECK_INT(model.visit_count, 3);
	CHECK_TEXT(model.layers[0].name, "a");
	CHECK_INT(model.layers[0].bytes, 2048);
	CHECK_INT(model.layers[0].compute_ns, 1500);
	CHECK_INT(model.order[0], 1);
	CHECK_INT(model.order[1], 0);
	CHECK_OK(read_text("{\"layers\":[{\"name\":\"a\",\"bytes\":1}]}", &arena, &model));
	CHECK(!model.order && model.visit_count == 1);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_no_model_is_refused)
{
	struct strata_stage_model model;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(read_text("{}", &arena, &model), -EINVAL, "layers");
	CHECK_ERROR(read_text("{\"layers\":[{\"name\":\"a\"}]}", &arena, &model), -EINVAL, "bytes");
	CHECK_ERROR(read_text("{\"layers\":[{\"name\":\"a\",\"bytes\":1}],\"order\":[\"c\"]}",
			      &arena, &model),
		    -EINVAL, "there is no layer 'c'");
	CHECK_ERROR(
		read_text("{\"layers\":[{\"name\":\"a\",\"bytes\":1},{\"name\":\"a\",\"bytes\":2}],"
			  "\"order\":[\"a\"]}",
			  &arena, &model),
		-EINVAL, "there are two layers 'a'");
	strata_arena_fini(&arena);
}

static int read_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	static const char text[] = "{\"layers\":[{\"name\":\"a\",\"bytes\":1}],\"order\":[\"a\"]}";
	struct strata_stage_model model;
	struct strata_arena arena;

	(void)context;
	strata_arena_init(&arena, own, 0);
	int rc = model_layers_read(text, sizeof(text) - 1, &arena, &model, why);

	strata_arena_fini(&arena);
	/* jansson takes lack of memory in a string for bad syntax */
	return rc == -EINVAL ? strata_fail_memory(why) : rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(read_once, NULL) > 3);
}
