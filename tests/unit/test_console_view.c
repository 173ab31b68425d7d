/* The view in a process of its own, with pipes or a terminal for its three descriptors; the test is
 * the host and the person. */
#include "test.h"

#include "console/console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static struct strata_error err;
static struct strata_memory memory;
static struct console_wire host;
static int fds[3]; /* our ends of its three */
static pid_t child;

static void be_view(int fd, bool owner, bool terminal)
{
	struct strata_memory its_own = { 0 };
	struct console_view view = {
		.fd = fd, .owner = owner, .terminal = terminal, .keys_prefix = CONSOLE_KEYS_DEFAULT
	};
	struct console_result result;

	signal(SIGPIPE, SIG_IGN);
	if (console_signals_open(&view.signals, &err) ||
	    console_view_run(&view, &its_own, &result, &err) || its_own.used_bytes)
		_exit(99);
	_exit(result.outcome == CONSOLE_SAW_END   ? result.end.code
	      : result.outcome == CONSOLE_LOST    ? 90
	      : result.outcome == CONSOLE_HUNG_UP ? 50 + result.signal
						  : 91);
}

static void begin(bool owner, const int theirs[3], bool terminal)
{
	int pair[2];
	struct console_frame frame;
	struct console_hello hello;
	struct pollfd ready;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 3; i++)
			dup2(theirs[i], i);
		for (int i = 0; i < 3; i++)
			if (fds[i] > 2)
				close(fds[i]);
		close(pair[0]);
		be_view(pair[1], owner, terminal);
	}
	close(pair[1]);
	CHECK_OK(console_wire_open(&host, pair[0], &memory, &err));
	ready = (struct pollfd){ host.fd, POLLIN, 0 };
	CHECK_INT(poll(&ready, 1, 30000), 1);
	CHECK(console_wire_fill(&host));
	CHECK_INT(console_wire_next(&host, &frame, &err), 1);
	CHECK(frame.type == CONSOLE_HELLO && console_hello_read(&frame, &hello));
	CHECK(hello.version == CONSOLE_VERSION && hello.owner == owner &&
	      hello.terminal == terminal);
}

static void begin_pipes(bool owner)
{
	int theirs[3], pair[2];

	for (int i = 0; i < 3; i++) {
		CHECK_INT(pipe2(pair, O_CLOEXEC), 0);
		theirs[i] = pair[i > 0];
		fds[i] = pair[i == 0];
	}
	begin(owner, theirs, false);
	for (int i = 0; i < 3; i++)
		close(theirs[i]);
}

static void begin_terminal(void)
{
	const struct winsize size = { .ws_row = 11, .ws_col = 22 };
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);

	CHECK(slave >= 0);
	CHECK_INT(ioctl(master, TIOCSWINSZ, &size), 0);
	for (int i = 0; i < 3; i++)
		fds[i] = i ? -1 : master;
	begin(true, (const int[]){ slave, slave, slave }, true);
	close(slave);
}

static void say(enum console_type type, const char *bytes, size_t count)
{
	CHECK(console_wire_send(&host, type, bytes, count));
	CHECK(console_wire_flush(&host));
}

static enum console_type hear(struct console_frame *frame)
{
	struct pollfd ready = { host.fd, POLLIN, 0 };
	int rc;

	while ((rc = console_wire_next(&host, frame, &err)) == 0) {
		CHECK_INT(poll(&ready, 1, 30000), 1);
		if (!console_wire_fill(&host))
			return (enum console_type)0;
	}
	CHECK_INT(rc, 1);
	return frame->type;
}

static const char *read_some(int fd, size_t count)
{
	static char text[64];
	size_t used = 0;
	ssize_t got;

	while (used < count && (got = read(fd, text + used, count - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	return text;
}

static int finish(void)
{
	int code;

	CHECK_INT(waitpid(child, &code, 0), child);
	console_wire_close(&host);
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	CHECK(WIFEXITED(code));
	return WEXITSTATUS(code);
}

TEST(bytes_go_where_they_belong)
{
	struct console_frame frame;

	begin_pipes(true);
	CHECK_INT(write(fds[0], "early", 5), 5);
	say(CONSOLE_WELCOME, "", 1);
	say(CONSOLE_OUTPUT, "out\0\n", 5);
	say(CONSOLE_ERROR, "err\n", 4);
	CHECK_BYTES(read_some(fds[1], 5), "out\0\n", 5);
	CHECK_TEXT(read_some(fds[2], 4), "err\n");
	CHECK_INT(hear(&frame), CONSOLE_INPUT);
	CHECK_INT(frame.count, 5);
	close(fds[0]);
	fds[0] = -1;
	CHECK_INT(hear(&frame), CONSOLE_INPUT_END);
	say(CONSOLE_ENDED, "\7\0", 2);
	CHECK_INT(finish(), 7);
}

TEST(input_stops_at_the_window)
{
	static char block[2 * CONSOLE_WINDOW];
	struct console_frame frame;
	struct pollfd ready;
	size_t got = 0;
	char count[4];

	begin_pipes(true);
	say(CONSOLE_WELCOME, "", 1);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31);
	CHECK(write(fds[0], block, sizeof(block)) > CONSOLE_WINDOW);
	ready = (struct pollfd){ host.fd, POLLIN, 0 };
	while (poll(&ready, 1, 1000) == 1) {
		CHECK_INT(hear(&frame), CONSOLE_INPUT);
		CHECK(memcmp(frame.bytes, block + got, frame.count) == 0);
		got += frame.count;
	}
	while (console_wire_next(&host, &frame, &err) > 0)
		got += frame.count;
	CHECK(got > CONSOLE_WINDOW / 2 && got <= CONSOLE_WINDOW);
	console_count_write((uint32_t)got, count);
	say(CONSOLE_TAKEN, count, 4);
	CHECK_INT(hear(&frame), CONSOLE_INPUT);
	say(CONSOLE_ENDED, "\0\0", 2);
	CHECK_INT(finish(), 0);
}

TEST(signals_of_an_owner_are_passed_on)
{
	struct console_frame frame;

	begin_pipes(true);
	say(CONSOLE_WELCOME, "", 1);
	say(CONSOLE_OUTPUT, "x", 1);
	CHECK_TEXT(read_some(fds[1], 1), "x"); /* it is there */
	kill(child, SIGUSR2);
	CHECK_INT(hear(&frame), CONSOLE_SIGNAL);
	CHECK(frame.count == 1 && frame.bytes[0] == SIGUSR2);
	kill(child, SIGTERM);
	CHECK_INT(hear(&frame), CONSOLE_SIGNAL);
	kill(child, SIGHUP); /* nobody is there any more */
	CHECK_INT(finish(), 50 + SIGHUP);
}

TEST(signals_of_a_guest_are_its_own)
{
	struct console_frame frame;

	begin_pipes(false);
	say(CONSOLE_WELCOME, "", 1);
	say(CONSOLE_OUTPUT, "x", 1);
	CHECK_TEXT(read_some(fds[1], 1), "x");
	kill(child, SIGINT);
	CHECK_INT(hear(&frame), CONSOLE_DETACH);
	CHECK_INT(finish(), 91);
}

TEST(a_reader_that_went_away_ends_it)
{
	begin_pipes(true);
	say(CONSOLE_WELCOME, "", 1);
	close(fds[1]);
	fds[1] = -1;
	say(CONSOLE_OUTPUT, "x", 1);
	CHECK_INT(finish(), 50 + SIGPIPE);
}

TEST(a_host_that_went_away_is_noticed_behind_what_it_said)
{
	begin_pipes(true);
	say(CONSOLE_WELCOME, "", 1);
	say(CONSOLE_OUTPUT, "last", 4);
	console_wire_close(&host);
	CHECK_TEXT(read_some(fds[1], 4), "last");
	CHECK_INT(finish(), 90);
}

TEST(a_terminal_passes_keys_and_sizes_and_is_set_back)
{
	struct console_frame frame;
	struct console_size size;
	const struct winsize window = { .ws_row = 33, .ws_col = 44 };
	struct termios before, during;

	begin_terminal();
	CHECK_INT(tcgetattr(fds[0], &before), 0);
	CHECK(before.c_lflag & ICANON);
	say(CONSOLE_WELCOME, "\1", 1);
	say(CONSOLE_OUTPUT, "x", 1);
	CHECK_TEXT(read_some(fds[0], 1), "x");
	CHECK_INT(tcgetattr(fds[0], &during), 0);
	CHECK(!(during.c_lflag & (ICANON | ISIG | ECHO)));
	CHECK_INT(write(fds[0], "\3", 1), 1); /* Ctrl-C is a key */
	CHECK_INT(hear(&frame), CONSOLE_INPUT);
	CHECK(frame.count == 1 && frame.bytes[0] == 3);
	CHECK_INT(ioctl(fds[0], TIOCSWINSZ, &window), 0);
	kill(child, SIGWINCH); /* it is not in the terminal's foreground here */
	CHECK_INT(hear(&frame), CONSOLE_RESIZE);
	CHECK(console_size_read(&frame, &size) && size.rows == 33 && size.columns == 44);
	CHECK_INT(write(fds[0], "\x1d", 1), 1); /* kept back for half a second */
	CHECK_INT(hear(&frame), CONSOLE_INPUT);
	CHECK(frame.count == 1 && frame.bytes[0] == 0x1d);
	CHECK_INT(write(fds[0],
			"a\x1d"
			"d",
			3),
		  3);
	CHECK_INT(hear(&frame), CONSOLE_INPUT);
	CHECK(frame.count == 1 && frame.bytes[0] == 'a');
	CHECK_INT(hear(&frame), CONSOLE_DETACH);
	int code;

	CHECK_INT(waitpid(child, &code, 0), child);
	CHECK_INT(WEXITSTATUS(code), 91);
	CHECK_INT(tcgetattr(fds[0], &during), 0);
	CHECK_INT(during.c_lflag, before.c_lflag);
	console_wire_close(&host);
	close(fds[0]);
}

static int view_it(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct console_view view = { .signals = *(int *)context };
	struct console_result result;
	int pair[2], before = test_open_fds();

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(write(pair[1], "q\2\0\0\5\0", 6), 6);
	view.fd = pair[0];
	int rc = console_view_run(&view, from, &result, why);

	close(pair[1]);
	CHECK_INT(test_open_fds(), before);
	if (rc == 0)
		test_result_int(result.end.code);
	return rc;
}

TEST(it_does_without_memory)
{
	int signals;
	sigset_t none;

	CHECK_OK(console_signals_open(&signals, &err));
	CHECK_INT(console_signals_take(signals), 0);
	raise(SIGUSR1);
	CHECK_INT(console_signals_take(signals), SIGUSR1);
	CHECK_INT(test_every_allocation(view_it, &signals), 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close(signals);
}
