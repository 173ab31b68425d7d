#include "test.h"

#include "server/job_make.h"

#include <stdlib.h>

TEST(what_all_tasks_and_nodes_need_is_added_up)
{
	const struct job_spec spec = { .account = "vision",
				       .comment = "c",
				       .working_dir = "/data" };
	struct strata_job_request request = { .name = "train",
					      .tasks = 3,
					      .nodes = 2,
					      .gpus = 1,
					      .gpus_per_node = 4,
					      .cpu_milli = 1500,
					      .memory_bytes = 10,
					      .memory_per_node_bytes = 100,
					      .band = STRATA_BAND_HIGH,
					      .priority = -7,
					      .gang = 9 };
	struct job job;

	job_make(&spec, &request, &job);
	CHECK_INT(job.gpu_count, 3 * 1 + 2 * 4);
	CHECK_INT(job.cpu_cores, 5);
	CHECK_INT(job.memory_bytes, 3 * 10 + 2 * 100);
	CHECK_INT(job.state, STRATA_JOB_QUEUED);
	CHECK_INT(job.reason, STRATA_REASON_NONE);
	CHECK_INT(job.band, STRATA_BAND_HIGH);
	CHECK_INT(job.priority, -7);
	CHECK_INT(job.gang_id, 9);
	CHECK_TEXT(job.account, "vision");
	CHECK_TEXT(job.name, "train");
	request = (struct strata_job_request){ .tasks = 1, .gpu_milli = 250 };
	job_make(&spec, &request, &job);
	CHECK_INT(job.gpu_count, 1); /* a share of one */
}

TEST(the_command_is_a_list)
{
	const char *words[] = { "python3", "a \"b\".py" };
	const struct job_spec spec = { .command = { words, 2 } }, none = { 0 };
	char *text = job_make_command(&spec);

	CHECK_TEXT(text, "[\"python3\",\"a \\\"b\\\".py\"]");
	free(text);
	text = job_make_command(&none);
	CHECK_TEXT(text, "[]");
	free(text);
}
