/* The host in a process of its own, as in a job; the test is its views. */
#include "test.h"

#include "console/console.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct strata_error err;
static struct strata_memory memory;
static struct strata_arena arena;
static char *dir, seen[1 << 20];
static size_t seen_bytes;
static int held;
static pid_t child;

static void begin(const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	const struct console_order order = { .argv = argv, .path = "/usr/bin:/bin" };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(console_place_make(test_temp_dir(), &arena, &dir, &err));
	CHECK_OK(console_place_hold(dir, &held, &err));
	child = fork();
	if (child == 0) {
		struct console_order own = order;
		struct strata_memory its_own = { 0 };
		struct console_end end;

		own.dir = dir;
		close(held);
		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(99);
		int rc = console_host_run(env_system(), &own, &its_own, &end, &err);

		_exit(rc == -ECANCELED           ? 98
		      : rc || its_own.used_bytes ? 97
		      : end.signal               ? 50 + end.signal
						 : end.code);
	}
}

static void come(struct console_wire *wire, bool owner, bool terminal)
{
	const struct console_hello hello = { CONSOLE_VERSION, owner, terminal, { 24, 80 } };
	char bytes[CONSOLE_HELLO_BYTES];
	int fd = -1;

	for (int i = 0; i < 2000 && console_place_connect(dir, &fd, &err); i++)
		usleep(10000);
	CHECK(fd >= 0);
	CHECK_OK(console_wire_open(wire, fd, &memory, &err));
	console_hello_write(&hello, bytes);
	CHECK(console_wire_send(wire, CONSOLE_HELLO, bytes, sizeof(bytes)));
	CHECK(console_wire_flush(wire));
}

/* The next frame; 0: the host is gone. */
static char next(struct console_wire *wire, struct console_frame *frame)
{
	struct pollfd ready = { wire->fd, POLLIN, 0 };
	int rc;

	while ((rc = console_wire_next(wire, frame, &err)) == 0) {
		CHECK_INT(poll(&ready, 1, 30000), 1);
		if (!console_wire_fill(wire))
			return 0;
	}
	CHECK_INT(rc, 1);
	return (char)frame->type;
}

/* Gathers output until the end, or until these words. */
static char read_until(struct console_wire *wire, const char *words, struct console_frame *frame)
{
	char type;

	seen_bytes = 0;
	while ((type = next(wire, frame))) {
		if ((type == CONSOLE_OUTPUT || type == CONSOLE_ERROR) &&
		    seen_bytes + frame->count < sizeof(seen)) {
			memcpy(seen + seen_bytes, frame->bytes, frame->count);
			seen_bytes += frame->count;
		}
		seen[seen_bytes] = '\0';
		if (type == CONSOLE_ENDED || (words && strstr(seen, words)))
			break;
	}
	return type;
}

static int finish(void)
{
	int code;

	CHECK_INT(waitpid(child, &code, 0), child);
	close(held);
	console_place_remove(dir);
	strata_arena_fini(&arena);
	CHECK(WIFEXITED(code));
	return WEXITSTATUS(code);
}

TEST(what_is_written_arrives_and_then_the_end)
{
	struct console_wire wire;
	struct console_frame frame;

	begin("head -c 300000 /dev/zero | tr '\\0' x; exit 7");
	come(&wire, true, false);
	CHECK_INT(next(&wire, &frame), CONSOLE_WELCOME);
	CHECK_INT(frame.bytes[0], 0);
	CHECK_INT(read_until(&wire, NULL, &frame), CONSOLE_ENDED);
	CHECK_INT(seen_bytes, 300000);
	CHECK_BYTES(frame.bytes, "\7\0", 2);
	CHECK_INT(next(&wire, &frame), 0);
	console_wire_close(&wire);
	CHECK_INT(finish(), 7);
}

TEST(input_is_taken_and_paid_for)
{
	struct console_wire wire;
	struct console_frame frame;
	uint32_t count;

	begin("cat");
	come(&wire, true, false);
	CHECK_INT(next(&wire, &frame), CONSOLE_WELCOME);
	CHECK(console_wire_send(&wire, CONSOLE_INPUT, "hello", 5));
	CHECK(console_wire_send(&wire, CONSOLE_INPUT_END, NULL, 0));
	CHECK(console_wire_flush(&wire));
	CHECK_INT(next(&wire, &frame), CONSOLE_TAKEN);
	CHECK(console_count_read(&frame, &count) && count == 5);
	CHECK_INT(read_until(&wire, NULL, &frame), CONSOLE_ENDED);
	CHECK_TEXT(seen, "hello");
	console_wire_close(&wire);
	CHECK_INT(finish(), 0);
}

TEST(signals_pass_input_that_nobody_takes)
{
	static char block[CONSOLE_WINDOW];
	struct console_wire wire;
	struct console_frame frame;
	const char number = SIGUSR1;
	size_t sent = 0;

	begin("trap 'echo caught; exit 3' USR1; echo on; while :; do sleep 0.05; done");
	come(&wire, true, false);
	CHECK_INT(read_until(&wire, "on\n", &frame), CONSOLE_OUTPUT);
	for (; sent < 4 * sizeof(block); sent += sizeof(block)) { /* more than a pipe holds */
		CHECK(console_wire_send(&wire, CONSOLE_INPUT, block, sizeof(block)));
		CHECK(console_wire_flush(&wire));
		struct pollfd ready = { wire.fd, POLLIN, 0 };

		if (poll(&ready, 1, 500) == 0)
			break; /* no more is taken: the window is used up */
		CHECK_INT(next(&wire, &frame), CONSOLE_TAKEN);
	}
	CHECK(sent < 4 * sizeof(block));
	CHECK(console_wire_send(&wire, CONSOLE_SIGNAL, &number, 1));
	CHECK(console_wire_flush(&wire));
	CHECK_INT(read_until(&wire, NULL, &frame), CONSOLE_ENDED);
	CHECK(strstr(seen, "caught\n")); /* beside what the shell says of its sleep */
	console_wire_close(&wire);
	CHECK_INT(finish(), 3);
}

TEST(who_sends_more_than_agreed_is_let_go)
{
	static char block[CONSOLE_WINDOW + 1];
	struct console_wire wire;
	struct console_frame frame;

	begin("trap 'exit 6' HUP; echo on; while :; do sleep 0.05; done");
	come(&wire, true, false);
	CHECK_INT(read_until(&wire, "on\n", &frame), CONSOLE_OUTPUT);
	CHECK(console_wire_send(&wire, CONSOLE_INPUT, block, sizeof(block)));
	CHECK(console_wire_flush(&wire));
	CHECK_INT(next(&wire, &frame), 0);
	console_wire_close(&wire);
	CHECK_INT(finish(), 6);
}

TEST(an_owner_that_goes_ends_it_and_a_guest_does_not)
{
	struct console_wire owner, guest;
	struct console_frame frame;

	begin("trap 'echo bye; exit 6' HUP; echo on; while :; do sleep 0.05; done");
	come(&owner, true, false);
	CHECK_INT(read_until(&owner, "on\n", &frame), CONSOLE_OUTPUT);
	come(&guest, false, false);
	CHECK_INT(next(&guest, &frame), CONSOLE_WELCOME);
	CHECK_INT(read_until(&guest, "on\n", &frame), CONSOLE_OUTPUT); /* what was before */
	console_wire_close(&guest);
	come(&guest, false, false);
	CHECK_INT(read_until(&guest, "on\n", &frame), CONSOLE_OUTPUT);
	console_wire_close(&owner);
	CHECK_INT(read_until(&guest, NULL, &frame), CONSOLE_ENDED);
	CHECK(strstr(seen, "bye\n"));
	CHECK_BYTES(frame.bytes, "\6\0", 2);
	console_wire_close(&guest);
	CHECK_INT(finish(), 6);
}

TEST(an_owner_that_detaches_leaves_it_running)
{
	struct console_wire owner, guest;
	struct console_frame frame;

	begin("echo on; read line; echo $line; exit 4");
	come(&owner, true, true);
	CHECK_INT(next(&owner, &frame), CONSOLE_WELCOME);
	CHECK_INT(frame.bytes[0], 1);
	CHECK_INT(read_until(&owner, "on\r\n", &frame), CONSOLE_OUTPUT);
	CHECK(console_wire_send(&owner, CONSOLE_DETACH, NULL, 0));
	CHECK(console_wire_flush(&owner));
	CHECK_INT(read_until(&owner, NULL, &frame), 0);
	console_wire_close(&owner);
	come(&guest, false, false);
	CHECK(console_wire_send(&guest, CONSOLE_INPUT, "typed\r", 6));
	CHECK(console_wire_flush(&guest));
	CHECK_INT(read_until(&guest, NULL, &frame), CONSOLE_ENDED);
	CHECK(strstr(seen, "typed\r\ntyped\r\n"));
	console_wire_close(&guest);
	CHECK_INT(finish(), 4);
}

TEST(what_cannot_be_run_is_said)
{
	struct console_wire wire;
	struct console_frame frame;

	begin("exec nosuchprogram 2>/dev/null");
	come(&wire, true, false);
	CHECK_INT(read_until(&wire, NULL, &frame), CONSOLE_ENDED);
	CHECK_INT(frame.bytes[0], 127); /* the shell's word for it */
	console_wire_close(&wire);
	CHECK_INT(finish(), 127);
}

TEST(there_is_room_for_so_many_views)
{
	struct console_wire wires[STRATA_CONSOLE_VIEWS_MAX];
	struct console_frame frame;
	int fd;

	begin("read line; exit 0");
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++) {
		come(&wires[i], i == 0, false);
		CHECK_INT(next(&wires[i], &frame), CONSOLE_WELCOME);
	}
	CHECK_OK(console_place_connect(dir, &fd, &err));
	CHECK_INT(read(fd, seen, 1), 0); /* let go */
	close(fd);
	CHECK(console_wire_send(&wires[0], CONSOLE_INPUT_END, NULL, 0));
	CHECK(console_wire_flush(&wires[0]));
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++)
		CHECK_INT(read_until(&wires[i], NULL, &frame), CONSOLE_ENDED);
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++)
		console_wire_close(&wires[i]);
	CHECK_INT(finish(), 0);
}

TEST(what_makes_no_sense_is_let_go)
{
	struct console_wire wire, owner;
	struct console_frame frame;
	int fd;

	begin("read line; exit 2");
	come(&owner, true, false);
	CHECK_INT(next(&owner, &frame), CONSOLE_WELCOME);
	come(&wire, true, false); /* there is an owner */
	CHECK_INT(next(&wire, &frame), 0);
	console_wire_close(&wire);
	CHECK_OK(console_place_connect(dir, &fd, &err));
	CHECK_OK(console_wire_open(&wire, fd, &memory, &err));
	CHECK(console_wire_send(&wire, CONSOLE_INPUT, "x", 1)); /* without a greeting */
	CHECK(console_wire_flush(&wire));
	CHECK_INT(next(&wire, &frame), 0);
	console_wire_close(&wire);
	CHECK_OK(console_place_connect(dir, &fd, &err));
	CHECK_INT(write(fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	CHECK_INT(read(fd, seen, 1), 0);
	close(fd);
	CHECK(console_wire_send(&owner, CONSOLE_INPUT, "\n", 1));
	CHECK(console_wire_flush(&owner));
	CHECK_INT(read_until(&owner, NULL, &frame), CONSOLE_ENDED);
	console_wire_close(&owner);
	CHECK_INT(finish(), 2);
}

TEST(nothing_is_started_for_somebody_who_has_gone)
{
	begin("touch started");
	close(held);
	held = -1;
	CHECK_INT(finish(), 98);
	CHECK(access("started", F_OK) != 0);
}

static int run_for_nobody(struct strata_memory *from, void *context, struct strata_error *why)
{
	const char *argv[] = { "true", NULL };
	const struct console_order order = { .dir = context, .argv = argv };
	struct console_end end;
	int before = test_open_fds(), rc = console_host_run(env_system(), &order, from, &end, why);

	CHECK_INT(test_open_fds(), before);
	if (rc == -ECANCELED) {
		test_result_int(rc);
		rc = 0;
	}
	return rc;
}

TEST(it_does_without_memory)
{
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(console_place_make(test_temp_dir(), &arena, &dir, &err));
	CHECK_INT(test_every_allocation(run_for_nobody, dir), 3);
	strata_arena_fini(&arena);
}
