#include "test.h"

#include "server/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every number of a row is one of its own, every text too: what a job loses on its way is seen. */
static struct store_job full_row(void)
{
	static char texts[64][16];
	struct store_job row;
	size_t words = sizeof(row) / sizeof(int64_t);
	int64_t *numbers = (int64_t *)(void *)&row;
	const char **pointers[] = { &row.uuid,        &row.user,    &row.account,
				    &row.partition,   &row.qos,     &row.name,
				    &row.gpu_type,    &row.command, &row.working_dir,
				    &row.spec,        &row.script,  &row.environment,
				    &row.request_key, &row.comment, &row.cancelled_by,
				    &row.failure };

	for (size_t i = 0; i < words; i++)
		numbers[i] = (int64_t)i + 1;
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		sprintf(texts[i], "text %zu", i);
		*pointers[i] = texts[i];
	}
	row.state = "running";
	row.reason = "priority";
	row.stopping = "cancel";
	row.band = STRATA_BAND_HIGH;
	row.place = "[{\"node\":\"n1\",\"tasks\":1,\"cpu_milli\":1000,\"memory_bytes\":0,"
		    "\"gpu_mask\":1,\"gpu_milli\":0}]";
	row.ran_on = "[{\"node\":\"n2\",\"tasks\":1,\"cpu_milli\":1000,\"memory_bytes\":0,"
		     "\"gpu_mask\":2,\"gpu_milli\":0}]";
	return row;
}

TEST(a_row_becomes_a_job_and_the_same_row_again)
{
	struct store_job row = full_row(), again;
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct job job;

	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(job_from_row(&row, &arena, &job), 0);
	CHECK_INT(job.state, STRATA_JOB_RUNNING);
	CHECK_INT(job.reason, STRATA_REASON_PRIORITY);
	CHECK_INT(job.stopping, JOB_STOPPING_CANCEL);
	CHECK_TEXT(job.place->pieces[0].node, "n1");
	CHECK_TEXT(job.ran_on->pieces[0].node, "n2");
	CHECK_INT(job_to_row(&job, &arena, &again), 0);
	CHECK_TEXT(again.state, row.state);
	CHECK_TEXT(again.reason, row.reason);
	CHECK_TEXT(again.stopping, row.stopping);
	CHECK_TEXT(again.place, row.place);
	CHECK_TEXT(again.ran_on, row.ran_on);
	again.state = row.state, again.reason = row.reason, again.stopping = row.stopping;
	again.place = row.place, again.ran_on = row.ran_on;
	CHECK(memcmp(&row, &again, sizeof(row)) == 0); /* pointers and all */
	strata_arena_fini(&arena);
}

TEST(every_word_is_read_back)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct store_job row;
	struct job job = { .id = 1 }, again;

	strata_arena_init(&arena, &memory, 0);
	for (int i = 0; i < STRATA_REASON_COUNT; i++) {
		enum strata_stop mode;

		job.state = (enum strata_job_state)(i % STRATA_JOB_STATE_COUNT);
		job.reason = (enum strata_reason)i;
		job.stopping = (enum job_stopping)(i % 4);
		CHECK_INT(job_to_row(&job, &arena, &row), 0);
		CHECK_INT(job_from_row(&row, &arena, &again), 0);
		CHECK_INT(again.state, job.state);
		CHECK_INT(again.reason, job.reason);
		CHECK_INT(again.stopping, job.stopping);
		CHECK_INT(job_stop_mode(job.stopping, &mode), job.stopping != JOB_NOT_STOPPING);
		CHECK(job.stopping == JOB_NOT_STOPPING || job_stopping_of(mode) == job.stopping);
	}
	CHECK(!row.place && !again.place);
	strata_arena_fini(&arena);
}

TEST(words_of_another_version_mean_nothing)
{
	struct store_job row = { .state = "dreaming", .reason = "moon", .stopping = "softly" };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct job job;

	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(job_from_row(&row, &arena, &job), 0);
	CHECK_INT(job.state, STRATA_JOB_QUEUED);
	CHECK_INT(job.reason, STRATA_REASON_NONE);
	CHECK_INT(job.stopping, JOB_NOT_STOPPING);
	strata_arena_fini(&arena);
}

TEST(what_has_ended_stays_so)
{
	CHECK(job_state_follows(STRATA_JOB_QUEUED, STRATA_JOB_RUNNING));
	CHECK(job_state_follows(STRATA_JOB_RUNNING, STRATA_JOB_QUEUED));
	CHECK(job_state_follows(STRATA_JOB_FAILED, STRATA_JOB_FAILED));
	CHECK(!job_state_follows(STRATA_JOB_FAILED, STRATA_JOB_QUEUED));
	CHECK(!job_state_follows(STRATA_JOB_COMPLETED, STRATA_JOB_CANCELLED));
}

TEST(an_element_of_a_range_has_numbers_of_its_own)
{
	const struct job range = { .id = 19,
				   .uuid = "017f22e2-79b0-7000-8000-000000000012",
				   .array_id = 10,
				   .array_index = 27,
				   .elements = 10,
				   .index_step = 3,
				   .name = "x" };
	char uuid[UUID_TEXT_BYTES];
	struct job first = job_element(&range, 10, uuid);

	CHECK_INT(job_first_id(&range), 10);
	CHECK_INT(first.id, 10);
	CHECK_TEXT(first.uuid, "017f22e2-79b0-7000-8000-000000000009");
	CHECK_INT(first.array_index, 0);
	CHECK_INT(first.array_id, 10);
	CHECK_INT(job_elements(&first), 1);
	CHECK_TEXT(first.name, "x");
	CHECK_INT(job_element(&range, 19, uuid).array_index, 27);
}
