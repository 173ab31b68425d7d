/*
 * The real world: each primitive is one system call that returns its errno. And the two small functions over it that
 * have nothing to do with files or processes.
 */
#include "core/env_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t system_now_ns(void *context, enum env_clock clock)
{
	struct timespec now;

	(void)context;
	int rc = clock_gettime(clock == ENV_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);

	assert(rc == 0);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static ssize_t system_random(void *context, void *bytes, size_t count)
{
	ssize_t got = getrandom(bytes, count, 0);

	(void)context;
	return got < 0 ? -errno : got;
}

static int system_open(void *context, int dir, const char *path, int flags, mode_t mode)
{
	int fd = openat(dir, path, flags, mode);

	(void)context;
	return fd < 0 ? -errno : fd;
}

static int system_close(void *context, int fd)
{
	(void)context;
	return close(fd) < 0 ? -errno : 0;
}

static ssize_t system_read(void *context, int fd, void *bytes, size_t room)
{
	ssize_t count = read(fd, bytes, room);

	(void)context;
	return count < 0 ? -errno : count;
}

static ssize_t system_write(void *context, int fd, const void *bytes, size_t count)
{
	ssize_t done = write(fd, bytes, count);

	(void)context;
	return done < 0 ? -errno : done;
}

static int system_sync(void *context, int fd, bool data_only)
{
	(void)context;
	return (data_only ? fdatasync(fd) : fsync(fd)) < 0 ? -errno : 0;
}

static int system_chmod(void *context, int fd, mode_t mode)
{
	(void)context;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static off_t system_size(void *context, int fd)
{
	struct stat info;

	(void)context;
	return fstat(fd, &info) < 0 ? -errno : info.st_size;
}

static int system_truncate(void *context, int fd, off_t size)
{
	(void)context;
	return ftruncate(fd, size) < 0 ? -errno : 0;
}

static int system_rename(void *context, int dir, const char *from, const char *to)
{
	(void)context;
	return renameat(dir, from, dir, to) < 0 ? -errno : 0;
}

static int system_link(void *context, int dir, const char *from, const char *to)
{
	(void)context;
	return linkat(dir, from, dir, to, 0) < 0 ? -errno : 0;
}

static int system_unlink(void *context, int dir, const char *path)
{
	(void)context;
	return unlinkat(dir, path, 0) < 0 ? -errno : 0;
}

static int system_mkdir(void *context, int dir, const char *path, mode_t mode)
{
	(void)context;
	return mkdirat(dir, path, mode) < 0 ? -errno : 0;
}

const struct env *env_system(void)
{
	static const struct env system_env = {
		.now_ns = system_now_ns,
		.random = system_random,
		.open = system_open,
		.close = system_close,
		.read = system_read,
		.write = system_write,
		.sync = system_sync,
		.chmod = system_chmod,
		.size = system_size,
		.truncate = system_truncate,
		.rename = system_rename,
		.link = system_link,
		.unlink = system_unlink,
		.mkdir = system_mkdir,
		.spawn = env_system_spawn,
		.wait = env_system_wait,
		.signal = env_system_signal,
	};

	return &system_env;
}

int64_t env_now_ns(const struct env *env, enum env_clock clock)
{
	return env->now_ns(env->context, clock);
}

int64_t env_realtime_offset_ns(const struct env *env)
{
	return env_now_ns(env, ENV_REALTIME) - env_now_ns(env, ENV_MONOTONIC);
}

int env_random(const struct env *env, void *bytes, size_t count, struct strata_error *err)
{
	for (size_t done = 0; done < count;) {
		ssize_t got =
			ENV_RETRY(env->random(env->context, (char *)bytes + done, count - done));

		if (got <= 0)
			return strata_fail(err, got < 0 ? (int)got : -EIO, "no random bytes: %s",
					   strerror(got < 0 ? (int)-got : EIO));
		done += (size_t)got;
	}
	return 0;
}
