#include "test.h"

#include "cluster/cluster_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_mix mix;

static void fresh(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	memset(&mix, 0, sizeof(mix));
}

TEST(the_most_common_needs_are_kept_until_they_cover_enough)
{
	/* four of one sort, three of another, two and one; memory does not tell them apart */
	const struct strata_need needs[] = {
		{ 1, 9, 1, 0 }, { 2, 0, 0, 500 }, { 2, 1, 0, 500 }, { 1, 8, 1, 0 }, { 3, 0, 0, 0 },
		{ 3, 0, 0, 0 }, { 1, 7, 1, 0 },   { 2, 2, 0, 500 }, { 1, 6, 1, 0 }, { 4, 0, 8, 0 },
	};

	fresh();
	CHECK_OK(strata_mix_make(needs, NULL, 10, 0.7, &arena, &mix, &err));
	CHECK_INT(mix.count, 2);
	CHECK_INT(mix.needs[0].cpu_milli, 1);
	CHECK_INT(mix.needs[0].memory_bytes, 0);
	CHECK_INT(mix.needs[0].gpus, 1);
	CHECK_INT(mix.needs[1].gpu_milli, 500);
	CHECK_NEAR(mix.parts[0], 4.0 / 7, 1e-15);
	CHECK_NEAR(mix.parts[1], 3.0 / 7, 1e-15);
	CHECK(!mix.gpu_types[0]);
	CHECK_OK(strata_mix_make(needs, NULL, 10, 0.71, &arena, &mix, &err));
	CHECK_INT(mix.count, 3);
	CHECK_OK(strata_mix_make(needs, NULL, 10, 1, &arena, &mix, &err));
	CHECK_INT(mix.count, 4);
	CHECK_INT(mix.needs[3].gpus, 8);
	CHECK_OK(strata_mix_make(NULL, NULL, 0, 0.95, &arena, &mix, &err));
	CHECK_INT(mix.count, 0);
	fresh();
}

TEST(types_tell_needs_apart_and_equal_counts_keep_their_order)
{
	const struct strata_need needs[4] = {
		{ 1, 0, 1, 0 }, { 1, 0, 1, 0 }, { 1, 0, 1, 0 }, { 0, 0, 1, 0 }
	};
	const char *const types[4] = { "v100", "a100|h100", "", NULL };

	fresh();
	CHECK_OK(strata_mix_make(needs, types, 4, 1, &arena, &mix, &err));
	CHECK_INT(mix.count, 4);
	CHECK_TEXT(mix.gpu_types[0], "v100");
	CHECK_TEXT(mix.gpu_types[1], "a100|h100");
	CHECK(!mix.gpu_types[2] && !mix.gpu_types[3]);
	CHECK_INT(mix.needs[3].cpu_milli, 0);
	fresh();
}

TEST(cover_and_count_have_limits)
{
	static struct strata_need needs[STRATA_MIX_COUNT_MAX + 1];

	for (int64_t i = 0; i <= STRATA_MIX_COUNT_MAX; i++)
		needs[i].cpu_milli = i;
	fresh();
	mix.count = 77;
	CHECK_ERROR(strata_mix_make(needs, NULL, 3, 0, &arena, &mix, &err), -EINVAL,
		    "cover is 0; expected above 0, up to 1");
	CHECK_ERROR(strata_mix_make(needs, NULL, 3, 1.01, &arena, &mix, &err), -EINVAL,
		    "cover is 1.01");
	CHECK_INT(mix.count, 77);
	CHECK_OK(strata_mix_make(needs, NULL, STRATA_MIX_COUNT_MAX, 1, &arena, &mix, &err));
	CHECK_INT(mix.count, STRATA_MIX_COUNT_MAX);
	CHECK_OK(strata_mix_make(needs, NULL, STRATA_MIX_COUNT_MAX + 1, 1, &arena, &mix, &err));
	CHECK_INT(mix.count, STRATA_MIX_COUNT_MAX);
	CHECK_NEAR(mix.parts[0], 1.0 / STRATA_MIX_COUNT_MAX, 1e-15);
	fresh();
}

TEST(types_that_nobody_names_are_one)
{
	const struct strata_need needs[3] = { { 0 } };
	const char *const types[3] = { "a100|h100", NULL, "h100||l4" };
	const double parts[3] = { 0 };
	struct strata_mix named = { needs, types, parts, 3 };
	struct mix_types found;

	fresh();
	CHECK_INT(mix_types_init(&found, &named, &arena), 0);
	CHECK_INT(found.count, 4);
	CHECK_INT(mix_types_find(&found, "a100"), 0);
	CHECK_INT(mix_types_find(&found, "h100"), 1);
	CHECK_INT(mix_types_find(&found, "l4"), 2);
	CHECK_INT(mix_types_find(&found, "t4"), 3);
	CHECK_INT(mix_types_find(&found, NULL), 3);
	CHECK(mix_types_take(&found, 1, types[0]) && mix_types_take(&found, 1, types[2]));
	CHECK(!mix_types_take(&found, 0, types[2]) && !mix_types_take(&found, 3, types[0]));
	CHECK(mix_types_take(&found, 3, ""));
	named.gpu_types = NULL;
	CHECK_INT(mix_types_init(&found, &named, &arena), 0);
	CHECK_INT(found.count, 1);
	CHECK_INT(mix_types_find(&found, "a100"), 0);
	fresh();
}

static int make(struct strata_memory *limited, void *context, struct strata_error *error)
{
	const struct strata_need needs[3] = { { 1, 0, 1, 0 }, { 2, 0, 1, 0 }, { 1, 0, 1, 0 } };
	struct strata_arena own;
	struct strata_mix made;

	(void)context;
	strata_arena_init(&own, limited, 0);
	int rc = strata_mix_make(needs, NULL, 3, 1, &own, &made, error);

	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK_INT(test_every_allocation(make, NULL), 4);
}
