#include "test.h"

#include "formats/stage_schedule.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static int read_text(const char *text, struct strata_arena *arena, struct stage_schedule *schedule)
{
	return stage_schedule_read(text, strlen(text), NULL, arena, schedule, &err);
}

TEST(a_plan_takes_sizes_from_the_caller_then_the_document_then_defaults)
{
	static const char text[] = "{\"layers\":[{\"name\":\"L1\",\"bytes\":100}],\"page_bytes\":"
				   "64,\"budget_bytes\":512,"
				   "\"schedule\":[{\"kind\":\"fetch\",\"layer_name\":\"L1\"},"
				   "{\"kind\":\"compute\",\"layer_name\":\"L1\"}]}";
	static const char bare[] = "fetch L1\ncompute L1\n";
	struct strata_stage_machine machine = { .bytes_per_s = 1000 };
	struct strata_stage_model model;
	struct strata_stage_plan plan;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(stage_schedule_plan(text, sizeof(text) - 1, &machine, NULL, &arena, &model, &plan,
				     &err));
	CHECK_INT(plan.page_bytes, 64);
	CHECK_INT(plan.budget_pages, 8);
	machine.page_bytes = 32;
	machine.budget_bytes = 320;
	CHECK_OK(stage_schedule_plan(text, sizeof(text) - 1, &machine, NULL, &arena, &model, &plan,
				     &err));
	CHECK_INT(plan.page_bytes, 32);
	CHECK_INT(plan.budget_pages, 10);
	machine.page_bytes = machine.budget_bytes = 0;
	CHECK_OK(stage_schedule_plan(bare, sizeof(bare) - 1, &machine, NULL, &arena, &model, &plan,
				     &err));
	CHECK_INT(plan.page_bytes, 1); /* a layer of unknown size is a page */
	machine.budget_bytes = 0;
	model.layer_count = 77;
	CHECK(stage_schedule_plan("compute L1", 10, &machine, NULL, &arena, &model, &plan, &err));
	CHECK_INT(model.layer_count, 77); /* untouched */
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(text_and_json_say_the_same)
{
	struct stage_schedule a, b;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read_text(
		"# two layers\nfetch L1\nprefetch L2 0-3\r\n\tcompute L1 # now\nrelease L1 2\n"
		"compute L2",
		&arena, &a));
	CHECK_OK(read_text("[{\"kind\":\"fetch\",\"layer_name\":\"L1\"},"
			   "{\"kind\":\"prefetch\",\"layer_name\":\"L2\",\"first\":0,\"count\":4},"
			   "{\"kind\":\"compute\",\"layer_name\":\"L1\"},"
			   "{\"kind\":\"release\",\"layer_name\":\"L1\",\"first\":2,\"count\":1},"
			   "{\"kind\":\"compute\",\"layer_name\":\"L2\"}]",
			   &arena, &b));
	CHECK_INT(a.entry_count, 5);
	CHECK_INT(b.entry_count, 5);
	CHECK_BYTES(a.entries, b.entries, 5 * sizeof(*a.entries));
	CHECK_INT(a.entries[0].count, STRATA_STAGE_REST);
	CHECK_INT(a.entries[1].count, 4);
	CHECK_INT(a.model.layer_count, 2);
	CHECK_TEXT(a.model.layers[1].name, "L2");
	CHECK_INT(a.model.visit_count, 2);
	CHECK_INT(a.model.backward_count, 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_document_has_its_own_layers)
{
	struct stage_schedule schedule;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read_text("{\"planner\":\"best\",\"page_bytes\":10,\"budget_bytes\":\"1KiB\","
			   "\"layers\":[{\"name\":\"a\",\"bytes\":7}],"
			   "\"schedule\":[{\"kind\":\"compute\",\"layer_name\":\"a\"}]}",
			   &arena, &schedule));
	CHECK(schedule.has_layers);
	CHECK_INT(schedule.page_bytes, 10);
	CHECK_INT(schedule.budget_bytes, 1024);
	CHECK_INT(schedule.model.layers[0].bytes, 7);
	strata_arena_fini(&arena);
}

TEST(what_is_no_schedule_is_refused)
{
	struct stage_schedule schedule;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(read_text("", &arena, &schedule), -EINVAL, "computes nothing");
	CHECK_ERROR(read_text("compute", &arena, &schedule), -EINVAL, "line 1: expected a kind");
	CHECK_ERROR(read_text("compute a 1-2 x", &arena, &schedule), -EINVAL, "line 1: expected");
	CHECK_ERROR(read_text("compute a\nfetch a 3-2", &arena, &schedule), -ERANGE, "line 2");
	CHECK_ERROR(read_text("[1]", &arena, &schedule), -EINVAL, "expected a table");
	CHECK_ERROR(read_text("{}", &arena, &schedule), -EINVAL, "schedule");
	CHECK_ERROR(read_text("[{\"kind\":\"load\",\"layer_name\":\"a\"}]", &arena, &schedule),
		    -EINVAL, "load");
	CHECK_ERROR(read_text("{\"layers\":[{\"name\":\"a\",\"bytes\":7}],"
			      "\"schedule\":[{\"kind\":\"compute\",\"layer_name\":\"b\"}]}",
			      &arena, &schedule),
		    -EINVAL, "there is no layer 'b'");
	CHECK_ERROR(read_text("{\"layers\":[{\"name\":\"a\",\"bytes\":7}],\"held\":[0,0],"
			      "\"schedule\":[{\"kind\":\"compute\",\"layer_name\":\"a\"}]}",
			      &arena, &schedule),
		    -EINVAL, "2 numbers for 1 layers");
	CHECK_OK(read_text("{\"layers\":[{\"name\":\"a\",\"bytes\":7}],\"held\":[3],"
			   "\"schedule\":[{\"kind\":\"compute\",\"layer_name\":\"a\"}]}",
			   &arena, &schedule));
	CHECK_INT(schedule.held[0], 3);
	char line[STRATA_NAME_BYTES_MAX + 16] = "compute ";

	memset(line + 8, 'n', STRATA_NAME_BYTES_MAX + 1);
	CHECK_ERROR(read_text(line, &arena, &schedule), -EINVAL, "a name of more than");
	line[8 + STRATA_NAME_BYTES_MAX] = '\0';
	CHECK_OK(read_text(line, &arena, &schedule));
	strata_arena_fini(&arena);
}

static int read_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct stage_schedule schedule;
	struct strata_arena arena;

	strata_arena_init(&arena, own, 0);
	int rc = stage_schedule_read(context, strlen(context), NULL, &arena, &schedule, why);

	strata_arena_fini(&arena);
	/* jansson takes lack of memory in a string for bad syntax */
	return rc == -EINVAL ? strata_fail_memory(why) : rc;
}

TEST(every_allocation_may_fail)
{
	static char text[] = "fetch a\ncompute a\n";
	static char json[] = "{\"layers\":[{\"name\":\"a\",\"bytes\":7}],\"held\":[1],"
			     "\"schedule\":[{\"kind\":\"compute\",\"layer_name\":\"a\"}]}";

	test_every_allocation(read_once, text);
	test_every_allocation(read_once, json);
}
