/*
 * Starting the program of a console. It gets the host's environment, directory, user and control
 * group, which are the job's; a session of its own, so that signals reach all that it starts and
 * not the host; and, when the owner sits at a terminal, one of its own with the owner's size.
 */
#include "console/console_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What the program gets and what we keep, of the same three. */
struct ends {
	int theirs[3], ours[3];
};

static void close_all(int fds[3])
{
	for (int i = 0; i < 3; i++) {
		int fd = fds[i];

		for (int k = i; k < 3; k++) /* a terminal is in more than one place */
			fds[k] = fds[k] == fd ? -1 : fds[k];
		if (fd > STDERR_FILENO)
			close(fd);
	}
}

static int open_terminal(struct ends *ends, struct console_size size)
{
	const struct winsize window = { .ws_row = size.rows, .ws_col = size.columns };
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1, copy = -1;
	char name[64];

	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
	    ptsname_r(master, name, sizeof(name)) == 0)
		slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	copy = slave < 0 ? -1 : fcntl(master, F_DUPFD_CLOEXEC, 3);
	int code = copy < 0 ? -errno : 0;

	if (size.rows && size.columns && code == 0)
		ioctl(master, TIOCSWINSZ, &window);
	*ends = (struct ends){ { slave, slave, slave }, { copy, master, -1 } };
	return code;
}

static int open_pipes(struct ends *ends)
{
	int pair[2];

	for (int i = 0; i < 3; i++) {
		if (pipe2(pair, O_CLOEXEC) != 0)
			return -errno;
		ends->theirs[i] = pair[i > 0];
		ends->ours[i] = pair[i == 0];
	}
	return 0;
}

/* Where the job was given files of its own, the program has them. */
static void keep(const struct console_order *order, struct ends *ends)
{
	for (int i = 0; i < 3; i++) {
		int theirs = ends->theirs[i], ours = ends->ours[i];
		bool last = true;

		if (!order->kept[i])
			continue;
		ends->theirs[i] = i;
		for (int k = 0; k < 3; k++)
			last &= ends->theirs[k] != theirs;
		if (last && theirs > STDERR_FILENO)
			close(theirs);
		ends->ours[i] = -1;
		if (ours >= 0)
			close(ours);
	}
}

int console_program_start(struct console_program *program, const struct env *env,
			  const struct console_order *order, const struct console_hello *hello,
			  struct strata_error *err)
{
	struct ends ends = { { -1, -1, -1 }, { -1, -1, -1 } };
	struct env_process process = { 0 };
	/* without its input and output a terminal is of no use */
	bool terminal = hello->terminal && !order->kept[0] && !order->kept[1];
	int rc = terminal ? open_terminal(&ends, hello->size) : open_pipes(&ends);

	if (rc)
		strata_fail(err, rc, "no %s for it: %s", terminal ? "terminal" : "pipes",
			    strerror(-rc));
	if (rc == 0) {
		keep(order, &ends);
		const struct env_command command = {
			.program = order->argv[0],
			.search = strchr(order->argv[0], '/') ? NULL : order->path,
			.argv = order->argv,
			.envp = (const char *const *)environ,
			.fds = { ends.theirs[0], ends.theirs[1], ends.theirs[2] },
			.new_session = true,
			.terminal = terminal,
		};

		rc = env_spawn(env, &command, &process, err);
	}
	close_all(ends.theirs);
	if (rc) {
		close_all(ends.ours);
		return rc;
	}
	for (int i = 0; i < 3; i++)
		if (ends.ours[i] >= 0)
			fcntl(ends.ours[i], F_SETFL, O_NONBLOCK);
	*program = (struct console_program){ .env = env,
					     .process = process,
					     .terminal = terminal,
					     .in = ends.ours[0],
					     .out = ends.ours[1],
					     .err = ends.ours[2] };
	return 0;
}

void console_program_signal(const struct console_program *program, int number)
{
	pid_t group = program->terminal && program->out >= 0 ? tcgetpgrp(program->out) : -1;

	if (!program->process.pid)
		return;
	if (group > 1 && group != program->process.pid)
		kill(-group, number);
	if (group <= 1 || group == program->process.pid || number == SIGHUP || number == SIGTERM ||
	    number == SIGKILL)
		env_signal(program->env, &program->process, number, true, NULL);
}

void console_program_resize(const struct console_program *program, struct console_size size)
{
	const struct winsize window = { .ws_row = size.rows, .ws_col = size.columns };
	struct winsize before;

	if (!program->terminal || program->out < 0)
		return;
	if (size.rows && size.columns && ioctl(program->out, TIOCGWINSZ, &before) == 0 &&
	    (before.ws_row != size.rows || before.ws_col != size.columns))
		ioctl(program->out, TIOCSWINSZ, &window); /* the kernel tells who is in front */
	else
		console_program_signal(program, SIGWINCH);
}

void console_program_close(struct console_program *program)
{
	int fds[3] = { program->in, program->out, program->err };

	close_all(fds);
	program->in = program->out = program->err = -1;
	if (program->process.pid)
		env_process_close(program->env, &program->process);
	program->process.pid = 0;
}
