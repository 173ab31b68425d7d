#include "test.h"

#include "console/console.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct strata_error err;
static struct strata_memory memory;

static char *make(struct strata_arena *arena, const char *base)
{
	char *dir;

	strata_arena_init(arena, &memory, 0);
	CHECK_OK(console_place_make(base, arena, &dir, &err));
	return dir;
}

TEST(it_is_for_its_user_alone)
{
	struct strata_arena arena;
	mode_t before = umask(0);
	char *dir = make(&arena, test_temp_dir());
	struct stat info;

	umask(before);
	CHECK_INT(stat(dir, &info), 0);
	CHECK_INT(info.st_mode & 07777, 0700);
	CHECK_INT(info.st_uid, geteuid());
	strata_arena_fini(&arena);
	CHECK_ERROR(console_place_make("/nosuch/place", &arena, &dir, &err), -ENOENT,
		    "cannot make a directory in /nosuch/place");
	strata_arena_fini(&arena);
}

TEST(two_ends_meet_there_however_long_its_name_is)
{
	struct strata_arena arena;
	char base[512];

	snprintf(base, sizeof(base), "%s/%0150d", test_temp_dir(), 7);
	CHECK_INT(mkdir(base, 0700), 0);
	char *dir = make(&arena, base);
	int listening, here, there, before = test_open_fds();

	CHECK_ERROR(console_place_connect(dir, &here, &err), -ENOENT, "cannot connect");
	CHECK_OK(console_place_listen(dir, &listening, &err));
	CHECK_INT(console_place_accept(listening), -EAGAIN);
	CHECK_OK(console_place_connect(dir, &here, &err));
	there = console_place_accept(listening);
	CHECK(there >= 0);
	CHECK_INT(write(here, "x", 1), 1);
	close(here);
	close(there);
	close(listening);
	CHECK_ERROR(console_place_connect(dir, &here, &err), -ECONNREFUSED, "cannot connect");
	CHECK_OK(console_place_listen(dir, &listening, &err)); /* the job's next attempt */
	close(listening);
	CHECK_INT(test_open_fds(), before);
	console_place_remove(dir);
	CHECK(access(dir, F_OK) != 0);
	console_place_remove(dir);
	strata_arena_fini(&arena);
}

TEST(a_directory_that_others_can_use_is_refused)
{
	struct strata_arena arena;
	char *dir = make(&arena, test_temp_dir()), name[512];
	int fd;

	CHECK_INT(chmod(dir, 0701), 0);
	CHECK_ERROR(console_place_listen(dir, &fd, &err), -EACCES, "not a directory of this user");
	CHECK_ERROR(console_place_connect(dir, &fd, &err), -EACCES, "not a directory of this user");
	CHECK_ERROR(console_place_hold(dir, &fd, &err), -EACCES, "not a directory of this user");
	CHECK_INT(chmod(dir, 0700), 0);
	if (geteuid() == 0) {
		CHECK_INT(chown(dir, 12345, 12345), 0);
		CHECK_ERROR(console_place_connect(dir, &fd, &err), -EACCES,
			    "not a directory of this user");
		CHECK_INT(chown(dir, 0, 0), 0);
	}
	snprintf(name, sizeof(name), "%s.link", dir);
	CHECK_INT(symlink(dir, name), 0);
	CHECK(console_place_listen(name, &fd, &err) < 0);
	strata_arena_fini(&arena);
}

TEST(another_user_is_not_let_in)
{
	struct strata_arena arena;
	char *dir = make(&arena, test_temp_dir());
	int listening, code;

	if (geteuid() != 0)
		test_skip("not root");
	CHECK_OK(console_place_listen(dir, &listening, &err));
	pid_t child = fork();

	if (child == 0) {
		int fd;

		if (setresuid(12345, 12345, 12345))
			_exit(3);
		_exit(console_place_connect(dir, &fd, NULL) == -EACCES ? 0 : 1);
	}
	CHECK_INT(waitpid(child, &code, 0), child);
	CHECK_INT(code, 0);
	close(listening);
	strata_arena_fini(&arena);
}

TEST(its_owner_holds_it_until_it_dies)
{
	struct strata_arena arena;
	char *dir = make(&arena, test_temp_dir());
	int fd, second, pipes[2], code;
	char byte;

	CHECK(!console_place_held(dir));
	CHECK_OK(console_place_hold(dir, &fd, &err));
	CHECK(console_place_held(dir));
	CHECK_ERROR(console_place_hold(dir, &second, &err), -EWOULDBLOCK, "cannot lock");
	close(fd);
	CHECK(!console_place_held(dir));
	CHECK_INT(pipe(pipes), 0);
	pid_t child = fork();

	if (child == 0) {
		_exit(console_place_hold(dir, &fd, NULL) || write(pipes[1], "x", 1) != 1 ||
		      pause());
	}
	CHECK_INT(read(pipes[0], &byte, 1), 1);
	CHECK(console_place_held(dir));
	kill(child, SIGKILL);
	CHECK_INT(waitpid(child, &code, 0), child);
	CHECK(!console_place_held(dir));
	CHECK(!console_place_held("/nosuch/place"));
	close(pipes[0]);
	close(pipes[1]);
	strata_arena_fini(&arena);
}

static int make_one(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct strata_arena arena;
	char *dir;

	(void)context;
	strata_arena_init(&arena, from, 0);
	int rc = console_place_make(test_temp_dir(), &arena, &dir, why);

	if (rc == 0)
		test_result_int(strncmp(dir, test_temp_dir(), strlen(test_temp_dir())));
	strata_arena_fini(&arena);
	return rc;
}

TEST(it_does_without_memory)
{
	CHECK(test_every_allocation(make_one, NULL) > 0);
}
