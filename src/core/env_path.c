/*
 * Opening what users name; env_path.h says what for. openat2 refuses magic links as part of the opening. A kernel before 5.6 has no such
 * call (and some sandboxes allow none), so there the path is walked in steps, each of which must be outside the kernel's file systems.
 */
#include "core/env_path.h"

#include "core/env_walk.h"

#include <errno.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where a file is not data but a call into the kernel, which asks about the process and not about the file-system identity. */
static bool is_kernels(int fd)
{
	static const unsigned long types[] = {
		PROC_SUPER_MAGIC,
		SYSFS_MAGIC,
		DEBUGFS_MAGIC,
		TRACEFS_MAGIC,
		SECURITYFS_MAGIC,
		CGROUP_SUPER_MAGIC,
		SELINUX_MAGIC,
		SMACK_MAGIC,
		BPF_FS_MAGIC,
		CGROUP2_SUPER_MAGIC,
		NSFS_MAGIC,
		PSTOREFS_MAGIC,
		EFIVARFS_MAGIC,
		BINFMTFS_MAGIC,
		SOCKFS_MAGIC,
		ANON_INODE_FS_MAGIC,
		0x62656570 /* configfs */,
		PIPEFS_MAGIC,
	};
	struct statfs info;

	if (fstatfs(fd, &info) < 0)
		return true; /* better none than one we know nothing of */
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((unsigned long)info.f_type == types[i])
			return true;
	return false;
}

/* ---- without openat2 ---- */

struct follower {
	struct stat parent; /* the directory that the next component is in */
};

/* What the kernel's protected_symlinks does: in a directory where all may write, a link is followed if it is one's own or the directory's
 * owner's. */
static bool is_planted(const struct follower *follower, const struct stat *link)
{
	return (follower->parent.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
	       link->st_uid != (uid_t)setfsuid((uid_t)-1) &&
	       link->st_uid != follower->parent.st_uid;
}

static int check_step(void *context, const struct env_walk_step *step)
{
	struct follower *follower = context;

	if (is_kernels(step->fd))
		return -ELOOP; /* as openat2 says it */
	if (S_ISLNK(step->info.st_mode))
		return is_planted(follower, &step->info) ? -EACCES : 0;
	follower->parent = step->info;
	return 0;
}

static int open_in_steps(int dir, const char *path, int flags, mode_t mode)
{
	struct follower follower = { 0 };
	struct env_walk_end end;
	int rc = env_walk(dir, path, check_step, &follower, &end);

	if (rc)
		return rc;
	int fd = openat(end.dir, end.name, flags | O_NOFOLLOW, mode);

	rc = fd < 0 ? -errno : fd;
	close(end.dir);
	return rc;
}

static int open_path(int dir, const char *path, int flags, mode_t mode)
{
	const struct open_how how = { .flags = (unsigned)flags,
				      .mode = flags & O_CREAT ? mode : 0,
				      .resolve = RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	/* EPERM is what sandboxes answer that do not know the call; a second opinion does no harm */
	return errno == ENOSYS || errno == EPERM ? open_in_steps(dir, path, flags, mode) : -errno;
}

/* ---- what was opened ---- */

static const char *expected(enum env_path_kind kind)
{
	return kind == ENV_PATH_DIR        ? "a directory"
	       : kind == ENV_PATH_FILE_DIR ? "a regular file or a directory"
					   : "a regular file or /dev/null";
}

static bool is_of(enum env_path_kind kind, int fd, const char *path, const struct stat *info)
{
	if (S_ISDIR(info->st_mode))
		return kind != ENV_PATH_FILE;
	if (S_ISREG(info->st_mode))
		return kind != ENV_PATH_DIR;
	return kind == ENV_PATH_FILE && S_ISCHR(info->st_mode) &&
	       (info->st_rdev == makedev(1, 3) || (strncmp(path, "/dev/", 5) == 0 && isatty(fd)));
}

static const char *name_of(mode_t mode)
{
	return S_ISREG(mode)    ? "a file"
	       : S_ISDIR(mode)  ? "a directory"
	       : S_ISFIFO(mode) ? "a pipe"
	       : S_ISSOCK(mode) ? "a socket"
				: "a device";
}

static int check_opened(int fd, const char *path, enum env_path_kind kind, int flags,
			struct strata_error *err)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return strata_fail(err, -errno, "%s", strerror(errno));
	if (is_kernels(fd))
		return strata_fail(err, -EPERM,
				   "it is in /proc, /sys or another file system of the kernel's; "
				   "expected %s",
				   expected(kind));
	if (!is_of(kind, fd, path, &info))
		return strata_fail(err, S_ISDIR(info.st_mode) ? -EISDIR : -EINVAL,
				   "it is %s; expected %s", name_of(info.st_mode), expected(kind));
	if (flags & O_TRUNC && S_ISREG(info.st_mode) && ftruncate(fd, 0) < 0)
		return strata_fail(err, -errno, "%s", strerror(errno));
	if (!(flags & O_PATH))
		fcntl(fd, F_SETFL, flags & O_APPEND);
	return 0;
}

int env_path_open(int dir, const char *path, enum env_path_kind kind, int flags, mode_t mode,
		  struct strata_error *err)
{
	int how = (flags & ~O_TRUNC) | O_CLOEXEC | (kind == ENV_PATH_DIR ? O_DIRECTORY : 0);

	if (!(flags & O_PATH)) /* which allows few others beside it */
		how |= O_NONBLOCK | O_NOCTTY;
	int fd = open_path(dir, path, how, mode);

	if (fd == -ELOOP)
		return strata_fail(err, fd, "a link on the way leads into /proc, or in a circle");
	if (fd == -ENXIO)
		return strata_fail(err, fd, "it is a pipe, a socket or a device; expected %s",
				   expected(kind));
	if (fd == -EISDIR)
		return strata_fail(err, fd, "it is a directory; expected %s", expected(kind));
	if (fd < 0)
		return strata_fail(err, fd, "%s", strerror(-fd));
	int rc = check_opened(fd, path, kind, flags, err);

	if (rc)
		close(fd);
	return rc ? rc : fd;
}

/* ---- the user's rights ---- */

void env_as_user_begin(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	if (setfsuid((uid_t)-1) != (int)uid || setfsgid((gid_t)-1) != (int)gid)
		abort(); /* it has no other way to fail, and going on would be with root's rights */
}

void env_as_user_end(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}
