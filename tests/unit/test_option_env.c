#include "sample.h"

static const char *const pairs[][2] = {
	{ "LAB_STEPS", "5" },
	{ "LAB_NET_URL", "http://x" },
	{ "LAB_TITLE", "" },
	{ "LAB_SIZES", "8,9" },
};

static const char *get(void *context, const char *name)
{
	const char *bad = context;

	if (bad && strcmp(name, "LAB_STEPS") == 0)
		return bad;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (strcmp(pairs[i][0], name) == 0)
			return pairs[i][1];
	return NULL;
}

TEST(variables_set_rows_and_nested_rows)
{
	struct sample sample = sample_defaults();
	struct origins origins = { .arena = &sample_arena };
	struct strata_error err;

	CHECK_OK(option_read_env(&sample_schema, "LAB_", get, NULL, &sample_arena, &sample,
				 &origins, &err));
	CHECK_INT(sample.steps, 5);
	CHECK_TEXT(sample.net.url, "http://x");
	CHECK_TEXT(sample.title, "untitled"); /* an empty variable says nothing */
	CHECK_INT(sample.sizes.count, 2);
	CHECK_TEXT(origins_find(&origins, "steps"), "LAB_STEPS");
	CHECK_TEXT(origins_find(&origins, "net.url"), "LAB_NET_URL");
	CHECK(!origins_find(&origins, "title"));
}

TEST(a_bad_variable_is_named_and_changes_nothing)
{
	struct sample sample = sample_defaults(), before = sample;
	struct strata_error err;
	char many[] = "many";

	CHECK_ERROR(option_read_env(&sample_schema, "LAB_", get, many, &sample_arena, &sample, NULL,
				    &err),
		    -EINVAL, "LAB_STEPS: steps is 'many'; expected a whole number");
	CHECK_TEXT(err.field, "steps");
	CHECK_BYTES(&sample, &before, sizeof(sample));
}

static int read_all(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;
	struct sample sample = { 0 };

	(void)context;
	strata_arena_init(&arena, memory, 0);
	struct origins origins = { .arena = &arena };
	int rc = option_read_env(&sample_schema, "LAB_", get, NULL, &arena, &sample, &origins, err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(reading_variables_survives_lack_of_memory)
{
	CHECK(test_every_allocation(read_all, NULL) > 5);
}
