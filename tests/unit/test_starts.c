#include "test.h"

#include "formats/starts.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct starts_row *rows;
static size_t count;

static int read_text(const char *text, const char *column)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return starts_read(text, strlen(text), column, &arena, &rows, &count, &err);
}

TEST(a_column_is_chosen_by_name)
{
	const char *text = "job_id,start_easy,start_fcfs\n4,399264,399265\n7,0,1.5\n";

	CHECK_OK(read_text(text, "start_fcfs"));
	CHECK_INT(count, 2);
	CHECK_INT(rows[0].number, 4);
	CHECK_INT(rows[0].start_ns, 399265000000000);
	CHECK_INT(rows[1].start_ns, 1500000000);
	CHECK_ERROR(read_text(text, "start"), -EBADMSG,
		    "no column \"start\", only job_id, start_easy, start_fcfs");
	CHECK_ERROR(read_text("job_id,start\n1,x\n", "start"), -EBADMSG,
		    "line 2, column \"start\" is \"x\"");
	CHECK_ERROR(read_text("job_id,start\n1,2\nx,2\n", "start"), -EBADMSG,
		    "line 3, column \"job_id\" is \"x\"");
	CHECK_ERROR(read_text("", "start"), -EBADMSG, "empty");
}

TEST(what_is_written_reads_back)
{
	struct starts_row out[] = {
		{ 1, 0 }, { -2, 1000000000 }, { 3, 1500000000 }, { 4, 10000000001 }
	};
	struct buf buf;

	buf_init(&buf, &memory, 0);
	starts_add(&buf, out, 4);
	CHECK_TEXT(buf.text, "job_id,start\n1,0\n-2,1\n3,1.5\n4,10.000000001\n");
	CHECK_OK(read_text(buf.text, "start"));
	CHECK_INT(count, 4);
	CHECK_BYTES(rows, out, sizeof(out));
	buf_fini(&buf);
}

static int read_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_arena own;
	struct starts_row *out = NULL;
	size_t out_count = 77;

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = starts_read("job_id,start\n1,2\n", 17, "start", &own, &out, &out_count, ret_err);

	if (rc)
		CHECK(!out && out_count == 77);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK_INT(test_every_allocation(read_again, NULL), 3);
}
