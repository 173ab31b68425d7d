#include "sample.h"

TEST(the_last_source_wins)
{
	struct origins origins = { .arena = &sample_arena };
	struct strata_error err;
	char path[32];

	sample_defaults();
	CHECK(!origins_find(&origins, "a"));
	CHECK_OK(origins_add(&origins, "a", "file:1", &err));
	CHECK_OK(origins_add(&origins, "a", "--a", &err));
	CHECK_TEXT(origins_find(&origins, "a"), "--a");
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "p%d", i);
		CHECK_OK(origins_add(&origins, path, path, &err));
	}
	CHECK_TEXT(origins_find(&origins, "p777"), "p777");
	CHECK(!origins_find(&origins, "p1000"));
}

static int add_many(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;
	char path[32];
	int rc = 0;

	(void)context;
	strata_arena_init(&arena, memory, 0);
	struct origins origins = { .arena = &arena };

	for (int i = 0; rc == 0 && i < 400; i++) {
		snprintf(path, sizeof(path), "p%d", i);
		rc = origins_add(&origins, path, "x", err);
	}
	strata_arena_fini(&arena);
	return rc;
}

TEST(adding_survives_lack_of_memory)
{
	test_every_allocation(add_many, NULL);
}
