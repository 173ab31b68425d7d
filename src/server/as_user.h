/* Touching files with the rights of a user and no more, on the thread that does it: user, group and
 * all groups the user is in. */
#ifndef SERVER_AS_USER_H
#define SERVER_AS_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* Until as_user_end. A service that is not root serves its own user only, and has nothing to
 * change. False: it cannot be done. */
bool as_user_begin(uid_t uid, gid_t gid);
void as_user_end(void);

#endif
