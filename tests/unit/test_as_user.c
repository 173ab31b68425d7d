#include "test.h"

#include "server/as_user.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[600];

static void put(const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	CHECK_INT(fchown(fd, uid, gid), 0);
	CHECK_INT(fchmod(fd, mode), 0);
	close(fd);
}

static bool readable(void)
{
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

TEST(a_thread_has_the_rights_of_the_user_and_no_others)
{
	const struct passwd *nobody = getpwnam("nobody");

	if (geteuid() != 0)
		test_skip("only root becomes others");
	CHECK(nobody != NULL);
	uid_t uid = nobody->pw_uid;
	gid_t gid = nobody->pw_gid;

	CHECK_INT(chmod(test_temp_dir(), 0755), 0);
	put("roots", 0, 0, 0640); /* nor those of a group of root's */
	CHECK(as_user_begin(uid, gid));
	CHECK(!readable());
	as_user_end();
	CHECK(readable());
	put("theirs", uid, 0, 0400);
	CHECK(as_user_begin(uid, gid));
	CHECK(readable());
	as_user_end();
	put("group", 0, gid, 0040);
	CHECK(as_user_begin(uid, gid));
	CHECK(readable());
	as_user_end();
}

TEST(others_serve_themselves_only)
{
	if (geteuid() == 0)
		test_skip("root serves everybody");
	CHECK(as_user_begin(geteuid(), getegid()));
	as_user_end();
	CHECK(!as_user_begin(geteuid() + 1, getegid()));
}
