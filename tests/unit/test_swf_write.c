#include "test.h"

#include "formats/swf.h"
#include "random.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static const char log_text[] = "; Version: 2.2\n"
			       ";\n"
			       ";   indented text\n"
			       "; MaxProcs: 128\n"
			       "1 10 -1 100 4 12.25 -1 8 200 -1 1 7 8 9 2 3 -1 -1\n"
			       "-2 20 5 0 1 -1 1000 -1 -1 0.5 0 -1 -1 -1 -1 -1 1 60\n"
			       "3 999999999999999999 0 1 2 1e+300 2.5e-07 1 1 1 1 1 1 1 1 1 1 1\n";

TEST(what_was_read_is_written_alike)
{
	struct strata_swf swf;
	const char *text;
	size_t length;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_swf_read(log_text, strlen(log_text), &arena, &swf, &err));
	CHECK_OK(strata_swf_write(&swf, &arena, &text, &length, &err));
	CHECK_INT(length, strlen(text));
	CHECK_OK(strata_swf_read(text, length, &arena, &swf, &err));
	CHECK_NEAR(swf.jobs[2].cpu_s, 1e300, 0);
	CHECK_NEAR(swf.jobs[2].memory_kb, 2.5e-7, 0);
	const char *cut = strstr(text, "\n3 999");

	CHECK(cut && strncmp(text, log_text, (size_t)(cut - text)) == 0);
	strata_arena_fini(&arena);
}

TEST(the_smallest_numbers_are_written)
{
	struct strata_swf_job job = { .number = INT64_MIN, .submit_s = INT64_MAX, .cpu_s = -0.0 };
	struct strata_swf swf = { .jobs = &job, .job_count = 1 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	swf_add(&buf, &swf);
	CHECK_TEXT(buf.text,
		   "-9223372036854775808 9223372036854775807 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
	buf_fini(&buf);
}

TEST(a_comment_cannot_break_out_of_its_line)
{
	struct strata_swf_note notes[] = { { "Note", "one\ntwo\r\n3 4", 0 }, { "", "", 0 } };
	struct strata_swf swf = { .notes = notes, .note_count = 2 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	swf_add(&buf, &swf);
	CHECK_TEXT(buf.text, "; Note: one two  3 4\n;\n");
	buf_fini(&buf);
}

TEST(random_values_survive)
{
	uint64_t seed = 11;

	for (int round = 0; round < 2000; round++) {
		struct strata_swf_job job = { 0 };
		struct strata_swf swf = { .jobs = &job, .job_count = 1 }, back;
		const char *text;
		size_t length;

		strata_arena_init(&arena, &memory, 0);
		for (size_t i = 0; i < SWF_COLUMNS; i++) {
			void *field = (char *)&job + swf_columns[i].offset;
			int64_t whole = (int64_t)(random_next(&seed) >> random_below(&seed, 64)) /
					100 % 1000000000000000000;

			if (swf_columns[i].real)
				*(double *)field = (double)whole /
						   (double)(1 + random_below(&seed, 9));
			else
				*(int64_t *)field = whole;
		}
		CHECK_OK(strata_swf_write(&swf, &arena, &text, &length, &err));
		CHECK_OK(strata_swf_read(text, length, &arena, &back, &err));
		job.line = 1;
		CHECK_BYTES(back.jobs, &job, sizeof(job));
		strata_arena_fini(&arena);
	}
}

static int write_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_swf_job job = { 0 };
	struct strata_swf swf = { .jobs = &job, .job_count = 1 };
	struct strata_arena own;
	const char *text = "untouched";
	size_t length = 77;

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = strata_swf_write(&swf, &own, &text, &length, ret_err);

	if (rc)
		CHECK(strcmp(text, "untouched") == 0 && length == 77);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(write_again, NULL) >= 2);
}
