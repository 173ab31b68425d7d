#include "test.h"

#include "exec/record.h"

#include <strata/text.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
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

static struct exec_order full_order(void)
{
	static const char *const arguments[] = { "a", "two words" };
	static const char *const environment[] = { "A=b", "LATIN=\xe9", "EMPTY=", NULL };

	return (struct exec_order){
		.job = 17,
		.attempt = 2,
		.epoch = 5,
		.user = "ann",
		.uid = 1000,
		.gid = 100,
		.umask = 077,
		.directory = "/home/ann",
		.program = "/bin/x",
		.arguments = { (void *)(uintptr_t)arguments, 2 },
		.environment = environment,
		.output = "out",
		.append = true,
		.time_limit_ns = STRATA_DURATION_UNLIMITED,
		.memory_bytes = INT64_C(1) << 40,
		.token = "secret",
	};
}

TEST(an_order_reads_back_as_written)
{
	int dir = open_temp();
	struct exec_order order = full_order(), got;

	CHECK_OK(record_write_order(env_system(), dir, &order, &memory, &err));
	CHECK_OK(record_read_order(env_system(), dir, &arena, &got, &err));
	CHECK_INT(got.job, 17);
	CHECK_INT(got.attempt, 2);
	CHECK_INT(got.uid, 1000);
	CHECK_INT(got.umask, 077);
	CHECK_TEXT(got.directory, "/home/ann");
	CHECK(!got.script && !got.input && !got.error_output);
	CHECK_INT(got.arguments.count, 2);
	CHECK_TEXT(((const char **)got.arguments.items)[1], "two words");
	CHECK_TEXT(got.environment[1], "LATIN=\xe9");
	CHECK_TEXT(got.environment[2], "EMPTY=");
	CHECK(!got.environment[3]);
	CHECK_INT(got.time_limit_ns, STRATA_DURATION_UNLIMITED);
	CHECK_INT(got.memory_bytes, INT64_C(1) << 40);
	CHECK_TEXT(got.token, "secret");
	close_temp(dir);
}

TEST(an_environment_has_a_limit)
{
	int dir = open_temp();
	struct exec_order order = full_order();
	char *large = strata_arena_get(&arena, RECORD_BYTES_MAX + 1);

	memset(large, 'x', RECORD_BYTES_MAX);
	order.environment = (const char *const[]){ large, NULL };
	CHECK_ERROR(record_write_order(env_system(), dir, &order, &memory, &err), -E2BIG,
		    "the environment has 16777217 bytes; expected at most 16777216");
	CHECK(!record_exists(dir, RECORD_ORDER));
	large[RECORD_BYTES_MAX - 1] = '\0';
	CHECK_OK(record_write_order(env_system(), dir, &order, &memory, &err));
	CHECK_OK(record_read_order(env_system(), dir, &arena, &order, &err));
	CHECK_INT(strlen(order.environment[0]), RECORD_BYTES_MAX - 1);
	close_temp(dir);
}

TEST(a_damaged_record_is_refused)
{
	int dir = open_temp();
	struct exec_status status = { .job = 77 };

	CHECK_INT(record_read(env_system(), dir, RECORD_STATUS, &record_status_schema, &arena,
			      &status, &err),
		  -ENOENT);
	CHECK_OK(
		env_write_file(env_system(), dir, RECORD_STATUS, "{\"how\":\"exi", 11, 0600, &err));
	CHECK(record_read(env_system(), dir, RECORD_STATUS, &record_status_schema, &arena, &status,
			  &err) < 0);
	CHECK_OK(env_write_file(env_system(), dir, RECORD_STATUS, "{\"how\":\"flew\"}", 14, 0600,
				&err));
	CHECK(record_read(env_system(), dir, RECORD_STATUS, &record_status_schema, &arena, &status,
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

		CHECK_OK(record_write(env_system(), dir, RECORD_STATUS, &record_status_schema,
				      &status, &memory, &err));
		CHECK_OK(env_read_file(env_system(), dir, RECORD_STATUS, 9999, &arena, &text,
				       &length, &err));
		CHECK(strstr(text, exec_how_name((enum exec_how)how)));
		CHECK_OK(record_read(env_system(), dir, RECORD_STATUS, &record_status_schema,
				     &arena, &got, &err));
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

TEST(a_claim_succeeds_once)
{
	int dir = open_temp();
	struct record_claim claim = { 1, 2, 3 };

	CHECK_OK(record_claim(env_system(), dir, &claim, &memory, &err));
	CHECK_INT(record_claim(env_system(), dir, &claim, &memory, &err), -EEXIST);
	close_temp(dir);
}

TEST(the_lock_says_who_has_it_and_ends_with_them)
{
	int dir = open_temp(), ends[2];
	pid_t holder = 7;
	char byte;

	CHECK_OK(record_lock_holder(dir, &holder, &err));
	CHECK_INT(holder, 0);
	CHECK_INT(pipe(ends), 0);
	pid_t pid = fork();

	if (pid == 0) {
		int lock = record_lock(dir, NULL);
		ssize_t sent = write(ends[1], lock >= 0 ? "y" : "n", 1);

		(void)sent;
		pause();
	}
	CHECK_INT(read(ends[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	CHECK_OK(record_lock_holder(dir, &holder, &err));
	CHECK_INT(holder, pid);
	CHECK_ERROR(record_lock(dir, &err), -EBUSY, "another supervisor has the lock");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_OK(record_lock_holder(dir, &holder, &err));
	CHECK_INT(holder, 0);
	int lock = record_lock(dir, &err);

	CHECK(lock >= 0);
	close(lock);
	close(ends[0]);
	close(ends[1]);
	close_temp(dir);
}

static int write_order(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct exec_order order = full_order();

	return record_write_order(env_system(), *(int *)context, &order, use, why);
}

TEST(every_allocation_may_fail)
{
	int dir = open_temp();

	test_every_allocation(write_order, &dir);
	close_temp(dir);
}
