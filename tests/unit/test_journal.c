/* The file of an attempt: what is written is read, what is cut short is as if it were not there. */
#include "test.h"

#include "exec/journal.h"

#include <strata/text.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

/* Creates the file of an order and opens it. */
static int written(int dir, const struct exec_order *order)
{
	CHECK_OK(journal_create(env_system(), dir, "17.2", order, &memory, &err));
	int fd = journal_open(env_system(), dir, "17.2", &err);

	CHECK(fd >= 0);
	return fd;
}

TEST(an_order_reads_back_as_written)
{
	int dir = open_temp();
	struct exec_order order = full_order(), got;
	int fd = written(dir, &order);

	CHECK_OK(journal_read_order(fd, &arena, &got, &err));
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
	CHECK_ERROR(journal_create(env_system(), dir, "17.2", &order, &memory, &err), -EEXIST,
		    "attempt 17.2 was ordered before");
	CHECK_ERROR(journal_open(env_system(), dir, "17.3", &err), -ENOENT,
		    "there is no attempt 17.3");
	close(fd);
	close_temp(dir);
}

TEST(a_script_may_hold_any_bytes)
{
	int dir = open_temp();
	struct exec_order order = full_order(), got;
	const char script[] = "#!/bin/sh\n\0ended {}\n\xff";

	order.program = NULL;
	order.script = script;
	order.script_bytes = sizeof(script) - 1;
	order.environment = NULL;
	int fd = written(dir, &order);

	CHECK_OK(journal_read_order(fd, &arena, &got, &err));
	CHECK_INT(got.script_bytes, sizeof(script) - 1);
	CHECK(memcmp(got.script, script, sizeof(script) - 1) == 0);
	CHECK(!got.environment[0]);
	struct journal journal = { 0 };

	CHECK_OK(journal_read(fd, &arena, &journal, &err));
	CHECK(journal.lines_at > 0 && !journal.ended);
	close(fd);
	close_temp(dir);
}

TEST(environment_and_script_have_a_limit)
{
	int dir = open_temp();
	struct exec_order order = full_order();
	char *large = strata_arena_get(&arena, RECORD_BYTES_MAX + 1);

	memset(large, 'x', RECORD_BYTES_MAX);
	order.environment = (const char *const[]){ large, NULL };
	CHECK_ERROR(journal_create(env_system(), dir, "17.2", &order, &memory, &err), -E2BIG,
		    "the environment has 16777217 bytes; expected at most 16777216");
	CHECK(faccessat(dir, "17.2", F_OK, 0) < 0);
	large[RECORD_BYTES_MAX - 1] = '\0';
	int fd = written(dir, &order);

	CHECK_OK(journal_read_order(fd, &arena, &order, &err));
	CHECK_INT(strlen(order.environment[0]), RECORD_BYTES_MAX - 1);
	close(fd);
	order = full_order();
	order.program = NULL;
	order.script = large;
	order.script_bytes = RECORD_BYTES_MAX + 1;
	CHECK_ERROR(journal_create(env_system(), dir, "1.1", &order, &memory, &err), -E2BIG,
		    "the script has 16777217 bytes; expected at most 16777216");
	order.script_bytes = RECORD_BYTES_MAX;
	CHECK_OK(journal_create(env_system(), dir, "1.1", &order, &memory, &err));
	close_temp(dir);
}

static void add(int fd, const char *word, const struct strata_schema *schema, const void *conf)
{
	CHECK_OK(journal_add(env_system(), fd, word, schema, conf, false, &memory, &err));
}

TEST(lines_say_how_far_it_came_and_the_last_of_a_kind_counts)
{
	int dir = open_temp();
	struct exec_order order = full_order();
	struct journal journal = { 0 };
	int fd = written(dir, &order);

	CHECK_OK(journal_read(fd, &arena, &journal, &err));
	CHECK_INT(journal.epoch, 5);
	CHECK(!journal.claimed && !journal.started && !journal.ended);
	add(fd, JOURNAL_LEADER, &record_leader_schema, &(struct record_leader){ 6, "/cg" });
	add(fd, JOURNAL_CONTROL, &record_control_schema,
	    &(struct record_control){ .frozen = true });
	add(fd, JOURNAL_CONTROL, &record_control_schema, &(struct record_control){ .stop = 3 });
	add(fd, JOURNAL_CLAIMED, &record_claim_schema, &(struct record_claim){ 1, 6, 3 });
	CHECK_OK(journal_read(fd, &arena, &journal, &err)); /* from where the last one began */
	CHECK_INT(journal.epoch, 6);
	CHECK_TEXT(journal.cgroup, "/cg");
	CHECK(journal.claimed && !journal.ended && !journal.control.frozen);
	CHECK_INT(journal.control.stop, 3);
	add(fd, JOURNAL_CHECKPOINT, &record_checkpoint_schema,
	    &(struct record_checkpoint){ 2, 2, 77, "/c2", -1, 4096 });
	add(fd, JOURNAL_ENDED, &record_status_schema,
	    &(struct exec_status){ .job = 17, .attempt = 2, .exit_code = 9 });
	journal = (struct journal){ 0 };
	CHECK_OK(journal_read(fd, &arena, &journal, &err));
	CHECK(journal.ended);
	CHECK_INT(journal.status.exit_code, 9);
	CHECK_INT(journal.checkpoint.size_bytes, 4096);
	CHECK_TEXT(journal.checkpoint.path, "/c2");
	close(fd);
	close_temp(dir);
}

/* ---- what power failures and kills leave ---- */

static void cut(int dir, const char *name, off_t bytes)
{
	int fd = openat(dir, name, O_WRONLY);

	CHECK_INT(ftruncate(fd, bytes), 0);
	close(fd);
}

TEST(an_order_cut_anywhere_is_no_order)
{
	int dir = open_temp();
	struct exec_order order = full_order(), got;
	struct journal journal = { 0 };
	int fd = written(dir, &order);

	CHECK_OK(journal_read(fd, &arena, &journal, &err));
	off_t whole = journal.lines_at;

	for (off_t bytes = 0; bytes < whole; bytes++) {
		CHECK_INT(unlinkat(dir, "17.2", 0), 0);
		close(fd);
		fd = written(dir, &order);
		cut(dir, "17.2", bytes);
		journal = (struct journal){ 0 };
		CHECK_OK(journal_read(fd, &arena, &journal, &err));
		CHECK_INT(journal.lines_at, 0);
		CHECK_INT(journal_read_order(fd, &arena, &got, &err), -EBADMSG);
		cut(dir, "17.2", whole); /* zeros where its end was */
		CHECK_INT(journal_read_order(fd, &arena, &got, &err), -EBADMSG);
	}
	close(fd);
	close_temp(dir);
}

TEST(a_hole_in_the_environment_is_noticed)
{
	int dir = open_temp();
	struct exec_order order = full_order(), got;
	int fd = written(dir, &order), other = openat(dir, "17.2", O_WRONLY);

	CHECK_OK(journal_read_order(fd, &arena, &got, &err));
	CHECK_INT(pwrite(other, "\0", 1, 56), 1); /* in the environment */
	CHECK_ERROR(journal_read_order(fd, &arena, &got, &err), -EBADMSG, "not as it was written");
	close(other);
	close(fd);
	close_temp(dir);
}

TEST(a_line_cut_short_is_none_and_the_next_one_is_whole)
{
	int dir = open_temp();
	struct exec_order order = full_order();
	struct exec_status status = { .job = 17, .attempt = 2, .exit_code = 4 };
	struct stat before, after;
	int fd = written(dir, &order);

	CHECK_INT(fstat(fd, &before), 0);
	add(fd, JOURNAL_ENDED, &record_status_schema, &status);
	CHECK_INT(fstat(fd, &after), 0);
	for (off_t bytes = before.st_size; bytes < after.st_size; bytes++) {
		struct journal journal = { 0 };

		cut(dir, "17.2", bytes);
		CHECK_OK(journal_read(fd, &arena, &journal, &err));
		CHECK(journal.lines_at && !journal.ended);
		add(fd, JOURNAL_CLAIMED, &record_claim_schema, &(struct record_claim){ 1, 2, 3 });
		add(fd, JOURNAL_ENDED, &record_status_schema, &status);
		CHECK_OK(journal_read(fd, &arena, &journal, &err));
		CHECK(journal.claimed && journal.ended);
		CHECK_INT(journal.status.exit_code, 4);
	}
	close(fd);
	close_temp(dir);
}

/* ---- the lock ---- */

TEST(the_lock_says_who_has_it_and_ends_with_them)
{
	int dir = open_temp(), ends[2];
	struct exec_order order = full_order();
	pid_t holder = 7;
	char byte;
	int fd = written(dir, &order);

	CHECK_OK(journal_lock_holder(fd, &holder, &err));
	CHECK_INT(holder, 0);
	CHECK_INT(pipe(ends), 0);
	pid_t pid = fork();

	if (pid == 0) {
		ssize_t sent = write(ends[1], journal_lock(fd, NULL) == 0 ? "y" : "n", 1);

		(void)sent;
		pause();
	}
	CHECK_INT(read(ends[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	CHECK_OK(journal_lock_holder(fd, &holder, &err));
	CHECK_INT(holder, pid);
	CHECK_ERROR(journal_lock(fd, &err), -EBUSY, "another supervisor has the lock");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_OK(journal_lock_holder(fd, &holder, &err));
	CHECK_INT(holder, 0);
	CHECK_OK(journal_lock(fd, &err));
	close(fd);
	close(ends[0]);
	close(ends[1]);
	close_temp(dir);
}

static int write_some(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct exec_order order = full_order();
	struct exec_status status = { .job = 17, .attempt = 2 };
	int dir = *(int *)context;

	unlinkat(dir, "17.2", 0);
	int rc = journal_create(env_system(), dir, "17.2", &order, use, why);
	int fd = rc ? rc : journal_open(env_system(), dir, "17.2", why);

	if (fd < 0)
		return fd;
	rc = journal_add(env_system(), fd, JOURNAL_ENDED, &record_status_schema, &status, true, use,
			 why);
	close(fd);
	return rc;
}

TEST(every_allocation_may_fail)
{
	int dir = open_temp();

	test_every_allocation(write_some, &dir);
	close_temp(dir);
}
