/* The lookups of os_user.h. */
#include "server/os_user.h"

#include <pwd.h>
#include <stdio.h>

enum { TEXT_BYTES = 4096 };

static bool fill(const struct passwd *found, struct os_user *ret_user)
{
	if (!found)
		return false;
	ret_user->uid = found->pw_uid;
	ret_user->gid = found->pw_gid;
	return snprintf(ret_user->name, sizeof(ret_user->name), "%s", found->pw_name) <
		       (int)sizeof(ret_user->name) &&
	       snprintf(ret_user->home, sizeof(ret_user->home), "%s", found->pw_dir) <
		       (int)sizeof(ret_user->home) &&
	       snprintf(ret_user->shell, sizeof(ret_user->shell), "%s", found->pw_shell) <
		       (int)sizeof(ret_user->shell);
}

bool os_user_by_uid(uid_t uid, struct os_user *ret_user)
{
	struct passwd entry, *found = NULL;
	char text[TEXT_BYTES];

	return getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && fill(found, ret_user);
}

bool os_user_by_name(const char *name, struct os_user *ret_user)
{
	struct passwd entry, *found = NULL;
	char text[TEXT_BYTES];

	return getpwnam_r(name, &entry, text, sizeof(text), &found) == 0 && fill(found, ret_user);
}
