#include "test.h"

#include "formats/swf.h"
#include "random.h"
#include "sim/input.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_swf swf;

static int read_text(const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	swf = (struct strata_swf){ 0 };
	return strata_swf_read(text, strlen(text), &arena, &swf, &err);
}

static const char small[] =
	"; Version: 2.2\n"
	";   a line, indented\n"
	";\n"
	"; MaxNodes: 64 (thin ones)\r\n"
	";MaxProcs:128\n"
	"; MaxProcs:\t 128\n"
	"; Information: http://example.org/\n"
	"; http://example.org: not a key\n"
	"\n"
	"  1 10 -1 100 4 12.25 -1 8 200 -1 1 7 8 9 2 3 -1 -1\n"
	"2\t20\t5\t0\t1\t-1\t1e3\t-1\t-1\t0.5\t0\t-1\t-1\t-1\t-1\t-1\t1\t60 extra 19\r\n"
	"3 30.000 0 1. 2 3 4 5 6 7 8 9 10 11 12 13 14 15; trailing";

TEST(jobs_and_comments_are_read)
{
	CHECK_OK(read_text(small));
	CHECK_INT(swf.job_count, 3);
	CHECK_INT(swf.note_count, 8);
	const struct strata_swf_job *job = &swf.jobs[0];

	CHECK_INT(job->number, 1);
	CHECK_INT(job->submit_s, 10);
	CHECK_INT(job->wait_s, -1);
	CHECK_INT(job->run_s, 100);
	CHECK_INT(job->procs_used, 4);
	CHECK_NEAR(job->cpu_s, 12.25, 0);
	CHECK_NEAR(job->memory_kb, -1, 0);
	CHECK_INT(job->procs_requested, 8);
	CHECK_INT(job->requested_s, 200);
	CHECK_NEAR(job->requested_memory_kb, -1, 0);
	CHECK_INT(job->status, 1);
	CHECK_INT(job->user, 7);
	CHECK_INT(job->group, 8);
	CHECK_INT(job->executable, 9);
	CHECK_INT(job->queue, 2);
	CHECK_INT(job->partition, 3);
	CHECK_INT(job->preceding, -1);
	CHECK_INT(job->think_s, -1);
	CHECK_INT(job->line, 10);
	CHECK_NEAR(swf.jobs[1].memory_kb, 1000, 0);
	CHECK_NEAR(swf.jobs[1].requested_memory_kb, 0.5, 0);
	CHECK_INT(swf.jobs[1].think_s, 60);
	CHECK_INT(swf.jobs[2].submit_s, 30);
	CHECK_INT(swf.jobs[2].run_s, 1);
	CHECK_INT(swf.jobs[2].think_s, 15);
	CHECK_INT(swf.jobs[2].line, 12);
}

TEST(comments_have_keys_and_values)
{
	CHECK_OK(read_text(small));
	CHECK_TEXT(strata_swf_note(&swf, "Version"), "2.2");
	CHECK_TEXT(swf.notes[1].key, "");
	CHECK_TEXT(swf.notes[1].value, "  a line, indented");
	CHECK_TEXT(swf.notes[2].key, "");
	CHECK_TEXT(swf.notes[2].value, "");
	CHECK_TEXT(swf.notes[4].value, "MaxProcs:128");
	CHECK_TEXT(swf.notes[7].value, "http://example.org: not a key");
	CHECK_INT(swf.notes[7].line, 8);
	CHECK_INT(strata_swf_note_int(&swf, "MaxNodes"), 64);
	CHECK_INT(strata_swf_note_int(&swf, "MaxProcs"), 128);
	CHECK_INT(strata_swf_note_int(&swf, "Information"), -1);
	CHECK_INT(strata_swf_note_int(&swf, "Missing"), -1);
	CHECK(!strata_swf_note(&swf, "Missing"));
	CHECK_INT(strata_swf_procs(&swf), 128);
	CHECK_OK(read_text("; MaxNodes: 64\n; MaxProcs: -1\n"));
	CHECK_INT(strata_swf_procs(&swf), 64);
	CHECK_INT(swf.job_count, 0);
	CHECK_OK(read_text(""));
	CHECK_INT(strata_swf_procs(&swf), -1);
}

TEST(a_bad_line_is_named)
{
	struct strata_swf before;

	CHECK_OK(read_text(small));
	before = swf;
	const char *bad = "; x\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n1 2 3\n";

	CHECK_ERROR(strata_swf_read(bad, strlen(bad), &arena, &swf, &err), -EBADMSG,
		    "line 3 has 3 columns; expected 18");
	CHECK_BYTES(&swf, &before, sizeof(swf));
	CHECK_ERROR(read_text("1 2 3 x4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"), -EBADMSG,
		    "line 1, column 4 (run time) is \"x4\"; expected a whole number");
	CHECK_ERROR(read_text("1 2 3 4 5 6..7 7 8 9 10 11 12 13 14 15 16 17 18\n"), -EBADMSG,
		    "column 6 (CPU time) is \"6..7\"; expected a decimal number");
	CHECK_ERROR(read_text("1 2 3 4.5 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"), -EBADMSG,
		    "column 4 (run time) is \"4.5\"");
	CHECK_ERROR(read_text("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17         ;18\n"), -EBADMSG,
		    "line 1 has 17 columns");
	CHECK_ERROR(read_text("job,start,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n"), -EBADMSG,
		    "column 1 (job number) is \"job,start");
	CHECK_ERROR(read_text("\x1f\x8b\x08 this is gzip, not text, but long enough\n"), -EBADMSG,
		    "line 1, column 1");
	CHECK_ERROR(strata_swf_read("; a\0b\n", 6, &arena, &swf, &err), -EBADMSG,
		    "line 1 has a NUL byte");
}

TEST(numbers_at_the_edges)
{
	CHECK_OK(read_text(
		"999999999999999999 -999999999999999999 3 4 5 1e-400 7 8 9 10 11 12 13 14 "
		"15 16 17 18"));
	CHECK_INT(swf.jobs[0].number, 999999999999999999);
	CHECK_INT(swf.jobs[0].submit_s, -999999999999999999);
	CHECK_NEAR(swf.jobs[0].cpu_s, 0, 0);
	CHECK_ERROR(read_text("1000000000000000000 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18"),
		    -EBADMSG, "column 1");
	CHECK_OK(read_text("1 2 3 4 5 12345678901234567890.5 7 8 9 10 11 12 13 14 15 16 17 18"));
	CHECK_NEAR(swf.jobs[0].cpu_s, 12345678901234567890.5, 0);
	CHECK_ERROR(read_text("1 2 3 4 5 1e400 7 8 9 10 11 12 13 14 15 16 17 18"), -EBADMSG,
		    "column 6");
	CHECK_ERROR(read_text("1 2 3 4 5 - 7 8 9 10 11 12 13 14 15 16 17 18"), -EBADMSG,
		    "column 6");
}

/* A text of `count` times the piece. */
static char *repeat(const char *piece, size_t count)
{
	size_t length = strlen(piece);
	char *text = malloc(count * length + 1);

	if (!text)
		abort();
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * length, piece, length);
	text[count * length] = '\0';
	return text;
}

TEST(lines_and_comments_have_limits)
{
	char *text = malloc(STRATA_SWF_LINE_BYTES_MAX + 2);

	CHECK(text);
	memset(text, ';', STRATA_SWF_LINE_BYTES_MAX + 1);
	text[STRATA_SWF_LINE_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(read_text(text), -E2BIG, "line 1 has more than 65536 bytes");
	text[STRATA_SWF_LINE_BYTES_MAX] = '\n';
	CHECK_OK(read_text(text));
	free(text);
	text = repeat(";\n", STRATA_SWF_NOTES_MAX + 1);
	CHECK_ERROR(read_text(text), -E2BIG, "line 65537 is past the limit of 65536 comments");
	text[2 * STRATA_SWF_NOTES_MAX] = '\0';
	CHECK_OK(read_text(text));
	free(text);
}

TEST(jobs_have_a_limit)
{
	static const char job[] = "1 2 3 4 5 6 7 8 9 1 1 1 1 1 1 1 1 1\n";
	char *text = repeat(job, (size_t)STRATA_SWF_JOBS_MAX + 1);
	size_t length = (size_t)STRATA_SWF_JOBS_MAX * strlen(job);

	CHECK_ERROR(read_text(text), -E2BIG, "line 4194305 is past the limit of 4194304 jobs");
	/* one less is not refused for their number, only for the memory they would take here */
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 1 << 20);
	CHECK_ERROR(strata_swf_read(text, length, &arena, &swf, &err), -ENOMEM, "memory");
	free(text);
}

TEST(garbage_costs_little_memory)
{
	char *text = repeat("1\n", 1 << 20);
	size_t before = memory.peak_bytes;

	CHECK_ERROR(read_text(text), -EBADMSG, "line 1 has 1 columns");
	CHECK(memory.peak_bytes <= before + 65536);
	free(text);
}

static int read_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_arena own;
	struct strata_swf out = { .job_count = 77 };

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = strata_swf_read(small, sizeof(small) - 1, &own, &out, ret_err);

	if (rc)
		CHECK_INT(out.job_count, 77);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(read_again, NULL) >= 18);
}

/* Lines with random numbers in random spacing give those numbers. */
TEST(random_lines_are_read_as_sscanf_would)
{
	uint64_t seed = 5;

	for (int round = 0; round < 2000; round++) {
		int64_t values[SWF_COLUMNS];
		char text[1024], *at = text;

		for (size_t i = 0; i < SWF_COLUMNS; i++) {
			values[i] = (int64_t)(random_next(&seed) >> random_below(&seed, 62) >> 2);
			values[i] %= 1000000000000000;
			if (random_below(&seed, 3) == 0)
				values[i] = -values[i];
			at += sprintf(at, "%.*s%lld", (int)random_below(&seed, 3) + 1, "\t  ",
				      (long long)values[i]);
		}
		CHECK_OK(read_text(text));
		CHECK_INT(swf.job_count, 1);
		for (size_t i = 0; i < SWF_COLUMNS; i++) {
			const void *field = (const char *)swf.jobs + swf_columns[i].offset;

			if (swf_columns[i].real)
				CHECK_NEAR(*(const double *)field, (double)values[i], 0);
			else
				CHECK_INT(*(const int64_t *)field, values[i]);
		}
	}
}

static void check_file(const char *path, size_t jobs, int64_t procs)
{
	const char *text;
	size_t length;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(input_read(env_system(), test_shared_file(path), STRATA_INPUT_BYTES_MAX, &arena,
			    &text, &length, &err));
	CHECK_OK(strata_swf_read(text, length, &arena, &swf, &err));
	CHECK_INT(swf.job_count, jobs);
	CHECK_INT(strata_swf_procs(&swf), procs);
}

TEST(the_public_logs_are_read)
{
	check_file("traces/kth_sp2.swf.gz", 28481, 100);
	check_file("traces/sdsc_sp2.swf.gz", 54006, 128);
	check_file("traces/sdsc_blue.swf.gz", 232542, 1152);
	check_file("traces/curie.swf.gz", 295540, 80640);
	check_file("traces/philly.swf.gz", 82247, -1);
	check_file("traces/rl_lublin_256.swf.gz", 10000, 256);
	check_file("traces/rl_lublin_256_new2.swf.gz", 10000, 256);
	check_file("traces/rl_sdsc_sp2_4.2_cln.swf.gz", 59715, 128);
}
