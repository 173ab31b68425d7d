/*
 * The view of a console: passes bytes between this terminal, or these pipes, and the host. With a
 * terminal, keys are passed as they are typed, the interrupting ones too, and sizes as they change.
 * Without one, stdin, stdout and stderr stay what they are, byte by byte, and signals are passed
 * on.
 *
 * What the host sends is written before more is read, so a reader that is slow slows the program
 * down, as in a pipe. stdin is read only as far as the host has taken what came before, so that a
 * signal never waits behind input that nobody reads.
 */
#include "console/console.h"

#include <strata/text.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

enum {
	WRITE_BYTES = 4096, /* a pipe that can be written to has room for so many */
	KEY_MS = 500,       /* that Ctrl-] is kept back */
	TYPED_BYTES = 4096,
};

struct running {
	const struct console_view *view;
	struct console_wire wire;
	struct console_result result;
	struct console_keys keys;
	struct console_frame frame; /* of output, that is being written */
	struct termios before;
	bool raw;      /* the terminal is to be set back */
	bool terminal; /* the program has one */
	bool welcomed, over, input_over;
	size_t on_its_way; /* of input */
};

/* ---- signals ---- */

int console_signals_open(int *ret_fd, struct strata_error *err)
{
	static const int numbers[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH
	};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&set, numbers[i]);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	if (fd < 0)
		return strata_fail(err, -errno, "no signalfd: %s", strerror(errno));
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret_fd = fd;
	return 0;
}

int console_signals_take(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

/* ---- the terminal ---- */

static struct console_size own_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 &&
	    ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0)
		return (struct console_size){ 0 };
	return (struct console_size){ size.ws_row, size.ws_col };
}

static void make_raw(struct running *run)
{
	struct termios raw;

	if (!run->terminal || tcgetattr(STDIN_FILENO, &run->before) != 0)
		return;
	raw = run->before;
	cfmakeraw(&raw);
	run->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static void hang_up(struct running *run, int number)
{
	run->over = true;
	run->result.outcome = CONSOLE_HUNG_UP;
	run->result.signal = number;
}

static void detach(struct running *run)
{
	run->over = true;
	run->result.outcome = CONSOLE_DETACHED;
	console_wire_send(&run->wire, CONSOLE_DETACH, NULL, 0);
	console_wire_flush(&run->wire);
}

/* ---- to the host ---- */

static void pass_signal(struct running *run, int number)
{
	const struct console_view *view = run->view;
	const char byte = (char)number;
	char size[4];

	if (number == SIGWINCH) {
		console_size_write(own_size(), size);
		console_wire_send(&run->wire, CONSOLE_RESIZE, size, sizeof(size));
	} else if (view->take_signal && view->take_signal(view->context, number)) {
		return;
	} else if (!view->owner) { /* a guest's are its own */
		detach(run);
	} else if (number == SIGHUP || (run->terminal && number == SIGTERM)) {
		hang_up(run, number);
	} else {
		console_wire_send(&run->wire, CONSOLE_SIGNAL, &byte, 1);
	}
}

static void send_input(struct running *run, const char *bytes, size_t count)
{
	if (count && console_wire_send(&run->wire, CONSOLE_INPUT, bytes, count))
		run->on_its_way += count;
}

static bool may_read(const struct running *run)
{
	return run->welcomed && !run->input_over &&
	       run->on_its_way + TYPED_BYTES + 1 <= CONSOLE_WINDOW &&
	       console_wire_room(&run->wire) > TYPED_BYTES;
}

static void read_input(struct running *run)
{
	char typed[TYPED_BYTES], passed[TYPED_BYTES + 1];
	ssize_t got = read(STDIN_FILENO, typed, sizeof(typed));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		run->input_over = true;
		console_wire_send(&run->wire, CONSOLE_INPUT_END, NULL, 0);
		return;
	}
	send_input(run, passed, console_keys_pass(&run->keys, typed, (size_t)got, passed));
	if (run->keys.detached)
		detach(run);
}

/* ---- from the host ---- */

static void write_output(struct running *run)
{
	struct console_frame *frame = &run->frame;
	int to = frame->type == CONSOLE_ERROR ? STDERR_FILENO : STDOUT_FILENO;
	size_t part = frame->count < WRITE_BYTES ? frame->count : WRITE_BYTES;
	ssize_t done = write(to, frame->bytes, part);

	if (done < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (done < 0) { /* nobody reads on: what a program in a pipe is told by a signal */
		hang_up(run, SIGPIPE);
		return;
	}
	if (done > 0)
		run->result.unfinished = frame->bytes[done - 1] != '\n';
	frame->bytes += done;
	frame->count -= (size_t)done;
}

static void take_frame(struct running *run, const struct console_frame *frame)
{
	struct console_result *result = &run->result;
	uint32_t count;

	switch (frame->type) {
	case CONSOLE_WELCOME:
		run->welcomed = true;
		run->terminal = frame->count && frame->bytes[0];
		run->keys.prefix = run->terminal ? run->view->keys_prefix : 0;
		make_raw(run);
		break;
	case CONSOLE_OUTPUT:
	case CONSOLE_ERROR:
		run->frame = *frame;
		break;
	case CONSOLE_TAKEN:
		if (console_count_read(frame, &count))
			run->on_its_way -= count < run->on_its_way ? count : run->on_its_way;
		break;
	case CONSOLE_NOTE:
		snprintf(result->note, sizeof(result->note), "%.*s", (int)frame->count,
			 frame->bytes);
		break;
	case CONSOLE_ENDED:
		run->over = true;
		result->outcome = CONSOLE_SAW_END;
		if (frame->count == 2)
			result->end = (struct console_end){ (uint8_t)frame->bytes[0],
							    (uint8_t)frame->bytes[1] };
		break;
	default:
		break;
	}
}

static void read_host(struct running *run)
{
	struct console_frame frame;
	int rc = 0;

	if (!console_wire_fill(&run->wire)) {
		run->over = true; /* and lost, unless something was said before */
		return;
	}
	while (!run->over && !run->frame.count &&
	       (rc = console_wire_next(&run->wire, &frame, NULL)) > 0)
		take_frame(run, &frame);
	run->over |= rc < 0;
}

/* Those that were read with the one before it. */
static void read_on(struct running *run)
{
	struct console_frame frame;

	while (!run->over && !run->frame.count && console_wire_next(&run->wire, &frame, NULL) > 0)
		take_frame(run, &frame);
}

/* ---- the loop ---- */

static void go_round(struct running *run)
{
	bool writing = run->frame.count > 0;
	int to = run->frame.type == CONSOLE_ERROR ? STDERR_FILENO : STDOUT_FILENO;
	char key[2];
	short events =
		(short)((writing ? 0 : POLLIN) | (console_wire_waits(&run->wire) ? POLLOUT : 0));
	struct pollfd polls[] = {
		{ run->view->signals, POLLIN, 0 },
		{ events ? run->wire.fd : -1, events, 0 },
		{ may_read(run) ? STDIN_FILENO : -1, POLLIN, 0 },
		{ writing ? to : -1, POLLOUT, 0 },
	};
	int ready = poll(polls, 4, run->keys.held ? KEY_MS : -1);

	if (ready == 0)
		send_input(run, key, console_keys_release(&run->keys, key));
	if (polls[0].revents)
		for (int number; !run->over && (number = console_signals_take(run->view->signals));)
			pass_signal(run, number);
	if (!run->over && polls[3].revents)
		write_output(run);
	if (!run->over && polls[2].revents)
		read_input(run);
	if (!run->over && !writing && polls[1].revents & (POLLIN | POLLHUP | POLLERR))
		read_host(run);
	if (!run->over && writing)
		read_on(run);
	console_wire_flush(&run->wire); /* a host that is gone is noticed by reading */
}

int console_view_run(const struct console_view *view, struct strata_memory *memory,
		     struct console_result *ret_result, struct strata_error *err)
{
	struct running run = { .view = view, .result = { .outcome = CONSOLE_LOST } };
	const struct console_hello hello = { .version = CONSOLE_VERSION,
					     .owner = view->owner,
					     .terminal = view->terminal,
					     .size = own_size() };
	char bytes[CONSOLE_HELLO_BYTES];
	int rc = console_wire_open(&run.wire, view->fd, memory, err);

	if (rc)
		return rc;
	console_hello_write(&hello, bytes);
	console_wire_send(&run.wire, CONSOLE_HELLO, bytes, sizeof(bytes));
	console_wire_flush(&run.wire);
	while (!run.over)
		go_round(&run);
	if (run.raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &run.before);
	console_wire_close(&run.wire);
	*ret_result = run.result;
	return 0;
}
