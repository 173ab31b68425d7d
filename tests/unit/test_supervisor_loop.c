#include "exec_sample.h"

#include "exec/journal.h"
#include "exec/supervisor_loop.h"

#include <fcntl.h>
#include <sys/wait.h>

/* The number in a file that a job wrote. */
static int number_in(const char *name)
{
	return atoi(sample_text(sample_path(name)));
}

static bool alive(int pid)
{
	char path[64], text[400];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	size_t got = fread(text, 1, sizeof(text) - 1, file);

	text[got] = '\0';
	fclose(file);
	return !strstr(text, ") Z ");
}

static void start(const struct exec_order *order)
{
	CHECK_OK(exec_local.start(exec, order, &err));
	sample_await(EXEC_STARTED);
}

/* ---- limits and stops ---- */

TEST(the_time_limit_ends_a_job)
{
	sample_open();
	struct exec_order order =
		sample_order(1, "trap 'echo stopping; exit 9' TERM; echo begun; sleep 60 & wait");

	order.time_limit_ns = 300 * STRATA_MS_NS;
	order.node = "n1";
	struct exec_status status = sample_run(&order);

	CHECK_INT(status.how, EXEC_TIME_LIMIT);
	CHECK_INT(status.exit_code, 9);
	CHECK(status.ran_ns > 0 && status.ran_ns < 5 * STRATA_SECOND_NS);
	const char *out = sample_text(sample_path("out"));

	CHECK(strncmp(out, "begun\n", 6) == 0 && strstr(out, "stopping\n"));
	CHECK(strstr(out, "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 20"));
	CHECK(strstr(out, " DUE TO TIME LIMIT ***\n"));
	sample_close();
}

TEST(what_does_not_stop_is_killed_after_the_grace)
{
	sample_open();
	struct exec_order order =
		sample_order(1, "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done");

	start(&order);
	sample_await_line(sample_path("pid"));
	sample_ask(1, (struct exec_control){ .type = EXEC_STOP,
					     .how = EXEC_PREEMPTED,
					     .grace_ns = 200 * STRATA_MS_NS });
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(status.how, EXEC_PREEMPTED);
	CHECK_INT(status.signal, SIGKILL);
	CHECK(strstr(sample_text(sample_path("out")), " DUE TO PREEMPTION ***\n"));
	CHECK(!alive(number_in("pid")));
	sample_close();
}

TEST(a_second_stop_may_only_shorten_the_grace)
{
	sample_open();
	struct exec_order order =
		sample_order(1, "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done");

	start(&order);
	sample_await_line(sample_path("pid"));
	sample_ask(1, (struct exec_control){ .type = EXEC_STOP,
					     .how = EXEC_REQUEUED,
					     .grace_ns = STRATA_HOUR_NS });
	CHECK(!sample_next(&(struct exec_event){ 0 }, 200));
	sample_ask(1, (struct exec_control){ .type = EXEC_STOP, .how = EXEC_CANCELLED });
	CHECK_INT(sample_await(EXEC_ENDED).status.how, EXEC_REQUEUED);
	sample_close();
}

TEST(a_stopped_job_hears_the_stop)
{
	sample_open();
	struct exec_order order = sample_order(
		1, "trap 'exit 4' TERM; echo $$ > pid; kill -STOP $$; sleep 60 & wait");

	start(&order);
	sample_await_line(sample_path("pid"));
	sample_ask(1, (struct exec_control){ .type = EXEC_STOP,
					     .how = EXEC_CANCELLED,
					     .grace_ns = 20 * STRATA_SECOND_NS });
	CHECK_INT(sample_await(EXEC_ENDED).status.exit_code, 4);
	sample_close();
}

TEST(a_supervisor_told_to_end_ends_its_job)
{
	sample_open();
	struct exec_order order = sample_order(1, "echo $PPID > pid; exec sleep 60");

	start(&order);
	sample_await_line(sample_path("pid"));
	CHECK_INT(kill(number_in("pid"), SIGTERM), 0);
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(status.how, EXEC_SHUT_DOWN);
	CHECK_INT(status.signal, SIGTERM);
	sample_close();
}

TEST(the_warning_comes_before_the_limit_to_those_who_listen)
{
	sample_open();
	/* the shell has no handler for it and is not ended by it; its child has one */
	struct exec_order order = sample_order(
		1, "sh -c \"trap 'echo warned; exit 6' USR1; sleep 60 & wait\"; echo $?");

	order.time_limit_ns = 30 * STRATA_SECOND_NS;
	order.warn_signal = SIGUSR1;
	order.warn_ns = 30 * STRATA_SECOND_NS - 300 * STRATA_MS_NS;
	struct exec_status status = sample_run(&order);

	CHECK_INT(status.how, EXEC_EXITED);
	CHECK_TEXT(sample_text(sample_path("out")), "warned\n6\n");
	sample_close();
}

TEST(the_limit_may_be_changed_while_it_runs)
{
	sample_open();
	struct exec_order order = sample_order(1, "exec sleep 60");

	start(&order);
	sample_ask(1, (struct exec_control){ .type = EXEC_LIMIT, .limit_ns = 100 * STRATA_MS_NS });
	CHECK_INT(sample_await(EXEC_ENDED).status.how, EXEC_TIME_LIMIT);
	order = sample_order(2, "sleep 0.6; exit 5");
	order.time_limit_ns = 500 * STRATA_MS_NS;
	start(&order);
	sample_ask(2, (struct exec_control){ .type = EXEC_LIMIT,
					     .limit_ns = STRATA_DURATION_UNLIMITED });
	CHECK_INT(sample_await(EXEC_ENDED).status.exit_code, 5);
	sample_close();
}

/* ---- families ---- */

TEST(nothing_of_a_job_outlives_it)
{
	sample_open();
	struct exec_order order = sample_order(
		1, "setsid sh -c 'trap \"\" TERM HUP; sleep 61 & echo $! > grandchild; wait' &\n"
		   "(sleep 62 & echo $! > orphan)\n"
		   "while ! test -s grandchild; do sleep 0.01; done; exit 2");
	struct exec_status status = sample_run(&order);

	CHECK_INT(status.exit_code, 2);
	CHECK_INT(status.how, EXEC_EXITED);
	CHECK(!alive(number_in("grandchild")));
	CHECK(!alive(number_in("orphan")));
	sample_close();
}

static void freeze_and_thaw(const char *cgroup)
{
	sample_open_with(cgroup, 1);
	struct exec_order order = sample_order(
		1, "setsid sh -c 'while :; do echo >> ticks; sleep 0.02; done' & wait");
	struct stat before, after;

	order.time_limit_ns = 1500 * STRATA_MS_NS;
	start(&order);
	sample_await_line(sample_path("ticks"));
	sample_ask(1, (struct exec_control){ .type = EXEC_FREEZE });
	CHECK(!sample_next(&(struct exec_event){ 0 }, 300));
	CHECK_INT(stat(sample_path("ticks"), &before), 0);
	CHECK(!sample_next(&(struct exec_event){ 0 }, 1500)); /* past its limit, had it run */
	CHECK_INT(stat(sample_path("ticks"), &after), 0);
	CHECK_INT(after.st_size, before.st_size);
	sample_ask(1, (struct exec_control){ .type = EXEC_THAW });
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(stat(sample_path("ticks"), &after), 0);
	CHECK(after.st_size > before.st_size);
	CHECK_INT(status.how, EXEC_TIME_LIMIT);
	CHECK(status.frozen_ns >= 1500 * STRATA_MS_NS);
	CHECK(status.ran_ns >= 1500 * STRATA_MS_NS && status.ran_ns < 3 * STRATA_SECOND_NS);
	sample_close();
}

TEST(freezing_stops_a_job_and_its_clock)
{
	freeze_and_thaw("none");
}

TEST(freezing_with_a_control_group)
{
	if (geteuid() != 0 || access("/sys/fs/cgroup/cgroup.procs", W_OK) < 0)
		if (access("/sys/fs/cgroup/unified/cgroup.procs", W_OK) < 0)
			test_skip("no control groups to be had");
	freeze_and_thaw("auto");
}

TEST(a_frozen_job_can_be_stopped)
{
	sample_open_with(geteuid() ? "none" : "auto", 1);
	struct exec_order order =
		sample_order(1, "trap 'exit 8' TERM; echo > ready; while :; do sleep 0.02; done");

	start(&order);
	sample_await_line(sample_path("ready"));
	sample_ask(1, (struct exec_control){ .type = EXEC_FREEZE });
	sample_ask(1, (struct exec_control){ .type = EXEC_STOP,
					     .how = EXEC_CANCELLED,
					     .grace_ns = 20 * STRATA_SECOND_NS });
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(status.how, EXEC_CANCELLED);
	CHECK_INT(status.exit_code, 8);
	sample_close();
}

/* ---- claims ---- */

/* An order without anybody to start it: its file, for supervise() in a child of ours. */
static const char *written_order(const struct exec_order *order)
{
	struct exec_open from = sample_from(env_system(), 1);
	struct sample_conf conf = { "none" };
	char name[64];

	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	from.supervisor = "/bin/true";
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
	CHECK_OK(exec_local.start(exec, order, &err));
	sample_close();
	snprintf(name, sizeof(name), "state/jobs/%d.1", (int)order->job);
	return sample_path(name);
}

/* supervise() in a process of its own; its result, as an exit status. */
static pid_t fork_supervisor(const struct env *env, const char *path, int64_t epoch)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 2);
		_exit(supervise(env, path, epoch, NULL) == 0 ? 0 : 1);
	}
	return pid;
}

static int exit_of(pid_t pid)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static struct exec_status read_status(const char *path)
{
	struct journal journal = { 0 };
	int fd = journal_open(env_system(), AT_FDCWD, path, &err);

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(journal_read(fd, &arena, &journal, &err));
	CHECK(journal.ended);
	close(fd);
	return journal.status;
}

TEST(of_many_supervisors_one_starts_the_job)
{
	struct exec_order order = sample_order(1, "echo ran >> ran; sleep 0.1");
	const char *path = written_order(&order);
	pid_t pids[16];

	for (int i = 0; i < 16; i++)
		pids[i] = fork_supervisor(env_system(), path, 1);
	for (int i = 0; i < 16; i++)
		CHECK_INT(exit_of(pids[i]), 0);
	CHECK_TEXT(sample_text(sample_path("ran")), "ran\n");
	CHECK_INT(exit_of(fork_supervisor(env_system(), path, 1)), 0);
	CHECK_TEXT(sample_text(sample_path("ran")), "ran\n");
	strata_arena_fini(&arena);
}

TEST(an_order_of_another_epoch_is_left_alone)
{
	struct exec_order order = sample_order(1, "echo ran >> ran");
	const char *path = written_order(&order);

	CHECK_INT(exit_of(fork_supervisor(env_system(), path, 0)), 0);
	CHECK(access(sample_path("ran"), F_OK) < 0);
	CHECK(!strstr(sample_text(path), "claimed"));
	CHECK_INT(exit_of(fork_supervisor(env_system(), path, 1)), 0);
	CHECK_TEXT(sample_text(sample_path("ran")), "ran\n");
}

TEST(a_job_cancelled_before_its_claim_does_not_start)
{
	struct exec_order order = sample_order(1, "echo ran >> ran");
	const char *path = written_order(&order);

	sample_open();
	sample_ask(1, (struct exec_control){ .type = EXEC_STOP, .how = EXEC_CANCELLED });
	sample_close();
	CHECK_INT(exit_of(fork_supervisor(env_system(), path, 1)), 0);
	struct exec_status status = read_status(path);

	CHECK_INT(status.how, EXEC_CANCELLED);
	CHECK_INT(status.started_ns, 0);
	CHECK(access(sample_path("ran"), F_OK) < 0);
	strata_arena_fini(&arena);
}

TEST(a_claim_without_a_supervisor_is_a_loss_and_its_processes_end)
{
	sample_open();
	struct exec_order order = sample_order(
		1, "echo $PPID > supervisor; (setsid sleep 63 & echo $! > orphan); exec sleep 60");
	char variable[700];

	snprintf(variable, sizeof(variable), "STRATA_JOB_FILE=%s", sample_path("state/jobs/1.1"));
	order.environment = (const char *const[]){ "PATH=/usr/bin:/bin", variable, NULL };
	start(&order);
	sample_await_line(sample_path("orphan"));
	CHECK(alive(number_in("orphan")));
	CHECK_INT(kill(number_in("supervisor"), SIGKILL), 0);
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(status.how, EXEC_LOST);
	CHECK(status.started_ns > 0);
	CHECK_TEXT(status.error, "its supervisor, or the machine, ended before it did");
	CHECK(!alive(number_in("orphan")));
	sample_close();
}

/* ---- clocks ---- */

static int64_t jumping_now(void *context, enum env_clock clock)
{
	static int64_t calls;

	(void)context;
	int64_t now_ns = env_now_ns(env_system(), clock);

	/* the wall clock jumps by a day at every look, back and forth */
	return clock == ENV_MONOTONIC ? now_ns : now_ns + (calls++ % 2 ? 1 : -1) * STRATA_DAY_NS;
}

TEST(a_jumping_clock_neither_ends_nor_spares_a_job)
{
	struct env env = *env_system();

	env.now_ns = jumping_now;
	struct exec_order order = sample_order(1, "sleep 0.3; exit 3");

	order.time_limit_ns = 20 * STRATA_SECOND_NS;
	const char *path = written_order(&order);

	CHECK_INT(exit_of(fork_supervisor(&env, path, 1)), 0);
	struct exec_status status = read_status(path);

	CHECK_INT(status.how, EXEC_EXITED);
	CHECK_INT(status.exit_code, 3);
	/* it is timed by who started it, who may come a little late on a busy machine */
	CHECK(status.ran_ns >= 100 * STRATA_MS_NS && status.ran_ns < 10 * STRATA_SECOND_NS);
	strata_arena_fini(&arena);
	order = sample_order(2, "exec sleep 60");
	order.time_limit_ns = 200 * STRATA_MS_NS;
	path = written_order(&order);
	CHECK_INT(exit_of(fork_supervisor(&env, path, 1)), 0);
	CHECK_INT(read_status(path).how, EXEC_TIME_LIMIT);
	strata_arena_fini(&arena);
}
