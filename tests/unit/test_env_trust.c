#include "test.h"

#include "core/env_trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static int check_own(const char *name)
{
	return env_trust_check(in(name), ENV_TRUST_OWN_DIR, "the state directory", &err);
}

static int check_file(const char *name)
{
	return env_trust_check(in(name), ENV_TRUST_FILE, "the plug-in", &err);
}

static void make(const char *name, mode_t mode)
{
	CHECK_INT(mkdir(in(name), 0700), 0);
	CHECK_INT(chmod(in(name), mode), 0);
}

TEST(a_directory_that_others_may_write_to_is_refused)
{
	make("own", 0755);
	CHECK_OK(check_own("own"));
	CHECK_INT(chmod(in("own"), 0777), 0);
	CHECK_ERROR(check_own("own"), -EPERM,
		    "may be written to by others (mode 0777); `chmod go-w /");
	CHECK_INT(chmod(in("own"), 0770), 0);
	if (geteuid() == 0) /* a group of one's own, with one's number, is oneself */
		CHECK_ERROR(check_own("own"), -EPERM, "the state directory /");
	CHECK_INT(chmod(in("own"), 01777),
		  0); /* where others may plant files is no place to keep ours */
	CHECK_ERROR(check_own("own"), -EPERM, "mode 1777); name a directory of its own below it");
}

TEST(so_is_one_below_such_a_directory_unless_names_there_are_their_owners)
{
	make("open", 0777);
	make("open/own", 0700);
	CHECK_ERROR(check_own("open/own"), -EPERM, "/open may be written to by others");
	CHECK_INT(chmod(in("open"), 01777), 0);
	CHECK_OK(check_own("open/own"));
}

TEST(another_users_directories_links_and_files_are_refused)
{
	if (geteuid() != 0)
		test_skip("needs root to make files of others");
	make("theirs", 0755);
	CHECK_INT(chown(in("theirs"), 65534, 65534), 0);
	CHECK_ERROR(check_own("theirs"), -EPERM, "belongs to user 65534; expected user 0");
	make("theirs/own", 0700);
	CHECK_ERROR(check_own("theirs/own"), -EPERM,
		    "/theirs belongs to user 65534, who could exchange it");
	make("own", 0700);
	CHECK_INT(symlink(in("own"), in("link")), 0);
	CHECK_OK(check_own("link"));
	CHECK_INT(lchown(in("link"), 65534, 65534), 0);
	CHECK_ERROR(check_own("link"), -EPERM, "/link belongs to user 65534");
	close(open(in("own/file"), O_CREAT | O_WRONLY, 0644));
	CHECK_OK(check_file("own/file"));
	CHECK_INT(chown(in("own/file"), 65534, 65534), 0);
	CHECK_ERROR(check_file("own/file"), -EPERM, "the plug-in /");
}

TEST(a_file_that_is_missing_is_fine_where_only_we_can_make_it)
{
	make("own", 0755);
	CHECK_OK(check_file("own/new"));
	make("open", 01777);
	CHECK_ERROR(check_file("open/new"), -EPERM,
		    "/open may be written to by others (mode 1777)");
	CHECK_ERROR(env_trust_check("/dev/null", ENV_TRUST_FILE, "it", &err), -EINVAL,
		    "cannot be used");
	CHECK_ERROR(check_file("own"), -EISDIR, "Is a directory");
	CHECK_ERROR(check_file("no/new"), -ENOENT, "cannot be used");
	CHECK_ERROR(check_own("new"), -ENOENT, "the state directory /");
	close(open(in("own/file"), O_CREAT | O_WRONLY, 0666));
	CHECK_INT(chmod(in("own/file"), 0666), 0);
	CHECK_ERROR(check_file("own/file"), -EPERM, "mode 0666");
	CHECK_INT(chmod(in("own/file"), 0644), 0);
	CHECK_ERROR(check_own("own/file"), -ENOTDIR, "Not a directory");
}

TEST(directories_are_made_where_it_is_safe_and_nowhere_else)
{
	struct stat info;

	CHECK_OK(env_trust_make_dir(env_system(), in("a/b"), 0711, ENV_TRUST_OWN_DIR, "it", &err));
	CHECK_INT(stat(in("a/b"), &info), 0);
	CHECK_INT(info.st_mode & 0777, 0711);
	CHECK_OK(env_trust_make_dir(env_system(), in("a/b"), 0700, ENV_TRUST_OWN_DIR, "it", &err));
	make("open", 0777);
	CHECK_ERROR(
		env_trust_make_dir(env_system(), in("open/a/b"), 0700, ENV_TRUST_DIR, "it", &err),
		-EPERM, "/open may be written to by others");
	CHECK(access(in("open/a"), F_OK) < 0);
}
