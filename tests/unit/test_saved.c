#include "test.h"

#include "exec/saved.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static const struct launch_user self;
static char dir[500];

static void open_dir(void)
{
	snprintf(dir, sizeof(dir), "%s/saved", test_temp_dir());
	CHECK_INT(mkdir(dir, 0700), 0);
	strata_arena_init(&arena, &memory, 0);
}

/* A file of a given age, so that nothing depends on how fine the clock is. */
static void put(const char *name, long seconds)
{
	char path[600];
	static long turn;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
	fclose(fopen(path, "we"));
	const struct timespec times[2] = { { 1000000 + seconds, 0 }, { 1000000 + seconds, 0 } };
	turn++;
	const struct timespec of_dir[2] = { { turn, 0 }, { turn, 0 } };

	CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
	CHECK_INT(utimensat(AT_FDCWD, dir, of_dir, 0), 0);
}

TEST(the_newest_whole_checkpoint_is_found_once)
{
	struct saved last = { 0 };

	open_dir();
	CHECK(!saved_look(&self, dir, &last));
	put(".writing", 9);
	put("c.tmp", 9);
	put("c.part", 9);
	CHECK(!saved_look(&self, dir, &last));
	put("c1", 1);
	CHECK(saved_look(&self, dir, &last));
	CHECK_TEXT(last.name, "c1");
	CHECK(!saved_look(&self, dir, &last));
	put("old", 0);
	CHECK(!saved_look(&self, dir, &last));
	put("c2", 2);
	put("c3", 2);
	CHECK(saved_look(&self, dir, &last));
	CHECK_TEXT(last.name, "c3");
	put("c3", 3); /* written over */
	CHECK(saved_look(&self, dir, &last));
	CHECK_TEXT(last.name, "c3");
	CHECK(!saved_look(&self, "/no/such/place", &last));
	strata_arena_fini(&arena);
}

/* A checkpoint may be a directory of files. */
TEST(its_size_is_that_of_all_its_files)
{
	struct saved last = { 0 };
	char path[600];

	open_dir();
	put("one", 1);
	snprintf(path, sizeof(path), "%s/one", dir);
	CHECK_INT(truncate(path, 1000), 0);
	CHECK(saved_look(&self, dir, &last));
	CHECK_INT(last.size_bytes, 1000);
	snprintf(path, sizeof(path), "%s/.two", dir);
	CHECK_INT(mkdir(path, 0700), 0);
	put(".two/a", 1);
	snprintf(path, sizeof(path), "%s/.two/a", dir);
	CHECK_INT(truncate(path, 7), 0);
	snprintf(path, sizeof(path), "%s/.two/deep", dir);
	CHECK_INT(mkdir(path, 0700), 0);
	put(".two/deep/b", 1);
	snprintf(path, sizeof(path), "%s/.two/deep/b", dir);
	CHECK_INT(truncate(path, 30), 0);
	char from[600], to[600];

	snprintf(from, sizeof(from), "%s/.two", dir);
	snprintf(to, sizeof(to), "%s/two", dir);
	CHECK_INT(rename(from, to), 0);
	CHECK(saved_look(&self, dir, &last));
	CHECK_TEXT(last.name, "two");
	CHECK_INT(last.size_bytes, 37);
	strata_arena_fini(&arena);
}

TEST(the_record_stands_beside_the_directory)
{
	struct exec_order order = { .checkpoint_dir = dir };
	struct record_checkpoint record = { 3, 2, 77, "/x/c3", 40, 123 };
	char path[600], *bytes;
	size_t count;

	open_dir();
	CHECK_OK(saved_record(env_system(), &self, &order, &record, &memory, &err));
	snprintf(path, sizeof(path), "%s.json", dir);
	CHECK_INT(access(path, R_OK), 0);
	CHECK_OK(env_read_file(env_system(), AT_FDCWD, path, 4096, &arena, &bytes, &count, &err));
	CHECK(strstr(bytes, "\"path\":\"/x/c3\""));
	CHECK(strstr(bytes, "\"step\":40"));
	CHECK(strstr(bytes, "\"size_bytes\":123"));
	CHECK(strstr(bytes, "\"attempt\":2"));
	strata_arena_fini(&arena);
}
