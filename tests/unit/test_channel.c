#include "test.h"

#include "stream/channel.h"

#include <errno.h>

static struct request ask(size_t bytes, size_t need)
{
	return (struct request){ .bytes = bytes, .need = need };
}

TEST(a_whole_transfer_is_done)
{
	struct request request = ask(8192, 8192);

	CHECK(request_advance(&request, 8192));
	CHECK_INT(request.rc, 0);
	CHECK_INT(request.done, 8192);
}

TEST(a_short_one_goes_on_where_it_stopped)
{
	struct request request = ask(12288, 12288);

	CHECK(!request_advance(&request, 4096));
	CHECK_INT(request.done, 4096);
	CHECK(!request_advance(
		&request, 5000)); /* the last whole block: a direct one cannot go on elsewhere */
	CHECK_INT(request.done, 8192);
	CHECK(request_advance(&request, 4096));
	CHECK_INT(request.rc, 0);
}

TEST(interruptions_are_tried_again)
{
	struct request request = ask(4096, 4096);

	CHECK(!request_advance(&request, -EINTR));
	CHECK(!request_advance(&request, -EAGAIN));
	CHECK(request_advance(&request, 4096));
	CHECK_INT(request.rc, 0);
}

TEST(a_file_may_end_within_the_last_block)
{
	struct request request = ask(8192, 5000);

	CHECK(request_advance(&request, 5000));
	CHECK_INT(request.rc, 0);
}

TEST(a_file_that_ends_before_is_an_error)
{
	struct request request = ask(8192, 5000);

	CHECK(!request_advance(&request, 4999));
	CHECK_INT(request.done, 4096);
	CHECK(request_advance(&request, 903)); /* the same bytes once more, and no further */
	CHECK_INT(request.rc, -ENODATA);
	request = ask(8192, 8192);
	CHECK(request_advance(&request, 0));
	CHECK_INT(request.rc, -ENODATA);
}

TEST(a_disk_that_takes_no_more_is_an_error)
{
	struct request request = ask(8192, 8192);

	request.write = true;
	CHECK(!request_advance(&request, 4096));
	CHECK(request_advance(&request, 0));
	CHECK_INT(request.rc, -ENOSPC);
}

TEST(what_the_system_says_is_kept)
{
	struct request request = ask(4096, 4096);

	CHECK(request_advance(&request, -EIO));
	CHECK_INT(request.rc, -EIO);
}

TEST(lines_are_first_in_first_out)
{
	struct request requests[3] = { 0 };
	struct request_line line = { 0 };

	CHECK(!request_line_take(&line));
	request_line_add(&line, NULL);
	requests[0].next = &requests[1];
	request_line_add(&line, requests);
	request_line_add(&line, &requests[2]);
	for (int i = 0; i < 3; i++) {
		CHECK(request_line_take(&line) == &requests[i]);
		CHECK(!requests[i].next);
	}
	CHECK(!request_line_take(&line));
	request_line_add(&line, &requests[1]);
	CHECK(request_line_take(&line) == &requests[1]);
}
