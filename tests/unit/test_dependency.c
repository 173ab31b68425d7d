#include "test.h"

#include <strata/slurm.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_slurm_dependencies all;

static int parse(const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	all = (struct strata_slurm_dependencies){ .count = 99 };
	return strata_slurm_dependencies_parse(text, STRATA_TEXT_NUL, &arena, &all, &err);
}

static const char *printed(const char *text)
{
	const char *back = NULL;

	CHECK_OK(parse(text));
	CHECK_OK(strata_slurm_dependencies_print(&all, &arena, &back, &err));
	return back;
}

TEST(kinds_and_jobs_are_read)
{
	CHECK_OK(parse("afterok:12:13_4,after:9+5"));
	CHECK_INT(all.count, 3);
	CHECK(!all.any);
	CHECK_INT(all.items[0].kind, STRATA_SLURM_AFTEROK);
	CHECK_INT(all.items[0].job, 12);
	CHECK_INT(all.items[0].task, STRATA_TASK_NONE);
	CHECK_INT(all.items[1].job, 13);
	CHECK_INT(all.items[1].task, 4);
	CHECK_INT(all.items[2].kind, STRATA_SLURM_AFTER);
	CHECK_INT(all.items[2].delay_ns, 5 * STRATA_MINUTE_NS);
	CHECK_OK(parse("singleton"));
	CHECK_INT(all.items[0].kind, STRATA_SLURM_SINGLETON);
	CHECK_INT(all.items[0].job, 0);
	CHECK_OK(parse("afterany:1?afternotok:2?aftercorr:3_*"));
	CHECK(all.any);
	CHECK_INT(all.items[2].task, STRATA_TASK_ALL);
	CHECK_TEXT(strata_slurm_dependency_name(all.items[1].kind), "afternotok");
}

TEST(each_job_prints_with_its_kind)
{
	CHECK_TEXT(printed("afterok:12:13_4,after:9+5"), "afterok:12,afterok:13_4,after:9+5");
	CHECK_TEXT(printed("AfterAny:1?singleton"), "afterany:1?singleton");
	CHECK_TEXT(printed("aftercorr:3_*"), "aftercorr:3_*");
}

TEST(what_is_no_dependency_is_refused)
{
	static const char *const bad[] = { "",
					   "nonsense:1",
					   "afterok",
					   "afterok:",
					   "afterok:abc",
					   "afterok:0",
					   "afterok:1,",
					   "afterok:1?",
					   "afterok:1,afterok:2?afterok:3",
					   "singleton:1",
					   "afterok:1+5",
					   "after:1+",
					   "afterok:1_",
					   "12",
					   "afterok:1 ",
					   ",afterok:1",
					   "afterok::1",
					   "afterok:4294967296" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_ERROR(parse(bad[i]), -EINVAL, "is not a dependency");
		CHECK_INT(all.count, 99);
	}
}

TEST(their_number_has_a_limit)
{
	size_t length = 8 + 2 * (STRATA_DEPENDENCY_COUNT_MAX + 1);
	char *text = malloc(length + 1);

	memcpy(text, "afterany", 8);
	for (size_t i = 8; i < length; i += 2)
		memcpy(text + i, ":7", 2);
	text[length - 2] = '\0';
	CHECK_OK(parse(text));
	CHECK_INT(all.count, STRATA_DEPENDENCY_COUNT_MAX);
	text[length - 2] = ':';
	text[length] = '\0';
	CHECK_ERROR(parse(text), -E2BIG, "at most 4096 others");
	free(text);
}

static int parse_and_print(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct strata_slurm_dependencies got;
	struct strata_arena scratch;
	const char *text;

	strata_arena_init(&scratch, scarce, 0);
	int rc = strata_slurm_dependencies_parse("afterok:1:2", STRATA_TEXT_NUL, &scratch, &got,
						 error);

	if (rc == 0)
		rc = strata_slurm_dependencies_print(&got, &scratch, &text, error);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(parse_and_print, NULL);
}
