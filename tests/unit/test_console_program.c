#include "test.h"

#include "console/console_program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct strata_error err;
static struct console_program program;
static char text[4096];

static int start(const char *script, const struct console_hello *hello, const char *kept)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	const struct console_order order = {
		.argv = argv,
		.path = "/usr/bin:/bin",
		.kept = { strchr(kept, '0'), strchr(kept, '1'), strchr(kept, '2') },
	};

	return console_program_start(&program, env_system(), &order, hello, &err);
}

/* All that comes until the end. */
static const char *read_all(int fd)
{
	struct pollfd ready = { fd, POLLIN, 0 };
	size_t used = 0;
	ssize_t got = 1;

	while (used < sizeof(text) - 1 && poll(&ready, 1, 20000) == 1 &&
	       (got = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	return text;
}

static struct env_exit wait_for_it(void)
{
	struct env_exit end;

	CHECK_OK(env_wait(env_system(), &program.process, true, &end, &err));
	console_program_close(&program);
	return end;
}

TEST(pipes_are_kept_apart)
{
	const struct console_hello hello = { .owner = true };
	int before = test_open_fds();

	CHECK_OK(start("cat; echo oops >&2; exit 3", &hello, ""));
	CHECK(!program.terminal);
	CHECK_INT(write(program.in, "hi\n", 3), 3);
	close(program.in);
	program.in = -1;
	CHECK_TEXT(read_all(program.out), "hi\n");
	CHECK_TEXT(read_all(program.err), "oops\n");
	struct env_exit end = wait_for_it();

	CHECK_INT(end.state, ENV_EXITED);
	CHECK_INT(end.code, 3);
	CHECK_INT(test_open_fds(), before);
}

TEST(a_terminal_is_its_own_and_has_a_size)
{
	const struct console_hello hello = { .terminal = true, .size = { 12, 34 } };
	int before = test_open_fds();

	CHECK_OK(start("stty size; exec sh -c 'trap \"stty size; exit 5\" WINCH; echo on; while :; "
		       "do sleep 0.05; done'",
		       &hello, ""));
	CHECK(program.terminal);
	CHECK_INT(program.err, -1);
	struct pollfd ready = { program.out, POLLIN, 0 };
	size_t used = 0;

	while (used < sizeof(text) - 1 && !memmem(text, used, "on\r\n", 4)) {
		CHECK_INT(poll(&ready, 1, 20000), 1);
		ssize_t got = read(program.out, text + used, sizeof(text) - 1 - used);

		CHECK(got > 0);
		used += (size_t)got;
	}
	CHECK(memmem(text, used, "12 34\r\n", 7));
	console_program_resize(&program, (struct console_size){ 56, 78 });
	CHECK(strstr(read_all(program.out), "56 78\r\n"));
	CHECK_INT(wait_for_it().code, 5);
	CHECK_INT(test_open_fds(), before);
}

TEST(a_signal_reaches_all_of_it)
{
	const struct console_hello hello = { 0 };

	CHECK_OK(start("sleep 600 | sleep 600", &hello, ""));
	usleep(100000);
	console_program_signal(&program, SIGTERM);
	CHECK_TEXT(read_all(program.out), ""); /* ends when nobody has it any more */
	struct env_exit end = wait_for_it();

	CHECK_INT(end.state, ENV_KILLED);
	CHECK_INT(end.signal, SIGTERM);
}

TEST(files_of_the_job_are_handed_on)
{
	const struct console_hello hello = { .terminal = true, .size = { 1, 2 } };
	int before = test_open_fds(), pipes[2], own = dup(STDERR_FILENO);

	CHECK_INT(pipe(pipes), 0);
	CHECK(dup2(pipes[1], STDERR_FILENO) == STDERR_FILENO);
	int rc = start("echo to the file >&2; echo to us", &hello, "2");

	dup2(own, STDERR_FILENO);
	close(own);
	close(pipes[1]);
	CHECK_INT(rc, 0);
	CHECK(program.terminal);
	CHECK_TEXT(read_all(pipes[0]), "to the file\n");
	CHECK_TEXT(read_all(program.out), "to us\r\n");
	wait_for_it();
	close(pipes[0]);
	CHECK_OK(start("exit 4", &hello, "01")); /* then a terminal is of no use */
	CHECK(!program.terminal && program.in == -1 && program.out == -1 && program.err >= 0);
	CHECK_INT(wait_for_it().code, 4);
	CHECK_INT(test_open_fds(), before);
}

TEST(what_cannot_be_run_leaves_nothing)
{
	const char *argv[] = { "nosuchprogram", NULL };
	const struct console_order order = { .argv = argv, .path = "/usr/bin:/bin" };
	const struct console_hello hello[] = { { .terminal = false }, { .terminal = true } };
	int before = test_open_fds();

	for (int i = 0; i < 2; i++)
		CHECK_ERROR(console_program_start(&program, env_system(), &order, &hello[i], &err),
			    -ENOENT, "nosuchprogram");
	CHECK_INT(test_open_fds(), before);
}
