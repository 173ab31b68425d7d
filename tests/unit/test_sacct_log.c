/* Lists of sacct -P, written by hand. */
#include "test.h"

#include "slurm/sacct_log.h"
#include "formats/swf_demand.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static const char sample[] =
	"JobIDRaw|User|Account|Partition|Submit|Start|End|Timelimit|State|AllocCPUS|AllocNodes|"
	"AllocTRES\n"
	"17|ann|lab|gpu|2026-11-15T18:00:00|2026-11-15T18:00:10|2026-11-15T18:10:10|01:00:00|"
	"COMPLETED|16|2|"
	"billing=16,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=32G,node=2\n"
	"17.batch|||gpu|2026-11-15T18:00:10|2026-11-15T18:00:10|2026-11-15T18:10:10||COMPLETED|8|1|"
	"cpu=8\n"
	"18|bob|lab|cpu|2026-11-15T17:59:00|2026-11-15T18:00:00|2026-11-15T18:00:00|UNLIMITED|"
	"CANCELLED by 7|1|1|cpu=1,mem=100M\n"
	"19|ann|lab|gpu|2026-11-15T18:00:00|Unknown|Unknown|10:00|PENDING|1|1|\n"
	"20_3|ann||gpu|2026-11-15T18:00:00|2026-11-15T18:00:05|2026-11-15T18:00:06|10|FAILED|16|2|"
	"billing=16,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=32G,node=2\n";

static struct strata_swf read_all(const char *text, size_t *ret_left_out)
{
	struct strata_swf swf = { 0 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(sacct_read(text, strlen(text), &arena, &swf, ret_left_out, &err));
	return swf;
}

TEST(jobs_that_ran)
{
	size_t left_out;
	struct strata_swf swf = read_all(sample, &left_out);
	const struct strata_swf_job *job = swf.jobs;

	CHECK_INT(swf.job_count, 3);
	CHECK_INT(left_out, 1);
	CHECK_INT(job[0].number, 17);
	CHECK_INT(job[0].submit_s, 60); /* since the first */
	CHECK_INT(job[0].wait_s, 10);
	CHECK_INT(job[0].run_s, 600);
	CHECK_INT(job[0].requested_s, 3600);
	CHECK_INT(job[0].procs_used, 16);
	CHECK_INT(job[0].status, 1);
	CHECK_INT(job[1].submit_s, 0);
	CHECK_INT(job[1].run_s, 1); /* something, at least */
	CHECK_INT(job[1].requested_s, -1);
	CHECK_INT(job[1].status, 5);
	CHECK_INT(job[2].number, 20);
	CHECK_INT(job[2].requested_s, 600);
	CHECK_INT(job[2].status, 0);
	CHECK(job[0].user == job[2].user && job[0].user != job[1].user);
	CHECK_INT(job[2].group, -1);
	CHECK_INT(strata_swf_note_int(&swf, "UnixStartTime"), 1794765540);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_they_had_of_a_node)
{
	struct strata_swf swf = read_all(sample, NULL);
	struct swf_demand *demands;
	size_t count;

	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(swf.jobs[0].executable, swf.jobs[2].executable);
	const struct swf_demand *demand = swf_demand_find(demands, count, swf.jobs[0].executable);

	CHECK_INT(demand->nodes, 2);
	CHECK_INT(demand->gpus, 2);
	CHECK_INT(demand->cpu_milli, 8000);
	CHECK_INT(demand->memory_mib, 16 << 10);
	CHECK_TEXT(demand->gpu_models, "a100");
	demand = swf_demand_find(demands, count, swf.jobs[1].executable);
	CHECK_INT(demand->gpus, 0);
	CHECK_INT(demand->memory_mib, 100);
	strata_arena_fini(&arena);
}

/* In any order, with any others, with seconds for times. */
TEST(few_columns_are_enough)
{
	struct strata_swf swf =
		read_all("End|x|JobID|NCPUS|Start|Submit\r\n300||5|2|200|100\r\n", NULL);

	CHECK_INT(swf.job_count, 1);
	CHECK_INT(swf.jobs[0].run_s, 100);
	CHECK_INT(swf.jobs[0].user, -1);
	strata_arena_fini(&arena);
}

TEST(it_is_known_by_its_first_line)
{
	CHECK(sacct_is(sample, strlen(sample)));
	CHECK(sacct_is("jobid|state\n", 12));
	CHECK(!sacct_is("; Version: 2.2\n1 2 3\n", 21));
	CHECK(!sacct_is("JobID State\n", 12));
	CHECK(!sacct_is("", 0));
}

/* Slurm has no such type, but what is read can be written down and read again. */
TEST(a_type_of_gpu_may_have_any_printable_name)
{
	struct strata_swf swf = read_all("JobID|Submit|Start|End|NCPUS|AllocTRES\n"
					 "5|1|2|3|1|gres/gpu:a:b 'c'=3\n",
					 NULL);
	struct swf_demand *demands;
	size_t count;

	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(demands[0].gpus, 3);
	CHECK_TEXT(demands[0].gpu_models, "a:b 'c'");
	strata_arena_fini(&arena);
}

TEST(more_memory_than_there_is_can_be_written_down)
{
	struct strata_swf swf = read_all("JobID|Submit|Start|End|NCPUS|AllocTRES\n"
					 "5|1|2|3|1|mem=7E\n6|1|2|3|1|mem=9223372036854775807B\n",
					 NULL);
	struct swf_demand *demands;
	size_t count;

	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(demands[0].memory_mib, SWF_DEMAND_MEMORY_MIB_MAX);
	strata_arena_fini(&arena);
}

TEST(what_is_wrong_is_named)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "JobID|Start|End|NCPUS\n", "no column Submit" },
		{ "JobID|Submit|Start|End|NCPUS\n5|x|1|2|1\n", "line 2, Submit is \"x\"" },
		{ "JobID|Submit|Start|End|NCPUS\n5|1|2|3|many\n", "line 2, AllocCPUS is \"many\"" },
		{ "JobID|Submit|Start|End|NCPUS|Timelimit\n5|1|2|3|1|soon\n",
		  "Timelimit is \"soon\"" },
		{ "JobID|Submit|Start|End|NCPUS|AllocTRES\n5|1|2|3|1|mem=much\n", "AllocTRES" },
		{ "JobID|Submit|Start|End|NCPUS|AllocTRES\n5|1|2|3|1|gres/gpu:\033=1\n",
		  "expected a GPU type of printable characters" },
		{ "", "no line" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strata_swf swf;

		strata_arena_init(&arena, &memory, 0);
		CHECK_ERROR(
			sacct_read(cases[i].text, strlen(cases[i].text), &arena, &swf, NULL, &err),
			-EBADMSG, cases[i].words);
		strata_arena_fini(&arena);
	}
}

static int read_once(struct strata_memory *from, void *context, struct strata_error *ret_err)
{
	struct strata_arena own;
	struct strata_swf swf;

	(void)context;
	strata_arena_init(&own, from, 0);
	int rc = sacct_read(sample, strlen(sample), &own, &swf, NULL, ret_err);

	strata_arena_fini(&own);
	return rc;
}

TEST(memory_may_run_out)
{
	test_every_allocation(read_once, NULL);
}
