#include "test.h"

#include "formats/requests.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct requests trace;

static int read_text(const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return requests_read(text, strlen(text), &arena, &trace, &err);
}

TEST(requests_are_read_and_sorted_by_arrival)
{
	CHECK_OK(read_text("arrival_s,user,model,steps,n_images,exec_s,prompt_len\n"
			   "10,ann,sdxl,30,1,22,77\n"
			   "4.5,bob,sdxl,30,1,7.25,\n"
			   "10,ann,flux,,4,-1,x\n"));
	CHECK_INT(trace.count, 3);
	CHECK_INT(trace.rows[0].arrival_ns, 0);
	CHECK_INT(trace.rows[0].exec_ns, 7250000000);
	CHECK_INT(trace.rows[0].cost_ns, 7250000000);
	CHECK_INT(trace.rows[1].arrival_ns, 5500000000);
	CHECK_INT(trace.rows[1].row, 0); /* of one moment as the file has them */
	CHECK_INT(trace.rows[2].exec_ns, SECOND);
	CHECK_INT(trace.rows[2].steps, 0);
	CHECK_INT(trace.user_count, 2);
	CHECK_TEXT(trace.users[trace.rows[0].user], "bob");
	CHECK_INT(trace.rows[0].model, trace.rows[1].model);
	CHECK(trace.rows[1].model != trace.rows[2].model);
	CHECK_INT(trace.rows[0].shape, trace.rows[1].shape);
	CHECK(trace.rows[1].shape != trace.rows[2].shape);
	CHECK_INT(trace.rows[0].account, UINT32_MAX);
	CHECK_INT(trace.rows[0].priority, INT64_MIN);
}

TEST(what_else_is_known_of_a_request_is_taken)
{
	CHECK_OK(read_text("arrival_s,exec_s,cost_s,deadline_s,account,priority,memory_mib,shape\n"
			   "0,5,6,60,lab,9,4096,512x512\n"
			   "1,5,,,,,,\n"));
	CHECK_INT(trace.rows[0].cost_ns, 6 * SECOND);
	CHECK_INT(trace.rows[0].deadline_ns, 60 * SECOND);
	CHECK_TEXT(trace.accounts[trace.rows[0].account], "lab");
	CHECK_INT(trace.rows[0].priority, 9);
	CHECK_INT(trace.rows[0].memory_mib, 4096);
	CHECK_INT(trace.rows[1].cost_ns, 5 * SECOND);
	CHECK_INT(trace.rows[1].deadline_ns, 0);
	CHECK_INT(trace.rows[1].account, UINT32_MAX);
	CHECK_INT(trace.shape_count, 2);
	CHECK_INT(trace.user_count, 1); /* all are of one */
}

TEST(numbers_are_found_by_their_column)
{
	double value = -1;

	CHECK_OK(read_text("arrival_s,exec_s,frames,name\n2,1,16,x\n1,1,,y\n"));
	CHECK(!requests_number(&trace, &trace.rows[0], "frames", &value));
	CHECK(requests_number(&trace, &trace.rows[1], "frames", &value));
	CHECK_NEAR(value, 16, 0);
	CHECK(!requests_number(&trace, &trace.rows[1], "name", &value));
	CHECK(!requests_number(&trace, &trace.rows[1], "width", &value));
}

TEST(arrivals_are_scaled_to_a_load)
{
	CHECK_OK(read_text("arrival_s,exec_s\n0,10\n50,20\n100,30\n"));
	CHECK_NEAR(requests_load(&trace, 2), 0.3, 1e-12);
	requests_scale(&trace, 2, 0.6);
	CHECK_INT(trace.rows[1].arrival_ns, 25 * SECOND);
	CHECK_INT(trace.rows[2].arrival_ns, 50 * SECOND);
	CHECK_NEAR(requests_load(&trace, 2), 0.6, 1e-12);
	requests_scale(&trace, 2, 0); /* as they are */
	CHECK_INT(trace.rows[2].arrival_ns, 50 * SECOND);
	CHECK_OK(read_text("arrival_s,exec_s\n7,10\n"));
	CHECK_NEAR(requests_load(&trace, 1), 0, 0);
}

TEST(what_is_wrong_is_named)
{
	CHECK_ERROR(read_text("arrival_s,user\n1,a\n"), -EBADMSG, "exec_s");
	CHECK_ERROR(read_text("arrival_s,exec_s\nsoon,1\n"), -EBADMSG, "line 2");
	CHECK_ERROR(read_text("arrival_s,exec_s,steps\n1,1,1048577\n"), -EBADMSG, "steps");
	CHECK_OK(read_text("arrival_s,exec_s,steps\n1,1,1048576\n"));
	CHECK_OK(read_text("arrival_s,exec_s\n"));
	CHECK_INT(trace.count, 0);
}

static int read_some(struct strata_memory *from, void *context, struct strata_error *ret_err)
{
	static const char text[] = "arrival_s,exec_s,user,account,model\n1,2,a,b,c\n2,3,d,e,f\n";
	struct strata_arena scratch;
	struct requests requests;

	(void)context;
	strata_arena_init(&scratch, from, 0);
	int rc = requests_read(text, strlen(text), &scratch, &requests, ret_err);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(it_fails_cleanly_without_memory)
{
	test_every_allocation(read_some, NULL);
}
