#include "test.h"

#include "formats/swf_demand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct swf_demand *demands;
static size_t count;

static int read_text(const char *text)
{
	struct strata_swf swf;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_swf_read(text, strlen(text), &arena, &swf, &err));
	return swf_demand_read(&swf, &arena, &demands, &count, &err);
}

TEST(demands_are_found_by_executable)
{
	CHECK_OK(read_text("; MaxProcs: 8\n"
			   "; Demand: 9 nodes=2:gpus=8:cpu_milli=96000:memory_mib=524288\n"
			   "; Demand: 7 gpus=1:gpu_milli=470:gpu_models=T4|P100\n"
			   "; Demand: 8\n"));
	CHECK_INT(count, 3);
	const struct swf_demand *demand = swf_demand_find(demands, count, 9);

	CHECK(demand);
	CHECK_INT(demand->nodes, 2);
	CHECK_INT(demand->gpus, 8);
	CHECK_INT(demand->gpu_milli, 1000);
	CHECK_INT(demand->cpu_milli, 96000);
	CHECK_INT(demand->memory_mib, 524288);
	CHECK_TEXT(demand->gpu_models, "");
	demand = swf_demand_find(demands, count, 7);
	CHECK_INT(demand->gpu_milli, 470);
	CHECK_TEXT(demand->gpu_models, "T4|P100");
	CHECK_INT(swf_demand_find(demands, count, 8)->gpus, 0);
	CHECK(!swf_demand_find(demands, count, 10));
	CHECK_OK(read_text("; MaxProcs: 8\n"));
	CHECK_INT(count, 0);
	CHECK(!swf_demand_find(demands, count, 7));
}

TEST(bad_demands_are_named)
{
	CHECK_ERROR(read_text(";\n; Demand: gpus=1\n"), -EBADMSG,
		    "line 2: Demand: expected the number of an executable first");
	CHECK_ERROR(read_text("; Demand: 99999999999999999999\n"), -EBADMSG,
		    "number of an executable");
	CHECK_ERROR(read_text("; Demand: 7gpus=1\n"), -EBADMSG, "number of an executable");
	CHECK_ERROR(read_text("; Demand: 7 gpu=1\n"), -EBADMSG, "line 1: Demand: ");
	CHECK_ERROR(read_text("; Demand: 7 gpus=1025\n"), -EBADMSG, "1024");
	CHECK_OK(read_text("; Demand: 7 gpus=1024\n"));
	CHECK_ERROR(read_text("; Demand: 7 gpus=2:gpu_milli=500\n"), -EBADMSG,
		    "only a single GPU can be shared");
	CHECK_ERROR(read_text("; Demand: 7 nodes=2:gpus=1:gpu_milli=500\n"), -EBADMSG,
		    "only a single GPU can be shared");
	CHECK_ERROR(read_text("; Demand: 7\n; Demand: 7 gpus=1\n"), -EBADMSG,
		    "executable 7 has more than one");
}

TEST(a_demand_written_as_a_comment_reads_back)
{
	const struct swf_demand given[] = {
		{ 3, 1, 1, 470, 8000, 30517, "" },
		{ 4, 4, 8, 1000, 96000, 524288, "V100M32|A10" },
	};
	struct strata_swf_note notes[2];
	struct strata_swf swf = { .notes = notes, .note_count = 2 };

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < 2; i++)
		CHECK_OK(swf_demand_note(&given[i], &arena, &notes[i], &err));
	CHECK_TEXT(notes[0].value,
		   "3 nodes=1:gpus=1:gpu_milli=470:cpu_milli=8000:memory_mib=30517");
	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &count, &err));
	CHECK_INT(count, 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK_INT(demands[i].executable, given[i].executable);
		CHECK_INT(demands[i].nodes, given[i].nodes);
		CHECK_INT(demands[i].gpus, given[i].gpus);
		CHECK_INT(demands[i].gpu_milli, given[i].gpu_milli);
		CHECK_INT(demands[i].cpu_milli, given[i].cpu_milli);
		CHECK_INT(demands[i].memory_mib, given[i].memory_mib);
		CHECK_TEXT(demands[i].gpu_models, given[i].gpu_models);
	}
}

static int read_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_swf_note note = { "Demand", "7 gpus=1:gpu_models=A10", 1 };
	struct strata_swf swf = { .notes = &note, .note_count = 1 };
	struct strata_arena own;
	struct swf_demand *out = NULL;
	size_t out_count = 77;

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = swf_demand_read(&swf, &own, &out, &out_count, ret_err);

	if (rc)
		CHECK(!out && out_count == 77);
	if (rc == 0)
		rc = swf_demand_note(out, &own, &note, ret_err);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(read_again, NULL) >= 3);
}
