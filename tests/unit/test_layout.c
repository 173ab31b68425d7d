#include "test.h"

#include "stream/layout.h"

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct layout layout;

static int make(const struct strata_extent *extents, size_t count)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return layout_make(extents, count, &arena, &layout, &err);
}

TEST(an_extent_takes_the_blocks_that_it_touches)
{
	CHECK_OK(make((struct strata_extent[]){ { 3, 4095, 2 } }, 1));
	CHECK_INT(layout.segment_count, 1);
	CHECK_INT(layout.segments[0].file, 3);
	CHECK_INT(layout.segments[0].offset, 0);
	CHECK_INT(layout.segments[0].bytes, 8192);
	CHECK_INT(layout.at[0], 4095);
	CHECK_INT(layout.bytes, 8192);
	CHECK_OK(make((struct strata_extent[]){ { 0, 8192, 4096 } }, 1));
	CHECK_INT(layout.bytes, 4096);
	CHECK_INT(layout.at[0], 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(neighbours_are_one_segment)
{
	CHECK_OK(make((struct strata_extent[]){ { 0, 5000, 100 },  /* in the second block */
						{ 1, 100, 10 },    /* another file */
						{ 0, 100, 4900 },  /* right before the first */
						{ 0, 20000, 100 }, /* a gap of two blocks */
						{ 0, 8192, 1 },    /* the next block */
						{ 0, 9000, 0 } },
		      6));
	CHECK_INT(layout.segment_count, 3);
	CHECK_INT(layout.segments[0].bytes, 3 * 4096);
	CHECK_INT(layout.segments[1].offset, 16384);
	CHECK_INT(layout.segments[1].at, 3 * 4096);
	CHECK_INT(layout.segments[2].file, 1);
	CHECK_INT(layout.bytes, 5 * 4096);
	CHECK_INT(layout.at[0], 5000);
	CHECK_INT(layout.at[1], 4 * 4096 + 100);
	CHECK_INT(layout.at[2], 100);
	CHECK_INT(layout.at[3], 3 * 4096 + 20000 - 16384);
	CHECK_INT(layout_find(&layout, 0), 0);
	CHECK_INT(layout_find(&layout, 3 * 4096 - 1), 0);
	CHECK_INT(layout_find(&layout, 3 * 4096), 1);
	CHECK_INT(layout_find(&layout, 5 * 4096 - 1), 2);
	CHECK_INT(layout_find(&layout, 5 * 4096), 3);
	strata_arena_fini(&arena);
}

TEST(an_extent_within_another_changes_nothing)
{
	CHECK_OK(make((struct strata_extent[]){ { 0, 0, 40960 }, { 0, 4096, 10 } }, 2));
	CHECK_INT(layout.bytes, 40960);
	CHECK_INT(layout.at[1], 4096);
	strata_arena_fini(&arena);
}

static int make_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct strata_arena scratch;
	struct layout one;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = layout_make((struct strata_extent[]){ { 0, 0, 1 } }, 1, &scratch, &one, why);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(make_once, NULL) > 2);
}
