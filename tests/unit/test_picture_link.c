#include "test.h"

#include "server/picture_link.h"

#include <stdio.h>
#include <string.h>

static const unsigned char key[JOB_TOKEN_KEY_BYTES] = { 1, 2, 3 };

/* The parts of a path, cut in place. */
static void cut(char *path, const char *ret_parts[4])
{
	char *at = path + strlen(PICTURE_LINK_PREFIX);

	for (size_t i = 0; i < 4; i++) {
		char *slash = strchr(at, '/');

		ret_parts[i] = at;
		if (slash)
			*slash = '\0';
		at = slash ? slash + 1 : at + strlen(at);
	}
}

static bool is_good(const unsigned char *with, const char *path)
{
	char copy[PICTURE_LINK_BYTES + 8];
	const char *parts[4];
	int64_t task, number, expires_s;

	snprintf(copy, sizeof(copy), "%s", path);
	cut(copy, parts);
	return picture_link_read(with, parts, &task, &number, &expires_s);
}

TEST(a_link_says_which_picture_and_until_when)
{
	char path[PICTURE_LINK_BYTES];
	const char *parts[4];
	int64_t task = 0, number = 0, expires_s = 0;

	picture_link_make(key, 17, 3, 1763445600, path);
	CHECK(strncmp(path, "/pictures/17/3/1763445600/", 26) == 0);
	CHECK_INT(strlen(path), 26 + 64);
	cut(path, parts);
	CHECK(picture_link_read(key, parts, &task, &number, &expires_s));
	CHECK_INT(task, 17);
	CHECK_INT(number, 3);
	CHECK_INT(expires_s, 1763445600);
	CHECK(is_good(key, picture_link_make(key, INT64_MAX, INT32_MAX, INT64_MAX, path)));
}

TEST(nobody_makes_or_changes_one_without_the_key)
{
	static const unsigned char other[JOB_TOKEN_KEY_BYTES] = { 1, 2, 4 };
	static const char *const bad[] = { "17/3/1763445600/", "17/3/1763445600", "x/3/1/a",
					   "-1/0/1/a", "17/3/1763445600/../../etc/passwd" };
	char path[PICTURE_LINK_BYTES], changed[PICTURE_LINK_BYTES + 8];
	size_t prefix = strlen(PICTURE_LINK_PREFIX);

	picture_link_make(key, 17, 3, 1763445600, path);
	CHECK(is_good(key, path));
	CHECK(!is_good(other, path));
	for (size_t i = prefix; path[i]; i++) { /* no letter of it can be another */
		strcpy(changed, path);
		changed[i] = changed[i] == '1' ? '2' : '1';
		CHECK(!is_good(key, changed));
	}
	snprintf(changed, sizeof(changed), "%s0", path);
	CHECK(!is_good(key, changed));
	snprintf(changed, sizeof(changed), PICTURE_LINK_PREFIX "0%s", path + prefix);
	CHECK(!is_good(key, changed)); /* 017 is 17 */
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(changed, sizeof(changed), PICTURE_LINK_PREFIX "%s", bad[i]);
		CHECK(!is_good(key, changed));
	}
}
