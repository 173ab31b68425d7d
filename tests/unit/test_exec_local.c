#include "exec_sample.h"

#include <fcntl.h>

TEST(a_job_runs_and_its_end_is_reported)
{
	struct exec_event event;

	sample_open();
	struct exec_order order = sample_order(7, "echo out; echo err >&2; pwd; exit 3");

	CHECK_OK(exec_local.start(exec, &order, &err));
	CHECK(sample_next(&event, 20000));
	CHECK_INT(event.type, EXEC_STARTED);
	CHECK_INT(event.key.job, 7);
	CHECK(event.status.started_ns > 0);
	CHECK(sample_next(&event, 20000));
	CHECK_INT(event.type, EXEC_ENDED);
	CHECK_INT(event.status.how, EXEC_EXITED);
	CHECK_INT(event.status.exit_code, 3);
	CHECK_INT(event.status.signal, 0);
	CHECK(event.status.ended_ns >= event.status.started_ns);
	CHECK(event.status.ran_ns > 0);
	CHECK(event.status.memory_peak_bytes > 0);
	CHECK(!sample_next(&event, 0));
	char want[600];

	snprintf(want, sizeof(want), "out\nerr\n%s\n", test_temp_dir());
	CHECK_TEXT(sample_text(sample_path("out")), want);
	sample_close();
}

TEST(exit_codes_and_signals_are_told_apart)
{
	sample_open();
	struct exec_order order = sample_order(1, "exit 255");
	struct exec_status status = sample_run(&order);

	CHECK_INT(status.exit_code, 255);
	CHECK_INT(status.signal, 0);
	order = sample_order(2, "kill -9 $$");
	status = sample_run(&order);
	CHECK_INT(status.how, EXEC_EXITED);
	CHECK_INT(status.exit_code, 0);
	CHECK_INT(status.signal, SIGKILL);
	order = sample_order(3, "kill -SEGV $$");
	status = sample_run(&order);
	CHECK_INT(status.signal, SIGSEGV);
	sample_close();
}

TEST(a_program_gets_its_arguments)
{
	const char *const arguments[] = { "two words", "$HOME", "" };

	sample_open();
	struct exec_order order = sample_order(1, "");

	order.script = NULL;
	order.program = "/usr/bin/printf";
	order.arguments = (struct strata_list){ (void *)(uintptr_t)arguments, 0 };
	const char *const all[] = { "[%s]", arguments[0], arguments[1], arguments[2] };

	order.arguments = (struct strata_list){ (void *)(uintptr_t)all, 4 };
	CHECK_INT(sample_run(&order).exit_code, 0);
	CHECK_TEXT(sample_text(sample_path("out")), "[two words][$HOME][]");
	sample_close();
}

TEST(what_cannot_be_is_refused_and_leaves_nothing)
{
	struct exec_found *found;
	size_t count = 9;

	sample_open();
	struct exec_order order = sample_order(1, "true");

	order.job = 0;
	CHECK_ERROR(exec_local.start(exec, &order, &err), -EINVAL, "expected numbers from 1");
	order = sample_order(1, "true");
	order.program = "/bin/true";
	CHECK_ERROR(exec_local.start(exec, &order, &err), -EINVAL, "a program or a script");
	order.script = NULL;
	order.program = "";
	CHECK_ERROR(exec_local.start(exec, &order, &err), -EINVAL, "the program has no name");
	order.program = "/bin/true";
	order.directory = "here";
	CHECK_ERROR(exec_local.start(exec, &order, &err), -EINVAL, "expected an absolute path");
	order.directory = "/";
	order.time_limit_ns = 0;
	CHECK_ERROR(exec_local.start(exec, &order, &err), -EINVAL, "the time limit is 0 ns");
	CHECK_ERROR(exec_local.control(exec, (struct exec_key){ 1, 1 },
				       &(struct exec_control){ .type = EXEC_FREEZE }, &err),
		    -ENOENT, "no attempt 1.1");
	CHECK_ERROR(exec_local.adopt(exec, (struct exec_key){ 1, 1 }, &err), -ENOENT, "no attempt");
	CHECK_ERROR(exec_local.forget(exec, (struct exec_key){ 1, 1 }, &err), -ENOENT,
		    "no attempt");
	CHECK_OK(exec_local.scan(exec, &arena, &found, &count, &err));
	CHECK_INT(count, 0);
	sample_close();
}

TEST(another_user_is_refused_unless_we_are_root)
{
	if (geteuid() == 0)
		test_skip("root serves every user");
	sample_open();
	struct exec_order order = sample_order(1, "true");

	order.uid = 1;
	CHECK_ERROR(exec_local.start(exec, &order, &err), -EPERM, "does not run as root");
	sample_close();
}

TEST(an_attempt_is_ordered_once_and_forgotten_once)
{
	struct exec_found *found;
	size_t count;

	sample_open();
	struct exec_order order = sample_order(5, "true");

	sample_run(&order);
	CHECK_ERROR(exec_local.start(exec, &order, &err), -EEXIST, "was ordered before");
	CHECK_OK(exec_local.scan(exec, &arena, &found, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(found[0].key.job, 5);
	CHECK(found[0].ended);
	CHECK_OK(exec_local.forget(exec, found[0].key, &err));
	CHECK_OK(exec_local.scan(exec, &arena, &found, &count, &err));
	CHECK_INT(count, 0);
	CHECK_ERROR(exec_local.forget(exec, (struct exec_key){ 5, 1 }, &err), -ENOENT, "5.1");
	sample_close();
}

TEST(a_running_attempt_is_not_forgotten)
{
	sample_open();
	struct exec_order order = sample_order(5, "exec sleep 60");

	CHECK_OK(exec_local.start(exec, &order, &err));
	sample_await(EXEC_STARTED);
	CHECK_ERROR(exec_local.forget(exec, (struct exec_key){ 5, 1 }, &err), -EBUSY,
		    "has not ended");
	sample_ask(5, (struct exec_control){ .type = EXEC_STOP, .how = EXEC_CANCELLED });
	CHECK_INT(sample_await(EXEC_ENDED).status.how, EXEC_CANCELLED);
	CHECK_OK(exec_local.forget(exec, (struct exec_key){ 5, 1 }, &err));
	sample_close();
}

TEST(an_older_leader_is_refused)
{
	struct sample_conf conf = { "none" };
	struct exec *other;

	sample_open_with("none", 8);
	struct exec_open from = sample_from(env_system(), 7);

	CHECK_ERROR(exec_local.open(&conf, &from, &other, &err), -ESTALE,
		    "a leader of epoch 8 has taken over from epoch 7");
	sample_close();
	sample_open_with("none", 9);
	sample_close();
}

TEST(wishes_that_make_no_sense_are_refused)
{
	sample_open();
	struct exec_order order = sample_order(5, "exec sleep 60");
	struct exec_key key = { 5, 1 };

	CHECK_OK(exec_local.start(exec, &order, &err));
	CHECK_ERROR(exec_local.control(
			    exec, key,
			    &(struct exec_control){ .type = EXEC_STOP, .how = EXEC_EXITED }, &err),
		    -EINVAL, "cannot be stopped as \"exited\"");
	CHECK_ERROR(exec_local.control(exec, key,
				       &(struct exec_control){ .type = EXEC_SIGNAL, .signal = 65 },
				       &err),
		    -EINVAL, "signal 65; expected 1 to 64");
	CHECK_ERROR(
		exec_local.control(exec, key, &(struct exec_control){ .type = EXEC_LIMIT }, &err),
		-EINVAL, "expected at least 1");
	sample_ask(5, (struct exec_control){ .type = EXEC_SIGNAL, .signal = 64 });
	sample_ask(5, (struct exec_control){ .type = EXEC_SIGNAL, .signal = SIGKILL });
	CHECK_INT(sample_await(EXEC_ENDED).status.signal > 0, 1);
	sample_close();
}

TEST(a_supervisor_that_cannot_be_started_is_trouble_not_loss)
{
	struct sample_conf conf = { "none" };
	struct exec_event event;

	sample_open();
	sample_close();
	strata_arena_init(&arena, &memory, 0);
	struct exec_open from = sample_from(env_system(), 1);

	from.supervisor = "/no/such/program";
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
	struct exec_order order = sample_order(5, "echo ran >> ran");

	CHECK_OK(exec_local.start(exec, &order, &err));
	CHECK(sample_next(&event, 20000));
	CHECK_INT(event.type, EXEC_TROUBLE);
	CHECK(strstr(event.status.error, "cannot start /no/such/program"));
	CHECK(!sample_next(&event, 0));
	sample_close();
	sample_open();
	CHECK_OK(exec_local.adopt(exec, (struct exec_key){ 5, 1 }, &err));
	CHECK_INT(sample_await(EXEC_ENDED).status.exit_code, 0);
	CHECK_TEXT(sample_text(sample_path("ran")), "ran\n");
	sample_close();
}

static int open_and_start(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct sample_conf conf = { "none" };
	struct exec_open from = sample_from(env_system(), 1);
	struct exec_order order = sample_order(++*(int64_t *)context, "true");
	struct exec *other;

	from.memory = use;
	from.supervisor = "/bin/true"; /* starts, and says nothing */
	int rc = exec_local.open(&conf, &from, &other, why);

	if (rc == 0) {
		rc = exec_local.start(other, &order, why);
		exec_local.close(other);
	}
	return rc;
}

TEST(every_allocation_may_fail)
{
	int64_t job = 0;

	test_every_allocation(open_and_start, &job);
}

/* A supervisor that is about to claim an attempt has its lock: it is not forgotten meanwhile, and nothing stays open. */
TEST(an_attempt_whose_lock_is_taken_is_not_forgotten)
{
	struct exec_order order = sample_order(1, "true");
	struct sample_conf conf = { "none" };
	struct exec_open from = sample_from(env_system(), 1);
	struct exec_key key = { 1, 1 };
	int ends[2];
	char byte;

	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	from.supervisor = "/bin/true"; /* which claims nothing */
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
	CHECK_OK(exec_local.start(exec, &order, &err));
	CHECK_INT(pipe(ends), 0);
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60); /* in case the test ends without it */
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(sample_path("state/jobs/1.1"), O_RDWR);

		(void)!write(ends[1], fcntl(fd, F_SETLK, &lock) == 0 ? "y" : "n", 1);
		pause();
	}
	CHECK_INT(read(ends[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	int fds = test_open_fds();

	for (int i = 0; i < 3; i++)
		CHECK_ERROR(exec_local.forget(exec, key, &err), -EBUSY, "has the lock");
	CHECK_INT(test_open_fds(), fds);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_OK(exec_local.forget(exec, key, &err));
	CHECK_INT(test_open_fds(), fds);
	close(ends[0]);
	close(ends[1]);
	sample_close();
}
