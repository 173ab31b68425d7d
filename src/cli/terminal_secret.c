/* Asking a person: for a secret, which is not shown while it is typed, and for a yes. The answers
 * come from the terminal; a secret also from a pipe, never from an argument, which others see. */
#include "cli/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { SECRET_BYTES_MAX = 4096 };

/* Up to the end of the line or of the input; -1: it is too long, or cannot be read. */
static ssize_t read_line(int fd, char *text, size_t room)
{
	size_t length = 0;

	for (;;) {
		ssize_t count = read(fd, text + length, 1);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -1;
		if (count == 0 || text[length] == '\n')
			break;
		if (++length == room)
			return -1;
	}
	while (length && text[length - 1] == '\r')
		length--;
	text[length] = '\0';
	return (ssize_t)length;
}

int terminal_secret(struct cli *cli, const char *what, const char **ret_text)
{
	char *text = strata_arena_get(&cli->arena, SECRET_BYTES_MAX + 1);
	struct termios before, quiet;
	bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;

	if (!text)
		return strata_fail_memory(&cli->err);
	if (terminal) {
		quiet = before;
		quiet.c_lflag &= (tcflag_t)~ECHO;
		fprintf(stderr, "%s: ", what);
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	ssize_t length = read_line(STDIN_FILENO, text, SECRET_BYTES_MAX + 1);

	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		fputc('\n', stderr);
	}
	if (length < 0)
		return strata_fail(&cli->err, -EINVAL,
				   "the %s cannot be read; expected a line of at most %d bytes",
				   what, SECRET_BYTES_MAX);
	if (length == 0)
		return strata_fail(&cli->err, -ENOKEY,
				   "no %s was given; it is read from standard input, as in "
				   "`strata login URL <token-file`",
				   what);
	*ret_text = text;
	return 0;
}

bool terminal_agrees(const char *question, bool *ret_asked)
{
	char answer[16] = "";
	int fd = isatty(STDERR_FILENO) ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;

	*ret_asked = fd >= 0;
	if (fd < 0)
		return false;
	dprintf(fd, "%s [yes/no] ", question);
	ssize_t length = read_line(fd, answer, sizeof(answer) - 1);

	close(fd);
	return length > 0 && strcmp(answer, "yes") == 0;
}
