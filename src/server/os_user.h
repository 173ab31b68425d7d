/* Users as the system knows them. Any thread. */
#ifndef SERVER_OS_USER_H
#define SERVER_OS_USER_H

#include <stdbool.h>
#include <sys/types.h>

struct os_user {
	char name[256], home[1024], shell[1024];
	uid_t uid;
	gid_t gid;
};

/* False: the system has no such user, or cannot say now. */
bool os_user_by_uid(uid_t uid, struct os_user *ret_user);
bool os_user_by_name(const char *name, struct os_user *ret_user);

#endif
