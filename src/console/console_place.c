/*
 * The directory of a console: made by the view that has the job made, with a name nobody can guess,
 * for its user alone (0700). In it are the host's socket, the owner's lock and the host's log. A
 * directory that others could write to, or that is somebody else's, is refused by both ends, and
 * each end asks the kernel who the other one is. Sockets are reached through the directory's
 * descriptor, because an address has room for 107 bytes and a path may be longer.
 */
#include "console/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char socket_name[] = "console", lock_name[] = "owner";

int console_place_make(const char *base, struct strata_arena *arena, char **ret_dir,
		       struct strata_error *err)
{
	char *dir = strata_arena_printf(arena, "%s/strata-console-XXXXXX", base);

	if (!dir)
		return strata_fail_memory(err);
	if (!mkdtemp(dir)) /* 0700, whatever the umask */
		return strata_fail(err, -errno, "cannot make a directory in %.200s: %s", base,
				   strerror(errno));
	*ret_dir = dir;
	return 0;
}

static int open_dir(const char *dir, int *ret_fd, struct strata_error *err)
{
	struct stat info;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return strata_fail(err, -errno, "cannot open %.200s: %s", dir, strerror(errno));
	if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 077) == 0) {
		*ret_fd = fd;
		return 0;
	}
	close(fd);
	return strata_fail(err, -EACCES, "%.200s is not a directory of this user alone", dir);
}

int console_place_hold(const char *dir, int *ret_fd, struct strata_error *err)
{
	int at, rc = open_dir(dir, &at, err);

	if (rc)
		return rc;
	int fd = openat(at, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
		rc = strata_fail(err, -errno, "cannot lock %.200s/%s: %s", dir, lock_name,
				 strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	close(at);
	if (rc == 0)
		*ret_fd = fd;
	return rc;
}

bool console_place_held(const char *dir)
{
	int at, fd = -1;
	bool held = false;

	if (open_dir(dir, &at, NULL) == 0) {
		fd = openat(at, lock_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
	}
	if (fd >= 0) {
		held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
		close(fd); /* and the lock with it */
	}
	return held;
}

static void make_address(int at, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", at,
		 socket_name);
}

int console_place_listen(const char *dir, int *ret_fd, struct strata_error *err)
{
	struct sockaddr_un address;
	int at, rc = open_dir(dir, &at, err);

	if (rc)
		return rc;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	make_address(at, &address);
	unlinkat(at, socket_name, 0); /* of an earlier attempt */
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(fd, STRATA_CONSOLE_VIEWS_MAX) != 0) {
		rc = strata_fail(err, -errno, "cannot listen in %.200s: %s", dir, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	close(at);
	if (rc == 0)
		*ret_fd = fd;
	return rc;
}

/* Who is at the other end, as the kernel knows it. */
static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int console_place_accept(int listening)
{
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (is_ours(fd))
		return fd;
	close(fd);
	return -EACCES;
}

int console_place_connect(const char *dir, int *ret_fd, struct strata_error *err)
{
	struct sockaddr_un address;
	int at, rc = open_dir(dir, &at, err);

	if (rc)
		return rc;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_address(at, &address);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		rc = strata_fail(err, -errno, "cannot connect in %.200s: %s", dir, strerror(errno));
	else if (!is_ours(fd))
		rc = strata_fail(err, -EACCES, "who listens in %.200s is another user", dir);
	if (rc && fd >= 0)
		close(fd);
	close(at);
	if (rc == 0)
		*ret_fd = fd;
	return rc;
}

void console_place_remove(const char *dir)
{
	static const char *const names[] = { socket_name, lock_name, CONSOLE_LOG };
	int at;

	if (open_dir(dir, &at, NULL))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(at, names[i], 0);
	close(at);
	rmdir(dir);
}
