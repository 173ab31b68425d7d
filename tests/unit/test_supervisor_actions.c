/* The last word, and supervisors that die. */
#include "exec_sample.h"
#include "kill_env.h"

#include "exec/journal.h"
#include "exec/supervisor_loop.h"

#include <fcntl.h>
#include <sys/wait.h>

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

/* supervise() in a process of its own, with what it says in the file "log". */
static int run_supervisor(const struct env *env, const char *path)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(open(sample_path("log"), O_WRONLY | O_CREAT | O_APPEND, 0644), 2);
		_exit(supervise(env, path, 1, NULL) == 0 ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static struct journal read_journal(const char *path)
{
	struct journal journal = { 0 };
	int fd = journal_open(env_system(), AT_FDCWD, path, &err);

	CHECK_OK(journal_read(fd, &arena, &journal, &err));
	close(fd);
	return journal;
}

static size_t count_ran(void)
{
	struct stat info;

	return stat(sample_path("ran"), &info) < 0 ? 0 : (size_t)info.st_size / 2;
}

TEST(a_supervisor_killed_at_every_step_runs_its_job_at_most_once)
{
	struct env env = kill_env();
	int recovered = 0, lost = 0, end = -SIGKILL;

	for (int step = 1; step < 200 && end == -SIGKILL; step++) {
		struct exec_order order = sample_order(step, "echo x >> ran; exit 5");

		unlink(sample_path("ran"));
		const char *path = written_order(&order);

		kill_at = step;
		end = run_supervisor(&env, path);
		kill_at = 0;
		CHECK(end == -SIGKILL || end == 0);
		strata_arena_init(&arena, &memory, 0);
		bool was_claimed = read_journal(path).claimed;

		CHECK_INT(run_supervisor(env_system(), path), 0);
		struct journal journal = read_journal(path);
		struct exec_status status = journal.status;

		CHECK(journal.ended);
		CHECK(count_ran() <= 1);
		if (!was_claimed || end == 0) { /* nothing had been started, so it is */
			CHECK_INT(status.how, EXEC_EXITED);
			CHECK_INT(count_ran(), 1);
		}
		CHECK(status.how == EXEC_LOST ||
		      (status.how == EXEC_EXITED && status.exit_code == 5));
		recovered += status.how == EXEC_EXITED;
		lost += status.how == EXEC_LOST;
		strata_arena_fini(&arena);
	}
	CHECK_INT(end, 0);
	CHECK(recovered > 3 && lost > 3);
	printf("# killed before the claim: %d, all run once; after it: %d, said to be lost\n",
	       recovered - 1, lost);
}

/* ---- what is durable when ---- */

static bool unsynced_file, unsynced_name = true;

static ssize_t noted_write(void *context, int fd, const void *bytes, size_t count)
{
	unsynced_file = true;
	return env_system()->write(context, fd, bytes, count);
}

static int noted_sync(void *context, int fd, bool data_only)
{
	struct stat info;

	CHECK_INT(fstat(fd, &info), 0);
	*(S_ISDIR(info.st_mode) ? &unsynced_name : &unsynced_file) = false;
	return env_system()->sync(context, fd, data_only);
}

static int noted_spawn(void *context, const struct env_command *command,
		       struct env_process *ret_process, struct strata_error *why)
{
	if (unsynced_file || unsynced_name)
		_exit(9);
	return env_system()->spawn(context, command, ret_process, why);
}

TEST(the_claim_is_durable_before_anything_starts)
{
	struct exec_order order = sample_order(1, "echo x >> ran");
	struct env env = *env_system();
	const char *path = written_order(&order);

	env.write = noted_write;
	env.sync = noted_sync;
	env.spawn = noted_spawn;
	CHECK_INT(run_supervisor(&env, path), 0);
	CHECK_INT(count_ran(), 1);
}

static int broken_sync(void *context, int fd, bool data_only)
{
	(void)context;
	(void)fd;
	(void)data_only;
	return -EIO;
}

TEST(without_a_durable_claim_nothing_starts)
{
	struct exec_order order = sample_order(1, "echo x >> ran");
	struct env env = *env_system();
	const char *path = written_order(&order);

	env.sync = broken_sync;
	CHECK_INT(run_supervisor(&env, path), 1);
	CHECK_INT(count_ran(), 0);
}

/* ---- a disk that is full ---- */

static int full_writes;

static ssize_t full_write(void *context, int fd, const void *bytes, size_t count)
{
	if (memmem(bytes, count, "\"how\"", 5) && full_writes-- > 0)
		return -ENOSPC;
	return env_system()->write(context, fd, bytes, count);
}

TEST(a_status_is_written_when_there_is_room_again)
{
	struct exec_order order = sample_order(1, "exit 4");
	struct env env = *env_system();
	const char *path = written_order(&order);

	strata_arena_init(&arena, &memory, 0);
	env.write = full_write;
	full_writes = 3;
	CHECK_INT(run_supervisor(&env, path), 0);
	struct exec_status status = read_journal(path).status;

	CHECK_INT(status.exit_code, 4);
	CHECK(status.ran_ns < STRATA_SECOND_NS);
	const char *log = sample_text(sample_path("log"));

	CHECK(strstr(log, "strata: job 1.1: it has ended, but that cannot be written down: cannot "
			  "write the file of an attempt: No space left on device; trying again\n"));
	CHECK(strstr(log, "strata: job 1.1: its end is written down now\n"));
	strata_arena_fini(&arena);
}

static ssize_t full_claim(void *context, int fd, const void *bytes, size_t count)
{
	if (memmem(bytes, count, "claimed_ns", 10))
		return -ENOSPC;
	return env_system()->write(context, fd, bytes, count);
}

TEST(without_room_for_the_claim_nothing_starts)
{
	struct exec_order order = sample_order(1, "echo x >> ran");
	struct env env = *env_system();
	const char *path = written_order(&order);

	env.write = full_claim;
	CHECK_INT(run_supervisor(&env, path), 1);
	CHECK_INT(count_ran(), 0);
	CHECK_INT(run_supervisor(env_system(), path), 0);
	CHECK_INT(count_ran(), 1);
}

/* ---- checkpoints ---- */

TEST(a_checkpoint_that_is_asked_for_is_reported_and_recorded)
{
	sample_open();
	struct exec_order order = sample_order(
		1, "trap 'echo state > \"$STRATA_CHECKPOINT_DIR/.c1\";"
		   "mv \"$STRATA_CHECKPOINT_DIR/.c1\" \"$STRATA_CHECKPOINT_DIR/c1\"' USR1\n"
		   "echo > ready; while :; do sleep 0.02; done");
	char variable[700];

	order.checkpoint_dir = sample_path("saved");
	order.checkpoint_signal = SIGUSR1;
	snprintf(variable, sizeof(variable), "STRATA_CHECKPOINT_DIR=%s", order.checkpoint_dir);
	order.environment = (const char *const[]){ "PATH=/usr/bin:/bin", variable, NULL };
	CHECK_OK(exec_local.start(exec, &order, &err));
	sample_await_line(sample_path("ready"));
	sample_ask(1, (struct exec_control){ .type = EXEC_CHECKPOINT });
	struct exec_event event = sample_await(EXEC_CHECKPOINTED);

	CHECK_TEXT(event.status.checkpoint, sample_path("saved/c1"));
	struct record_checkpoint saved;

	CHECK_OK(record_read(env_system(), AT_FDCWD, sample_path("saved.json"),
			     &record_checkpoint_schema, &arena, &saved, &err));
	CHECK_TEXT(saved.path, sample_path("saved/c1"));
	CHECK_INT(saved.count, 1);
	CHECK_INT(saved.attempt, 1);
	CHECK_INT(saved.size_bytes, 6);
	CHECK_INT(event.status.checkpoint_bytes, 6);
	sample_ask(1, (struct exec_control){ .type = EXEC_STOP, .how = EXEC_PREEMPTED });
	CHECK_TEXT(sample_await(EXEC_ENDED).status.checkpoint, sample_path("saved/c1"));
	sample_close();
}

TEST(a_checkpoint_written_on_the_way_out_counts)
{
	sample_open();
	struct exec_order order =
		sample_order(1, "echo > saved/part.tmp; mv saved/part.tmp saved/last");

	order.checkpoint_dir = sample_path("saved");
	CHECK_TEXT(sample_run(&order).checkpoint, sample_path("saved/last"));
	sample_close();
}

TEST(a_job_that_does_not_listen_survives_the_question)
{
	sample_open();
	struct exec_order order = sample_order(1, "echo > ready; sleep 0.5; exit 3");

	order.checkpoint_signal = SIGUSR1;
	CHECK_OK(exec_local.start(exec, &order, &err));
	sample_await_line(sample_path("ready"));
	sample_ask(1, (struct exec_control){ .type = EXEC_CHECKPOINT });
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(status.exit_code, 3);
	CHECK_INT(status.signal, 0);
	sample_close();
}
