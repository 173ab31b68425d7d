#include "sample.h"

#include <strata/limits.h>

TEST(defaults_fill_every_type)
{
	struct sample sample = sample_defaults();

	CHECK(!sample.on && sample.loud);
	CHECK_INT(sample.steps, 20);
	CHECK_NEAR(sample.scale, 7.5, 0);
	CHECK_INT(sample.color, SAMPLE_GREEN);
	CHECK_TEXT(sample.title, "untitled");
	CHECK(!sample.secret);
	CHECK_INT(sample.memory_bytes, 1 << 30);
	CHECK_INT(sample.limit_ns, STRATA_DURATION_UNLIMITED);
	CHECK_INT(sample.begin_ns, 0);
	CHECK_INT(sample.sizes.count, 2);
	CHECK_INT(((int64_t *)sample.sizes.items)[1], 2);
	CHECK_INT(sample.disks.count, 0);
	CHECK_INT(sample.weights.count, 1);
	CHECK_TEXT(sample.weights.keys[0], "a");
	CHECK_NEAR(*(double *)sample.weights.items, 2, 0);
	CHECK_INT(sample.net.timeout_ns, 5000000000);
	CHECK(!sample.net.url);
}

TEST(rows_are_found_by_name_alias_and_dashes)
{
	CHECK_TEXT(option_find(&sample_schema, "steps", 5)->name, "steps");
	CHECK_TEXT(option_find(&sample_schema, "num-steps", 9)->name, "steps");
	CHECK_TEXT(option_find(&sample_schema, "inference_steps", 15)->name, "steps");
	CHECK_TEXT(option_find(&sample_schema, "time-limit", 10)->name, "time_limit");
	CHECK(!option_find(&sample_schema, "step", 4));
	CHECK(!option_find(&sample_schema, "stepss", 6));
	CHECK(!option_find(&sample_schema, "", 0));
	CHECK(!option_find(&sample_schema, "num_steps, inference_steps", 26));
}

TEST(an_unknown_name_gets_a_guess)
{
	struct strata_error err;

	CHECK_ERROR(option_unknown(&sample_schema, "stesp", 5, &err), -EINVAL,
		    "did you mean 'steps'?");
	CHECK_TEXT(err.field, "stesp");
	CHECK_ERROR(option_unknown(&sample_schema, "xyzzy", 5, &err), -EINVAL,
		    "sample has no option 'xyzzy'");
	CHECK(!strstr(err.text, "mean"));
}

static int check_integer(const char *name, int64_t value, struct strata_error *err)
{
	return option_check(option_find(&sample_schema, name, strlen(name)), &value, err);
}

TEST(ranges_are_checked_at_both_ends)
{
	struct strata_error err = { 0 };

	CHECK_OK(check_integer("steps", 1, &err));
	CHECK_OK(check_integer("steps", 1000, &err));
	CHECK_ERROR(check_integer("steps", 0, &err), -ERANGE, "steps is 0; expected 1 to 1000");
	CHECK_TEXT(err.field, "steps");
	CHECK_ERROR(check_integer("steps", 1001, &err), -ERANGE,
		    "steps is 1001; expected 1 to 1000");
	CHECK_OK(check_integer("any", INT64_MIN, &err));
	CHECK_OK(check_integer("memory", 1 << 20, &err));
	CHECK_ERROR(check_integer("memory", (1 << 20) - 1, &err), -ERANGE,
		    "expected at least 1MiB");
	CHECK_OK(check_integer("time_limit", STRATA_DURATION_UNLIMITED, &err));
	CHECK_ERROR(check_integer("grace", -1, &err), -ERANGE, "grace is");

	const struct strata_option *scale = option_find(&sample_schema, "scale", 5);
	double bad = -0.5, nan = __builtin_nan("");

	CHECK_ERROR(option_check(scale, &bad, &err), -ERANGE,
		    "scale is -0.5; expected 0 to 1000000000");
	CHECK_ERROR(option_check(scale, &nan, &err), -ERANGE, "scale is");
}

TEST(texts_and_lists_have_a_longest_length)
{
	const struct strata_option *title = option_find(&sample_schema, "title", 5);
	const struct strata_option *sizes = option_find(&sample_schema, "sizes", 5);
	struct strata_error err = { 0 };
	const char *text = "sixteen letters!";
	struct strata_list list = { .count = 4 };

	CHECK_OK(option_check(title, &text, &err));
	text = "seventeen letters";
	CHECK_ERROR(option_check(title, &text, &err), -ERANGE,
		    "title is 17 bytes long; expected at most 16");
	CHECK_OK(option_check(sizes, &list, &err));
	list.count = 5;
	CHECK_ERROR(option_check(sizes, &list, &err), -ERANGE,
		    "sizes has 5 items; expected at most 4");
}

static int fill(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;
	struct sample sample;

	(void)context;
	strata_arena_init(&arena, memory, 0);
	int rc = strata_schema_defaults(&sample_schema, &arena, &sample, err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(defaults_survive_lack_of_memory)
{
	test_every_allocation(fill, NULL);
}
