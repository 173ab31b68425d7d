#include "test.h"

#include "exec/record.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static int open_temp(void)
{
	strata_arena_init(&arena, &memory, 0);
	return open(test_temp_dir(), O_RDONLY | O_DIRECTORY);
}

static void close_temp(int dir)
{
	close(dir);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_damaged_record_is_refused)
{
	int dir = open_temp();
	struct exec_status status = { .job = 77 };

	CHECK_INT(record_read(env_system(), dir, "x.json", &record_status_schema, &arena, &status,
			      &err),
		  -ENOENT);
	CHECK_OK(env_write_file(env_system(), dir, "x.json", "{\"how\":\"exi", 11, 0600, &err));
	CHECK(record_read(env_system(), dir, "x.json", &record_status_schema, &arena, &status,
			  &err) < 0);
	CHECK_OK(env_write_file(env_system(), dir, "x.json", "{\"how\":\"flew\"}", 14, 0600, &err));
	CHECK(record_read(env_system(), dir, "x.json", &record_status_schema, &arena, &status,
			  &err) < 0);
	CHECK_INT(status.job, 77);
	close_temp(dir);
}

TEST(every_way_to_end_has_a_name_that_reads_back)
{
	int dir = open_temp();

	for (int how = 0; how < EXEC_HOW_COUNT; how++) {
		struct exec_status status = { .job = 1, .attempt = 1, .how = how }, got;
		char *text;
		size_t length;

		CHECK_OK(record_write(env_system(), dir, "x.json", &record_status_schema, &status,
				      &memory, &err));
		CHECK_OK(env_read_file(env_system(), dir, "x.json", 9999, &arena, &text, &length,
				       &err));
		CHECK(strstr(text, exec_how_name((enum exec_how)how)));
		CHECK_OK(record_read(env_system(), dir, "x.json", &record_status_schema, &arena,
				     &got, &err));
		CHECK_INT(got.how, how);
	}
	close_temp(dir);
}

TEST(names_are_keys_and_only_in_one_way)
{
	char name[RECORD_NAME_BYTES];
	struct exec_key key = { INT64_MAX, UINT32_MAX };

	CHECK_TEXT(record_name(key, name), "9223372036854775807.4294967295");
	CHECK(record_key(name, &key));
	CHECK_INT(key.attempt, UINT32_MAX);
	static const char *const bad[] = { "",     "1",    "1.",    ".1",           "0.1",  "1.0",
					   "01.1", "+1.1", "1.1.1", "1.4294967296", "lost", "1.x" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!record_key(bad[i], &key));
}

static int write_record(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct exec_status status = { .job = 1, .attempt = 1, .error = "a sentence" };

	return record_write(env_system(), *(int *)context, "x.json", &record_status_schema, &status,
			    use, why);
}

TEST(every_allocation_may_fail)
{
	int dir = open_temp();

	test_every_allocation(write_record, &dir);
	close_temp(dir);
}
