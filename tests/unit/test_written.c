/* Schedules as people write them become plans that can be verified and followed. */
#include "test.h"

#include <strata/stage.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static const struct strata_stage_layer layers[] = { { "L1", 20, 1000 }, { "L2", 25, 1000 } };

#define FETCH(layer)                                               \
	{                                                          \
		STRATA_STAGE_FETCH, layer, 0, STRATA_STAGE_REST, 0 \
	}
#define PREFETCH(layer)                                               \
	{                                                             \
		STRATA_STAGE_PREFETCH, layer, 0, STRATA_STAGE_REST, 0 \
	}
#define COMPUTE(layer)                               \
	{                                            \
		STRATA_STAGE_COMPUTE, layer, 0, 0, 0 \
	}
#define RELEASE(layer)                                               \
	{                                                            \
		STRATA_STAGE_RELEASE, layer, 0, STRATA_STAGE_REST, 0 \
	}

/* Pages of ten bytes, a microsecond each. */
static int write(const struct strata_stage_entry *entries, size_t count, int64_t budget,
		 struct strata_arena *arena, struct strata_stage_plan *plan)
{
	static const uint32_t order[] = { 0, 1 };
	const struct strata_stage_model model = { layers, 2, order, 2 };
	const struct strata_stage_machine machine = { 10, budget, 10000000 };
	int rc = strata_stage_schedule(&model, &machine, NULL, entries, count, arena, plan, &err);

	return rc ? rc : strata_stage_verify(plan, &model, arena, &err);
}

TEST(a_schedule_of_layers_becomes_one_of_pages)
{
	static const struct strata_stage_entry entries[] = {
		FETCH(0), COMPUTE(0), RELEASE(0), FETCH(1), COMPUTE(1), RELEASE(1),
	};
	struct strata_arena arena;
	struct strata_stage_plan plan;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(write(entries, 6, 30, &arena, &plan));
	CHECK_INT(plan.entry_count, 6);
	CHECK_INT(plan.entries[3].count, 3);
	CHECK_INT(plan.entries[5].count, 3);
	CHECK_INT(plan.metrics.bytes_per_step, 50);
	CHECK_INT(plan.metrics.peak_bytes, 30);
	CHECK_INT(plan.metrics.step_ns, 7000); /* five pages and two visits, nothing at once */
	CHECK_ERROR(write(entries, 6, 29, &arena, &plan), -E2BIG, "needs 30 bytes");
	CHECK_ERROR(write(entries, 5, 30, &arena, &plan), -EINVAL, "no frame left");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_prefetch_overlaps_and_a_fetch_of_it_only_waits)
{
	static const struct strata_stage_entry entries[] = {
		FETCH(0), PREFETCH(1), COMPUTE(0), RELEASE(0), FETCH(1), COMPUTE(1), RELEASE(1),
	};
	struct strata_arena arena;
	struct strata_stage_plan plan;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(write(entries, 7, 50, &arena, &plan));
	CHECK_INT(plan.entries[1].count, 3);
	CHECK_INT(plan.entries[1].visit, 1);
	CHECK_INT(plan.entries[4].count, 0);
	CHECK_INT(plan.metrics.step_ns, 6000); /* one page's time is hidden */
	strata_arena_fini(&arena);
}

TEST(what_is_never_released_is_there_from_the_second_step_on)
{
	static const struct strata_stage_entry entries[] = {
		FETCH(0), COMPUTE(0), FETCH(1), COMPUTE(1), RELEASE(1),
	};
	struct strata_arena arena;
	struct strata_stage_plan plan;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(write(entries, 5, 50, &arena, &plan));
	CHECK_INT(plan.held[0], 2);
	CHECK_INT(plan.held[1], 0);
	CHECK_INT(plan.metrics.bytes_per_step, 30);
	strata_arena_fini(&arena);
}

TEST(what_makes_no_sense_is_refused)
{
	static const struct strata_stage_entry twice[] = {
		FETCH(0), COMPUTE(0), RELEASE(0), RELEASE(0), FETCH(1), COMPUTE(1), RELEASE(1),
	};
	static const struct strata_stage_entry other[] = { FETCH(2) };
	static const struct strata_stage_entry bare[] = { COMPUTE(0), FETCH(1), COMPUTE(1) };
	struct strata_arena arena;
	struct strata_stage_plan plan;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(write(twice, 7, 50, &arena, &plan), -EINVAL,
		    "entry 3 releases L1, which is not there");
	CHECK_ERROR(write(other, 1, 50, &arena, &plan), -EINVAL, "there is no layer 2");
	CHECK_ERROR(write(bare, 3, 50, &arena, &plan), -EINVAL,
		    "entry 0 (compute of L1): pages of the layer are missing");
	strata_arena_fini(&arena);
}

static int write_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	static const struct strata_stage_entry entries[] = { FETCH(0), COMPUTE(0), FETCH(1),
							     COMPUTE(1) };
	const struct strata_stage_model model = { layers, 2, NULL, 2 };
	const struct strata_stage_machine machine = { 10, 50, 10000000 };
	struct strata_stage_plan plan;
	struct strata_arena arena;

	(void)context;
	strata_arena_init(&arena, own, 0);
	int rc = strata_stage_schedule(&model, &machine, NULL, entries, 4, &arena, &plan, why);

	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(write_once, NULL);
}
