#include "test.h"

#include "console/console.h"

#include <errno.h>
#include <string.h>

static struct strata_error err;
static char bytes[CONSOLE_HEAD_BYTES + STRATA_CONSOLE_FRAME_BYTES_MAX + 1];
static struct console_frame frame;
static size_t used;

TEST(a_frame_is_whole_or_not_there_yet)
{
	console_frame_head(CONSOLE_OUTPUT, 5, bytes);
	memcpy(bytes + CONSOLE_HEAD_BYTES, "hello", 5);
	for (size_t count = 0; count < CONSOLE_HEAD_BYTES + 5; count++)
		CHECK_INT(console_frame_read(bytes, count, &frame, &used, &err), 0);
	CHECK_INT(console_frame_read(bytes, sizeof(bytes), &frame, &used, &err), 1);
	CHECK_INT(used, CONSOLE_HEAD_BYTES + 5);
	CHECK_INT(frame.type, CONSOLE_OUTPUT);
	CHECK_INT(frame.count, 5);
	CHECK_BYTES(frame.bytes, "hello", 5);
}

TEST(it_has_a_limit)
{
	console_frame_head(CONSOLE_INPUT, STRATA_CONSOLE_FRAME_BYTES_MAX, bytes);
	CHECK_INT(console_frame_read(bytes, sizeof(bytes), &frame, &used, &err), 1);
	CHECK_INT(frame.count, STRATA_CONSOLE_FRAME_BYTES_MAX);
	console_frame_head(CONSOLE_INPUT, STRATA_CONSOLE_FRAME_BYTES_MAX + 1, bytes);
	CHECK_ERROR(console_frame_read(bytes, sizeof(bytes), &frame, &used, &err), -EBADMSG,
		    "has 65537 bytes; expected at most 65536");
}

TEST(what_is_no_frame_is_refused_at_its_first_byte)
{
	CHECK_ERROR(console_frame_read("z", 1, &frame, &used, &err), -EBADMSG,
		    "the unknown type 122");
	CHECK_ERROR(console_frame_read("", 1, &frame, &used, &err), -EBADMSG, "the unknown type 0");
}

TEST(what_is_in_frames_comes_back)
{
	const struct console_hello hello = { CONSOLE_VERSION, true, false, { 65535, 300 } };
	struct console_hello got;
	struct console_size size;
	uint32_t count;

	console_hello_write(&hello, bytes);
	frame = (struct console_frame){ CONSOLE_HELLO, bytes, CONSOLE_HELLO_BYTES };
	CHECK(console_hello_read(&frame, &got));
	CHECK(got.version == CONSOLE_VERSION && got.owner && !got.terminal);
	CHECK(got.size.rows == 65535 && got.size.columns == 300);
	frame.count--;
	CHECK(!console_hello_read(&frame, &got));
	console_size_write((struct console_size){ 24, 80 }, bytes);
	frame.count = 4;
	CHECK(console_size_read(&frame, &size) && size.rows == 24 && size.columns == 80);
	console_count_write(0xfedcba98, bytes);
	CHECK(console_count_read(&frame, &count) && count == 0xfedcba98);
	frame.count = 5;
	CHECK(!console_size_read(&frame, &size) && !console_count_read(&frame, &count));
}
