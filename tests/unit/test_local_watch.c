/* Daemons that die: whatever the moment, every job is run, none is run twice, and every end is reported. */
#include "exec_sample.h"
#include "kill_env.h"
#include "random.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

enum { JOBS_MAX = 400 };

/* ---- a small daemon ---- */

/* What a daemon's data base would know: a line "N" for each job whose end was taken in. */
static void note_end(uint64_t job)
{
	char line[32];
	int fd = open(sample_path("ended"), O_WRONLY | O_CREAT | O_APPEND, 0644);
	int length = snprintf(line, sizeof(line), "%d\n", (int)job);

	if (write(fd, line, (size_t)length) != length)
		_exit(9);
	close(fd);
}

static int count_lines(const char *name, int job)
{
	FILE *file = fopen(sample_path(name), "re");
	int count = 0, number;

	while (file && fscanf(file, "%d", &number) == 1)
		count += number == job;
	if (file)
		fclose(file);
	return count;
}

/* Takes up what is there, starts those jobs from `first` to `last` that nothing is known of, and waits for all to end. */
static int daemon_run(const struct env *env, int64_t epoch, int first, int last, const char *script)
{
	struct sample_conf conf = { "none" };
	struct exec_open from = sample_from(env, epoch);
	struct exec_found *found;
	struct exec_event event;
	size_t count, left = 0;
	bool known[JOBS_MAX] = { 0 };

	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	if (exec_local.open(&conf, &from, &exec, &err) ||
	    exec_local.scan(exec, &arena, &found, &count, &err))
		return 1;
	for (size_t i = 0; i < count; i++) {
		known[found[i].key.job] = true;
		left++;
		if (exec_local.adopt(exec, found[i].key, &err))
			return 2;
	}
	for (int job = first; job <= last; job++) {
		struct exec_order order = sample_order(job, script);

		order.append = true;
		if (known[job] || count_lines("ended", job))
			continue;
		if (exec_local.start(exec, &order, &err))
			return 3;
		left++;
	}
	while (left) {
		if (!sample_next(&event, 20000))
			return 4;
		if (event.type == EXEC_TROUBLE)
			return 5;
		if (event.type != EXEC_ENDED)
			continue;
		if (event.status.how != EXEC_EXITED ||
		    event.status.exit_code != (int)event.key.job % 100)
			return 6;
		if (!count_lines("ended", (int)event.key.job))
			note_end(event.key.job);
		if (exec_local.forget(exec, event.key, &err))
			return 7;
		left--;
	}
	exec_local.close(exec);
	return 0;
}

static pid_t fork_daemon(const struct env *env, int64_t epoch, int first, int last,
			 const char *script)
{
	test_temp_dir(); /* of this process, not of the child */
	pid_t pid = fork();

	if (pid == 0)
		_exit(daemon_run(env, epoch, first, last, script));
	return pid;
}

static int end_of(pid_t pid)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void check_all_once(int first, int last)
{
	for (int job = first; job <= last; job++) {
		if (count_lines("ran", job) != 1 || count_lines("ended", job) != 1)
			test_fail(__FILE__, __LINE__, "job %d ran %d times and ended %d times", job,
				  count_lines("ran", job), count_lines("ended", job));
	}
}

/* ---- tests ---- */

TEST(a_daemon_killed_at_every_step_loses_nothing_and_runs_nothing_twice)
{
	struct env env = kill_env();
	const char *script = "echo $(basename $0 .1.script) >> ran; exit $(tail -n 1 ran)";
	int job = 0, end;

	do {
		kill_at = ++job;
		end = end_of(fork_daemon(&env, 2 * job, job, job, script));
		kill_at = 0;
		CHECK(end == -SIGKILL || end == 0);
		/* the same leader, or the next one */
		CHECK_INT(end_of(fork_daemon(env_system(), 2 * job + job % 2, job, job, script)),
			  0);
		check_all_once(job, job);
	} while (end == -SIGKILL && job < 99);
	CHECK_INT(end, 0); /* all steps were seen */
	CHECK(job > 30);
	printf("# killed at %d steps\n", job - 1);
}

TEST(a_daemon_killed_at_any_moment_loses_nothing_of_many)
{
	enum { JOBS = 40 };
	uint64_t random = 7;
	int64_t epoch = 0;
	int kills = 0, end = -SIGKILL;

	for (int round = 0; round < 30 && end == -SIGKILL; round++) {
		pid_t pid = fork_daemon(
			env_system(), ++epoch, 1, JOBS,
			"j=$(basename $0 .1.script); echo $j >> ran; sleep 0.0$j; exit $j");

		nanosleep(
			&(struct timespec){ .tv_nsec = (long)random_below(&random, 40) * 1000000 },
			NULL);
		kill(pid, SIGKILL);
		end = end_of(pid);
		kills += end == -SIGKILL;
	}
	if (end != 0)
		end = end_of(fork_daemon(env_system(), ++epoch, 1, JOBS,
					 "j=$(basename $0 .1.script); echo $j >> ran; exit $j"));
	CHECK_INT(end, 0);
	check_all_once(1, JOBS);
	printf("# %d jobs, daemon killed %d times: %d recovered, 0 lost, 0 run twice\n", JOBS,
	       kills, JOBS);
}

TEST(a_job_outlives_its_daemon_and_is_found_again)
{
	test_temp_dir();
	pid_t pid = fork();

	if (pid == 0) {
		sample_open();
		struct exec_order order = sample_order(
			3, "echo > begun; while ! test -e go; do sleep 0.02; done; exit 11");

		_exit(exec_local.start(exec, &order, &err) ? 1 : 0);
	}
	CHECK_INT(end_of(pid), 0);
	sample_await_line(sample_path("begun"));
	sample_open_with("none", 2);
	CHECK_OK(exec_local.adopt(exec, (struct exec_key){ 3, 1 }, &err));
	sample_await(EXEC_STARTED);
	CHECK(!sample_next(&(struct exec_event){ 0 }, 100));
	close(open(sample_path("go"), O_CREAT | O_WRONLY, 0644));
	CHECK_INT(sample_await(EXEC_ENDED).status.exit_code, 11);
	sample_close();
}

TEST(wishes_reach_a_job_of_an_earlier_daemon)
{
	sample_open();
	struct exec_order order =
		sample_order(3, "trap 'exit 12' TERM; echo > begun; sleep 60 & wait");

	CHECK_OK(exec_local.start(exec, &order, &err));
	sample_await_line(sample_path("begun"));
	sample_close();
	sample_open_with("none", 2);
	sample_ask(3, (struct exec_control){ .type = EXEC_STOP,
					     .how = EXEC_CANCELLED,
					     .grace_ns = 20 * STRATA_SECOND_NS });
	CHECK_OK(exec_local.adopt(exec, (struct exec_key){ 3, 1 }, &err));
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(status.how, EXEC_CANCELLED);
	CHECK_INT(status.exit_code, 12);
	sample_close();
}

TEST(the_descriptor_is_readable_while_there_is_something)
{
	while (waitpid(-1, NULL, 0) > 0) /* supervisors of executors that earlier tests closed */
		;
	sample_open();
	struct pollfd waiting = { exec_local.fd(exec), POLLIN, 0 };
	struct exec_event event;

	CHECK_INT(poll(&waiting, 1, 0), 0);
	struct exec_order order = sample_order(1, "true");

	CHECK_OK(exec_local.start(exec, &order, &err));
	order = sample_order(2, "true");
	CHECK_OK(exec_local.start(exec, &order, &err));
	for (int ends = 0; ends < 2;) {
		CHECK_INT(poll(&waiting, 1, 20000), 1);
		if (exec_local.next(exec, &event, &err) == 1)
			ends += event.type == EXEC_ENDED;
	}
	/* supervisors end a little later, and are waited for on the way */
	for (int i = 0; i < 50; i++)
		CHECK(!sample_next(&event, 10));
	siginfo_t child = { 0 };

	CHECK_INT(waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT), 0);
	CHECK_INT(child.si_pid, 0); /* the fork server lives, and nobody waits to be waited for */
	CHECK_INT(poll(&waiting, 1, 0), 0);
	sample_close();
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(a_later_leader_makes_an_unclaimed_order_its_own)
{
	struct sample_conf conf = { "none" };
	struct exec_open from = sample_from(env_system(), 1);
	struct exec_order order = sample_order(1, "echo 1 >> ran");
	struct exec_found *found;
	size_t count;

	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	from.supervisor = "/no/such/program";
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
	CHECK_OK(exec_local.start(exec, &order, &err));
	sample_close();
	sample_open_with("none", 2);
	CHECK_OK(exec_local.scan(exec, &arena, &found, &count, &err));
	CHECK_INT(found[0].epoch, 1);
	CHECK(!found[0].ended);
	CHECK_OK(exec_local.adopt(exec, found[0].key, &err));
	CHECK_INT(sample_await(EXEC_ENDED).status.epoch, 2);
	CHECK_OK(exec_local.scan(exec, &arena, &found, &count, &err));
	CHECK_INT(found[0].epoch, 2); /* a supervisor of epoch 1 that comes late leaves it alone */
	CHECK_INT(count_lines("ran", 1), 1);
	sample_close();
}

TEST(supervisors_that_say_nothing_are_trouble_until_adopted_again)
{
	struct sample_conf conf = { "none" };
	struct exec_open from = sample_from(env_system(), 1);
	struct exec_event event;

	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	from.supervisor = "/bin/false";
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
	struct exec_order order = sample_order(1, "true");

	CHECK_OK(exec_local.start(exec, &order, &err));
	CHECK(sample_next(&event, 20000));
	CHECK_INT(event.type, EXEC_TROUBLE);
	CHECK(strstr(event.status.error, "3 supervisors of attempt 1.1 ended without starting it"));
	CHECK(!sample_next(&event, 50));
	CHECK_OK(exec_local.adopt(exec, (struct exec_key){ 1, 1 }, &err));
	CHECK(sample_next(&event, 20000));
	CHECK_INT(event.type, EXEC_TROUBLE);
	CHECK_OK(exec_local.forget(exec, (struct exec_key){ 1, 1 }, &err));
	sample_close();
}

/* What was there when it was adopted or started may be gone when it is looked at. */
TEST(an_attempt_whose_order_is_gone_is_trouble)
{
	struct sample_conf conf = { "none" };
	struct exec_open from = sample_from(env_system(), 1);
	struct exec_event event;

	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	from.supervisor = "/bin/true";
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
	struct exec_order order = sample_order(1, "true");

	close(open(sample_path("state/jobs/9.1"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	CHECK_ERROR(exec_local.adopt(exec, (struct exec_key){ 9, 1 }, &err), -ENOENT,
		    "there is no attempt 9.1");
	CHECK_OK(exec_local.start(exec, &order, &err));
	CHECK_INT(truncate(sample_path("state/jobs/1.1"), 0), 0);
	CHECK(sample_next(&event, 20000));
	CHECK_INT(event.type, EXEC_TROUBLE);
	CHECK_INT(event.status.error_code, ENOENT);
	CHECK_TEXT(event.status.error, "there is no attempt 1.1");
	sample_close();
}
