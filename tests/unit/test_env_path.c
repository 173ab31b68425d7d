#include "test.h"

#include "core/env_path.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct strata_error err;

static const char *in(const char *name)
{
	static char paths[8][600];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_temp_dir(), name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(in(name), "we");

	fputs(text, file);
	fclose(file);
}

static const char *linked(const char *to)
{
	const char *path = in("link");

	unlink(path);
	CHECK_INT(symlink(to, path), 0);
	return path;
}

static int open_kind(const char *path, enum env_path_kind kind, int flags)
{
	return env_path_open(AT_FDCWD, path, kind, flags, 0600, &err);
}

static void check_opens(const char *path, enum env_path_kind kind, int flags)
{
	int fd = open_kind(path, kind, flags);

	if (fd < 0)
		test_fail(__FILE__, __LINE__, "%s: %s", path, err.text);
	if (!(flags & O_PATH))
		CHECK_INT(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

/* Everything, as a process sees it that is another user's in part or not at all. */
static void check_all(void)
{
	char own[64];
	int held = open(in("held"), O_RDONLY | O_CLOEXEC);

	check_opens(in("file"), ENV_PATH_FILE, O_RDONLY);
	check_opens(linked(in("file")), ENV_PATH_FILE, O_RDONLY);
	check_opens(linked("file"), ENV_PATH_FILE_DIR, O_RDONLY);
	check_opens("/dev/null", ENV_PATH_FILE, O_RDWR);
	check_opens(test_temp_dir(), ENV_PATH_DIR, O_PATH);
	check_opens(in("new"), ENV_PATH_FILE, O_WRONLY | O_CREAT);
	snprintf(own, sizeof(own), "/proc/self/fd/%d", held);
	CHECK_ERROR(open_kind(own, ENV_PATH_FILE, O_RDONLY), -ELOOP, "into /proc");
	CHECK_ERROR(open_kind(linked(own), ENV_PATH_FILE, O_RDONLY), -ELOOP, "into /proc");
	CHECK(open_kind("/proc/self/maps", ENV_PATH_FILE, O_RDONLY) < 0);
	CHECK(strstr(err.text, "/proc"));
	CHECK(open_kind(linked("/proc/self/environ"), ENV_PATH_FILE, O_RDONLY) < 0);
	CHECK(open_kind("/proc/self/cwd", ENV_PATH_DIR, O_PATH) < 0);
	CHECK(open_kind("/proc/self/root/dev/null", ENV_PATH_FILE, O_RDONLY) < 0);
	CHECK(open_kind("/dev/fd/0", ENV_PATH_FILE, O_RDONLY) < 0);
	CHECK(open_kind("/proc", ENV_PATH_DIR, O_PATH) < 0);
	CHECK(open_kind("/dev/zero", ENV_PATH_FILE, O_RDONLY) < 0);
	CHECK_ERROR(open_kind(in("pipe"), ENV_PATH_FILE, O_RDONLY), -EINVAL,
		    "it is a pipe; expected a regular file or /dev/null");
	CHECK_ERROR(open_kind(in("pipe"), ENV_PATH_FILE, O_WRONLY | O_CREAT), -ENXIO,
		    "it is a pipe");
	CHECK_ERROR(open_kind(test_temp_dir(), ENV_PATH_FILE, O_RDONLY), -EISDIR, "a directory");
	CHECK_ERROR(open_kind(test_temp_dir(), ENV_PATH_FILE, O_WRONLY | O_CREAT), -EISDIR,
		    "a directory");
	CHECK_ERROR(open_kind(in("file"), ENV_PATH_DIR, O_PATH), -ENOTDIR, "Not a directory");
	CHECK_ERROR(open_kind(in("no"), ENV_PATH_FILE, O_RDONLY), -ENOENT, "No such file");
	CHECK_ERROR(open_kind("", ENV_PATH_FILE, O_RDONLY), -ENOENT, "No such file");
	close(held);
	unlink(in("new"));
}

static void make_files(void)
{
	put("file", "text");
	put("held", "secret");
	CHECK_INT(mkfifo(in("pipe"), 0600), 0);
}

TEST(files_are_opened_and_nothing_of_the_process_itself)
{
	make_files();
	check_all();
}

/* openat2 is answered as kernels and sandboxes do that have none. */
static void take_openat2_away(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		test_skip("no seccomp here");
}

static void check_without(int code)
{
	make_files();
	fflush(NULL);
	pid_t child = fork();

	if (child == 0) {
		take_openat2_away(code);
		check_all();
		_exit(0);
	}
	int status;

	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

TEST(a_kernel_without_openat2_opens_the_same)
{
	check_without(ENOSYS);
}

TEST(so_does_a_sandbox_that_forbids_it)
{
	check_without(EPERM);
}

TEST(what_is_emptied_is_a_file)
{
	make_files();
	int fd = open_kind(in("file"), ENV_PATH_FILE, O_WRONLY | O_CREAT | O_TRUNC);
	struct stat info;

	CHECK(fd >= 0);
	CHECK_INT(fstat(fd, &info), 0);
	CHECK_INT(info.st_size, 0);
	close(fd);
	check_opens("/dev/null", ENV_PATH_FILE, O_WRONLY | O_CREAT | O_TRUNC);
	fd = open_kind(in("held"), ENV_PATH_FILE, O_WRONLY | O_CREAT | O_APPEND);
	CHECK(fd >= 0);
	CHECK_INT(fcntl(fd, F_GETFL) & O_APPEND, O_APPEND);
	CHECK_INT(fstat(fd, &info), 0);
	CHECK_INT(info.st_size, 6);
	close(fd);
}

TEST(rights_are_the_users_until_they_end)
{
	const struct passwd *nobody = getpwnam("nobody");

	if (geteuid() != 0 || !nobody)
		test_skip("needs root and a user nobody");
	make_files();
	CHECK_INT(chmod(test_temp_dir(), 0755) | chmod(in("held"), 0600), 0);
	env_as_user_begin(nobody->pw_uid, nobody->pw_gid);
	CHECK_ERROR(open_kind(in("held"), ENV_PATH_FILE, O_RDONLY), -EACCES, "Permission denied");
	CHECK_ERROR(open_kind(in("other"), ENV_PATH_FILE, O_WRONLY | O_CREAT), -EACCES,
		    "Permission denied");
	env_as_user_end();
	check_opens(in("held"), ENV_PATH_FILE, O_RDONLY);
}
