/*
 * The rights of a user for one thread; as_user.h says what for. The system calls themselves, since
 * the C library's setgroups changes every thread of the process.
 */
#include "server/as_user.h"

#include "core/env_path.h"

#include <grp.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GROUPS_MAX = 1024 };

static bool set_groups(const gid_t *groups, int count)
{
	return syscall(SYS_setgroups, (size_t)count, groups) == 0;
}

bool as_user_begin(uid_t uid, gid_t gid)
{
	struct passwd entry, *found = NULL;
	char text[4096];
	gid_t groups[GROUPS_MAX] = { gid };
	int count = GROUPS_MAX;

	if (geteuid() != 0)
		return uid == geteuid();
	if (getpwuid_r(uid, &entry, text, sizeof(text), &found) || !found ||
	    getgrouplist(found->pw_name, gid, groups, &count) < 0)
		count = 1;
	if (!set_groups(groups, count))
		return false;
	env_as_user_begin(uid, gid);
	return true;
}

/* Root needs no groups to be root; those it had are those of whoever started it, and are not wanted
 * back. */
void as_user_end(void)
{
	if (geteuid() != 0)
		return;
	env_as_user_end();
	set_groups(NULL, 0);
}
