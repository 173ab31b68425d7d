#include "workload_text.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

TEST(a_log_has_a_header_and_numbered_jobs)
{
	struct strata_swf swf;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(workload_from("lublin:procs=64:load=0.5", 100, UINT64_MAX, &arena, &swf, &err));
	CHECK_INT(swf.job_count, 100);
	CHECK_TEXT(strata_swf_note(&swf, "Model"),
		   "lublin:procs=64:load=0.5:users=64:repeat=0.5:cycle=true");
	CHECK_TEXT(strata_swf_note(&swf, "Seed"), "18446744073709551615");
	CHECK_TEXT(strata_swf_note(&swf, "MaxJobs"), "100");
	CHECK_TEXT(strata_swf_note(&swf, "MaxRecords"), "100");
	CHECK_INT(strata_swf_procs(&swf), 64);
	CHECK(!strata_swf_note(&swf, "MaxNodes"));
	for (size_t i = 0; i < 100; i++) {
		CHECK_INT(swf.jobs[i].number, i + 1);
		CHECK_INT(swf.jobs[i].wait_s, -1);
		CHECK_INT(swf.jobs[i].status, 1);
		CHECK_INT(swf.jobs[i].procs_used, swf.jobs[i].procs_requested);
		CHECK_NEAR(swf.jobs[i].cpu_s, -1, 0);
		CHECK_INT(swf.jobs[i].preceding, -1);
	}
	CHECK_OK(workload_from("gpu:gpus=64:gpus_per_node=4", 100, 0, &arena, &swf, &err));
	CHECK_INT(strata_swf_note_int(&swf, "MaxNodes"), 16);
	CHECK_TEXT(strata_swf_note(&swf, "Queue"), "0 low");
	strata_arena_fini(&arena);
}

TEST(models_are_found_by_their_other_names)
{
	struct strata_swf swf;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(workload_from("Lublin-Feitelson", 1, 1, &arena, &swf, &err));
	CHECK_OK(workload_from("batch", 1, 1, &arena, &swf, &err));
	CHECK_OK(workload_from("GPU cluster", 1, 1, &arena, &swf, &err));
	CHECK_ERROR(workload_from("lubin", 1, 1, &arena, &swf, &err), -ENOENT, "lublin");
	CHECK_INT(workload_from("lublin:load=0", 1, 1, &arena, &swf, &err), -ERANGE);
	strata_arena_fini(&arena);
}
