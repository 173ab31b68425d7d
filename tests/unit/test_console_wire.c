#include "test.h"

#include "console/console.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct strata_error err;
static struct strata_memory memory;
static struct console_wire here, there;
static char block[STRATA_CONSOLE_FRAME_BYTES_MAX + 1];

static void open_pair(void)
{
	int fds[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	CHECK_OK(console_wire_open(&here, fds[0], &memory, &err));
	CHECK_OK(console_wire_open(&there, fds[1], &memory, &err));
}

static void close_pair(void)
{
	console_wire_close(&here);
	console_wire_close(&here);
	console_wire_close(&there);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(frames_arrive_in_order)
{
	struct console_frame frame;

	open_pair();
	CHECK(console_wire_send(&here, CONSOLE_OUTPUT, "one", 3));
	CHECK(console_wire_send(&here, CONSOLE_DETACH, NULL, 0));
	CHECK(console_wire_waits(&here));
	CHECK(console_wire_flush(&here) && !console_wire_waits(&here));
	CHECK(console_wire_fill(&there));
	CHECK_INT(console_wire_next(&there, &frame, &err), 1);
	CHECK(frame.type == CONSOLE_OUTPUT && frame.count == 3);
	CHECK_BYTES(frame.bytes, "one", 3);
	CHECK_INT(console_wire_next(&there, &frame, &err), 1);
	CHECK_INT(frame.type, CONSOLE_DETACH);
	CHECK_INT(console_wire_next(&there, &frame, &err), 0);
	CHECK(console_wire_fill(&there)); /* nothing there is no end */
	close_pair();
}

TEST(who_sends_too_much_is_told_so_and_nothing_blocks)
{
	struct console_frame frame;
	size_t sent = 0, taken = 0, room;

	open_pair();
	CHECK(!console_wire_send(&here, CONSOLE_OUTPUT, block, sizeof(block)));
	while ((room = console_wire_room(&here)) > 0) {
		CHECK(console_wire_send(&here, CONSOLE_OUTPUT, block, room));
		sent += room;
		CHECK(console_wire_flush(&here));
		CHECK(sent < 64 << 20);
	}
	/* what is about the program still fits */
	CHECK(console_wire_send(&here, CONSOLE_ENDED, "\0\0", 2));
	CHECK(!console_wire_send(&here, CONSOLE_OUTPUT, block, 1000));
	for (frame.type = CONSOLE_OUTPUT; frame.type != CONSOLE_ENDED;) {
		CHECK(console_wire_fill(&there));
		while (console_wire_next(&there, &frame, &err) > 0)
			taken += frame.type == CONSOLE_OUTPUT ? frame.count : 0;
		CHECK(console_wire_flush(&here));
	}
	CHECK_INT(taken, sent);
	close_pair();
}

TEST(an_end_that_is_gone_is_noticed)
{
	open_pair();
	close(there.fd);
	there.fd = -1;
	CHECK(!console_wire_fill(&here));
	CHECK(console_wire_send(&here, CONSOLE_OUTPUT, "x", 1));
	CHECK(!console_wire_flush(&here));
	CHECK(!console_wire_waits(&here)); /* nobody will read it */
	close_pair();
}

static int open_one(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct console_wire wire;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int rc = console_wire_open(&wire, fd, from, why);

	(void)context;
	if (rc)
		CHECK(fcntl(fd, F_GETFD) < 0); /* taken over, and closed */
	else
		test_result_int(rc);
	console_wire_close(&wire);
	return rc;
}

TEST(it_does_without_memory)
{
	CHECK_INT(test_every_allocation(open_one, NULL), 2);
}
