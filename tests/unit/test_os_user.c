#include "test.h"

#include "server/os_user.h"

#include <pwd.h>
#include <unistd.h>

TEST(a_user_is_found_both_ways)
{
	struct os_user by_uid, by_name;

	CHECK(os_user_by_uid(0, &by_uid));
	CHECK_TEXT(by_uid.name, getpwuid(0)->pw_name);
	CHECK_TEXT(by_uid.home, getpwuid(0)->pw_dir);
	CHECK(os_user_by_name(by_uid.name, &by_name));
	CHECK_INT(by_name.uid, 0);
	CHECK_TEXT(by_name.shell, by_uid.shell);
}

TEST(one_that_there_is_not_is_not_found)
{
	struct os_user user;

	CHECK(!os_user_by_name("nobody-is-called-this", &user));
	CHECK(!os_user_by_uid((uid_t)-2, &user));
}
