#include "test.h"

#include "stage/stage_int.h"

static struct strata_memory memory;
static struct strata_error err;

/* Three layers of four pages, one after the other; a visit takes as long as reading two pages. */
static const uint32_t layer[] = { 0, 1, 2 }, pages[] = { 4, 4, 4 }, next[] = { 3, 3, 3 };
static const double compute[] = { 2, 2, 2 };

static struct score score(uint32_t budget, const uint32_t *kept, uint32_t ahead)
{
	struct strata_stage_problem problem = { 3, 3, layer, pages, next, compute, budget };
	struct strata_arena arena;
	struct reads reads;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(reads_init(&reads, &problem, &arena, &err));
	CHECK(reads_set(&reads, kept, ahead));
	struct score result = reads_score(&reads);

	strata_arena_fini(&arena);
	return result;
}

TEST(steps_take_as_long_as_reading_and_computing_in_turn_or_at_once)
{
	static const uint32_t nothing[3], all[] = { 4, 4, 4 }, half[] = { 2, 2, 2 };

	CHECK_NEAR(score(4, nothing, 0).step, 18, 1e-9); /* twelve pages and then six to compute */
	CHECK_INT(score(4, nothing, 0).pages, 12);
	CHECK_NEAR(score(8, nothing, UINT32_MAX).step, 12,
		   1e-9); /* at once, with room for the next */
	CHECK_NEAR(score(6, nothing, UINT32_MAX).step, 12, 1e-9); /* two pages ahead are enough */
	CHECK_NEAR(score(12, all, UINT32_MAX).step, 6, 1e-9);
	CHECK_INT(score(12, all, UINT32_MAX).pages, 0);
	CHECK_NEAR(score(10, half, UINT32_MAX).step, 6, 1e-9);
	CHECK_NEAR(score(8, half, UINT32_MAX).step, 12, 1e-9); /* no room to read ahead */
	CHECK_NEAR(score(9, half, UINT32_MAX).step, 9, 1e-9);  /* one page ahead */
	CHECK_NEAR(score(12, nothing, 1).step, 12, 1e-9);
	CHECK_NEAR(score(12, nothing, 0).step, 18, 1e-9); /* it may not */
}

TEST(more_than_fits_cannot_be_kept)
{
	struct strata_stage_problem problem = { 3, 3, layer, pages, next, compute, 8 };
	static const uint32_t fits[] = { 2, 2, 2 }, more[] = { 3, 2, 2 }, many[] = { 5, 0, 0 };
	struct strata_arena arena;
	struct reads reads;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(reads_init(&reads, &problem, &arena, &err));
	CHECK(reads_set(&reads, fits, UINT32_MAX));
	CHECK(!reads_set(&reads, more, UINT32_MAX));
	CHECK(!reads_set(&reads, many, UINT32_MAX));
	strata_arena_fini(&arena);
}
