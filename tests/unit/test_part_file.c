/* Files that are written under a name of their own and renamed to what they are. */
#include "server/part_file.h"

#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct part_place place = { "things", "things" };
static struct strata_error err;

static bool keep_b(void *context, const char *name)
{
	(*(size_t *)context)++;
	return strcmp(name, "b") == 0;
}

TEST(a_file_is_there_under_its_name_when_it_is_accepted)
{
	const char *dir = test_temp_dir();
	char part[PART_NAME_BYTES], other[PART_NAME_BYTES], path[512];
	uint64_t bytes = 7;
	struct stat info;
	size_t seen = 0;

	CHECK_OK(part_open_dir(&place, env_system(), dir, &err));
	snprintf(path, sizeof(path), "%s/things", dir);
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_mode & 0777, 0700);
	CHECK_OK(part_write(&place, dir, "one", 3, part, &err));
	CHECK_OK(part_write(&place, dir, "three", 5, other, &err));
	CHECK(strcmp(part, other) != 0);
	CHECK_INT(part_open(&place, dir, "b", &bytes), -ENOENT);
	CHECK_INT(bytes, 7);
	CHECK_OK(part_accept(&place, dir, part, "b", &err));
	CHECK_OK(part_accept(&place, dir, other, "b", &err)); /* in place of the other */
	int fd = part_open(&place, dir, "b", &bytes);

	CHECK(fd >= 0);
	CHECK_INT(bytes, 5);
	close(fd);
	CHECK_ERROR(part_accept(&place, dir, part, "c", &err), -ENOENT, "cannot keep things");
	CHECK_OK(part_write(&place, dir, "", 0, part, &err));
	part_each(&place, dir, keep_b, &seen);
	CHECK_INT(seen, 2);
	CHECK_ERROR(part_accept(&place, dir, part, "c", &err), -ENOENT, "cannot keep things");
	part_remove(&place, dir, "b");
	part_remove(&place, dir, "b");
	CHECK_INT(part_open(&place, dir, "b", &bytes), -ENOENT);
	CHECK_ERROR(part_write(&place, "/nosuch", "", 0, part, &err), -ENOENT,
		    "cannot write things /nosuch/things/part-");
	part_each(&place, "/nosuch", keep_b, &seen);
}

TEST(what_is_no_file_is_not_opened)
{
	const char *dir = test_temp_dir();
	char path[512];
	uint64_t bytes;

	CHECK_OK(part_open_dir(&place, env_system(), dir, &err));
	snprintf(path, sizeof(path), "%s/things/link", dir);
	CHECK_INT(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/things/dir", dir);
	CHECK_INT(mkdir(path, 0700), 0);
	CHECK_INT(part_open(&place, dir, "link", &bytes), -ENOENT);
	CHECK_INT(part_open(&place, dir, "dir", &bytes), -ENOENT);
}
