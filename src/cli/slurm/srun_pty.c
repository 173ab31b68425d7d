/*
 * srun --pty: a terminal for the first task. srun within the job makes it, gives the task one end
 * and sends the other to the srun that people sit at, over a socket in a directory that only they
 * can enter; from then on keys and lines go between their terminal and the task without anybody in
 * between. When either end goes away the other notices: the task is hung up on, or the caller is
 * back at their own prompt.
 */
#include "cli/slurm/srun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#define SOCKET_VARIABLE "STRATA_SRUN_TTY"

static bool make_address(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!path || strlen(path) >= sizeof(address->sun_path))
		return false;
	strcpy(address->sun_path, path);
	return true;
}

/* A message of one byte with room for a descriptor. */
struct fd_message {
	char byte;
	struct iovec part;
	struct msghdr head;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void init_message(struct fd_message *message)
{
	*message = (struct fd_message){ .byte = 't' };
	message->part = (struct iovec){ &message->byte, 1 };
	message->head = (struct msghdr){ .msg_iov = &message->part,
					 .msg_iovlen = 1,
					 .msg_control = message->control,
					 .msg_controllen = sizeof(message->control) };
}

/* ---- within the job ---- */

static bool send_fd(int socket, int fd)
{
	struct fd_message message;

	init_message(&message);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message.head);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(socket, &message.head, MSG_NOSIGNAL) == 1;
}

static bool hand_over(const char *path, int master)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool sent = fd >= 0 && make_address(path, &address) &&
		    connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    send_fd(fd, master);

	if (fd >= 0)
		close(fd);
	return sent;
}

bool srun_pty_wanted(const struct srun *srun)
{
	return srun->batch.job.pty && getenv(SOCKET_VARIABLE);
}

bool srun_pty_is_ours(const char *variable)
{
	return strncmp(variable, SOCKET_VARIABLE "=", sizeof(SOCKET_VARIABLE)) == 0;
}

int srun_pty_make(struct srun *srun)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];
	int slave = -1;

	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
	    ptsname_r(master, name, sizeof(name)) == 0)
		slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || !hand_over(getenv(SOCKET_VARIABLE), master)) {
		slurm_error(srun->cli, "srun", "no terminal for the task: %s", strerror(errno));
		if (slave >= 0)
			close(slave);
		slave = -1;
	}
	if (master >= 0)
		close(master);
	return slave;
}

/* ---- at the caller's terminal ---- */

int srun_pty_listen(struct srun *srun, const char *dir)
{
	const char *path = strata_arena_printf(&srun->cli->arena, "%s/tty", dir);
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && make_address(path, &address) &&
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0 &&
	    json_object_set_new(json_object_get(srun->batch.body, "environment"), SOCKET_VARIABLE,
				json_string(path)) == 0)
		return fd;
	slurm_error(srun->cli, "srun", "no socket for the terminal: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int receive_fd(int socket)
{
	struct fd_message message;
	int fd = -1;

	init_message(&message);
	if (recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message.head);

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

int srun_pty_take(int listening)
{
	int socket = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	int fd = socket < 0 ? -1 : receive_fd(socket);

	if (socket >= 0)
		close(socket);
	return fd;
}

static volatile sig_atomic_t resized;

static void note_size(int number)
{
	(void)number;
	resized = 1;
}

static void pass_size(int master)
{
	struct winsize size;

	resized = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		ioctl(master, TIOCSWINSZ, &size);
}

static bool pass_bytes(int from, int to)
{
	char bytes[4096];
	ssize_t count = read(from, bytes, sizeof(bytes)), done = 0;

	if (count < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	while (done < count) {
		ssize_t part = write(to, bytes + done, (size_t)(count - done));

		if (part < 0 && errno != EINTR)
			return false;
		done += part > 0 ? part : 0;
	}
	return count > 0;
}

static void relay(int master)
{
	static const char end_of_file = 4; /* what the key for it would send */
	struct pollfd fds[] = { { master, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };

	for (;;) {
		if (resized)
			pass_size(master);
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (fds[0].revents && !pass_bytes(master, STDOUT_FILENO))
			return; /* EIO: nobody has the other end any more */
		if (fds[1].revents && !pass_bytes(STDIN_FILENO, master)) {
			fds[1].fd = -1;
			if (write(master, &end_of_file, 1) < 0)
				return;
		}
	}
}

void srun_pty_serve(int master)
{
	struct sigaction action = { .sa_handler = note_size };
	struct termios before, raw;
	bool terminal = tcgetattr(STDIN_FILENO, &before) == 0;

	sigaction(SIGWINCH, &action, NULL);
	pass_size(master);
	if (terminal) {
		raw = before;
		cfmakeraw(&raw);
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	}
	relay(master);
	if (terminal)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	close(master);
}
