/*
 * What may happen to a service: it is killed at a write of the test's choice, and the clock is set. Preloaded, it counts every call by which the program changes something
 * outside of it (files, directories, sockets) from the moment the test says so, in a page that both map (STRATA_CRASH_FILE); the call with the
 * chosen number is not made. A read of a file at a place, which is how SQLite reads, can fail instead. Only `strata serve` counts: supervisors and jobs live on.
 */
#undef _FILE_OFFSET_BITS /* both kinds of calls are wanted by their own names */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct page {
	_Atomic int64_t kill_at; /* 0: nothing is counted */
	_Atomic int64_t calls;
	_Atomic int64_t shift_s; /* the time of day is so much later than it is */
	_Atomic int64_t
		fail_read_at; /* the read with this number fails; 0: none, and none is counted */
	_Atomic int64_t reads;
};
static struct page *page;
static pid_t self; /* children on their way to another program do not count */

__attribute__((constructor)) static void set_up(int argc, char **argv)
{
	const char *path = getenv("STRATA_CRASH_FILE");
	int fd = path && argc > 1 && strcmp(argv[1], "serve") == 0 ? open(path, O_RDWR | O_CLOEXEC)
								   : -1;

	if (fd < 0)
		return;
	void *at = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	page = at == MAP_FAILED ? NULL : at;
	self = getpid();
	close(fd);
}

static void count(void)
{
	int64_t kill_at = page ? atomic_load(&page->kill_at) : 0;

	if (!kill_at || getpid() != self)
		return;
	int64_t number = atomic_fetch_add(&page->calls, 1) + 1;

	if (number == kill_at)
		kill(getpid(), SIGKILL);
	while (number >= kill_at && atomic_load(&page->kill_at) == kill_at)
		pause(); /* another thread: nothing happens after the kill */
}

/* Whether this read is to fail. */
static bool read_fails(void)
{
	int64_t fail_at = page && getpid() == self ? atomic_load(&page->fail_read_at) : 0;

	return fail_at && atomic_fetch_add(&page->reads, 1) + 1 == fail_at;
}

#define FAILING_READ(name, offset)                                                   \
	ssize_t name(int fd, void *bytes, size_t size, offset at)                    \
	{                                                                            \
		static ssize_t (*real)(int fd, void *bytes, size_t size, offset at); \
                                                                                     \
		if (!real)                                                           \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                   \
		if (!read_fails())                                                   \
			return real(fd, bytes, size, at);                            \
		errno = EIO;                                                         \
		return -1;                                                           \
	}
FAILING_READ(pread, off_t)
FAILING_READ(pread64, off64_t)

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t clock, struct timespec * now);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	int rc = real(clock, now);

	if (rc == 0 && clock == CLOCK_REALTIME && page)
		now->tv_sec += atomic_load(&page->shift_s);
	return rc;
}

#define COUNTED(type, name, parameters, arguments)                 \
	type name parameters                                       \
	{                                                          \
		static type(*real) parameters;                     \
                                                                   \
		if (!real)                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #name); \
		count();                                           \
		return real arguments;                             \
	}

COUNTED(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
COUNTED(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
COUNTED(ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off64_t at),
	(fd, bytes, size, at))
COUNTED(ssize_t, writev, (int fd, const struct iovec *parts, int size), (fd, parts, size))
COUNTED(int, fsync, (int fd), (fd))
COUNTED(int, fdatasync, (int fd), (fd))
COUNTED(int, ftruncate, (int fd, off_t size), (fd, size))
COUNTED(int, ftruncate64, (int fd, off64_t size), (fd, size))
COUNTED(int, renameat, (int from_dir, const char *from, int to_dir, const char *to),
	(from_dir, from, to_dir, to))
COUNTED(int, renameat2,
	(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags),
	(from_dir, from, to_dir, to, flags))
COUNTED(int, rename, (const char *from, const char *to), (from, to))
COUNTED(int, linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags),
	(from_dir, from, to_dir, to, flags))
COUNTED(int, unlink, (const char *path), (path))
COUNTED(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
COUNTED(int, mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
COUNTED(ssize_t, send, (int fd, const void *bytes, size_t size, int flags),
	(fd, bytes, size, flags))
COUNTED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
