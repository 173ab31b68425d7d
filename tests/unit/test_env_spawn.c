#include "fault_env.h"
#include "test.h"

#include "core/env_int.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const no_env[] = { "PATH=/usr/bin:/bin", NULL };

/* A command that runs a shell script, with everything on /dev/null. */
static struct env_command shell(const char *const *argv)
{
	return (struct env_command){
		.program = "/bin/sh", .argv = argv, .envp = no_env, .fds = { -1, -1, -1 }
	};
}

#define SHELL(script) shell((const char *const[]){ "sh", "-c", script, NULL })

/* Starts a command with its stdout on a pipe, and reads that to its end; the exit. */
static struct env_exit run(struct env_command command, char *output, size_t room)
{
	struct env_process process;
	struct strata_error err;
	struct env_exit ended;
	int ends[2];
	size_t used = 0;
	ssize_t got;

	CHECK_INT(pipe(ends), 0); /* not closed by exec of its own accord */
	command.fds[1] = ends[1];
	CHECK_OK(env_spawn(env_system(), &command, &process, &err));
	close(ends[1]);
	while ((got = read(ends[0], output + used, room - 1 - used)) > 0)
		used += (size_t)got;
	output[used] = '\0';
	close(ends[0]);
	CHECK_OK(env_wait(env_system(), &process, true, &ended, &err));
	env_process_close(env_system(), &process);
	return ended;
}

/* The command cannot be started, for this reason; no child is left. */
static void check_refused(const struct env_command *command, int code, const char *words)
{
	struct env_process process = { -7, -7 };
	struct strata_error err;

	CHECK_ERROR(env_spawn(env_system(), command, &process, &err), code, words);
	CHECK_INT(process.pid, -7);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_INT(errno, ECHILD);
}

TEST(a_program_gets_its_arguments_environment_and_directory)
{
	const char *const argv[] = {
		"a name",
		"-c",
		"printf '%s|' \"$0\" \"$@\" \"$A\" \"$(pwd)\"; env | grep -c =; exit 3",
		"zero",
		"two words",
		"$HOME;`x`",
		NULL
	};
	const char *const envp[] = { "A=b c", "PATH=/usr/bin:/bin", NULL };
	struct env_command command = shell(argv);
	char output[1000], want[1000];

	command.envp = envp;
	command.cwd = test_temp_dir();
	setenv("STRATA_NOT_INHERITED", "1", 1);
	struct env_exit ended = run(command, output, sizeof(output));

	CHECK_INT(ended.state, ENV_EXITED);
	CHECK_INT(ended.code, 3);
	/* the shell adds PWD, OLDPWD or _ */
	output[strcspn(output, "\n") - 1] = '\0';
	snprintf(want, sizeof(want), "zero|two words|$HOME;`x`|b c|%s|", test_temp_dir());
	CHECK_TEXT(output, want);
	struct env_command env_program = { .program = "/usr/bin/env",
					   .argv = (const char *const[]){ "env", NULL },
					   .envp = envp,
					   .fds = { -1, -1, -1 } };

	run(env_program, output, sizeof(output));
	CHECK_TEXT(output, "A=b c\nPATH=/usr/bin:/bin\n");
}

TEST(a_name_is_looked_for_by_the_child)
{
	char search[1400], path[600], output[100];
	struct env_command command = { .program = "tool",
				       .argv = (const char *const[]){ "tool", NULL },
				       .envp = no_env,
				       .fds = { -1, -1, -1 },
				       .search = search };
	FILE *file;

	snprintf(search, sizeof(search), "/no/such:%s/a::%s/b:/etc/passwd", test_temp_dir(),
		 test_temp_dir());
	check_refused(&command, -ENOENT,
		      "cannot start tool: there is no such program on its PATH, /no");
	snprintf(path, sizeof(path), "%s/a", test_temp_dir());
	CHECK_INT(mkdir(path, 0755), 0);
	strcat(path, "/tool");
	CHECK_INT(mkdir(path, 0755), 0); /* a directory is no program */
	check_refused(&command, -EACCES, "cannot start tool: Permission denied");
	snprintf(path, sizeof(path), "%s/b", test_temp_dir());
	CHECK_INT(mkdir(path, 0755), 0);
	strcat(path, "/tool");
	file = fopen(path, "we");
	fputs("#!/bin/sh\necho found\n", file);
	fclose(file);
	CHECK_INT(chmod(path, 0755), 0);
	run(command, output, sizeof(output));
	CHECK_TEXT(output, "found\n");
	file = fopen(path, "we");
	fputs("#!/no/interpreter\n", file);
	fclose(file);
	check_refused(&command, -ENOENT, "the program that its first line names");
	command.program = "/bin/true";
	check_refused(&command, -EINVAL, "expected a name without a slash");
}

TEST(a_directory_may_be_given_as_a_descriptor)
{
	struct env_command command = SHELL("pwd");
	char output[600];

	command.cwd = "nowhere";
	command.cwd_fd = open(test_temp_dir(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	run(command, output, sizeof(output));
	output[strcspn(output, "\n")] = '\0';
	CHECK_TEXT(output, test_temp_dir());
	close(command.cwd_fd);
}

TEST(what_cannot_be_started_says_why)
{
	char path[600];
	struct env_command command = SHELL("true");
	int before = test_open_fds();

	command.program = "/no/such/program";
	check_refused(&command, -ENOENT,
		      "cannot start /no/such/program: No such file or directory");
	command.program = "sh";
	check_refused(&command, -EINVAL, "the program is \"sh\"; expected a path with a slash");
	command.program = "/etc";
	check_refused(&command, -EACCES, "cannot start /etc: Permission denied");
	command.program = "/etc/passwd";
	check_refused(&command, -EACCES, "cannot start /etc/passwd: Permission denied");
	snprintf(path, sizeof(path), "%s/script", test_temp_dir());
	FILE *file = fopen(path, "w");

	CHECK(file);
	fputs("#!/no/interpreter\n", file);
	fclose(file);
	CHECK_INT(chmod(path, 0755), 0);
	command.program = path;
	check_refused(&command, -ENOENT, "the program that its first line names");
	file = fopen(path, "w");
	CHECK(file);
	fputs("garbage\n", file); /* a shell would run it; this is none */
	fclose(file);
	check_refused(&command, -ENOEXEC, "Exec format error");
	command.program = "/bin/sh";
	command.cwd = "/no/such/dir";
	check_refused(&command, -ENOENT, "cannot start /bin/sh in /no/such/dir: No such file");
	command.cwd = NULL;
	command.fds[1] = 999;
	check_refused(&command, -EBADF, "its descriptors: Bad file descriptor");
	CHECK_INT(test_open_fds(), before);
}

TEST(arguments_past_the_systems_limit_are_refused)
{
	char *huge = malloc(1 << 20);
	struct env_command command = SHELL("true");
	const char *argv[] = { "sh", huge, NULL };

	CHECK(huge);
	memset(huge, 'x', 1 << 20);
	huge[(1 << 20) - 1] = '\0';
	command.argv = argv;
	check_refused(&command, -E2BIG, "Argument list too long");
	free(huge);
}

TEST(no_descriptor_gets_through_but_the_three)
{
	struct env_command command = { .program = "/bin/ls",
				       .argv = (const char *const[]){ "ls", "/proc/self/fd", NULL },
				       .envp = no_env,
				       .fds = { -1, -1, -1 } };
	int fds[300];
	char output[1000];

	for (int i = 0; i < 300; i++) {
		fds[i] = dup(0);
		CHECK(fds[i] >= 0);
	}
	run(command, output, sizeof(output));
	CHECK_TEXT(output, "0\n1\n2\n3\n"); /* 3 is what ls reads the list with */
	for (int i = 0; i < 300; i++) {
		CHECK_INT(fcntl(fds[i], F_GETFD), 0); /* ours are as they were */
		close(fds[i]);
	}
}

TEST(old_kernels_find_the_descriptors_in_a_list)
{
	int fds[300];

	for (int i = 0; i < 300; i++)
		fds[i] = dup(0);
	CHECK_INT(env_mark_listed_fds(fds[10]), 0);
	for (int i = 0; i < 300; i++) {
		CHECK_INT(fcntl(fds[i], F_GETFD), i < 10 ? 0 : FD_CLOEXEC);
		close(fds[i]);
	}
}

/* Descriptors that stand in each other's places, and a caller without any. */
TEST(the_three_descriptors_may_be_any)
{
	char byte = 0;
	int to[2], from[2], status;

	CHECK_INT(pipe(to), 0);
	CHECK_INT(pipe(from), 0);
	if (fork() == 0) {
		struct env_command command = SHELL("cat; echo done >&2");
		struct env_process process;
		struct env_exit ended;

		dup2(from[1], 0); /* its stdout is our 0, its stdin our 1 */
		dup2(to[0], 1);
		close(2);
		close(to[1]);
		command.fds[0] = 1;
		command.fds[1] = command.fds[2] = 0;
		int rc = env_spawn(env_system(), &command, &process, NULL);

		_exit(rc < 0 || env_wait(env_system(), &process, true, &ended, NULL) < 0
			      ? 99
			      : ended.code);
	}
	close(to[0]);
	close(from[1]);
	CHECK_INT(write(to[1], "x", 1), 1);
	close(to[1]);
	CHECK_INT(read(from[0], &byte, 1), 1);
	CHECK_INT(byte, 'x');
	CHECK(wait(&status) > 0);
	CHECK_INT(status, 0);
	close(from[0]);

	if (fork() == 0) {
		struct env_command command = SHELL("read x; echo y && echo z >&2; exit 5");
		struct env_process process;
		struct env_exit ended;

		for (int fd = 0; fd < 100; fd++)
			close(fd);
		command.program = "/no/such";
		if (env_spawn(env_system(), &command, &process, NULL) != -ENOENT)
			_exit(98);
		command.program = "/bin/sh";
		int rc = env_spawn(env_system(), &command, &process, NULL);

		_exit(rc < 0 || env_wait(env_system(), &process, true, &ended, NULL) < 0
			      ? 99
			      : ended.code);
	}
	CHECK(wait(&status) > 0);
	CHECK_INT(WEXITSTATUS(status), 5);
}

static void ignore(int signal)
{
	(void)signal;
}

TEST(signals_start_from_nothing)
{
	struct env_command command = { .program = "/bin/grep",
				       .argv = (const char *const[]){ "grep", "-E",
								      "^Sig(Blk|Ign):",
								      "/proc/self/status", NULL },
				       .envp = no_env,
				       .fds = { -1, -1, -1 } };
	sigset_t blocked, before, now;
	char output[1000];

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGRTMIN + 3);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGUSR1, ignore);
	run(command, output, sizeof(output));
	CHECK_TEXT(output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	pthread_sigmask(SIG_SETMASK, NULL, &now); /* ours are as they were */
	CHECK(sigismember(&now, SIGTERM) && !sigismember(&now, SIGHUP));
	CHECK(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
	CHECK(signal(SIGINT, SIG_DFL) == SIG_IGN);
	CHECK(signal(SIGUSR1, SIG_DFL) == ignore);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

TEST(a_process_has_its_own_session_or_group_when_asked)
{
	/* fields 1, 5 and 6: pid, process group, session */
	struct env_command command = { .program = "/usr/bin/cut",
				       .argv = (const char *const[]){ "cut", "-d ", "-f1,5,6",
								      "/proc/self/stat", NULL },
				       .envp = no_env,
				       .fds = { -1, -1, -1 } };
	char output[100];
	int pid, group, session;

	run(command, output, sizeof(output));
	CHECK_INT(sscanf(output, "%d %d %d", &pid, &group, &session), 3);
	CHECK_INT(group, getpgrp());
	CHECK_INT(session, getsid(0));
	command.new_group = true;
	run(command, output, sizeof(output));
	CHECK_INT(sscanf(output, "%d %d %d", &pid, &group, &session), 3);
	CHECK_INT(group, pid);
	CHECK_INT(session, getsid(0));
	command.new_session = true;
	run(command, output, sizeof(output));
	CHECK_INT(sscanf(output, "%d %d %d", &pid, &group, &session), 3);
	CHECK_INT(group, pid);
	CHECK_INT(session, pid);
}

TEST(a_session_has_the_terminal_that_it_is_given)
{
	struct env_command command = SHELL("exec 3</dev/tty && echo ours");
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	char output[100];

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(slave >= 0);
	command.fds[0] = slave;
	command.new_session = true;
	run(command, output, sizeof(output));
	CHECK_TEXT(output, ""); /* no /dev/tty without a terminal */
	command.terminal = true;
	run(command, output, sizeof(output));
	CHECK_TEXT(output, "ours\n");
	command.fds[0] = -1;
	check_refused(&command, -ENOTTY, "");
	close(slave);
	close(master);
}

TEST(root_starts_programs_as_somebody_else)
{
	const gid_t groups[] = { 65533, 65532 };
	struct env_identity identity = { 65534, 65531, groups, 2 };
	struct env_command command =
		SHELL("id -u; id -g; id -G; grep ^Uid /proc/self/status; exit 4");
	char output[1000];

	if (geteuid() != 0)
		test_skip("needs root");
	command.identity = &identity;
	command.new_session = true;
	command.die_with_parent = true;
	CHECK_INT(run(command, output, sizeof(output)).code, 4);
	CHECK_TEXT(output, "65534\n65531\n65531 65532 65533\nUid:\t65534\t65534\t65534\t65534\n");
	identity.group_count = 0;
	run(command, output, sizeof(output));
	CHECK_TEXT(output, "65534\n65531\n65531\nUid:\t65534\t65534\t65534\t65534\n");
	CHECK_INT(geteuid(), 0);
	CHECK_INT(chmod(test_temp_dir(), 0700), 0);
	command.cwd = test_temp_dir(); /* ours, not theirs */
	check_refused(&command, -EACCES, "cannot start /bin/sh in ");
}

/* Runs as a plain user, in a process of its own. */
static int try_as_user(void)
{
	struct env_identity root = { 0, 0, NULL, 0 };
	struct env_command command = SHELL("test $(id -u) != 0");
	struct env_process process;
	struct strata_error err;
	struct env_exit ended;

	if (env_spawn(env_system(), &command, &process, &err) < 0 ||
	    env_wait(env_system(), &process, true, &ended, &err) < 0 || ended.code != 0)
		return 1;
	command.identity = &root;
	if (env_spawn(env_system(), &command, &process, &err) != -EPERM ||
	    !strstr(err.text, "cannot start /bin/sh as user 0, group 0: Operation not permitted"))
		return 2;
	return waitpid(-1, NULL, WNOHANG) == -1 ? 0 : 3;
}

TEST(a_plain_user_cannot_become_another)
{
	int status;

	if (fork() == 0) {
		if (geteuid() == 0 &&
		    (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
			_exit(9);
		_exit(try_as_user());
	}
	CHECK(wait(&status) > 0);
	CHECK_INT(status, 0);
}

TEST(waiting_tells_how_a_process_ended)
{
	const struct env *env = env_system();
	struct env_command command = SHELL("exec sleep 100");
	struct env_process process;
	struct strata_error err;
	struct env_exit ended;

	CHECK_OK(env_spawn(env, &command, &process, &err));
	CHECK_OK(env_wait(env, &process, false, &ended, &err));
	CHECK_INT(ended.state, ENV_RUNNING);
	CHECK_OK(env_signal(env, &process, SIGTERM, false, &err));
	CHECK_OK(env_wait(env, &process, true, &ended, &err));
	CHECK_INT(ended.state, ENV_KILLED);
	CHECK_INT(ended.signal, SIGTERM);
	CHECK(!ended.dumped);
	CHECK_ERROR(env_wait(env, &process, true, &ended, &err), -ECHILD, "No child processes");
	CHECK_ERROR(env_signal(env, &process, SIGTERM, false, &err), -ESRCH, "No such process");
	CHECK_ERROR(env_signal(env, &process, SIGTERM, true, &err), -ESRCH, "process group");
	env_process_close(env, &process);
	CHECK_INT(process.pidfd, -1);
	env_process_close(env, &process);

	command = SHELL("exit 255");
	CHECK_OK(env_spawn(env, &command, &process, &err));
	do
		CHECK_OK(env_wait(env, &process, false, &ended, &err));
	while (ended.state == ENV_RUNNING);
	CHECK_INT(ended.state, ENV_EXITED);
	CHECK_INT(ended.code, 255);
	env_process_close(env, &process);
}

TEST(waiting_and_starting_outlast_interruptions)
{
	struct sigaction action = { .sa_handler = ignore }; /* no SA_RESTART: calls are cut short */
	struct itimerval every_ms = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	struct env_command command = SHELL("sleep 0.1; exit 6");
	struct fault_env fault;
	struct env_process process;
	struct strata_error err;
	struct env_exit ended;

	CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_INT(setitimer(ITIMER_REAL, &every_ms, NULL), 0);
	CHECK_OK(env_spawn(env_system(), &command, &process, &err));
	CHECK_OK(env_wait(env_system(), &process, true, &ended, &err));
	CHECK_INT(ended.code, 6);
	env_process_close(env_system(), &process);
	command.program = "/no/such";
	check_refused(&command, -ENOENT, "cannot start /no/such");
	CHECK_INT(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_DFL);

	command = SHELL("exit 7");
	fault_env_init(&fault);
	fault.interrupt = true;
	CHECK_OK(env_spawn(&fault.env, &command, &process, &err));
	CHECK_OK(env_wait(&fault.env, &process, true, &ended, &err));
	CHECK_INT(ended.code, 7);
	env_process_close(env_system(), &process);
	fault_env_fini(&fault);
}

TEST(a_signal_reaches_the_whole_group)
{
	const struct env *env = env_system();
	struct env_command command = SHELL("sleep 100 & sleep 100 & echo x; wait");
	struct env_process process;
	struct strata_error err;
	struct env_exit ended;
	char byte;
	int ends[2];

	CHECK_INT(pipe(ends), 0);
	command.fds[1] = ends[1];
	command.new_group = true;
	CHECK_OK(env_spawn(env, &command, &process, &err));
	close(ends[1]);
	CHECK_INT(read(ends[0], &byte, 1), 1);
	CHECK_OK(env_signal(env, &process, SIGKILL, true, &err));
	while (read(ends[0], &byte, 1) > 0) /* ends when nobody holds the pipe any more */
		;
	CHECK_OK(env_wait(env, &process, true, &ended, &err));
	CHECK_INT(ended.signal, SIGKILL);
	close(ends[0]);
	env_process_close(env, &process);
}

TEST(nobody_signals_everybody)
{
	struct strata_error err;

	for (pid_t pid = -1; pid <= 1; pid++) {
		struct env_process process = { pid, -1 };

		CHECK_ERROR(env_signal(env_system(), &process, 0, false, &err), -EINVAL,
			    "cannot be signalled");
		CHECK_ERROR(env_signal(env_system(), &process, 0, true, &err), -EINVAL,
			    "cannot be signalled");
	}
}

TEST(a_process_dies_with_its_parent_when_asked)
{
	for (int asked = 0; asked < 2; asked++) {
		int ends[2], status;
		char byte = 0;
		pid_t pid = 0;

		CHECK_INT(pipe(ends), 0);
		if (fork() == 0) {
			struct env_command command = SHELL("sleep 0.3; echo x; exec sleep 100");
			struct env_process process;

			command.die_with_parent = asked;
			command.fds[1] = ends[1];
			if (env_spawn(env_system(), &command, &process, NULL) < 0)
				_exit(1);
			_exit(write(ends[1], &process.pid, sizeof(pid)) != sizeof(pid));
		}
		close(ends[1]);
		CHECK_INT(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
		CHECK(wait(&status) > 0);
		CHECK_INT(status, 0);
		CHECK_INT(read(ends[0], &byte, 1), asked ? 0 : 1);
		if (!asked)
			kill(pid, SIGKILL);
		close(ends[0]);
	}
}

/* ---- many threads ---- */

struct spawner {
	const char *name;
	const char *wrong; /* NULL: nothing was */
	pthread_t thread;
};

static const char *spawn_and_read(const char *name)
{
	struct env_command command =
		shell((const char *const[]){ "sh", "-c", "echo $0 $$", name, NULL });
	struct env_process process;
	struct env_exit ended;
	char output[100], want[100];
	size_t used = 0;
	int ends[2];
	ssize_t got;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return "no pipe";
	command.fds[1] = ends[1];
	if (env_spawn(env_system(), &command, &process, NULL) < 0)
		return "no process";
	close(ends[1]);
	while ((got = read(ends[0], output + used, sizeof(output) - 1 - used)) > 0)
		used += (size_t)got;
	output[used] = '\0';
	close(ends[0]);
	if (env_wait(env_system(), &process, true, &ended, NULL) < 0 || ended.code != 0)
		return "not waited for";
	env_process_close(env_system(), &process);
	snprintf(want, sizeof(want), "%s %d\n", name, process.pid);
	return strcmp(output, want) == 0 ? NULL : "wrong output";
}

static void *spawn_many(void *context)
{
	struct spawner *spawner = context;

	for (int i = 0; i < 25 && !spawner->wrong; i++)
		spawner->wrong = spawn_and_read(spawner->name);
	return NULL;
}

TEST(threads_start_programs_at_the_same_time)
{
	struct spawner spawners[4] = { { "one" }, { "two" }, { "three" }, { "four" } };
	int before = test_open_fds();

	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&spawners[i].thread, NULL, spawn_many, &spawners[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(spawners[i].thread, NULL);
	for (int i = 0; i < 4; i++)
		CHECK_TEXT(spawners[i].wrong, NULL);
	CHECK_INT(test_open_fds(), before);
}

TEST(running_out_of_descriptors_is_reported)
{
	struct env_command command = SHELL("true");
	struct rlimit before, tight;
	int fds[2] = { dup(0), dup(0) }, used = fds[1];

	CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	/* room for the pipe and one more, then none for the child's three, then none for the pipe */
	for (int room = 3; room >= 1; room--) {
		tight = (struct rlimit){ (rlim_t)(used + 1 + room), before.rlim_max };
		CHECK_INT(setrlimit(RLIMIT_NOFILE, &tight), 0);
		check_refused(&command, -EMFILE,
			      room >= 2 ? "its descriptors: Too many" : "no pipe: Too many");
	}
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	close(fds[0]);
	close(fds[1]);
}
